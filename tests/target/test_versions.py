"""The emulated device under older Warps: what each can, and one clear line from those that can't."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from warpfix.errors import WarpfixError
from warpfix.measure.run import RunSettings, run_command

PYTHONS = os.environ.get("WARPFIX_TEST_PYTHONS", "").split()

pytestmark = [
    pytest.mark.warp,
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHONS, reason="WARPFIX_TEST_PYTHONS names no interpreter"),
]

PROGRAM = """\
import numpy as np
import warp as wp

wp.init()


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


x = wp.array(np.arange(64, dtype=np.float32), device="cuda:0", requires_grad=True)
y = wp.zeros(64, dtype=float, device="cuda:0", requires_grad=True)
with wp.Tape() as tape:
    wp.launch(saxpy, dim=64, inputs=[2.0, x, y], device="cuda:0", block_dim=128)
tape.backward(grads={y: wp.ones(64, dtype=float, device="cuda:0")})
with wp.ScopedCapture(device="cuda:0", force_module_load=False) as capture:
    wp.launch(saxpy, dim=64, inputs=[1.0, x, y], device="cuda:0")
for _ in range(2):
    wp.capture_launch(capture.graph)
print("> ", y.numpy()[:3], x.grad.numpy()[:3])
"""


@pytest.mark.parametrize("python", PYTHONS or [""])
def test_a_program_runs_or_is_refused(python: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    ask = "import warp; print(warp.config.version)"
    version = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()[-1]
    settings = RunSettings(target="sm_90", timeout=300.0)

    def run() -> list[str]:
        done = run_command(
            (python, "program.py"),
            cwd=tmp_path,
            state="cold",
            workspace=tmp_path / "run",
            caches=tmp_path / "caches",
            settings=settings,
        )
        (process,) = done.processes
        assert done.exit_status == 0, Path(done.stderr_path).read_text()[-2000:]
        assert [(load.target, load.block_dim) for load in process.loads] == [("sm_90", 128), ("sm_90", 256)]
        assert [twin.outcome for twin in process.twins] == ["compiled", "cached"]
        assert process.deviations == () and process.errors == ()
        return [line for line in Path(done.stdout_path).read_text().splitlines() if line.startswith("> ")]

    if tuple(int(part) for part in version.split(".")[:2]) < (1, 9):
        with pytest.raises(WarpfixError, match=rf"^--target sm_90 needs Warp 1\.9 or newer; this is {version}$"):
            run()
    else:
        assert run() == [">  [0. 4. 8.] [2. 2. 2.]"]
