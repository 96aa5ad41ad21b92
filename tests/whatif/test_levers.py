"""Which levers there are, how they are spelled, and for which profiles each is priced. No Warp."""

from __future__ import annotations

import json
from typing import Any

import pytest

from warpfix.errors import WarpfixError
from warpfix.measure.profile import (
    BuiltKernel,
    Cause,
    KernelDef,
    LaunchLog,
    LaunchSignature,
    Load,
    OptionWrite,
    ProcessRun,
    Profile,
    Run,
    SourceLine,
)
from warpfix.verify.compare import Expected, compare
from warpfix.whatif.ledger import FAILED, INAPPLICABLE, PRICED, REFUSED, Entry, Ledger, to_dict
from warpfix.whatif.levers import (
    CACHE,
    MODULE,
    OPTION,
    PRELOAD,
    Lever,
    adjoint_launches,
    defaults,
    entry_point,
    how,
    inapplicable,
    later_writes,
    parse,
    refused,
)
from warpfix.whatif.text import render

LINE = SourceLine("/p/app.py", 3)


def load(module: str = "app", **changes: Any) -> Load:
    kernel = BuiltKernel(KernelDef("scale", "scale", "/p/app.py", 7), "", {}, "f", "b", ingredients={"loops": 1})
    values: dict[str, Any] = {
        "id": 0,
        "module": module,
        "hash": "1" * 8,
        "device": "cpu",
        "target": "cpu",
        "block_dim": 1,
        "outcome": "compiled",
        "start": 0.0,
        "end": 10.0,
        "phases": {},
        "thread": 0,
        "kernels": (kernel,),
        "options": {"enable_backward": True, "enable_mathdx_gemm": True},
        "source_bytes": 100,
        "lto_artifacts": 0,
        "cause": Cause("first-load", "first use"),
        "paid_by": None,
    }
    return Load(**{**values, **changes})


def launch(module: str, adjoint: bool = False) -> LaunchSignature:
    kernel = KernelDef("scale", "scale", "/p/app.py", 7)
    return LaunchSignature(0, kernel, "", module, 0, (4,), (), "cpu", 1, 0, adjoint, "launch", SourceLine("/p/t.py", 9))


def process(*loads: Load, warp: str = "1.19.0", **changes: Any) -> ProcessRun:
    values: dict[str, Any] = {
        "pid": 1,
        "parent": 0,
        "argv": ("python", "app.py"),
        "python_version": "3.11",
        "warp_version": warp,
        "started": 0.0,
        "ended": True,
        "stopped_by": None,
        "wall": 1.0,
        "loads": tuple(loads),
        "launches": LaunchLog(0, (), {}, ()),
    }
    return ProcessRun(**{**values, **changes})


def profile(*loads: Load, **changes: Any) -> Profile:
    return Profile(("python", "app.py"), "/p", "native", (Run("cold", 0, 1.0, "", "", (process(*loads, **changes),)),))


def launches(*signatures: LaunchSignature) -> LaunchLog:
    return LaunchLog(len(signatures), signatures, {}, ())


