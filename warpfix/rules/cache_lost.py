"""WF401 cache-lost: the kernel cache is thrown away, moved or passed by at every start."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from warpfix.codemods.remove_statement import RemoveStatement
from warpfix.findings import Applicability, Finding, Fix
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import value_of
from warpfix.index.model import FileIndex, Role
from warpfix.index.names import canonical
from warpfix.index.walk import Enclosing
from warpfix.rules import Context, Rule, locate
from warpfix.rules._changing import changing
from warpfix.rules._flow import ANY, block_around, flow_of
from warpfix.rules._places import (
    calls_of,
    innermost_function,
    measures,
    reaches_launch,
    runs_at_start,
    stands_alone,
    under_condition,
)
from warpfix.rules._versions import newest, words

_WORDS = (
    "clear_kernel_cache",
    "clear_lto_cache",
    "kernel_cache_dir",
    "cache_kernels",
    "WARP_CACHE_PATH",
    "CUDA_CACHE_DISABLE",
    "verify_autograd_array_access",
)

_VERSIONED_SINCE = (1, 13)
"""First Warp that puts a folder of its version below a cache folder that it is given before it is initialised."""
_INITIALISES = frozenset(
    f"warp.{name}"
    for name in (
        "init",
        "array",
        "empty",
        "from_numpy",
        "full",
        "get_cuda_device_count",
        "get_device",
        "get_devices",
        "get_preferred_device",
        "is_cuda_available",
        "ones",
        "set_device",
        "synchronize",
        "zeros",
    )
)


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for one file, where it is no benchmark."""
    if not any(word in file.text for word in _WORDS) or measures(index, file) or file.role is Role.TEST:
        return
    if index.prefix(file).split(".", 1)[0] == "warp" and "_src" in file.path:
        return
    yield from _cleared(index, file)
    yield from _configured(index, file, context)
    yield from _environment(index, file, context)


# ---- thrown away


def _cleared(index: ProjectIndex, file: FileIndex) -> Iterable[Finding]:
    if "clear_" not in file.text:
        return
    for site in calls_of(index, file, "clear_kernel_cache", "clear_lto_cache"):
        if not runs_at_start(index, file, site.enclosing) or not reaches_launch(index, file):
            continue
        resolved = index.resolve(file, site.node.func, site.enclosing) or ""
        name = resolved.rpartition(".")[2]
        what = "the cache of compiled kernels" if name == "clear_kernel_cache" else "the cache of linked device code"
        fix, declined = None, None
        if not (isinstance(site.statement, ast.Expr) and site.statement.value is site.node) or site.node.args:
            declined = "the call is part of a larger statement"
        elif not stands_alone(file, site.statement):
            declined = "it shares a line with another statement"
        else:
            fix = Fix(
                applicability=Applicability.MEASURED,
                summary=f"keep the cache: remove `{name}()` (line {site.statement.lineno})",
                edits={
                    file.path: (
                        RemoveStatement(site.statement.lineno, ast.unparse(site.statement), with_comments=True),
                    )
                },
                proved="it runs at every start, on no condition, and its result is not used",
                unproved="that a second run finds what the first has built is for a measured run to show",
            )
        yield Finding(
            code=RULE.code,
            rule=RULE.slug,
            path=file.path,
            **locate(file, site.node),
            message=f"`{name}()` throws {what} away at every start, so every run builds every module again",
            advice="remove it: Warp builds again by itself what has changed"
            if fix is not None
            else f"remove it: Warp builds again by itself what has changed; no fix is offered: {declined}",
            fix=fix,
            declined=declined,
            data={"kind": "cleared"},
        )


# ---- settings


