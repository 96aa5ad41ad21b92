"""WF602 block-dims: one Warp module launched with several block dims, and built once for each."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from warpfix.codemods._arguments import ModuleArgument
from warpfix.codemods.drop_unique import DropUnique
from warpfix.findings import Applicability, Finding, Fix, KernelRename
from warpfix.hoisting import hoister_for, kernel_key
from warpfix.hoisting.facts import functions_around
from warpfix.hoisting.landing import stable_prefix
from warpfix.hoisting.model import SNAPSHOT_OPTIONS
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import call_argument, own_module, value_of
from warpfix.index.model import Construct, FileIndex, Launch, ModuleChoice, Role
from warpfix.measure.profile import Profile
from warpfix.rules import Context, Rule, locate
from warpfix.rules._flow import flow_of
from warpfix.rules._places import joined, literal_int, under_condition

_DEFAULT = 256


@dataclass(frozen=True)
class _Use:
    file: FileIndex
    launch: Launch
    kernel: str
    on_cpu: bool


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the modules whose odd launch stands in this file."""
    found: dict[str, list[Finding]] | None = context.cache.get("block dims")
    if found is None:
        found = context.cache["block dims"] = {}
        for finding in _modules(index, context):
            found.setdefault(finding.path, []).append(finding)
    return found.get(file.path, ())


def _modules(index: ProjectIndex, context: Context) -> Iterable[Finding]:
    flow = flow_of(index, context)
    blocks_on_cpu = any(
        item.via == "config" and "enable_cpu_blocks" in item.options
        for file in index.files.values()
        for item in file.option_sets
    )
    uses: dict[str, dict[int, list[_Use]]] = {}
    unread: set[str] = set()
    for file in index.files.values():
        if file.role in (Role.TEST, Role.VENDORED):
            continue
        for launch in file.launches:
            if launch.via not in ("launch", "launch_tiled") or under_condition(launch.enclosing):
                continue  # of exclusive branches only one may ever run
            key = flow.module_of_kernel(launch.kernel_target)
            if key is None or key.startswith("unique:") or launch.kernel_target is None:
                continue
            given = _keyword(launch.node, "block_dim")
            if given is None and _has_star(launch.node):
                continue
            if given is None and launch.via == "launch_tiled":
                continue
            dim = _DEFAULT if given is None else literal_int(index, file, given, launch.enclosing)
            if dim is None:
                unread.add(key)
                continue
            on_cpu = _is_cpu(index, file, launch) and not blocks_on_cpu
            uses.setdefault(key, {}).setdefault(dim, []).append(_Use(file, launch, launch.kernel_target, on_cpu))
    for key, by_dim in sorted(uses.items()):
        live = {dim: [use for use in found if not use.on_cpu] for dim, found in by_dim.items()}
        live = {dim: found for dim, found in live.items() if found}
        if len(live) > 1:
            finding = _finding(index, key, live, key in unread, len(flow.kernels_of(key)))
            owner = index.module_file(key)
            if context.profile is not None and owner is not None:
                finding = _with_fix(finding, index, context, owner, context.profile)
            yield finding


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _has_star(call: ast.Call) -> bool:
    return any(keyword.arg is None for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args)


def _is_cpu(index: ProjectIndex, file: FileIndex, launch: Launch) -> bool:
    device = call_argument(launch.node, 6, "device")
    value = None if device is None else value_of(index, file, device, launch.enclosing)
    return isinstance(value, ast.Constant) and value.value == "cpu"


