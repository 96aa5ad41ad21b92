"""Plans: what is kept in which mode, what a profile drops, what conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from warpfix.codemods import Edit
from warpfix.codemods._arguments import ModuleArgument
from warpfix.codemods.drop_unique import DropUnique

from warpfix.findings import Applicability, Finding, Fix, KernelRename
from warpfix.measure.profile import (
    BuiltKernel,
    Cause,
    KernelDef,
    LaunchLog,
    LaunchSignature,
    Load,
    ProcessRun,
    Profile,
    Run,
)
from warpfix.plan import Plan, PlanSettings, make_plan, render

PATH = str(Path("/p/mod.py").resolve())
TEXT = "".join(f'@wp.kernel(module="unique")\ndef k{i}(a): ...\n\n\n' for i in range(3))
SOURCES = {PATH: TEXT}


def edit(number: int, value: str | None = None) -> DropUnique:
    return DropUnique(4 * number + 2, f"k{number}", ModuleArgument(value))


def finding(
    number: int,
    level: Applicability = Applicability.SAFE,
    edits: Sequence[Edit] | None = None,
    keeps: bool = False,
    adjoint: bool = False,
    landing: str = "mod",
) -> Finding:
    name = f"k{number}"
    return Finding(
        code="WF301",
        rule="unique-stable-kernel",
        path=PATH,
        line=4 * number + 1,
        column=1,
        end_line=4 * number + 2,
        end_column=5,
        message=f"`{name}` is slow",
        advice="change it",
        kernel=name,
        fix=Fix(
            level,
            f"change `{name}`",
            {PATH: tuple(edits if edits is not None else [edit(number)])},
            (KernelRename(PATH, name, name, name, name),),
            needs_no_adjoint=((PATH, name),) if adjoint else (),
        ),
        data={"landing": landing, "keeps_module": keeps},
    )


def load(id: int, module: str, kernels: Sequence[str], hash: str = "a", path: str = PATH) -> Load:
    built = tuple(BuiltKernel(KernelDef(name, name, path, 1)) for name in kernels)
    return Load(
        id, module, hash, "cpu", "cpu", 1, "compiled", 0.0, 1.0, {}, 0, built, {}, 10, 0, Cause("first-load", ""), None
    )


def profile(loads: Sequence[Load], adjoint: Sequence[str] = ()) -> Profile:
    signatures = tuple(
        LaunchSignature(i, KernelDef(n, n, PATH, 1), "", "mod", 0, (1,), (), "cpu", 256, 0, True, "launch")
        for i, n in enumerate(adjoint)
    )
    log = LaunchLog(len(signatures), signatures, {}, ())
    process = ProcessRun(1, 0, (), "3.11", "1.19", 0.0, True, None, 1.0, tuple(loads), log)
    return Profile(("python",), "/p", "native", (Run("cold", 0, 1.0, "", "", (process,)),))


def reasons(plan: Plan) -> list[str]:
    return [dropped.reason for dropped in plan.dropped]


@pytest.mark.parametrize(
    ("level", "settings", "kept"),
    [
        (Applicability.SAFE, PlanSettings(), True),
        (Applicability.MEASURED, PlanSettings(), False),
        (Applicability.MEASURED, PlanSettings(unsafe=True), True),
        (Applicability.MEASURED, PlanSettings(verify=True), True),
        (Applicability.ASK, PlanSettings(), False),
        (Applicability.ASK, PlanSettings(unsafe=True), False),
        (Applicability.ASK, PlanSettings(verify=True), False),
        (Applicability.ASK, PlanSettings(named={"WF301"}), False),
        (Applicability.ASK, PlanSettings(named={"WF301"}, unsafe=True), True),
        (Applicability.ASK, PlanSettings(named={"unique-stable-kernel"}, verify=True), True),
        (Applicability.ASK, PlanSettings(named={"WF101"}, verify=True), False),
    ],
)
def test_modes(level: Applicability, settings: PlanSettings, kept: bool) -> None:
    plan = make_plan([finding(0, level)], SOURCES, settings)
    assert bool(plan.kept) is kept
    assert bool(plan.dropped) is not kept
    assert bool(render(plan, SOURCES)) is kept


def test_finding_without_fix_says_why() -> None:
    one = Finding("WF102", "x", PATH, 1, 1, 1, 1, "m", "advice", declined="because")
    assert reasons(make_plan([one], SOURCES)) == ["because"]


def test_order_does_not_matter() -> None:
    several = [finding(number) for number in range(3)]
    assert make_plan(several, SOURCES) == make_plan(several[::-1], SOURCES)


def test_conflicting_fix_is_dropped_whole() -> None:
    # The second fix also wants to change what the first changes, otherwise.
    second = finding(1, edits=[edit(1), edit(0, "other")])
    plan = make_plan([finding(0), second], SOURCES)
    assert [one.fix.summary for one in plan.kept] == ["change `k0`"]
    assert reasons(plan) == ["another edit changes the same lines"]
    assert 'module="unique")\ndef k1' in render(plan, SOURCES)[PATH]


def test_equal_edits_of_two_fixes_count_once() -> None:
    plan = make_plan([finding(0), finding(1, edits=[edit(0), edit(1)])], SOURCES)
    assert len(plan.kept) == 2
    assert plan.edits == {PATH: (edit(0), edit(1))}


def test_equal_fixes_are_one() -> None:
    one = finding(0)
    plan = make_plan([one, one], SOURCES)
    assert [len(planned.findings) for planned in plan.kept] == [2]


def test_edit_that_does_not_fit_the_text() -> None:
    plan = make_plan([finding(0)], {PATH: "x = 1\n"})
    assert not plan.kept
    assert "holds no definition" in reasons(plan)[0]


@dataclass(frozen=True)
class Unknown(Edit):
    codemod: ClassVar[str] = "no_such"


def test_unknown_codemod_is_our_fault() -> None:
    with pytest.raises(LookupError):
        make_plan([finding(0, edits=[Unknown()])], SOURCES)


# With a profile: nothing that the command does not show to pay, and nothing worse.


def test_what_is_never_built() -> None:
    evidence = profile([load(0, "mod", ["other"])])
    measured = [finding(0, Applicability.MEASURED), finding(1)]
    plan = make_plan(measured, SOURCES, PlanSettings(verify=True), evidence)
    assert not plan.kept
    assert all("never builds" in reason for reason in reasons(plan))
    # Safe, and into a module that the command does not build: it can't hurt.
    assert make_plan([finding(1, landing="else")], SOURCES, PlanSettings(), evidence).kept


def test_kernel_that_would_be_built_for_nothing() -> None:
    evidence = profile([load(0, "k0_1", ["k0"]), load(1, "k1_1", ["k1"])])
    fixes = [finding(n, Applicability.MEASURED, landing="mod.stable") for n in range(3)]
    plan = make_plan(fixes, SOURCES, PlanSettings(verify=True), evidence)
    assert [one.fix.summary for one in plan.kept] == ["change `k0`", "change `k1`"]
    assert "never builds `k2`" in reasons(plan)[0]


def test_alone_in_a_shared_module_pays_nothing() -> None:
    evidence = profile([load(0, "k0_1", ["k0"])])
    fix = finding(0, Applicability.MEASURED, landing="mod.stable")
    assert reasons(make_plan([fix], SOURCES, PlanSettings(), evidence)) == [
        "the measured command would not build fewer modules"
    ]
    joined = profile([load(0, "k0_1", ["k0"]), load(1, "mod.stable", ["else"])])
    assert make_plan([fix], SOURCES, PlanSettings(), joined).kept


def test_late_kernel_pays_where_its_module_was_built_twice() -> None:
    fix = finding(0, Applicability.MEASURED, keeps=True)
    once = profile([load(0, "mod", ["k0", "other"])])
    assert not make_plan([fix], SOURCES, PlanSettings(verify=True), once).kept
    twice = profile([load(0, "mod", ["other"]), load(1, "mod", ["k0", "other"], hash="b")])
    assert make_plan([fix], SOURCES, PlanSettings(verify=True), twice).kept


def test_script_is_called_main_when_it_runs() -> None:
    fix = finding(0, Applicability.MEASURED)
    evidence = profile([load(0, "__main__", ["other"]), load(1, "k0_1", ["k0"])])
    assert make_plan([fix], SOURCES, PlanSettings(verify=True), evidence).kept


def test_adjoint_that_must_not_be_launched() -> None:
    fix = finding(0, Applicability.MEASURED, adjoint=True, landing="mod")
    loads = [load(0, "mod", ["k0"]), load(1, "mod", ["k0", "x"], hash="b")]
    assert make_plan([fix], SOURCES, PlanSettings(verify=True), profile(loads)).kept
    plan = make_plan([fix], SOURCES, PlanSettings(verify=True), profile(loads, ["k0"]))
    assert reasons(plan) == ["an adjoint of `k0` is launched in the measured command"]


def test_what_only_a_run_can_show_is_not_written_without_one() -> None:
    fix = replace(finding(0, Applicability.ASK), data={"needs_profile": True})
    named = PlanSettings(named={"WF301"}, unsafe=True)
    (reason,) = reasons(make_plan([fix], SOURCES, named))
    assert "written with --select unique-stable-kernel by --verify, or with --profile" in reason
    evidence = profile([load(0, "k0_1", ["k0"]), load(1, "mod", ["k1"])])
    assert make_plan([fix], SOURCES, named, evidence).kept