@pytest.mark.parametrize(
    "text",
    [
        "enable_backward=off",
        "enable_backward=off:app.a,app.b",
        "max_unroll=4",
        "use_precompiled_headers=off",
        "optimization_level=0",
        "enable_mathdx_gemm=off",
        "preload=3",
        "persisted-cache",
        "module-cost",
    ],
)
def test_a_lever_s_name_is_what_is_typed(text: str) -> None:
    assert parse(text).name == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("enable_backwards=off", "do you mean enable_backward=off", id="near"),
        pytest.param("zzz", "there are: enable_backward=off", id="unknown"),
        pytest.param("max_unroll=off", "write max_unroll=N", id="a number is wanted"),
        pytest.param("max_unroll=4:app", "write max_unroll=N", id="not for modules"),
        pytest.param("enable_backward", "write enable_backward=off", id="no value"),
        pytest.param("persisted-cache=1", "write persisted-cache", id="takes none"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(WarpfixError) as caught:
        parse(text)
    assert message in str(caught.value)


OFF = Lever(OPTION, "enable_backward", False)
PLAIN = BuiltKernel(KernelDef("k", "k", "/p/app.py", 1), forward_code="f")


@pytest.mark.parametrize(
    ("lever", "measured", "reason"),
    [
        pytest.param(OFF, profile(load()), "", id="adjoint code"),
        pytest.param(OFF, profile(load(kernels=(PLAIN,))), "no adjoint code was generated", id="none"),
        pytest.param(OFF, profile(load(outcome="cached")), "nothing was built", id="no build"),
        pytest.param(Lever(OPTION, "max_unroll", 1), profile(load()), "", id="loops"),
        pytest.param(
            Lever(OPTION, "max_unroll", 1),
            profile(load(kernels=(PLAIN,), functions={"f": {"loops": 2}})),
            "",
            id="loops of a function",
        ),
        pytest.param(
            Lever(OPTION, "max_unroll", 1), profile(load(kernels=(PLAIN,))), "no kernel has a loop", id="plain"
        ),
        pytest.param(Lever(OPTION, "enable_mathdx_gemm", False), profile(load()), "nothing was linked", id="no link"),
        pytest.param(Lever(OPTION, "enable_mathdx_gemm", False), profile(load(lto_artifacts=3)), "", id="link"),
        pytest.param(
            Lever(OPTION, "enable_mathdx_gemm", False),
            profile(load(lto_artifacts=3, links={"fft": 3})),
            "linked for fft only",
            id="another kind",
        ),
        pytest.param(
            Lever(OPTION, "enable_mathdx_fft", False), profile(load(lto_artifacts=3)), "has no option", id="no fft yet"
        ),
        pytest.param(Lever(PRELOAD, value=2), profile(load()), "only one identity", id="one"),
        pytest.param(Lever(PRELOAD, value=2), profile(load(), load("b")), "", id="two"),
        pytest.param(Lever(PRELOAD, value=2), profile(load(), load("b"), warp="1.16.0"), "race each other", id="race"),
        pytest.param(
            Lever(PRELOAD, value=2),
            profile(load(target="sm_90"), load("b", target="sm_90"), warp="1.16.0"),
            "",
            id="no race with CUDA",
        ),
        pytest.param(Lever(PRELOAD, value=2), profile(load(), load("b"), warp="1.7.0"), "can't load in", id="old"),
        pytest.param(
            Lever(OPTION, "use_precompiled_headers", False), profile(load(), warp="1.12.1"), "1.13", id="no header yet"
        ),
        pytest.param(
            Lever(OPTION, "use_precompiled_headers", False),
            profile(load(target="sm_90"), warp="1.12.1"),
            "",
            id="CUDA had one before",
        ),
        pytest.param(Lever(MODULE, "enable_backward", False, ("ap",)), profile(load()), "nearest: app", id="no module"),
        pytest.param(
            Lever(MODULE, "enable_backward", False, ("scale",)),
            profile(load("scale_1a2b3c4d")),
            "",
            id="a unique module by its kernel",
        ),
        pytest.param(Lever(CACHE), profile(load()), "", id="cache"),
    ],
)
def test_for_which_profiles_a_lever_can_matter(lever: Lever, measured: Profile, reason: str) -> None:
    found = inapplicable(lever, measured)
    assert reason in found
    assert bool(found) == bool(reason)


def test_what_is_differentiated_is_refused_and_the_rest_offered() -> None:
    log = launches(launch("app", adjoint=True), launch("free"))
    measured = profile(load("app"), load("free"), launches=log)
    adjoints = adjoint_launches(measured.runs)
    assert [(one.module, one.kernel, one.line) for one in adjoints] == [("app", "scale", SourceLine("/p/t.py", 9))]
    assert refused(OFF, adjoints)
    assert refused(Lever(MODULE, "enable_backward", False, ("free",)), adjoints) == ()
    assert refused(Lever(OPTION, "max_unroll", 1), adjoints) == ()
    names = [lever.name for lever in defaults(measured, adjoints)]
    assert names[:2] == ["enable_backward=off", "enable_backward=off:free"]
    assert "enable_backward=off:app" not in " ".join(names)


def test_where_the_line_belongs() -> None:
    assert entry_point(process(main="/p/app.py", warp_imported=LINE)).startswith("/p/app.py:3, right below")
    other = process(main="/p/run.py", warp_imported=LINE)
    assert entry_point(other).startswith("at the top of /p/run.py")
    assert "conftest.py" in entry_point(process(main="/v/bin/pytest", warp_imported=LINE))
    assert "conftest.py" in entry_point(process(main="/v/lib/site-packages/pytest/__main__.py", warp_imported=LINE))


def test_the_line_of_a_preload_names_the_launches_block_dims() -> None:
    lever = Lever(PRELOAD, value=2)
    line, _ = how(lever, profile(load(device="cuda:0", block_dim=64), load("scale_1a2b3c4d", device="cuda:0")))
    assert line.splitlines() == [
        'wp.force_load(device="cuda:0", modules=[wp.get_module("app")], block_dim=64, max_workers=2)',
        'wp.force_load(device="cuda:0", modules=[scale.module], block_dim=1, max_workers=2)',
    ]


def test_later_writes_of_the_program_win() -> None:
    def write(option: str, new: Any, module: str | None = None) -> OptionWrite:
        return OptionWrite("config", module, option, None, new, LINE, 1.0, "before-load")

    def found(lever: Lever, *writes: OptionWrite) -> list[SourceLine]:
        return later_writes(lever, profile(load(), option_writes=writes).runs)

    assert found(OFF, write("enable_backward", True)) == [LINE]
    assert found(OFF, write("enable_backward", False), write("max_unroll", 1)) == []
    assert found(Lever(MODULE, "enable_backward", False, ("b",)), write("enable_backward", True, "a")) == []


def ledger(*entries: Entry) -> Ledger:
    return Ledger(profile(load(end=30.0), load("b", end=10.0)), 1, entries)


def test_the_bound_of_overlap() -> None:
    assert ledger().bound == pytest.approx(40 / 30)
    # What is built again can only follow; another block_dim may go on beside it.
    assert Ledger(profile(load(), load(hash="2" * 8)), 1, ()).bound == 1.0
    assert Ledger(profile(load(), load(block_dim=64)), 1, ()).bound == 2.0
    assert Ledger(profile(), 1, ()).bound == 1.0


def test_secrets_stay_here() -> None:
    secret = "s3cr3t"
    measured = Profile(("python", "app.py", "--api-token", secret), "/p", "native", profile(load()).runs)
    failed = Entry(Lever(OPTION, "max_unroll", 1), FAILED, "it ends with 1", failure=(f"bad token {secret}",))
    made = Ledger(measured, 1, (failed,))
    assert secret not in json.dumps(to_dict(made))
    assert secret not in render(made).splitlines()[0]


def test_text_and_json() -> None:
    measured = profile(load())
    verdict = compare(measured.runs, profile(load(source_bytes=10)).runs, Expected())
    made = ledger(
        Entry(OFF, REFUSED, "the adjoint of scale is launched by the tape at /p/t.py:9"),
        Entry(Lever(OPTION, "max_unroll", 1), PRICED, verdict=verdict, line="wp.config.max_unroll = 1", where="here"),
        Entry(Lever(OPTION, "enable_mathdx_gemm", False), INAPPLICABLE, "nothing was linked with MathDx"),
    )
    text = render(made)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "        wp.config.max_unroll = 1" in text.splitlines()
    words = " ".join(text.split())
    assert "enable_backward=off: refused: the adjoint of scale is launched by the tape at t.py:9" in words
    assert "to take it: here wp.config.max_unroll = 1" in words
    assert "not applicable: enable_mathdx_gemm=off: nothing was linked with MathDx" in words
    data = to_dict(made)
    assert [one["status"] for one in data["levers"]] == [REFUSED, PRICED, INAPPLICABLE]
    assert data["levers"][1]["measured"]["after"]["generated_bytes"] == [10]
    assert data["levers"][1]["effect"] == "better"
    assert data["overlap_bound"] == pytest.approx(4 / 3, abs=1e-4)
