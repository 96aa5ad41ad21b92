"""Walks over trees that tell of each node what is around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from warpfix.codemods.trees import LEAVES
from warpfix.index.scopes import Comprehension, outer_expressions
from warpfix.index.walk import Enclosing


def walk_with_scopes(root: ast.AST, enclosing: Enclosing = ()) -> Iterator[tuple[ast.AST, Enclosing]]:
    """Every node below ``root`` with the nodes around it that matter for scopes and blocks, outermost first."""
    leaves = LEAVES
    pending: list[tuple[Any, Enclosing]] = [(root, enclosing)]
    while pending:
        node, around = pending.pop()
        yield node, around
        kind = node.__class__
        if kind is ast.Name or kind is ast.Constant:
            continue
        if kind in _DEFINITIONS or kind is ast.Lambda:
            inside = (*around, node)
            body = [node.body] if kind is ast.Lambda else node.body
            pending.extend([(child, inside) for child in reversed(body)])
            pending.extend([(expression, around) for expression in outer_expressions(node)])
        elif kind in _COMPREHENSIONS:
            inside = (*around, node)
            if kind is ast.DictComp:
                pending += [(node.value, inside), (node.key, inside)]
            else:
                pending.append((node.elt, inside))
            for number, generator in enumerate(node.generators):
                pending.extend([(condition, inside) for condition in generator.ifs])
                pending.append((generator.target, inside))
                pending.append((generator.iter, inside if number else around))
        else:
            inside = (*around, node) if kind in _BLOCKS else around
            for field in _REVERSED_FIELDS[kind]:
                value = getattr(node, field, None)
                if value.__class__ is list:
                    for item in reversed(value):
                        if item.__class__ not in leaves:
                            pending.append((item, inside))
                elif value.__class__ not in leaves:
                    pending.append((value, inside))


_BLOCKS = frozenset(
    {ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match, ast.ExceptHandler}
    | ({ast.TryStar} if hasattr(ast, "TryStar") else set())
)
_COMPREHENSIONS = frozenset(Comprehension)
_NO_CHILD = frozenset(
    {"ctx", "op", "ops", "kind", "type_comment", "id", "attr", "arg", "conversion", "level", "module"}
)
_REVERSED_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in reversed(kind._fields) if name not in _NO_CHILD)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def statements_with_scopes(tree: ast.Module) -> Iterator[tuple[ast.stmt, Enclosing]]:
    """Every statement with the functions and classes around it; expressions are not looked into."""
    inner = _STATEMENTS_IN
    pending: list[tuple[Any, Enclosing]] = [(statement, ()) for statement in reversed(tree.body)]
    while pending:
        item = pending.pop()
        node = item[0]
        kind = node.__class__
        fields = inner.get(kind)
        if fields is None:
            yield item
            continue
        if kind is not ast.ExceptHandler and kind is not ast.match_case:
            yield item
        inside = (*item[1], node) if kind in _DEFINITIONS else item[1]
        for field in fields:
            below = getattr(node, field)
            if below:
                pending.extend([(child, inside) for child in reversed(below)])


_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
_STATEMENTS_IN: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in ("finalbody", "orelse", "handlers", "cases", "body") if name in kind._fields)
    for kind in vars(ast).values()
    if isinstance(kind, type)
    and (issubclass(kind, ast.stmt) or kind in (ast.ExceptHandler, ast.match_case))
    and {"body", "cases"}.intersection(kind._fields)
}


def last_name(expr: ast.AST) -> str:
    if isinstance(expr, ast.Name):
        return expr.id
    return expr.attr if isinstance(expr, ast.Attribute) else ""
