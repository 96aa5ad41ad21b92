"""What every codemod shares: the source, the edit, the splice, and the way to decline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class Declined(Exception):
    """The codemod can't prove that its result is right; the message says why, for the reader of the source."""


@dataclass(frozen=True)
class Edit:
    """Base of all edits: data only. ``codemod`` is the registered name of the codemod that carries it out."""

    codemod: ClassVar[str] = ""


@dataclass(frozen=True, order=True)
class Splice:
    """Replace ``text[start:end]`` of the original by ``text``. Offsets are in characters of the decoded source."""

    start: int
    end: int
    text: str


class Source:
    """One file's decoded text, parsed by libcst at most once, with positions."""

    def __init__(self, text: str, path: str = "<string>") -> None:
        self.text = text
        self.path = path
