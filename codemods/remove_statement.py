"""Take one whole statement out, with the comment behind it; comments above it stay unless they are attached to it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods.base import Declined, Edit, Source, Splice


@dataclass(frozen=True)
class RemoveStatement(Edit):
    """Remove the statement that begins on ``line`` and reads as ``text`` (as ``ast.unparse`` writes it)."""

    codemod: ClassVar[str] = "remove_statement"

    line: int
    text: str


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
