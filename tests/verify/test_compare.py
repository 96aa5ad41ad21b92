"""Comparing runs: each invariant, the baseline against itself, and the words for the first difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from warpfix.findings import KernelRename
from warpfix.verify.compare import ORIGINAL, Expected, compare, compare_stdout, program_output
from warpfix.verify.verdict import Check, Outcome, Status, Verdict

from .make import FILE, K, cold, process, run

A, B, C = K("a"), K("b"), K("c")


def outcome(verdict: Verdict, invariant: str) -> Outcome:
    return next(check.outcome for check in verdict.checks if check.invariant == invariant)


def message(verdict: Verdict, invariant: str) -> str:
    return next(check.message for check in verdict.checks if check.invariant == invariant)


def form(verdict: Verdict, invariant: str) -> str:
    return next(check.form for check in verdict.checks if check.invariant == invariant)


# What holds.


def test_equal_runs_hold_everywhere_and_gain_nothing() -> None:
    verdict = compare([cold(A, B), cold(A, B)], [cold(A, B), cold(A, B)])
    assert verdict.status is Status.NO_GAIN
    assert {outcome(verdict, name) for name in ("launches", "options", "code")} == {Outcome.HELD}


def test_fewer_builds_are_good() -> None:
    verdict = compare([cold(A, B), cold(A, B)], [cold(A, B, builds=1), cold(A, B, builds=1)])
    assert verdict.status is Status.GOOD
    assert verdict.gains[0] == "builds 2 -> 1"


def test_a_rename_is_followed() -> None:
    old, new = K("make.<locals>.scale"), K("scale")
    rename = KernelRename(FILE, old.name, "scale", "make__locals__scale", "scale")
    assert outcome(compare([cold(old)], [cold(new)], Expected(renames=[rename])), "launches") is Outcome.HELD
    assert outcome(compare([cold(old)], [cold(new)]), "launches") is Outcome.BROKEN


def test_the_same_load_in_another_module_is_the_same_code() -> None:
    before = [cold(A, replace(B, module="unique_b"))] * 2
    after = [cold(replace(A, module="app.kernels"), replace(B, module="app.kernels"))] * 2
    assert compare(before, after).status is Status.NO_GAIN


def test_a_relaunch_after_a_rebuild_is_the_same_launch() -> None:
    before = [cold(A, replace(A, hash="later"), A)] * 2
    verdict = compare(before, [cold(A, A, A)] * 2)
    assert verdict.status is Status.GOOD


def test_a_shorter_key_is_no_gain() -> None:
    old, new = K("make.<locals>.scale"), K("scale")
    rename = KernelRename(FILE, old.name, "scale", "make__locals__scale", "scale")
    before, after = [cold(old, source_bytes=9000)] * 2, [cold(new, source_bytes=8000)] * 2
    assert compare(before, after, Expected(renames=[rename])).status is Status.NO_GAIN


def test_the_line_and_the_key_do_not_matter() -> None:
    one = cold(A)
    moved = replace(one.processes[0].launches.signatures[0].kernel, line=99)
    signature = replace(one.processes[0].launches.signatures[0], kernel=moved)
    log = replace(one.processes[0].launches, signatures=(signature,))
    assert outcome(
        compare([one], [replace(one, processes=(replace(one.processes[0], launches=log),))]), "launches"
    ) is (Outcome.HELD)


def test_cached_loads_take_their_code_from_the_build_with_their_hash() -> None:
    warm = run(process([replace(A, code="", hash="h")], builds=0), state="warm")
    load = warm.processes[0].loads[0]
    bare = replace(load, kernels=(replace(load.kernels[0], forward_code="", backward_code=""),))
    warm = replace(warm, processes=(replace(warm.processes[0], loads=(bare,)),))
    both = [cold(replace(A, hash="h")), warm]
    assert outcome(compare(both, both), "code") is Outcome.HELD
    assert outcome(compare([warm], [warm]), "code") is Outcome.UNVERIFIED


# What is broken, and its words.


@pytest.mark.parametrize(
    ("after", "invariant", "words"),
    [
        pytest.param([B, A], "launches", "launch 1 was `a` (app.py)", id="reordered"),
        pytest.param([A, B, B], "launches", "launch 3 is new after: `b`", id="one more"),
        pytest.param([A], "launches", "launch 2 is missing after: `b`", id="one less"),
        pytest.param([replace(A, dim=(65,)), B], "launches", "over (65,)", id="dim"),
        pytest.param([replace(A, dtypes=("float64",)), B], "launches", "float64", id="dtype"),
        pytest.param([replace(A, block_dim=64), B], "launches", "block_dim 64", id="block_dim"),
        pytest.param([A, replace(B, adjoint=True)], "launches", "adjoint", id="adjoint"),
        pytest.param([C, B], "launches", "is `c` (app.py)", id="another kernel"),
        pytest.param([replace(A, options={"fast_math": True}), B], "options", "fast_math of `a`", id="option"),
        pytest.param([A, replace(B, code="other")], "code", "forward code of `b` (app.py) is another", id="code"),
        pytest.param([A, replace(B, backward="")], "code", "`b` (app.py) has lost its backward code", id="backward"),
        pytest.param([A, replace(B, backward="x")], "code", "backward code of `b`", id="other backward"),
    ],
)
def test_a_difference_is_told(after: list[K], invariant: str, words: str) -> None:
    verdict = compare([cold(A, B), cold(A, B)], [cold(*after)])
    assert verdict.status is Status.INVALID
    assert [check.invariant for check in verdict.broken] == [invariant]
    assert words in verdict.reason()


def test_old_and_new_value_of_an_option_are_told() -> None:
    verdict = compare([cold(A)], [cold(replace(A, options={"fast_math": True}))])
    assert message(verdict, "options") == "fast_math of `a` (app.py) at launch 1 was False, and is True"


def test_a_kernels_own_option_overrides_the_modules() -> None:
    own = replace(A, options={"enable_backward": False}, kernel_options={"enable_backward": True})
    assert outcome(compare([cold(A)], [cold(own)]), "options") is Outcome.HELD


def test_options_and_code_are_told_apart_from_launches() -> None:
    changed = [replace(B, code="other"), replace(A, options={"fast_math": True})]
    verdict = compare([cold(A, B)], [cold(*changed)])
    assert message(verdict, "options").startswith("fast_math of `a`")
    assert message(verdict, "code").startswith("forward code of `b`")


def test_a_process_that_is_gone_is_told() -> None:
    two = run(process([A]), process([B], argv=("python", "-m", "child", "17")))
    verdict = compare([two], [run(process([A]))])
    assert verdict.reason() == "launches: the process `python -m child N` ran Warp before and does not after"


def test_a_program_that_fails_is_told_first() -> None:
    verdict = compare([cold(A, B)] * 2, [run(process([A]), status=1)])
    assert verdict.reason() == "program: exit status was 0, and is 1"
    assert {check.invariant for check in verdict.broken} == {"launches", "program"}


def test_a_build_that_fails_after_the_change() -> None:
    failed = cold(A)
    load = replace(failed.processes[0].loads[0], outcome="failed")
    failed = replace(failed, processes=(replace(failed.processes[0], loads=(load,)),))
    assert "does not build any more" in message(compare([cold(A)], [failed]), "program")


# A fix about an option.


def test_the_option_that_the_fix_is_about_may_differ() -> None:
    after = replace(A, options={"enable_backward": False}, backward="")
    verdict = compare([cold(A)] * 2, [cold(after, source_bytes=400)], Expected(options=frozenset({"enable_backward"})))
    assert verdict.status is Status.GOOD
    assert "forward code" in message(verdict, "code")


@pytest.mark.parametrize(
    ("after", "words"),
    [
        pytest.param(replace(A, code="other", backward=""), "forward code", id="forward changed"),
        pytest.param(replace(A, backward="other"), "not merely left out", id="another backward"),
        pytest.param(replace(A, adjoint=True, backward=""), "adjoint", id="adjoint launched"),
    ],
)
def test_enable_backward_leaves_all_else_alone(after: K, words: str) -> None:
    verdict = compare([cold(A)] * 2, [cold(after)], Expected(options=frozenset({"enable_backward"})))
    assert verdict.status is Status.INVALID
    assert words in verdict.reason()


def test_an_adjoint_launch_needs_its_backward_code() -> None:
    before, after = replace(A, adjoint=True), replace(A, adjoint=True, backward="")
    verdict = compare([cold(before)] * 2, [cold(after)], Expected(options=frozenset({"enable_backward"})))
    assert outcome(verdict, "code") is Outcome.BROKEN


def test_another_option_can_not_claim_changed_code() -> None:
    after = replace(A, code="unrolled", options={"max_unroll": 1})
    verdict = compare([cold(A)] * 2, [cold(after)], Expected(options=frozenset({"max_unroll"})))
    assert verdict.status is Status.UNVERIFIED


# A/A: what the baseline does not repeat is no evidence.


def test_order_that_the_baseline_does_not_keep() -> None:
    verdict = compare([cold(A, B), cold(B, A)], [cold(B, A)])
    assert (outcome(verdict, "launches"), form(verdict, "launches")) == (Outcome.HELD, "by count")
    assert compare([cold(A, B), cold(B, A)], [cold(B, B)]).status is Status.INVALID


def test_order_within_threads() -> None:
    one = [replace(A, thread=0), replace(B, thread=0), replace(C, thread=1)]
    before = [cold(*one), cold(one[2], one[0], one[1])]
    verdict = compare(before, [cold(one[0], one[2], one[1])])
    assert form(verdict, "launches") == "in order in each thread"
    assert compare(before, [cold(one[1], one[2], one[0])]).status is Status.INVALID


def test_processes_that_share_the_work() -> None:
    def two(first: list[K], second: list[K]) -> list[K]:
        return [*first, *second]

    before = [run(process([A, A]), process([B])), run(process([A]), process([A, B]))]
    verdict = compare(before, [run(process([B]), process([A, A]))])
    assert form(verdict, "launches") == "by count over all processes"


def test_counts_that_the_baseline_does_not_repeat() -> None:
    before = [cold(A, B), cold(A, B, B)]
    assert form(compare(before, [cold(A, B, B, B)]), "launches") == "as a set"
    assert compare(before, [cold(A, B, C)]).status is Status.INVALID


def test_a_baseline_that_differs_even_as_a_set() -> None:
    verdict = compare([cold(A), cold(B)], [cold(A)])
    assert verdict.status is Status.UNVERIFIED


def test_one_baseline_run_is_noted() -> None:
    assert any("could not be compared with itself" in note for note in compare([cold(A)], [cold(A)]).notes)


def test_runs_stopped_by_the_clock_are_compared_up_to_the_shortest() -> None:
    def stopped(*launches: K) -> object:
        return run(process(launches), stopped_by="stop-after-seconds")

    verdict = compare([stopped(A, B, A), stopped(A, B)], [stopped(A, B, A, B)])  # type: ignore[list-item]
    assert outcome(verdict, "launches") is Outcome.HELD
    assert "shortest" in form(verdict, "launches")
    verdict = compare([stopped(A, B, A), stopped(A, B)], [stopped(A, A, A)])  # type: ignore[list-item]
    assert outcome(verdict, "launches") is Outcome.BROKEN


def test_launches_beyond_the_recorded_prefix_count() -> None:
    def long(extra: int) -> object:
        made = process([A, B])
        log = replace(made.launches, total=2 + extra, counts={0: 1 + extra, 1: 1})
        return run(replace(made, launches=log))

    assert outcome(compare([long(5)], [long(5)]), "launches") is Outcome.HELD  # type: ignore[list-item]
    assert outcome(compare([long(5)], [long(6)]), "launches") is Outcome.BROKEN  # type: ignore[list-item]


# The program.


def test_exit_status(tmp_path: Path) -> None:
    verdict = compare([run(process([A]))], [run(process([A]), status=3)])
    assert verdict.reason() == "program: exit status was 0, and is 3"


def test_stdout(tmp_path: Path) -> None:
    def out(text: str) -> object:
        return run(process([A]), stdout=text, folder=tmp_path)

    same = compare([out("x\n"), out("x\n")], [out("x\n")])  # type: ignore[list-item]
    assert outcome(same, "program") is Outcome.HELD
    other = compare([out("x\ny 1\n")] * 2, [out("x\ny 2\n")])  # type: ignore[list-item]
    assert other.reason() == "program: stdout: line 2 was 'y 1', and is 'y 2'"
    accepted = compare([out("x\n")], [out("y\n")], Expected(accept_stdout=True))  # type: ignore[list-item]
    assert outcome(accepted, "program") is Outcome.HELD and "--accept-stdout" in message(accepted, "program")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(["a\nt 1.2\n", "a\nt 1.3\n"], "a\nt 9e-3\n", Outcome.HELD, id="a time"),
        pytest.param(["a\nt 1.2\n", "a\nt 1.3\n"], "b\nt 1.2\n", Outcome.BROKEN, id="a time, another line"),
        pytest.param(["a\nt 1.2\n", "a\nt 1.3\n"], "a\nu 1.2\n", Outcome.BROKEN, id="other words around a time"),
        pytest.param(["a\nt 1.2\n", "a\nt 1.3\n"], "a\n", Outcome.BROKEN, id="a line less"),
        pytest.param(["a\nred\n", "a\nblue\n"], "a\ngreen\n", Outcome.HELD, id="a word that varies"),
        pytest.param(["red\n", "blue\n"], "green\n", Outcome.UNVERIFIED, id="nothing repeats"),
        pytest.param(["a\nb\n", "b\na\n"], "a\nb\n", Outcome.UNVERIFIED, id="swapped lines, each varies"),
        pytest.param(["a\n.\n", "a\n.\n.\n"], "a\n.\n.\n.\n", Outcome.HELD, id="a varying number of lines"),
        pytest.param(["a\n.\n", "a\n.\n.\n"], "b\n.\n", Outcome.BROKEN, id="a line that all print is gone"),
        pytest.param(["x\n", "x\n"], "x\r\n", Outcome.BROKEN, id="line endings"),
    ],
)
def test_stdout_is_compared_as_far_as_the_baseline_repeats_it(before: list[str], after: str, expected: Outcome) -> None:
    assert compare_stdout(before, [after]).outcome is expected


def test_warps_own_lines_are_not_the_programs(tmp_path: Path) -> None:
    lines = ("Warp 1.19.0 initialized:", "Module app 12 load took 3 ms", "Module app 34 load took 4 ms")
    text = "Warp 1.19.0 initialized:\nhello Module app 12 load took 3 ms\nthere\nModule app 34 load took 4 ms\nend"
    made = run(process([A], warp_output_lines=lines), stdout=text, folder=tmp_path)
    assert program_output(made) == "hello there\nend"


def test_lines_that_warp_prints_from_cpp_are_not_the_programs(tmp_path: Path) -> None:
    text = (
        "one\nWarp: Generating precompiled header: /tmp/a.pch\nWarp: Precompiled header generated successfully\n"
        "Warp: Using existing precompiled header: /tmp/a.pch\nWarp: my own title\n"
    )
    assert program_output(run(process([A]), stdout=text, folder=tmp_path)) == "one\nWarp: my own title\n"


# The text that ran, and the probe.


def test_each_file_must_have_run_as_edited() -> None:
    expected = Expected(overlaid={"/p/a.py": "1"})
    ran = run(process([A], overlaid={"/p/a.py": "1"}))
    assert outcome(compare([cold(A)], [ran], expected), "text") is Outcome.HELD
    assert compare([cold(A)], [cold(A)], expected).status is Status.UNVERIFIED
    for digest in ("2", ORIGINAL):
        halves = run(process([A], overlaid={"/p/a.py": "1"}), process([], overlaid={"/p/a.py": digest}))
        verdict = compare([cold(A)], [halves], expected)
        assert verdict.status is Status.INVALID and "served by halves" in verdict.reason()


def test_a_fault_of_the_probe_is_no_proof() -> None:
    verdict = compare([cold(A)], [cold(A, builds=0, errors=("launch: KeyError",))])
    assert verdict.status is Status.UNVERIFIED and "fault" in verdict.reason()


# The verdict.


def test_checks_made_elsewhere_count() -> None:
    broken = Check("interface", Outcome.BROKEN, "app.py has lost the name f")
    verdict = compare([cold(A, B)], [cold(A, B, builds=1)], checks=[broken])
    assert verdict.reason() == "interface: app.py has lost the name f"


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        pytest.param((2, 1200, [100, 101]), (1, 1200, [99, 100]), Status.GOOD, id="fewer builds"),
        pytest.param((2, 1200, [100, 101]), (2, 900, [99, 102]), Status.GOOD, id="fewer bytes"),
        pytest.param((2, 1200, [100, 101]), (2, 1198, [99, 102]), Status.NO_GAIN, id="a few bytes less"),
        pytest.param((2, 1200, [100, 101, 102]), (2, 1200, [50, 51, 52]), Status.GOOD, id="time beyond the noise"),
        pytest.param((2, 1200, [100, 101]), (2, 1200, [50, 51]), Status.NO_GAIN, id="two samples tell nothing"),
        pytest.param((2, 1200, [100, 120, 140]), (2, 1200, [90, 110, 130]), Status.NO_GAIN, id="inside the noise"),
        pytest.param((2, 1200, [100, 101, 102]), (2, 1200, [150, 151, 152]), Status.NO_GAIN, id="slower"),
        pytest.param((2, 1200, [100, 101]), (3, 1200, [100, 101]), Status.NO_GAIN, id="more builds"),
        pytest.param((2, 1200, [100, 101, 102]), (3, 1200, [50, 51, 52]), Status.INCONCLUSIVE, id="more, yet faster"),
        pytest.param((2, 1200, [100, 101]), (1, 9000, [99, 102]), Status.INCONCLUSIVE, id="counts disagree"),
        pytest.param(
            (2, 1200, [100, 101, 102]), (1, 9000, [50, 51, 52]), Status.GOOD, id="time decides between counts"
        ),
        pytest.param((2, 1200, [100, 101]), (1, 1200, [150, 151]), Status.GOOD, id="a slow machine is no veto"),
    ],
)
def test_what_earns_its_place(
    before: tuple[int, int, list[int]], after: tuple[int, int, list[int]], status: Status
) -> None:
    def arm(builds: int, size: int, times: list[int]) -> list[object]:
        launches = [K(str(number), hash=str(number)) for number in range(3)]
        return [
            cold(*launches, builds=builds, source_bytes=size // builds, module_ms=time / 3, argv=("x",))
            for time in times
        ]

    assert compare(arm(*before), arm(*after)).status is status  # type: ignore[arg-type]