def _configured(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    for item in file.option_sets:
        if item.via != "config" or item.dynamic:
            continue
        for name, value in item.options.items():
            if name not in ("kernel_cache_dir", "cache_kernels", "verify_autograd_array_access"):
                continue
            if not runs_at_start(index, file, item.enclosing) or _put_back(file, item.node, name):
                continue
            given = value_of(index, file, value, item.enclosing)
            if name == "kernel_cache_dir":
                source = changing(index, file, value, item.enclosing)
                if source is None:
                    yield from _late_folder(index, file, context, item.node, item.enclosing)
                    continue
                message = (
                    f"the kernel cache is put into a folder of this run only (`{source}`): nothing that one run builds "
                    "is found by the next"
                )
                advice = "leave `kernel_cache_dir` alone, or give it a folder that stays"
                reason = "where the cache shall live is for the program's owner to say"
            elif not isinstance(given, ast.Constant) or given.value is not (name == "verify_autograd_array_access"):
                continue
            elif name == "cache_kernels":
                message = "`wp.config.cache_kernels = False` makes every process build every module again"
                advice = "remove it"
                reason = "somebody switched the cache off, and why is not in the source"
            else:
                message = (
                    "`wp.config.verify_autograd_array_access = True` is a debugging aid that passes the kernel cache "
                    "by: every process builds every module again"
                )
                advice = "switch it on only while looking for overwritten arrays, behind a flag for example"
                reason = "a check that somebody asked for is not removed"
            yield _report(file, item.node, message, advice, reason, name, _removal(file, item.node, name))


def _late_folder(
    index: ProjectIndex, file: FileIndex, context: Context, statement: ast.stmt, enclosing: Enclosing
) -> Iterable[Finding]:
    """A folder that stays, given when Warp has resolved its own already: then it is taken as it stands."""
    if sum(item.via == "config" and "kernel_cache_dir" in item.options for item in file.option_sets) > 1:
        return  # for a while, and put back
    newer = newest(context.config)
    line = _initialised_before(index, file, context, statement, enclosing)
    if line is None or (newer is not None and newer < _VERSIONED_SINCE):
        return
    yield _report(
        file,
        statement,
        f"`wp.config.kernel_cache_dir` is set after line {line} has initialised Warp: what was built before lies "
        "elsewhere, and the folder is used without the subfolder of Warp's version that Warp "
        f"{words(_VERSIONED_SINCE)} and newer give it at initialisation, so that every version writes into one",
        f"set it before line {line}",
        "a cache that moves is built once more, and where it shall live is for the program's owner to say",
        "late folder",
    )


def _put_back(file: FileIndex, node: ast.stmt, name: str) -> bool:
    """Whether the file sets the option again: for a while only."""
    return any(
        other.via == "config" and other.node is not node and name in other.options and other.node.lineno > node.lineno
        for other in file.option_sets
    )


# ---- variables


def _environment(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    if "WARP_CACHE_PATH" not in file.text and "CUDA_CACHE_DISABLE" not in file.text:
        return
    found: list[tuple[ast.stmt, Enclosing, str, ast.expr | None]] = []
    for write in index.writes(file):
        target = write.target
        if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
            continue
        if index.resolve(file, target.value, write.enclosing) == "os.environ":
            found.append((write.statement, write.enclosing, str(target.slice.value), write.value))
    for call in index.calls(file).get("setdefault", ()):
        function = call.node.func
        if isinstance(function, ast.Attribute) and index.resolve(file, function.value, call.enclosing) == "os.environ":
            name = call.node.args[0] if call.node.args else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and len(call.node.args) == 2:
                found.append((call.statement, call.enclosing, name.value, call.node.args[1]))
    for statement, enclosing, variable, value in found:
        if variable not in ("WARP_CACHE_PATH", "CUDA_CACHE_DISABLE") or not runs_at_start(index, file, enclosing):
            continue
        if variable == "CUDA_CACHE_DISABLE":
            if isinstance(value, ast.Constant) and str(value.value) not in ("0", ""):
                yield _report(
                    file,
                    statement,
                    "`CUDA_CACHE_DISABLE` switches the driver's own cache off: code that Warp leaves to the driver is "
                    "compiled again in every process",
                    "remove it",
                    "somebody switched the cache off, and why is not in the source",
                    "driver cache",
                    _removal(file, statement, "CUDA_CACHE_DISABLE"),
                )
            continue
        source = None if value is None else changing(index, file, value, enclosing)
        if source is not None:
            yield _report(
                file,
                statement,
                f"the kernel cache is put into a folder of this run only (`{source}`): nothing that one run builds is "
                "found by the next",
                "leave `WARP_CACHE_PATH` alone, or give it a folder that stays",
                "where the cache shall live is for the program's owner to say",
                "kernel_cache_dir",
                _removal(file, statement, "WARP_CACHE_PATH"),
            )
            continue
        line = _initialised_before(index, file, context, statement, enclosing)
        if line is not None:
            yield _report(
                file,
                statement,
                f"`WARP_CACHE_PATH` is set after line {line} has initialised Warp, which reads it only then: it does "
                "nothing in this process",
                f"set it before line {line}, or set `wp.config.kernel_cache_dir`",
                "the path never acted, and where the cache shall live is for the program's owner to say",
                "late path",
            )


def _initialised_before(
    index: ProjectIndex, file: FileIndex, context: Context, statement: ast.stmt, enclosing: Enclosing
) -> int | None:
    """Line of a statement above, in the same block, that has initialised Warp for sure."""
    found = block_around(file, statement, enclosing)
    if found is None or under_condition(enclosing):
        return None
    block, place = found
    flow = flow_of(index, context)
    function = innermost_function(enclosing)
    for above in block[:place]:
        if isinstance(above, (ast.Expr, ast.Assign, ast.AnnAssign)) and _asks_devices(index, file, above, enclosing):
            return above.lineno
        load = flow.sure_load(file, above, enclosing, ANY)
        if load is not None and function is innermost_function(enclosing):
            return above.lineno
    return None


def _asks_devices(index: ProjectIndex, file: FileIndex, statement: ast.stmt, enclosing: Enclosing) -> bool:
    """Whether a statement calls what can't do without an initialised Warp."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Lambda, ast.IfExp, ast.BoolOp)):
            continue
        if isinstance(node, ast.Call):
            resolved = index.resolve(file, node.func, enclosing)
            if resolved is not None and canonical(resolved) in _INITIALISES:
                return True
        pending += ast.iter_child_nodes(node)
    return False


def _removal(file: FileIndex, statement: ast.stmt, name: str) -> Fix | None:
    """The removal of a setting that stands alone, for its owner to ask for."""
    plain = (isinstance(statement, ast.Assign) and len(statement.targets) == 1) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    )
    if not plain or not stands_alone(file, statement):
        return None
    checks = name == "verify_autograd_array_access"
    return Fix(
        applicability=Applicability.ASK,
        summary=f"remove the setting of `{name}` (line {statement.lineno})",
        edits={file.path: (RemoveStatement(statement.lineno, ast.unparse(statement), with_comments=True),)},
        options=frozenset({name}) if checks else frozenset(),
        proved="it runs at every start, on no condition, and nothing in the file sets it again",
        unproved=(
            "the check that it switches on would no longer be made, which is its owner's to decide"
            if checks
            else "somebody chose where the cache lives, or that there is none, and why is not in the source"
        ),
    )


def _report(
    file: FileIndex, node: ast.stmt, message: str, advice: str, reason: str, kind: str, fix: Fix | None = None
) -> Finding:
    asked = "; name the rule with --select to have the setting removed"
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **locate(file, node),
        message=message,
        advice=f"{advice}{asked}" if fix is not None else f"{advice}; no fix is offered: {reason}",
        fix=fix,
        declined=None if fix is not None else reason,
        data={"kind": kind},
    )


RULE = Rule(
    code="WF401",
    slug="cache-lost",
    summary="The kernel cache is cleared, moved or passed by at every start.",
    why=(
        "What Warp builds is kept on disk, so that only the first run pays. `wp.clear_kernel_cache()` left over from "
        "debugging, a cache folder with a random or timed name, `cache_kernels = False`, or "
        "`verify_autograd_array_access = True` (which passes the cache by) make every run the first one. "
        "`WARP_CACHE_PATH` set after `wp.init()` is not read; `kernel_cache_dir` set there is used, but without a "
        "subfolder for Warp's version."
    ),
    bad="import warp as wp\n\nwp.clear_kernel_cache()   # left over from debugging\n",
    good="import warp as wp\n",
    limits=(
        "Reported only for what runs at every start, whatever the flags: at module scope, under the main guard, or in "
        "functions that these call on no condition, in files that come to a launch. Silent in tests and benchmarks, in "
        "functions whose name speaks of upkeep or measuring, behind a condition or a flag, and about cache folders "
        "that stay, a temporary folder's root among them."
    ),
    fix_safety=(
        "`measured`, for clear_kernel_cache and clear_lto_cache as statements of their own: the statement is removed, "
        "and earns its place by the second run, which finds what the first has built. `ask`, for a folder of one run, "
        "a switch or a check that somebody chose: the statement that sets it is removed, what it was made of stays."
    ),
    since="0.1.0",
    check=check,
)
