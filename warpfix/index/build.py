"""The index of a project: built in one walk per file, then asked by name. Nothing is imported or run."""

from __future__ import annotations

import ast
import builtins
import gc
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from warpfix.codemods.trees import tree_nodes
from warpfix.config import Config
from warpfix.index import names
from warpfix.index.model import Construct, FileIndex, OptionSet, Problem, Role
from warpfix.index.notebook import SUFFIX
from warpfix.index.read import check_named, parse, read, read_all
from warpfix.index.scopes import (
    Comprehension,
    Scope,
    ScopeTable,
    assigned_value,
    imported_name,
    outer_expressions,
    qualname,
    raw_bindings,
    scope_table,
)
from warpfix.index.walk import CallNode, Definition, Enclosing, Walk, Write
from warpfix.project import Project, assign_roles, exports_something, has_main_guard, module_names

_DEPTH = 24  # aliases of aliases; deeper chains are cycles or nobody's code


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


@dataclass(frozen=True)
class KernelCall:
    """A kernel made by a call from something that is no plain definition: counted, never rewritten."""

    file: FileIndex
    node: ast.Call
    enclosing: Enclosing


_IMPORT = re.compile(
    rb"(?:^|[;:])[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)|import[ \t]+([^\n#;]+))", re.M
)
_BY_CALL = re.compile(rb"import_module\(\s*['\"]([.\w]+)['\"]")
_MENTIONS = re.compile(rb"\bwp\b|\bwarp\b|\bkernel\b|\blaunch\b")
_DECORATOR = re.compile(rb"^[ \t]*@[ \t]*(\w+)", re.M)
_DYNAMIC_IMPORT = re.compile(rb"import_module\(\s*['\"]warp|__import__\(\s*['\"]warp")


class _Facts:
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
                if _last_name(node.test) == "TYPE_CHECKING":  # type: ignore[attr-defined]
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
                    self._renamed(_last_name(given), element.id, enclosing)

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


# What may hand a thing on under another name; a value that is computed does not.
_MAY_RENAME = frozenset({ast.Name, ast.Attribute, ast.Tuple, ast.List})
_WALRUS = re.compile(r"(\w+)[ \t]*:=[ \t]*(?:\w+\.)*(\w+)")


