"""Hoisted programs under real Warp: the same output, fewer builds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from edit_support import dedent, edit, make_project, write

pytestmark = pytest.mark.warp

# Counts compilations by a hook on the module's load; prints after the program's own output.
RUNNER = """
import json, runpy, sys
import warp as wp

wp.config.quiet = True
if hasattr(wp.config, "log_level"):
    wp.config.log_level = getattr(wp, "LOG_WARNING", 30)
try:
    from warp._src import context
except ImportError:
    from warp import context
builds = []
if hasattr(context.Module, "_compile"):
    original = context.Module._compile

    def counted(self, *args, **options):
        builds.append(self.name)
        return original(self, *args, **options)

    context.Module._compile = counted
else:
    original_build = context.build_cpu if hasattr(context, "build_cpu") else None
    import warp.build

    build_cpu = warp.build.build_cpu

    def counted(*args, **options):
        builds.append(str(args[0]))
        return build_cpu(*args, **options)

    warp.build.build_cpu = counted
runpy.run_path(sys.argv[1], run_name="__main__")
print("BUILDS", json.dumps(len(builds)))
"""

PROGRAM = """
import functools

import numpy as np
import warp as wp

wp.init()
N = 4


@wp.kernel
def start(a: wp.array(dtype=float)):
    a[wp.tid()] = float(wp.tid())


def double(a):
    @wp.func
    def twice(x: float) -> float:
        return x * 2.0

    @wp.kernel
    def run(a: wp.array(dtype=float)):
        i = wp.tid()
        a[i] = twice(a[i])

    wp.launch(run, dim=N, inputs=[a], device="cpu")


def shift(a):
    step = 0.5
    GAIN = wp.constant(3.0)

    @wp.func
    def twice(x: float) -> float:
        return x + step

    @wp.kernel
    def run(a: wp.array(dtype=float)):
        i = wp.tid()
        a[i] = twice(a[i]) * GAIN

    wp.launch(run, dim=N, inputs=[a], device="cpu")
    return step


class Solver:
    def pair(self, a):
        @wp.struct
        class Pair:
            x: float
            y: float

        @wp.kernel
        def add(pair: Pair, a: wp.array(dtype=float)):
            i = wp.tid()
            a[i] = a[i] + pair.x * pair.y

        p = Pair()
        p.x = 2.0
        p.y = 0.25
        wp.launch(add, dim=N, inputs=[p, a], device="cpu")


@functools.cache
def make_power():
    @wp.kernel
    def power(a: wp.array(dtype=float)):
        i = wp.tid()
        for _ in range(2):
            a[i] = a[i] * 1.5

    return power


a = wp.zeros(N, dtype=float, device="cpu")
wp.launch(start, dim=N, inputs=[a], device="cpu")
for _ in range(2):
    double(a)
    shift(a)
    Solver().pair(a)
    wp.launch(make_power(), dim=N, inputs=[a], device="cpu")
print("RESULT", a.numpy().tolist())
"""

FACTORIES = """
import warp as wp

wp.init()


def make_one(module="unique"):
    @wp.kernel(module=module)
    def one(a: wp.array(dtype=float)):
        a[wp.tid()] += 1.0

    return one


def make_two(module="unique"):
    @wp.kernel(module=module, enable_backward=False)
    def two(a: wp.array(dtype=float)):
        a[wp.tid()] *= 2.0

    return two


def make_own(module=None):
    @wp.kernel(module=module)
    def own(a: wp.array(dtype=float)):
        a[wp.tid()] -= 0.5

    return own


if __name__ == "__main__":
    a = wp.zeros(4, dtype=float, device="cpu")
    mine = wp.get_module("mine")
    kernels = [make_one(), make_two(), make_two(module=mine), make_one(mine), make_own(), make_own(module=mine)]
    for kernel in kernels:
        wp.launch(kernel, dim=4, inputs=[a], device="cpu")
    print("MODULES", [k.module.name == "mine" for k in kernels], [k.options.get("enable_backward") for k in kernels])
    print("RESULT", a.numpy().tolist())
"""


def run(root: Path, name: str, cache: Path, python: str = sys.executable) -> tuple[str, int]:
    """Output of a program of the project, and how many modules it compiled with an empty cache."""
    runner = root.parent / "runner.py"
    runner.write_text(RUNNER, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("WARP_", "PYTHON"))}
    environment |= {"WARP_CACHE_PATH": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [python, str(runner), name], cwd=root, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith(("RESULT", "MODULES", "BUILDS"))]
    return "\n".join(lines[:-1]), json.loads(lines[-1].removeprefix("BUILDS "))


def test_hoisted_program(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p", {"app.py": PROGRAM})
    before, builds = run(root, "app.py", tmp_path / "c1")
    result = edit(root)
    assert [verdict.declined for verdict in result.verdicts] == [None] * 4
    write(root, result.texts)
    after, fewer = run(root, "app.py", tmp_path / "c2")
    assert after == before
    assert builds >= 5
    assert fewer == 1


def test_factories_keep_the_meaning_of_module(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p", {"app.py": FACTORIES}, warp=">=1.7")
    before, builds = run(root, "app.py", tmp_path / "c1")
    result = edit(root, select=["ALL"])
    assert len(result.plan.kept) == 3
    write(root, result.texts)
    after, fewer = run(root, "app.py", tmp_path / "c2")
    assert after == before
    assert fewer < builds


def test_named_module_does_not_see_the_file_s_options(tmp_path: Path) -> None:
    late = dedent(
        """
        def settle():
            wp.set_module_options({"fast_math": True})


        """
    )
    text = dedent(FACTORIES).replace("def make_own", late + "def make_own")
    text = text.replace("for kernel in kernels:", "for kernel in kernels[:2]:")
    text += '    settle()\n    print("RESULT", [make_one().module.options["fast_math"], make_two().module.options["fast_math"]])\n'
    root = make_project(tmp_path / "p", {"app.py": text})
    before, builds = run(root, "app.py", tmp_path / "c1")
    assert "[False, False]" in before
    result = edit(root, select=["ALL"])
    write(root, result.texts)
    after, fewer = run(root, "app.py", tmp_path / "c2")
    assert after == before
    assert (builds, fewer) == (2, 1)
