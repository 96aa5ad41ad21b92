"""WF402 preload-everything: preloading that builds more than the program launches, or breaks."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from warpfix.codemods.set_argument import SetArgument
from warpfix.findings import Applicability, Finding, Fix
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import call_argument, module_expression, value_of
from warpfix.index.model import FileIndex, Launch, Role
from warpfix.index.scopes import Function
from warpfix.index.walk import Enclosing
from warpfix.measure.profile import Load, Profile
from warpfix.rules import Context, Rule, locate
from warpfix.rules._flow import Flow, flow_of
from warpfix.rules._names import warp_name
from warpfix.rules._places import asks_for, joined, literal_int, measures
from warpfix.rules._versions import lowest, words

_SAFE_SINCE = (1, 17)
_BLOCK_DIM_SINCE = (1, 9)
_DEFAULT = 256


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the preloading calls of one file."""
    if measures(index, file) or (index.prefix(file).split(".", 1)[0] == "warp" and "_src" in file.path):
        return
    for launch in file.launches:
        if launch.via not in ("force_load", "load_module") or _looks_first(launch.enclosing):
            continue
        if _swallowed(launch):
            yield _hidden(file, launch)
        call = launch.node
        if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
            continue
        message = advice = None
        kind = ""
        reason = "which modules and block dims a program comes to launch is for a measured run to say"
        fix: Fix | None = None
        preloaded = None if context.profile is None else _preloaded(context.profile, file, call)
        if launch.via == "force_load" and _everything(call_argument(call, 1, "modules")):
            kind = "everything"
            message = (
                "`wp.force_load()` without `modules=` builds every module that was ever imported, Warp's own among "
                "them, launched or not"
            )
            advice = "name the modules that the program launches: `modules=[wp.get_module(__name__), ...]`"
            if preloaded is not None:
                fix, reason = _name_modules(index, file, launch, preloaded)
        elif (workers := _parallel_cpu(index, file, launch)) and lowest(context.config) < _SAFE_SINCE:
            kind = "parallel"
            message = (
                f"modules are loaded by {workers} threads on the CPU, which before Warp {words(_SAFE_SINCE)} may lose "
                'a kernel ("Failed to find module"); the project works with '
                f"Warp {words(lowest(context.config))}"
            )
            advice = f"leave `max_workers` out on the CPU, or ask for Warp {words(_SAFE_SINCE)}"
        elif not (preloaded is not None and preloaded.used) and (
            wrong := _wrong_block_dim(index, file, launch, flow_of(index, context))
        ):
            kind = "block_dim"
            given, used = wrong
            message = (
                f"the modules are preloaded for block_dim {given}, but launched only with "
                f"{joined(sorted(used))}: on CUDA the preloaded builds are never used"
            )
            advice = f"preload with block_dim={min(used)}" if len(used) == 1 else "preload with the block dims in use"
            if len(used) == 1:
                fix = _set_block_dim(file, launch, min(used), "every launch of these modules that the source shows")
        elif preloaded is not None and (dim := _unused_variant(index, file, launch, preloaded)) is not None:
            kind = "block_dim"
            loaded = joined(sorted({load.block_dim for load in preloaded.loads}))
            message = (
                f"the modules are preloaded for block_dim {loaded}, and the measured run launched them only with "
                f"{dim}: what is preloaded is never used, and each module is built twice"
            )
            advice = f"preload with block_dim={dim}"
            if lowest(context.config) < _BLOCK_DIM_SINCE:
                reason = f"`block_dim=` needs Warp {words(_BLOCK_DIM_SINCE)}, and the project works with an older one"
            else:
                fix = _set_block_dim(file, launch, dim, "every launch of these modules in the measured command")
        if message is None or advice is None:
            continue
        yield Finding(
            code=RULE.code,
            rule=RULE.slug,
            path=file.path,
            **locate(file, call),
            message=message,
            advice=advice if fix is not None else f"{advice}; no fix is offered: {reason}",
            fix=fix,
            declined=None if fix is not None else reason,
            data={"kind": kind},
        )


# ---- errors that nobody sees

# What a missing function or argument raises in an older Warp.
_PROBING = frozenset({"AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError"})
_ALL = frozenset({"", "Exception", "BaseException", "RuntimeError"})


