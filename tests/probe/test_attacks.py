"""Programs that would notice a clumsy probe: names like the standard library's, tracebacks, odd wrappers."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support import clean_environment

from .conftest import Probed, stdout

SHADOWS = ("array", "hashlib", "json", "mmap", "contextlib", "itertools", "threading", "subprocess", "traceback")


def plainly(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What the command does without the probe."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=clean_environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", ["array", "mmap", "subprocess", "frames"])
def test_modules_on_pythonpath_named_like_those_of_the_probe_are_not_run(
    name: str, probed: Probed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "src")
    run = probed("print('ran')", files={f"src/{name}.py": "raise SystemExit('run by the probe')"})
    assert (run.exit_status, stdout(run)) == (0, "ran\n")
    assert len(run.processes) == 1 and not run.processes[0].errors


def test_a_folder_of_such_modules_that_becomes_the_first_on_the_path(probed: Probed) -> None:
    files = {f"sub/{name}.py": f"print('mine: {name}')" for name in SHADOWS}
    run = probed(
        """
        import os, sys
        os.chdir("sub")
        sys.path.insert(0, "")
        import subprocess
        pid = os.fork()
        os._exit(0) if pid == 0 else os.waitpid(pid, 0)
        """,
        files=files,
    )
    assert (run.exit_status, stdout(run)) == (0, "mine: subprocess\n")
    assert len(run.processes) == 2 and not [process.errors for process in run.processes if process.errors]


FAILING = """
import logging, sys, threading, traceback
import warp as wp
wp.config.quiet = True
wp.config.log_level = 30

@wp.kernel
def bad(v: wp.array(dtype=float)):
    v[wp.tid()] = no_such_function(3.0)

values = wp.zeros(3, dtype=float, device="cpu")

def fail():
    wp.launch(bad, dim=3, inputs=[values], device="cpu")

try:
    fail()
except Exception as error:
    traceback.print_exc()
    logging.exception("logged")
    print(*traceback.format_tb(error.__traceback__), sep="")

def wrapped():
    try:
        wp.get_module(__name__).mark_modified()
        fail()
    except Exception as error:
        raise ValueError("mine") from error

thread = threading.Thread(target=wrapped, name="worker")
thread.start()
thread.join()
wrapped()
"""


@pytest.mark.warp
def test_tracebacks_are_those_of_the_program(probed: Probed, tmp_path: Path) -> None:
    run = probed(FAILING)
    plain = plainly(tmp_path / "program", "script.py")
    assert plain.stderr.count("no_such_function") > 3
    assert (run.exit_status, stdout(run)) == (plain.returncode, plain.stdout)
    assert Path(run.stderr_path).read_text() == plain.stderr


@pytest.mark.warp
def test_pytest_shows_a_failed_build_without_the_probe(probed: Probed) -> None:
    test = textwrap.dedent(
        """
        import warp as wp

        @wp.kernel
        def bad(v: wp.array(dtype=float)):
            v[wp.tid()] = no_such_function(3.0)

        def test_it():
            wp.launch(bad, dim=3, inputs=[wp.zeros(3, dtype=float, device="cpu")], device="cpu")
        """
    )
    run = probed(["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"], files={"test_x.py": test})
    assert run.exit_status == 1
    assert "1 failed" in stdout(run) and not re.search("_warpfix|/inject/", stdout(run))


def test_what_traces_code_does_not_see_the_probe(probed: Probed) -> None:
    run = probed(
        """
        import os, sys
        seen = set()
        def trace(frame, event, arg):
            seen.add(frame.f_code.co_filename)
        sys.settrace(trace)
        import subprocess
        subprocess.check_call([sys.executable, "-c", ""], env={})
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        sys.settrace(None)
        print([name for name in seen if "_warpfix_probe" in name and name[0] != "<"])
        """
    )
    assert (run.exit_status, stdout(run)) == (0, "[]\n")
