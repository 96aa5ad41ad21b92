"""``warpfix measure`` as typed: mistakes give one clear line and status 2."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--"], "no command to measure", id="no command"),
        pytest.param(["--target", "sm90", "--", "x"], "name native", id="target"),
        pytest.param(["-o", "no/such/r.json", "--", sys.executable, "-c", ""], "can't write", id="no folder"),
        pytest.param(["--", "no-such-command"], "can't start no-such-command", id="not there"),
        pytest.param(["--", sys.executable, "-c", "print(1)"], "never imported Warp", id="no Warp"),
        pytest.param(["--", sys.executable, "-I", "-c", "print(1)"], "which ignores PYTHONPATH", id="isolated"),
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


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_terminated_warpfix_takes_the_program_with_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os, time\nopen('pid', 'w').write(f'{os.getpid()}\\n')\ntime.sleep(600)\n")
    arguments = [sys.executable, "-m", "warpfix", "measure", "--", sys.executable, str(program)]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(arguments, cwd=tmp_path, env={**os.environ, "TMPDIR": str(scratch)}) as warpfix:
        pid = tmp_path / "pid"
        deadline = time.monotonic() + 60
        while not (pid.exists() and pid.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.05)
        child = int(pid.read_text())
        warpfix.terminate()
        assert warpfix.wait(60) == 128 + signal.SIGTERM
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(child)
    assert list(scratch.iterdir()) == []


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie that nobody has waited for yet is over.
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
