"""How reports spell times, sizes, counts and places: no line longer than :data:`WIDTH` columns."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

from warpfix.measure.profile import Profile, SourceLine

WIDTH = 80


def seconds(milliseconds: float) -> str:
    """A time with its unit, three digits."""
    if milliseconds >= 100_000:
        return f"{milliseconds / 1000:.0f} s"
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.2f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def size(count: int) -> str:
    """Bytes with their unit."""
    return f"{count / 1000:.0f} kB" if count >= 1000 else f"{count} B"


def count(number: int, noun: str) -> str:
    """``1 build``, ``3 builds``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def short_name(name: str, width: int = 60) -> str:
    """A module's name for a line of text: the middle of a very long one is left out, the hash at its end is not."""
    if len(name) <= width:
        return name
    return f"{name[: width // 2]}...{name[3 - width // 2 :]}"


def wrap(text: str, indent: str, first: str | None = None) -> list[str]:
    """Text as indented lines; ``first`` is the indentation of the first one, where it is another."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=True,
        break_on_hyphens=False,
    )


def place(profile: Profile, line: SourceLine | None) -> str:
    """``path:line``, the path relative to the command's folder or to site-packages."""
    if line is None:
        return "an unknown line"
    return f"{short_path(profile, line.path)}:{line.line}"


def short_path(profile: Profile, path: str) -> str:
    """A path relative to the command's folder, or to site-packages, or as it is."""
    if Path(path).is_absolute():
        # Frames have paths as they were imported: /srv/app/bin/../lib/x.py.
        path = os.path.normpath(path)
        relative = os.path.relpath(path, profile.cwd)
        if not relative.startswith(".."):
            return relative
        for marker in ("site-packages" + os.sep, "dist-packages" + os.sep):
            if marker in path:
                return path.split(marker, 1)[1]
    return path
