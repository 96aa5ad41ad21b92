"""Which Warp module a kernel that leaves its unique module lands in, and what may share one."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpfix.codemods import Declined
from warpfix.codemods._arguments import ModuleArgument, set_module
from warpfix.codemods.trees import tree_nodes
from warpfix.hoisting.definitions import check_call, check_options, literal_module
from warpfix.hoisting.dims import fits_own_module, suffix
from warpfix.hoisting.facts import functions_around
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import SNAPSHOT_OPTIONS, AsItShouldBe, Item, Landing, Unproved
from warpfix.hoisting.outer_names import rebound
from warpfix.hoisting.reached import reached_problem
from warpfix.hoisting.uses import check_use
from warpfix.index.constructs import by_partial, own_module, parameter_default
from warpfix.index.model import Construct, FileIndex, ModuleChoice

if TYPE_CHECKING:
    from warpfix.hoisting.project import Hoister


def shared_landing(hoister: Hoister, file: FileIndex, construct: Construct) -> Landing:
    """The shared Warp module that gives a unique kernel the same options as before. Raises Declined: there is none."""
    what = f"`{construct.name}`"
    if construct.generic:
        raise Declined(
            f"{what} is generic: in a shared module every new argument type would rebuild the other kernels too"
        )
    if "module_options" in construct.options:
        raise Declined(f"{what} has `module_options=`, which only a unique module can carry")
    check_options(construct)
    blocks = suffix(hoister, file, construct)
    alike = fits_own_module(hoister, file, construct)
    if alike and not hoister.options_reach(file) and not _churns(hoister, file):
        if construct.decorator is not None:
            set_module(hoister.facts(file).source, construct.decorator, ModuleArgument(None))  # or it is declined here
        return Landing(ModuleArgument(None), own_module(file), shared=True)
    name = f"{stable_prefix(hoister, file)}.stable{blocks}"
    if hoister.warp_min < (1, 10):
        raise Declined(
            "module options that are set for this file would reach it in the file's own Warp module, or other kernels "
            "there have it built again; and a named module needs Warp 1.10"
        )
    return Landing(ModuleArgument(name), name, shared=True)


def module_scope_problem(hoister: Hoister, file: FileIndex, construct: Construct) -> None:
    """Raise Declined if a unique kernel at module scope can't share a module with others."""
    ground = Ground(hoister, file)
    what = f"`{construct.name}`"
    partial = construct.via_wrapper is not None
    if not partial and not literal_module(construct):
        raise Declined(f"{what} gets its Warp module from an expression: a choice that was made on purpose")
    if len(construct.node.decorator_list) != 1:
        raise Declined(f"{what} has other decorators as well")
    if file.path in hoister.interface_files:
        raise Declined("the project builds this module ahead of time, so that the kernel's key is an interface")
    for call in [node for node in tree_nodes(construct.node) if isinstance(node, ast.Call)]:
        check_call(ground, call)
    scope = ground.scope_of(construct.node)
    if len(scope.bindings.get(construct.name, ())) != 1:
        raise Unproved(f"`{construct.name}` is bound more than once")
    item = Item(construct.node, construct.name, scope, construct)
    for occurrence, bound in ground.scopes.outside_names(construct.node):
        if (bound is None or bound.kind == "module") and (problem := rebound(ground, occurrence)) is not None:
            raise Unproved(problem)
    if (problem := reached_problem(ground, construct.node)) is not None:
        raise Unproved(problem)
    if hoister.module_touched is not None:
        raise Declined(f"{hoister.module_touched} changes options through a kernel's module")
    for occurrence in ground.scopes.references(scope, construct.name):
        check_use(ground, item, occurrence, True)
    created = [c.node.lineno for c in file.constructs if c.decorator is not None and not c.in_function]
    for write in file.option_sets:
        between = min(created) < write.node.lineno < max(created) and not functions_around(write.enclosing)
        if between and write.via == "config" and (write.dynamic or set(write.options) & SNAPSHOT_OPTIONS):
            raise Declined(f"line {write.node.lineno} sets `wp.config` between the kernels of this file")
    if partial:
        raise Declined(f"{what} gets its Warp module from a partial call of `wp.kernel`, which others may use as well")


@dataclass(frozen=True)
class UniqueKernel:
    """A kernel at module scope with a Warp module to itself: where it may go, or why it stays."""

    construct: Construct
    landing: Landing | None
    declined: str | None
    same: bool = True
    """Whether it is proved that the kernel is the same whenever it is built."""


def unique_at_module_scope(hoister: Hoister, file: FileIndex) -> list[UniqueKernel]:
    """The kernels of a file that stand at module scope with ``module="unique"``, judged once."""
    known = hoister.unique_kernels.get(file.path)
    if known is None:
        unique = [one for one in _at_module_scope(hoister, file) if one.module_choice is ModuleChoice.UNIQUE]
        known = hoister.unique_kernels[file.path] = [_judged(hoister, file, construct) for construct in unique]
    return known


def alone_in_named_modules(hoister: Hoister, file: FileIndex) -> list[UniqueKernel]:
    """The kernels of a file each of which has a named Warp module to itself, judged once; none if there is only one."""
    known = hoister.lone_kernels.get(file.path)
    if known is None:
        alone = [one for one in _at_module_scope(hoister, file) if _has_module_to_itself(hoister, file, one)]
        judged = [_judged(hoister, file, construct) for construct in alone] if len(alone) > 1 else []
        known = hoister.lone_kernels[file.path] = judged
    return known


