"""WF602 block-dims: one Warp module launched with several block dims, and built once for each."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import call_argument, own_module, value_of
from warpfix.index.model import FileIndex, Launch, Role
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
            yield _finding(index, key, live, key in unread, len(flow.kernels_of(key)))


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
        reason = "whether it pays depends on the device: on the CPU there is one block dim, and a split costs a build"
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
    fix_safety="No fix: a split by block_dim gains on CUDA and loses on the CPU, so that it is judged per target.",
    since="0.1.0",
    check=check,
)
