"""Move a whole statement up within its block, with the comments attached to it; every other line keeps its bytes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods.base import Declined, Edit, Extent, Source, Splice

_PRAGMAS = ("fmt:", "isort:", "yapf:", "pylint:", "pyright:", "mypy:", "ruff:", "region", "endregion", "%%")


@dataclass(frozen=True)
class MoveStatement(Edit):
    """Move the statement that begins on ``line`` to just above the one that begins on ``before``, in the same block."""

    codemod: ClassVar[str] = "move_statement"

    line: int
    before: int
    noqa: tuple[int, ...] = ()
    """Lines of imports that now stand below code, and get ``# noqa: E402`` where they carry no ``noqa`` yet."""


def splices(source: Source, edit: MoveStatement) -> list[Splice]:
    """The removal and the insertion.

    Raises:
        Declined: the two are not in one block, the target is not above, or a line is shared with another statement.
    """
    block = _block(source, edit.line)
    starts = [source.first_line(statement) for statement in block]
    if edit.before not in starts:
        raise Declined(f"lines {edit.before} and {edit.line} are not in one block")
    place, target = starts.index(edit.line), starts.index(edit.before)
    if target >= place:
        raise Declined(f"line {edit.before} is not above line {edit.line}")
    moved, goal = _own_lines(source, block[place]), _goal(source, block[target])
    end, blanks = _blank_lines_too(source, moved)
    text = source.text[moved.start : moved.end]
    if not text.endswith(("\n", "\r")):
        text += source.newline
    result = [Splice(moved.start, end, ""), Splice(goal, goal, text + blanks)]
    return [*result, *noqa_splices(source, edit.noqa)]


def noqa_splices(source: Source, lines: Iterable[int]) -> list[Splice]:
    """``# noqa: E402`` at the end of lines, where there is no ``noqa`` yet."""
    return [_noqa(source, line) for line in lines if _wants_noqa(source, line)]


def _block(source: Source, line: int) -> list[ast.stmt]:
    for node in ast.walk(source.tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and any(source.first_line(statement) == line for statement in block):
                return block
    raise Declined(f"no statement begins on line {line}")


def _own_lines(source: Source, statement: ast.stmt) -> Extent:
    extent = source.extent(statement)
    return Extent(_below_pragmas(source, statement, extent.start), extent.decorated, extent.end)


def _goal(source: Source, statement: ast.stmt) -> int:
    return _below_pragmas(source, statement, source.place_above(statement))


def _below_pragmas(source: Source, statement: ast.stmt, start: int) -> int:
    """A comment that speaks to a tool about what follows stays where it is."""
    for number in range(source.first_line(statement) - 1, source.line_of(start) - 1, -1):
        if any(source.line(number).lstrip("# \t").startswith(pragma) for pragma in _PRAGMAS):
            return source.line_start(number + 1)
    return start


def _blank_lines_too(source: Source, moved: Extent) -> tuple[int, str]:
    """Where the stretch that moves ends, and the blank lines in it: those below go along if as many stand above."""
    first, last = source.line_of(moved.start), source.line_of(moved.end - 1)
    above = 0
    while first - 1 - above >= 1 and not source.line(first - 1 - above).strip(" \t"):
        above += 1
    below = 0
    while last + 1 + below < source.line_count and not source.line(last + 1 + below).strip(" \t"):
        below += 1
    if not above or not below or above < below:
        return moved.end, ""
    end = source.line_start(last + 1 + below)
    return end, source.text[moved.end : end]


def _wants_noqa(source: Source, line: int) -> bool:
    text = source.line(line)
    return "noqa" not in text and not text.rstrip().endswith("\\")


def _noqa(source: Source, line: int) -> Splice:
    end = source.line_start(line) + len(source.line(line).rstrip())
    return Splice(end, end, "  # noqa: E402")
