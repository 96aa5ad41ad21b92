"""WF402: preloading of what nobody launches, or of what breaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from profile_support import Built, Launched, profile, profiled
from scan_support import apply_fix, findings_of

from warpfix.findings import Applicability, Finding
from warpfix.measure.profile import Profile

HEAD = """\
import warp as wp

@wp.kernel
def k(v: wp.array(dtype=float)):
    v[wp.tid()] = 1.0

"""
MAIN = "\ndef main(v):\n    wp.launch(k, dim=8, inputs=[v], block_dim=64)\n"


def found(tmp_path: Path, source: str, warp_min: str = "1.19", name: str = "app.py") -> list[Finding]:
    return findings_of(tmp_path, {name: HEAD + source + MAIN}, select=("WF402",), warp_min=warp_min)


MINE = "modules=[wp.get_module(__name__)]"
SILENT = [
    pytest.param(f"wp.force_load(device='cpu', {MINE})\n", id="modules are named"),
    pytest.param("wp.force_load('cpu', [wp.get_module('x')])\n", id="by position"),
    pytest.param("wp.force_load(**ARGS)\n", id="behind a star"),
    pytest.param("wp.force_load(*ARGS)\n", id="behind one star"),
    pytest.param("wp.load_module(block_dim=64)\n", id="the caller's own module"),
    pytest.param("wp.load_module(__name__, DEVICE, False, 64)\n", id="a block dim by position"),
    pytest.param("wp.load_module(__name__, recursive=True)\n", id="submodules too"),
    pytest.param(
        "try:\n    wp.load_module(block_dim=64)\nexcept RuntimeError as error:\n    print(error)\n",
        id="errors are told",
    ),
    pytest.param(
        "try:\n    wp.load_module(block_dim=64, max_workers=2)\nexcept TypeError:\n    pass\n",
        id="asks for an argument",
    ),
    pytest.param("try:\n    wp.load_module(block_dim=64)\nexcept Exception:\n    raise\n", id="raised again"),
    pytest.param("wp.load_module('x', device='cpu')\n", id="one module"),
    pytest.param("other.force_load()\n", id="another library"),
    pytest.param("def force_load(): pass\nforce_load()\n", id="a function of the program"),
    pytest.param(f"wp.force_load('cpu', {MINE}, block_dim=1, max_workers=4)\n", id="parallel, from 1.17"),
    pytest.param(f"wp.force_load(DEVICE, {MINE}, block_dim=64)\n", id="the block dim in use"),
    pytest.param(f"wp.force_load('cpu', {MINE}, block_dim=256)\n", id="the CPU has one block dim"),
    pytest.param(f"wp.force_load(DEVICE, {MINE}, block_dim=N)\n", id="a block dim that can't be read"),
    pytest.param("wp.force_load(DEVICE, MODULES, block_dim=256)\n", id="modules that can't be read"),
    pytest.param(f"if wp.config.version > '1.17':\n    wp.force_load({MINE}, max_workers=4)\n", id="looks first"),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


OLD = [
    pytest.param(f"wp.force_load('cpu', {MINE}, max_workers=1)\n", id="one thread"),
    pytest.param(f"wp.force_load('cpu', {MINE}, max_workers=0)\n", id="none"),
    pytest.param(f"wp.force_load('cuda:0', {MINE}, block_dim=64, max_workers=4)\n", id="CUDA"),
    pytest.param(f"wp.force_load(DEVICE, {MINE}, block_dim=64, max_workers=4)\n", id="a device that can't be read"),
]


@pytest.mark.parametrize("source", OLD)
def test_silent_before_117(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source, "1.12") == []


def test_silent_in_a_benchmark(tmp_path: Path) -> None:
    assert found(tmp_path, "wp.force_load()\n", name="benchmarks/run.py") == []


def test_silent_where_a_launch_can_not_be_read(tmp_path: Path) -> None:
    more = "def go(kernels):\n    wp.launch(kernels[0], dim=1)\n"
    assert found(tmp_path, more + f"wp.force_load(DEVICE, {MINE}, block_dim=128)\n") == []


REPORTED = [
    pytest.param("wp.force_load()\n", "1.19", "everything", id="bare"),
    pytest.param("wp.force_load(device='cpu')\n", "1.19", "everything", id="a device only"),
    pytest.param("wp.force_load(wp.get_device(), None)\n", "1.19", "everything", id="None"),
    pytest.param("from warp import force_load as load\nload()\n", "1.19", "everything", id="another name"),
    pytest.param(f"wp.force_load('cpu', {MINE}, block_dim=1, max_workers=4)\n", "1.16", "parallel", id="parallel, old"),
    pytest.param(f"wp.force_load('cpu', {MINE}, max_workers=N)\n", "1.12", "parallel", id="so many threads"),
    pytest.param(f"wp.force_load(DEVICE, {MINE}, block_dim=256)\n", "1.19", "block_dim", id="another block dim"),
    pytest.param("wp.load_module(device='cuda:0')\n", "1.19", "block_dim", id="the default block dim"),
    pytest.param(
        "try:\n    wp.load_module(block_dim=64)\nexcept Exception:\n    pass\n", "1.19", "swallowed", id="errors"
    ),
    pytest.param(
        "import contextlib\nwith contextlib.suppress(Exception):\n    wp.load_module(block_dim=64)\n",
        "1.19",
        "swallowed",
        id="errors, by contextlib",
    ),
]


@pytest.mark.parametrize(("source", "warp_min", "kind"), REPORTED)
def test_reported(tmp_path: Path, source: str, warp_min: str, kind: str) -> None:
    (finding,) = found(tmp_path, source, warp_min)
    assert finding.data["kind"] == kind
    # What is loaded for nothing takes a run to tell; a block_dim that no launch has does not.
    assert (finding.fix is not None) == (kind == "block_dim")


def test_another_block_dim_than_every_launch_gets_theirs(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, f"wp.force_load(DEVICE, {MINE}, block_dim=256)\n")
    assert finding.fix is not None and finding.fix.applicability is Applicability.MEASURED
    (text,) = apply_fix(finding).values()
    assert text == HEAD + f"wp.force_load(DEVICE, {MINE}, block_dim=64)\n" + MAIN


# ---- from a run

APP = """\
import warp as wp


