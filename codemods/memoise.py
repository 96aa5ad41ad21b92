"""Decorate a function with ``functools.cache``, imported where the file does not do so yet."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods.base import Declined, Edit, Source, Splice


@dataclass(frozen=True)
class Memoise(Edit):
    """Put ``@functools.cache`` above the function at module scope that is defined on ``line``."""

    codemod: ClassVar[str] = "memoise"

    line: int
    name: str


# Tops of import groups in files with kernels; ``functools`` stands in a group above those.
_NEVER_STANDARD = frozenset({"warp", "numpy", "torch", "newton", "jax", ""})


def splices(source: Source, edit: Memoise) -> list[Splice]:
    """The decorator, and the import if one is needed.

    Raises:
        Declined: there is no such function, it is decorated, or ``functools`` means something else in the file.
    """
    node = source.definition(edit.line, edit.name)
    if not isinstance(node, ast.FunctionDef) or node not in source.tree.body:
        raise Declined(f"`{edit.name}` is no plain function at module scope")
    if node.decorator_list:
        raise Declined(f"`{edit.name}` is decorated")
    start = source.extent(node).decorated
    spelled, insertion = _spelling(source, node)
    result = [Splice(start, start, f"@{spelled}{source.newline}", rank=1)]
    if insertion is not None:
        result.append(insertion)
    return result


def _spelling(source: Source, node: ast.FunctionDef) -> tuple[str, Splice | None]:
    """How the file says ``functools.cache`` above the function, and the import that makes it so."""
    bound = False
    for statement in source.tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "functools" and statement.level == 0:
            for alias in statement.names:
                name = alias.asname or alias.name
                if alias.name == "cache" and statement.lineno < node.lineno and _bound_once(source, name):
                    return name, None
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                name = alias.asname or alias.name
                if alias.name == "functools" and statement.lineno < node.lineno and _bound_once(source, name):
                    return f"{name}.cache", None
        bound = bound or _binds(statement, "functools")
    if bound or any(isinstance(inner, ast.Name) and inner.id == "functools" for inner in ast.walk(source.tree)):
        raise Declined("`functools` is a name of something else in this file")
    return "functools.cache", _import(source)


def _bound_once(source: Source, name: str) -> bool:
    return sum(_binds(statement, name) for statement in source.tree.body) == 1


def _binds(statement: ast.stmt, name: str) -> bool:
    return any(
        (isinstance(inner, ast.alias) and (inner.asname or inner.name) == name)
        or (isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and inner.name == name)
        or (isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id == name)
        for inner in ast.walk(statement)
    )


def _import(source: Source) -> Splice:
    """``import functools`` where a sorter of imports would have it: among the plain imports of the first group."""
    body = source.tree.body
    place = 0
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        place = 1
    while place < len(body):
        statement = body[place]
        if not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            break
        place += 1
    if place == len(body):
        raise Declined("the file has no place for an import")
    first = body[place]
    text = "import functools" + source.newline
    if not isinstance(first, (ast.Import, ast.ImportFrom)):
        start = source.extent(first).start
        return Splice(start, start, text + source.newline)
    group = [first]
    for statement in body[place + 1 :]:
        apart = not source.line(statement.lineno - 1).strip()
        if not isinstance(statement, (ast.Import, ast.ImportFrom)) or apart:
            break
        group.append(statement)
    if _top(first) in _NEVER_STANDARD:
        start = _line_start(source, first)
        return Splice(start, start, text + source.newline)
    for statement in group:
        if isinstance(statement, ast.ImportFrom) or _top(statement) > "functools":
            start = _line_start(source, statement)
            return Splice(start, start, text)
    end = source.extent(group[-1]).end
    return Splice(end, end, text)


def _line_start(source: Source, statement: ast.stmt) -> int:
    """Start of a statement's line, below the comments above it and behind a byte order mark."""
    start = source.extent(statement).decorated
    return start + 1 if start == 0 and source.text.startswith("\ufeff") else start


def _top(statement: ast.stmt) -> str:
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").split(".", 1)[0] if statement.level == 0 else ""
    assert isinstance(statement, ast.Import)
    return statement.names[0].name.split(".", 1)[0]
