"""The program sees what it would see without the probe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import clean_environment

from .conftest import Probed, stdout

FACTS = """
import json, os, sys
main = sys.modules["__main__"]
print(json.dumps({
    "name": __name__,
    "argv": sys.argv,
    "path": sys.path,
    "cwd": os.getcwd(),
    "executable": sys.executable,
    "prefix": sys.prefix,
    "flags": list(sys.flags),
    "orig_argv": getattr(sys, "orig_argv", None),
    "tty": [stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)],
    "encoding": sys.stdout.encoding,
    "stdin": sys.stdin.read(),
    "main": [main.__name__, getattr(main, "__file__", None), main.__spec__ and main.__spec__.name, main.__package__],
    "loader": type(main.__loader__).__name__,
    "globals": sorted(globals()),
    "sitecustomize": getattr(sys.modules.get("sitecustomize"), "__file__", None),
    "meta_path": [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path][-3:],
    "threads": __import__("threading").active_count(),
    "hook": sys.excepthook is sys.__excepthook__,
    "signals": [str(__import__("signal").getsignal(number)) for number in (2, 15)],
}, default=str))
sys.exit(7)
"""

WAYS = {
    "script": ["python", "facts.py", "a", "--b"],
    "module": ["python", "-m", "pkg.facts", "x"],
    "package": ["python", "-m", "pkg"],
    "command": ["python", "-c", FACTS, "y"],
    "flags": ["python", "-W", "error", "-X", "utf8", "-O", "facts.py"],
    "unbuffered": ["python", "-u", "facts.py"],
    "stdin": ["python", "-"],
}


@pytest.mark.parametrize("way", WAYS)
def test_the_program_sees_no_difference(way: str, probed: Probed, tmp_path: Path) -> None:
    files = {"facts.py": FACTS, "pkg/__init__.py": "", "pkg/facts.py": FACTS, "pkg/__main__.py": FACTS}
    run = probed(WAYS[way], files=files)
    folder = tmp_path / "program"
    command = [sys.executable if part == "python" else part for part in WAYS[way]]
    plain = subprocess.run(
        command, cwd=folder, env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert stdout(run) == plain.stdout
    assert run.exit_status == plain.returncode
    assert Path(run.stderr_path).read_text() == plain.stderr
    assert len(run.processes) == 1
    assert run.processes[0].warp_version is None
    assert run.processes[0].ended
    assert not run.processes[0].errors


def test_the_users_own_sitecustomize_runs(probed: Probed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "sitecustomize.py").write_text("import sys\nsys.marked = __file__\n")
    monkeypatch.setenv("PYTHONPATH", str(mine))
    run = probed("import sys, sitecustomize\nprint(sys.marked, sitecustomize.__file__, sys.path[1])")
    file = str(mine / "sitecustomize.py")
    assert stdout(run).split() == [file, file, str(mine)]
    assert len(run.processes) == 1


def test_a_sitecustomize_that_fails_says_so_as_ever(
    probed: Probed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "sitecustomize.py").write_text("raise ValueError('mine')\n")
    monkeypatch.setenv("PYTHONPATH", str(mine))
    run = probed("print('ran')")
    assert stdout(run) == "ran\n"
    assert "Error in sitecustomize" in Path(run.stderr_path).read_text()


def test_no_sitecustomize_at_all(probed: Probed) -> None:
    run = probed(
        """
        import sys
        try:
            import sitecustomize
        except ImportError as error:
            print(error.name)
        else:
            print("found", sitecustomize.__file__)
        """
    )
    assert stdout(run).split()[0] in ("sitecustomize", "found")
    assert "inject" not in stdout(run)


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        pytest.param("sys.exit(3)", 3, id="exit"),
        pytest.param("os._exit(4)", 4, id="_exit"),
        pytest.param("raise ValueError", 1, id="exception"),
        pytest.param("os.kill(os.getpid(), 15)", -15, id="SIGTERM"),
        pytest.param("os.kill(os.getpid(), 9)", -9, id="SIGKILL"),
        pytest.param("os.abort()", -6, id="abort"),
    ],
)
def test_every_end_keeps_the_log(ending: str, status: int, probed: Probed) -> None:
    run = probed(f"import os, sys\nsys.stdout.flush()\n{ending}")
    assert run.exit_status == status
    (process,) = run.processes
    assert process.ended == (status > 0)


def test_a_fault_of_the_probe_does_not_reach_the_program(probed: Probed) -> None:
    # The program closes every descriptor and fills its own; the log must not write into them.
    run = probed(
        """
        import os, subprocess, sys
        os.closerange(3, 256)
        own = open("own.txt", "wb", buffering=0)
        os._exit(0) if os.fork() == 0 else os.wait()
        own.write(b"mine")
        print(open("own.txt").read())
        """
    )
    assert stdout(run) == "mine\n"
    assert run.exit_status == 0
    assert len(run.processes) == 2


def test_the_log_folder_vanishes(probed: Probed, tmp_path: Path) -> None:
    run = probed(
        f"""
        import shutil
        shutil.rmtree({str(tmp_path / "work-0" / "logs")!r})
        print("ran")
        """
    )
    assert (run.exit_status, stdout(run)) == (0, "ran\n")


def test_pytest_runs_as_ever(probed: Probed) -> None:
    test = "import sys\ndef test_it():\n    assert sys.argv[0].endswith('__main__.py')\n"
    run = probed(["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"], files={"test_x.py": test})
    assert run.exit_status == 0
    assert "1 passed" in stdout(run)
    assert len(run.processes) == 1


def test_pytest_with_xdist(probed: Probed) -> None:
    pytest.importorskip("xdist")
    test = "def test_a(): pass\ndef test_b(): pass\n"
    run = probed(["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2"], files={"test_x.py": test})
    assert run.exit_status == 0
    assert len(run.processes) == 3


def test_a_console_script(probed: Probed, tmp_path: Path) -> None:
    script = tmp_path / "tool"
    script.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\n")
    script.chmod(0o755)
    run = probed([str(script), "x"])
    assert stdout(run) == "['x']\n"
    assert len(run.processes) == 1


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_another_virtual_environment_without_warpfix(probed: Probed, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "other")], check=True)
    python = str(tmp_path / "other" / "bin" / "python")
    code = "import importlib.util as u, sys; print(u.find_spec('warpfix'), u.find_spec('click'), sys.prefix)"
    run = probed([python, "-c", code])
    assert stdout(run) == f"None None {tmp_path / 'other'}\n"
    assert len(run.processes) == 1
