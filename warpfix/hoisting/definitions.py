"""What must hold of a definition that moves: where it stands, how it is decorated, what it calls."""

from __future__ import annotations

import ast
import re

from warpfix.codemods import Declined
from warpfix.codemods.trees import tree_nodes
from warpfix.hoisting.facts import functions_around
from warpfix.hoisting.follow import is_plain_native
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import Item, Unproved
from warpfix.hoisting.values import asks_warp
from warpfix.index.captures import Scope
from warpfix.index.model import Construct, ModuleChoice

_GUARD = re.compile(
    r"version|hasattr|is_cuda|is_cpu|available|\barch\b|capab|find_spec|platform|HAS_|support|[\"']c(?:pu|uda)\b",
    re.IGNORECASE,
)
_FORMATTER = re.compile(r"^[ \t\f]*#\s*(?:fmt:\s*(off|on)|yapf:\s*(disable|enable)|autopep8:\s*(off|on))\s*$")

# Options of a kernel with which it builds wherever it builds without them.
_PORTABLE_OPTIONS = frozenset(
    {
        "enable_backward",
        "grid_stride",
        "launch_bounds",
        "cuda_max_registers",
        "enable_cuda_smem_spilling",
        "name",
        "module_options",
    }
)


def _may_set_options(ground: Ground, block: ast.With | ast.AsyncWith) -> bool:
    """Whether a ``with`` calls what is not Warp's own, in a project that sets ``wp.config`` in functions."""
    calls = [item.context_expr for item in block.items if isinstance(item.context_expr, ast.Call)]
    if all((ground.facts.resolve(call.func) or "").startswith("warp.") for call in calls):
        return False
    return any(
        write.via == "config" and functions_around(write.enclosing)
        for file in ground.index.files.values()
        for write in file.option_sets
    )


