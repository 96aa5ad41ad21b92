"""Causes of builds, and of what builds nothing, each with the line that caused it and the line that paid: real Warp."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from warpfix.measure.profile import Load
from warpfix.measure.run import RunSettings, measure
from warpfix.measure.text import render

from .conftest import Gallery, write_program

pytestmark = pytest.mark.warp

PROGRAM = {
    "structs.py": """
        import warp as wp

        def make(kind):
            @wp.struct  # declared
            class Body:
                mass: kind

            @wp.kernel
            def pull(body: Body, v: wp.array(dtype=float)):
                v[wp.tid()] -= float(body.mass)

            return Body, pull

        def main(values):
            for kind in (wp.float32, wp.float64):
                Body, pull = make(kind)  # made
                wp.launch(pull, dim=8, inputs=[Body(), values], device="cpu")  # paid
                del pull
        """,
    "statics.py": """
        import warp as wp

        def make(count):
            @wp.kernel
            def add(v: wp.array(dtype=float)):
                v[wp.tid()] += float(wp.static(count * 2))

            return add

        def main(values):
            add = make(1)
            wp.launch(add, dim=8, inputs=[values], device="cpu")
            del add
            add = make(3)  # other
            wp.launch(add, dim=8, inputs=[values], device="cpu")  # paid
        """,
    "texts.py": """
        import warp as wp

        def make(first):
            if first:
                @wp.kernel
                def step(v: wp.array(dtype=float)):
                    v[wp.tid()] += 1.0
            else:
                @wp.kernel
                def step(v: wp.array(dtype=float)):  # second
                    v[wp.tid()] -= 1.0
            return step

        def main(values):
            step = make(True)
            wp.launch(step, dim=8, inputs=[values], device="cpu")
            del step
            step = make(False)  # again
            wp.launch(step, dim=8, inputs=[values], device="cpu")  # paid
        """,
    "nested.py": """
        import warp as wp

        def make(factor):
            @wp.func
            def inner(x: float):  # changed
                return x * factor

            @wp.func
            def outer(x: float):
                return inner(x) + 1.0

            @wp.kernel
            def use(v: wp.array(dtype=float)):
                v[wp.tid()] = outer(v[wp.tid()])

            return use

        def main(values):
            use = make(1.0)
            wp.launch(use, dim=8, inputs=[values], device="cpu")
            del use
            use = make(0.5)
            wp.launch(use, dim=8, inputs=[values], device="cpu")  # paid
        """,
    "unknown.py": """
        import warp as wp

        @wp.kernel
        def move(v: wp.array(dtype=float)):
            v[wp.tid()] += 0.0

        def main(values):
            wp.launch(move, dim=8, inputs=[values], device="cpu")
            wp.set_module_options({"fast_maths": True})  # misspelled
            wp.launch(move, dim=8, inputs=[values], device="cpu")  # paid
        """,
    "written.py": """
        import warp as wp

        @wp.kernel
        def first(v: wp.array(dtype=float)):
            v[wp.tid()] += 0.0

        def main(values):
            wp.launch(first, dim=8, inputs=[values], device="cpu")
            wp.get_module(__name__).options["max_unroll"] = 4  # by the dictionary
            wp.get_module(__name__).mark_modified()
            wp.launch(first, dim=8, inputs=[values], device="cpu")  # paid by dictionary
            wp.config.verify_fp = True  # by config
            wp.get_module(__name__).mark_modified()
            wp.launch(first, dim=8, inputs=[values], device="cpu")  # paid by config
            wp.config.verify_fp = False
        """,
    "mapped.py": """
        import warp as wp

        def main(values):
            if not hasattr(wp, "map"):
                return
            wp.map(wp.abs, values)  # floats
            wp.map(wp.abs, wp.ones(4, dtype=wp.float64, device="cpu"))  # doubles
        """,
    "stepping.py": """
        import warp as wp

        def make_kernel():
            @wp.kernel(module=wp.get_module("stepped"))
            def tick(v: wp.array(dtype=float)):
                v[wp.tid()] += 0.0

            return tick

        def main(values):
            for _ in range(30):
                tick = make_kernel()  # made
                wp.launch(tick, dim=8, inputs=[values], device="cpu")  # launched
        """,
    "gone.py": """
        import warp as wp

        def make():
            @wp.kernel
            def stays(v: wp.array(dtype=float)):
                v[wp.tid()] += 0.0

            @wp.kernel
            def leaves(v: wp.array(dtype=float)):
                v[wp.tid()] -= 0.0

            return stays, leaves

        def main(values):
            stays, leaves = make()
            wp.launch(stays, dim=8, inputs=[values], device="cpu")
            leaves.module.kernels.pop(leaves.key)
            del leaves
            stays.module.mark_modified()
            wp.launch(stays, dim=8, inputs=[values], device="cpu")  # paid
        """,
    "failing.py": """
        import warp as wp

        @wp.kernel
        def broken(v: wp.array(dtype=float)):
            v[wp.tid()] = no_such_function(1.0)

        def main(values):
            for _ in range(2):
                try:
                    wp.launch(broken, dim=8, inputs=[values], device="cpu")  # paid
                except Exception as error:
                    print("FAILED", type(error).__name__)
                wp.get_module(__name__).mark_modified()
        """,
    "caches.py": """
        import tempfile
        import warp as wp

        @wp.kernel
        def kept(v: wp.array(dtype=float)):
            v[wp.tid()] += 0.0

        def main(values):
            def launch():
                kept.module.unload()
                wp.launch(kept, dim=8, inputs=[values], device="cpu")  # paid

            launch()
            wp.clear_kernel_cache()  # cleared
            launch()
            wp.config.kernel_cache_dir = tempfile.mkdtemp(dir=".")  # moved
            launch()
            wp.config.cache_kernels = False  # disabled
            launch()
        """,
    "threads.py": """
        import sys
        import threading
        import warp as wp

        @wp.kernel(enable_backward=False)
        def both(v: wp.array(dtype=float)):
            v[wp.tid()] += 0.0

        def main(values):
            def launch():
                wp.launch(both, dim=8, inputs=[values], device="cpu")  # paid

            context = sys.modules.get("warp._src.context") or sys.modules["warp.context"]
            llvm = context.runtime.llvm
            name = "wp_compile_cpp" if hasattr(llvm, "wp_compile_cpp") else "compile_cpp"
            original, together = getattr(llvm, name), threading.Barrier(2)

            def compiling(*args):
                together.wait(60)
                return original(*args)

            setattr(llvm, name, compiling)
            threads = [threading.Thread(target=launch) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            setattr(llvm, name, original)
            both.module.unload()
            wp.launch(both, dim=8, inputs=[values], device="cpu")  # unloaded
        """,
    "ahead.py": """
        import warp as wp

        @wp.kernel(enable_backward=False)
        def early(v: wp.array(dtype=float)):
            v[wp.tid()] += 0.0

        def main(values):
            try:
                wp.compile_aot_module(early.module, arch=[80], module_dir="ahead")  # asked
            except (AttributeError, RuntimeError):
                print("no NVRTC, or an older Warp")
        """,
    "partner.py": """
        def main(values):
            import app  # twice
            import warp as wp

            wp.launch(app.shared, dim=2, inputs=[values], device="cpu")  # paid
        """,
    "app.py": """
        import warp as wp

        @wp.kernel
        def shared(v: wp.array(dtype=float)):
            v[wp.tid()] += 0.0

        if __name__ == "__main__":
            import structs, statics, texts, nested, unknown, written, mapped, stepping, gone, failing, partner, caches

            values = wp.ones(8, dtype=float, device="cpu")
            wp.launch(shared, dim=1, inputs=[values], device="cpu")
            parts = (structs, statics, texts, nested, unknown, written, mapped, stepping, gone, failing, partner)
            if tuple(map(int, wp.config.version.split(".")[:2])) >= (1, 12):
                # Before, Warp itself does not bear it.
                import threads

                parts += (threads,)
            import ahead

            for part in (*parts, ahead, caches):
                part.main(values)
        """,
}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    folder = write_program(tmp_path_factory.mktemp("lines"), PROGRAM)
    python = os.environ.get("WARPFIX_TEST_PYTHON", sys.executable)
    profile = measure([python, "app.py"], cwd=folder, settings=RunSettings(keep_workspace=True))
    shutil.rmtree(Path(profile.cold[0].stdout_path).parent.parent)
    return Gallery(folder, profile)


def explained(lines: Gallery, module: str, number: int) -> tuple[Load, str, int, str, int]:
    """The load, its cause's kind and line, and the line that paid, each with its file."""
    load = lines.loads(module)[number]
    assert load.cause.line is not None and load.paid_by is not None
    return (
        load,
        Path(load.cause.line.path).name,
        load.cause.line.line,
        Path(load.paid_by.path).name,
        load.paid_by.line,
    )


@pytest.mark.parametrize(
    ("module", "number", "kind", "caused", "paid"),
    [
        pytest.param("structs", 1, "struct-changed", "# declared", "# paid", id="struct"),
        pytest.param("statics", 1, "constant-changed", "def add", "# paid", id="wp.static"),
        pytest.param("texts", 1, "kernel-changed", "# second", "# paid", id="text"),
        pytest.param("nested", 1, "function-changed", "# changed", "# paid", id="function behind a function"),
        pytest.param("unknown", 1, "option-changed", "# misspelled", "# paid", id="unknown option"),
        pytest.param("written", 1, "option-changed", "# by the dictionary", "# paid by dictionary", id="dictionary"),
        pytest.param("written", 2, "option-changed", "# by config", "# paid by config", id="config"),
        pytest.param("gone", 1, "kernel-gone", "def leaves", "# paid", id="kernel gone"),
        pytest.param("failing", 1, "previous-failed", "# paid", "# paid", id="failed before"),
        pytest.param("caches", 1, "cache-cleared", "# cleared", "# paid", id="cache cleared"),
        pytest.param("caches", 2, "cache-moved", "# moved", "# paid", id="cache moved"),
        pytest.param("caches", 3, "cache-disabled", "# disabled", "# paid", id="cache disabled"),
    ],
)
def test_kind_and_both_lines(lines: Gallery, module: str, number: int, kind: str, caused: str, paid: str) -> None:
    load, cause_file, cause_line, paid_file, paid_line = explained(lines, module, number)
    file = f"{module}.py"
    assert (load.cause.kind, cause_file, paid_file) == (kind, file, file)
    assert cause_line == lines.line(file, caused)
    assert paid_line == lines.line(file, paid)


def test_threads_that_load_a_module_at_once(lines: Gallery) -> None:
    if not lines.loads("threads"):
        pytest.skip("this Warp does not bear it")
    first, second, _ = lines.loads("threads")
    assert (first.cause.kind, second.cause.kind) == ("first-load", "concurrent")
    assert first.thread != second.thread and first.compiled and second.compiled
    paid = lines.line("threads.py", "# paid")
    for load in (first, second):
        assert load.cause.line is not None and load.paid_by is not None
        assert load.cause.line.line == load.paid_by.line == paid


def test_a_module_that_was_unloaded(lines: Gallery) -> None:
    if not lines.loads("threads"):
        pytest.skip("part of the program with the threads")
    load, cause_file, cause_line, paid_file, paid_line = explained(lines, "threads", 2)
    assert (load.cause.kind, load.outcome, cause_file, paid_file) == (
        "cache-lost",
        "cached",
        "threads.py",
        "threads.py",
    )
    assert cause_line == paid_line == lines.line("threads.py", "# unloaded")


def test_a_build_ahead_of_time_is_for_the_architecture_that_was_asked_for(lines: Gallery) -> None:
    if not lines.loads("ahead"):
        pytest.skip("this Warp has no such call, or no compiler for CUDA")
    load, cause_file, cause_line, _, _ = explained(lines, "ahead", 0)
    assert (load.target, load.device, load.outcome, load.cause.kind) == ("sm_80", "", "compiled", "first-load")
    assert (cause_file, cause_line) == ("ahead.py", lines.line("ahead.py", "# asked"))


def test_nothing_in_the_probe_went_wrong(lines: Gallery) -> None:
    assert [process.errors for run in lines.profile.runs for process in run.processes] == [(), ()]


def test_values_are_told_where_they_changed(lines: Gallery) -> None:
    assert "wp.static(count * 2) (2 to 6)" in lines.loads("statics")[1].cause.text
    assert "(through make__locals__inner: factor (1.0 to 0.5))" in lines.loads("nested")[1].cause.text
    assert "fast_maths, which Warp does not know" in lines.loads("unknown")[1].cause.text
    dictionary, config = lines.loads("written")[1:3]
    assert [load.cause.data["via"] for load in (dictionary, config)] == ["options", "config"]
    assert (dictionary.cause.data["old"], dictionary.cause.data["new"]) == (16, 4)
    assert (config.cause.data["old"], config.cause.data["new"]) == (False, True)


def test_the_line_that_made_the_kernel(lines: Gallery) -> None:
    for module, text in (("statics", "# other"), ("texts", "# again"), ("structs", "# made")):
        line = lines.line(f"{module}.py", text)
        assert lines.loads(module)[1].cause.data.get("registered", "") in (f"{lines.folder / module}.py:{line}", "")
    assert lines.loads("statics")[1].cause.data["registered"].endswith(f"statics.py:{lines.line('statics.py', '# o')}")


def test_caches_by_which_call_variable_and_setting(lines: Gallery) -> None:
    via = [load.cause.data["via"] for load in lines.loads("caches")[1:]]
    assert via == ["clear_kernel_cache", "wp.config.kernel_cache_dir", "wp.config.cache_kernels"]


def test_a_main_file_that_is_imported_names_the_import(lines: Gallery) -> None:
    load, cause_file, cause_line, paid_file, paid_line = explained(lines, "app", 0)
    assert (load.cause.kind, cause_file, paid_file) == ("imported-twice", "app.py", "partner.py")
    assert cause_line == lines.line("app.py", "def shared")
    assert paid_line == lines.line("partner.py", "# paid")
    assert load.cause.data["registered"] == f"{lines.folder / 'partner.py'}:{lines.line('partner.py', '# twice')}"


def test_a_kernel_that_warp_writes_has_the_programs_line(lines: Gallery) -> None:
    found = [load for load in lines.cold.loads if "map" in load.module and "abs" in load.module]
    if not found:
        pytest.skip("this Warp has no wp.map")
    first, second = found[:2]
    for load, text in ((first, "# floats"), (second, "# doubles")):
        assert load.cause.line is not None and load.paid_by is not None
        assert Path(load.cause.line.path).name == Path(load.paid_by.path).name == "mapped.py"
        assert load.cause.line.line == load.paid_by.line == lines.line("mapped.py", text)


def test_a_kernel_made_at_every_step_is_hashed_again_each_time(lines: Gallery) -> None:
    (process,) = lines.cold.processes
    (rehash,) = [one for one in process.rehashes if one.module == "stepped"]
    assert len(lines.builds("stepped")) == 1
    # The first hash belongs to the build.
    assert rehash.count == 29
    assert rehash.milliseconds > 0
    assert rehash.line is not None and rehash.line.line == lines.line("stepping.py", "# launched")
    assert rehash.kernel == f"{lines.folder / 'stepping.py'}:{lines.line('stepping.py', 'def tick')}"
    assert rehash.made_by is not None and rehash.made_by.line == lines.line("stepping.py", "# made")
    text = " ".join(render(lines.profile).split())
    assert f"made at stepping.py:{rehash.made_by.line}, hashed again 29 x at stepping.py:{rehash.line.line}" in text


def test_what_the_cold_run_threw_away_explains_the_warm_builds(lines: Gallery) -> None:
    warm = {load.module: load.cause for load in lines.profile.warm[0].builds}
    cause = warm["statics"]
    assert cause.kind == "cache-cleared"
    assert cause.line is not None and cause.line.line == lines.line("caches.py", "# cleared")
