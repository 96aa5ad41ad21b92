"""The index of a project: built in one walk per file, then asked by name. Nothing is imported or run."""

from __future__ import annotations

import ast
import gc
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from warpfix.config import Config
from warpfix.index.imports import import_lines, imported_by_lines, name_modules, plain
from warpfix.index.model import Construct, FileIndex, OptionSet, Problem
from warpfix.index.nodes import last_name, walk_with_scopes
from warpfix.index.notebook import SUFFIX
from warpfix.index.read import check_named, read_all
from warpfix.index.uses import CallSite, FunctionDef, Reference, Uses
from warpfix.index.walk import Definition, Enclosing, Walk, Write
from warpfix.project import Project, assign_roles, exports_something, has_main_guard

__all__ = ["CallSite", "FunctionDef", "KernelCall", "ProjectIndex", "Reference", "build_index", "walk_with_scopes"]


@dataclass(frozen=True)
class KernelCall:
    """A kernel made by a call from something that is no plain definition: counted, never rewritten."""

    file: FileIndex
    node: ast.Call
    enclosing: Enclosing


_MENTIONS = re.compile(rb"\bwp\b|\bwarp\b|\bkernel\b|\blaunch\b")
_DECORATOR = re.compile(rb"^[ \t]*@[ \t]*(\w+)", re.M)
_DYNAMIC_IMPORT = re.compile(rb"import_module\(\s*['\"]warp|__import__\(\s*['\"]warp")


class ProjectIndex(Uses):
    """What is known of a project. ``files`` holds those that have to do with Warp; others are parsed when asked for.

    Canonical names: ``prefix(file)`` plus the Python qualname for what the project defines, ``warp.X`` for what Warp
    exports, whatever module of Warp it was taken from.
    """

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self.files: dict[str, FileIndex] = {}
        self.kernel_calls: list[KernelCall] = []
        self._wrappers: dict[str, Any] = {}
        self._generic: dict[str, bool] = {}
        self._with_options: dict[str, bool] = {}

    @cached_property
    def constructs(self) -> dict[str, tuple[FileIndex, Construct]]:
        """Canonical name to the kernel, function or struct of that name (the last one, if a name is used twice)."""
        return {
            self.canonical(file, construct): (file, construct)
            for file in self.files.values()
            for construct in file.constructs
        }

    def _harvest(self, file: FileIndex) -> None:
        """Fill in what the walk found, with names resolved."""
        walk = self._walk(file)
        for name, nodes in file.bindings.items():
            if any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes):
                resolved = self._name(file, name, ())
                if resolved is not None:
                    file.imports[name] = resolved
        for definition in walk.definitions:
            construct = self._construct(file, definition)
            if construct is not None:
                file.constructs.append(construct)
        self._harvest_calls(file, walk)
        for write in walk.writes:
            found = self._option_write(file, write)
            if found is not None:
                file.option_sets.append(found)
        file.constructs.sort(key=lambda item: (item.node.lineno, item.node.col_offset))
        file.option_sets.sort(key=lambda item: (item.node.lineno, item.node.col_offset))
        file.launches.sort(key=lambda item: (item.node.lineno, item.node.col_offset))

    def _construct(self, file: FileIndex, definition: Definition) -> Construct | None:
        from warpfix.index.constructs import decorated

        return decorated(self, file, definition)

    def _harvest_calls(self, file: FileIndex, walk: Walk) -> None:
        from warpfix.index.constructs import harvest_calls

        harvest_calls(self, file, walk)

    def _option_write(self, file: FileIndex, write: Write) -> OptionSet | None:
        from warpfix.index.constructs import option_write

        return option_write(self, file, write)


def build_index(
    project: Project, config: Config | None = None, sources: dict[str, bytes | Problem] | None = None
) -> ProjectIndex:
    """Read, parse and index the project's files that have to do with Warp.

    Args:
        project: From :func:`warpfix.project.discover`.
        config: Configuration laid over the project's own.
        sources: From :func:`read_all`, if that was called already; it is emptied, for what is done with makes room.

    Files that can't be read or parsed are in ``problems``; nothing is raised for them.
    """
    if config is not None:
        project = replace(project, config=config)
    index = ProjectIndex(project)
    enabled = gc.isenabled()
    gc.disable()  # trees are all alive at the end: collecting while they grow costs more than parsing
    try:
        _fill(index, read_all(project) if sources is None else sources)
    finally:
        if enabled:
            gc.enable()
    return index