def check_place(ground: Ground, item: Item) -> None:
    """Raise Declined for a definition that stands where it can't be taken out."""
    node = item.node
    parent = ground.source.parents[node]
    what = f"`{item.name}`"
    if isinstance(parent, ast.ClassDef):
        raise Declined(f"{what} is defined in a class body")
    if not isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
        word = {ast.If: "an `if`", ast.With: "a `with`", ast.Try: "a `try`", ast.AsyncWith: "a `with`"}.get(
            type(parent), "a loop" if isinstance(parent, (ast.For, ast.While, ast.AsyncFor)) else "a block"
        )
        reason = f"{what} is defined inside {word} of `{ground.function_name(item)}`"
        if isinstance(parent, (ast.With, ast.AsyncWith)) and _may_set_options(ground, parent):
            raise Unproved(f"{reason}, and what that sets up may reach the kernel")
        raise Declined(reason)
    chain = ground.facts.chain(node)
    for outer in chain:
        if isinstance(outer, ast.Lambda):
            raise Declined(f"{what} is defined inside a lambda")
    # Blocks around the outermost function: a guard is kept, others are not left.
    outermost = ground.outermost(node)
    for outer in ground.facts.chain(outermost):
        if not isinstance(outer, ast.If):
            raise Declined(f"`{getattr(outermost, 'name', '')}` itself stands in a block at module scope")
    for outer in chain:
        scope = ground.scopes.by_node.get(outer)
        if scope is not None and scope.kind == "function":
            reader = ground.scopes.reads_scopes(scope)
            if reader is not None:
                called = getattr(reader, "id", "eval")
                raise Declined(f"`{scope.name}` calls `{called}`, which sees the function's local names")
            if _looks_at_source(ground, scope):
                raise Declined(f"`{scope.name}` uses `inspect` or `linecache`, so its code looks at its own text")
    if any(isinstance(outer, ast.ClassDef) for outer in chain):
        for inner in tree_nodes(node):
            name = getattr(inner, "id", None) or getattr(inner, "attr", None) or getattr(inner, "arg", None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                raise Declined(f"it uses the private name `{name}` of a class")
    _check_guards(ground, item)
    references = ground.scopes.references(item.scope, item.name)
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


def _check_guards(ground: Ground, item: Item) -> None:
    """What stands before the definition may keep it from ever running: a check of the device or the version."""
    node: ast.AST = item.node
    for outer in ground.facts.chain(item.node):
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
    outermost = ground.outermost(item.node)
    assert item.node.end_lineno is not None and outermost.end_lineno is not None
    off: int | None = None
    first = ground.source.first_line(item.node)
    for line in range(outermost.lineno, outermost.end_lineno + 1):
        match = _FORMATTER.match(ground.source.line(line).rstrip("\r\n"))
        if match is None or first <= line <= item.node.end_lineno:
            continue
        switched_off = bool({"off", "disable"} & set(match.groups()))
        if line > item.node.end_lineno:
            break
        off = line if switched_off else None
    if off is not None:
        raise Declined(f"line {off} switches a formatter off for `{item.name}` and what stands around it")


def _looks_at_source(ground: Ground, scope: Scope) -> bool:
    for module in ("inspect", "linecache"):
        for bound in (ground.scopes.module, scope):
            for occurrence in ground.scopes.references(bound, module):
                if scope in occurrence.scope.chain():
                    return True
    return False


def check_definition(ground: Ground, item: Item) -> None:
    """Raise Declined for a definition that says something of itself that would not hold elsewhere."""
    construct = item.construct
    if construct is None:
        return
    what = f"`{item.name}`"
    node = construct.node
    if construct.via_wrapper is not None:
        raise Declined(f"{what} is made by the project's own decorator `{construct.via_wrapper.rpartition('.')[2]}`")
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
    for call in ground.static_calls(node):
        _check_static(ground, call)
    if isinstance(node, ast.ClassDef) and (node.bases or node.keywords):
        raise Declined(f"{what} is a struct with base classes")
    for inner in tree_nodes(node):
        if isinstance(inner, ast.Call):
            check_call(ground, inner)


def check_call(ground: Ground, call: ast.Call) -> None:
    """Raise Declined for a call of native code."""
    if isinstance(call.func, (ast.Name, ast.Attribute)):
        resolved = ground.facts.resolve(call.func)
        if resolved is not None and ground.index.definition(resolved) is not None and _native(ground, resolved):
            raise Declined(f"it calls native code (`{ast.unparse(call.func)}`), which may not build on every device")


def _native(ground: Ground, canonical: str) -> bool:
    """Whether a project function is native code, or calls such a one, however indirectly."""
    known = ground.hoister.native
    if canonical not in known:
        seen = {canonical}
        pending = [canonical]
        found = False
        while pending and not found:
            found, called = _native_or_calls(ground, pending.pop())
            found = found or any(known.get(other) for other in called)
            pending += [other for other in called if other not in seen and other not in known]
            seen.update(called)
        # Where nothing native was reached, that holds of all that was.
        known.update({canonical: True} if found else dict.fromkeys(seen, False))
    return known[canonical]


def _native_or_calls(ground: Ground, canonical: str) -> tuple[bool, tuple[str, ...]]:
    """Whether a function is native code itself; else the canonical names of what it calls."""
    index = ground.index
    definition = index.definition(canonical)
    if definition is None:
        return False, ()
    for decorator in definition.node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if index.resolve(definition.file, target, definition.enclosing) == "warp.func_native":
            return not is_plain_native(Ground(ground.hoister, definition.file), definition.node), ()
    inside = (*definition.enclosing, definition.node)
    called = (
        index.resolve(definition.file, node.func, inside)
        for node in tree_nodes(definition.node)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))
    )
    return False, tuple(dict.fromkeys(name for name in called if name is not None))


def _check_static(ground: Ground, static: ast.Call) -> None:
    """Warp evaluates ``wp.static`` when the kernel is made: after hoisting, at import."""
    for inner in [node for argument in static.args for node in tree_nodes(argument)]:
        if isinstance(inner, ast.Call):
            called = ground.facts.resolve(inner.func) if isinstance(inner.func, (ast.Name, ast.Attribute)) else None
            if called is None or not called.startswith(("warp.", "builtins.", "math.")):
                raise Unproved(f"`wp.static` in it calls `{ast.unparse(inner.func)}`, which would run at import")
            if asks_warp(called) or called in (
                "builtins.getattr",
                "builtins.eval",
                "builtins.open",
                "builtins.__import__",
            ):
                raise Unproved(f"`wp.static` in it calls `{ast.unparse(inner.func)}`, which would run at import")
        elif isinstance(inner, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)):
            raise Unproved("`wp.static` in it holds a lambda or a comprehension")


def check_options(construct: Construct) -> None:
    """Raise Declined for a kernel option with which a kernel may not build on every device, and its module neither."""
    for name in construct.options:
        if construct.kind == "kernel" and name not in _PORTABLE_OPTIONS:
            raise Declined(f"`{construct.name}` has `{name}=`, with which it may not build on every device")


def literal_module(construct: Construct) -> bool:
    """Whether the decorator names the Warp module by a literal."""
    return isinstance(construct.decorator, ast.Call) and any(
        keyword.arg == "module" and isinstance(keyword.value, ast.Constant) for keyword in construct.decorator.keywords
    )
