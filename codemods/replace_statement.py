"""Write another simple statement in the place of one; what stands around it on the line, comments too, is kept."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods.base import Declined, Edit, Source, Splice


@dataclass(frozen=True)
class ReplaceStatement(Edit):
    """Replace the simple statement that begins on ``line`` and reads as ``old`` (as ``ast.unparse`` writes it)."""

    codemod: ClassVar[str] = "replace_statement"

    line: int
    old: str
    new: str


def splices(source: Source, edit: ReplaceStatement) -> list[Splice]:
    """The replacement. Raises Declined if the statement is not there."""
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Assign, ast.Expr)) and node.lineno == edit.line and ast.unparse(node) == edit.old:
            start, end = source.span(node)
            return [Splice(start, end, edit.new)]
    raise Declined(f"line {edit.line} does not hold `{edit.old}`")
