"""What a measurement says to do next. No Warp."""

from __future__ import annotations

from dataclasses import replace

from warpfix.measure.profile import Profile
from warpfix.measure.steps import next_steps, step_lines

from .test_explain_build import kernel, load, profile


def commands(measured: Profile) -> list[str]:
    return [step.command.removesuffix(" -- python app.py") for step in next_steps(measured, shown=9)]


def test_a_rebuilt_module_is_explained() -> None:
    measured = profile(("cold", [load(kernel()), load(kernel(text="bb"), hash="2" * 8)]))
    assert "warpfix explain-build app" in commands(measured)
    assert "warpfix explain-build app" not in commands(profile(("cold", [load(kernel())])))


def test_a_hash_that_varies_is_explained_and_a_lost_cache_is_looked_for() -> None:
    varies = profile(("cold", [load(kernel())]), ("warm", [load(kernel(), hash="2" * 8)]))
    assert commands(varies)[0] == "warpfix explain-build app"
    lost = profile(("cold", [load(kernel())]), ("warm", [load(kernel())]))
    assert commands(lost)[0] == "warpfix scan"


def test_levers_are_priced_where_building_takes_its_share() -> None:
    wide = load(kernel(), module="app")
    assert "warpfix whatif" not in commands(profile(("cold", [wide])))
    assert "warpfix whatif" in commands(profile(("cold", [replace(wide, end=900.0)])))


def test_the_text_holds_each_command_in_one_line() -> None:
    name = "pkg." + "long_" * 20 + "name"
    measured = profile(("cold", [load(kernel(), module=name), load(kernel(text="bb"), hash="2" * 8, module=name)]))
    lines = step_lines(measured)
    assert lines[:2] == ["", "Next"]
    assert f"    warpfix explain-build {name} -- python app.py" in lines
    assert all(len(line) <= 80 for line in lines if not line.startswith("    warpfix"))
    assert step_lines(Profile(("python",), "/p", "native", ())) == []
