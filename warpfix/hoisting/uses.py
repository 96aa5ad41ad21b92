"""How a kernel is used: what sees its identity, and what expects it to fail."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence

from warpfix.codemods import Declined
from warpfix.codemods.trees import tree_nodes
from warpfix.hoisting.follow import is_plain_native, registered_for
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.identity import check_told_apart
from warpfix.hoisting.model import Item, Verdict, with_needs
from warpfix.hoisting.project import HARMLESS_CONFIG, contains_node, last_part
from warpfix.index.captures import Occurrence
from warpfix.index.model import Construct, FileIndex, ModuleChoice, OptionSet
from warpfix.index.names import LAUNCHES

_RAISES = re.compile(r"raises|warns|fails|expected|error|assertlogs|subprocess|capture_out", re.IGNORECASE)
# What tells one kernel object from another.
_IDENTITY = frozenset({"key", "module", "adj", "hash"})
# What is another one for a function or struct at module scope.
_NAMES = _IDENTITY | {"native_func", "native_name", "__qualname__", "__code__"}


def check_uses(ground: Ground, item: Item) -> bool:
    """Whether the kernel gets away from its function, under its own name or another.

    Raises:
        Declined: something sees the identity of the kernel object, or expects it to fail.
    """
    if (
        item.construct is not None
        and ground.file.path in ground.hoister.interface_files
        and not ground.hoister.keep_keys
    ):
        raise Declined("the project builds this module ahead of time, so that the kernel's key is an interface")
    if ground.facts.looks_at_itself is not None:
        raise Declined(f"the file looks through its own names with `{ground.facts.looks_at_itself}()`")
    if ground.hoister.kernel_lister is not None:
        raise Declined(f"{ground.hoister.kernel_lister} looks through modules for their kernels")
    outermost = ground.outermost(item.node)
    functions = [n for n in ground.facts.chain(item.node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for function in functions:
        for decorator in function.decorator_list:
            if _RAISES.search(ast.unparse(decorator)) or "xfail" in ast.unparse(decorator):
                raise Declined(f"`{function.name}` is expected to fail")
    write = _option_write(ground, functions)
    if write is not None:
        raise Declined(f"`{functions[0].name}` changes Warp's options (line {write.node.lineno}) around the kernel")
    escapes = False
    for moved in with_needs(item):
        for occurrence in ground.scopes.references(moved.scope, moved.name):
            escapes |= check_use(ground, moved, occurrence, moved is item)
    _callers(ground, functions[-1], outermost)
    return escapes


def _option_write(ground: Ground, functions: Sequence[ast.AST]) -> OptionSet | None:
    for write in ground.file.option_sets:
        harmless = write.via == "config" and not write.dynamic and set(write.options) <= HARMLESS_CONFIG
        if not harmless and any(function in write.enclosing for function in functions):
            return write
    return None


def check_use(ground: Ground, item: Item, occurrence: Occurrence, is_kernel: bool) -> bool:
    """Whether the kernel gets away from its function at this use. Raises Declined for a use that must stay as it is."""
    node = occurrence.node
    if node is item.node or occurrence.store:
        return False
    if any(inner is item.node for inner in ground.facts.chain(node)):
        return False
    parent = ground.source.parents.get(node)
    what = f"`{item.name}`"
    if isinstance(parent, ast.Attribute) and (is_kernel or parent.attr in _NAMES):
        kind = "kernel object" if is_kernel else "definition"
        raise Declined(f"the function reads {what[:-1]}.{parent.attr}`, so it looks at this very {kind}")
    chain = ground.facts.chain(node)
    for outer in chain:
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and node in {
            inner for decorator in outer.decorator_list for inner in tree_nodes(decorator)
        }:
            if not is_kernel and (outer in registered_for(ground, item) or is_plain_native(ground, outer)):
                return False  # moves along, or reads the same at module scope
            raise Declined(f"{what} is an argument of the decorator of `{outer.name}`")
        if isinstance(outer, ast.Call):
            called = ground.facts.resolve(outer.func) if isinstance(outer.func, (ast.Name, ast.Attribute)) else None
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
            if ground.scopes.by_node.get(outer) is item.scope or item.scope.kind == "module":
                break
            if ground.hoister.expects_failure(item.scope.node):
                raise Declined(f"`{item.scope.name}` expects a failure of something, perhaps of {what}")
    if not is_kernel:
        return False
    launched = (
        isinstance(parent, ast.Call)
        and parent.args[:1] == [node]
        and isinstance(parent.func, (ast.Name, ast.Attribute))
        and ground.facts.resolve(parent.func) in LAUNCHES
    )
    if launched:
        return False
    check_told_apart(ground, item, node)
    # Under another name it may end anywhere: in a list that a loop launches, in a helper, in the caller.
    for outer in chain:
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and ground.hoister.expects_failure(outer):
            raise Declined(f"`{outer.name}` expects a failure of something, perhaps of {what}")
    if isinstance(parent, ast.Call) and isinstance(parent.func, (ast.Name, ast.Attribute)):
        called = ground.facts.resolve(parent.func)
        helper = ground.index.definition(called) if called is not None else None
        if helper is not None and ground.hoister.expects_failure(helper.node):
            raise Declined(f"`{helper.node.name}` expects a failure of something, perhaps of {what}")
        if helper is not None and (attribute := _identity_read(helper.node)) is not None:
            raise Declined(f"`{helper.node.name}` reads `.{attribute}` of something, perhaps of {what}")
    for outer in chain:
        named = isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
        if named and (attribute := _identity_read(outer)) is not None:
            raise Declined(f"`{getattr(outer, 'name', '')}` reads `.{attribute}` of something, perhaps of {what}")
    return True


def _callers(ground: Ground, outer: ast.AST, outermost: ast.stmt) -> None:
    """Callers that expect the factory, or its kernel's first launch, to fail."""
    if outermost is not outer or not isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    for file, call in ground.hoister.calls_by_name.get(outer.name, ()):
        for node in call.enclosing:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and ground.hoister.expects_failure(node):
                where = _where(file, call.node)
                raise Declined(f"a caller of `{outer.name}` expects a failure of something ({where})")


