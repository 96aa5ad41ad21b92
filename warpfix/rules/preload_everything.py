"""WF402 preload-everything: preloading that builds more than the program launches, or breaks."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import call_argument, module_expression, value_of
from warpfix.index.model import FileIndex, Launch
from warpfix.rules import Context, Rule, locate
from warpfix.rules._flow import Flow, flow_of
from warpfix.rules._places import asks_for, joined, literal_int, measures
from warpfix.rules._versions import lowest, words

_SAFE_SINCE = (1, 17)


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the preloading calls of one file."""
    if measures(index, file) or (index.prefix(file).split(".", 1)[0] == "warp" and "_src" in file.path):
        return
    for launch in file.launches:
        if launch.via not in ("force_load", "load_module") or asks_for(launch.enclosing, "version"):
            continue
        call = launch.node
        if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
            continue
        message = advice = None
        kind = ""
        if launch.via == "force_load" and _everything(call_argument(call, 1, "modules")):
            kind = "everything"
            message = (
                "`wp.force_load()` without `modules=` builds every module that was ever imported, Warp's own among "
                "them, launched or not"
            )
            advice = "name the modules that the program launches: `modules=[wp.get_module(__name__), ...]`"
        elif (workers := _parallel_cpu(index, file, launch)) and lowest(context.config) < _SAFE_SINCE:
            kind = "parallel"
            message = (
                f"modules are loaded by {workers} threads on the CPU, which before Warp {words(_SAFE_SINCE)} may lose "
                'a kernel ("Failed to find module"); the project works with '
                f"Warp {words(lowest(context.config))}"
            )
            advice = f"leave `max_workers` out on the CPU, or ask for Warp {words(_SAFE_SINCE)}"
        elif (wrong := _wrong_block_dim(index, file, launch, flow_of(index, context))) is not None:
            kind = "block_dim"
            given, used = wrong
            message = (
                f"the modules are preloaded for block_dim {given}, but launched only with "
                f"{joined(sorted(used))}: on CUDA the preloaded builds are never used"
            )
            advice = f"preload with block_dim={min(used)}" if len(used) == 1 else "preload with the block dims in use"
        if message is None or advice is None:
            continue
        reason = "which modules and block dims a program comes to launch is for a measured run to say"
        yield Finding(
            code=RULE.code,
            rule=RULE.slug,
            path=file.path,
            **locate(file, call),
            message=message,
            advice=advice,
            declined=reason,
            data={"kind": kind},
        )


def _everything(modules: ast.expr | None) -> bool:
    return modules is None or (isinstance(modules, ast.Constant) and modules.value is None)


def _device(index: ProjectIndex, file: FileIndex, launch: Launch) -> str | None:
    position = 0 if launch.via == "force_load" else 1
    device = call_argument(launch.node, position, "device")
    value = None if device is None else value_of(index, file, device, launch.enclosing)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _parallel_cpu(index: ProjectIndex, file: FileIndex, launch: Launch) -> str | None:
    """The number of threads, as written, of a parallel load on the CPU."""
    workers = next((keyword.value for keyword in launch.node.keywords if keyword.arg == "max_workers"), None)
    if workers is None or _device(index, file, launch) != "cpu":
        return None
    number = literal_int(index, file, workers, launch.enclosing)
    if number is not None:
        return str(number) if number > 1 else None
    value = value_of(index, file, workers, launch.enclosing)
    return None if isinstance(value, ast.Constant) else f"`{ast.unparse(workers)}`"


def _wrong_block_dim(index: ProjectIndex, file: FileIndex, launch: Launch, flow: Flow) -> tuple[int, set[int]] | None:
    given = next((keyword.value for keyword in launch.node.keywords if keyword.arg == "block_dim"), None)
    number = literal_int(index, file, given, launch.enclosing) if given is not None else None
    if number is None or _device(index, file, launch) == "cpu":
        return None
    listed = call_argument(
        launch.node, 1 if launch.via == "force_load" else 0, "modules" if launch.via == "force_load" else "module"
    )
    value = value_of(index, file, listed, launch.enclosing) if listed is not None else None
    parts = list(value.elts) if isinstance(value, (ast.List, ast.Tuple)) else [value] if value is not None else []
    keys = set()
    for part in parts:
        name = module_expression(index, file, part, launch.enclosing)
        if name is None:
            return None
        keys.add(flow.key(file, name))
    if not keys:
        return None
    used: set[int] = set()
    for other in index.files.values():
        for one in other.launches:
            if one.via not in ("launch", "launch_tiled"):
                continue
            module = flow.module_of_kernel(one.kernel_target)
            if module is None:
                return None
            if module not in keys:
                continue
            dim = next((keyword.value for keyword in one.node.keywords if keyword.arg == "block_dim"), None)
            size = 256 if dim is None else literal_int(index, other, dim, one.enclosing)
            if size is None or any(keyword.arg is None for keyword in one.node.keywords):
                return None
            used.add(size)
    return (number, used) if used and number not in used else None


RULE = Rule(
    code="WF402",
    slug="preload-everything",
    summary="Preloading builds more modules than the program launches, or builds them for nothing.",
    why=(
        "`wp.force_load()` without `modules=` loads every module that any import has registered: Warp's own and every "
        "library's, whether a kernel of theirs is launched or not. A module preloaded for another block_dim than its "
        "launches use is built twice on CUDA. Before Warp 1.17 a parallel load on the CPU may lose kernels."
    ),
    bad='wp.force_load(device="cpu")\n',
    good='wp.force_load(device="cpu", modules=[wp.get_module(__name__)])\n',
    limits=(
        "Silent in tests and benchmarks, about calls whose arguments come from a star, about parallel loads from Warp "
        "1.17 on (only a measurement can say whether they pay), and about block dims where some launch can't be read."
    ),
    fix_safety="No fix: the list of modules to load is to be taken from a measured run (`warpfix measure`).",
    since="0.1.0",
    check=check,
)
