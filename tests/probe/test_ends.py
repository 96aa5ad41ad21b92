"""However a program ends, what was seen until then is kept, and the report says that it was cut short."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from support import clean_environment

from warpfix.measure.profile import Profile, Run
from warpfix.measure.read import read_processes
from warpfix.measure.report import from_dict, to_dict
from warpfix.measure.run import RunSettings, run_command
from warpfix.measure.text import render

from .conftest import Probed, stdout

WORK = """
    import os, sys
    import warp as wp

    wp.config.use_precompiled_headers = False

    @wp.kernel(enable_backward=False)
    def bump(v: wp.array(dtype=float)):
        v[wp.tid()] += 1.0

    @wp.kernel(enable_backward=False, module="later")
    def later(v: wp.array(dtype=float)):
        v[wp.tid()] += 1.0

    values = wp.zeros(4, dtype=float, device="cpu")
    wp.launch(bump, dim=4, inputs=[values], device="cpu")
    print("built", flush=True)
"""


def measured(folder: Path, text: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """``warpfix measure`` of a script, as a user calls it."""
    (folder / "app.py").write_text(textwrap.dedent(WORK) + textwrap.dedent(text))
    return subprocess.run(
        [sys.executable, "-m", "warpfix", "measure", *options, "--", sys.executable, "app.py"],
        cwd=folder,
        env=clean_environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.warp
@pytest.mark.parametrize(
    ("ending", "word"),
    [
        pytest.param("import ctypes; ctypes.string_at(0)", "SIGSEGV", id="crash"),
        pytest.param("raise ValueError('mine')", "exit status 1", id="exception"),
    ],
)
def test_a_program_that_fails_leaves_a_report(ending: str, word: str, tmp_path: Path) -> None:
    done = measured(tmp_path, ending, "-o", "report.json")
    assert done.returncode == 2 and done.stdout == ""
    assert word in done.stderr.splitlines()[-1] or any(word in line for line in done.stderr.splitlines())
    assert "first use at app.py:" in done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    (run,) = report["runs"]
    (process,) = run["processes"]
    assert [load["outcome"] for load in process["loads"]] == ["compiled"]
    assert process["launches"]["total"] == 1
    assert process["ended"] == (word != "SIGSEGV")
    assert ("The cold run was cut short by signal SIGSEGV." in done.stderr) == (word == "SIGSEGV")


HANGS = """
    library = wp._src.context.runtime.llvm

    def compiling(*args):
        import time

        open("hangs", "w").close()
        time.sleep(600)

    library.wp_compile_cpp = compiling
    wp.launch(later, dim=4, inputs=[values], device="cpu")
