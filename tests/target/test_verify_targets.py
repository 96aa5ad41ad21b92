"""apply --verify on emulated devices: a fix must hold on each target that is named, and each counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import clean_environment

from warpfix.verify.lab import VerifyOptions

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


@pytest.mark.warp
@pytest.mark.slow
@pytest.mark.parametrize(
    "targets",
    [
        pytest.param(("sm_90",), id="cuda"),
        pytest.param(("native", "sm_90"), id="cpu and cuda", marks=pytest.mark.corpus),
    ],
)
def test_a_hoist_is_proved_on_every_target(tmp_path: Path, targets: tuple[str, ...]) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'app'\nversion = '1'\n")
    (tmp_path / "app.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "warpfix", "apply", "--verify", "--format", "json"]
        + [word for target in targets for word in ("--target", target)]
        + ["--", sys.executable, "app.py"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["status"] == "written"
    assert len(report["commands"]) == len(targets)
    for verdict in report["commands"].values():
        assert verdict["status"] == "good"
        assert (set(verdict["before"]["builds"]), set(verdict["after"]["builds"])) == ({2}, {1})
    assert "    @wp.kernel" not in (tmp_path / "app.py").read_text()


def test_each_command_is_run_on_each_target() -> None:
    options = VerifyOptions(commands=(("python", "a.py"), ("python", "b.py")), targets=("native", "sm_90"))
    assert [(job.argv[1], job.target, job.text) for job in options.jobs] == [
        ("a.py", "native", "python a.py (on native)"),
        ("a.py", "sm_90", "python a.py (on sm_90)"),
        ("b.py", "native", "python b.py (on native)"),
        ("b.py", "sm_90", "python b.py (on sm_90)"),
    ]
    (alone,) = VerifyOptions(commands=(("python", "a.py"),), targets=("sm_90",)).jobs
    assert (alone.target, alone.text) == ("sm_90", "python a.py")
