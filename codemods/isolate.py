"""Give a kernel that is specialised at every call a Warp module of its own: ``@wp.kernel(module="unique")``."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods._arguments import quoted, set_keyword
from warpfix.codemods.base import Declined, Edit, Source, Splice


@dataclass(frozen=True)
class Isolate(Edit):
    """Put ``module="unique"`` into the decorator of the kernel defined on ``line``; ``decorator`` counts from 0.

    ``options`` are the module options that it had in its shared module, as name and source text of the value.
    """

    codemod: ClassVar[str] = "isolate"

    line: int
    name: str
    options: tuple[tuple[str, str], ...] = ()
    decorator: int = 0


def splices(source: Source, edit: Isolate) -> list[Splice]:
    """The change of one decorator.

    Raises:
        Declined: the decorator is not there, or says already which module the kernel belongs to.
    """
    node = source.definition(edit.line, edit.name)
    if edit.decorator >= len(node.decorator_list):
        raise Declined(f"`{edit.name}` has no decorator number {edit.decorator}")
    decorator = node.decorator_list[edit.decorator]
    added = f"module={quoted('unique', _quote_of(source, decorator))}"
    if edit.options:
        items = ", ".join(f"{quoted(name, _quote_of(source, decorator))}: {text}" for name, text in edit.options)
        added += f", module_options={{{items}}}"
    if not isinstance(decorator, ast.Call):
        end = source.span(decorator)[1]
        return [Splice(end, end, f"({added})")]
    if any(keyword.arg is None for keyword in decorator.keywords):
        raise Declined(f"the decorator of `{edit.name}` takes its arguments by a star")
    named = {keyword.arg: keyword.value for keyword in decorator.keywords}
    if "module_options" in named:
        raise Declined(f"`{edit.name}` has `module_options=` already")
    if "module" in named:
        if not (isinstance(named["module"], ast.Constant) and named["module"].value is None):
            raise Declined(f"`{edit.name}` says already which Warp module it belongs to")
        keyword = next(keyword for keyword in decorator.keywords if keyword.arg == "module")
        return [Splice(*source.span(keyword), added)]
    return set_keyword(source, decorator, "module", added.removeprefix("module="))


def _quote_of(source: Source, decorator: ast.expr) -> str:
    """The quotes of the first plain string in the decorator, else of the file; double ones by default."""
    nodes = [*ast.walk(decorator), *ast.walk(source.tree)]
    for inner in nodes:
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            start = source.text[source.span(inner)[0] :][:4]
            if not start.lstrip("rRuUbB").startswith(('"""', "'''")):
                return start
    return '"'
