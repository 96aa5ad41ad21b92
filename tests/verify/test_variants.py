"""Kept variants of one kernel share a build, and each launch is of one of them: told by the kernel's hash."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warpfix.measure.profile import ProcessRun, Run
from warpfix.verify.compare import compare
from warpfix.verify.verdict import Outcome

from .make import K, process, run


def shared(launched: tuple[str, ...]) -> Run:
    """One module that holds the variants ``1`` and ``2`` of ``scale``, launched in this order."""
    made = process([K("scale", dim=(n + 1,)) for n, _ in enumerate(launched)], together=True)
    (load,) = made.loads
    kernels = tuple(replace(load.kernels[0], forward_code=f"times {one}", variant=one) for one in ("1", "2"))
    return run(_variants(replace(made, loads=(replace(load, kernels=kernels),)), launched))


def apart(launched: tuple[str, ...]) -> Run:
    """The same, each variant in a module of its own."""
    made = process([K("scale", dim=(n + 1,), module=f"scale_{one}") for n, one in enumerate(launched)])
    loads = tuple(
        replace(load, kernels=(replace(load.kernels[0], forward_code=f"times {load.module[-1]}", variant="another"),))
        for load in made.loads
    )
    return run(_variants(replace(made, loads=loads), ("another",) * len(launched)))


def _variants(made: ProcessRun, launched: tuple[str, ...]) -> ProcessRun:
    pairs = zip(made.launches.signatures, launched, strict=True)
    signatures = tuple(replace(signature, variant=one) for signature, one in pairs)
    return replace(made, launches=replace(made.launches, signatures=signatures))


@pytest.mark.parametrize("launched", [("1", "2"), ("2", "1"), ("1", "1")])
def test_each_launch_has_the_code_of_its_variant(launched: tuple[str, ...]) -> None:
    verdict = compare([shared(launched)] * 2, [apart(launched)] * 2)
    assert {check.invariant: check.outcome for check in verdict.checks}["code"] is Outcome.HELD


def test_another_variant_is_other_code() -> None:
    verdict = compare([shared(("1", "2"))] * 2, [apart(("1", "1"))] * 2)
    assert {check.invariant: check.outcome for check in verdict.checks}["code"] is Outcome.BROKEN


def test_a_report_from_before_there_were_variants() -> None:
    """Nothing says which one it was: the newest is taken, on both sides."""
    old = shared(("", ""))
    assert {check.outcome for check in compare([old] * 2, [old] * 2).checks} <= {Outcome.HELD, Outcome.MISSING}