def _finding(index: ProjectIndex, key: str, live: Mapping[int, list[_Use]], unread: bool, kernels: int) -> Finding:
    common = max(live, key=lambda dim: (len(live[dim]), dim == _DEFAULT))
    odd = min((dim for dim in live if dim != common), key=lambda dim: (len(live[dim]), dim))
    use = min(live[odd], key=lambda item: (item.file.path, item.launch.node.lineno))
    owner = index.module_file(key)
    module = key if owner is None else own_module(owner)
    by_kernel: dict[str, set[int]] = {}
    for dim, found in live.items():
        for item in found:
            by_kernel.setdefault(item.kernel, set()).add(dim)
    apart = all(len(dims) == 1 for dims in by_kernel.values()) and not unread
    names = sorted(name.rpartition(".")[2] for name, dims in by_kernel.items() if dims == {odd})
    if apart:
        advice = (
            f"give the kernels for block_dim {odd} ({', '.join(f'`{name}`' for name in names[:4])}"
            f"{', ...' if len(names) > 4 else ''}) a module of their own, `@wp.kernel(module=...)`"
        )
        reason = (
            "whether it pays depends on the device (on the CPU there is one block dim, and a split costs a build): a "
            "measured run offers the fix"
        )
    else:
        advice = "launch them with one block_dim where speed allows it"
        reason = (
            "some launches take a block_dim that is not in the source"
            if unread
            else "one kernel is launched with several block dims, so that no split by kernel would help"
        )
    dims = joined(sorted(live))
    size = "its kernel" if kernels == 1 else f"all of its {kernels} kernels"
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=use.file.path,
        **locate(use.file, use.launch.node),
        message=(
            f"module `{module}` is launched with block_dim {dims}: on CUDA it is built once for each, with {size} "
            f"(here {odd}, elsewhere mostly {common})"
        ),
        advice=f"{advice}; no fix is offered: {reason}",
        kernel=None,
        declined=reason,
        data={
            "module": module,
            "block_dims": {str(dim): len(found) for dim, found in sorted(live.items())},
            "every_launch_read": not unread,
        },
    )


# ---- the split


class _NoSplit(Exception):
    """Why the module is not split, in words."""


def _with_fix(finding: Finding, index: ProjectIndex, context: Context, owner: FileIndex, profile: Profile) -> Finding:
    """The finding with a split of the module, where the run shows that it is built for several block dims."""
    try:
        fix = _split(index, context, owner, profile)
    except _NoSplit as reason:
        advice = finding.advice.partition("; no fix is offered")[0] + f"; no fix is offered: {reason}"
        return replace(finding, declined=str(reason), advice=advice)
    return replace(finding, fix=fix, declined=None, advice=fix.summary)


def _split(index: ProjectIndex, context: Context, owner: FileIndex, profile: Profile) -> Fix:
    seen = _observed(profile, owner)
    if len(seen.built) < 2:
        raise _NoSplit("in the measured run the module is built for one block dim only, so that a split costs a build")
    kernels = {construct.qualname: construct for construct in owner.constructs if _movable(construct)}
    default = _DEFAULT if seen.cuda else 0
    stable, loose = _by_dim(index, owner, kernels, default)
    for qualname, dims in seen.launched.items():
        found = next((dim for dim, names in stable.items() if qualname in names), None)
        if found is not None and dims - {found or 1}:
            stable[found].remove(qualname)
            loose.add(qualname)
    stable = {dim: names for dim, names in stable.items() if names}
    staying = None if loose & seen.launched.keys() or loose & _launched(index, owner) else _stays(stable, default)
    moving = {dim: names for dim, names in stable.items() if dim != staying}
    if not moving:
        raise _NoSplit("each of its kernels takes a block_dim that is chosen at run time")
    parts = [names for dim, names in stable.items() if dim != staying]
    parts.append([*loose, *(stable[staying] if staying is not None else ())])
    after = sum(len({dim for name in names for dim in seen.launched.get(name, ())}) for names in parts)
    if after > len(seen.built):
        raise _NoSplit(
            f"some kernels take several block dims, so that a split would build {after} modules instead of "
            f"{len(seen.built)}"
        )
    problem = _obstacle(index, context, owner)
    if problem is not None:
        raise _NoSplit(problem)
    hoister = hoister_for(index, context.config)
    taken = {c.module_name for file in index.files.values() for c in file.constructs}
    edits, renames, told = [], [], []
    for dim, names in sorted(moving.items()):
        module = f"{stable_prefix(hoister, owner)}.block{dim or 'default'}"
        if module in taken:
            raise _NoSplit(f"there is a Warp module `{module}` already")
        for name in sorted(names, key=lambda one: kernels[one].node.lineno):
            construct = kernels[name]
            if len(construct.node.decorator_list) != 1:
                raise _NoSplit(f"`{construct.name}` has other decorators as well")
            edits.append(DropUnique(construct.node.lineno, construct.name, ModuleArgument(module)))
            key = kernel_key(construct.qualname)
            renames.append(KernelRename(owner.path, construct.qualname, construct.qualname, key, key))
        told.append(f"`{module}` ({joined(f'`{name}`' for name in sorted(names))})")
    library = owner.role is not Role.APPLICATION
    return Fix(
        applicability=Applicability.ASK if library else Applicability.MEASURED,
        summary=f"give the kernels of one block_dim a Warp module of their own: {joined(told)}",
        edits={owner.path: tuple(edits)},
        renames=tuple(renames),
        proved=(
            "every launch of these kernels has its block_dim in the source, and no module option is set that would "
            "not reach the new modules"
        ),
        unproved=(
            "this is library code: where block dims are all one, as on the CPU, everybody who imports it would build "
            "more modules"
            if library
            else "it pays where block dims are built apart, as on CUDA, and costs builds on the CPU"
        ),
    )


