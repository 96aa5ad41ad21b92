"""The decisions for one file: what a kernel needs, whether its values vary, where it goes, and under which name."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence

from warpfix.codemods import Declined
from warpfix.codemods._arguments import ModuleArgument
from warpfix.codemods.hoist import Hoist
from warpfix.findings import Applicability, KernelRename
from warpfix.hoisting.facts import FileFacts, functions_around, kernel_key
from warpfix.hoisting.landing import check_options, literal_module, shared_landing
from warpfix.hoisting.model import AsItShouldBe, Capture, Item, Landing, Unproved, Varies, Verdict
from warpfix.hoisting.project import HARMLESS_CONFIG, Hoister, contains_node, last_part
from warpfix.index.captures import (
    DefinitionNode,
    Occurrence,
    Scope,
    definition_time,
    is_builtin,
)
from warpfix.index.constructs import own_module, parameter_default
from warpfix.index.model import Construct, FileIndex, ModuleChoice, OptionSet, Role
from warpfix.index.names import LAUNCHES
from warpfix.index.scopes import assigned_value

_RAISES = re.compile(r"raises|warns|fails|expected|error|assertlogs|subprocess|capture_out", re.IGNORECASE)
_TILE = re.compile(r"\btile_\w+")


_GUARD = re.compile(
    r"version|hasattr|is_cuda|is_cpu|available|\barch\b|capab|find_spec|platform|HAS_|support|[\"']c(?:pu|uda)\b",
    re.IGNORECASE,
)
_FORMATTER = re.compile(r"^[ \t\f]*#\s*(?:fmt:\s*(off|on)|yapf:\s*(disable|enable)|autopep8:\s*(off|on))\s*$")
_CONTAINER_TYPES = frozenset({"builtins.dict", "builtins.list", "builtins.set", "builtins.bytearray"})
_MATH = re.compile(r"^(?:math|numpy)\.(?:pi|e|tau|inf|nan)$")
# What tells one kernel object from another.
_IDENTITY = frozenset({"key", "module", "adj", "hash"})


class FilePlanner:
    """All closure kernels of one file together: they share companions, places and names."""

    def __init__(self, hoister: Hoister, file: FileIndex) -> None:
        self.hoister = hoister
        self.index = hoister.index
        self.file = file
        self.facts = hoister.facts(file)
        self.scopes = self.facts.scopes
        self.source = self.facts.source
        self.items: dict[tuple[int, str], Item] = {}
        self.escaping: set[tuple[int, str]] = set()
        """Kernels that get another name, or leave their function."""

    def plan(self, closures: Sequence[Construct]) -> list[Verdict]:
        verdicts = []
        roots: dict[int, Item] = {}
        for construct in closures:
            verdict = Verdict(self.file, construct)
            verdicts.append(verdict)
            try:
                roots[id(verdict)] = self._examine(construct)
                verdict.landing = self._landing(construct)
            except Varies as varies:
                verdict.captures = varies.captures
            except Declined as reason:
                verdict.declined = str(reason)
                verdict.silent = isinstance(reason, AsItShouldBe)
                verdict.same = not isinstance(reason, Unproved)
        for verdict in verdicts:
            # Whatever is wrong with a stable kernel, a wrapper that hides its module says nothing of lateness.
            unknown = verdict.construct.module_choice is ModuleChoice.UNKNOWN or verdict.construct.via_wrapper
            verdict.silent = verdict.silent or bool(unknown)
        hoistable = [verdict for verdict in verdicts if verdict.stable and verdict.declined is None]
        self._drop_beside_failures(hoistable, closures)
        hoistable = [verdict for verdict in hoistable if verdict.declined is None]
        self._drop_unplaceable(hoistable, roots)
        hoistable = [verdict for verdict in hoistable if verdict.declined is None]
        self._name(hoistable, roots)
        self._edits(hoistable, roots)
        for verdict in verdicts:
            functions = functions_around(verdict.construct.enclosing)
            outer = functions[0]
            position = list(verdict.construct.enclosing).index(outer)
            verdict.at_import_only = self.hoister.only_at_import(
                self.file, outer, verdict.construct.enclosing[:position]
            )
            if verdict.edits:
                self._judge(verdict)
        return verdicts

    # ---- one definition and what it needs

    def _examine(self, construct: Construct) -> Item:
        self._kernel_itself(construct)
        item = self._item(construct.node, construct.name, construct, ())
        self._uses(item, construct)
        return item

    def _kernel_itself(self, construct: Construct) -> None:
        """What is wrong with the kernel whatever it captures is said only after its captures are known."""

    def _item(
        self,
        node: DefinitionNode | ast.Assign | ast.AnnAssign,
        name: str,
        construct: Construct | None,
        path: tuple[Item, ...],
    ) -> Item:
        key = (node.lineno, name)
        if key in self.items:
            return self.items[key]
        scope = next(
            s
            for parent in [*self.facts.chain(node), self.file.tree]
            if (s := self.scopes.by_node.get(parent)) is not None
        )
        item = Item(node, name, scope, construct)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            item.outside = [
                (occurrence, self.scopes.resolve(occurrence))
                for occurrence in self.scopes.within(node)
                if not occurrence.store
            ]
        else:
            item.outside = self.scopes.outside_names(node)
        varies: list[Capture] = []
        problem: Declined | None = None
        seen: set[tuple[int, str]] = set()
        for occurrence, bound in item.outside:
            if bound is None or bound.kind == "module":
                continue
            if (id(bound), occurrence.name) in seen:
                continue
            seen.add((id(bound), occurrence.name))
            if bound is item.scope and occurrence.name == name:
                continue  # recursion
            if any(occurrence.name == other.name and bound is other.scope for other in path):
                continue
            if self._chooses_module(occurrence, construct):
                continue
            try:
                needed = self._captured(occurrence, bound, (*path, item))
            except Varies as error:
                varies += error.captures
            except Declined as reason:
                problem = _worse(problem, reason)
            else:
                item.needs.append(needed)
        if varies:
            raise Varies(list(dict.fromkeys(varies)))
        for check in (self._check_definition, self._check_place, self._check_globals):
            try:
                check(item)
            except Declined as reason:
                problem = _worse(problem, reason)
        if problem is not None:
            raise problem
        self.items[key] = item
        return item

    def _chooses_module(self, occurrence: Occurrence, construct: Construct | None) -> bool:
        """Whether the occurrence is ``module`` in ``@wp.kernel(module=module)``."""
        if construct is None or construct.module_choice is not ModuleChoice.PARAMETER:
            return False
        return isinstance(construct.decorator, ast.Call) and any(
            keyword.arg == "module" and keyword.value is occurrence.node for keyword in construct.decorator.keywords
        )

    def _captured(self, occurrence: Occurrence, bound: Scope, path: tuple[Item, ...]) -> Item:
        """The definition of a captured name, if it can move along. Raises Varies or Declined."""
        name = occurrence.name
        if occurrence.store:
            raise Unproved(f"the kernel's code rebinds `{name}` of the function around it")
        bindings = bound.bindings.get(name, [])
        stores = [o for o in self.scopes.references(bound, name) if o.store]
        function = bound.node
        first = bindings[0] if bindings else None
        if bound.kind == "class":
            raise Unproved(f"it uses `{name}`, which a class body inside the function defines")
        if isinstance(first, ast.arg):
            if first.arg == "self" or (first.arg == "cls"):
                raise Varies([Capture(name, "which can be another object at every call", function)])
            raise Varies([Capture(name, f"a parameter of `{bound.name}`", function)])
        if len(stores) > 1:
            if all(isinstance(b, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for b in bindings):
                raise Unproved(f"`{bound.name}` defines `{name}` more than once")
            raise Varies([Capture(name, f"which `{bound.name}` assigns more than once")])
        if first is None:
            raise Unproved(f"it uses `{name}`, whose definition was not found")
        if isinstance(first, ast.alias):
            raise Declined(f"it uses `{name}`, which `{bound.name}` imports itself")
        statement = first if isinstance(first, ast.stmt) else self._statement(first)
        if isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            companion = self.facts.definitions_by_node.get(first)
            if companion is None or companion.kind == "kernel" or companion.via_wrapper:
                raise Unproved(f"it uses `{name}`, which is neither a Warp function nor a struct that could move along")
            return self._item(first, name, companion, path)
        if isinstance(statement, (ast.For, ast.AsyncFor)) or bound.kind == "comprehension":
            raise Varies([Capture(name, "the variable of a loop")])
        if (
            isinstance(statement, (ast.Assign, ast.AnnAssign))
            and isinstance(first, ast.Name)
            and statement.value is not None
            and self._targets(statement) == [first]
        ):
            if statement not in getattr(function, "body", ()):
                raise Varies([Capture(name, f"which `{bound.name}` assigns in a branch or a loop")])
            problem = self._not_constant(statement.value)
            if problem is not None:
                raise Varies([Capture(name, problem)])
            if self._mutable(self.facts, statement.value) and self._may_change(bound, name):
                raise Unproved(f"it uses `{name}`, an object that `{bound.name}` may change in place")
            try:
                return self._item(statement, name, None, path)
            except Varies as error:
                source = error.captures[0]
                reason = f"which is computed from `{source.name}`, {source.reason}"
                raise Varies([Capture(name, reason)]) from None
        raise Varies([Capture(name, f"which `{bound.name}` computes")])

    def _mutable(self, facts: FileFacts, value: ast.expr | None) -> bool:
        """Whether a value is an object that can be changed in place: a container, a vector, the result of a call."""
        if isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)):
            return True
        if not isinstance(value, ast.Call):
            return False
        resolved = facts.resolve(value.func) or ""
        if resolved == "warp.constant":
            return any(self._mutable(facts, argument) for argument in value.args)
        if resolved in _BUILTIN_TYPES or resolved in _TYPE_MAKERS:
            return False
        return not (_is_warp_type(resolved) and _SCALAR.match(resolved))

    def _may_change(self, scope: Scope, name: str) -> bool:
        """Whether Python code may change the object behind a local name: it stores into it or hands it on."""
        for occurrence in self.scopes.references(scope, name):
            node = occurrence.node
            if occurrence.store or any(outer in self.facts.definitions_by_node for outer in self.facts.chain(node)):
                continue
            parent = self.source.parents.get(node)
            if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue)):
                continue
            if isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node:
                user = self.source.parents.get(parent)
                if not isinstance(parent.ctx, ast.Load) or (isinstance(user, ast.Call) and user.func is parent):
                    return True
                continue
            holder = parent
            while isinstance(holder, (ast.List, ast.Tuple, ast.keyword)):
                holder = self.source.parents.get(holder)
            called = holder.func if isinstance(holder, ast.Call) else None
            if not isinstance(called, (ast.Name, ast.Attribute)):
                return True
            if not (self.facts.resolve(called) or "").startswith(("warp.", "builtins.print")):
                return True
        return False

    @staticmethod
    def _targets(statement: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
        return statement.targets if isinstance(statement, ast.Assign) else [statement.target]

    def _statement(self, node: ast.AST) -> ast.AST:
        while not isinstance(node, ast.stmt):
            node = self.source.parents[node]
        return node

    def _not_constant(self, value: ast.expr) -> str | None:
        """Why a value is not the same, immutable thing at every call; None if it is."""
        if isinstance(value, ast.Constant):
            return None
        if isinstance(value, ast.UnaryOp):
            return self._not_constant(value.operand)
        if isinstance(value, ast.BinOp):
            return self._not_constant(value.left) or self._not_constant(value.right)
        if isinstance(value, ast.Tuple):
            return next((problem for item in value.elts if (problem := self._not_constant(item))), None)
        if isinstance(value, ast.Name):
            scope = self.scopes.lookup(value.id, self._scope_of(value))
            if scope is not None and scope.kind != "module":
                return None  # followed as a capture of its own
            resolved = self.facts.resolve(value)
            if resolved is not None and (_is_warp_type(resolved) or resolved in _BUILTIN_TYPES):
                return None
            if self._constant_of_module(value.id):
                return None
            return f"which is computed from `{value.id}`"
        if isinstance(value, ast.Attribute):
            resolved = self.facts.resolve(value)
            if resolved is not None and (
                _is_warp_type(resolved) or _MATH.match(resolved) or _WARP_FUNCTION.match(resolved)
            ):
                return None
            return f"which is computed from `{ast.unparse(value)}`"
        if isinstance(value, ast.Call):
            resolved = self.facts.resolve(value.func)
            known = resolved is not None and (
                resolved == "warp.constant" or resolved in _TYPE_MAKERS or _is_warp_type(resolved)
            )
            if known:
                parts = [*value.args, *(keyword.value for keyword in value.keywords)]
                return next((problem for item in parts if (problem := self._not_constant(item))), None)
            return f"which comes from a call of `{ast.unparse(value.func)}`"
        return "which is computed at every call"

    def _constant_of_module(self, name: str) -> bool:
        """Whether a name of module scope is bound once, to a value made of literals and Warp's names alone."""
        bindings = self.file.bindings.get(name, [])
        value = assigned_value(bindings[0], name) if len(bindings) == 1 else None
        if value is None or name in self.file.global_writes or self._mutable(self.facts, value):
            return False
        plain = all(
            isinstance(binding, (ast.Import, ast.ImportFrom))
            for inner in ast.walk(value)
            if isinstance(inner, ast.Name)
            for binding in self.file.bindings.get(inner.id, ())
        )
        return plain and self._not_constant(value) is None

    def _scope_of(self, node: ast.AST) -> Scope:
        enclosing = self.facts.enclosing(node)
        return self.scopes.by_node[enclosing[-1]] if enclosing else self.scopes.module

    # ---- what must hold of a definition that moves

    def _check_place(self, item: Item) -> None:
        node = item.node
        parent = self.source.parents[node]
        what = f"`{item.name}`"
        if isinstance(parent, ast.ClassDef):
            raise Declined(f"{what} is defined in a class body")
        if not isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            word = {ast.If: "an `if`", ast.With: "a `with`", ast.Try: "a `try`", ast.AsyncWith: "a `with`"}.get(
                type(parent), "a loop" if isinstance(parent, (ast.For, ast.While, ast.AsyncFor)) else "a block"
            )
            raise Declined(f"{what} is defined inside {word} of `{self._function_name(item)}`")
        chain = self.facts.chain(node)
        for outer in chain:
            if isinstance(outer, ast.Lambda):
                raise Declined(f"{what} is defined inside a lambda")
        # Blocks around the outermost function: a guard is kept, others are not left.
        outermost = self._outermost(node)
        for outer in self.facts.chain(outermost):
            if not isinstance(outer, ast.If):
                raise Declined(f"`{getattr(outermost, 'name', '')}` itself stands in a block at module scope")
        for outer in chain:
            scope = self.scopes.by_node.get(outer)
            if scope is not None and scope.kind == "function":
                reader = self.scopes.reads_scopes(scope)
                if reader is not None:
                    called = getattr(reader, "id", "eval")
                    raise Declined(f"`{scope.name}` calls `{called}`, which sees the function's local names")
                if self._looks_at_source(scope):
                    raise Declined(f"`{scope.name}` uses `inspect` or `linecache`, so its code looks at its own text")
        if any(isinstance(outer, ast.ClassDef) for outer in chain):
            for inner in ast.walk(node):
                name = getattr(inner, "id", None) or getattr(inner, "attr", None) or getattr(inner, "arg", None)
                if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                    raise Declined(f"it uses the private name `{name}` of a class")
        self._check_guards(item)
        references = self.scopes.references(item.scope, item.name)
        if item.name in item.scope.global_names:
            raise Declined(f"`{item.scope.name}` declares {what} `global`")
        if any(isinstance(getattr(o.node, "ctx", None), ast.Del) for o in references):
            raise Declined(f"`{item.scope.name}` deletes {what}")
        if sum(o.store for o in references) != 1:
            raise Declined(f"`{item.scope.name}` binds {what} more than once")
        for occurrence in references:
            if isinstance(occurrence.node, (ast.Global, ast.Nonlocal)):
                raise Declined(f"{what} is rebound through `nonlocal`")
            if occurrence.quoted:
                raise Declined(f"{what} is named in a string annotation")

    def _check_guards(self, item: Item) -> None:
        """What stands before the definition may keep it from ever running: a check of the device or the version."""
        node: ast.AST = item.node
        for outer in self.facts.chain(item.node):
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for statement in outer.body:
                    if statement is node:
                        break
                    if (
                        isinstance(statement, ast.If)
                        and isinstance(statement.body[-1], (ast.Return, ast.Raise))
                        and _GUARD.search(ast.unparse(statement.test))
                    ):
                        raise Declined(
                            f"`{outer.name}` is left before `{item.name}` is defined where line {statement.lineno} "
                            "says so: it may not build everywhere"
                        )
            node = outer
        outermost = self._outermost(item.node)
        assert item.node.end_lineno is not None and outermost.end_lineno is not None
        off: int | None = None
        first = self.source.first_line(item.node)
        for line in range(outermost.lineno, outermost.end_lineno + 1):
            match = _FORMATTER.match(self.source.line(line).rstrip("\r\n"))
            if match is None or first <= line <= item.node.end_lineno:
                continue
            switched_off = bool({"off", "disable"} & set(match.groups()))
            if line > item.node.end_lineno:
                break
            off = line if switched_off else None
        if off is not None:
            raise Declined(f"line {off} switches a formatter off for `{item.name}` and what stands around it")

    def _looks_at_source(self, scope: Scope) -> bool:
        for module in ("inspect", "linecache"):
            for bound in (self.scopes.module, scope):
                for occurrence in self.scopes.references(bound, module):
                    if scope in occurrence.scope.chain():
                        return True
        return False

    def _function_name(self, item: Item) -> str:
        return next(
            (n.name for n in self.facts.chain(item.node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), ""
        )

    def _outermost(self, node: ast.AST) -> ast.stmt:
        """The function or class at module scope (or in a guard there) that holds a node."""
        found: ast.AST = node
        for outer in self.facts.chain(node):
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found = outer
        assert isinstance(found, ast.stmt)
        return found

    def _check_definition(self, item: Item) -> None:
        construct = item.construct
        if construct is None:
            return
        what = f"`{item.name}`"
        node = construct.node
        if construct.via_wrapper is not None:
            raise Declined(
                f"{what} is made by the project's own decorator `{construct.via_wrapper.rpartition('.')[2]}`"
            )
        if construct.decorator is None:
            raise Declined(f"{what} is made by a call, not by a decorator")
        if len(node.decorator_list) != 1:
            raise Unproved(f"{what} has other decorators as well")
        if isinstance(node, ast.AsyncFunctionDef):
            raise Declined(f"{what} is asynchronous")
        choice = construct.module_choice
        if choice is ModuleChoice.UNKNOWN:
            raise Declined(f"the Warp module of {what} can't be read from the source")
        if choice is ModuleChoice.NAMED and not literal_module(construct):
            raise Declined(f"{what} gets its Warp module from an expression: a choice that was made on purpose")
        if construct.kind != "kernel" and choice is not ModuleChoice.DEFAULT:
            raise Declined(f"{what} names a Warp module of its own")
        for name in construct.options:
            if name == "module_options":
                raise Declined(f"{what} has `module_options=`, which only a unique module can carry")
            if name == "name":
                raise Declined(f"{what} has its key from `name=`")
        check_options(construct)
        for call in self._static_calls(node):
            self._check_static(call)
        if isinstance(node, ast.ClassDef) and (node.bases or node.keywords):
            raise Declined(f"{what} is a struct with base classes")
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                self._check_call(inner)

    def _check_call(self, call: ast.Call) -> None:
        if isinstance(call.func, (ast.Name, ast.Attribute)):
            resolved = self.facts.resolve(call.func)
            if resolved is not None and self.index.definition(resolved) is not None and self._native(resolved):
                raise Declined(
                    f"it calls native code (`{ast.unparse(call.func)}`), which may not build on every device"
                )

    def _native(self, canonical: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a project function is native code, or calls it."""
        definition = self.index.definition(canonical)
        if definition is None or canonical in seen or len(seen) > 12:
            return False
        for decorator in definition.node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self.index.resolve(definition.file, target, definition.enclosing) == "warp.func_native":
                return True
        inside = (*definition.enclosing, definition.node)
        for node in ast.walk(definition.node):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
                called = self.index.resolve(definition.file, node.func, inside)
                if called is not None and self._native(called, seen | {canonical}):
                    return True
        return False

    def _static_calls(self, node: ast.AST) -> list[ast.Call]:
        return [
            inner
            for inner in ast.walk(node)
            if isinstance(inner, ast.Call)
            and isinstance(inner.func, (ast.Name, ast.Attribute))
            and self.facts.resolve(inner.func) == "warp.static"
        ]

    def _check_static(self, static: ast.Call) -> None:
        """Warp evaluates ``wp.static`` when the kernel is made: after hoisting, at import."""
        for inner in [node for argument in static.args for node in ast.walk(argument)]:
            if isinstance(inner, ast.Call):
                called = self.facts.resolve(inner.func) if isinstance(inner.func, (ast.Name, ast.Attribute)) else None
                if called is None or not called.startswith(("warp.", "builtins.", "math.")):
                    raise Unproved(f"`wp.static` in it calls `{ast.unparse(inner.func)}`, which would run at import")
                if called in ("builtins.getattr", "builtins.eval", "builtins.open", "builtins.__import__"):
                    raise Unproved(f"`wp.static` in it calls `{ast.unparse(inner.func)}`, which would run at import")
            elif isinstance(inner, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)):
                raise Unproved("`wp.static` in it holds a lambda or a comprehension")

    def _check_globals(self, item: Item) -> None:
        """Every name of module scope that the moved code reads must be there at import, and stay what it is."""
        early = self._early(item)
        for occurrence, bound in item.outside:
            if bound is not None and bound.kind != "module":
                continue
            if occurrence.store:
                raise Unproved(f"its code rebinds `{occurrence.name}`")
            problem = self._global_problem(occurrence, occurrence.node in early)
            if problem is not None:
                raise Unproved(problem)

    def _early(self, item: Item) -> set[ast.AST]:
        if isinstance(item.node, (ast.Assign, ast.AnnAssign)):
            return set(ast.walk(item.node))
        return definition_time(item.node, self._static_calls(item.node))

    def _global_problem(self, occurrence: Occurrence, early: bool) -> str | None:
        name = occurrence.name
        file = self.file
        if name in ("__class__", "__name__", "__file__"):
            return f"it reads `{name}`"
        bindings = file.bindings.get(name, [])
        if not bindings and name not in file.global_writes:
            if file.star_imports:
                resolved = self.index.resolve(file, ast.copy_location(ast.Name(name, ast.Load()), occurrence.node), ())
                if resolved is not None and not resolved.startswith("builtins."):
                    return None
                return None if is_builtin(name) else f"it reads `{name}`, which comes from a star import, if at all"
            if is_builtin(name) or name in _WARP_BARE:
                return None
            return f"it reads `{name}`, which the file does not define"
        if name in file.global_writes:
            return f"it reads `{name}`, which a function of the file rebinds (`global {name}`)"
        if name in self.facts.named_in_globals:
            return f"it reads `{name}`, which the file reaches through `globals()`"
        if name in self.hoister.written_attributes and self._written_from_outside(name):
            return f"it reads `{name}`, which other code assigns from outside (`….{name} = …`)"
        holder = self._guards(occurrence.node)
        places = [self._binding_block(binding) for binding in bindings]
        if len(bindings) > 1 and self._same_import(name, bindings, places):
            bindings, places = bindings[:1], [[]]
        if len(bindings) > 1 and not self._exclusive(bindings):
            return f"it reads `{name}`, which the file binds more than once"
        for binding, place in zip(bindings, places, strict=True):
            if len(bindings) == 1 and any(guard not in holder for guard in place):
                return (
                    f"it reads `{name}`, which is bound only under a condition (line {getattr(binding, 'lineno', '?')})"
                )
            if isinstance(binding, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.AugAssign, ast.Delete)):
                return f"it reads `{name}`, which is no plain binding"
        return self._value_problem(occurrence, bindings, early)

    def _rebound(self, occurrence: Occurrence) -> str | None:
        """Why a global may be another thing when the kernel is built later or earlier; None if it is not."""
        name = occurrence.name
        if name in self.file.global_writes:
            return f"it reads `{name}`, which a function of the file rebinds (`global {name}`)"
        if name in self.facts.named_in_globals:
            return f"it reads `{name}`, which the file reaches through `globals()`"
        if name in self.hoister.written_attributes and self._written_from_outside(name):
            return f"it reads `{name}`, which other code assigns from outside (`….{name} = …`)"
        bindings = self.file.bindings.get(name, [])
        return self._value_problem(occurrence, bindings, False) if len(bindings) == 1 else None

    def _same_import(self, name: str, bindings: Sequence[ast.AST], places: Sequence[list[ast.AST]]) -> bool:
        """Whether a name is only ever bound by imports of one thing, at least once without a condition."""
        if not all(isinstance(binding, (ast.Import, ast.ImportFrom)) for binding in bindings) or all(places):
            return False
        return self.index.resolve(self.file, ast.Name(name, ast.Load()), ()) is not None

    def _value_problem(self, occurrence: Occurrence, bindings: Sequence[ast.AST], early: bool) -> str | None:
        """What is read of a global (an attribute, an item) must be as constant as the global itself."""
        name = occurrence.name
        chain: list[str] = []
        node: ast.AST = occurrence.node
        while isinstance(parent := self.source.parents.get(node), ast.Attribute) and parent.value is node:
            chain.append(parent.attr)
            node = parent
        indexed = isinstance(parent, ast.Subscript) and parent.value is node
        early = early or self._inside_static(occurrence.node)
        binding = bindings[0]
        value = assigned_value(binding, name)
        if isinstance(binding, (ast.Import, ast.ImportFrom)):
            resolved = self.facts.resolve(node) if isinstance(node, ast.expr) else None
            if resolved is None or resolved.startswith("warp."):
                return None
            for attribute in chain:
                if attribute in self.hoister.written_attributes and self._in_project(resolved):
                    return f"it reads `{'.'.join([name, *chain])}`, and `.{attribute}` is assigned somewhere"
            if chain and (problem := self._foreign_global(resolved, chain)) is not None:
                return problem
            return self._foreign_contents(resolved, ".".join([name, *chain]), early, indexed)
        if isinstance(binding, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if isinstance(binding, ast.ClassDef) and self._is_member(binding, chain):
                return None
            for attribute in chain:
                if attribute in self.hoister.written_attributes:
                    return f"it reads `{name}.{attribute}`, and `.{attribute}` is assigned somewhere in the project"
            return None
        return self._contents_problem(self.facts, name, value, name, chain, early, indexed)

    def _is_member(self, node: ast.ClassDef, chain: Sequence[str]) -> bool:
        """Whether ``Mode.A``, ``Mode.A.value`` or ``Mode.A.name`` of an enumeration: nobody can assign those."""
        if not any((self.facts.resolve(base) or "") in _ENUMS for base in node.bases):
            return False
        members = {
            target.id
            for statement in node.body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        return bool(chain) and chain[0] in members and tuple(chain[1:]) in ((), ("value",), ("name",))

    def _contents_problem(
        self,
        facts: FileFacts,
        name: str,
        value: ast.expr | None,
        shown: str,
        chain: Sequence[str],
        early: bool,
        indexed: bool,
    ) -> str | None:
        """What speaks against reading a value of module scope at another moment than now."""
        if isinstance(value, (ast.Name, ast.Attribute)):
            if (facts.resolve(value) or "").startswith("warp."):
                return None
            for attribute in chain:
                if attribute in self.hoister.written_attributes:
                    return f"it reads `{shown}`, and `.{attribute}` is assigned somewhere in the project"
            return None
        container = isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)) or (
            isinstance(value, ast.Call) and facts.resolve(value.func) in _CONTAINER_TYPES
        )
        mutable = self._mutable(facts, value)
        warps = isinstance(value, ast.Call) and (facts.resolve(value.func) or "").startswith("warp.")
        if (container and (chain or early)) or (mutable and indexed and early and not warps):
            return f"it reads the contents of `{shown}`, which can change"
        if mutable and self.hoister.changes_contents(name):
            return f"it reads `{shown}`, which some code seems to change in place"
        if chain and not warps:
            return f"it reads an attribute of the object `{name}`, which can change"
        return None

    def _foreign_contents(self, resolved: str, shown: str, early: bool, indexed: bool) -> str | None:
        """The same of a value that another module of the project holds."""
        prefix = resolved.rpartition(".")[0]
        while prefix and (other := self.index.module_file(prefix)) is None:
            prefix = prefix.rpartition(".")[0]
        if not prefix or other is None:
            return None
        name, *attributes = resolved[len(prefix) + 1 :].split(".")
        found = other.bindings.get(name, [])
        if not found or not isinstance(found[0], (ast.Assign, ast.AnnAssign, ast.Name)):
            return None
        value = assigned_value(found[0], name)
        return self._contents_problem(self.hoister.facts(other), name, value, shown, attributes, early, indexed)

    def _foreign_global(self, resolved: str, chain: Sequence[str]) -> str | None:
        """A global of another project module, read through that module."""
        prefix, _, last = resolved.rpartition(".")
        other = self.index.module_file(prefix)
        if other is None:
            return None
        if last in other.global_writes:
            return f"it reads `{resolved}`, which a function of that module rebinds"
        if len(other.bindings.get(last, [])) > 1:
            return f"it reads `{resolved}`, which that module binds more than once"
        return None

    def _in_project(self, resolved: str) -> bool:
        prefix = resolved
        while prefix:
            if prefix in self.index.by_module:
                return True
            prefix = prefix.rpartition(".")[0]
        return False

    def _written_from_outside(self, name: str) -> bool:
        """Whether some file may write this file's global ``name`` through the module object."""
        pattern = re.compile(
            rf"\.{re.escape(name)}\s*(?:[-+*/|&^%@]|//|\*\*|<<|>>)?=(?!=)|setattr\([^)]*['\"]{re.escape(name)}['\"]"
        )
        for path in self.index.project.files:
            if path != self.file.path and self.file.path not in self.index.imported_files(path):
                continue
            other = self.index.file(path)
            if other is None or not pattern.search(other.text):
                continue
            for node in ast.walk(other.tree):
                target = node if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None
                if target is not None and target.attr == name:
                    facts = self.hoister.facts(other)
                    owner = self.index.resolve(other, target.value, facts.enclosing(target))
                    # ``self.name = ``, ``thing.name = ``: an object, unless it may be the module.
                    if self._may_be_module(other, target.value) if owner is None else self._is_self(owner):
                        return True
                if isinstance(node, ast.Call) and "setattr" in ast.unparse(node.func) and name in ast.unparse(node):
                    return True
        return False

    def _is_self(self, canonical: str) -> bool:
        return self.index.module_file(canonical) is self.file

    def _may_be_module(self, other: FileIndex, expr: ast.expr) -> bool:
        """Whether an unresolved owner of an attribute write may be a module: not ``self``, not a plain local."""
        if isinstance(expr, ast.Subscript):
            return "modules" in ast.unparse(expr)
        if isinstance(expr, ast.Name):
            return expr.id in other.bindings and any(
                isinstance(binding, (ast.Import, ast.ImportFrom)) for binding in other.bindings[expr.id]
            )
        return False

    def _inside_static(self, node: ast.AST) -> bool:
        for outer in self.facts.chain(node):
            if (
                isinstance(outer, ast.Call)
                and isinstance(outer.func, (ast.Name, ast.Attribute))
                and self.facts.resolve(outer.func) == "warp.static"
            ):
                return True
        return False

    def _guards(self, node: ast.AST) -> list[ast.AST]:
        """``if`` blocks at module scope around a node."""
        outermost = self._outermost(node)
        return [outer for outer in self.facts.chain(outermost) if isinstance(outer, ast.If)]

    def _binding_block(self, binding: ast.AST) -> list[ast.AST]:
        return [
            outer
            for outer in self.facts.chain(binding)
            if isinstance(outer, (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.Match))
        ]

    def _exclusive(self, bindings: Sequence[ast.AST]) -> bool:
        """Whether several bindings are the branches of one ``if``/``else`` at module scope, one in each."""
        tops = {self.facts.chain(binding)[-1] if self.facts.chain(binding) else binding for binding in bindings}
        if len(tops) != 1:
            return False
        (top,) = tops
        return isinstance(top, ast.If) and _one_in_each_branch(top, set(bindings))

    # ---- how the kernel is used

    def _uses(self, item: Item, construct: Construct) -> None:
        """Uses of the kernel object that see its identity, or expect it to fail."""
        if item.construct is not None and self.file.path in self.hoister.interface_files and not self.hoister.keep_keys:
            raise Declined("the project builds this module ahead of time, so that the kernel's key is an interface")
        if self.facts.looks_at_itself is not None:
            raise Declined(f"the file looks through its own names with `{self.facts.looks_at_itself}()`")
        if self.hoister.kernel_lister is not None:
            raise Declined(f"{self.hoister.kernel_lister} looks through modules for their kernels")
        outermost = self._outermost(item.node)
        functions = [n for n in self.facts.chain(item.node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for function in functions:
            for decorator in function.decorator_list:
                if _RAISES.search(ast.unparse(decorator)) or "xfail" in ast.unparse(decorator):
                    raise Declined(f"`{function.name}` is expected to fail")
        write = self._option_write(functions)
        if write is not None:
            raise Declined(f"`{functions[0].name}` changes Warp's options (line {write.node.lineno}) around the kernel")
        for moved in _with_needs(item):
            for occurrence in self.scopes.references(moved.scope, moved.name):
                self._use(moved, occurrence, moved is item)
        self._callers(functions[-1], outermost)

    def _option_write(self, functions: Sequence[ast.AST]) -> OptionSet | None:
        for write in self.file.option_sets:
            harmless = write.via == "config" and not write.dynamic and set(write.options) <= HARMLESS_CONFIG
            if not harmless and any(function in write.enclosing for function in functions):
                return write
        return None

    def _use(self, item: Item, occurrence: Occurrence, is_kernel: bool) -> None:
        node = occurrence.node
        if node is item.node or occurrence.store:
            return
        if any(inner is item.node for inner in self.facts.chain(node)):
            return
        parent = self.source.parents.get(node)
        what = f"`{item.name}`"
        if is_kernel and isinstance(parent, ast.Attribute):
            raise Declined(f"the function reads {what[:-1]}.{parent.attr}`, so it looks at this very kernel object")
        chain = self.facts.chain(node)
        for outer in chain:
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and node in {
                inner for decorator in outer.decorator_list for inner in ast.walk(decorator)
            }:
                raise Declined(f"{what} is an argument of the decorator of `{outer.name}`")
            if isinstance(outer, ast.Call):
                called = self.facts.resolve(outer.func) if isinstance(outer.func, (ast.Name, ast.Attribute)) else None
                if called == "warp.overload":
                    raise Declined(f"`wp.overload` is called for {what} in the function")
                if called in ("builtins.id", "builtins.setattr", "builtins.getattr", "builtins.vars", "builtins.type"):
                    raise Declined(f"`{ast.unparse(outer.func)}` looks at the object {what}")
                if _RAISES.search(last_part(outer.func)):
                    raise Declined(f"{what} is expected to fail (line {outer.lineno})")
            if isinstance(outer, ast.Try) and is_kernel and any(contains_node(s, node) for s in outer.body):
                raise Declined(f"{what} is used inside a `try`, so it may fail on purpose")
            if isinstance(outer, (ast.With, ast.AsyncWith)) and is_kernel:
                for with_item in outer.items:
                    if _RAISES.search(ast.unparse(with_item.context_expr)):
                        raise Declined(f"{what} is used where a failure is expected (line {outer.lineno})")
            if isinstance(outer, ast.Compare) and is_kernel and parent is outer:
                raise Declined(f"{what} is compared with another object")
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and is_kernel:
                if self.scopes.by_node.get(outer) is item.scope or item.scope.kind == "module":
                    break
                if self.hoister.expects_failure(item.scope.node):
                    raise Declined(f"`{item.scope.name}` expects a failure of something, perhaps of {what}")
        if not is_kernel:
            return
        launched = (
            isinstance(parent, ast.Call)
            and parent.args[:1] == [node]
            and isinstance(parent.func, (ast.Name, ast.Attribute))
            and self.facts.resolve(parent.func) in LAUNCHES
        )
        if launched:
            return
        # Under another name it may end anywhere: in a list that a loop launches, in a helper, in the caller.
        for outer in chain:
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.hoister.expects_failure(outer):
                raise Declined(f"`{outer.name}` expects a failure of something, perhaps of {what}")
        if isinstance(parent, ast.Call) and isinstance(parent.func, (ast.Name, ast.Attribute)):
            called = self.facts.resolve(parent.func)
            helper = self.index.definition(called) if called is not None else None
            if helper is not None and self.hoister.expects_failure(helper.node):
                raise Declined(f"`{helper.node.name}` expects a failure of something, perhaps of {what}")
            if helper is not None and (attribute := _identity_read(helper.node)) is not None:
                raise Declined(f"`{helper.node.name}` reads `.{attribute}` of something, perhaps of {what}")
        for outer in chain:
            named = isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
            if named and (attribute := _identity_read(outer)) is not None:
                raise Declined(f"`{getattr(outer, 'name', '')}` reads `.{attribute}` of something, perhaps of {what}")
        self.escaping.add(item.key)

    def _callers(self, outer: ast.AST, outermost: ast.stmt) -> None:
        """Callers that expect the factory, or its kernel's first launch, to fail."""
        if outermost is not outer or not isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        for file, call in self.hoister.calls_by_name.get(outer.name, ()):
            for node in call.enclosing:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.hoister.expects_failure(node):
                    where = _where(file, call.node)
                    raise Declined(f"a caller of `{outer.name}` expects a failure of something ({where})")

    def _drop_beside_failures(self, verdicts: Sequence[Verdict], closures: Sequence[Construct]) -> None:
        """Decline kernels that share their module with one that may fail to build on purpose.

        A failed build is on record until the module is modified, and every launch in the module fails with it. A kernel
        that is defined in its function clears the record; one at module scope would not.
        """
        moving = {id(verdict.construct) for verdict in verdicts}
        failing = [one for one in closures if id(one) not in moving and self._may_fail(one)]
        for verdict in verdicts:
            assert verdict.landing is not None
            for one in failing:
                if not verdict.landing.shared and self._may_be_in(one, verdict.landing.module):
                    verdict.declined = (
                        f"`{one.name}` (line {one.node.lineno}) is in the same Warp module and may fail to build on "
                        "purpose, which would then fail this kernel's launch too"
                    )
                    break

    def _may_be_in(self, construct: Construct, module: str) -> bool:
        if construct.module_choice is ModuleChoice.UNIQUE:
            return False
        if construct.module_choice is ModuleChoice.PARAMETER and construct.module_default == "unique":
            return False
        if construct.module_choice is ModuleChoice.NAMED and construct.module_name is not None:
            return construct.module_name == module
        return True

    def _may_fail(self, construct: Construct) -> bool:
        functions = [node for node in construct.enclosing if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        if any(self.hoister.expects_failure(function) for function in functions):
            return True
        return any(
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.hoister.expects_failure(node)
            for function in functions
            for _, call in self.hoister.calls_by_name.get(function.name, ())
            for node in call.enclosing
        )

    # ---- the Warp module it lands in

    def _landing(self, construct: Construct) -> Landing:
        choice = construct.module_choice
        default = own_module(self.file)
        if choice is ModuleChoice.DEFAULT:
            keyword = isinstance(construct.decorator, ast.Call) and any(
                keyword.arg == "module" and not isinstance(keyword.value, ast.Constant)
                for keyword in construct.decorator.keywords
            )
            if keyword:
                raise Declined(f"`{construct.name}` gets its Warp module from an expression")
            return Landing(None, default)
        if choice is ModuleChoice.NAMED:
            return Landing(None, construct.module_name or "")
        if choice is ModuleChoice.PARAMETER:
            self._check_parameter(construct)
            if self._parameter_default(construct) is None:
                return Landing(ModuleArgument(None), default)
        return shared_landing(self.hoister, self.file, construct)

    def _parameter_default(self, construct: Construct) -> str | None:
        function = self._parameter_function(construct)
        assert construct.module_parameter is not None
        default = parameter_default(function, construct.module_parameter)
        if isinstance(default, ast.Constant) and (default.value is None or default.value == "unique"):
            return None if default.value is None else "unique"
        raise Declined(f"the Warp module of `{construct.name}` is what the caller of `{function.name}` says")

    def _parameter_function(self, construct: Construct) -> ast.FunctionDef | ast.AsyncFunctionDef:
        assert construct.module_parameter is not None
        for node in self.facts.chain(construct.node):
            scope = self.scopes.by_node.get(node)
            if scope is None or construct.module_parameter not in scope.bindings:
                continue
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return node
        raise Declined(f"the Warp module of `{construct.name}` comes from a parameter that was not found")

    def _check_parameter(self, construct: Construct) -> None:
        function = self._parameter_function(construct)
        name = construct.module_parameter or ""
        if function is not self.source.parents[construct.node]:
            raise Declined(f"`{construct.name}` gets its Warp module from a function further out")
        scope = self.scopes.by_node[function]
        if sum(o.store for o in self.scopes.references(scope, name)) != 1:
            raise Declined(f"`{function.name}` assigns its parameter `{name}`")
        self._parameter_default(construct)
        last = function.body[-1]
        uses = [
            o for o in self.scopes.references(scope, construct.name) if not o.store and o.node is not construct.node
        ]
        returned = isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id == construct.name
        if not returned or len(uses) != 1:
            raise Declined(
                f"`{function.name}` does more with `{construct.name}` than return it, and callers may choose the module"
            )
        sites = []
        if not any(
            isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for n in self.facts.chain(function)
        ):
            sites = self.index.call_sites(f"{self.index.prefix(self.file)}.{function.name}")
        if sites and all(_passes(function, site.node, name) for site in sites):
            raise AsItShouldBe(f"every known caller of `{function.name}` names the Warp module itself")

    # ---- place

    def _drop_unplaceable(self, verdicts: Sequence[Verdict], roots: dict[int, Item]) -> None:
        self.places: dict[ast.stmt, tuple[int, bool]] = {}
        by_holder: dict[ast.stmt, list[Verdict]] = {}
        for verdict in verdicts:
            by_holder.setdefault(self._outermost(roots[id(verdict)].node), []).append(verdict)
        for holder, group in by_holder.items():
            block = self._block(holder)
            after: ast.stmt = holder
            moved_after = False
            for verdict in group:
                try:
                    needed = self._last_needed(roots[id(verdict)], holder, block)
                    if needed is not None:
                        self._check_between(holder, needed, block)
                except Declined as reason:
                    verdict.declined = str(reason)
                    continue
                if needed is not None and (not moved_after or block.index(needed) > block.index(after)):
                    after, moved_after = needed, True
            self.places[holder] = (self.source.first_line(after), moved_after)

    def _block(self, statement: ast.stmt) -> list[ast.stmt]:
        parent = self.source.parents[statement]
        for name in ("body", "orelse"):
            block: list[ast.stmt] = getattr(parent, name, [])
            if statement in block:
                return block
        raise Declined("its place at module scope was not found")

    def _last_needed(self, item: Item, holder: ast.stmt, block: list[ast.stmt]) -> ast.stmt | None:
        """The last statement below the holder (or itself) that binds what the moved code needs when it is defined."""
        last: ast.stmt | None = None
        for moved in _with_needs(item):
            early = self._early(moved)
            for occurrence, bound in moved.outside:
                if (bound is not None and bound.kind != "module") or occurrence.node not in early:
                    continue
                for binding in self.file.bindings.get(occurrence.name, ()):
                    top: ast.AST = binding
                    for outer in self.facts.chain(binding):
                        if top in block:
                            break
                        top = outer
                    if top not in block:
                        guards = self.facts.chain(holder)
                        if guards and getattr(binding, "lineno", 0) > guards[-1].lineno:  # type: ignore[attr-defined]
                            raise Declined(f"it needs `{occurrence.name}`, which is bound below the guard")
                        continue
                    assert isinstance(top, ast.stmt)
                    if block.index(top) >= block.index(holder) and (
                        last is None or block.index(top) > block.index(last)
                    ):
                        last = top
        return last

    def _check_between(self, holder: ast.stmt, needed: ast.stmt, block: list[ast.stmt]) -> None:
        """Nothing between the holder and the place may call what is not there yet."""
        for statement in block[block.index(holder) + 1 : block.index(needed) + 1]:
            if isinstance(statement, (ast.Import, ast.ImportFrom)) or self.facts._inert(statement):
                continue
            raise Declined(
                f"it needs what line {statement.lineno} or a later one binds, and code in between may call the function"
            )

    # ---- names

    def _name(self, verdicts: Sequence[Verdict], roots: dict[int, Item]) -> None:
        self.taken: dict[str, tuple[int, str]] = {}
        self.merged: dict[tuple[int, str], Item] = {}
        texts: dict[object, Item] = {}
        moving = {item.key: item for verdict in verdicts for item in _with_needs(roots[id(verdict)])}
        for key in sorted(moving):
            item = moving[key]
            signature = self._signature(item)
            twin = texts.get(signature)
            if twin is not None and self._can_merge(twin, item):
                item.new_name = twin.new_name
                self.merged[key] = twin
                continue
            item.new_name = self._free_name(item)
            self.taken[item.new_name] = key
            if signature is not None:
                texts.setdefault(signature, item)

    def _signature(self, item: Item) -> object:
        """Equal for definitions that are the same to the last comment and mean the same by every name."""
        try:
            extent = self.source.extent(item.node)
        except Declined:
            return None
        text = self.source.text[extent.start : extent.end]
        indent = self.source.indent_of(self.source.first_line(item.node))
        plain = "\n".join(line.removeprefix(indent) for line in text.splitlines())
        choice = (item.construct.module_choice, item.construct.module_name) if item.construct else None
        return (
            item.name,
            plain,
            choice,
            tuple(self._signature(need) for need in sorted(item.needs, key=lambda n: n.key)),
        )

    def _can_merge(self, twin: Item, item: Item) -> bool:
        first, second = self._outermost(twin.node), self._outermost(item.node)
        if self.facts.chain(first) or self.facts.chain(second) or self.places[first][1]:
            return False
        if first is second and isinstance(first, ast.ClassDef):
            return not self._visible_elsewhere(twin.new_name, item)
        return not self._visible_elsewhere(twin.new_name, item)

    def _visible_elsewhere(self, name: str, item: Item) -> bool:
        """Whether a scope between a use of the item and module scope binds the name to something else."""
        for occurrence in self.scopes.references(item.scope, item.name):
            for scope in occurrence.scope.chain():
                if scope.kind == "module":
                    break
                if scope is item.scope and name == item.name:
                    continue
                if name in scope.bindings or name in scope.nonlocal_names or name in scope.global_names:
                    return True
        return False

    def _free_name(self, item: Item) -> str:
        function = next(
            n.name for n in self.facts.chain(item.node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
        )
        underscore = self._exported_by_star()
        for candidate in _candidates(function, item.name):
            name = candidate
            if underscore and not name.startswith("_"):
                name = f"_{name}"
            if self._is_free(name, item):
                return name
        raise AssertionError("unreachable: the candidates do not end")

    def _exported_by_star(self) -> bool:
        if self.facts.exported is not None:
            return False
        if not hasattr(self, "_star"):
            self._star = bool(self.hoister.star_importers(self.file))
        return self._star

    def _is_free(self, name: str, item: Item) -> bool:
        file = self.file
        if name in file.bindings or name in file.global_writes or name in self.taken:
            return False
        if name.startswith("test") or (
            name.startswith("__") and any(isinstance(n, ast.ClassDef) for n in self.facts.chain(item.node))
        ):
            # pytest would take a module-scope ``test_…`` for a test.
            return False
        if self.facts.exported is not None and name in self.facts.exported:
            return False
        if name in self.facts.named_in_globals:
            return False
        if name in self.hoister.asked_names:
            return False  # somebody asks at run time whether the module has it
        if "__getattr__" in file.bindings and (f'"{name}"' in file.text or f"'{name}'" in file.text):
            return False
        if self.scopes.references(None, name) or self.scopes.references(self.scopes.module, name):
            return False
        if name in self.hoister.written_attributes and self._written_from_outside(name):
            return False
        for star in file.star_imports:
            if star == "warp":
                continue
            other = self.index.module_file(star)
            if other is None:
                return name != item.name
            if name in other.bindings or other.star_imports:
                return False
        if self._imported_elsewhere(name):
            return False
        return not self._visible_elsewhere(name, item)

    def _imported_elsewhere(self, name: str) -> bool:
        """Whether this file is a package whose submodule has that name."""
        if os.path.basename(self.file.path) != "__init__.py":
            return False
        folder = os.path.dirname(self.file.path)
        return any(
            os.path.exists(os.path.join(folder, name + ending)) for ending in (".py", os.sep + "__init__.py", ".so")
        )

    # ---- edits

    def _edits(self, verdicts: Sequence[Verdict], roots: dict[int, Item]) -> None:
        edits: dict[tuple[int, str], Hoist] = {}
        for verdict in verdicts:
            for item in _with_needs(roots[id(verdict)]):
                if item.key not in edits:
                    landing = verdict.landing if item is roots[id(verdict)] else None
                    edits[item.key] = self._edit(item, landing)
        for verdict in verdicts:
            root = roots[id(verdict)]
            needed = _with_needs(root)
            twins = [twin for item in needed if (twin := self.merged.get(item.key)) is not None]
            chosen: dict[tuple[int, str], None] = {}
            for item in [*needed, *(inner for twin in twins for inner in _with_needs(twin))]:
                chosen[item.key] = None
            verdict.edits = tuple(edits[key] for key in sorted(chosen) if key in edits)
            construct = verdict.construct
            old = construct.qualname
            edit = edits[root.key]
            verdict.rename = KernelRename(
                self.file.path,
                old,
                root.new_name,
                kernel_key(old),
                edit.key or kernel_key(root.new_name),
            )
            verdict.moved = tuple(item.name for item in needed if item is not root)

    def _edit(self, item: Item, landing: Landing | None) -> Hoist:
        names = []
        if item.new_name != item.name:
            for occurrence in self.scopes.references(item.scope, item.name):
                node = occurrence.node
                if node is item.node and not isinstance(node, (ast.Assign, ast.AnnAssign)):
                    names.append((*self._name_position(item.node), item.new_name))
                else:
                    names.append((node.lineno, node.col_offset, item.new_name))  # type: ignore[attr-defined]
        anchor: int | None = None
        after = False
        if item.key not in self.merged:
            anchor, after = self.places[self._outermost(item.node)]
        construct = item.construct
        if construct is None or construct.kind != "kernel":
            return Hoist(item.node.lineno, item.name, anchor, after, item.new_name, tuple(names))
        key = None
        if self.hoister.keep_keys and self.hoister.warp_min >= (1, 17):
            key = kernel_key(construct.qualname)
        parameter = default = None
        if construct.module_choice is ModuleChoice.PARAMETER:
            parameter = construct.module_parameter
            value = parameter_default(self._parameter_function(construct), parameter or "")
            default = self.source.text[slice(*self.source.span(value))] if value is not None else None
        return Hoist(
            item.node.lineno,
            item.name,
            anchor,
            after,
            item.new_name,
            tuple(names),
            decorator=0,
            module=landing.argument if landing else None,
            key=key,
            parameter=parameter,
            default=default,
        )

    def _name_position(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        line = self.source.line(node.lineno)
        start = len(line.encode()[: node.col_offset].decode())
        match = re.compile(rf"(?:class|def|async\s+def)\s+(?={re.escape(node.name)}\b)").search(line, start)
        if match is None:
            raise Declined(f"the name of `{node.name}` does not stand on the line of its definition")
        return node.lineno, len(line[: match.end()].encode())

    # ---- how much the fix needs

    def _judge(self, verdict: Verdict) -> None:
        landing = verdict.landing
        assert landing is not None
        holder = self._outermost(verdict.construct.node)
        line, after = self.places[holder]
        if after:
            line += 1
        default = landing.module == own_module(self.file)
        creates = self.facts.creation_before(line, None if default else landing.module)
        asks = self.file.role is Role.LIBRARY
        reasons = []
        level = Applicability.SAFE
        if not creates:
            level = Applicability.ASK if asks else Applicability.MEASURED
            reasons.append(
                "hoisting moves the creation of the Warp module, when it copies six options of `wp.config`, to the "
                "import"
            )
        if landing.shared:
            level = level if level is Applicability.ASK else Applicability.MEASURED
            reasons.append("sharing a Warp module pays only where its kernels are built together")
        renamed = verdict.rename is not None and verdict.rename.old_key != verdict.rename.new_key
        root = (verdict.construct.node.lineno, verdict.construct.name)
        if level is Applicability.SAFE and renamed and root in self.escaping and self.facts.reads_keys:
            level = Applicability.MEASURED
            reasons.append("the file reads `.key` of something, and this kernel's key changes")
        if level is Applicability.SAFE:
            late = self.hoister.late_config_writes
            if late:
                file, write = late[0]
                level = Applicability.MEASURED
                reasons.append(
                    f"{os.path.basename(file.path)}:{write.node.lineno} writes `wp.config` in a function, and a new "
                    "kernel makes Warp read it again"
                )
            elif any(
                _TILE.search(self.source.text[slice(*self.source.span(item.node))])
                for item in _with_needs(self.items[(verdict.construct.node.lineno, verdict.construct.name)])
            ):
                level = Applicability.MEASURED
                reasons.append("a kernel with tiles is then also built for the block size of the other kernels")
        verdict.applicability = level
        verdict.unproved = "; ".join(reasons)


def _with_needs(item: Item) -> list[Item]:
    """An item and everything that it needs, each once, in source order."""
    found: dict[tuple[int, str], Item] = {}
    todo = [item]
    while todo:
        current = todo.pop()
        if current.key not in found:
            found[current.key] = current
            todo += current.needs
    return [found[key] for key in sorted(found)]


def _candidates(function: str, name: str) -> Iterator[str]:
    yield name
    short = re.sub(r"^(test_|_+)+", "", function) or function
    own = re.sub(r"^(test_)+", "", name.strip("_")) or name
    base = f"{short}_{own}" if own != short else f"{own}_kernel"
    if base.startswith("test"):
        base = f"kernel_{base}"
    yield base
    number = 2
    while True:
        yield f"{base}_{number}"
        number += 1


def _identity_read(function: ast.AST) -> str | None:
    """The attribute by which a function tells one kernel from another, if it reads one of anything."""
    return next(
        (
            node.attr
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and node.attr in _IDENTITY and isinstance(node.ctx, ast.Load)
        ),
        None,
    )


def _worse(first: Declined | None, second: Declined) -> Declined:
    """The reason to give of two: the first one, unless only the other says that the kernel may not be the same."""
    if first is None or (isinstance(second, Unproved) and not isinstance(first, Unproved)):
        return second
    return first


def _one_in_each_branch(node: ast.If, bindings: set[ast.AST]) -> bool:
    if not node.orelse:
        return False
    for branch in (node.body, node.orelse):
        direct = [statement for statement in branch if statement in bindings]
        if len(direct) == 1:
            continue
        nested = [s for s in branch if isinstance(s, ast.If) and _one_in_each_branch(s, bindings)]
        if direct or len(nested) != 1:
            return False
    return True


def _passes(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, name: str) -> bool:
    """Whether a call gives the parameter a value of its own."""
    if any(keyword.arg == name for keyword in call.keywords):
        return True
    positional = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
    return name in positional and len(call.args) > positional.index(name)


def _where(file: FileIndex, node: ast.AST) -> str:
    return f"{os.path.basename(file.path)}:{getattr(node, 'lineno', '?')}"


_SCALAR = re.compile(r"^warp\.(?:types\.)?(?:u?int(?:8|16|32|64)|bfloat16|float(?:16|32|64)|bool)$")
_BUILTIN_TYPES = frozenset({"builtins.int", "builtins.float", "builtins.bool"})
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.IntFlag", "enum.Flag"})
_TYPE_MAKERS = frozenset(
    {
        "warp.types.vector",
        "warp.types.matrix",
        "warp.types.quaternion",
        "warp.types.transformation",
        "warp._src.types.vector",
        "warp._src.types.matrix",
    }
)
_WARP_TYPE = re.compile(
    r"^warp\.(?:types\.)?(?:(?:vec|mat|quat|transform|spatial_vector|spatial_matrix)\w*|u?int(?:8|16|32|64)|"
    r"bfloat16|float(?:16|32|64)|bool|vector|matrix)$"
)
_WARP_FUNCTION = re.compile(r"^warp\.(?!config$)[a-z]\w*$")
# Names that Warp's kernels know without any import.
_WARP_BARE: frozenset[str] = frozenset()


def _is_warp_type(resolved: str) -> bool:
    return _WARP_TYPE.match(resolved) is not None
