"""Every Python process of a command reports, however it was started."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from warpfix.errors import WarpfixError
from warpfix.measure.run import RunSettings, require_good, run_command, unobserved

from .conftest import Probed, stdout

CHILD = "import os; print('child', os.environ.get('MINE'), 'WARP_CACHE_PATH' in os.environ, flush=True)"

STARTS = {
    "inherited": "subprocess.run([sys.executable, 'child.py'])",
    "shell": "subprocess.run(sys.executable + ' child.py', shell=True)",
    "replaced": "subprocess.run([sys.executable, 'child.py'], env={'MINE': '1', 'PATH': os.environ['PATH']})",
    "emptied": "subprocess.run([sys.executable, 'child.py'], env={})",
    "own path": "subprocess.run([sys.executable, 'child.py'], env=dict(os.environ, PYTHONPATH='src'))",
    "bytes": "subprocess.run([sys.executable, 'child.py'], env={b'MINE': b'1'})",
    "env command": "subprocess.run(['env', 'PYTHONPATH=src', sys.executable, 'child.py'])",
    "system": "os.system(sys.executable + ' child.py')",
    "execv": "os.execv(sys.executable, [sys.executable, 'child.py'])",
    "execve": "os.execve(sys.executable, [sys.executable, 'child.py'], {'MINE': '1'})",
    "execvpe": "os.execvpe(sys.executable, [sys.executable, 'child.py'], {'PATH': os.environ['PATH']})",
    "execlp": "os.execlp(sys.executable, sys.executable, 'child.py')",
    "spawn": "os.posix_spawn(sys.executable, [sys.executable, 'child.py'], {'MINE': '1'}); os.wait()",
}


@pytest.mark.parametrize("way", STARTS)
def test_a_child_reports(way: str, probed: Probed) -> None:
    run = probed(f"import os, subprocess, sys\n{STARTS[way]}", files={"child.py": CHILD})
    assert stdout(run).startswith("child ")
    assert stdout(run).strip().endswith(" True")
    assert len(run.processes) == 2
    assert {process.argv[-1] for process in run.processes} == {"script.py", "child.py"}
    if way in ("replaced", "bytes", "execve", "spawn"):
        assert " 1 " in stdout(run)


MULTI = """
    import multiprocessing, os, sys

    def work(x):
        return x + 1

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        with context.Pool(2) as pool:
            print(pool.map(work, [1, 2, 3]))
            pool.close()
            pool.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method: str, probed: Probed) -> None:
    run = probed(MULTI, args=[method])
    assert stdout(run) == "[2, 3, 4]\n"
    assert len(run.processes) >= 3
    assert not [process.errors for process in run.processes if process.errors]


def test_env_in_the_command_itself(probed: Probed) -> None:
    files = {"src/lib.py": "x = 5", "app.py": "import lib; print(lib.x)"}
    run = probed(["env", "PYTHONPATH=src", "python", "app.py"], files=files)
    assert stdout(run) == "5\n"
    assert len(run.processes) == 1


@pytest.mark.parametrize(
    ("command", "word"),
    [
        pytest.param(["python", "-I", "app.py"], "-I", id="isolated"),
        pytest.param(["python", "-E", "app.py"], "-E", id="no environment"),
        pytest.param(["python", "-S", "app.py"], "-S", id="no site"),
        pytest.param(["env", "-i", "python", "app.py"], "env -i", id="empty environment"),
        pytest.param(["true"], "no Python", id="no Python"),
    ],
)
def test_no_process_reports(command: list[str], word: str, probed: Probed) -> None:
    run = probed(command, files={"app.py": "print(1)"})
    assert run.processes == ()
    said = unobserved(run, command)
    assert said is not None and word in said and "\n" not in said


def test_warp_never_imported(probed: Probed) -> None:
    run = probed("print(1)")
    said = unobserved(run, ["python", "script.py"])
    assert said is not None and "never imported Warp" in said


def test_a_command_that_fails_shows_its_last_lines(probed: Probed) -> None:
    run = probed("import sys\nprint('first')\nsys.exit('it broke')")
    with pytest.raises(WarpfixError, match=r"exit status 1 (?s:.*)it broke"):
        require_good(run, ["python", "script.py"], RunSettings())


def test_an_expected_status_is_no_failure(probed: Probed) -> None:
    run = probed("raise SystemExit(3)")
    with pytest.raises(WarpfixError, match="never imported Warp"):
        require_good(run, ["python", "script.py"], RunSettings(expect_status=3))


def test_a_command_that_is_not_there(probed: Probed) -> None:
    with pytest.raises(WarpfixError, match="can't start no-such-command"):
        probed(["no-such-command"])


