"""What must not leave the machine in a report: secrets in arguments, the home folder, the environment."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_WORDS = "token|key|secret|password|passwd|credential"
_SECRET = re.compile(_WORDS, re.I)
_ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=")
_IN_TEXT = re.compile(
    rf"(?P<name>(?i:--?[\w-]*(?:{_WORDS})[\w-]*(?:=|\s+(?!-))|\b\w*(?:{_WORDS})\w*\s*=\s*)|\b[A-Z_][A-Z0-9_]*=)"
    r"(?:'[^']*'|\"[^\"]*\"|[^\s;&|]+)"
)
"""An option, a variable or an assignment and its value, in the text of a program or a shell command."""
MASKED = "***"


def mask_arguments(arguments: Sequence[str]) -> list[str]:
    """Arguments with the values of ``--api-token X``, ``--password=X`` and ``env A=B`` replaced by ``***``, also in the
    text of a program (``sh -c "..."``)."""
    masked: list[str] = []
    hide_next = False
    for argument in arguments:
        if hide_next and not argument.startswith("-"):
            masked.append(MASKED)
            hide_next = False
            continue
        hide_next = False
        name, equals, value = argument.partition("=")
        if _ASSIGNMENT.match(argument) and not argument.startswith("-"):
            masked.append(f"{name}={MASKED}")
        elif argument.startswith("-") and _SECRET.search(name):
            masked.append(f"{name}={MASKED}" if equals and value else argument)
            hide_next = not equals
        else:
            masked.append(mask_text(argument) if re.search(r"\s", argument) else argument)
    return masked


def mask_text(text: str) -> str:
    """The text of a shell command or of a program, without the values of what is named like a secret."""
    return _IN_TEXT.sub(lambda found: found["name"] + MASKED, text)


def shown_command(command: Sequence[str]) -> str:
    """A command as it is shown to anybody: quoted for a shell, masked."""
    return shlex.join(mask_arguments(command))


class Mask:
    """Replaces the home folder by ``~`` in all strings of JSON-able data, and back."""

    def __init__(self, home: str | None = None) -> None:
        found = home if home is not None else str(Path.home())
        # A home of "/" (containers) would turn every path into ~.
        self.home = found.rstrip(os.sep) if len(found) > 1 else ""

    def paths(self, data: Any) -> Any:
        """The data with ``~`` for the home folder."""
        if not self.home:
            return data
        pattern = re.compile(re.escape(self.home) + r"(?=$|[/\\:\s'\"])")
        return _strings(data, lambda text: pattern.sub("~", text))

    def expand(self, data: Any) -> Any:
        """The data with the home folder for a leading ``~``."""
        if not self.home:
            return data
        pattern = re.compile(r"^~(?=$|[/\\])")
        return _strings(data, lambda text: pattern.sub(lambda _: self.home, text))


def _strings(data: Any, change: Any) -> Any:
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {change(key) if isinstance(key, str) else key: _strings(value, change) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_strings(item, change) for item in data]
    return data
