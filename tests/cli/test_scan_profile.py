"""``warpfix scan --profile``: what each finding cost, what never ran, and what the profile refutes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from profile_support import Built, Launched, profile
from scan_support import write_files

from warpfix.measure.profile import OptionWrite, SourceLine
from warpfix.measure.report import write_report

RunCli = Callable[..., object]


def closure(name: str) -> str:
    return f"def {name}():\n    @wp.kernel\n    def k(v: int):\n        pass\n\n    wp.launch(k, dim=1)\n\n\n"


SOURCE = (
    "import warp as wp\n\n\n"
    + closure("unused")
    + closure("used")
    + "def late():\n    used()\n    wp.set_module_options({'max_unroll': 1})\n"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_files(tmp_path_factory.mktemp("profiled"), {"app.py": SOURCE})
    app = str(root / "app.py")
    kernel = "used.<locals>.k"
    measured = profile(app, [Built("app", [kernel]), Built("app", [kernel])], [Launched(kernel)])
    line = SOURCE.splitlines().index("    wp.set_module_options({'max_unroll': 1})") + 1
    write = OptionWrite("set_module_options", "app", "max_unroll", 1, 1, SourceLine(app, line), 1.0, "same-value")
    runs = [
        replace(run, processes=tuple(replace(one, option_writes=(write,)) for one in run.processes))
        for run in measured.runs
    ]
    write_report(replace(measured, runs=tuple(runs)), root / "before.json")
    return root


def test_costs_what_never_ran_and_what_is_refuted(run_cli: RunCli, project: Path) -> None:
    assert "WF202" in run_cli("scan", cwd=project).stdout
    done = run_cli("scan", "--profile", "before.json", "--select", "WF101,WF202", cwd=project)
    assert (done.returncode, done.stderr) == (1, "")
    measured, apart, unmeasured = done.stdout.partition("In code that the measured command never ran:\n\n")
    assert apart
    assert measured.startswith("app.py:13:5 WF101 ")
    assert (
        "  = cost in the measured command: 2 builds, 2 ms of module time; 1 of them a repeat: a fix saves at most 1 ms\n"
        in measured
    )
    assert unmeasured.startswith("app.py:5:5 WF101 ")
    assert "  = never ran in the measured command\n" in unmeasured
    assert "WF202" not in done.stdout
    assert "1 finding left out, as the profile refutes it (--verbose says why)\n" in done.stdout


def test_verbose_says_why(run_cli: RunCli, project: Path) -> None:
    options = ["--profile", "before.json", "--select", "WF202"]
    done = run_cli("scan", *options, "--verbose", cwd=project)
    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == [
        "Left out, as the profile refutes it:",
        "app.py:22:5 WF202 late-module-options: in the measured command it set the value that was set already",
    ]
    document = json.loads(run_cli("scan", *options, "--format", "json", cwd=project).stdout)
    (refuted,) = document["refuted"]
    assert (refuted["path"], refuted["line"], refuted["code"]) == ("app.py", 22, "WF202")
    assert refuted["reason"].startswith("in the measured command")


def test_a_known_finding_that_one_command_refutes_is_not_stale(run_cli: RunCli, project: Path) -> None:
    run_cli("scan", "--baseline", "known.json", "--write-baseline", cwd=project)
    done = run_cli("scan", "--baseline", "known.json", "--profile", "before.json", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    (project / "known.json").unlink()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--verbose"], "it needs --profile"),
        (["--write-baseline", "--baseline", "x.json", "--profile", "before.json"], "exclude each other"),
    ],
)
def test_a_wrong_call(run_cli: RunCli, project: Path, options: list[str], message: str) -> None:
    done = run_cli("scan", *options, cwd=project, debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1
