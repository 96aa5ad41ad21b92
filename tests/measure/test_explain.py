"""Causes and effects from hand-made events: what is rare, or races, in real programs."""

from __future__ import annotations

from typing import Any

import pytest

from warpfix.measure.causes import Explainer, option_writes, type_words


def load(start: float = 0.0, end: float = 10.0, **changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = {
        "e": "load",
        "module": "app",
        "hash": "aa",
        "target": "cpu",
        "block_dim": 1,
        "outcome": "compiled",
        "options": {},
        "kernels": [],
        "start": start,
        "end": end,
        "thread": 0,
        "paid": ["/p/app.py", 3, "main"],
    }
    return {**event, **changes}


def kinds(*events: dict[str, Any]) -> list[str]:
    explainer = Explainer()
    return [explainer.explain(event).kind for event in events]


def test_threads_that_load_at_the_same_time_lost_no_cache() -> None:
    assert kinds(load(0, 10, thread=1), load(5, 20, thread=2)) == ["first-load", "concurrent"]
    assert kinds(load(0, 10, thread=1), load(12, 20, thread=2)) == ["first-load", "cache-lost"]
    assert kinds(load(0, 10, thread=1), load(12, 20, thread=1, outcome="cached")) == ["first-load", "cache-lost"]


def test_a_failed_build_of_which_warp_forgot_the_hash() -> None:
    failed = load(outcome="failed", kernels=[kernel()])
    assert kinds(failed, load(hash="", outcome="failed"))[1] == "previous-failed"


def kernel(**changes: Any) -> dict[str, Any]:
    return {"key": "k", "qualname": "k", "path": "/p/pkg/app.py", "line": 9, "sig": "", "hash": "11", **changes}


def test_a_main_file_that_is_imported_too() -> None:
    main = load(module="__main__", kernels=[kernel()])
    explainer = Explainer()
    assert explainer.explain(main).kind == "first-load"
    cause = explainer.explain(load(module="pkg.app", kernels=[kernel()]))
    assert cause.kind == "imported-twice"
    assert cause.text.startswith("app.py runs twice, as __main__ and as pkg.app")
    assert cause.line is not None and (cause.line.path, cause.line.line) == ("/p/pkg/app.py", 9)


def test_no_file_runs_twice_because_a_factory_names_another_module() -> None:
    closure = kernel(qualname="make.<locals>.k")
    assert kinds(load(module="__main__", kernels=[closure]), load(module="k_1234abcd", kernels=[closure]))[1] == (
        "first-load"
    )
    # A unique kernel of the main file, and one whose module has a name of its own.
    for other in ("k_1234abcd", "solver"):
        assert kinds(load(module="__main__", kernels=[kernel()]), load(module=other, kernels=[kernel()]))[1] == (
            "first-load"
        )


def test_what_changed_and_changed_back_lost_no_cache() -> None:
    def made(value: str, outcome: str, **changes: Any) -> dict[str, Any]:
        constants = {"factor": value}
        return load(hash=value, outcome=outcome, kernels=[kernel(hash=value, constants=constants)], **changes)

    events = [made("1", "compiled"), made("2", "compiled"), made("1", "cached"), made("2", "cached")]
    assert kinds(*events) == ["first-load", "constant-changed", "constant-changed", "constant-changed"]
    events = [made("1", "compiled"), made("2", "compiled"), made("1", "compiled")]
    assert kinds(*events)[-1] == "cache-lost"


def test_a_file_that_ran_again_is_named_with_the_line_that_ran_it() -> None:
    explainer = Explainer()
    explainer.explain(load(kernels=[kernel(functions={"f": "1"})]))
    explainer.see({"e": "remade", "module": "app", "key": "k", "by": ["/p/main.py", 5, "main"]})
    cause = explainer.explain(load(hash="bb", kernels=[kernel(hash="22", functions={"f": "2"})]))
    assert cause.kind == "function-changed"
    assert cause.text == "a function that kernel k calls changed: f (app.py ran again at main.py:5)"
    assert cause.data["registered"] == "/p/main.py:5"


def test_options_of_a_module_that_never_loads_reach_nothing() -> None:
    event = {"e": "option", "via": "set_module_options", "module": "stages", "option": "fast_math", "t": 5.0}
    (write,) = option_writes([{**event, "old": False, "new": True, "line": ["/p/stages.py", 3, "f"]}], [])
    assert (write.effect, write.missed) == ("none", ())
    (write,) = option_writes([{**event, "old": True, "new": True, "line": None}], [])
    assert write.effect == "same-value"


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        ("a1f8", "array of float64"),
        ("a2v3f4_f4", "array2d of vec3 of float32, float32"),
        ("m33f2_qf4_tf4", "mat3x3 of float16, quat of float32, transform of float32"),
        ("b1_i4_u8", "bool, int32, uint64"),
        ("s12abc_?", "s12abc, ?"),
    ],
)
def test_types_in_words(signature: str, words: str) -> None:
    assert type_words(signature) == words