class ProjectIndex:
    """What is known of a project. ``files`` holds those that have to do with Warp; others are parsed when asked for.

    Canonical names: ``prefix(file)`` plus the Python qualname for what the project defines, ``warp.X`` for what Warp
    exports, whatever module of Warp it was taken from.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.files: dict[str, FileIndex] = {}
        self.by_module: dict[str, str] = {}
        """Dotted module name to path; a file may have several names."""
        self.problems: list[Problem] = list(project.problems)
        self.kernel_calls: list[KernelCall] = []
        self._config_names: dict[str, set[str]] = {}
        self._paths = frozenset(project.files)
        self._prefixes: dict[str, str] = {}
        self._roots: dict[str, str] = {}
        self._imported: dict[str, tuple[str, ...]] = {}
        self._loaded: dict[str, FileIndex | None] = {}
        self._walks: dict[str, Walk] = {}
        self._tables: dict[ast.AST, ScopeTable] = {}
        self._facts: dict[str, _Facts] = {}
        self._modules: dict[str, str] = {}
        self._walruses: set[str] = set()
        self._wrappers: dict[str, Any] = {}
        self._generic: dict[str, bool] = {}
        self._mention_tables: dict[str, dict[str, list[tuple[ast.Name | ast.Attribute, Enclosing]]]] = {}
        self._inner_calls: dict[str, dict[str, list[tuple[ast.Call, Definition, Enclosing]]]] = {}
        self._with_options: dict[str, bool] = {}
        self._unparsed: dict[str, bytes] = {}
        self._importers_of: dict[str, tuple[str, ...]] = {}
        self._importing: dict[str, list[str]] | None = None
        self._names: dict[tuple[str, ast.AST | None, str], str | None] = {}
        self._followed: dict[str, str] = {}
        self._definitions: dict[str, dict[str, list[Definition]]] = {}
        self._active: set[tuple[str, ast.AST | None, str]] = set()
        self._roles: dict[str, Role] = {}

    # ---- files and names

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

    @cached_property
    def constructs(self) -> dict[str, tuple[FileIndex, Construct]]:
        """Canonical name to the kernel, function or struct of that name (the last one, if a name is used twice)."""
        return {
            self.canonical(file, construct): (file, construct)
            for file in self.files.values()
            for construct in file.constructs
        }

    def config_names(self, file: FileIndex) -> Collection[str]:
        """Last names under which a file may reach ``warp.config``: most writes to attributes fail this look."""
        return self._config_names.get(file.path, ("config",))

    # ---- resolution

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
            isinstance(value, ast.Call) and _last_name(value.func) in ("import_module", "__import__")
        ):
            return self.resolve(file, value, enclosing)
        return None

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
        if not relative:
            root = self._roots.get(file.path)
            if root is not None:
                base = os.path.join(root, *dotted.split("."))
                for candidate in (base + ".py", os.path.join(base, "__init__.py")):
                    if candidate in self._prefixes:
                        return self._prefixes[candidate]
        path = self.by_module.get(dotted)
        return dotted if path is None else self._prefixes[path]

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

    # ---- definitions, calls, references

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
                            known.setdefault(_last_name(node.func), []).append((node, definition, enclosing))
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

    # ---- building

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
        facts = self._facts[path] = _Facts(file)
        for node in facts.star_imports:
            base = self.import_base(file, node)
            if base is not None:
                file.star_imports.append(base)
        file.global_writes.update(name for name, nodes in facts.globals.items() if nodes)
        self._loaded[path] = file
        return file

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
            lines[path] = imported = _import_lines(_plain(source))
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
        text = _plain(source)
        found = lines.get(path)
        if found is None:
            found = lines[path] = _import_lines(text)
        if (b"__main__" in text and has_main_guard(text)) or path.endswith(SUFFIX):
            guarded.add(path)
        if path in about_warp or _MENTIONS.search(source) or _decorated_by_import(text, found):
            sources[path] = source
    del everything
    lines = {path: lines[path] for path in project.files if path in lines}
    _name_modules(index, lines)
    index._imported = {path: _resolve_lines(index, path, found) for path, found in lines.items()}
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


def _plain(source: bytes) -> bytes:
    """The source as regular expressions over lines expect it: no byte order mark, no old Mac line ends."""
    if source.startswith(b"\xef\xbb\xbf"):
        return source[3:]
    return source if b"\n" in source else source.replace(b"\r", b"\n")


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
        if isinstance(called, ast.Call) and _last_name(called.func) not in _SETTING_UP:
            return True
    return False


def _import_statements(source: bytes) -> Iterator[re.Match[bytes]]:
    """What ``_IMPORT.finditer`` gives, several times faster: only lines that hold the word are tried."""
    position = 0
    while (at := source.find(b"import", position)) >= 0:
        start = max(position, source.rfind(b"\n", position, at) + 1)
        end = source.find(b"\n", at)
        end = len(source) if end < 0 else end
        match = _IMPORT.search(source, start, end)
        if match is not None:
            match = _IMPORT.match(source, match.start())  # names in parentheses may go on below
        if match is None:
            position = end
        else:
            yield match
            position = match.end()


def _import_lines(source: bytes) -> list[tuple[str, tuple[str, ...]]]:
    """What a file's import lines read: (module as written, names); by regular expression, so docstrings count too."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for match in _import_statements(source):
        base, listed, plain = match.groups()
        if base is not None:
            # Both names of ``a as b``: the one finds submodules, the other decorators.
            names_ = re.findall(rb"\w+|\*", re.sub(rb"#[^\n]*", b"", listed))
            found.append((base.decode("ascii", "replace"), tuple(name.decode("ascii", "replace") for name in names_)))
        else:
            for piece in plain.split(b","):
                words = piece.split()
                if words:
                    found.append((words[0].rstrip(b";").decode("ascii", "replace"), ()))
    if b"import_module" in source:
        found.extend((match.decode("ascii", "replace"), ()) for match in _BY_CALL.findall(source))
    return found


