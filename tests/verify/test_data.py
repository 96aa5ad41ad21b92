"""What launches left in their arrays: two runs compared, the baseline with itself first."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from dataclasses import replace

import pytest
from warpfix.probe.data import CHECKPOINT, EVERY

from warpfix.findings import KernelRename
from warpfix.measure.profile import DataLog, Deviation, ProcessRun, Run, Sample, SourceLine
from warpfix.verify.compare import Expected, compare, first_difference
from warpfix.verify.data import distance
from warpfix.verify.verdict import Check, Outcome, Status

from .make import FILE, K, cold, process, run

NAMES = ("x", "s.y")


def digested(made: Sequence[K], values: Sequence[tuple[int, ...]], **changes: object) -> Run:
    """A run of one process in which each launch left the given words in its arrays."""
    return run(with_data(process(made), values, **changes))


def with_data(one: ProcessRun, values: Sequence[tuple[int, ...]], **changes: object) -> ProcessRun:
    words = array("I")
    for signature, some in zip(one.launches.sequence, values, strict=True):
        words.extend((signature, *some))
    signatures = tuple(replace(s, line=SourceLine(FILE, 31 + s.id)) for s in one.launches.signatures)
    log = DataLog(len(values), repr(values), words.tobytes(), {s.id: NAMES for s in signatures})
    return replace(
        one,
        launches=replace(one.launches, signatures=signatures),
        data=replace(log, **changes),  # type: ignore[arg-type]
    )


def data(before: Sequence[Run], after: Sequence[Run], expected: Expected | None = None) -> Check:
    verdict = compare(before, after, expected or Expected())
    return next(check for check in verdict.checks if check.invariant == "data")


THREE = (K("a"), K("b"), K("a"))
VALUES = [(1, 2), (3, 4), (5, 6)]
BASE = digested(THREE, VALUES)


def test_nothing_is_said_where_nobody_asked() -> None:
    plain = cold(*THREE)
    assert "data" not in {check.invariant for check in compare([plain, plain], [plain]).checks}


def test_one_side_only() -> None:
    check = data([BASE, BASE], [cold(*THREE)])
    assert (check.outcome, check.message) == (
        Outcome.MISSING,
        "the arrays of launches were digested on one side only",
    )


def test_equal() -> None:
    check = data([BASE, BASE], [BASE])
    assert check.outcome is Outcome.HELD
    assert check.message == "the arrays of 3 launches equal bit for bit, each time after the launch"


def test_the_first_launch_that_differs_is_named_and_nothing_is_proved() -> None:
    other = digested(THREE, [(1, 2), (3, 9), (7, 6)])
    verdict = compare([BASE, BASE], [other])
    assert verdict.status is Status.UNVERIFIED
    assert verdict.reason() == "data: launch 2 leaves other bits in `s.y` of `b` (app.py), launched at app.py:32"
    found = first_difference([BASE, BASE], [other], Expected())
    assert found is not None and (found.launch, found.array) == (1, "s.y")


def test_broken_code_is_said_first() -> None:
    other = digested((K("a"), K("b", code="other"), K("a")), [(1, 2), (3, 9), (7, 6)])
    verdict = compare([BASE, BASE], [other])
    assert verdict.status is Status.INVALID and verdict.reason().startswith("code:")


def test_an_array_that_differs_in_the_baseline_is_no_evidence() -> None:
    noisy = digested(THREE, [(1, 2), (3, 8), (5, 6)])
    check = data([BASE, noisy], [digested(THREE, [(1, 2), (3, 9), (5, 6)])])
    assert check.outcome is Outcome.HELD
    assert check.form == "without `s.y` of `b` (app.py), which differs between two runs of the baseline"
    check = data([BASE, noisy], [digested(THREE, [(1, 2), (9, 9), (5, 6)])])
    assert check.message.startswith("launch 2 leaves other bits in `x` of `b`")


def test_no_array_is_evidence() -> None:
    noisy = digested(THREE, [(7, 7), (7, 7), (7, 7)])
    check = data([BASE, noisy], [BASE])
    assert (check.outcome, check.message) == (
        Outcome.UNVERIFIED,
        "no array is the same in two runs of the baseline: nothing to compare",
    )


def test_one_run_of_the_baseline_is_said() -> None:
    assert data([BASE], [BASE]).form == "with one run of the baseline, which could not be compared with itself"


def test_a_kernel_that_moved() -> None:
    after = digested((K("moved"), K("b"), K("moved")), VALUES)
    expected = Expected(renames=[KernelRename(FILE, "a", "moved", "a", "moved")])
    assert data([BASE, BASE], [after], expected).outcome is Outcome.HELD


def test_another_order() -> None:
    after = digested((K("b"), K("a"), K("a")), VALUES)
    check = data([BASE, BASE], [after])
    assert (check.outcome, check.message) == (
        Outcome.UNVERIFIED,
        "arrays can't be compared: launch 1 is of another kernel",
    )
    check = data([BASE, after], [BASE])
    assert check.outcome is Outcome.UNVERIFIED
    assert check.message.startswith("two runs of the baseline can't be compared launch by launch")


def test_a_log_that_was_cut() -> None:
    """A process that was stopped from outside has not written its last launches."""
    one = replace(BASE, stopped_by="stop-after-seconds")
    log = BASE.processes[0].data
    assert log is not None
    cut = replace(log, launches=-1, digest="", words=log.words[:-6])
    short = replace(one, processes=(replace(BASE.processes[0], data=cut),))
    check = data([one, one], [short])
    assert check.outcome is Outcome.HELD and "the arrays of 2 launches" in check.message


def beyond(*checkpoints: int, digest: str = "same") -> Run:
    words = array("I", (0, 1, 2))
    for value in checkpoints:
        words.extend((CHECKPOINT, value))
    launches = EVERY * len(checkpoints) + 10
    return digested([K("a")], [(1, 2)], words=words.tobytes(), launches=launches, digest=digest)


def test_beyond_the_recorded_launches_a_checkpoint_is_named() -> None:
    check = data([beyond(1, 2, 3)] * 2, [beyond(1, 2, 3)])
    assert check.outcome is Outcome.HELD and f"the arrays of {3 * EVERY + 10:,} launches" in check.message
    check = data([beyond(1, 2, 3)] * 2, [beyond(1, 9, 8, digest="other")])
    assert check.message == f"arrays differ, first in one of the 1,024 launches up to launch {2 * EVERY:,}"
    check = data([beyond(1, 2, 3)] * 2, [beyond(1, 2, 3, digest="other")])
    assert check.outcome is Outcome.UNVERIFIED and f"up to launch {3 * EVERY + 10:,}" in check.message


def test_what_was_not_looked_at_is_said() -> None:
    some = digested(THREE, VALUES, left_out={"replays of captured graphs": 12})
    assert data([some, some], [some]).message.endswith("; not looked at: 12 replays of captured graphs")


def test_no_launch_that_could_be_looked_at_is_no_proof() -> None:
    """All launches inside a captured graph, say."""
    nothing = {"launches": 0, "digest": "", "words": b"", "left_out": {"launches inside a graph capture": 3}}
    some = digested(THREE, VALUES, **nothing)
    check = data([some, some], [some])
    assert check.outcome is Outcome.UNVERIFIED
    assert check.message == "no launch's arrays were looked at: 3 launches inside a graph capture"


def test_times_of_such_runs_are_no_evidence() -> None:
    slow = [digested(THREE, VALUES) for _ in range(3)]
    fast = [replace(one, wall=0.1) for one in slow]
    verdict = compare(slow, fast)
    assert verdict.before.wall_s.samples == () and verdict.before.module_ms.samples == ()
    assert verdict.status is Status.NO_GAIN
    assert "times are left out: with --check-data they are those of reading every array" in verdict.notes


def floats(kind: str, *values: float) -> bytes:
    return struct.pack(f"<{len(values)}{kind}", *values)


@pytest.mark.parametrize(
    ("scalar", "before", "after", "words"),
    [
        pytest.param(
            "float32",
            floats("f", 1.0, 2.0, 3.0),
            floats("f", 1.0, 2.0000002, 3.0),
            "1 of the 3 values differ, the first at 1, by up to 1 ulp",
            id="one step",
        ),
        pytest.param(
            "float64",
            floats("d", 0.0, 5e-324),
            floats("d", -0.0, -5e-324),
            "2 of the 2 values differ, the first at 0, by up to 2 ulp",
            id="across zero; a zero of the other sign is no step",
        ),
        pytest.param(
            "float16",
            floats("e", 1.0),
            floats("e", float("nan")),
            "1 of the 1 values differ, the first at 0; they are no numbers on one side",
            id="not a number",
        ),
        pytest.param(
            "float32",
            floats("f", 1.0, float("nan")),
            floats("f", 1.0000001, 1.0),
            "2 of the 2 values differ, the first at 0, by up to 1 ulp, 1 are no number on one side",
            id="some are not",
        ),
        pytest.param(
            "int32",
            struct.pack("<2i", 5, -3),
            struct.pack("<2i", 5, 4),
            "1 of the 2 values differ, the first at 1, by up to 7",
            id="integers",
        ),
        pytest.param("", b"abcd", b"abxd", "1 of 4 bytes differ", id="structs"),
        pytest.param("float32", b"abcd", b"", "4 bytes before, 0 after", id="another size"),
    ],
)
def test_distance(scalar: str, before: bytes, after: bytes, words: str) -> None:
    one, two = Sample("x", scalar, before, True), Sample("x", scalar, after, True)
    assert distance([one], [two]) == f"`x`: {words}"
    assert distance([one], [one]) == ""


def test_distance_of_a_sample() -> None:
    one = Sample("x", "float32", floats("f", 1.0), False)
    assert distance([one], [one]) == "`x` is equal in its first 4 bytes"
    two = replace(one, data=floats("f", 2.0))
    assert distance([one], [two]).startswith("`x`: 1 of the first 1 values differ")


def test_what_the_emulated_device_runs_otherwise_is_no_evidence() -> None:
    deviation = Deviation("fast-math", "b_0123abcd", 1, None)
    emulated = replace(BASE, processes=(replace(BASE.processes[0], deviations=(deviation,)),))
    other = digested(THREE, [(1, 2), (9, 9), (5, 6)])
    check = data([emulated, emulated], [other])
    assert check.outcome is Outcome.HELD
    assert check.form == "without what `b` (app.py) wrote, which the emulated device runs otherwise"
    assert data([BASE, BASE], [other]).outcome is Outcome.UNVERIFIED
    both = replace(deviation, what="a_0123abcd")
    emulated = replace(BASE, processes=(replace(BASE.processes[0], deviations=(deviation, both)),))
    assert data([emulated, emulated], [other]).message == "no array is left to compare"
