"""Put a new statement on a line of its own above an existing one at module scope, and below the comments that lead."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods.base import Declined, Edit, Source, Splice


@dataclass(frozen=True)
class InsertStatement(Edit):
    """Insert ``text``, one line, above the statement at module scope that begins on ``before``, as far apart as it."""

    codemod: ClassVar[str] = "insert_statement"

    before: int
    text: str


def splices(source: Source, edit: InsertStatement) -> list[Splice]:
    """The insertion. Raises Declined if no statement begins there, or if it is there already."""
    for statement in source.tree.body:
        if isinstance(statement, ast.stmt) and ast.unparse(statement) == edit.text:
            raise Declined(f"the file holds `{edit.text}` already")
    for statement in source.tree.body:
        if source.first_line(statement) == edit.before:
            start = source.extent(statement).start
            if start == 0 and source.text.startswith("\ufeff"):
                start = 1
            first, blanks = source.line_of(start), 0
            while first - 1 - blanks >= 1 and not source.line(first - 1 - blanks).strip():
                blanks += 1
            return [Splice(start, start, edit.text + source.newline * (1 + max(1, blanks)))]
    raise Declined(f"no statement at module scope begins on line {edit.before}")
