"""WF402: preloading of what nobody launches, or of what breaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import findings_of

from warpfix.findings import Finding

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
    pytest.param("wp.load_module()\n", id="the caller's own module"),
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
    pytest.param(f"wp.force_load('cuda:0', {MINE}, max_workers=4)\n", id="CUDA"),
    pytest.param(f"wp.force_load(DEVICE, {MINE}, max_workers=4)\n", id="a device that can't be read"),
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
]


@pytest.mark.parametrize(("source", "warp_min", "kind"), REPORTED)
def test_reported(tmp_path: Path, source: str, warp_min: str, kind: str) -> None:
    (finding,) = found(tmp_path, source, warp_min)
    assert finding.data["kind"] == kind and finding.fix is None
