"""Python's own scope rules over ``ast``: which statement binds a name where. Exact; computed only where asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from warpfix.codemods.trees import children, tree_nodes

Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Scope = (*Function, *Comprehension, ast.ClassDef)

_FunctionDef = (ast.FunctionDef, ast.AsyncFunctionDef)

Bindings = dict[str, list[ast.AST]]


class ScopeTable:
    """What one scope binds, and what it sends elsewhere with ``global`` and ``nonlocal``."""

    __slots__ = ("bindings", "global_names", "nonlocal_names", "walruses")

    def __init__(self, walruses: bool = True) -> None:
        self.walruses = walruses
        self.bindings: Bindings = {}
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()


def parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    """All parameters, in the order of their declaration."""
    yield from arguments.posonlyargs
    yield from arguments.args
    if arguments.vararg:
        yield arguments.vararg
    yield from arguments.kwonlyargs
    if arguments.kwarg:
        yield arguments.kwarg


def scope_table(node: ast.AST, walruses: bool = True) -> ScopeTable:
    """The table of a module, class, function, lambda or comprehension; nested scopes are not looked into.

    ``walruses`` may be False for a file whose text has no ``:=``: then expressions need not be looked at.
    """
    table = ScopeTable(walruses)
    if isinstance(node, Comprehension):
        for generator in node.generators:
            _targets(generator.target, generator, table.bindings)
        return table
    if isinstance(node, Function):
        for parameter in parameters(node.args):
            table.bindings.setdefault(parameter.arg, []).append(parameter)
    if isinstance(node, ast.Lambda):
        _walruses(node.body, table)
        return table
    for variable in getattr(node, "type_params", ()):
        table.bindings.setdefault(variable.name, []).append(variable)
    body: list[ast.stmt] = getattr(node, "body", [])
    _statements(body, table)
    for name in table.global_names | table.nonlocal_names:
        table.bindings.pop(name, None)
    return table


def raw_bindings(node: ast.AST) -> Bindings:
    """What a function's body binds before ``global`` and ``nonlocal`` send some of it elsewhere."""
    table = ScopeTable()
    _statements(getattr(node, "body", ()), table)
    return table.bindings


# Statements that hold neither names of their own nor other statements.
_BIND_NOTHING = frozenset({ast.Expr, ast.Return, ast.Raise, ast.Assert, ast.Pass, ast.Break, ast.Continue})


def _statements(body: Iterable[ast.stmt], table: ScopeTable) -> None:
    bindings = table.bindings
    pending: list[ast.AST] = list(reversed(list(body)))
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind in _BIND_NOTHING and not table.walruses:
            continue
        if isinstance(node, (*_FunctionDef, ast.ClassDef)):
            bindings.setdefault(node.name, []).append(node)
            if table.walruses:
                for outer in outer_expressions(node):
                    _walruses(outer, table)
        elif kind is ast.Assign:
            assert isinstance(node, ast.Assign)
            for target in node.targets:
                _targets(target, node, bindings)
            _walruses(node.value, table)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            _targets(node.target, node, bindings)
            if node.value is not None:
                _walruses(node.value, table)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                bindings.setdefault(alias.asname or alias.name.split(".", 1)[0], []).append(node)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name != "*":
                    bindings.setdefault(alias.asname or alias.name, []).append(node)
        elif isinstance(node, ast.Global):
            table.global_names.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            table.nonlocal_names.update(node.names)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                _targets(target, node, bindings)
        elif isinstance(node, ast.Expr):
            _walruses(node.value, table)
        elif isinstance(node, ast.ExceptHandler):
            if node.name:
                bindings.setdefault(node.name, []).append(node)
            pending.extend(reversed(node.body))
        else:
            _compound(node, table, pending)