@dataclass
class _Seen:
    """What a run did with the default module of a file."""

    built: set[int]
    """The block dims that it was built for, in the process that built it for the most."""
    launched: dict[str, set[int]]
    """Qualname of a kernel to the block dims of its launches."""
    cuda: bool


def _observed(profile: Profile, owner: FileIndex) -> _Seen:
    here = os.path.realpath(owner.path)
    mine = {c.qualname for c in owner.constructs if c.kind == "kernel" and c.module_choice is ModuleChoice.DEFAULT}
    seen = _Seen(set(), {}, False)
    for run in profile.cold:
        for process in run.processes:
            dims: dict[tuple[str, str], set[int]] = {}
            for load in process.loads:
                names = {k.definition.qualname for k in load.kernels if os.path.realpath(k.definition.path) == here}
                if load.compiled and names & mine:
                    dims.setdefault((load.module, load.target), set()).add(load.block_dim)
                    seen.cuda |= load.target != "cpu"
            seen.built = max([seen.built, *dims.values()], key=len)
            for signature in process.launches.signatures:
                if signature.kernel.qualname in mine and os.path.realpath(signature.kernel.path) == here:
                    seen.launched.setdefault(signature.kernel.qualname, set()).add(signature.block_dim)
    return seen


def _movable(construct: Construct) -> bool:
    return (
        construct.kind == "kernel"
        and construct.module_choice is ModuleChoice.DEFAULT
        and construct.decorator is not None
        and construct.via_wrapper is None
        and not construct.in_function
    )


def _by_dim(
    index: ProjectIndex, owner: FileIndex, kernels: Mapping[str, Construct], default: int
) -> tuple[dict[int, list[str]], set[str]]:
    """Kernels by the one block_dim of all their launches (``default`` where they say none), and all others."""
    sites: dict[str, list[tuple[FileIndex, Launch]]] = {}
    for file in index.files.values():
        for launch in file.launches:
            if launch.kernel_target is not None and launch.via in ("launch", "launch_tiled"):
                sites.setdefault(launch.kernel_target, []).append((file, launch))
    stable: dict[int, list[str]] = {}
    loose: set[str] = set()
    for qualname, construct in kernels.items():
        canonical = index.canonical(owner, construct)
        dims: set[int | None] = set()
        for file, launch in sites.get(canonical, ()):
            given = _keyword(launch.node, "block_dim")
            if given is None:
                dims.add(None if _has_star(launch.node) or launch.via == "launch_tiled" else default)
            else:
                dims.add(literal_int(index, file, given, launch.enclosing))
        named = {launch.kernel for _, launch in sites.get(canonical, ())}
        passed_on = any(
            reference.node not in named and isinstance(reference.node.ctx, ast.Load)
            for reference in index.references(canonical)
        )
        (dim,) = dims if len(dims) == 1 else (None,)
        if dim is None or passed_on:
            loose.add(qualname)
        else:
            stable.setdefault(dim, []).append(qualname)
    return stable, loose


