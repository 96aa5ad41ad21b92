"""One walk over a file's tree: definitions, calls, option writes. What they mean is resolved afterwards, by name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from warpfix.codemods.trees import FIELDS, LEAVES, tree_nodes
from warpfix.index.scopes import Comprehension, outer_expressions

Enclosing = tuple[ast.AST, ...]


class CallNode(NamedTuple):
    """A call with the statement and the nodes around it."""

    node: ast.Call
    statement: ast.stmt
    enclosing: Enclosing


class Definition(NamedTuple):
    """A function or class definition with what is around it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    enclosing: Enclosing


class Write(NamedTuple):
    """An assignment whose target is an attribute or a subscript."""

    target: ast.Attribute | ast.Subscript
    value: ast.expr | None
    statement: ast.stmt
    enclosing: Enclosing


# Nothing to find in a name or a literal, so they are not even looked at.
_LEAVES = LEAVES | {ast.Name, ast.Constant}
_COMPREHENSIONS = frozenset(Comprehension)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Walk:
    """The raw harvest of one file. Bodies of functions that ``opaque`` accepts (kernels) are not walked."""

    def __init__(self, tree: ast.Module, opaque: Callable[[Definition], bool]) -> None:
        self.definitions: list[Definition] = []
        self.calls: dict[str, list[CallNode]] = {}
        """By the last name of the function called; under "" those of a call's result, ``wp.kernel(...)(f)``."""
        self.writes: list[Write] = []
        self.skipped: list[Definition] = []
        self._opaque = opaque
        self._table: dict[type, Callable[[Any, Enclosing], None]] = {
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.If: self._if,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.While: self._while,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Try: self._try,
            ast.Match: self._match,
            ast.Assign: self._assign,
            ast.AugAssign: self._augmented,
            ast.AnnAssign: self._augmented,
            ast.Import: self._nothing,
            ast.ImportFrom: self._nothing,
            ast.Pass: self._nothing,
        }
        if hasattr(ast, "TryStar"):
            self._table[ast.TryStar] = self._try
        self.block(tree.body, ())

    def block(self, statements: Iterable[ast.stmt], enclosing: Enclosing) -> None:
        """Walk the statements of one block."""
        table = self._table
        for statement in statements:
            handler = table.get(statement.__class__)
            if handler is not None:
                handler(statement, enclosing)
            else:
                self._expression(statement, statement, enclosing)

    def _nothing(self, node: ast.stmt, enclosing: Enclosing) -> None:
        pass

    def _outer(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, enclosing: Enclosing) -> None:
        for expression in outer_expressions(node):
            if expression.__class__ not in _LEAVES:
                self._expression(expression, node, enclosing)

    def _function(self, node: ast.FunctionDef, enclosing: Enclosing) -> None:
        definition = Definition(node, enclosing)
        self.definitions.append(definition)
        self._outer(node, enclosing)
        if node.decorator_list and self._opaque(definition):
            self.skipped.append(definition)
        else:
            self.block(node.body, (*enclosing, node))

    def _class(self, node: ast.ClassDef, enclosing: Enclosing) -> None:
        self.definitions.append(Definition(node, enclosing))
        self._outer(node, enclosing)
        self.block(node.body, (*enclosing, node))

    def _if(self, node: ast.If, enclosing: Enclosing) -> None:
        while True:  # a long elif chain is nested as deep as it is long
            self._expression(node.test, node, enclosing)
            inside = (*enclosing, node)
            self.block(node.body, inside)
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
                node, enclosing = node.orelse[0], inside
                continue
            self.block(node.orelse, inside)
            return

    def _for(self, node: ast.For, enclosing: Enclosing) -> None:
        self._expression(node.iter, node, enclosing)
        inside = (*enclosing, node)
        self.block(node.body, inside)
        self.block(node.orelse, inside)

    def _while(self, node: ast.While, enclosing: Enclosing) -> None:
        self._expression(node.test, node, enclosing)
        inside = (*enclosing, node)
        self.block(node.body, inside)
        self.block(node.orelse, inside)

    def _with(self, node: ast.With, enclosing: Enclosing) -> None:
        for item in node.items:
            self._expression(item.context_expr, node, enclosing)
        self.block(node.body, (*enclosing, node))

    def _try(self, node: ast.Try, enclosing: Enclosing) -> None:
        inside = (*enclosing, node)
        self.block(node.body, inside)
        for handler in node.handlers:
            self.block(handler.body, (*inside, handler))
        self.block(node.orelse, inside)
        self.block(node.finalbody, inside)

    def _match(self, node: ast.Match, enclosing: Enclosing) -> None:
        self._expression(node.subject, node, enclosing)
        inside = (*enclosing, node)
        for case in node.cases:
            if case.guard is not None:
                self._expression(case.guard, node, inside)
            self.block(case.body, inside)

    def _assign(self, node: ast.Assign, enclosing: Enclosing) -> None:
        for target in node.targets:
            kind = target.__class__
            if kind is ast.Attribute or kind is ast.Subscript:
                self.writes.append(Write(target, node.value, node, enclosing))  # type: ignore[arg-type]
                self._expression(target, node, enclosing)
            elif kind is not ast.Name:
                for element in tree_nodes(target):
                    if isinstance(element, (ast.Attribute, ast.Subscript)) and isinstance(element.ctx, ast.Store):
                        self.writes.append(Write(element, None, node, enclosing))
                self._expression(target, node, enclosing)
        if node.value.__class__ not in _LEAVES:
            self._expression(node.value, node, enclosing)

    def _augmented(self, node: ast.AugAssign | ast.AnnAssign, enclosing: Enclosing) -> None:
        if isinstance(node.target, (ast.Attribute, ast.Subscript)) and node.value is not None:
            value = node.value if isinstance(node, ast.AnnAssign) else None
            self.writes.append(Write(node.target, value, node, enclosing))
        if node.value is not None:
            self._expression(node.value, node, enclosing)

    def _expression(self, root: ast.AST, statement: ast.stmt, enclosing: Enclosing) -> None:
        pending: list[ast.AST] = [root]
        calls = self.calls
        fields, leaves, comprehensions = FIELDS, _LEAVES, _COMPREHENSIONS
        while pending:
            node = pending.pop()
            kind = node.__class__
            if kind is ast.Call:
                function = node.func  # type: ignore[attr-defined]
                called = function.__class__
                if called is ast.Attribute:
                    name = function.attr
                    function = function.value
                    while function.__class__ is ast.Attribute:
                        function = function.value
                elif called is ast.Name:
                    name = function.id
                else:
                    name = ""
                found = calls.get(name)
                if found is None:
                    calls[name] = found = []
                found.append(CallNode(node, statement, enclosing))  # type: ignore[arg-type]
                if function.__class__ not in leaves:
                    pending.append(function)
                for item in node.args:  # type: ignore[attr-defined]
                    if item.__class__ not in leaves:
                        pending.append(item)
                for keyword in node.keywords:  # type: ignore[attr-defined]
                    if keyword.value.__class__ not in leaves:
                        pending.append(keyword.value)
                continue
            elif kind is ast.Lambda:
                assert isinstance(node, ast.Lambda)
                pending.extend(outer_expressions(node))
                self._expression(node.body, statement, (*enclosing, node))
                continue
            elif kind in comprehensions:
                assert isinstance(node, Comprehension)
                # The first iterable runs outside of the comprehension's scope, everything else inside.
                self._expression(node.generators[0].iter, statement, enclosing)
                inside = (*enclosing, node)
                for index, generator in enumerate(node.generators):
                    if index:
                        self._expression(generator.iter, statement, inside)
                    for condition in generator.ifs:
                        self._expression(condition, statement, inside)
                if isinstance(node, ast.DictComp):
                    self._expression(node.key, statement, inside)
                    self._expression(node.value, statement, inside)
                else:
                    self._expression(node.elt, statement, inside)
                continue
            elif kind is ast.Attribute:
                node = node.value  # type: ignore[attr-defined]
                while node.__class__ is ast.Attribute:
                    node = node.value
                if node.__class__ is not ast.Name:
                    pending.append(node)
                continue
            for field in fields[kind]:
                value: Any = getattr(node, field, None)
                if value.__class__ is list:
                    for item in value:
                        if item.__class__ not in leaves:
                            pending.append(item)
                elif value.__class__ not in leaves:
                    pending.append(value)