def _compound(node: ast.AST, table: ScopeTable, pending: list[ast.AST]) -> None:
    if isinstance(node, (ast.For, ast.AsyncFor)):
        _targets(node.target, node, table.bindings)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                _targets(item.optional_vars, node, table.bindings)
    elif isinstance(node, ast.Match):
        for case in node.cases:
            for pattern in tree_nodes(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    table.bindings.setdefault(name, []).append(node)
            if case.guard is not None:
                _walruses(case.guard, table)
    elif type(node).__name__ == "TypeAlias":
        _targets(node.name, node, table.bindings)  # type: ignore[attr-defined]
    inner: list[ast.AST] = []
    for field in ("body", "handlers", "orelse", "finalbody"):
        inner.extend(getattr(node, field, ()))
    if isinstance(node, ast.Match):
        for case in node.cases:
            inner.extend(case.body)
    pending.extend(reversed(inner))
    if not table.walruses:
        return
    for field in ("test", "iter", "value", "exc", "cause", "msg", "subject"):
        value = getattr(node, field, None)
        if isinstance(value, ast.expr):
            _walruses(value, table)
    for item in getattr(node, "items", ()):
        _walruses(item.context_expr, table)


def outer_expressions(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda) -> Iterator[ast.expr]:
    """Expressions written at a definition that run in the scope around it: decorators, defaults, annotations, bases."""
    if not isinstance(node, ast.Lambda):
        yield from node.decorator_list
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        for keyword in node.keywords:
            yield keyword.value
        return
    yield from node.args.defaults
    for default in node.args.kw_defaults:
        if default is not None:
            yield default
    if not isinstance(node, ast.Lambda):
        for parameter in parameters(node.args):
            if parameter.annotation is not None:
                yield parameter.annotation
        if node.returns is not None:
            yield node.returns


def _targets(target: ast.expr, statement: ast.AST, bindings: Bindings) -> None:
    kind = type(target)
    if kind is ast.Name:
        bindings.setdefault(target.id, []).append(statement)  # type: ignore[attr-defined]
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            _targets(element, statement, bindings)
    elif isinstance(target, ast.Starred):
        _targets(target.value, statement, bindings)


_NO_WALRUS_INSIDE = (ast.Name, ast.Constant, ast.Attribute)


def _walruses(expression: ast.expr, table: ScopeTable) -> None:
    """Bindings by ``:=``; inside a comprehension they belong to the function around it, in a lambda to the lambda."""
    if not table.walruses or isinstance(expression, _NO_WALRUS_INSIDE):
        return
    pending: list[ast.AST] = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.NamedExpr):
            table.bindings.setdefault(node.target.id, []).append(node)
            pending.append(node.value)
        elif isinstance(node, ast.Lambda):
            pending.extend(outer_expressions(node))
        elif not isinstance(node, _NO_WALRUS_INSIDE):
            pending.extend(children(node))


def is_main_guard(node: ast.AST) -> bool:
    """``if __name__ == "__main__":``, whatever else the test says."""
    return isinstance(node, ast.If) and any(
        isinstance(inner, ast.Name) and inner.id == "__name__" for inner in tree_nodes(node.test)
    )


def qualname(enclosing: Iterable[ast.AST], name: str) -> str:
    """Python's ``__qualname__`` of something called ``name`` that is defined inside ``enclosing``."""
    pieces: list[str] = []
    for node in enclosing:
        if isinstance(node, ast.ClassDef):
            pieces.append(node.name)
        elif isinstance(node, _FunctionDef):
            pieces += (node.name, "<locals>")
        elif isinstance(node, ast.Lambda):
            pieces += ("<lambda>", "<locals>")
    pieces.append(name)
    return ".".join(pieces)


def imported_name(node: ast.Import | ast.ImportFrom, name: str) -> ast.alias | None:
    """The alias of an import statement that binds ``name``."""
    for alias in node.names:
        bound = alias.asname or (alias.name.split(".", 1)[0] if isinstance(node, ast.Import) else alias.name)
        if bound == name:
            return alias
    return None


def assigned_value(node: ast.AST, name: str) -> ast.expr | None:
    """The expression that an assignment gives to ``name``, where that can be read off; else None."""
    if isinstance(node, ast.NamedExpr):
        return node.value
    if isinstance(node, ast.AnnAssign):
        return node.value
    if not isinstance(node, ast.Assign):
        return None
    for target in node.targets:
        if isinstance(target, ast.Name) and target.id == name:
            return node.value
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Tuple, ast.List)):
            elements = target.elts
            if len(elements) == len(node.value.elts) and not any(
                isinstance(element, ast.Starred) for element in (*elements, *node.value.elts)
            ):
                for element, value in zip(elements, node.value.elts, strict=True):
                    if isinstance(element, ast.Name) and element.id == name:
                        return value
    return None