def _looks_first(enclosing: Enclosing) -> bool:
    """Whether the code around asks which Warp it meets."""
    outside = tuple(node for node in enclosing if not isinstance(node, (ast.Try, ast.ExceptHandler)))
    caught = {name for node in enclosing if isinstance(node, ast.Try) for name in _caught(node.handlers)}
    in_handler = any(isinstance(node, ast.ExceptHandler) for node in enclosing)
    return asks_for(outside, "version") or in_handler or bool(caught & _PROBING)


def _caught(handlers: Iterable[ast.ExceptHandler]) -> Iterator[str]:
    """Names of the exceptions; the empty one for a bare ``except``."""
    for handler in handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        for kind in kinds:
            yield "" if kind is None else ast.unparse(kind).rpartition(".")[2]


def _swallowed(launch: Launch) -> bool:
    """Whether a build that fails in this call is passed over without a word."""
    for node in reversed(launch.enclosing):
        if isinstance(node, Function):
            return False
        if isinstance(node, ast.Try) and node.handlers:
            inside = any(launch.node is inner for statement in node.body for inner in ast.walk(statement))
            silent = all(
                isinstance(statement, (ast.Pass, ast.Continue))
                or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
                or (isinstance(statement, ast.Return) and statement.value is None)
                for handler in node.handlers
                for statement in handler.body
            )
            return inside and silent and bool(set(_caught(node.handlers)) & _ALL)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            suppressed = [
                ast.unparse(argument).rpartition(".")[2]
                for item in node.items
                if isinstance(item.context_expr, ast.Call)
                and ast.unparse(item.context_expr.func).rpartition(".")[2] == "suppress"
                for argument in item.context_expr.args
            ]
            if set(suppressed) & _ALL:
                return True
    return False


def _hidden(file: FileIndex, launch: Launch) -> Finding:
    reason = "what shall happen when a module fails to build is for the program's owner to say"
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **locate(file, launch.node),
        message=(
            "errors of this preload are swallowed: a module that fails to build is passed over without a word, and is "
            "built again, and fails again, at its first launch"
        ),
        advice=f"let the error through, or print it; no fix is offered: {reason}",
        declined=reason,
        data={"kind": "swallowed"},
    )


# ---- what a run showed


@dataclass(frozen=True)
class _Preloaded:
    """What one preloading call made the measured processes load, and what was launched of it."""

    loads: tuple[Load, ...]
    launched: Mapping[str, set[int]]
    """Warp module to the block dims that it was launched with, in any process."""
    used: frozenset[str]
    """Warp modules of which a variant that the call loaded was launched."""


def _preloaded(profile: Profile, file: FileIndex, call: ast.Call) -> _Preloaded | None:
    """None where no process came to the call."""
    here, lines = os.path.realpath(file.path), range(call.lineno, (call.end_lineno or call.lineno) + 1)
    loads: list[Load] = []
    launched: dict[str, set[int]] = {}
    used: set[str] = set()
    for run in profile.cold[:1]:
        for process in run.processes:
            mine = {
                load.id: load
                for load in process.loads
                if load.paid_by is not None
                and load.paid_by.line in lines
                and os.path.realpath(load.paid_by.path) == here
            }
            loads += mine.values()
            for signature in process.launches.signatures:
                launched.setdefault(signature.module, set()).add(signature.block_dim)
                if signature.load in mine:
                    used.add(signature.module)
    return _Preloaded(tuple(loads), launched, frozenset(used)) if loads else None


# A unique kernel's module: its key, and a hash that moves with its text.
_UNIQUE = re.compile(r".+_[0-9a-f]{8}")


def _name_modules(index: ProjectIndex, file: FileIndex, launch: Launch, seen: _Preloaded) -> tuple[Fix | None, str]:
    """The fix that names the modules which the run launched, or why there is none."""
    names = list(dict.fromkeys(load.module for load in seen.loads if load.module in seen.launched))
    names = [name for name in names if not _UNIQUE.fullmatch(name)]
    if not names:
        return None, "the measured run launched none of what it loads"
    if len(names) == len({load.module for load in seen.loads}):
        return None, "the measured run launched all that it loads"
    warp = warp_name(index, file, launch.node.lineno)
    if warp is None:
        return None, "the file has no name for Warp itself to take the modules from"
    listed = []
    for name in names:
        if name == "__main__":
            if not _defines(seen, file, name):
                return None, "a module of the starting script is launched, which has no name here"
            listed.append(f"{warp}.get_module(__name__)")
        else:
            listed.append(f'{warp}.get_module("{name}")')
    library = file.role is not Role.APPLICATION
    call = launch.node
    fix = Fix(
        applicability=Applicability.ASK if library else Applicability.MEASURED,
        summary=f"preload only what the run launched: {joined(f'`{name}`' for name in names)}",
        edits={
            file.path: (
                SetArgument(call.lineno, call.col_offset, ast.unparse(call), "modules", 1, f"[{', '.join(listed)}]"),
            )
        },
        proved="the call had loaded each of these modules in the measured command, and its kernels were launched",
        unproved=(
            "this is library code: others who import it may count on more being loaded"
            if library
            else "other paths of the program may launch other modules, which are then built at their first launch"
        ),
    )
    return fix, ""


