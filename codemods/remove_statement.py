"""Take one whole statement out, with the comment behind it; comments above it stay unless asked for."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods.base import Declined, Edit, Extent, Source, Splice

_NOT_ABOUT_IT = re.compile(r"[-=#*_]{4}|#\s*[\w-]+:")
"""Headings of a section, and words to tools (``fmt: off``)."""


@dataclass(frozen=True)
class RemoveStatement(Edit):
    """Remove the statement that begins on ``line`` and reads as ``text`` (as ``ast.unparse`` writes it)."""

    codemod: ClassVar[str] = "remove_statement"

    line: int
    text: str
    with_comments: bool = False
    """Take the comments attached above too, if nothing else stands directly below them."""


def splices(source: Source, edit: RemoveStatement) -> list[Splice]:
    """The cut; the only statement of a block becomes ``pass``.

    Raises:
        Declined: there is no such statement, or it shares its line with another.
    """
    block, statement = _find(source, edit)
    extent = source.extent(statement)
    if len(block) == 1:
        start, end = source.span(statement)
        return [Splice(start, end, "pass")]
    start, end = extent.decorated, extent.end
    if edit.with_comments and _speaks_of_it_alone(source, extent):
        start = extent.start
    if start == 0 and source.text.startswith("\ufeff"):
        start = 1
    first, after = source.line_of(start), source.line_of(end - 1) + 1
    # Blank lines above and below become those of the wider gap, not their sum.
    if first > 1 and not source.line(first - 1).strip():
        while after < source.line_count and not source.line(after).strip():
            end = source.line_start(after + 1)
            after += 1
            if first - 2 < 1 or source.line(first - 2).strip():
                break
    return [Splice(start, end, "")]


def _speaks_of_it_alone(source: Source, extent: Extent) -> bool:
    """Whether nothing stands directly below that the comments above could be about too, and no file's head is meant."""
    after = source.line_of(extent.end - 1) + 1
    below = source.line(after) if after <= source.line_count else ""
    comments = source.text[extent.start : extent.decorated]
    return extent.start > 1 and not below.strip() and not _NOT_ABOUT_IT.search(comments)


def _find(source: Source, edit: RemoveStatement) -> tuple[list[ast.stmt], ast.stmt]:
    for node in ast.walk(source.tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            for statement in block:
                if statement.lineno == edit.line and ast.unparse(statement) == edit.text:
                    return block, statement
    raise Declined(f"line {edit.line} does not hold `{edit.text}`")
