"""What is built for an emulated device is what is built for a real one of that architecture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from warpfix.measure.run import RunSettings, run_command

pytestmark = pytest.mark.warp

PROGRAM = """\
from typing import Any

import warp as wp

wp.config.enable_mathdx_gemm = False
wp.config.cuda_output = "cubin"


@wp.kernel
def scale(v: wp.array(dtype=float), factor: float):
    v[wp.tid()] *= factor


@wp.kernel(module="generic")
def twice(v: wp.array(dtype=Any)):
    v[wp.tid()] = v[wp.tid()] + v[wp.tid()]


@wp.kernel(module="tiles")
def total(v: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.tile_store(out, wp.tile_sum(wp.tile_load(v, shape=64, offset=i * 64)), offset=i)


v = wp.ones(256, dtype=float, device="cuda:0")
out = wp.zeros(4, dtype=float, device="cuda:0")
for block_dim in (64, 256):
    wp.launch(scale, dim=256, inputs=[v, 2.0], device="cuda:0", block_dim=block_dim)
wp.launch(twice, dim=256, inputs=[v], device="cuda:0")
wp.launch(twice, dim=8, inputs=[wp.ones(8, dtype=wp.float64, device="cuda:0")], device="cuda:0")
wp.launch_tiled(total, dim=4, inputs=[v, out], block_dim=64, device="cuda:0")
print(out.numpy())
"""


def _architecture() -> str | None:
    ask = "import warp as wp; wp.init(); print('arch', wp.get_device('cuda:0').arch if wp.get_cuda_device_count() else '')"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    return f"sm_{words[-1]}" if words and words[-1].isdigit() else None


def test_identities_are_those_of_the_real_device(tmp_path: Path) -> None:
    target = _architecture()
    if target is None:
        pytest.skip("no CUDA device here to compare the emulated one with")
    (tmp_path / "program.py").write_text(PROGRAM)
    found = []
    for name in ("native", target):
        run = run_command(
            (sys.executable, "program.py"),
            cwd=tmp_path,
            state="cold",
            workspace=tmp_path / f"run-{name}",
            caches=tmp_path / f"caches-{name}",
            settings=RunSettings(target=name, timeout=300.0),
        )
        assert run.exit_status == 0, Path(run.stderr_path).read_text()[-2000:]
        builds = [(*load.identity, load.source_bytes) for load in run.loads]
        output = Path(run.stdout_path).read_text().splitlines()[-1]
        found.append((builds, output))
    assert found[0] == found[1]
