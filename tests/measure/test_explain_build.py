"""``warpfix explain-build``: what is in two hashes, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from warpfix.measure.builds import find_module, histories, side_by_side, to_dict
from warpfix.measure.builds_text import render
from warpfix.measure.profile import BuiltKernel, Cause, KernelDef, LaunchLog, Load, ProcessRun, Profile, Run
from warpfix.measure.report import from_dict, write_report
from warpfix.measure.report import to_dict as report_to_dict


def kernel(key: str = "scale", *, text: str = "aa", overload: str = "", **constants: str) -> BuiltKernel:
    definition = KernelDef(key, key, "/p/app.py", 7)
    return BuiltKernel(definition, overload, {}, ingredients={"source": text, "constants": constants, "functions": {}})


def load(*kernels: BuiltKernel, hash: str = "1" * 8, block_dim: int = 1, module: str = "app", **options: Any) -> Load:
    return Load(
        id=0,
        module=module,
        hash=hash,
        device="cpu",
        target="cpu",
        block_dim=block_dim,
        outcome="compiled",
        start=0.0,
        end=10.0,
        phases={},
        thread=0,
        kernels=kernels,
        options=options,
        source_bytes=1,
        lto_artifacts=0,
        cause=Cause("first-load", "first use"),
        paid_by=None,
    )


def profile(*runs: tuple[str, list[Load]]) -> Profile:
    def process(loads: list[Load]) -> ProcessRun:
        log = LaunchLog(0, (), {}, ())
        return ProcessRun(1, 0, ("python", "app.py"), "3.11", "1.19.0", 0.0, True, None, 1.0, tuple(loads), log)

    made = tuple(Run(state, 0, 1.0, "", "", (process(loads),)) for state, loads in runs)
    return Profile(("python", "app.py"), "/p", "native", made)


def changed(old: Load, new: Load) -> list[tuple[str, str, str]]:
    return [(one.label, one.before, one.after) for one in side_by_side(old, new) if one.changed]


def test_equal_hashes_have_no_change() -> None:
    assert changed(load(kernel(), kernel("other")), load(kernel("other"), kernel())) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(load(a=1), load(a=2), [("option a", "1", "2")], id="option"),
        pytest.param(load(), load(a=2), [("option a", "-", "2")], id="option that was not there"),
        pytest.param(load(block_dim=1), load(block_dim=64), [("block_dim", "1", "64")], id="block_dim"),
        pytest.param(load(kernel()), load(kernel(text="bb")), [("kernel scale", "text aa", "text bb")], id="text"),
        pytest.param(load(kernel()), load(kernel(), kernel("b")), [("kernel b", "-", "text aa")], id="kernel added"),
        pytest.param(load(kernel(), kernel("b")), load(kernel()), [("kernel b", "text aa", "-")], id="kernel gone"),
        pytest.param(load(kernel(F="1")), load(kernel(F="2")), [("constant F of scale", "1", "2")], id="constant"),
        pytest.param(
            load(kernel(**{"wp.static(n)": "1"})),
            load(kernel(**{"wp.static(n)": "2"})),
            [("static wp.static(n) of scale", "1", "2")],
            id="static",
        ),
        pytest.param(
            load(kernel(overload="f4")),
            load(kernel(overload="f4"), kernel(overload="f8")),
            [("kernel scale [f8]", "-", "text aa")],
            id="overload",
        ),
        pytest.param(
            load(kernel(F="1")),
            load(kernel(F="1"), kernel(F="2")),
            [("kernel scale", "-", "text aa"), ("constant F of scale", "1", "2")],
            id="another of the same name",
        ),
    ],
)
def test_what_tells_two_hashes_apart(old: Load, new: Load, expected: list[tuple[str, str, str]]) -> None:
    assert changed(old, new) == expected


def test_a_warm_build_is_compared_with_the_cold_one() -> None:
    found = histories(profile(("cold", [load(kernel(SEED="1"))]), ("warm", [load(kernel(SEED="2"), hash="2")])), "app")
    assert [one.state for one in found] == ["cold", "warm"]
    assert found[0].steps[0].against is None
    assert [(one.label, one.before, one.after) for one in found[1].steps[0].changed] == [
        ("constant SEED of scale", "1", "2")
    ]


def test_names() -> None:
    loads = [load(module=name) for name in ("pkg.stages", "other", "push_1a2b3c4d", "__main__")]
    loads[3] = load(kernel(), module="__main__")
    measured = profile(("cold", loads))
    assert find_module(measured, "other") == ("other", [])
    assert find_module(measured, "stages") == ("pkg.stages", [])
    assert find_module(measured, "push") == ("push_1a2b3c4d", [])
    assert find_module(measured, "app") == ("__main__", [])
    assert find_module(measured, "pkg.stagse") == (None, ["pkg.stages"])
    assert find_module(measured, "zzz") == (None, [])


def test_an_older_report_without_ingredients_is_read(tmp_path: Path) -> None:
    data = json.loads(json.dumps(report_to_dict(profile(("cold", [load(kernel()), load(kernel(), hash="2")])))))
    for one in data["runs"][0]["processes"][0]["loads"]:
        del one["functions"]
        for part in one["kernels"]:
            del part["ingredients"]
    old = from_dict(data)
    text = render(old, "app", histories(old, "app"))
    assert "by something that was not observed" in " ".join(text.split())


def test_mistakes(run_cli: Any, tmp_path: Path) -> None:
    write_report(profile(("cold", [load(module="pkg.stages")])), tmp_path / "r.json")
    done = run_cli("explain-build", "pkg.stagse", "-r", tmp_path / "r.json", debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "warpfix: no Warp module pkg.stagse was loaded; the nearest: pkg.stages\n"
    assert "after --" in run_cli("explain-build", "x", debug=False).stderr
    assert "not both" in run_cli("explain-build", "x", "-r", tmp_path / "r.json", "--", "python", debug=False).stderr


# ---- with Warp


def told(gallery: Any, module: str) -> list[list[tuple[str, str, str]]]:
    found = histories(gallery.profile, module)
    return [
        [(one.label, one.before, one.after) for one in step.changed] for history in found[:1] for step in history.steps
    ]


@pytest.mark.warp
def test_an_option(gallery: Any) -> None:
    first, second, *_ = told(gallery, "late_options")
    assert first == []
    assert second == [("option enable_backward", "True", "False")]


@pytest.mark.warp
def test_a_kernel_that_came(gallery: Any) -> None:
    steps = told(gallery, "between")
    assert [[label for label, before, _ in step if before == "-"] for step in steps[:3]] == [
        [],
        ["kernel step__locals__kick"],
        ["kernel step__locals__clip"],
    ]


@pytest.mark.warp
def test_a_constant_has_its_values(gallery: Any) -> None:
    assert ("constant factor of make__locals__weigh", "1.0", "2.0") in told(gallery, "constants")[1]


@pytest.mark.warp
def test_a_function_s_constant_is_named_as_the_function_s(gallery: Any) -> None:
    assert told(gallery, "functions")[1] == [("constant sign of make__locals__term", "1.0", "-1.0")]


@pytest.mark.warp
def test_a_function_s_text(gallery: Any) -> None:
    (step,) = told(gallery, "written")[1:]
    assert [label for label, _, _ in step] == ["function term"]


@pytest.mark.warp
def test_an_overload(gallery: Any) -> None:
    added = [[label for label, before, _ in step if before == "-"] for step in told(gallery, "overloads")]
    assert added == [[], ["kernel scale [a1f8_f8]"], ["kernel scale [a1i4_i4]"]]


@pytest.mark.warp
def test_a_lost_cache_changed_nothing(gallery: Any) -> None:
    found = histories(gallery.profile, "lost")[0]
    assert found.steps[1].changed == ()
    assert "the same hash as load 1: nothing in it changed" in render(gallery.profile, "lost", [found])


@pytest.mark.warp
def test_text_and_json_from_a_report(gallery: Any, run_cli: Any, tmp_path: Path) -> None:
    write_report(gallery.profile, tmp_path / "r.json")
    done = run_cli("explain-build", "late_options", "-r", tmp_path / "r.json", cwd=gallery.folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert any(line.split() == ["option", "enable_backward", "True", "False"] for line in lines)
    assert f"late_options.py:{gallery.line('late_options.py', '# write')}, paid by" in done.stdout
    done = run_cli("explain-build", "late_options", "-r", tmp_path / "r.json", "--format", "json")
    data = json.loads(done.stdout)
    step = data["processes"][0]["loads"][1]
    assert [(one["kind"], one["name"]) for one in step["ingredients"] if one["changed"]] == [
        ("option", "enable_backward")
    ]
    assert data == json.loads(
        json.dumps(to_dict(gallery.profile, "late_options", histories(gallery.profile, "late_options")))
    )
    done = run_cli("explain-build", "late_options", "-r", tmp_path / "r.json", "--all")
    assert "= option fast_math: False" in done.stdout
