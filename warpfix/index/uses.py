"""Where a thing of the project is defined, called and mentioned."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpfix.index import names
from warpfix.index.model import FileIndex, Problem
from warpfix.index.nodes import last_name, walk_with_scopes
from warpfix.index.read import read
from warpfix.index.resolve import Names
from warpfix.index.scopes import qualname
from warpfix.index.walk import CallNode, Definition, Enclosing, Walk, Write
from warpfix.project import Project


@dataclass(frozen=True)
class CallSite:
    """A call of a project function."""

    file: FileIndex
    node: ast.Call
    statement: ast.stmt
    enclosing: Enclosing


@dataclass(frozen=True)
class Reference:
    """A place where a name is read (or rebound: see ``node.ctx``)."""

    file: FileIndex
    node: ast.Name | ast.Attribute
    enclosing: Enclosing


@dataclass(frozen=True)
class FunctionDef:
    """A function or class of the project, as :meth:`ProjectIndex.definition` gives it."""

    file: FileIndex
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    enclosing: Enclosing


class Uses(Names):
    """Definitions, calls, writes and references; each file is walked once."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._walks: dict[str, Walk] = {}
        self._mention_tables: dict[str, dict[str, list[tuple[ast.Name | ast.Attribute, Enclosing]]]] = {}
        self._inner_calls: dict[str, dict[str, list[tuple[ast.Call, Definition, Enclosing]]]] = {}
        self._unparsed: dict[str, bytes] = {}
        self._importers_of: dict[str, tuple[str, ...]] = {}
        self._definitions: dict[str, dict[str, list[Definition]]] = {}

    def definition(self, canonical: str) -> FunctionDef | None:
        """The function or class with this canonical name; None if there is none, or more than one of that name."""
        prefix = canonical
        while prefix:
            path = self.by_module.get(prefix)
            if path is not None:
                file = self.file(path)
                if file is None:
                    return None
                found = self.definitions(file).get(canonical[len(prefix) + 1 :], [])
                if len(found) != 1:
                    return None
                return FunctionDef(file, found[0].node, found[0].enclosing)
            prefix = prefix.rpartition(".")[0]
        return None

    def definitions(self, file: FileIndex) -> Mapping[str, list[Definition]]:
        """Every function and class of a file by its Python qualname, in source order."""
        known = self._definitions.get(file.path)
        if known is None:
            known = {}
            for definition in self._walk(file).definitions:
                known.setdefault(qualname(definition.enclosing, definition.node.name), []).append(definition)
            self._definitions[file.path] = known
        return known

    def calls(self, file: FileIndex) -> Mapping[str, list[CallNode]]:
        """Every call of a file outside of kernels, by the last name of what is called."""
        return self._walk(file).calls

    def writes(self, file: FileIndex) -> Sequence[Write]:
        """Every assignment of a file to an attribute or a subscript, outside of kernels."""
        return self._walk(file).writes

    def call_sites(self, canonical: str) -> list[CallSite]:
        """All calls of a project function, in any file of the project, also inside kernels (``wp.static``)."""
        sites: list[CallSite] = []
        last = canonical.rpartition(".")[2]
        for file in self._mentioning(last, canonical):
            walk = self._walk(file)
            for name in sorted(self._spellings(file, last)):
                for call in walk.calls.get(name, ()):
                    if self.resolve(file, call.node.func, call.enclosing) == canonical:
                        sites.append(CallSite(file, call.node, call.statement, call.enclosing))
                for node, definition, enclosing in self._calls_inside(file).get(name, ()):
                    if self.resolve(file, node.func, enclosing) == canonical:
                        sites.append(CallSite(file, node, definition.node, enclosing))
        sites.sort(key=lambda site: (site.file.path, site.node.lineno, site.node.col_offset))
        return sites

    def references(self, canonical: str) -> list[Reference]:
        """Every place that reads, rebinds or deletes the name, in any file of the project, kernels included.

        Import statements and the definition itself are not among them.
        """
        found: list[Reference] = []
        last = canonical.rpartition(".")[2]
        for file in self._mentioning(last, canonical):
            mentions = self._mentions(file)
            for spelled in self._spellings(file, last):
                for node, enclosing in mentions.get(spelled, ()):
                    if self.resolve(file, node, enclosing) == canonical:
                        found.append(Reference(file, node, enclosing))
        found.sort(key=lambda item: (item.file.path, item.node.lineno, item.node.col_offset))
        return found

    def _mentions(self, file: FileIndex) -> dict[str, list[tuple[ast.Name | ast.Attribute, Enclosing]]]:
        """Every name and attribute of a file by its last part; made once, for files that are asked about."""
        known = self._mention_tables.get(file.path)
        if known is None:
            known = self._mention_tables[file.path] = {}
            for node, enclosing in walk_with_scopes(file.tree):
                if isinstance(node, ast.Name):
                    known.setdefault(node.id, []).append((node, enclosing))
                elif isinstance(node, ast.Attribute):
                    known.setdefault(node.attr, []).append((node, enclosing))
        return known

    def _calls_inside(self, file: FileIndex) -> dict[str, list[tuple[ast.Call, Definition, Enclosing]]]:
        """Calls in the bodies of kernels and Warp functions, by the last name of what is called; made once."""
        known = self._inner_calls.get(file.path)
        if known is None:
            known = self._inner_calls[file.path] = {}
            for definition in self._walk(file).skipped:
                inside = (*definition.enclosing, definition.node)
                for statement in definition.node.body:
                    for node, enclosing in walk_with_scopes(statement, inside):
                        if isinstance(node, ast.Call):
                            known.setdefault(last_name(node.func), []).append((node, definition, enclosing))
        return known

    def _spellings(self, file: FileIndex, last: str) -> set[str]:
        """Names under which this file may call something whose own last name is ``last``."""
        return self._facts[file.path].names_for((last,))

    def renames(self, file: FileIndex) -> Mapping[str, Collection[str]]:
        """Last name of a thing to the other names that a file gives to it: by an import, or by an assignment."""
        return self._facts[file.path].renames

    def _mentioning(self, word: str, canonical: str) -> Iterator[FileIndex]:
        """Files whose text holds the word, parsed now if need be; nearly always a handful."""
        for path in self._that_may_name(canonical):
            loaded = self._loaded.get(path)
            if loaded is not None:
                if word in loaded.text:
                    yield loaded
            elif path not in self._loaded:
                source = self._unparsed.get(path)
                if source is None:
                    raw = read(path, self.project.overlay)
                    source = self._unparsed[path] = b"" if isinstance(raw, Problem) else raw
                if word.encode() in source:
                    file = self._load(path, source)
                    if file is not None:
                        yield file

    def _that_may_name(self, canonical: str) -> Iterable[str]:
        """Files in which the name can mean anything: its own, and those that import that one, however indirectly."""
        prefix = canonical
        while prefix and prefix not in self.by_module:
            prefix = prefix.rpartition(".")[0]
        if not prefix:
            return self.project.files
        owner = self.by_module[prefix]
        if ".<locals>." in canonical:
            return (owner,)
        known = self._importers_of.get(owner)
        if known is None:
            seen = {owner}
            pending = [owner]
            while pending:
                for path in self.importing_files(pending.pop()):
                    if path not in seen:
                        seen.add(path)
                        pending.append(path)
            known = self._importers_of[owner] = tuple(sorted(seen))
        return known

    def _walk(self, file: FileIndex) -> Walk:
        walk = self._walks.get(file.path)
        if walk is None:
            walk = self._walks[file.path] = Walk(file.tree, lambda definition: self._is_opaque(file, definition))
        return walk

    def _is_opaque(self, file: FileIndex, definition: Definition) -> bool:
        """Whether the body is Warp's to read, not Python's to run: a kernel or a Warp function."""
        for decorator in definition.node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            resolved = self.resolve(file, target, definition.enclosing)
            if resolved in (names.KERNEL, names.FUNC, "warp.func_grad", "warp.func_replay", "warp.overload"):
                return True
        return False