def _at_module_scope(hoister: Hoister, file: FileIndex) -> list[Construct]:
    return [
        construct
        for construct in file.constructs
        if construct.kind == "kernel"
        and not construct.in_function
        and construct.decorator is not None
        and (construct.via_wrapper is None or by_partial(hoister.index, construct))
    ]


def _has_module_to_itself(hoister: Hoister, file: FileIndex, construct: Construct) -> bool:
    """Whether a kernel's Warp module is named by a string that stands in its decorator and nowhere else."""
    name = construct.module_name
    if construct.module_choice is not ModuleChoice.NAMED or name is None or not literal_module(construct):
        return False
    return name not in {own_module(other) for other in hoister.index.files.values()} and hoister.said(name) == 1


def _judged(hoister: Hoister, file: FileIndex, construct: Construct) -> UniqueKernel:
    try:
        module_scope_problem(hoister, file, construct)
        return UniqueKernel(construct, shared_landing(hoister, file, construct), None)
    except Declined as reason:
        return UniqueKernel(construct, None, str(reason), not isinstance(reason, Unproved))


def sharers(hoister: Hoister, file: FileIndex) -> dict[str, int]:
    """Warp module to the number of the file's kernels that are in it, if everything moves that can."""
    found: dict[str, int] = {}
    for landing in [
        *(one.landing for one in unique_at_module_scope(hoister, file)),
        *(one.landing for one in alone_in_named_modules(hoister, file)),
        *(verdict.landing for verdict in hoister.verdicts(file) if verdict.edits),
    ]:
        if landing is not None:
            found[landing.module] = found.get(landing.module, 0) + 1
    default = own_module(file)
    found[default] = found.get(default, 0) + sum(
        c.kind == "kernel" and c.module_choice is ModuleChoice.DEFAULT and not c.in_function for c in file.constructs
    )
    return found


def stable_prefix(hoister: Hoister, file: FileIndex) -> str:
    """The dotted name of a file, or the stem of a script."""
    if file.module is not None:
        return file.module
    return os.path.splitext(os.path.basename(file.path))[0]


def _churns(hoister: Hoister, file: FileIndex) -> bool:
    """Whether the file's default module is rebuilt by other kernels: generic or made in functions."""
    return any(
        c.kind == "kernel"
        and c.module_choice in (ModuleChoice.DEFAULT, ModuleChoice.UNKNOWN)
        and (c.generic or c.in_function)
        for c in file.constructs
    )


def landing_of(ground: Ground, construct: Construct) -> Landing:
    """The Warp module of a closure kernel after its move. Raises Declined: it can't be chosen."""
    choice = construct.module_choice
    default = own_module(ground.file)
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
        _check_parameter(ground, construct)
        if _parameter_default(ground, construct) is None:
            return Landing(ModuleArgument(None), default)
    return shared_landing(ground.hoister, ground.file, construct)


def _parameter_default(ground: Ground, construct: Construct) -> str | None:
    function = parameter_function(ground, construct)
    assert construct.module_parameter is not None
    default = parameter_default(function, construct.module_parameter)
    if isinstance(default, ast.Constant) and (default.value is None or default.value == "unique"):
        return None if default.value is None else "unique"
    raise Declined(f"the Warp module of `{construct.name}` is what the caller of `{function.name}` says")


def parameter_function(ground: Ground, construct: Construct) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The function whose parameter chooses the kernel's Warp module. Raises Declined: there is none."""
    assert construct.module_parameter is not None
    for node in ground.facts.chain(construct.node):
        scope = ground.scopes.by_node.get(node)
        if scope is None or construct.module_parameter not in scope.bindings:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return node
    raise Declined(f"the Warp module of `{construct.name}` comes from a parameter that was not found")


def _check_parameter(ground: Ground, construct: Construct) -> None:
    function = parameter_function(ground, construct)
    name = construct.module_parameter or ""
    if function is not ground.source.parents[construct.node]:
        raise Declined(f"`{construct.name}` gets its Warp module from a function further out")
    scope = ground.scopes.by_node[function]
    if sum(o.store for o in ground.scopes.references(scope, name)) != 1:
        raise Declined(f"`{function.name}` assigns its parameter `{name}`")
    _parameter_default(ground, construct)
    last = function.body[-1]
    uses = [o for o in ground.scopes.references(scope, construct.name) if not o.store and o.node is not construct.node]
    returned = isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id == construct.name
    if not returned or len(uses) != 1:
        raise Declined(
            f"`{function.name}` does more with `{construct.name}` than return it, and callers may choose the module"
        )
    sites = []
    if not any(
        isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for n in ground.facts.chain(function)
    ):
        sites = ground.index.call_sites(f"{ground.index.prefix(ground.file)}.{function.name}")
    if sites and all(_passes(function, site.node, name) for site in sites):
        raise AsItShouldBe(f"every known caller of `{function.name}` names the Warp module itself")


def _passes(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, name: str) -> bool:
    """Whether a call gives the parameter a value of its own."""
    if any(keyword.arg == name for keyword in call.keywords):
        return True
    positional = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
    return name in positional and len(call.args) > positional.index(name)