def _launched(index: ProjectIndex, owner: FileIndex) -> set[str]:
    """Qualnames of the kernels of a file that some launch names."""
    wanted = {index.canonical(owner, c): c.qualname for c in owner.constructs if c.kind == "kernel"}
    return {
        wanted[launch.kernel_target]
        for file in index.files.values()
        for launch in file.launches
        if launch.kernel_target in wanted
    }


def _stays(stable: Mapping[int, list[str]], default: int) -> int | None:
    """The block_dim whose kernels stay where they are: that of the most, so that the edit is small."""
    return max(stable, key=lambda dim: (len(stable[dim]), dim == default, -dim), default=None)


def _obstacle(index: ProjectIndex, context: Context, owner: FileIndex) -> str | None:
    """What would make a new module another one than the file's own, in words."""
    hoister = hoister_for(index, context.config)
    if hoister.warp_min < (1, 10):
        return "a named module needs Warp 1.10, and the project works with an older one"
    if hoister.options_reach(owner):
        return "module options are set for the file's own Warp module, and would not reach the new ones"
    if owner.path in hoister.interface_files:
        return "the project builds this module ahead of time, so that its name is an interface"
    if hoister.module_touched is not None:
        return f"{hoister.module_touched} changes options through a kernel's module"
    lines = [c.node.lineno for c in owner.constructs if c.decorator is not None and not c.in_function]
    for write in owner.option_sets:
        between = min(lines) < write.node.lineno < max(lines) and not functions_around(write.enclosing)
        if between and write.via == "config" and (write.dynamic or set(write.options) & SNAPSHOT_OPTIONS):
            return f"line {write.node.lineno} sets `wp.config` between the kernels of this file"
    return None


RULE = Rule(
    code="WF602",
    slug="block-dims",
    summary="One Warp module is launched with several block dims.",
    why=(
        "A module is built for one block_dim at a time. On CUDA (and on the CPU with `enable_cpu_blocks`), launching "
        "one kernel of a module with 64 and another with 256 builds the whole module twice, all kernels each time."
    ),
    bad=(
        "wp.launch(spread, dim=n, inputs=[v])                    # 256, the default\n"
        "wp.launch_tiled(total, dim=[m], inputs=[v], block_dim=64)\n"
    ),
    good=(
        '@wp.kernel(module="tiles64")\n'
        "def total(v: wp.array(dtype=float)):\n"
        "    t = wp.tile_load(v, shape=64)\n"
        "\n\n"
        "wp.launch(spread, dim=n, inputs=[v])\n"
        "wp.launch_tiled(total, dim=[m], inputs=[v], block_dim=64)\n"
    ),
    limits=(
        "Counts launches whose kernel, module and block_dim are in the source, and that stand under no condition. "
        'Silent about unique kernels, launches on `"cpu"` unless `enable_cpu_blocks` is set, and block dims chosen '
        "at run time."
    ),
    fix_safety=(
        "`measured`, from a profile that shows the module built for several block dims (`--target sm_90`, or the CPU "
        "with `enable_cpu_blocks`): kernels whose every launch has one block_dim in the source move into a named "
        "module for it, which needs Warp 1.10. The most stay where they are; kernels with a block_dim chosen at run "
        "time keep the file's own module to themselves. Nothing is split where module options are set for the file. "
        "`ask` in library code, which others may run on the CPU."
    ),
    since="0.1.0",
    check=check,
)
