"""Each cause, by real Warp: the kind, the line that caused the build, and the line that paid."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpfix.measure.causes import KINDS
from warpfix.measure.text import render

from .conftest import Gallery

pytestmark = pytest.mark.warp


def test_nothing_in_the_probe_went_wrong(gallery: Gallery) -> None:
    assert [process.errors for process in gallery.profile.cold[0].processes] == [()]
    assert all(process.ended for run in gallery.profile.runs for process in run.processes)


def test_kinds_are_those_of_the_documentation(gallery: Gallery) -> None:
    assert {load.cause.kind for run in gallery.profile.runs for load in run.loads} <= set(KINDS)
    page = Path(__file__).parents[2] / "docs" / "causes.md"
    assert [kind for kind in KINDS if f"`{kind}`" not in page.read_text()] == []


def test_kernels_defined_between_launches(gallery: Gallery) -> None:
    builds = gallery.builds("between")
    assert [build.cause.kind for build in builds] == ["first-load", "kernel-added", "kernel-added"]
    for number, (build, name) in enumerate(zip(builds, ("damp", "kick", "clip"), strict=True)):
        assert build.paid_by is not None
        assert build.paid_by.line == gallery.line("between.py", f"# paid {number}")
        assert build.paid_by.function == "step"
        if number:
            assert build.cause.line is not None
            assert build.cause.line.line == gallery.line("between.py", f"def {name}")
            assert build.cause.line.path == str(gallery.folder / "between.py")
            assert f"step__locals__{name}" in build.cause.text
            assert build.cause.data["registered"] == f"{gallery.folder / 'between.py'}:{caller(gallery)}"


def caller(gallery: Gallery) -> int:
    return gallery.line("between.py", "    step(values)")


def test_late_module_options(gallery: Gallery) -> None:
    builds = gallery.builds("late_options")
    assert [build.cause.kind for build in builds] == ["first-load", "option-changed"]
    cause = builds[1].cause
    assert (cause.data["option"], cause.data["old"], cause.data["new"]) == ("enable_backward", True, False)
    assert cause.line is not None and cause.line.line == gallery.line("late_options.py", "# write")
    assert builds[1].paid_by is not None and builds[1].paid_by.line == gallery.line("late_options.py", "# paid")
    assert [write.effect for write in gallery.writes("late_options", "enable_backward")] == ["rebuilt", "same-value"]
    assert [write.via for write in gallery.writes("late_options", "enable_backward")] == ["set_module_options"] * 2


def test_a_dictionary_write_after_the_first_hash_reaches_nothing(gallery: Gallery) -> None:
    (write,) = gallery.writes("late_options", "max_unroll")
    assert (write.via, write.effect, write.missed) == ("options", "none", ("late_options",))
    assert write.line is not None and write.line.line == gallery.line("late_options.py", "# ignored")


def test_late_config_reaches_nothing(gallery: Gallery) -> None:
    write = gallery.writes(None, "max_unroll")[0]
    assert (write.via, write.old, write.new) == ("config", 16, 4)
    assert "late_config" in write.missed
    assert write.line is not None and write.line.line == gallery.line("late_config.py", "# too late")
    assert len(gallery.builds("late_config")) == 1


def test_a_setting_that_warp_does_not_know(gallery: Gallery) -> None:
    (write,) = gallery.writes(None, "fast_maths")
    assert write.effect == "unknown-option"


def test_overloads_that_appear_one_by_one(gallery: Gallery) -> None:
    builds = gallery.builds("overloads")
    assert [build.cause.kind for build in builds] == ["first-load", "overload-added", "overload-added"]
    for build in builds[1:]:
        assert build.cause.line is not None
        assert build.cause.line.line == gallery.line("overloads.py", "# launch")
        assert build.cause.data["defined"].endswith(f"overloads.py:{gallery.line('overloads.py', 'def scale')}")
    assert len({kernel.overload for kernel in builds[2].kernels}) == 3


def test_captured_values_and_kernels_that_come_and_go(gallery: Gallery) -> None:
    kinds = [load.cause.kind for load in gallery.loads("constants")]
    assert kinds == ["first-load", "constant-changed", "kernel-added", "kernel-gone"]
    changed = gallery.loads("constants")[1].cause
    assert "factor" in changed.text
    assert changed.line is not None and changed.line.line == gallery.line("constants.py", "def weigh")


def test_a_called_function_changed(gallery: Gallery) -> None:
    first, second = gallery.builds("functions")
    assert first.cause.kind == "first-load"
    assert second.cause.kind == "function-changed"
    assert "term" in second.cause.text


def test_a_failed_build_and_its_repetition(gallery: Gallery) -> None:
    loads = gallery.loads("broken")
    # Up to 1.12, Warp leaves a kernel that failed out of the module's next build.
    assert loads[0].outcome == "failed" and (loads[1].outcome == "failed" or not loads[1].kernels)
    assert [load.cause.kind for load in loads] == ["first-load", "previous-failed"]


def test_a_cache_that_was_cleared(gallery: Gallery) -> None:
    first, second = gallery.builds("lost")
    assert first.hash == second.hash
    assert second.cause.kind == "cache-cleared"
    assert second.cause.line is not None and second.cause.line.line == gallery.line("lost.py", "clear_kernel_cache")
    assert second.paid_by is not None and second.paid_by.line == gallery.line("lost.py", "# lost")


def test_a_factory_in_a_loop_builds_once_and_is_counted(gallery: Gallery) -> None:
    site = f"{gallery.folder / 'factory.py'}:{gallery.line('factory.py', 'def push')}"
    assert gallery.cold.processes[0].kernel_definitions[site] == 51
    names = [load.module for load in gallery.cold.builds if "push" in load.module]
    assert len(names) == 1


def test_kernels_made_by_exec(gallery: Gallery) -> None:
    plugins = [load for load in gallery.cold.builds if load.kernels and load.kernels[0].definition.key == "user"]
    assert [load.cause.kind for load in plugins] == ["first-load", "first-load"]
    assert {load.kernels[0].definition.path for load in plugins} == {"<plugin-1.0>", "<plugin-2.0>"}


def test_the_warm_run_builds_only_what_failed_or_was_cleared(gallery: Gallery) -> None:
    # Clearing the cache at the end of the cold run left only what was built after it.
    (warm,) = gallery.profile.warm
    assert {load.module for load in warm.loads if load.outcome == "cached"} == {"lost"}


def test_phases_add_up_to_the_module_time(gallery: Gallery) -> None:
    total = sum(load.milliseconds for load in gallery.cold.builds)
    named = sum(sum(load.phases.values()) for load in gallery.cold.builds)
    assert 0.95 * total <= named <= 1.001 * total
    assert all(load.phases["native"] > 0 for load in gallery.cold.builds)


def test_code_is_digested_per_kernel(gallery: Gallery) -> None:
    first, second = gallery.builds("late_options")
    one, two = first.kernels[0], second.kernels[0]
    assert one.forward_code and one.backward_code
    assert one.forward_code == two.forward_code
    assert not two.backward_code or two.backward_code != one.backward_code
    assert first.source_bytes > second.source_bytes
    assert one.forward_bytes == two.forward_bytes > 100
    assert one.backward_bytes > two.backward_bytes
    assert one.forward_functions == two.forward_functions > 0 < one.backward_functions


def test_resolved_options(gallery: Gallery) -> None:
    first, second = gallery.builds("late_options")
    assert (first.options["enable_backward"], second.options["enable_backward"]) == (True, False)
    assert first.options["mode"] == "release"


def test_a_module_reloaded_with_another_function(gallery: Gallery) -> None:
    build = gallery.builds("written")[1]
    assert build.cause.kind == "function-changed"
    line = gallery.line("again.py", "# reloaded")
    assert build.cause.data["registered"] == f"{gallery.folder / 'again.py'}:{line}"
    assert "(written.py ran again at again.py:" in build.cause.text
    assert build.paid_by is not None and build.paid_by.line == gallery.line("again.py", "# use again")


def test_an_option_of_a_module_without_kernels_reaches_nothing(gallery: Gallery) -> None:
    (write,) = gallery.writes("idle", "fast_math")
    assert (write.effect, write.missed) == ("none", ())
    assert write.line is not None and write.line.line == gallery.line("idle.py", "# nobody")
    text = " ".join(render(gallery.profile).split())
    said = "fast_math = True reached nothing: no kernel that was loaded is in module idle at idle.py:"
    assert f"{said}{write.line.line}" in text