def _defines(seen: _Preloaded, file: FileIndex, module: str) -> bool:
    here = os.path.realpath(file.path)
    return any(
        os.path.realpath(kernel.definition.path) == here
        for load in seen.loads
        if load.module == module
        for kernel in load.kernels
    )


def _unused_variant(index: ProjectIndex, file: FileIndex, launch: Launch, seen: _Preloaded) -> int | None:
    """The one block_dim that the run launched the preloaded modules with, where the call loaded them for another."""
    modules = {load.module for load in seen.loads if load.module in seen.launched}
    if not modules or seen.used:
        return None
    dims = {dim for module in modules for dim in seen.launched[module]}
    if len(dims) != 1:
        return None
    on_cpu = all(load.target == "cpu" for load in seen.loads)
    # On the CPU there is one block_dim: naming it in a call that may mean a GPU would spoil that.
    if on_cpu and _device(index, file, launch) != "cpu":
        return None
    return dims.pop()


def _set_block_dim(file: FileIndex, launch: Launch, dim: int, who: str) -> Fix:
    call = launch.node
    library = file.role is not Role.APPLICATION
    return Fix(
        applicability=Applicability.ASK if library else Applicability.MEASURED,
        summary=f"preload with block_dim={dim}, which the launches use",
        edits={file.path: (SetArgument(call.lineno, call.col_offset, ast.unparse(call), "block_dim", None, str(dim)),)},
        proved=f"{who} has block_dim {dim}",
        unproved=(
            "this is library code: others who import it may launch with another block_dim"
            if library
            else "whether it saves a build depends on the device, which a measured run shows"
        ),
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


def _names_cpu(index: ProjectIndex, file: FileIndex, launch: Launch) -> bool:
    device = next((keyword.value for keyword in launch.node.keywords if keyword.arg == "device"), None)
    value = None if device is None else value_of(index, file, device, launch.enclosing)
    return isinstance(value, ast.Constant) and value.value == "cpu"


def _wrong_block_dim(index: ProjectIndex, file: FileIndex, launch: Launch, flow: Flow) -> tuple[int, set[int]] | None:
    given = call_argument(launch.node, 2 if launch.via == "force_load" else 3, "block_dim")
    if launch.via == "load_module" and call_argument(launch.node, 2, "recursive") is not None:
        return None
    # Without one, CUDA modules are loaded for 256 threads a block, as launches are.
    number = literal_int(index, file, given, launch.enclosing) if given is not None else _DEFAULT
    if number is None or _device(index, file, launch) == "cpu":
        return None
    listed = call_argument(
        launch.node, 1 if launch.via == "force_load" else 0, "modules" if launch.via == "force_load" else "module"
    )
    value = value_of(index, file, listed, launch.enclosing) if listed is not None else None
    if value is None and launch.via == "load_module":
        value = ast.Name(id="__name__", ctx=ast.Load())  # the module that calls
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
            if module not in keys or _names_cpu(index, other, one):
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
        "launches use is built twice on CUDA. Before Warp 1.17 a parallel load on the CPU may lose kernels. A preload "
        "whose errors are swallowed hides a build that fails, which is then tried again at the first launch."
    ),
    bad='wp.force_load(device="cpu")\n',
    good='wp.force_load(device="cpu", modules=[wp.get_module(__name__)])\n',
    limits=(
        "Silent in tests and benchmarks, about calls whose arguments come from a star, about parallel loads from Warp "
        "1.17 on (only a measurement can say whether they pay), and about block dims where some launch can't be read."
    ),
    fix_safety=(
        "`measured`: from a profile, `modules=` names what the call had loaded and the run launched, without unique "
        "modules, whose names move with their text; and a preload at another block_dim than every launch gets theirs. "
        "`ask` in library code. Parallel loads are only reported."
    ),
    since="0.1.0",
    check=check,
)
