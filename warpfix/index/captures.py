"""What a definition reads from the scopes around it, name by name: Python's scoping rules over ``ast``.

``symtable`` knows which names are free but not where they stand, and its treatment of comprehensions and annotations
changes between Python versions; this module resolves every single occurrence, and a test holds it against ``symtable``.
What Warp adds to Python is kept in view: annotations, defaults and decorator arguments belong to the scope that holds
the definition, and so does a string annotation, which Warp evaluates itself.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from warpfix.codemods.trees import FIELDS, LEAVES, children, tree_nodes

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# Reading the caller's names through these defeats every analysis of scopes.
_SCOPE_READERS = frozenset({"locals", "vars", "eval", "exec", "globals", "dir", "__import__"})


@dataclass(eq=False)
class Scope:
    """A module, class, function, lambda or comprehension with the names that it binds."""

    kind: str
    """``module``, ``class``, ``function``, ``lambda`` or ``comprehension``."""
    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[ast.AST]] = field(default_factory=dict)
    """Name to the nodes that bind it, in source order: a statement, an ``arg``, an ``alias``, a ``Name``, ..."""
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The name of a function or class; a word for the others."""
        return getattr(self.node, "name", f"<{self.kind}>")

    def chain(self) -> Iterator[Scope]:
        """The scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def in_function(self) -> bool:
        """Whether its names live in a function's frame: a function, a lambda or a comprehension."""
        return self.kind in ("function", "lambda", "comprehension")


@dataclass(eq=False, slots=True)
class Occurrence:
    """One name in the source. ``scope`` is the one whose rules resolve it; ``node`` carries the position."""

    name: str
    node: ast.AST
    scope: Scope
    store: bool = False
    """Whether it binds or deletes the name."""
    quoted: bool = False
    """Whether it stands in a string annotation: ``node`` is the whole string."""
    text_of: ast.AST | None = None
    """The function or class whose annotation it stands in, if that is kept as text, for Warp to evaluate."""