def _name_modules(index: ProjectIndex, lines: Mapping[str, list[tuple[str, tuple[str, ...]]]]) -> None:
    project = index.project
    tops = frozenset(base.split(".", 1)[0] for found in lines.values() for base, _ in found if not base.startswith("."))
    index._modules = {}
    aliases: list[tuple[str, str]] = []
    for number, path in enumerate(project.files):
        dotted = module_names(path, project, tops)
        if dotted:
            index._modules[path] = dotted[0]
        prefix = next((name for name in dotted if name not in index.by_module), None)
        if prefix is None:
            stem = os.path.splitext(project.relative(path))[0].replace(".", "_").replace("/", "_")
            prefix = f"<{stem}>" if f"<{stem}>" not in index.by_module else f"<{stem}_{number}>"
        index._prefixes[path] = prefix
        index.by_module[prefix] = path
        aliases.extend((name, path) for name in dotted if name != prefix)
        folder = os.path.dirname(path)
        while os.path.exists(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
        index._roots[path] = folder
    for name, path in aliases:
        index.by_module.setdefault(name, path)


def _resolve_lines(index: ProjectIndex, path: str, found: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    targets: set[str] = set()
    module = index._modules.get(path)
    package: list[str] = []
    if module is not None:
        package = module.split(".")
        if os.path.basename(path) != "__init__.py":
            package = package[:-1]
    root = index._roots[path]
    for base, listed in found:
        if base.startswith("."):
            level = len(base) - len(base.lstrip("."))
            if level - 1 > len(package):
                continue
            pieces = package[: len(package) - (level - 1)]
            rest = base.lstrip(".")
            dotted = ".".join([*pieces, rest] if rest else pieces)
        else:
            dotted = base
        for candidate in (dotted, *(f"{dotted}.{name}" for name in listed)):
            target = _beside(index, root, candidate) or index.by_module.get(candidate)
            if target is not None and target != path:
                targets.add(target)
        pieces = dotted.split(".")
        for end in range(1, len(pieces)):
            target = index.by_module.get(".".join(pieces[:end]))
            if target is not None and target != path:
                targets.add(target)
    own = os.path.join(os.path.dirname(path), "__init__.py")
    if own in index._prefixes and own != path:
        targets.add(own)
    return tuple(sorted(targets))


def _beside(index: ProjectIndex, root: str, dotted: str) -> str | None:
    base = os.path.join(root, *dotted.split("."))
    for candidate in (base + ".py", os.path.join(base, "__init__.py")):
        if candidate in index._prefixes:
            return candidate
    return None


# ---- small helpers over trees


def walk_with_scopes(root: ast.AST, enclosing: Enclosing = ()) -> Iterator[tuple[ast.AST, Enclosing]]:
    """Every node below ``root`` with the nodes around it that matter for scopes and blocks, outermost first."""
    pending: list[tuple[Any, Enclosing]] = [(root, enclosing)]
    while pending:
        node, around = pending.pop()
        yield node, around
        kind = node.__class__
        if kind is ast.Name or kind is ast.Constant:
            continue
        if kind in _DEFINITIONS or kind is ast.Lambda:
            inside = (*around, node)
            body = [node.body] if kind is ast.Lambda else node.body
            pending.extend([(child, inside) for child in reversed(body)])
            pending.extend([(expression, around) for expression in outer_expressions(node)])
        elif kind in _COMPREHENSIONS:
            inside = (*around, node)
            if kind is ast.DictComp:
                pending += [(node.value, inside), (node.key, inside)]
            else:
                pending.append((node.elt, inside))
            for number, generator in enumerate(node.generators):
                pending.extend([(condition, inside) for condition in generator.ifs])
                pending.append((generator.target, inside))
                pending.append((generator.iter, inside if number else around))
        else:
            inside = (*around, node) if kind in _BLOCKS else around
            for field in _REVERSED_FIELDS[kind]:
                value = getattr(node, field, None)
                if value.__class__ is list:
                    for item in reversed(value):
                        if isinstance(item, ast.AST):
                            pending.append((item, inside))
                elif isinstance(value, ast.AST):
                    pending.append((value, inside))


_BLOCKS = frozenset(
    {ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match, ast.ExceptHandler}
    | ({ast.TryStar} if hasattr(ast, "TryStar") else set())
)
_COMPREHENSIONS = frozenset(Comprehension)
_NO_CHILD = frozenset(
    {"ctx", "op", "ops", "kind", "type_comment", "id", "attr", "arg", "conversion", "level", "module"}
)
_REVERSED_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in reversed(kind._fields) if name not in _NO_CHILD)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def statements_with_scopes(tree: ast.Module) -> Iterator[tuple[ast.stmt, Enclosing]]:
    """Every statement with the functions and classes around it; expressions are not looked into."""
    inner = _STATEMENTS_IN
    pending: list[tuple[Any, Enclosing]] = [(statement, ()) for statement in reversed(tree.body)]
    while pending:
        item = pending.pop()
        node = item[0]
        kind = node.__class__
        fields = inner.get(kind)
        if fields is None:
            yield item
            continue
        if kind is not ast.ExceptHandler and kind is not ast.match_case:
            yield item
        inside = (*item[1], node) if kind in _DEFINITIONS else item[1]
        for field in fields:
            below = getattr(node, field)
            if below:
                pending.extend([(child, inside) for child in reversed(below)])


_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
_STATEMENTS_IN: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in ("finalbody", "orelse", "handlers", "cases", "body") if name in kind._fields)
    for kind in vars(ast).values()
    if isinstance(kind, type)
    and (issubclass(kind, ast.stmt) or kind in (ast.ExceptHandler, ast.match_case))
    and {"body", "cases"}.intersection(kind._fields)
}


def _prefixes(dotted: str) -> list[str]:
    pieces = dotted.split(".")
    return [".".join(pieces[:end]) for end in range(1, len(pieces) + 1)]


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


def _last_name(expr: ast.AST) -> str:
    if isinstance(expr, ast.Name):
        return expr.id
    return expr.attr if isinstance(expr, ast.Attribute) else ""
