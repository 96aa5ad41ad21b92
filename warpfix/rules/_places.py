"""Where in a program a statement stands: whether it runs at every start, or in a place made for exceptions."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator

from warpfix.codemods.base import Declined, Source
from warpfix.index.build import CallSite, ProjectIndex
from warpfix.index.constructs import value_of
from warpfix.index.model import FileIndex
from warpfix.index.scopes import Comprehension, Function, is_main_guard
from warpfix.index.walk import Enclosing

Loop = (ast.For, ast.AsyncFor, ast.While)

_MEASURING = re.compile(
    r"(?:^|[/_.-])(?:asv|bench\w*|perf\w*|profil\w*|timing\w*|speed\w*|testspeed|ci|tools?|clear\w*)(?=[/_.-]|$)", re.I
)
_UPKEEP = re.compile(r"bench|perf|profil|timing|measure|clear|clean|reset|purge|cold|rebuild|recompile", re.I)


def measures(index: ProjectIndex, file: FileIndex) -> bool:
    """Whether the file is a benchmark or a tool by its path: a place that throws caches away on purpose."""
    return _MEASURING.search(index.project.relative(file.path)) is not None


def runs_at_start(
    index: ProjectIndex, file: FileIndex, enclosing: Enclosing, seen: frozenset[str] = frozenset()
) -> bool:
    """Whether code in this place runs whenever the file is imported or started: on no condition, whatever the flags.

    Functions are followed to a call that runs so itself; a name that speaks of upkeep (``clear_cache``, ``benchmark``)
    is taken at its word.
    """
    function: ast.AST | None = None
    outside: Enclosing = ()
    for place in range(len(enclosing) - 1, -1, -1):
        node = enclosing[place]
        if isinstance(node, Function):
            function, outside = node, enclosing[:place]
            break
        if isinstance(node, (ast.With, ast.AsyncWith)) or is_main_guard(node):
            continue
        return False
    if function is None:
        return True
    if outside or not isinstance(function, ast.FunctionDef) or _UPKEEP.search(function.name):
        return False
    if len(seen) > 3 or function.name in seen:
        return False
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function)):
        return False
    sites = index.call_sites(f"{index.prefix(file)}.{function.name}")
    return any(runs_at_start(index, site.file, site.enclosing, seen | {function.name}) for site in sites)


def under_condition(enclosing: Enclosing) -> bool:
    """Whether an ``if``, ``try`` or ``match`` other than the main guard stands around."""
    kinds = (ast.If, ast.Try, ast.Match, ast.ExceptHandler)
    return any(isinstance(node, kinds) and not is_main_guard(node) for node in enclosing)


def asks_for(enclosing: Enclosing, *words: str) -> bool:
    """Whether a condition around mentions one of the words: code that looks which Warp it meets."""
    for node in enclosing:
        if isinstance(node, (ast.Try, ast.ExceptHandler)):
            return True
        if isinstance(node, ast.If):
            for inner in ast.walk(node.test):
                text = (
                    inner.id
                    if isinstance(inner, ast.Name)
                    else inner.attr
                    if isinstance(inner, ast.Attribute)
                    else inner.value
                    if isinstance(inner, ast.Constant)
                    else ""
                )
                if isinstance(text, str) and any(word in text.lower() for word in words):
                    return True
    return False


def innermost_function(enclosing: Enclosing) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
    """The function around a place."""
    for node in reversed(enclosing):
        if isinstance(node, Function):
            return node
    return None


def loops_around(enclosing: Enclosing) -> list[ast.AST]:
    """Loops and comprehensions around a place, up to the function that it is in; the innermost first."""
    found: list[ast.AST] = []
    for node in reversed(enclosing):
        if isinstance(node, Function):
            break
        if isinstance(node, (*Loop, *Comprehension)):
            found.append(node)
    return found


def literal_int(index: ProjectIndex, file: FileIndex, node: ast.expr | None, enclosing: Enclosing) -> int | None:
    """An integer that the source shows: a literal, a name bound once to one, ``wp.constant(8)``, ``wp.static(8)``."""
    if node is None:
        return None
    value = value_of(index, file, node, enclosing)
    if isinstance(value, ast.Attribute):
        resolved = index.resolve(file, value, enclosing)
        if resolved is not None and "." in resolved:
            prefix, _, name = resolved.rpartition(".")
            owner = index.module_file(prefix)
            if owner is not None and owner is not file:
                return literal_int(index, owner, ast.Name(id=name, ctx=ast.Load()), ())
        return None
    if isinstance(value, ast.Name):
        resolved = index.resolve(file, value, enclosing)
        if resolved is not None and "." in resolved:
            prefix, _, name = resolved.rpartition(".")
            owner = index.module_file(prefix)
            if owner is not None and owner is not file:
                return literal_int(index, owner, ast.Name(id=name, ctx=ast.Load()), ())
        return None
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        if index.resolve(file, value.func, enclosing) in ("warp.constant", "warp.static", "builtins.int"):
            return literal_int(index, file, value.args[0], enclosing)
        return None
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return value.value
    return None


def calls_of(index: ProjectIndex, file: FileIndex, *wanted: str) -> Iterator[CallSite]:
    """Calls in a file of Warp's functions, given without ``warp.``; also where they were imported under other names."""
    names = set(wanted)
    for name in wanted:
        names.update(index.renames(file).get(name, ()))
    calls = index.calls(file)
    found: list[CallSite] = []
    for name in names:
        for call in calls.get(name, ()):
            resolved = index.resolve(file, call.node.func, call.enclosing)
            if resolved is not None and resolved.startswith("warp.") and resolved[len("warp.") :] in wanted:
                found.append(CallSite(file, call.node, call.statement, call.enclosing))
    yield from sorted(found, key=lambda site: (site.node.lineno, site.node.col_offset))


def stands_alone(file: FileIndex, statement: ast.stmt) -> bool:
    """Whether no other statement shares its lines, so that it can be cut out."""
    try:
        Source(file.text, file.path).extent(statement)
    except Declined:
        return False
    return True


def reaches_launch(index: ProjectIndex, file: FileIndex) -> bool:
    """Whether the file, or what it imports from its project, launches anything."""
    pending, seen = [file.path], {file.path}
    while pending:
        path = pending.pop()
        here = index.files.get(path)
        if here is not None and here.launches:
            return True
        for target in index.imported_files(path):
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return False


def starts(index: ProjectIndex, file: FileIndex) -> bool:
    """Whether the file is where a program begins: it has a main guard or runs something, and nobody imports it."""
    if os.path.basename(file.path) in ("__init__.py", "setup.py", "conftest.py"):
        return False
    if index.importing_files(file.path):
        return False
    guarded = any(is_main_guard(statement) for statement in file.tree.body)
    runs = any(
        isinstance(statement, (ast.For, ast.While, ast.With))
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call))
        for statement in file.tree.body
    )
    return guarded or runs


def above_kernels(index: ProjectIndex, file: FileIndex) -> tuple[ast.stmt, str] | str:
    """The first statement that may make a kernel, and Warp's name above it; or why there is no such place."""
    name: str | None = None
    for statement in file.tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        plain = isinstance(statement, (ast.Import, ast.ImportFrom)) and not index.imported_paths(file, statement)
        if not plain:
            if name is None:
                return f"Warp is imported only below line {statement.lineno}, which may make kernels"
            if not stands_alone(file, statement):
                return f"line {statement.lineno} holds several statements"
            return statement, name
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "warp":
                    name = alias.asname or "warp"
    return "the file does nothing but import"


def joined(words: Iterable[object]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    listed = [str(word) for word in words]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
