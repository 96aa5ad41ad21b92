"""Which files a project has, what they are called, which of them import which, and what is in each of them."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from warpfix.index.file_names import FileNames
from warpfix.index.model import Construct, FileIndex, Problem, Role
from warpfix.index.read import parse, read
from warpfix.index.scopes import scope_table
from warpfix.project import Project


class Files:
    """The files of a project; each is parsed when it is asked for first."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.by_module: dict[str, str] = {}
        """Dotted module name to path; a file may have several names."""
        self.problems: list[Problem] = list(project.problems)
        self._paths = frozenset(project.files)
        self._prefixes: dict[str, str] = {}
        self._roots: dict[str, str] = {}
        self._imported: dict[str, tuple[str, ...]] = {}
        self._targets: dict[tuple[str | None, str], str] = {}
        self._importing: dict[str, list[str]] | None = None
        self._loaded: dict[str, FileIndex | None] = {}
        self._facts: dict[str, FileNames] = {}
        self._modules: dict[str, str] = {}
        self._walruses: set[str] = set()
        self._roles: dict[str, Role] = {}

    def prefix(self, file: FileIndex | str) -> str:
        """The first part of the canonical names of a file: its module name, or a stand-in where that is not unique."""
        return self._prefixes[file if isinstance(file, str) else file.path]

    def canonical(self, file: FileIndex, construct: Construct) -> str:
        """Canonical name of a kernel, function or struct of this file."""
        return f"{self.prefix(file)}.{construct.qualname}"

    def file(self, path: str) -> FileIndex | None:
        """The index of any file of the project, parsed now if it was not yet; None if it can't be parsed."""
        if path in self._loaded:
            return self._loaded[path]
        if path not in self._paths:
            return None
        self._loaded[path] = None
        source = read(path, self.project.overlay)
        if isinstance(source, Problem):
            return None
        return self._load(path, source)

    def module_file(self, dotted: str) -> FileIndex | None:
        """The project's file with this dotted module name (or canonical prefix)."""
        path = self.by_module.get(dotted)
        return None if path is None else self.file(path)

    def imported_files(self, path: str) -> tuple[str, ...]:
        """Project files that a file imports anywhere, by a look at its import lines."""
        return self._imported.get(path, ())

    def importing_files(self, path: str) -> Sequence[str]:
        """Project files that import a file anywhere."""
        if self._importing is None:
            self._importing = {}
            for importer, targets in self._imported.items():
                for target in targets:
                    self._importing.setdefault(target, []).append(importer)
        return self._importing.get(path, ())

    @cached_property
    def import_graph(self) -> Any:
        """A ``networkx.DiGraph`` of paths: an edge from each file to each project file that it imports."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.project.files)
        for path, targets in self._imported.items():
            graph.add_edges_from((path, target) for target in targets)
        return graph

    def import_base(self, file: FileIndex, node: ast.ImportFrom) -> str | None:
        """Dotted name of the module that a ``from ... import`` reads, relative imports resolved."""
        if node.level == 0:
            return self._import_target(file, node.module or "")
        package = self._package(file)
        if package is None:
            return None
        pieces = package.split(".") if package else []
        if node.level - 1 > len(pieces):
            return None
        pieces = pieces[: len(pieces) - (node.level - 1)]
        if node.module:
            pieces.append(node.module)
        return self._import_target(file, ".".join(pieces), relative=True)

    def imported_paths(self, file: FileIndex, node: ast.Import | ast.ImportFrom) -> tuple[str, ...]:
        """Project files that an import statement runs (if they did not run before): packages and submodules too."""
        wanted: list[str] = []
        if isinstance(node, ast.Import):
            for alias in node.names:
                wanted.extend(self._import_target(file, dotted) for dotted in _prefixes(alias.name))
        else:
            base = self.import_base(file, node)
            if base is None:
                return ()
            wanted.extend(_prefixes(base))
            wanted.extend(f"{base}.{alias.name}" for alias in node.names)
        paths = (self.by_module.get(dotted) for dotted in wanted)
        return tuple(dict.fromkeys(path for path in paths if path is not None and path != file.path))

    def _package(self, file: FileIndex) -> str | None:
        module = file.module
        if module is None:
            return None
        if os.path.basename(file.path) == "__init__.py":
            return module
        return module.rpartition(".")[0]

    def _import_target(self, file: FileIndex, dotted: str, relative: bool = False) -> str:
        """The dotted name with a project file behind it named canonically; files next to a script come first."""
        root = None if relative else self._roots.get(file.path)
        known = self._targets.get((root, dotted))
        if known is None:
            beside = None if root is None else self._beside(root, dotted)
            path = beside or self.by_module.get(dotted)
            known = self._targets[root, dotted] = dotted if path is None else self._prefixes[path]
        return known

    def _beside(self, root: str, dotted: str) -> str | None:
        """The project's file with this dotted name as seen from a folder."""
        base = os.path.join(root, *dotted.split("."))
        for candidate in (base + ".py", os.path.join(base, "__init__.py")):
            if candidate in self._prefixes:
                return candidate
        return None

    def _load(self, path: str, source: bytes) -> FileIndex | None:
        parsed = parse(path, source)
        if isinstance(parsed, Problem):
            if parsed not in self.problems:
                self.problems.append(parsed)
            self._loaded[path] = None
            return None
        text, tree = parsed
        module = self._modules.get(path)
        file = FileIndex(path, module, text, tree, self._roles.get(path, Role.LIBRARY))
        if ":=" in text:
            self._walruses.add(path)
        table = scope_table(tree, path in self._walruses)
        file.bindings = table.bindings
        facts = self._facts[path] = FileNames(file)
        for node in facts.star_imports:
            base = self.import_base(file, node)
            if base is not None:
                file.star_imports.append(base)
        file.global_writes.update(name for name, nodes in facts.globals.items() if nodes)
        self._loaded[path] = file
        return file


def _prefixes(dotted: str) -> list[str]:
    pieces = dotted.split(".")
    return [".".join(pieces[:end]) for end in range(1, len(pieces) + 1)]