"""
"""A build that goes on and on."""


def cut_short(error: str, report: Path, why: str) -> None:
    """What is said of a run that was ended in the middle of its second build."""
    assert "first use at app.py:" in error
    assert f"The cold run was cut short: {why}." in error
    assert "later was still being built, since" in error
    (run,) = json.loads(report.read_text())["runs"]
    assert run["stopped_by"] in ("timeout", "interrupt") and run["exit_status"] < 0
    (process,) = run["processes"]
    assert [load["outcome"] for load in process["loads"]] == ["compiled"]
    assert process["launches"]["total"] == 1
    assert [span["name"] for span in process["unfinished"]] == ["later"]


@pytest.mark.warp
def test_a_time_out_leaves_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from types import SimpleNamespace

    from warpfix.cli.measure import command
    from warpfix.errors import WarpfixError
    from warpfix.measure import run

    (tmp_path / "app.py").write_text(textwrap.dedent(WORK) + textwrap.dedent(HANGS))
    monkeypatch.chdir(tmp_path)

    def clock() -> float:
        """Ten minutes are over when the build hangs."""
        return time.perf_counter() + (600 if (tmp_path / "hangs").exists() else 0)

    monkeypatch.setattr(run, "time", SimpleNamespace(perf_counter=clock, sleep=time.sleep))
    arguments = ["--timeout", "300", "-o", "report.json", "--html", "page.html", "--", sys.executable, "app.py"]
    with pytest.raises(WarpfixError, match=r"did not end within 300 s \(--timeout\)"):
        command.main(arguments, standalone_mode=False)
    out, error = capsys.readouterr()
    assert out == ""
    cut_short(error, tmp_path / "report.json", "it did not end in time (--timeout)")
    assert (tmp_path / "page.html").stat().st_size > 10000


@pytest.mark.warp
@pytest.mark.skipif(os.name == "nt", reason="signals as POSIX has them")
def test_an_interrupt_leaves_a_report(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(textwrap.dedent(WORK) + textwrap.dedent(HANGS))
    with subprocess.Popen(
        [sys.executable, "-m", "warpfix", "measure", "-o", "report.json", "--", sys.executable, "app.py"],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as warpfix:
        deadline = time.monotonic() + 120
        while not (tmp_path / "hangs").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        warpfix.send_signal(signal.SIGINT)
        out, error = warpfix.communicate(timeout=60)
    assert (warpfix.returncode, out) == (130, "")
    assert error.splitlines()[-1] == "warpfix: interrupted"
    cut_short(error, tmp_path / "report.json", "warpfix was interrupted")


@pytest.mark.warp
def test_a_kill_at_a_random_moment(probed: Probed, tmp_path: Path) -> None:
    """The log is a prefix of the whole one, whenever the process is killed; a cut at any byte reads as well."""
    text = WORK + "    for _ in range(300000):\n        wp.launch(bump, dim=4, inputs=[values], device='cpu')\n"
    caches = tmp_path / "caches"
    whole = probed(WORK, caches=caches)
    events = [load.module for load in whole.processes[0].loads]
    assert events == ["__main__"]
    folder = tmp_path / "program"
    (folder / "long.py").write_text(textwrap.dedent(text))
    seen = set()
    for number in range(6):
        moment = random.Random(number).uniform(0.05, 2.5)
        killed = run_command(
            ["sh", "-c", f'"{sys.executable}" long.py & child=$!; sleep {moment}; kill -9 $child; wait $child; exit 0'],
            cwd=folder,
            state="warm",
            workspace=tmp_path / f"killed-{number}",
            caches=caches,
            settings=RunSettings(timeout=60),
        )
        for process in killed.processes:
            assert [load.module for load in process.loads] == events[: len(process.loads)]
            launches = process.launches
            assert set(launches.sequence) <= {one.id for one in launches.signatures}
            assert launches.total >= len(launches.sequence)
            assert not process.errors
            seen.add(len(process.loads) + bool(launches.total))
        assert not (set(seen) - {0, 1, 2})
    logs = tmp_path / "work-0" / "logs"
    (log,) = logs.glob("*.jsonl")
    (launched,) = logs.glob("*.seq")
    data, order = log.read_bytes(), launched.read_bytes()
    for size in random.Random(1).sample(range(len(data)), 150):
        log.write_bytes(data[:size])
        # Each file may be cut by itself.
        launched.write_bytes(order[: size % 9])
        processes = read_processes(logs)
        for process in processes:
            assert [load.module for load in process.loads] in ([], events)
            assert process.launches.total == (1 if size % 9 >= 4 and process.launches.signatures else 0)
        run = Run("cold", -9, 1.0, "", "", tuple(processes))
        report = Profile(("python", "app.py"), str(folder), "native", (run,))
        assert "cut short by signal SIGKILL" in render(report)
        read = from_dict(json.loads(json.dumps(to_dict(report))))
        assert [one.launches for one in read.runs[0].processes] == [one.launches for one in processes]


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A folder on a disk of its own with three megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.name == "nt" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.warp
def test_a_disk_that_becomes_full(small_disk: Path, tmp_path: Path) -> None:
    fill = """
        with open(sys.argv[1], "wb", buffering=0) as file:
            for size in (1 << 16, 1 << 8, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    pass
        for number in range(90):
            wp.config.max_unroll = number  # what is left of the log's last block is used up
        for _ in range(5):
            wp.launch(bump, dim=2, inputs=[values], device="cpu")
        wp.launch(later, dim=3, inputs=[values], device="cpu")
        """
    (tmp_path / "app.py").write_text(textwrap.dedent(WORK) + textwrap.dedent(fill))
    run = run_command(
        [sys.executable, "app.py", str(small_disk / "filler")],
        cwd=tmp_path,
        state="cold",
        workspace=small_disk / "work",
        caches=tmp_path / "caches",
        settings=RunSettings(timeout=120),
    )
    # The program itself does not notice.
    assert run.exit_status == 0
    assert "built" in stdout(run)
    (process,) = run.processes
    assert not process.ended
    assert [load.module for load in process.loads] == ["__main__"]
    assert process.launches.total >= 1
    assert any("the disk with the temporary files is full" in error for error in process.errors)


def test_a_disk_that_is_full_from_the_start(small_disk: Path, tmp_path: Path) -> None:
    (small_disk / "filler").write_bytes(bytes((3 << 20) - (64 << 10)))
    done = measured(tmp_path, "", TMPDIR=str(small_disk))
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if "warpfix" in line or "disk" in line.lower()][-1:]
    assert "No space left" in line or "is full" in line
    assert "TMPDIR chooses another place" in done.stderr


def test_a_limit_on_file_sizes(probed: Probed) -> None:
    run = probed(
        """
        import os, resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))
        for _ in range(5):
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        print("ran")
        """
    )
    assert (run.exit_status, stdout(run)) == (0, "ran\n")
    assert len(run.processes) == 6


def test_a_program_run_by_runpy_and_threads_that_outlive_it(probed: Probed) -> None:
    run = probed(
        """
        import runpy, sys, threading, time
        sys.argv = ["inner.py", "x"]
        print(runpy.run_path("inner.py", run_name="__main__")["value"])
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        sys.exit(runpy.run_module("package", run_name="__main__")["value"])
        """,
        files={"inner.py": "import sys\nvalue = sys.argv", "package/__init__.py": "", "package/__main__.py": "value=5"},
    )
    assert (run.exit_status, stdout(run)) == (5, "['inner.py', 'x']\n")
    assert run.processes[0].ended and not run.processes[0].errors


@pytest.mark.skipif(os.name == "nt", reason="a terminal")
def test_on_a_terminal_the_program_still_has_one(tmp_path: Path) -> None:
    """The probe itself changes nothing about the streams; ``run_command`` redirects them, and says so."""
    import pty

    from warpfix.measure.inject import inject

    injection = inject(
        tmp_path / "work", tmp_path / "caches", environment=os.environ, overlay=None, stop_after_launches=None
    )
    code = "import sys; print([stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)])"
    said = []
    for environment in (dict(clean_environment()), injection.environment(clean_environment())):
        main, other = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=other, stdout=other, stderr=other, env=environment
        ) as child:
            os.close(other)
            child.wait(30)
            time.sleep(0.05)
            said.append(os.read(main, 1000))
        os.close(main)
    assert said[0] == said[1] and b"[True, True, True]" in said[0]
    assert len(read_processes(injection.logs)) == 1
