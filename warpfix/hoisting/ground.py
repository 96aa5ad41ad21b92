"""What the questions about one file stand on: the file, its scopes and positions, and the project's facts."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warpfix.codemods.trees import tree_nodes
from warpfix.hoisting.model import Item
from warpfix.index.captures import Scope
from warpfix.index.model import FileIndex

if TYPE_CHECKING:
    from warpfix.hoisting.project import Hoister


class Ground:
    """One file with what is known of it, and the small questions that all others ask."""

    def __init__(self, hoister: Hoister, file: FileIndex) -> None:
        self.hoister = hoister
        self.index = hoister.index
        self.file = file
        self.facts = hoister.facts(file)
        self.scopes = self.facts.scopes
        self.source = self.facts.source

    def outermost(self, node: ast.AST) -> ast.stmt:
        """The function or class at module scope (or in a guard there) that holds a node."""
        found: ast.AST = node
        for outer in self.facts.chain(node):
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found = outer
        assert isinstance(found, ast.stmt)
        return found

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope whose rules resolve a name at this place."""
        enclosing = self.facts.enclosing(node)
        return self.scopes.by_node[enclosing[-1]] if enclosing else self.scopes.module

    def statement(self, node: ast.AST) -> ast.AST:
        """The statement that a node is part of."""
        while not isinstance(node, ast.stmt):
            node = self.source.parents[node]
        return node

    def function_name(self, item: Item) -> str:
        """The name of the innermost function around a definition."""
        return next(
            (n.name for n in self.facts.chain(item.node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), ""
        )

    def static_calls(self, node: ast.AST) -> list[ast.Call]:
        """Calls of ``wp.static``, which Warp evaluates when the kernel is made."""
        return [
            inner
            for inner in tree_nodes(node)
            if isinstance(inner, ast.Call)
            and isinstance(inner.func, (ast.Name, ast.Attribute))
            and self.facts.resolve(inner.func) == "warp.static"
        ]
