"""What the whole project says that a move must know: who sets options, who imports, who calls, who looks names up."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from warpfix.codemods.trees import tree_nodes
from warpfix.config import Config
from warpfix.hoisting.assignments import Assignments
from warpfix.hoisting.dims import LaunchDims
from warpfix.hoisting.facts import FileFacts, functions_around
from warpfix.hoisting.model import Verdict
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import own_module
from warpfix.index.model import Construct, FileIndex, Launch, ModuleChoice, OptionSet
from warpfix.index.names import LAUNCHES
from warpfix.index.scopes import is_main_guard
from warpfix.index.walk import CallNode

if TYPE_CHECKING:
    from warpfix.hoisting.landing import UniqueKernel


# Settings of warp.config that change no generated code.
HARMLESS_CONFIG = frozenset(
    {
        "log_level",
        "quiet",
        "verbose",
        "verbose_warnings",
        "print_launches",
        "kernel_cache_dir",
        "cache_kernels",
        "load_module_max_workers",
        "enable_graph_capture_module_load_by_default",
        "enable_mempools_at_init",
        "track_memory",
    }
)
_FAILS = re.compile(r"raises|fails|xfail", re.IGNORECASE)


class Hoister:
    """Hoisting decisions for one project; results per file are kept.

    Args:
        index: The project's index.
        warp_min: Lowest Warp that the edits must work with, as a tuple of its first two numbers.
        keep_keys: Give hoisted kernels ``name="<old key>"`` where that Warp has it.
    """

    def __init__(self, index: ProjectIndex, warp_min: tuple[int, int] = (1, 7), keep_keys: bool = False) -> None:
        self.index = index
        self.warp_min = warp_min
        self.keep_keys = keep_keys
        self._files: dict[str, list[Verdict]] = {}
        self._facts: dict[str, FileFacts] = {}
        self._at_import: dict[tuple[str, int], bool] = {}
        self._contents: dict[str, bool] = {}
        self._expecting: dict[ast.AST, bool] = {}
        self.read_problems: dict[ast.AST, str | None] = {}
        """Warp function to why what it reads may change; filled where it is asked."""
        self.native: dict[str, bool] = {}
        """Canonical name of a function to whether it is native code or reaches some; filled where it is asked."""
        self.unique_kernels: dict[str, list[UniqueKernel]] = {}
        self.lone_kernels: dict[str, list[UniqueKernel]] = {}

    def facts(self, file: FileIndex) -> FileFacts:
        """Scopes, positions and module-scope facts of a file."""
        if file.path not in self._facts:
            self._facts[file.path] = FileFacts(self.index, file)
        return self._facts[file.path]

    def verdicts(self, file: FileIndex) -> list[Verdict]:
        """One verdict per closure kernel of the file, in source order."""
        if file.path not in self._files:
            # The decisions for a file rest on this module's evidence: imported late, or each would need the other.
            from warpfix.hoisting.planner import FilePlanner

            closures = [c for c in file.constructs if c.kind == "kernel" and c.in_function and c.decorator is not None]
            self._files[file.path] = FilePlanner(self, file).plan(closures) if closures else []
        return self._files[file.path]

    # ---- facts of the project

    @cached_property
    def dims(self) -> LaunchDims:
        """With which block dims the project launches its kernels."""
        return LaunchDims(self.index)

    @cached_property
    def config_writes(self) -> list[tuple[FileIndex, OptionSet]]:
        """Writes of ``wp.config`` settings that change generated code, anywhere in the project."""
        return [
            (file, write)
            for file in self.index.files.values()
            for write in file.option_sets
            if write.via == "config" and (write.dynamic or not set(write.options) <= HARMLESS_CONFIG)
        ]

    @cached_property
    def late_writes(self) -> list[tuple[FileIndex, OptionSet]]:
        """Writes that may come between two loads of one module, and that Warp reads when a new kernel makes it hash the
        module again: settings of ``wp.config``, and options written into a module's own dictionary.
        """
        direct = [
            (file, write) for file in self.index.files.values() for write in file.option_sets if write.via == "options"
        ]
        return [(file, write) for file, write in [*self.config_writes, *direct] if self._after_a_launch(file, write)]

    def _after_a_launch(self, file: FileIndex, write: OptionSet) -> bool:
        """Whether a launch may have run when a write of options does: in a function, or below a call of one."""
        if functions_around(write.enclosing):
            return True
        loops = [node for node in write.enclosing if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
        for calls in self.index.calls(file).values():
            for call in calls:
                if functions_around(call.enclosing):
                    continue
                if call.node.lineno < write.node.lineno or any(loop in call.enclosing for loop in loops):
                    resolved = self.index.resolve(file, call.node.func, call.enclosing)
                    if resolved is not None and (resolved in LAUNCHES or self.index.definition(resolved) is not None):
                        return True
        return False

    @cached_property
    def _option_targets(self) -> tuple[set[str], bool]:
        targets: set[str] = set()
        unknown = False
        for file in self.index.files.values():
            for write in file.option_sets:
                if write.via == "config":
                    continue
                if write.target_module is None:
                    unknown = True
                else:
                    targets.add(write.target_module)
                    if write.via == "set_module_options" and write.target_module == own_module(file):
                        targets.add("__main__")
        return targets, unknown

    def options_reach(self, file: FileIndex) -> bool:
        """Whether anything in the project sets module options that reach the file's default Warp module."""
        targets, unknown = self._option_targets
        names = {file.module, self.index.prefix(file), own_module(file)}
        if targets & names - {"__main__"} or unknown:
            return True
        return any(
            write.via != "config" and write.target_module in (own_module(file), None) for write in file.option_sets
        )

    def option_setter(self, file: FileIndex) -> str | None:
        """``file.py:12`` where options are set that reach, or may reach, the file's default Warp module."""
        reached = {file.module, self.index.prefix(file), own_module(file), None}
        for other in (file, *self.index.files.values()):
            for write in other.option_sets:
                if write.via != "config" and write.target_module in reached:
                    return f"{os.path.basename(other.path)}:{write.node.lineno}"
        return None

    def texts(self) -> Iterator[tuple[str, str]]:
        """Path and text of every file of the project that can be read."""
        for path in self.index.project.files:
            file = self.index.files.get(path)
            if file is not None:
                yield path, file.text
                continue
            try:
                with open(path, encoding="utf-8", errors="replace") as stream:
                    text = stream.read()
            except OSError:
                continue
            yield path, text

    def _texts(self) -> Iterator[str]:
        return (text for _, text in self.texts())

    def said(self, string: str) -> int:
        """How often a string stands between quotes, anywhere in the project."""
        return sum(text.count(f"{quote}{string}{quote}") for text in self._texts() for quote in ("'", '"'))

    @cached_property
    def _written(self) -> tuple[dict[str, list[str]], set[str], set[str]]:
        assigned: dict[str, list[str]] = {}
        by_name: set[str] = set()
        asked: set[str] = set()
        for path, text in self.texts():
            for name in set(_ATTRIBUTE_WRITE.findall(text)):
                assigned.setdefault(name, []).append(path)
            if "attr(" in text:
                by_name.update(_SETATTR.findall(text))
                asked.update(_ATTR_BY_NAME.findall(text))
        return assigned, by_name, asked

    def attribute_written(self, name: str) -> bool:
        """Whether some file assigns an attribute of this name: ``x.name =``, ``setattr(x, "name", ...)``."""
        return name in self._written[0] or name in self._written[1]

    def paths_that_write(self, name: str) -> list[str]:
        """The files that hold ``.name =``."""
        return self._written[0].get(name, [])

    @cached_property
    def assignments(self) -> Assignments:
        """Which attributes of modules and classes are assigned from elsewhere."""
        return Assignments(self)

    def changes_contents(self, name: str) -> bool:
        """Whether some file changes an object of this name in place: ``name[0] =``, ``name.x =``, ``name.add(...)``."""
        if name not in self._contents:
            pattern = re.compile(rf"(?<!\w){re.escape(name)}{_CONTENT_WRITE}")
            self._contents[name] = any(name in text and pattern.search(text) for text in self._texts())
        return self._contents[name]

    @property
    def asked_names(self) -> set[str]:
        """Every attribute name that some file asks for as a string: ``getattr(x, "name")``, ``hasattr(x, "name")``."""
        return self._written[2]

    @cached_property
    def kernel_lister(self) -> str | None:
        """``file.py`` of the project that looks through modules for their kernels."""
        for file in self.index.files.values():
            if _LISTED.search(file.text) and _LOOKED_THROUGH.search(file.text):
                return os.path.basename(file.path)
        return None

    @cached_property
    def module_touched(self) -> str | None:
        """``file.py:12`` where the project changes a Warp module's options through one of its kernels."""
        for file in self.index.files.values():
            match = _MODULE_OPTIONS.search(file.text)
            if match is not None:
                return f"{os.path.basename(file.path)}:{file.text.count(chr(10), 0, match.start()) + 1}"
        return None

    @cached_property
    def interface_files(self) -> set[str]:
        """Files whose Warp module is built ahead of time or kept under plain names: keys are an interface there."""
        found: set[str] = set()
        for file in self.index.files.values():
            for launch in file.launches:
                if launch.via in ("compile_aot_module", "load_aot_module"):
                    found |= self._built_ahead(file, launch)
            if any("strip_hash" in write.options for write in file.option_sets):
                found.add(file.path)
                found.update(self.index.imported_files(file.path))
        return found

    def _built_ahead(self, file: FileIndex, launch: Launch) -> set[str]:
        """The files whose kernels a call that builds or loads ahead of time can reach."""
        given = [*launch.node.args[:1], *(k.value for k in launch.node.keywords if k.arg == "module")]
        if len(given) == 1 and not isinstance(given[0], ast.Starred):
            expr = given[0]
            if isinstance(expr, ast.Name) and expr.id == "__name__":
                return {file.path}
            if isinstance(expr, ast.Attribute) and expr.attr == "module" and isinstance(expr.value, ast.Name):
                kernel = self._kernel_of(file, expr.value)
                if kernel is not None and kernel.module_choice is ModuleChoice.UNIQUE:
                    return set()  # that kernel alone, and reading its `.module` keeps it where it is
                if kernel is not None and kernel.module_choice is ModuleChoice.DEFAULT:
                    return {file.path}
        return {file.path, *self.index.imported_files(file.path)}

    def _kernel_of(self, file: FileIndex, name: ast.Name) -> Construct | None:
        """The kernel definition of this file that a name stands for, if nothing else is bound to it."""
        facts = self.facts(file)
        around = facts.enclosing(name)
        scope = facts.scopes.lookup(name.id, facts.scopes.by_node[around[-1]] if around else facts.scopes.module)
        if scope is None or sum(o.store for o in facts.scopes.references(scope, name.id)) != 1:
            return None
        construct = facts.definitions_by_node.get(scope.bindings[name.id][0])
        return construct if construct is not None and construct.kind == "kernel" else None

    def star_importers(self, file: FileIndex) -> list[str]:
        """Paths of project files that import everything from this one."""
        found = []
        for path in self.index.project.files:
            if file.path in self.index.imported_files(path):
                other = self.index.file(path)
                if other is not None and any(
                    self.index.module_file(star) is file or star in (file.module, self.index.prefix(file))
                    for star in other.star_imports
                ):
                    found.append(path)
        return found

    def expects_failure(self, function: ast.AST) -> bool:
        """Whether something in a function is expected to fail: a kernel that does must not share a module."""
        known = self._expecting.get(function)
        if known is None:
            known = self._expecting[function] = any(
                (
                    isinstance(node, (ast.With, ast.AsyncWith))
                    and any(_FAILS.search(ast.unparse(item.context_expr)) for item in node.items)
                )
                or (isinstance(node, ast.Call) and _FAILS.search(last_part(node.func)) is not None)
                or (isinstance(node, ast.Try) and node.handlers and any(map(_launches, node.body)))
                for node in tree_nodes(function)
            )
        return known

    @cached_property
    def calls_by_name(self) -> dict[str, list[tuple[FileIndex, CallNode]]]:
        """Every call in the files about Warp by the last name of what is called: a quick first look."""
        found: dict[str, list[tuple[FileIndex, CallNode]]] = {}
        for file in self.index.files.values():
            for name, calls in self.index.calls(file).items():
                found.setdefault(name, []).extend((file, call) for call in calls)
        return found

    @cached_property
    def _import_time_names(self) -> set[str]:
        """Last names of functions that are called at import, directly or by a function of such a name."""
        names: set[str] = set()
        called_in: dict[str, set[str]] = {}
        known: dict[tuple[ast.AST, ...], list[ast.AST]] = {}  # calls of one block share what is around them
        for name, calls in self.calls_by_name.items():
            for _, call in calls:
                around = known.get(call.enclosing)
                if around is None:
                    around = known[call.enclosing] = functions_around(call.enclosing)
                if not around:
                    names.add(name)
                elif len(around) == 1:
                    called_in.setdefault(getattr(around[0], "name", ""), set()).add(name)
        names |= {last_part(call.node.args[0]) for _, call in self._maps_at_import if call.node.args}
        for _ in range(4):
            names |= {name for caller in names for name in called_in.get(caller, ())}
        return names

    @cached_property
    def _maps_at_import(self) -> list[tuple[FileIndex, CallNode]]:
        """Calls of ``map`` at module scope, whose first argument is called there for each of the others."""
        return [
            (file, call)
            for file, call in self.calls_by_name.get("map", ())
            if not functions_around(call.enclosing)
            and self.index.resolve(file, call.node.func, call.enclosing) == "builtins.map"
        ]

    def _called_at_import(self, name: str) -> bool:
        return name in self._import_time_names

    def only_at_import(self, file: FileIndex, function: ast.AST, enclosing: Sequence[ast.AST], depth: int = 0) -> bool:
        """Whether every known use of a function is a call at the import of some file; False if none is known."""
        if depth > 4 or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        if any(not isinstance(node, ast.If) for node in enclosing):
            return False
        if not self._called_at_import(function.name):
            return False
        key = (file.path, function.lineno)
        if key not in self._at_import:
            self._at_import[key] = False  # a cycle of calls is no call at import
            self._at_import[key] = self._all_at_import(file, function, depth)
        return self._at_import[key]

    def _all_at_import(self, file: FileIndex, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> bool:
        canonical = f"{self.index.prefix(file)}.{function.name}"
        sites = 0
        maps = [(other, call, call.node.args[0]) for other, call in self._maps_at_import if call.node.args]
        calls = [(other, call, call.node.func) for other, call in self.calls_by_name.get(function.name, ())]
        for other, call, called in [*calls, *maps]:
            if self.index.resolve(other, called, call.enclosing) != canonical:
                continue
            sites += 1
            around = functions_around(call.enclosing)
            if around:
                outer = call.enclosing.index(around[0])
                if len(around) > 1 or not self.only_at_import(other, around[0], call.enclosing[:outer], depth + 1):
                    return False
            elif any(is_main_guard(node) for node in call.enclosing) or any(
                self._launched_by_then(holder, launch, other, call)
                for holder in {id(one): one for one in (other, file)}.values()
                for launch in holder.launches
            ):
                return False
        # The costly question last: whether anything else refers to it, under this or another name.
        return sites > 0 and len(self.index.references(canonical)) == sites

    def _launched_by_then(self, holder: FileIndex, launch: Launch, file: FileIndex, call: CallNode) -> bool:
        """Whether a launch of ``holder`` may have run when a call at the module scope of ``file`` returns.

        A script that does its work at module scope (``main()`` without a guard) launches while it is imported, be it
        by functions of other files.
        """
        around = functions_around(launch.enclosing)
        if not around:
            return holder is file and _comes_before(launch.node, call)
        name = getattr(around[0], "name", "")
        return any(
            here is file and (bool(functions_around(other.enclosing)) or other.node.lineno <= call.node.lineno)
            for here, other in self.calls_by_name.get(name, ())
        )


_ATTRIBUTE_WRITE = re.compile(r"\.(\w+)(?:\s*,\s*[\w.]+)*\s*(?::[^=\n]+)?(?:[-+*/|&^%@]|//|\*\*|<<|>>)?=(?!=)")
_CONTENT_WRITE = (
    r"(?:[ \t]*(?:\[[^\]\n]{0,200}\]|\.\w+)[ \t]*(?:[-+*/|&^%@]|//|\*\*|<<|>>)?=(?!=)"
    r"|\.(?:append|add|update|clear|pop|popitem|setdefault|extend|insert|remove|fill|sort|reverse|put)\()"
)
_ATTR_BY_NAME = re.compile(r"(?:[gs]et|has)attr\(\s*[^()\n]{0,100}?,\s*[\"'](\w+)")
_LISTED = re.compile(r"isinstance\([^()\n]*\bKernel\b")
_LOOKED_THROUGH = re.compile(r"\b(?:getmembers|vars|dir|globals)\(|\.__dict__\b")
_MODULE_OPTIONS = re.compile(r"\.module\.options\b\s*(?:\[[^\]\n]*\]\s*=(?!=)|\.update\(|=(?!=))")
_SETATTR = re.compile(r"setattr\(\s*[\w.\"'\[\]]+\s*,\s*[\"'](\w+)")


def _comes_before(launch: ast.Call, call: CallNode) -> bool:
    """Whether a launch at module scope runs before a call there: above it, or in the turn before of the same loop."""
    loops = [node for node in call.enclosing if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
    return launch.lineno < call.node.lineno or any(contains_node(loop, launch) for loop in loops)


def contains_node(root: ast.AST, node: ast.AST) -> bool:
    return any(inner is node for inner in tree_nodes(root))


def _launches(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Call) and last_part(node.func).startswith("launch") for node in tree_nodes(statement)
    )


def last_part(expr: ast.expr) -> str:
    return expr.attr if isinstance(expr, ast.Attribute) else getattr(expr, "id", "")


_HOISTERS: weakref.WeakKeyDictionary[ProjectIndex, Hoister] = weakref.WeakKeyDictionary()


def hoister_for(index: ProjectIndex, config: Config, keep_keys: bool = False) -> Hoister:
    """The hoister of an index: one for all rules, so that every decision is made once.

    Args:
        index: The project's index.
        config: Says which Warp the edits must work with.
        keep_keys: Counts for the first call only, which the command line makes.
    """
    found = _HOISTERS.get(index)
    if found is None:
        found = _HOISTERS[index] = Hoister(index, lowest_warp(config)[0], keep_keys)
    return found


def lowest_warp(config: Config) -> tuple[tuple[int, int], str]:
    """The lowest Warp that an edit must work with, and where that was read, in words."""
    version, source = config.warp_min, config.warp_min_source
    if version is None:
        try:
            version, source = importlib.metadata.version("warp-lang"), "the installed Warp"
        except importlib.metadata.PackageNotFoundError:
            version, source = "1.7", "the lowest that warpfix supports"
    numbers = [int(piece) for piece in re.findall(r"\d+", version)[:2]]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0), source
