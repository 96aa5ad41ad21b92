"""What one file calls things: what its statements tell about names, no expression looked into."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from warpfix.index.model import FileIndex
from warpfix.index.nodes import last_name, statements_with_scopes
from warpfix.index.scopes import raw_bindings
from warpfix.index.walk import Enclosing

# What may hand a thing on under another name; a value that is computed does not.
_MAY_RENAME = frozenset({ast.Name, ast.Attribute, ast.Tuple, ast.List})
_WALRUS = re.compile(r"(\w+)[ \t]*:=[ \t]*(?:\w+\.)*(\w+)")


class FileNames:
    """What a pass over the statements of a file (no expressions) tells about its names."""

    def __init__(self, file: FileIndex) -> None:
        self.star_imports: list[ast.ImportFrom] = []
        self.import_tries: list[ast.Try] = []
        self.typing_only: set[ast.AST] = set()
        self.globals: dict[str, list[tuple[ast.AST, Enclosing]]] = {}
        self.renames: dict[str, set[str]] = {}
        """Last name of a value to the names that it is imported or assigned under, in whatever scope."""
        self.exported: set[str] = set()
        """Those of the new names that other files can reach: bound at module scope, or through ``global``."""
        for node, enclosing in statements_with_scopes(file.tree):
            kind = node.__class__
            if kind is ast.Assign or kind is ast.AnnAssign:
                if node.value.__class__ in _MAY_RENAME:  # type: ignore[attr-defined]
                    self._assigned(node, enclosing)  # type: ignore[arg-type]
                continue
            if kind is ast.Import or kind is ast.ImportFrom:
                for alias in node.names:  # type: ignore[attr-defined]
                    if alias.asname:
                        self._renamed(alias.name.rpartition(".")[2], alias.asname, enclosing)
                    elif alias.name == "*" and not enclosing:
                        self.star_imports.append(node)  # type: ignore[arg-type]
            elif kind is ast.Try:
                if any(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in node.body):  # type: ignore[attr-defined]
                    self.import_tries.append(node)  # type: ignore[arg-type]
            elif kind is ast.If:
                if last_name(node.test) == "TYPE_CHECKING":  # type: ignore[attr-defined]
                    self.typing_only.update(node.body)  # type: ignore[attr-defined]
            elif kind is ast.Global and enclosing:
                around = enclosing[-1]
                raw = raw_bindings(around)
                for name in node.names:  # type: ignore[attr-defined]
                    self.globals.setdefault(name, []).extend((binding, enclosing) for binding in raw.get(name, ()))
        self.exported.update(self.globals)
        if ":=" in file.text:
            for new, old in _WALRUS.findall(file.text):
                self._renamed(old, new, ())

    def _assigned(self, node: ast.Assign | ast.AnnAssign, enclosing: Enclosing) -> None:
        value = node.value
        for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
            if isinstance(target, ast.Name):
                pairs: Iterable[tuple[ast.expr, ast.expr | None]] = ((target, value),)
            elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
                pairs = zip(target.elts, value.elts, strict=False)
            else:
                continue
            for element, given in pairs:
                if isinstance(element, ast.Name) and isinstance(given, (ast.Name, ast.Attribute)):
                    self._renamed(last_name(given), element.id, enclosing)

    def _renamed(self, old: str, new: str, enclosing: Enclosing) -> None:
        self.renames.setdefault(old, set()).add(new)
        if not enclosing:
            self.exported.add(new)

    def names_for(self, names_: Iterable[str]) -> set[str]:
        """Some names and all that this file calls them besides."""
        found = set(names_)
        pending = list(found)
        while pending:
            for new in self.renames.get(pending.pop(), ()):
                if new not in found:
                    found.add(new)
                    pending.append(new)
        return found