def drop_beside_failures(ground: Ground, verdicts: Sequence[Verdict], closures: Sequence[Construct]) -> None:
    """Decline kernels that share their module with one that may fail to build on purpose.

    A failed build is on record until the module is modified, and every launch in the module fails with it. A kernel
    that is defined in its function clears the record; one at module scope would not.
    """
    moving = {id(verdict.construct) for verdict in verdicts}
    failing = [one for one in closures if id(one) not in moving and _may_fail(ground, one)]
    for verdict in verdicts:
        assert verdict.landing is not None
        for one in failing:
            if not verdict.landing.shared and _may_be_in(one, verdict.landing.module):
                verdict.declined = (
                    f"`{one.name}` (line {one.node.lineno}) is in the same Warp module and may fail to build on "
                    "purpose, which would then fail this kernel's launch too"
                )
                break


def _may_be_in(construct: Construct, module: str) -> bool:
    if construct.module_choice is ModuleChoice.UNIQUE:
        return False
    if construct.module_choice is ModuleChoice.PARAMETER and construct.module_default == "unique":
        return False
    if construct.module_choice is ModuleChoice.NAMED and construct.module_name is not None:
        return construct.module_name == module
    return True


def _may_fail(ground: Ground, construct: Construct) -> bool:
    functions = [node for node in construct.enclosing if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if any(ground.hoister.expects_failure(function) for function in functions):
        return True
    return any(
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and ground.hoister.expects_failure(node)
        for function in functions
        for _, call in ground.hoister.calls_by_name.get(function.name, ())
        for node in call.enclosing
    )


def _identity_read(function: ast.AST) -> str | None:
    """The attribute by which a function tells one kernel from another, if it reads one of anything."""
    return next(
        (
            node.attr
            for node in tree_nodes(function)
            if isinstance(node, ast.Attribute) and node.attr in _IDENTITY and isinstance(node.ctx, ast.Load)
        ),
        None,
    )


def _where(file: FileIndex, node: ast.AST) -> str:
    return f"{os.path.basename(file.path)}:{getattr(node, 'lineno', '?')}"
