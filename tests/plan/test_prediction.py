"""What isolating kernels would build, counted over runs made by hand; and what the plan makes of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

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
from warpfix.plan import PlanSettings, make_plan
from warpfix.prediction import Outcome, choose, definition, isolate

FILE = "/p/app.py"


def built(name: str) -> BuiltKernel:
    """``scale/2`` is the variant of ``scale`` that captured 2, ``scale/2:f`` that for a type; ``!``: no adjoint."""
    short, _, variant = name.rstrip("!").partition("/")
    variant, _, overload = variant.partition(":")
    where = KernelDef(short, short, FILE, 10)
    return BuiltKernel(
        where,
        overload,
        forward_code="f",
        backward_code="" if name.endswith("!") else "b",
        ingredients={"constants": {"n": variant}} if variant else {},
    )


def profile(builds: Sequence[str], launched: str, block_dims: Sequence[int] = (1,)) -> Profile:
    """Builds of one module, each the kernels in it; ``launched`` names the kernels that are launched."""
    loads = [
        Load(
            number, "app", f"h{number}", "cpu", "cpu", dim, "compiled", 0.0, 1.0, {}, 0,
            tuple(built(one) for one in kernels.split()), {}, 100, 0, Cause("first-load", ""), None,
        )
        for number, (dim, kernels) in enumerate((dim, kernels) for dim in block_dims for kernels in builds)
    ]  # fmt: skip
    signatures = tuple(
        LaunchSignature(n, KernelDef(name, name, FILE, 10), "", "app", 0, (1,), (), "cpu", 1, 0, False, "launch")
        for n, name in enumerate(launched.split())
    )
    log = LaunchLog(len(signatures), signatures, {}, ())
    process = ProcessRun(1, 0, (), "3", "1.19", 0.0, True, None, 1.0, tuple(loads), log)
    return Profile(("x",), ".", "native", (Run("cold", 0, 1.0, "", "", (process,)),))


def defs(names: str) -> set[tuple[str, str]]:
    return {definition(FILE, name) for name in names.split()}


COUNTS = [
    pytest.param(
        ["base", "base scale/1", "base scale/2"], "base scale", Outcome(3, 3, 10, 6), True, id="as many, and smaller"
    ),
    pytest.param(
        ["base scale/1", "base scale/1 scale/2", "base scale/1 scale/2 scale/3"],
        "base scale",
        Outcome(3, 4, 18, 8),
        False,
        id="one more: the first variant was there from the start",
    ),
    pytest.param(["scale/1", "scale/1 scale/2"], "scale", Outcome(2, 2, 6, 4), True, id="nothing else in the module"),
    pytest.param(["base scale/1 scale/2"], "base scale", Outcome(1, 3, 6, 6), False, id="all made before the launch"),
    pytest.param(
        ["base", "base scale/1", "base scale/2"],
        "scale",
        Outcome(3, 2, 10, 4),
        True,
        id="nobody launches the others",
    ),
    pytest.param(["scale/1", "scale/2"], "scale", Outcome(2, 2, 4, 4), False, id="alone already"),
    pytest.param(
        ["base!", "base! scale/1!", "base! scale/2!"], "base scale", Outcome(3, 3, 5, 3), True, id="without adjoints"
    ),
    pytest.param(
        ["base", "base scale/1:f", "base scale/1:f scale/1:d"],
        "base scale",
        Outcome(3, 3, 12, 10),
        True,
        id="generic, for one type after the other",
    ),
    pytest.param(
        ["base", "base scale/1:f scale/1:d"],
        "base scale",
        Outcome(2, 3, 8, 10),
        False,
        id="generic, with its types registered",
    ),
]


@pytest.mark.parametrize(("builds", "launched", "outcome", "pays"), COUNTS)
def test_counts(builds: list[str], launched: str, outcome: Outcome, pays: bool) -> None:
    assert isolate(profile(builds, launched), defs("scale")) == outcome
    assert outcome.pays is pays
    assert choose(profile(builds, launched), defs("scale")) == (defs("scale") if pays else set())


def test_each_block_size_counts() -> None:
    outcome = isolate(profile(["base", "base scale/1", "base scale/2"], "base scale", (1, 64)), defs("scale"))
    assert outcome == Outcome(6, 6, 20, 12)


def test_a_kernel_that_is_never_built() -> None:
    assert isolate(profile(["base"], "base"), defs("scale")) is None
    assert choose(profile(["base"], "base"), defs("scale")) == set()


def test_only_those_that_change() -> None:
    """``early`` captures something, but is in every build alike: apart it would be a build more."""
    run = profile(["early/1 base", "early/1 base scale/1", "early/1 base scale/2"], "early base scale")
    assert choose(run, defs("scale early")) == defs("scale")


def test_what_another_fix_settles_causes_no_build() -> None:
    """``late`` is hoisted: then the module is built once for it, and once more for ``scale``."""
    run = profile(["base", "base late scale/1"], "base late scale")
    assert isolate(run, defs("scale")) == Outcome(2, 3, 8, 8)
    assert isolate(run, defs("scale"), defs("late")) == Outcome(2, 2, 10, 6)


# ---- the plan


def isolating(name: str, applicability: Applicability = Applicability.MEASURED) -> Finding:
    rename = KernelRename(FILE, name, name, name, name)
    fix = Fix(applicability, f"isolate {name}", {}, (rename,), unproved="only a measurement can say whether it pays")
    return Finding(
        "WF102", "specialised-kernel", FILE, 10, 1, 10, 2, name, "advice", name, fix, data={"isolates": "app"}
    )


def planned(findings: Sequence[Finding], run: Profile | None, verify: bool = True, unsafe: bool = False) -> list[str]:
    plan = make_plan(findings, {}, PlanSettings(verify, unsafe), run)
    assert len(plan.kept) + len(plan.dropped) == len(findings)
    return [*(one.fix.summary for one in plan.kept), *(one.reason for one in plan.dropped)]


def test_never_without_a_profile() -> None:
    (reason,) = planned([isolating("scale")], None, verify=False, unsafe=True)
    assert "only a measurement" in reason and "--verify" in reason


def test_kept_where_it_pays() -> None:
    run = profile(["base", "base scale/1", "base scale/2"], "base scale")
    assert planned([isolating("scale")], run) == ["isolate scale"]
    assert planned([isolating("scale")], run, verify=False) == ["isolate scale"]


def test_left_where_it_would_multiply_builds() -> None:
    (reason,) = planned([isolating("scale")], profile(["base scale/1 scale/2"], "base scale"))
    assert "3 modules in place of 1" in reason


def test_left_where_it_is_built_no_more_often_or_never() -> None:
    (reason,) = planned([isolating("scale")], profile(["scale/1", "scale/2"], "scale"))
    assert "no more often" in reason
    (reason,) = planned([isolating("other")], profile(["scale/1", "scale/2"], "scale"))
    assert "never builds `other`" in reason
