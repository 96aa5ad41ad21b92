"""What one file says of itself: its scopes, what it exports, where a place lies and what runs before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cached_property

from warpfix.codemods import Source
from warpfix.codemods.trees import tree_nodes
from warpfix.index.build import ProjectIndex
from warpfix.index.captures import (
    Scopes,
)
from warpfix.index.constructs import own_module
from warpfix.index.model import Construct, FileIndex, ModuleChoice


class FileFacts:
    """One file's scopes, source positions and what holds at its module scope."""

    def __init__(self, index: ProjectIndex, file: FileIndex) -> None:
        self.index = index
        self.file = file
        self.source = Source(file.text, file.path)
        self.source.__dict__["tree"] = file.tree

    @cached_property
    def scopes(self) -> Scopes:
        """Scopes of the file, name by name."""
        return Scopes(self.file.tree)

    @cached_property
    def body_index(self) -> dict[ast.AST, int]:
        """Statement directly at module scope to its number."""
        return {node: number for number, node in enumerate(self.file.tree.body)}

    def chain(self, node: ast.AST) -> list[ast.AST]:
        """The nodes around a node, innermost first, without the module."""
        found = []
        parent = self.source.parents.get(node)
        while parent is not None and not isinstance(parent, ast.Module):
            found.append(parent)
            parent = self.source.parents.get(parent)
        return found

    def enclosing(self, node: ast.AST) -> tuple[ast.AST, ...]:
        """The nodes around a node that matter for names, outermost first, as the index wants them."""
        kinds = (
            ast.FunctionDef,
            ast.AsyncFunctionDef,
            ast.ClassDef,
            ast.Lambda,
            ast.ListComp,
            ast.SetComp,
            ast.DictComp,
            ast.GeneratorExp,
        )
        inner, around = node, []
        for parent in self.chain(node):
            if isinstance(parent, kinds) and not _in_header(parent, inner):
                around.append(parent)
            inner = parent
        return tuple(reversed(around))

    def resolve(self, expr: ast.expr) -> str | None:
        """Canonical name of an expression of this file."""
        return self.index.resolve(self.file, expr, self.enclosing(expr))

    @cached_property
    def definitions_by_node(self) -> dict[ast.AST, Construct]:
        """Definition to what Warp makes of it."""
        return {c.node: c for c in self.file.constructs if c.decorator is not None}

    @cached_property
    def looks_at_itself(self) -> str | None:
        """What the file calls to see every name of its module scope: ``globals``, ``vars(module)``, ``getmembers``."""
        for called in ("globals", "vars", "dir", "getmembers"):
            for call in self.index.calls(self.file).get(called, ()):
                if called == "globals":
                    if self._name_in_globals(call.node) is not None:
                        continue
                elif not self._its_own_module(call.node):
                    continue
                return called
        return None

    @cached_property
    def named_in_globals(self) -> frozenset[str]:
        """Names of module scope that the file reads or writes through ``globals()``."""
        calls = self.index.calls(self.file).get("globals", ())
        return frozenset(name for call in calls if (name := self._name_in_globals(call.node)) is not None)

    def _name_in_globals(self, call: ast.Call) -> str | None:
        """The one name that a call of ``globals`` is about: ``globals()["x"]``, ``globals().pop("x")``; else None."""
        parent = self.source.parents.get(call)
        if isinstance(parent, ast.Subscript) and parent.value is call:
            return _text(parent.slice)
        if not isinstance(parent, ast.Attribute) or parent.attr not in ("get", "pop", "setdefault"):
            return None
        user = self.source.parents.get(parent)
        if not isinstance(user, ast.Call):
            return None
        # ``globals().pop("x")``, or the method and its first argument handed on: ``addCleanup(globals().pop, "x")``.
        arguments = user.args if user.func is parent else user.args[user.args.index(parent) + 1 :]
        return _text(arguments[0]) if arguments else None

    def _its_own_module(self, call: ast.Call) -> bool:
        return bool(call.args) and (
            self.resolve(call.args[0]) in (self.file.module, self.index.prefix(self.file))
            or "__name__" in ast.unparse(call.args[0])
            or "__main__" in ast.unparse(call.args[0])
        )

    @cached_property
    def reads_keys(self) -> bool:
        """Whether anything in the file reads ``.key`` of something."""
        return any(
            isinstance(node, ast.Attribute) and node.attr == "key" and isinstance(node.ctx, ast.Load)
            for node in tree_nodes(self.file.tree)
        )

    @cached_property
    def exported(self) -> frozenset[str] | None:
        """Names in ``__all__``; None where there is none; everything readable where it is computed."""
        if "__all__" not in self.file.bindings:
            return None
        return frozenset(
            node.value
            for binding in self.file.bindings["__all__"]
            for node in tree_nodes(binding)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )

    def creation_before(self, line: int, module: str | None) -> bool:
        """Whether importing the file creates a Warp module before a line, or with only inert statements in between.

        Args:
            line: First line of what is to be inserted.
            module: A named module; None for the file's default one.
        """
        for statement in self.file.tree.body:
            if self._creates(statement, module):
                return True
            if statement.lineno >= line and not self.inert(statement):
                return False
        return False

    def _creates(self, statement: ast.stmt, module: str | None) -> bool:
        construct = self.definitions_by_node.get(statement)
        if construct is not None:
            if construct.kind != "kernel":
                return module is None and construct.module_choice is ModuleChoice.DEFAULT
            if module is None:
                return construct.module_choice is ModuleChoice.DEFAULT
            return construct.module_name == module
        if isinstance(statement, ast.ClassDef):
            return any(
                c.module_choice is ModuleChoice.DEFAULT and module is None
                for inner in statement.body
                if (c := self.definitions_by_node.get(inner)) is not None
            )
        if module is None and isinstance(statement, ast.Expr):
            return any(
                write.node is statement
                and write.via == "set_module_options"
                and not write.enclosing
                and write.target_module == own_module(self.file)
                for write in self.file.option_sets
            )
        return False

    def inert(self, statement: ast.stmt) -> bool:
        """Whether a statement at module scope can't write Warp's configuration."""
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return all(self._warp_or_known(decorator) for decorator in statement.decorator_list)
        if isinstance(statement, ast.ClassDef):
            return all(self.inert(inner) for inner in statement.body) and all(
                self._warp_or_known(decorator) for decorator in statement.decorator_list
            )
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if not all(isinstance(target, ast.Name) for target in targets):
                return False
            calls = [node for node in tree_nodes(statement) if isinstance(node, ast.Call)]
            return all((self.resolve(call.func) or "").startswith(("warp.", "builtins.")) for call in calls)
        return isinstance(statement, ast.Pass) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        )

    def _warp_or_known(self, decorator: ast.expr) -> bool:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        return (self.resolve(target) or "").startswith(("warp.", "builtins.", "functools.", "dataclasses."))


def _in_header(scope: ast.AST, inner: ast.AST) -> bool:
    """Whether a child of a definition belongs to the scope around it: decorators, defaults, annotations, bases."""
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return inner not in scope.body
    if isinstance(scope, ast.ClassDef):
        return inner not in scope.body
    if isinstance(scope, ast.Lambda):
        return inner is not scope.body
    return False


def functions_around(enclosing: Iterable[ast.AST]) -> list[ast.AST]:
    return [node for node in enclosing if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))]


def kernel_key(qualname: str) -> str:
    """Warp's key for a kernel of this Python qualname."""
    return re.sub("[^0-9a-zA-Z_]+", "", qualname.replace(".", "__"))


def _text(expr: ast.expr) -> str | None:
    """The string that an expression is, if it is a literal one."""
    return expr.value if isinstance(expr, ast.Constant) and isinstance(expr.value, str) else None