class Scopes:
    """The scopes of one file and every occurrence of every name in it."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.module = Scope("module", tree, None)
        self.by_node: dict[ast.AST, Scope] = {tree: self.module}
        self.occurrences: list[Occurrence] = []
        self._free: dict[ast.AST, frozenset[str]] = {}
        _Walker(self).run(tree)

    def resolve(self, occurrence: Occurrence) -> Scope | None:
        """The scope whose binding the occurrence means; None for a builtin or a name that nothing here binds.

        An annotation that is text is evaluated with the names of module scope and the free variables of its function's
        body: what it names beside those is not the local that stands around it.
        """
        scope = self.lookup(occurrence.name, occurrence.scope)
        if occurrence.text_of is not None and not self._seen(occurrence, scope):
            return self.module if occurrence.name in self.module.bindings else None
        return scope

    def unseen(self, occurrence: Occurrence) -> bool:
        """Whether it is in an annotation kept as text, and names a local that the evaluation of that does not see."""
        return occurrence.text_of is not None and not self._seen(
            occurrence, self.lookup(occurrence.name, occurrence.scope)
        )

    def _seen(self, occurrence: Occurrence, scope: Scope | None) -> bool:
        owner = occurrence.text_of
        if scope is None or scope.kind == "module" or owner is None or scope is self.by_node.get(owner):
            return True
        return isinstance(owner, FunctionNode) and occurrence.name in self._free_names(owner)

    def _free_names(self, node: FunctionNode) -> frozenset[str]:
        """The names of functions around a function that its body uses: what it has closure cells for."""
        if node not in self._free:
            own = self.by_node[node]
            self._free[node] = frozenset(
                occurrence.name
                for occurrence in self.within(node)
                if own in occurrence.scope.chain()
                and occurrence.text_of is None
                and not occurrence.quoted
                and (scope := self.resolve(occurrence)) is not None
                and scope.in_function
                and own not in scope.chain()
            )
        return self._free[node]

    def lookup(self, name: str, scope: Scope) -> Scope | None:
        """As :meth:`resolve`, for a name that would be used in ``scope``."""
        first = True
        current: Scope | None = scope
        while current is not None:
            if name in current.global_names:
                current = self.module
                break
            # A class's names are seen by its own statements only.
            visible = current.kind != "class" or first
            if visible and name in current.bindings and name not in current.nonlocal_names:
                return current
            # A comprehension in a class body does not see the class's names either, but its first iterable does: that
            # one is recorded in the class's scope by the walker.
            first = False
            current = current.parent
        return self.module if name in self.module.bindings else None

    @cached_property
    def _by_binding(self) -> dict[tuple[int, str], list[Occurrence]]:
        found: dict[tuple[int, str], list[Occurrence]] = {}
        for occurrence in self.occurrences:
            scope = self.resolve(occurrence)
            found.setdefault((id(scope), occurrence.name), []).append(occurrence)
        return found

    def references(self, scope: Scope | None, name: str) -> list[Occurrence]:
        """Every occurrence, in source order, that means ``name`` of ``scope`` (None: builtins and unbound names)."""
        return self._by_binding.get((id(scope), name), [])

    @cached_property
    def _positions(self) -> list[tuple[int, int, Occurrence]]:
        places = ((_at(occurrence), occurrence) for occurrence in self.occurrences)
        found = [(node.lineno, node.col_offset, occurrence) for node, occurrence in places if node]
        return sorted(found, key=lambda item: item[:2])

    def within(self, node: ast.stmt) -> list[Occurrence]:
        """The occurrences inside a statement, its decorators included."""
        import bisect

        start = min([(node.lineno, node.col_offset)] + [(d.lineno, d.col_offset) for d in _decorators(node)])
        assert node.end_lineno is not None and node.end_col_offset is not None
        end = (node.end_lineno, node.end_col_offset)
        keys = self._position_keys
        return [self._positions[i][2] for i in range(bisect.bisect_left(keys, start), bisect.bisect_left(keys, end))]

    @cached_property
    def _position_keys(self) -> list[tuple[int, int]]:
        return [(line, column) for line, column, _ in self._positions]

    def outside_names(self, node: DefinitionNode) -> list[tuple[Occurrence, Scope | None]]:
        """What a definition reads (or rebinds) outside itself: occurrences with the scope that they mean.

        The definition's own name, bound by its statement, is not among them; its recursion is.
        """
        own = self.by_node[node]
        found = []
        for occurrence in self.within(node):
            if occurrence.node is node:
                continue
            scope = self.resolve(occurrence)
            if scope is None or own not in scope.chain():
                found.append((occurrence, scope))
        return found

    def reads_scopes(self, scope: Scope) -> ast.AST | None:
        """A call in a function (or nested in it) of ``locals``, ``eval``, ``exec`` and the like, if there is one."""
        for name in _SCOPE_READERS:
            for occurrence in self.references(None, name):
                if scope in occurrence.scope.chain():
                    return occurrence.node
        return None


def is_builtin(name: str) -> bool:
    """Whether Python's builtins define the name."""
    return hasattr(builtins, name)


def definition_time(node: DefinitionNode, static_call: Iterable[ast.Call] = ()) -> set[ast.AST]:
    """The expressions of a definition that run when it is executed: decorators, defaults, annotations, class bodies.

    Args:
        node: The definition.
        static_call: Calls of ``wp.static`` in its body, which Warp evaluates at decoration.

    Returns:
        Every ``ast`` node inside those expressions.
    """
    roots: list[ast.AST] = [*node.decorator_list, *static_call]
    if isinstance(node, ast.ClassDef):
        roots += [*node.bases, *node.keywords]
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                roots += definition_time(statement)
            else:
                roots.append(statement)
    else:
        arguments = node.args
        roots += [*arguments.defaults, *(default for default in arguments.kw_defaults if default is not None)]
        roots += [arg.annotation for arg in all_arguments(arguments) if arg.annotation is not None]
        roots += [node.returns] if node.returns is not None else []
    return {inner for root in roots for inner in tree_nodes(root)}


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """The parameters of a function in source order."""
    middle = [arguments.vararg] if arguments.vararg else []
    last = [arguments.kwarg] if arguments.kwarg else []
    return [*arguments.posonlyargs, *arguments.args, *middle, *arguments.kwonlyargs, *last]


