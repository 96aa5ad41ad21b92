"""The loop on other Warps than our own, in environments that have no warpfix.

``WARPFIX_TEST_PYTHONS`` holds interpreters, separated by spaces, in whose environments Warp is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from warpfix.cli import demo

PYTHONS = os.environ.get("WARPFIX_TEST_PYTHONS", "").split()

pytestmark = [
    pytest.mark.warp,
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHONS, reason="WARPFIX_TEST_PYTHONS names no interpreter"),
]


@pytest.fixture(params=PYTHONS or [None], ids=range(max(len(PYTHONS), 1)))
def python(request: pytest.FixtureRequest) -> str:
    interpreter: str = request.param
    missing = subprocess.run([interpreter, "-c", "import warpfix"], capture_output=True, cwd="/")
    assert missing.returncode != 0, f"{interpreter} has warpfix: it must not"
    return interpreter


def test_measure(python: str, run_cli, copy_sample, tmp_path: Path) -> None:
    name, modules = "kernels_between_launches", {"heat.solver": 3, "__main__": 2}
    folder = copy_sample(name)
    report = tmp_path / "report.json"
    result = run_cli("measure", "-o", report, "--", python, *demo.SAMPLES[name].command, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    measured = json.loads(report.read_text(encoding="utf-8"))
    assert {module: entry["builds"] for module, entry in measured["modules"].items()} == modules
    assert measured["identities"] == sum(modules.values())
    assert measured["warm_builds"] == 0
    assert not [error for run in measured["runs"] for process in run["processes"] for error in process["errors"]]


def test_verify(python: str, run_cli, copy_sample, observe) -> None:
    name = "late_module_options"
    folder, command = copy_sample(name), demo.SAMPLES[name].command
    before = observe(folder, command, python=python)
    result = run_cli("apply", "--verify", "--", python, *command, cwd=folder)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    after = observe(folder, command, python=python)
    assert (before.builds, after.builds) == ({"__main__": 2}, {"__main__": 1})
    assert after.output == before.output
    assert after.launches == before.launches
