"""What a name stands for, wherever it was imported from, aliased or exported again."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable

from warpfix.codemods.trees import tree_nodes
from warpfix.index import names
from warpfix.index.loading import Files
from warpfix.index.model import FileIndex
from warpfix.index.nodes import last_name
from warpfix.index.scopes import (
    Comprehension,
    Scope,
    ScopeTable,
    assigned_value,
    imported_name,
    qualname,
    scope_table,
)
from warpfix.index.walk import Enclosing
from warpfix.project import Project

_DEPTH = 24  # aliases of aliases; deeper chains are cycles or nobody's code


class Names(Files):
    """Canonical names, each resolved once."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._config_names: dict[str, set[str]] = {}
        self._tables: dict[ast.AST, ScopeTable] = {}
        self._names: dict[tuple[str, ast.AST | None, str], str | None] = {}
        self._followed: dict[str, str] = {}
        self._active: set[tuple[str, ast.AST | None, str]] = set()

    def config_names(self, file: FileIndex) -> Collection[str]:
        """Last names under which a file may reach ``warp.config``: most writes to attributes fail this look."""
        return self._config_names.get(file.path, ("config",))

    def resolve(self, file: FileIndex, expr: ast.AST, enclosing: Enclosing = ()) -> str | None:
        """The canonical dotted name that an expression stands for at its place; None where that can't be said.

        Args:
            file: The file that the expression is in.
            expr: A name or a chain of attributes (a call of ``importlib.import_module`` with a literal counts too).
            enclosing: Nodes around it, outermost first, as in ``Construct.enclosing``. Expressions of a definition's
                head (decorators, defaults, annotations) are *not* enclosed by that definition.

        Parameters, locals without a readable value, and names bound to different things have no canonical name; a
        plain variable at module scope has its own (``pkg.mod.BLOCK``); a builtin is ``builtins.setattr``.
        """
        attributes: list[str] = []
        while isinstance(expr, ast.Attribute):
            attributes.append(expr.attr)
            expr = expr.value
        if isinstance(expr, ast.Name):
            base = self._name(file, expr.id, enclosing)
        elif isinstance(expr, ast.Call):
            base = self._imported_by_call(file, expr, enclosing)
        else:
            return None
        if base is None:
            return None
        if attributes:
            attributes.append(base)
            attributes.reverse()
            return self.follow(".".join(attributes))
        return self.follow(base)

    def _imported_by_call(self, file: FileIndex, call: ast.Call, enclosing: Enclosing) -> str | None:
        if not (call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)):
            return None
        if not isinstance(call.func, (ast.Name, ast.Attribute)):
            return None
        name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
        if name not in ("import_module", "__import__"):
            return None
        function = self.resolve(file, call.func, enclosing)
        if function == "importlib.import_module" or (
            function == "builtins.__import__" and "." not in call.args[0].value
        ):
            return None if call.args[0].value.startswith(".") else call.args[0].value
        return None

    def scope(self, node: ast.AST, walruses: bool = True) -> ScopeTable:
        """What a module, class, function, lambda or comprehension binds itself."""
        table = self._tables.get(node)
        if table is None:
            table = self._tables[node] = scope_table(node, walruses)
        return table

    def binding_scope(self, name: str, enclosing: Enclosing, walruses: bool = True) -> tuple[ast.AST | None, Enclosing]:
        """The scope that ``name`` belongs to when read inside ``enclosing``: its node, and the nodes around that scope.

        (None, ()) is the module's scope (or a builtin). ``walruses`` as for :func:`scope_table`.
        """
        scopes = [(index, node) for index, node in enumerate(enclosing) if isinstance(node, Scope)]
        innermost = True
        for index, node in reversed(scopes):
            if isinstance(node, ast.ClassDef) and not innermost:
                continue
            table = self.scope(node, walruses)
            if name in table.global_names:
                return None, ()
            if name in table.bindings:
                return node, enclosing[:index]
            if not (isinstance(node, Comprehension) and innermost):
                innermost = False
            elif isinstance(node, Comprehension):
                # Names of a comprehension in a class body skip the class, as those of a function do.
                innermost = False
        return None, ()

    def _name(self, file: FileIndex, name: str, enclosing: Enclosing) -> str | None:
        scope, around = self.binding_scope(name, enclosing, file.path in self._walruses) if enclosing else (None, ())
        key = (file.path, scope, name)
        if key in self._names:
            return self._names[key]
        if key in self._active or len(self._active) > _DEPTH:
            return None
        self._active.add(key)
        try:
            if scope is None:
                result = self._module_scope(file, name)
            else:
                nodes = [(node, (*around, scope)) for node in self.scope(scope).bindings[name]]
                result = self._bound(file, name, nodes, qualname((*around, scope), name))
        finally:
            self._active.discard(key)
        self._names[key] = result
        return result

    def _module_scope(self, file: FileIndex, name: str) -> str | None:
        nodes: list[tuple[ast.AST, Enclosing]] = [(node, ()) for node in file.bindings.get(name, ())]
        nodes += self._facts[file.path].globals.get(name, ())
        own = f"{self.prefix(file)}.{name}"
        if nodes:
            found = self._bound(file, name, nodes, name)
            return own if found is None else found
        for star in reversed(file.star_imports):
            if (found := self._from_star(star, name)) is not None:
                return found
        if hasattr(builtins, name):
            return f"builtins.{name}"
        return None

    def _from_star(self, star: str, name: str) -> str | None:
        if star == "warp":
            return f"warp.{name}" if name in names.STAR else None
        target = self.module_file(star)
        if target is None:
            return None
        exported = _literal_all(target)
        if exported is not None:
            if name not in exported:
                return None
        elif name.startswith("_"):
            return None
        key = (target.path, None, name)
        if key in self._active:
            return None
        if name in target.bindings or target.star_imports:
            found = self._name(target, name, ())
            return None if found is None or found.startswith("builtins.") else found
        return None

    def _bound(self, file: FileIndex, name: str, nodes: list[tuple[ast.AST, Enclosing]], local: str) -> str | None:
        """What several bindings of one name agree on; None where they do not, or where one of them can't be read."""
        results: set[str | None] = set()
        typed: set[str] = set()
        handled = _handler_bindings(self._facts[file.path].import_tries, name) if len(nodes) > 1 else frozenset()
        for node, enclosing in nodes:
            if len(nodes) > 1:
                value = assigned_value(node, name)
                if isinstance(value, ast.Constant) and value.value is None:
                    continue  # ``wp = None`` where the import failed
                if isinstance(node, ast.AnnAssign) and value is None:
                    continue  # a bare annotation
                if node in handled:
                    continue
            result = self._binding(file, name, node, enclosing, local)
            results.add(result)
            if (
                result is not None
                and isinstance(node, (ast.Import, ast.ImportFrom))
                and node in self._facts[file.path].typing_only
            ):
                typed.add(result)
        if len(results) == 1:
            return next(iter(results))
        if len(typed) == 1 and results <= {*typed, None}:
            return next(iter(typed))
        return None

    def _binding(self, file: FileIndex, name: str, node: ast.AST, enclosing: Enclosing, local: str) -> str | None:
        if isinstance(node, ast.Import):
            alias = imported_name(node, name)
            if alias is None:
                return None
            dotted = alias.name if alias.asname else alias.name.split(".", 1)[0]
            return self._import_target(file, dotted)
        if isinstance(node, ast.ImportFrom):
            alias = imported_name(node, name)
            base = self.import_base(file, node)
            return None if alias is None or base is None else self.follow(f"{base}.{alias.name}")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return f"{self.prefix(file)}.{local}"
        value = assigned_value(node, name)
        if isinstance(value, (ast.Name, ast.Attribute)) or (
            isinstance(value, ast.Call) and last_name(value.func) in ("import_module", "__import__")
        ):
            return self.resolve(file, value, enclosing)
        return None

    def follow(self, dotted: str) -> str:
        """A dotted name taken through re-exports to where the project (or Warp) defines it."""
        known = self._followed.get(dotted)
        if known is not None:
            return known
        self._followed[dotted] = dotted  # ends cycles
        result = self._follow(dotted)
        self._followed[dotted] = result
        return result

    def _follow(self, dotted: str) -> str:
        normal = names.canonical(dotted)
        if names.is_api(normal):
            return normal
        pieces = dotted.split(".")
        for end in range(len(pieces), 0, -1):
            path = self.by_module.get(".".join(pieces[:end]))
            if path is None:
                continue
            prefix = self._prefixes[path]
            if end == len(pieces):
                return prefix
            target = self.file(path)
            if target is None:
                return dotted
            first, rest = pieces[end], pieces[end + 1 :]
            own = f"{prefix}.{first}"
            if first in target.bindings or target.star_imports:
                found = self._name(target, first, ())
                if found is not None and found != own and not found.startswith("builtins."):
                    return self.follow(".".join((found, *rest)))
            return ".".join((own, *rest))
        return normal


def _literal_all(file: FileIndex) -> frozenset[str] | None:
    """``__all__`` of a file where it is one literal list; None where there is none or it is computed."""
    nodes = file.bindings.get("__all__")
    if not nodes or len(nodes) != 1:
        return None
    value = assigned_value(nodes[0], "__all__")
    if isinstance(value, (ast.List, ast.Tuple)):
        items = [item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if len(items) == len(value.elts):
            return frozenset(items)
    return None


def _handler_bindings(tries: Iterable[ast.Try], name: str) -> frozenset[ast.AST]:
    """Bindings of ``name`` in ``except ImportError`` of a try whose body imports it: the stand-in, not the thing."""
    found: set[ast.AST] = set()
    for node in tries:
        imports = any(
            isinstance(statement, (ast.Import, ast.ImportFrom)) and imported_name(statement, name)
            for statement in node.body
        )
        if imports:
            for handler in node.handlers:
                caught = ast.dump(handler.type) if handler.type is not None else "ImportError"
                if "ImportError" in caught or "ModuleNotFoundError" in caught or "Exception" in caught:
                    for statement in handler.body:
                        found.update(tree_nodes(statement))
    return frozenset(found)
