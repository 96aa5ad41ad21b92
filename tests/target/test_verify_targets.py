"""apply --verify on several targets: a fix must hold on each, and each counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support import clean_environment

pytestmark = [pytest.mark.warp, pytest.mark.slow]

PROGRAM = """\
import warp as wp

wp.config.use_precompiled_headers = False


def main():
    values = wp.zeros(8, dtype=float)

    @wp.kernel(enable_backward=False)
    def first(v: wp.array(dtype=float)):
        v[wp.tid()] += 1.0

    wp.launch(first, dim=8, inputs=[values])

    @wp.kernel(enable_backward=False)
    def second(v: wp.array(dtype=float)):
        v[wp.tid()] *= 3.0

    wp.launch(second, dim=8, inputs=[values])
    print(values.numpy().sum())


if __name__ == "__main__":
    main()
"""


def test_a_hoist_is_proved_on_the_cpu_and_on_cuda(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'app'\nversion = '1'\n")
    (tmp_path / "app.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "warpfix", "apply", "--verify", "--format", "json"]
        + ["--target", "native", "--target", "sm_90", "--", sys.executable, "app.py"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["status"] == "written"
    verdicts = {name.rpartition(" (on ")[2]: verdict for name, verdict in report["commands"].items()}
    assert set(verdicts) == {"native)", "sm_90)"}
    for verdict in verdicts.values():
        assert verdict["status"] == "good"
        assert (verdict["before"]["builds"], verdict["after"]["builds"]) == (2, 1)
    assert "    @wp.kernel" not in (tmp_path / "app.py").read_text()
