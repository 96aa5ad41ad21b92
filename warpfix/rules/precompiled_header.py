"""WF803 precompiled-header: a header that is built for too few modules, or switched off where many would share it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from warpfix.codemods.insert_statement import InsertStatement
from warpfix.codemods.remove_statement import RemoveStatement
from warpfix.findings import Applicability, Finding, Fix
from warpfix.index.build import ProjectIndex
from warpfix.index.model import FileIndex, OptionSet, Role
from warpfix.measure.profile import Profile
from warpfix.rules import Context, Rule, locate, selects
from warpfix.rules._places import above_kernels, measures, reaches_launch, runs_at_start, stands_alone, starts
from warpfix.rules._versions import lowest

_OPTION = "use_precompiled_headers"
_SINCE = {True: (1, 11), False: (1, 13)}
"""First Warp that builds a header, for CUDA and for the CPU."""
_FEW = {True: 2, False: 1}
"""Up to so many modules for one header it costs more than it saves, for CUDA and for the CPU."""


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """A finding for a starting script whose run shows it, where the rule is asked for by name."""
    if context.profile is None or not selects(context.config.select, RULE):
        return
    if file.role is not Role.APPLICATION or not index.project.editable or measures(index, file):
        return
    sharing = _sharing(context.profile)
    if not sharing or any(lowest(context.config) < _SINCE[cuda] for cuda, _ in sharing):
        return
    few = all(count <= _FEW[cuda] for cuda, count in sharing)
    writes = [
        (other, item)
        for other in index.files.values()
        for item in other.option_sets
        if item.via == "config" and (item.dynamic or _OPTION in item.options)
    ]
    most = max(count for _, count in sharing)
    if not writes and few and starts(index, file) and reaches_launch(index, file):
        yield _off(index, file, most)
    elif len(writes) == 1 and writes[0][0] is file and not few:
        finding = _back(index, file, writes[0][1], most)
        if finding is not None:
            yield finding


def _sharing(profile: Profile) -> list[tuple[bool, int]]:
    """For each header that a process of the cold run built: whether it is for CUDA, and how many modules share it."""
    found: list[tuple[bool, int]] = []
    for run in profile.cold[:1]:
        for process in run.processes:
            modules: Counter[tuple[str, int, str]] = Counter()
            for load in process.loads:
                if load.compiled:
                    modules[(load.target, load.block_dim, repr(load.options.get("fast_math")))] += 1
            found += [(target != "cpu", count) for (target, _, _), count in modules.items()]
    return found


def _off(index: ProjectIndex, file: FileIndex, most: int) -> Finding:
    place = above_kernels(index, file)
    fix, declined = None, None
    if isinstance(place, str):
        declined = place
    else:
        target, name = place
        before = min([target.lineno, *(item.lineno for item in getattr(target, "decorator_list", ()))])
        text = f"{name}.config.{_OPTION} = False"
        fix = Fix(
            applicability=Applicability.ASK,
            summary=f"set `{text}` above line {before}",
            edits={file.path: (InsertStatement(before, text),)},
            options=frozenset({_OPTION}),
            proved="nobody imports this script; the header changes how code is compiled, not which",
            unproved="only time can tell whether it pays: three samples or more (--samples 3), beyond the noise",
        )
    node = next((item for item in file.tree.body if isinstance(item, (ast.Import, ast.ImportFrom))), file.tree.body[0])
    count = "one module is" if most == 1 else f"at most {most} modules are"
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **locate(file, node),
        message=(
            f"{count} compiled with each precompiled header that the measured run built: building the header costs "
            "about as much as it saves for so few"
        ),
        advice="switch it off in the starting script, and let --verify time it with --samples 3 or more"
        if fix is not None
        else f"switch it off in the starting script; no fix is offered: {declined}",
        fix=fix,
        declined=declined,
        data={"modules": most, "needs_profile": True},
    )


def _back(index: ProjectIndex, file: FileIndex, item: OptionSet, most: int) -> Finding | None:
    value = item.options.get(_OPTION)
    if not (isinstance(value, ast.Constant) and value.value is False) or not isinstance(item.node, ast.Assign):
        return None
    if not runs_at_start(index, file, item.enclosing) or len(item.node.targets) != 1:
        return None
    fix, declined = None, None
    if stands_alone(file, item.node):
        fix = Fix(
            applicability=Applicability.ASK,
            summary=f"let Warp build the header again: remove the setting (line {item.node.lineno})",
            edits={file.path: (RemoveStatement(item.node.lineno, ast.unparse(item.node)),)},
            options=frozenset({_OPTION}),
            proved="the header changes how code is compiled, not which",
            unproved="only time can tell whether it pays: three samples or more (--samples 3), beyond the noise",
        )
    else:
        declined = "it shares a line with another statement"
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **locate(file, item.node),
        message=(
            f"the precompiled header is switched off, and the measured run compiled {most} modules that could have "
            "shared one: each reads Warp's headers anew"
        ),
        advice="remove the setting, and let --verify time it with --samples 3 or more"
        if fix is not None
        else f"remove the setting; no fix is offered: {declined}",
        fix=fix,
        declined=declined,
        data={"modules": most, "needs_profile": True},
    )


RULE = Rule(
    code="WF803",
    slug="precompiled-header",
    summary="A precompiled header that too few modules share, or none where many could.",
    why=(
        "Warp compiles its own headers once for each process and each set of block_dim and flags, and every module of "
        "that set is spared them. The header itself costs about as much as one module (CPU) or two (CUDA) save: below "
        "that it makes the first start slower, above it faster. The machine code is the same either way."
    ),
    bad="import warp as wp\n\nimport kernels   # one module\n",
    good="import warp as wp\n\nwp.config.use_precompiled_headers = False\n\nimport kernels   # one module\n",
    limits=(
        "Off unless it is named: `--select precompiled-header` with a profile, since no count shows it and every small "
        "program would be told. Judges by the number of modules; what they cost on this machine is for `--samples 3` "
        "to time, and `warpfix whatif` prices it without an edit."
    ),
    fix_safety=(
        "`ask`, in the starting script only. It saves no build: a verdict rests on module time alone, of three samples "
        "or more of each version, beyond the noise of both; else nothing is written."
    ),
    since="0.1.0",
    check=check,
    more_with_profile=True,
)
