"""Give one argument of a call another value, or add it as a keyword; the rest of the call keeps its text."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods._arguments import set_keyword
from warpfix.codemods.base import Declined, Edit, Source, Splice


@dataclass(frozen=True)
class SetArgument(Edit):
    """Set argument ``name`` of the call that begins at ``line`` and ``column`` (as ``ast`` counts) to ``text``.

    ``call`` is how the call reads (as ``ast.unparse`` writes it), ``position`` where the argument stands if it is given
    without its name.
    """

    codemod: ClassVar[str] = "set_argument"

    line: int
    column: int
    call: str
    name: str
    position: int | None
    text: str


def splices(source: Source, edit: SetArgument) -> list[Splice]:
    """The change. Raises Declined if the call is not there, or hands its arguments on from a star."""
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Call)
            and (node.lineno, node.col_offset) == (edit.line, edit.column)
            and ast.unparse(node) == edit.call
        ):
            if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
                keyword.arg is None for keyword in node.keywords
            ):
                raise Declined("the call takes arguments from a star")
            if edit.position is not None and edit.position < len(node.args):
                return [Splice(*source.span(node.args[edit.position]), edit.text)]
            return set_keyword(source, node, edit.name, edit.text)
    raise Declined(f"line {edit.line} does not hold the call `{edit.call}`")