def _decorators(node: ast.AST) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _at(occurrence: Occurrence) -> ast.expr | None:
    node = occurrence.node
    return node if hasattr(node, "lineno") else None  # type: ignore[return-value]


class _Walker:
    """One pass: scopes, bindings, occurrences. What a scope's body uses is visited after its header."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.as_text = any(
            isinstance(statement, ast.ImportFrom)
            and statement.module == "__future__"
            and any(alias.name == "annotations" for alias in statement.names)
            for statement in scopes.tree.body
        )

    def run(self, tree: ast.Module) -> None:
        for statement in tree.body:
            self.visit(statement, self.scopes.module)

    def bind(self, name: str, node: ast.AST, scope: Scope) -> None:
        if name in scope.global_names:
            scope = self.scopes.module
        scope.bindings.setdefault(name, []).append(node)

    def occur(self, name: str, node: ast.AST, scope: Scope, *, store: bool = False, quoted: bool = False) -> None:
        self.scopes.occurrences.append(Occurrence(name, node, scope, store, quoted))

    def bind_here(self, name: str, node: ast.AST, scope: Scope) -> None:
        self.bind(name, node, scope)
        self.occur(name, node, scope, store=True)

    def visit_all(self, nodes: Iterable[ast.AST], scope: Scope) -> None:
        for node in nodes:
            self.visit(node, scope)

    def visit(self, node: ast.AST, scope: Scope) -> None:
        # Most nodes are nothing but what holds others: those are gone through here, without a call for each.
        fields, leaves, methods = FIELDS, LEAVES, _METHODS
        pending = [node]
        while pending:
            node = pending.pop()
            kind = node.__class__
            if kind in methods:
                methods[kind](self, node, scope)
                continue
            below: list[ast.AST] = []
            for name in fields[kind]:
                value: Any = getattr(node, name, None)
                if value.__class__ is list:
                    below += [item for item in value if item.__class__ not in leaves]
                elif value.__class__ not in leaves:
                    below.append(value)
            below.reverse()
            pending += below

    def visit_Name(self, node: ast.Name, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self.occur(node.id, node, scope)
        else:
            self.bind_here(node.id, node, scope)

    def visit_NamedExpr(self, node: ast.NamedExpr, scope: Scope) -> None:
        self.visit(node.value, scope)
        target = scope
        while target.kind == "comprehension" and target.parent is not None:
            target = target.parent
        self.bind_here(node.target.id, node.target, target)

    def declare(self, node: ast.Global | ast.Nonlocal, scope: Scope, into: set[str]) -> None:
        into.update(node.names)
        for name in node.names:
            self.occur(name, node, scope)

    def visit_Global(self, node: ast.Global, scope: Scope) -> None:
        if scope.kind != "module":
            self.declare(node, scope, scope.global_names)

    def visit_Nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        self.declare(node, scope, scope.nonlocal_names)

    def visit_Import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            self.bind_here(alias.asname or alias.name.partition(".")[0], alias, scope)

    def visit_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if alias.name != "*":
                self.bind_here(alias.asname or alias.name, alias, scope)

    def visit_ExceptHandler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.type is not None:
            self.visit(node.type, scope)
        if node.name:
            self.bind_here(node.name, node, scope)
        self.visit_all(node.body, scope)

    def visit_MatchAs(self, node: ast.MatchAs, scope: Scope) -> None:
        if node.pattern is not None:
            self.visit(node.pattern, scope)
        if node.name:
            self.bind_here(node.name, node, scope)

    def visit_MatchStar(self, node: ast.MatchStar, scope: Scope) -> None:
        if node.name:
            self.bind_here(node.name, node, scope)

    def visit_MatchMapping(self, node: ast.MatchMapping, scope: Scope) -> None:
        self.visit_all([*node.keys, *node.patterns], scope)
        if node.rest:
            self.bind_here(node.rest, node, scope)

    def visit_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.annotation(node.annotation, scope, scope.node if scope.kind == "class" else None)
        if node.value is not None:
            self.visit(node.value, scope)
        # ``x: int`` makes x local to a function even without a value.
        self.visit(node.target, scope)

    def visit_FunctionDef(self, node: FunctionNode, scope: Scope) -> None:
        self.visit_all(node.decorator_list, scope)
        self.header(node.args, scope, node)
        if node.returns is not None:
            self.annotation(node.returns, scope, node)
        self.bind_here(node.name, node, scope)
        inner = self.open("function", node, scope)
        self.type_parameters(node, inner)
        for arg in all_arguments(node.args):
            self.bind_here(arg.arg, arg, inner)
        self.body(node.body, inner)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda, scope: Scope) -> None:
        self.header(node.args, scope, node)
        inner = self.open("lambda", node, scope)
        for arg in all_arguments(node.args):
            self.bind_here(arg.arg, arg, inner)
        self.visit(node.body, inner)

    def visit_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:
        self.visit_all(node.decorator_list, scope)
        self.visit_all(node.bases, scope)
        self.visit_all(node.keywords, scope)
        self.bind_here(node.name, node, scope)
        inner = self.open("class", node, scope)
        self.type_parameters(node, inner)
        self.body(node.body, inner)

    def body(self, statements: list[ast.stmt], scope: Scope) -> None:
        # ``global x`` may stand below the first nested definition that uses x, but must precede x's use in its own
        # scope; collecting the declarations first makes the order irrelevant.
        for statement in statements:
            for inner in _own_statements(statement):
                if isinstance(inner, ast.Global):
                    scope.global_names.update(inner.names)
                elif isinstance(inner, ast.Nonlocal):
                    scope.nonlocal_names.update(inner.names)
        self.visit_all(statements, scope)

    def open(self, kind: str, node: ast.AST, parent: Scope) -> Scope:
        scope = Scope(kind, node, parent)
        self.scopes.by_node[node] = scope
        return scope

    def header(self, arguments: ast.arguments, scope: Scope, owner: ast.AST) -> None:
        self.visit_all(arguments.defaults, scope)
        self.visit_all([default for default in arguments.kw_defaults if default is not None], scope)
        for arg in all_arguments(arguments):
            if arg.annotation is not None:
                self.annotation(arg.annotation, scope, owner)

    def annotation(self, node: ast.expr, scope: Scope, owner: ast.AST | None) -> None:
        """The names in an annotation; ``owner`` is the function or class in whose ``__annotations__`` it is kept."""
        first = len(self.scopes.occurrences)
        self.visit(node, scope)
        # A string, whole or inside (``wp.array(dtype="Vec")``), is evaluated by Warp in the same names.
        for inner in tree_nodes(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                try:
                    parsed = ast.parse(inner.value.strip(), mode="eval")
                except (SyntaxError, ValueError):
                    continue
                for name in tree_nodes(parsed):
                    if isinstance(name, ast.Name):
                        self.occur(name.id, inner, scope, quoted=True)
        if self.as_text or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            for occurrence in self.scopes.occurrences[first:]:
                occurrence.text_of = owner

    def type_parameters(self, node: ast.AST, scope: Scope) -> None:
        for parameter in getattr(node, "type_params", ()):
            self.bind_here(parameter.name, parameter, scope)
            self.visit_all(children(parameter), scope)

    def comprehension(self, node: ast.AST, scope: Scope) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        self.visit(generators[0].iter, scope)
        inner = self.open("comprehension", node, scope)
        for index, generator in enumerate(generators):
            if index:
                self.visit(generator.iter, inner)
            self.visit(generator.target, inner)
            self.visit_all(generator.ifs, inner)
        if isinstance(node, ast.DictComp):
            self.visit_all([node.key, node.value], inner)
        else:
            self.visit(node.elt, inner)  # type: ignore[attr-defined]


_METHODS: dict[type, Callable[[_Walker, Any, Scope], None]] = {
    getattr(ast, name.removeprefix("visit_")): method
    for name, method in vars(_Walker).items()
    if name.startswith("visit_") and name != "visit_all"
} | dict.fromkeys(_COMPREHENSIONS, _Walker.comprehension)


def _own_statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statement and those nested in it that belong to the same scope."""
    yield statement
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for child in children(statement):
        if isinstance(child, ast.stmt):
            yield from _own_statements(child)
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            for inner in child.body:
                yield from _own_statements(inner)
