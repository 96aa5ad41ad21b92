"""Which Warp module a kernel that leaves its unique module lands in, and what may share one."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpfix.codemods import Declined
from warpfix.codemods._arguments import ModuleArgument
from warpfix.hoisting.facts import functions_around
from warpfix.hoisting.model import SNAPSHOT_OPTIONS, Item, Landing, Unproved
from warpfix.index.constructs import own_module
from warpfix.index.model import Construct, FileIndex, ModuleChoice

if TYPE_CHECKING:
    from warpfix.hoisting.project import Hoister


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
    if not hoister.options_reach(file) and not _churns(hoister, file):
        return Landing(ModuleArgument(None), own_module(file), shared=True)
    name = f"{stable_prefix(hoister, file)}.stable"
    if hoister.warp_min < (1, 10):
        raise Declined(
            "module options that are set for this file would reach it in the file's own Warp module, and a named "
            "module needs Warp 1.10"
        )
    return Landing(ModuleArgument(name), name, shared=True)


def check_options(construct: Construct) -> None:
    """Raise Declined for a kernel option with which a kernel may not build on every device, and its module neither."""
    for name in construct.options:
        if construct.kind == "kernel" and name not in _PORTABLE_OPTIONS:
            raise Declined(f"`{construct.name}` has `{name}=`, with which it may not build on every device")


def module_scope_problem(hoister: Hoister, file: FileIndex, construct: Construct) -> None:
    """Raise Declined if a unique kernel at module scope can't share a module with others."""
    from warpfix.hoisting.planner import FilePlanner

    planner = FilePlanner(hoister, file)
    what = f"`{construct.name}`"
    if not literal_module(construct):
        raise Declined(f"{what} gets its Warp module from an expression: a choice that was made on purpose")
    if len(construct.node.decorator_list) != 1:
        raise Declined(f"{what} has other decorators as well")
    if file.path in hoister.interface_files:
        raise Declined("the project builds this module ahead of time, so that the kernel's key is an interface")
    for call in [node for node in ast.walk(construct.node) if isinstance(node, ast.Call)]:
        planner._check_call(call)
    scope = planner._scope_of(construct.node)
    if len(scope.bindings.get(construct.name, ())) != 1:
        raise Unproved(f"`{construct.name}` is bound more than once")
    item = Item(construct.node, construct.name, scope, construct)
    for occurrence, bound in planner.scopes.outside_names(construct.node):
        if (bound is None or bound.kind == "module") and (problem := planner._rebound(occurrence)) is not None:
            raise Unproved(problem)
    if hoister.module_touched is not None:
        raise Declined(f"{hoister.module_touched} changes options through a kernel's module")
    for occurrence in planner.scopes.references(scope, construct.name):
        planner._use(item, occurrence, True)
    created = [c.node.lineno for c in file.constructs if c.decorator is not None and not c.in_function]
    for write in file.option_sets:
        between = min(created) < write.node.lineno < max(created) and not functions_around(write.enclosing)
        if between and write.via == "config" and (write.dynamic or set(write.options) & SNAPSHOT_OPTIONS):
            raise Declined(f"line {write.node.lineno} sets `wp.config` between the kernels of this file")


@dataclass(frozen=True)
class UniqueKernel:
    """A unique kernel at module scope: where it may go, or why it stays."""

    construct: Construct
    landing: Landing | None
    declined: str | None
    same: bool = True
    """Whether it is proved that the kernel is the same whenever it is built."""


def unique_at_module_scope(hoister: Hoister, file: FileIndex) -> list[UniqueKernel]:
    """The kernels of a file that stand at module scope with ``module="unique"``, judged once."""
    known = hoister.unique_kernels.get(file.path)
    if known is None:
        known = hoister.unique_kernels[file.path] = []
        for construct in file.constructs:
            if (
                construct.kind == "kernel"
                and not construct.in_function
                and construct.decorator is not None
                and construct.via_wrapper is None
                and construct.module_choice is ModuleChoice.UNIQUE
            ):
                try:
                    module_scope_problem(hoister, file, construct)
                    known.append(UniqueKernel(construct, shared_landing(hoister, file, construct), None))
                except Declined as reason:
                    same = not isinstance(reason, Unproved)
                    known.append(UniqueKernel(construct, None, str(reason), same))
    return known


def sharers(hoister: Hoister, file: FileIndex) -> dict[str, int]:
    """Warp module to the number of the file's kernels that are in it, if everything moves that can."""
    found: dict[str, int] = {}
    for landing in [
        *(one.landing for one in unique_at_module_scope(hoister, file)),
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


def literal_module(construct: Construct) -> bool:
    return isinstance(construct.decorator, ast.Call) and any(
        keyword.arg == "module" and isinstance(keyword.value, ast.Constant) for keyword in construct.decorator.keywords
    )
