"""Excerpts of the measured program's sources, as far as they may leave it: lines of the project's own, unchanged files.

A report holds no source text. What a page shows is read when the page is written, from where the report says; a file
that has changed since the measurement would show other lines, and is left out.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from warpfix.measure.profile import Profile, SourceLine
from warpfix.project import Project, discover, find_root, is_installed

AROUND = 2
"""Lines of context on either side."""
_LONGEST = 160
_SECRET = re.compile(r"(?i)(token|key|secret|password|passwd|credential)\w*[\"']?\s*[:=]\s*(?=\S)")
_TEXT = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""")


@dataclass(frozen=True)
class Excerpt:
    """A few lines of a file, or, with no lines, why there are none."""

    lines: tuple[tuple[int, str, bool], ...]
    """(number, text, whether it is the line that is meant)."""
    why_not: str = ""


class Excerpts:
    """Reads excerpts for one profile.

    Args:
        profile: Whose lines are wanted.
        allowed: False for none at all (``--no-source``).
    """

    def __init__(self, profile: Profile, allowed: bool = True) -> None:
        self.allowed = allowed
        self.cwd = profile.cwd
        started = [process.started for run in profile.runs for process in run.processes]
        self.measured = min(started, default=0.0)
        self.served = {path: sha for run in profile.runs for one in run.processes for path, sha in one.overlaid.items()}

    @property
    def _project(self) -> Project | None:
        return _project(self.cwd)

    def of(self, line: SourceLine | None) -> Excerpt:
        """The lines around a source line."""
        if line is None or not line.path:
            return Excerpt((), "the line is not known")
        if not self.allowed:
            return Excerpt((), "left out by --no-source")
        path = Path(line.path)
        project = self._project
        if is_installed(path) or project is None or os.path.realpath(path) not in project.files:
            return Excerpt((), "not a file of this project")
        try:
            data = path.read_bytes()
            served = self.served.get(line.path) or self.served.get(os.path.realpath(path))
            if served is not None and hashlib.sha256(data).hexdigest() != served:
                return Excerpt((), "the edited text that ran is not what the file holds")
            if served is None and path.stat().st_mtime > self.measured:
                return Excerpt((), "the file has changed since the measurement")
            text = data.decode("utf-8", "replace").splitlines()
        except OSError:
            return Excerpt((), "the file is not at hand")
        first, last = max(1, line.line - AROUND), min(len(text), line.line + AROUND)
        if not 1 <= line.line <= len(text):
            return Excerpt((), "the file has no such line")
        return Excerpt(tuple((n, _clean(text[n - 1]), n == line.line) for n in range(first, last + 1)))


@lru_cache(maxsize=8)
def _project(cwd: str) -> Project | None:
    root = find_root(cwd) or cwd
    if not Path(root).is_dir() or is_installed(root):
        return None
    found = discover([root])
    return found[0] if found else None


def _clean(line: str) -> str:
    """The line, shortened, and with text that is assigned to something named like a secret masked."""
    found = _SECRET.search(line)
    if found:
        line = line[: found.end()] + _TEXT.sub('"***"', line[found.end() :])
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
