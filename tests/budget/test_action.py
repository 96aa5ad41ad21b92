"""The composite action: what it runs is run here, with a warpfix that only says how it was called."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from warpfix.cli.budget import check

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
ACTION = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())


def test_every_input_is_used_and_told() -> None:
    text = str(ACTION["runs"])
    for name, described in ACTION["inputs"].items():
        assert f"inputs.{name} " in text
        assert described["description"].endswith((".", "GPU."))


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("given", "called"),
    [
        ({}, ["budget", "check", "--format", "github", "--file", "warpfix-budget.toml"]),
        (
            {"file": "a b.toml", "name": "x; ls", "target": "sm_90"},
            ["budget", "check", "--format", "github", "--file", "a b.toml", "--name", "x; ls", "--target", "sm_90"],
        ),
    ],
)
def test_what_it_runs(given: dict[str, str], called: list[str], tmp_path: Path) -> None:
    warpfix = tmp_path / "warpfix" / "bin" / "warpfix"
    warpfix.parent.mkdir(parents=True)
    warpfix.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{shlex.quote(str(tmp_path / "called"))}\n')
    warpfix.chmod(0o755)
    step = ACTION["runs"]["steps"][-1]
    values = {name: given.get(name, described["default"]) for name, described in ACTION["inputs"].items()}
    variables = {key: values[text.split(".")[1].split()[0]] for key, text in step["env"].items()}
    environment = {**os.environ, **variables, "RUNNER_TEMP": str(tmp_path)}
    subprocess.run(["bash", "-e", "-c", step["run"]], env=environment, check=True)
    assert (tmp_path / "called").read_text().splitlines() == called
    options = {name for parameter in check.params for name in parameter.opts}
    assert {word for word in called if word.startswith("--")} <= options
