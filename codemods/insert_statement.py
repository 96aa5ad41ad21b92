"""Put a new statement on a line of its own above an existing one, and above the comments that are attached to it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods.base import Declined, Edit, Source, Splice
from warpfix.codemods.move_statement import noqa_splices


@dataclass(frozen=True)
class InsertStatement(Edit):
    """Insert ``text``, one line, above the statement that begins on ``before``: at module scope as far apart from it as
    what stands there, in a block right above it."""

    codemod: ClassVar[str] = "insert_statement"

    before: int
    text: str
    noqa: tuple[int, ...] = ()
    """Lines of imports that now stand below code, and get ``# noqa: E402`` where they carry no ``noqa`` yet."""


def splices(source: Source, edit: InsertStatement) -> list[Splice]:
    """The insertion. Raises Declined if no statement begins there, or if it is there already."""
    for statement in source.tree.body:
        if isinstance(statement, ast.stmt) and ast.unparse(statement) == edit.text:
            raise Declined(f"the file holds `{edit.text}` already")
    for statement in source.tree.body:
        if source.first_line(statement) == edit.before:
            start = source.place_above(statement)
            first, blanks = source.line_of(start), 0
            while first - 1 - blanks >= 1 and not source.line(first - 1 - blanks).strip():
                blanks += 1
            text = edit.text + source.newline * (1 + max(1, blanks))
            return [Splice(start, start, text), *noqa_splices(source, edit.noqa)]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and source.first_line(node) == edit.before:
            start = source.place_above(node)
            return [Splice(start, start, f"{source.indent_of(edit.before)}{edit.text}{source.newline}")]
    raise Declined(f"no statement begins on line {edit.before}")
