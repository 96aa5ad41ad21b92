"""``warpfix measure`` as typed: mistakes give one clear line and status 2."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--"], "no command to measure", id="no command"),
        pytest.param(["--target", "sm_90", "--", "x"], "--target sm_90 is not supported", id="target"),
        pytest.param(["-o", "no/such/r.json", "--", sys.executable, "-c", ""], "can't write", id="no folder"),
        pytest.param(["--", "no-such-command"], "can't start no-such-command", id="not there"),
        pytest.param(["--", sys.executable, "-c", "print(1)"], "never imported Warp", id="no Warp"),
        pytest.param(["--", sys.executable, "-I", "-c", "print(1)"], "-I isolates it", id="isolated"),
        pytest.param(["--", sys.executable, "-c", "raise SystemExit(3)"], "exit status 3", id="fails"),
        pytest.param(["--timeout", "0.5", "--", sys.executable, "-c", "while 1: pass"], "--timeout", id="time-out"),
    ],
)
def test_mistakes(arguments: list[str], message: str, run_cli: Any, tmp_path: Path) -> None:
    done = run_cli("measure", *arguments, cwd=tmp_path, debug=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_failing_command_shows_its_last_lines(run_cli: Any, tmp_path: Path) -> None:
    done = run_cli("measure", "--", sys.executable, "-c", "import sys; sys.exit('it broke')", cwd=tmp_path, debug=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "  | it broke"


def test_show_output(run_cli: Any, tmp_path: Path) -> None:
    done = run_cli("measure", "--show-output", "--", sys.executable, "-c", "print('hello')", cwd=tmp_path, debug=False)
    assert "hello" in done.stderr
    assert done.stdout == ""
