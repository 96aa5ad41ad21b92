"""Put new statements below a definition, in its block and as far apart from it as what follows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods.base import Declined, Edit, Source, Splice


@dataclass(frozen=True)
class InsertBelow(Edit):
    """Insert ``lines`` below the definition of ``name`` whose ``def`` stands on ``line``.

    A line is given without the indentation of the definition; one that continues another brings its own.
    """

    codemod: ClassVar[str] = "insert_below"

    line: int
    name: str
    lines: tuple[str, ...]


def splices(source: Source, edit: InsertBelow) -> list[Splice]:
    """The insertion.

    Raises:
        Declined: no such definition begins there, it shares a line with something else, or the lines are there already.
    """
    node = source.definition(edit.line, edit.name)
    end = source.extent(node).end
    indent = source.indent_of(source.first_line(node))
    newline = source.newline
    text = "".join(f"{indent}{line}{newline}" for line in edit.lines)
    after = source.line_of(end - 1) + 1
    blanks = 0
    while after + blanks <= source.line_count and not source.line(after + blanks).strip():
        blanks += 1
    rest = source.text[source.line_start(after + blanks) :] if after + blanks <= source.line_count else ""
    if rest.startswith(text.rstrip("\r\n")):
        raise Declined(f"`{edit.lines[0]}` stands below `{edit.name}` already")
    # At module scope a definition stands two blank lines apart, in a block one; what follows keeps its distance.
    gap = newline * (1 if indent else 2)
    if end == len(source.text) and not source.text.endswith(("\n", "\r")):
        return [Splice(end, end, newline + gap + text.removesuffix(newline))]
    return [Splice(end, end, gap + text + ("" if blanks or not rest else gap))]
