"""For CUDA the code invariant rests on machine code; generated code is compared beside it, and its word is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from warpfix.measure.profile import Run
from warpfix.verify.compare import Expected, compare
from warpfix.verify.verdict import Check, Outcome

from .make import K, cold


def cuda(run: Run, machine: Mapping[str, str | None]) -> Run:
    """The run on sm_90. ``machine``: kernel to its machine code ("f" or "f b"; None: it could not be read)."""
    processes = []
    for process in run.processes:
        loads = []
        for load in process.loads:
            kernels = []
            for kernel in load.kernels:
                text = machine.get(kernel.definition.qualname, "f b")
                parts = dict(zip(("forward", "backward"), text.split(), strict=False)) if text else {}
                kernels.append(replace(kernel, machine_code=parts))
            loads.append(replace(load, target="sm_90", device="cuda:0", kernels=tuple(kernels)))
        signatures = tuple(replace(one, device="cuda:0") for one in process.launches.signatures)
        launches = replace(process.launches, signatures=signatures)
        processes.append(replace(process, loads=tuple(loads), launches=launches))
    return replace(run, processes=tuple(processes))


def code(before: Run, after: Run, expected: Expected | None = None) -> Check:
    verdict = compare([before, before], [after], expected or Expected())
    return next(check for check in verdict.checks if check.invariant == "code")


def test_equal_machine_code_is_what_the_claim_rests_on() -> None:
    run = cuda(cold(K("a"), K("b")), {})
    check = code(run, run)
    assert check.outcome is Outcome.HELD
    assert check.message == "forward and backward code of 2 launched kernels equal (machine code, bit for bit)"


def test_machine_code_decides_where_only_the_text_differs() -> None:
    check = code(cuda(cold(K("a"), K("b")), {}), cuda(cold(K("a", code="other text"), K("b")), {}))
    assert check.outcome is Outcome.HELD
    assert "the generated code of `a` (app.py) is another, and compiles to the same" in check.message


def test_equal_text_and_other_machine_code_is_broken() -> None:
    check = code(cuda(cold(K("a"), K("b")), {}), cuda(cold(K("a"), K("b")), {"b": "f2 b"}))
    assert check.outcome is Outcome.BROKEN
    assert check.message.startswith("forward code of `b` (app.py) is another (its machine code, although")


def test_only_the_backward_part() -> None:
    check = code(cuda(cold(K("a")), {}), cuda(cold(K("a")), {"a": "f b2"}))
    assert check.message.startswith("backward code of `a` (app.py) is another (its machine code")


def test_both_differ() -> None:
    check = code(cuda(cold(K("a")), {}), cuda(cold(K("a", code="other")), {"a": "f2 b"}))
    assert check.outcome is Outcome.BROKEN
    assert "a constant, a statement or a called function changed" in check.message


def test_machine_code_that_could_not_be_read_is_said() -> None:
    # Not taken from the other side, although the hash is the same: then there would be nothing to compare.
    check = code(cuda(cold(K("a")), {}), cuda(cold(K("a")), {"a": None}))
    assert check.outcome is Outcome.HELD
    assert "machine code could not be read on both sides" in check.message


def test_a_cached_load_has_the_code_of_the_build_with_its_hash() -> None:
    built = cuda(cold(K("a")), {})
    warm = replace(cuda(cold(K("a"), builds=0), {"a": None}), state="warm")
    verdict = compare([built, warm], [built, warm])
    check = next(check for check in verdict.checks if check.invariant == "code")
    assert check.message.endswith("(machine code, bit for bit)")


def test_the_cpu_beside_cuda() -> None:
    both = cuda(cold(K("a")), {})
    host = cold(K("a"))
    mixed = replace(both, processes=both.processes + host.processes)
    assert "generated code for the CPU" in code(mixed, mixed).message


def about(option: str) -> Expected:
    return Expected(options=frozenset({option}))


def test_without_adjoints_the_forward_part_is_equal() -> None:
    after = cold(K("a", backward="", options={"enable_backward": False}))
    check = code(cuda(cold(K("a")), {}), cuda(after, {"a": "f"}), about("enable_backward"))
    assert (check.outcome, check.message) == (
        Outcome.HELD,
        "forward code of 1 launched kernel equal (machine code, bit for bit)",
    )
    check = code(cuda(cold(K("a")), {}), cuda(after, {"a": "f2"}), about("enable_backward"))
    assert check.outcome is Outcome.BROKEN
    after = cold(K("a", options={"enable_backward": False}))
    check = code(cuda(cold(K("a")), {}), cuda(after, {"a": "f b2"}), about("enable_backward"))
    assert check.message == "backward code of `a` (app.py) is another, not merely left out"


def test_without_the_precompiled_header_all_is_equal() -> None:
    after = cold(K("a", options={"use_precompiled_headers": False}))
    expected = about("use_precompiled_headers")
    assert code(cuda(cold(K("a")), {}), cuda(after, {}), expected).outcome is Outcome.HELD
    assert code(cuda(cold(K("a")), {}), cuda(after, {"a": "f2 b"}), expected).outcome is Outcome.BROKEN


def test_an_option_that_may_change_code_names_where_it_does() -> None:
    before = cuda(cold(K("a"), K("b")), {})
    after = cold(K("a", options={"fast_math": True}), K("b", options={"fast_math": True}))
    check = code(before, cuda(after, {"b": "f2 b"}), about("fast_math"))
    assert check.outcome is Outcome.UNVERIFIED
    assert check.message == (
        "the change is about fast_math, and how that changes code can't be checked; it is another in `b` (app.py)"
    )
    assert code(before, cuda(after, {}), about("fast_math")).outcome is Outcome.HELD