@wp.kernel
def step(v: wp.array(dtype=float)):
    v[wp.tid()] = 1.0


if __name__ == "__main__":
    wp.force_load(device="cpu")  # all of them
    go()
"""
LINE = 10


def run_of(root: Path, loads: list[Built], *launches: Launched) -> Profile:
    return profile(str(root / "app.py"), loads, launches)


def preloads(root: Path, source: str, run: Profile) -> Finding:
    (finding,) = profiled(root, {"app.py": source}, run, select=("WF402",), warp_min="1.19")
    return finding


ALL = [
    Built("warp.utils", ["reduce"], paid=LINE),
    Built("__main__", ["step"], paid=LINE),
    Built("fluid.kernels", ["flow"], paid=LINE),
    Built("step_01234567", ["alone"], paid=LINE),
    Built("late", ["other"], paid=LINE + 1),
]
EVERY = (Launched("step", 1), Launched("flow", 2), Launched("alone", 3), Launched("other", 4))


def test_what_the_run_launched_is_named(tmp_path: Path) -> None:
    finding = preloads(tmp_path, APP, run_of(tmp_path, ALL, *EVERY))
    assert finding.fix is not None and finding.fix.applicability is Applicability.MEASURED
    (text,) = apply_fix(finding).values()
    named = 'modules=[wp.get_module(__name__), wp.get_module("fluid.kernels")]'
    assert text == APP.replace('device="cpu")', f'device="cpu", {named})')


def test_None_is_replaced(tmp_path: Path) -> None:
    source = APP.replace('device="cpu"', '"cpu", None')
    (text,) = apply_fix(preloads(tmp_path, source, run_of(tmp_path, ALL, EVERY[0]))).values()
    assert 'wp.force_load("cpu", [wp.get_module(__name__)])' in text


UNNAMED = [
    pytest.param(APP, ALL, (Launched("other", 4),), "launched none of what it loads", id="nothing"),
    pytest.param(APP, ALL[:2], (Launched("reduce", 0), Launched("step", 1)), "launched all", id="everything"),
    pytest.param(APP, ALL[4:], (Launched("other", 0),), "for a measured run to say", id="the run did not come to it"),
    pytest.param(
        APP.replace("import warp as wp", "from warp import force_load, kernel, array, tid").replace("wp.", ""),
        ALL,
        EVERY,
        "no name for Warp",
        id="no name for Warp",
    ),
]


@pytest.mark.parametrize(("source", "loads", "launches", "reason"), UNNAMED)
def test_no_list(tmp_path: Path, source: str, loads: list[Built], launches: tuple[Launched, ...], reason: str) -> None:
    finding = preloads(tmp_path, source, run_of(tmp_path, loads, *launches))
    assert finding.fix is None and reason in str(finding.declined)


PRELOAD = APP.replace('device="cpu"', "modules=[wp.get_module(__name__)]")


def test_a_preloaded_variant_that_nothing_launches(tmp_path: Path) -> None:
    loads = [
        Built("__main__", ["step"], 256, "sm_90", paid=LINE),
        Built("__main__", ["step"], 128, "sm_90", paid=LINE + 1),
    ]
    finding = preloads(tmp_path, PRELOAD, run_of(tmp_path, loads, Launched("step", 1, block_dim=128)))
    (text,) = apply_fix(finding).values()
    assert "wp.force_load(modules=[wp.get_module(__name__)], block_dim=128)  # all of them" in text


KEPT = [
    pytest.param([128, 256], "sm_90", id="several block dims in use"),
    pytest.param([256], "sm_90", id="what is preloaded is launched"),
    pytest.param([1], "cpu", id="on the CPU, by a call that may mean a GPU"),
]


@pytest.mark.parametrize(("dims", "target"), KEPT)
def test_a_preload_that_stays(tmp_path: Path, dims: list[int], target: str) -> None:
    first = Built("__main__", ["step"], 256, target, paid=LINE)
    loads = [first, *(Built("__main__", ["step"], dim, target, paid=LINE + 1) for dim in dims if dim != 256)]
    launches = [Launched("step", [one.block_dim for one in loads].index(dim), block_dim=dim) for dim in dims]
    run = run_of(tmp_path, loads, *launches)
    assert profiled(tmp_path, {"app.py": PRELOAD}, run, select=("WF402",)) == []