def _fill(index: ProjectIndex, read_: dict[str, bytes | Problem]) -> None:
    project = index.project
    about_warp: set[str] = set()
    lines: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    everything: dict[str, bytes] = {}
    for path in project.files:
        got = read_.pop(path)
        if isinstance(got, Problem):
            index.problems.append(got)
            index._loaded[path] = None
        else:
            everything[path] = got
    for path, source in everything.items():
        if b"warp" in source:
            lines[path] = imported = import_lines(plain(source))
            if any(base == "warp" or base.startswith("warp.") for base, _ in imported) or _DYNAMIC_IMPORT.search(
                source
            ):
                about_warp.add(path)
    for path in sorted(project.named - about_warp):
        # Nobody looks into a file without Warp, but who names one wants to hear that it is broken.
        problem = check_named(path, project.overlay)
        if problem is not None and problem not in index.problems:
            index.problems.append(problem)
            index._loaded[path] = None
    if not about_warp:
        return  # most trees in which a hook runs: nothing else is asked of their files
    sources: dict[str, bytes] = {}
    guarded: set[str] = set()
    for path, source in everything.items():
        text = plain(source)
        found = lines.get(path)
        if found is None:
            found = lines[path] = import_lines(text)
        if (b"__main__" in text and has_main_guard(text)) or path.endswith(SUFFIX):
            guarded.add(path)
        if path in about_warp or _MENTIONS.search(source) or _decorated_by_import(text, found):
            sources[path] = source
    del everything
    lines = {path: lines[path] for path in project.files if path in lines}
    name_modules(index, lines)
    index._imported = {path: imported_by_lines(index, path, found) for path, found in lines.items()}
    # A file without an import of Warp may get it from the project: by a star, or a name that is exported again.
    carriers = set(about_warp)
    pending = list(about_warp)
    while pending:
        for path in index.importing_files(pending.pop()):
            if path not in carriers:
                carriers.add(path)
                pending.append(path)
    about_warp.update(path for path in sources if path in carriers)
    exporting = set()
    if about_warp.isdisjoint(project.targets):
        return  # a hook that was given files without Warp: nothing can be said of them
    for path in sorted(about_warp):
        index._loaded.pop(path, None)
        file = index._load(path, sources[path])
        if file is not None and os.path.basename(path) == "__init__.py" and exports_something(file.tree):
            exporting.add(path)
    for path in project.files:
        if os.path.basename(path) == "__init__.py" and index._imported.get(path):
            exporting.add(path)
    guarded.update(path for path in about_warp if (file := index._loaded.get(path)) is not None and _is_script(file))
    index._roles = assign_roles(project, project.files, frozenset(guarded), index._imported, frozenset(exporting))
    for path in sorted(about_warp):
        file = index._loaded.get(path)
        if file is not None:
            file.role = index._roles[path]
            index.files[path] = file
    index._config_names = _names_for_config(index)
    for file in list(index.files.values()):
        try:
            index._harvest(file)
        except RecursionError:
            index.problems.append(Problem(file.path, None, "not analysed: nested too deeply"))
            del index.files[file.path]


def _names_for_config(index: ProjectIndex) -> dict[str, set[str]]:
    """For each file the last names that may stand for ``warp.config`` there, however often it is handed on.

    Between files a thing travels under names of module scope alone; what a function calls it stays in its file.
    """
    facts = {path: index._facts[path] for path in index.files}
    shared = {"config"}
    found: dict[str, set[str]] = {}
    while True:
        found = {path: item.names_for(shared) for path, item in facts.items()}
        more = shared.union(*(names_ & facts[path].exported for path, names_ in found.items()))
        if more == shared:
            return found
        shared = more


def _decorated_by_import(source: bytes, imported: Iterable[tuple[str, tuple[str, ...]]]) -> bool:
    """Whether something is decorated with an imported name: it may be the project's own wrapper of ``wp.kernel``."""
    if b"@" not in source:
        return False
    used = {name.decode("ascii", "replace") for name in _DECORATOR.findall(source)}
    return any(
        (top in used or not used.isdisjoint(listed)) and top not in sys.stdlib_module_names
        for base, listed in imported
        for top in (base.split(".", 1)[0],)
    )


_SETTING_UP = frozenset({"set_module_options", "init", "update", "append", "insert"})


def _is_script(file: FileIndex) -> bool:
    """Whether a file outside any package does something when run, beside defining, importing and setting options."""
    if os.path.exists(os.path.join(os.path.dirname(file.path), "__init__.py")):
        return False
    for statement in file.tree.body:
        if isinstance(statement, (ast.For, ast.While, ast.With)):
            return True
        called = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(called, ast.Call) and last_name(called.func) not in _SETTING_UP:
            return True
    return False