def test_a_timeout_names_the_way_out(probed: Probed) -> None:
    with pytest.raises(WarpfixError, match=r"--timeout.*--stop-after-launches.*--stop-when-idle"):
        probed("import time\ntime.sleep(60)", settings=RunSettings(timeout=0.7))


def test_a_timeout_ends_grandchildren_too(probed: Probed, tmp_path: object) -> None:
    code = "import os, subprocess, sys, time\nsubprocess.Popen([sys.executable, 'child.py'])\ntime.sleep(60)"
    child = "import time, pathlib\ntime.sleep(3)\npathlib.Path('survived').touch()"
    with pytest.raises(WarpfixError):
        probed(code, files={"child.py": child}, settings=RunSettings(timeout=1.0))
    from pathlib import Path
    from time import sleep

    sleep(2.5)
    assert not (Path(str(tmp_path)) / "program" / "survived").exists()


@pytest.mark.parametrize("condition", ["stop_after_seconds", "stop_when_idle"])
def test_stop_conditions_are_successes(condition: str, probed: Probed) -> None:
    run = probed("import time\nprint('up', flush=True)\ntime.sleep(60)", settings=RunSettings(**{condition: 0.8}))
    assert run.exit_status == 0
    assert run.stopped_by == condition.replace("_", "-")
    assert stdout(run) == "up\n"
    (process,) = run.processes
    assert process.stopped_by == run.stopped_by and not process.ended


def test_stdin_is_replayed_to_each_run(probed: Probed) -> None:
    settings = RunSettings(stdin=b"three\nlines\nhere\n")
    for _ in range(2):
        assert stdout(probed("import sys\nprint(len(sys.stdin.readlines()))", settings=settings)) == "3\n"


def test_prepare_and_cleanup(probed: Probed, tmp_path: object) -> None:
    settings = RunSettings(prepare="echo ready > state", cleanup="rm state")
    run = probed("print(open('state').read())", settings=settings)
    assert stdout(run) == "ready\n\n"
    with pytest.raises(WarpfixError, match="--prepare command ends with exit status 3"):
        probed("print(1)", settings=RunSettings(prepare="exit 3"))


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_a_wrapper_script(probed: Probed) -> None:
    run = probed(["sh", "-c", "cd . && exec $0 app.py", "python"], files={"app.py": "print('in')"})
    assert stdout(run) == "in\n"
    assert len(run.processes) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("#!/bin/sh\nexport PYTHONPATH=src\nexec {python} app.py\n", "run.sh:2 sets PYTHONPATH", id="sets"),
        pytest.param("#!/bin/sh\nunset PYTHONPATH\n{python} app.py\n", "run.sh:2 takes PYTHONPATH away", id="unset"),
        pytest.param("#!/bin/sh\nenv -u PYTHONPATH {python} app.py\n", "run.sh:2 takes PYTHONPATH away", id="env -u"),
        pytest.param("#!/bin/sh\n\nenv -i {python} app.py\n", "run.sh:3 empties the environment", id="env -i"),
        pytest.param("#!/bin/sh\n{python} -I app.py\n", "run.sh:2 runs python -I", id="isolated"),
        pytest.param("#!{python} -E\nprint(1)\n", "run.sh:1 runs python -E", id="shebang"),
    ],
)
@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_a_wrapper_that_keeps_the_probe_out_is_named_with_its_line(
    text: str, said: str, probed: Probed, tmp_path: Path
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(text.format(python=sys.executable))
    script.chmod(0o755)
    by_shell = [["sh", str(script)]] if text.startswith("#!/bin/sh") else []
    for command in [[str(script)], *by_shell]:
        run = probed(command, files={"app.py": "print(1)"})
        assert run.processes == () and stdout(run) == "1\n"
        message = unobserved(run, command)
        assert message is not None and said in message and "\n" not in message


def test_a_wrapper_that_adds_to_pythonpath_is_fine(probed: Probed) -> None:
    run = probed(["sh", "-c", "PYTHONPATH=src:$PYTHONPATH $0 app.py", "python"], files={"app.py": "print(1)"})
    assert len(run.processes) == 1
    run = probed(["sh", "-c", "PYTHONPATH=src $0 app.py", "python"], files={"app.py": "print(1)"})
    message = unobserved(run, ["sh", "-c", "PYTHONPATH=src $0 app.py", "python"])
    assert message is not None and "write PYTHONPATH=$PYTHONPATH:src there" in message


def test_a_place_for_the_probe_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WarpfixError, match=r"can't put the probe into .*TMPDIR chooses another place"):
        run_command(
            ["true"],
            cwd=tmp_path,
            state="cold",
            workspace=tmp_path / "file" / "work",
            caches=tmp_path / "caches",
            settings=RunSettings(),
        )
