"""Baselines: findings that a project has accepted for now are left out, by what they are and not by their line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from scan_support import write_files

RunCli = Callable[..., object]

HEAD = "import warp as wp\n\n\n"


def late(name: str, value: int = 1) -> str:
    return (
        f"def {name}():\n    @wp.kernel\n    def k(v: int):\n        pass\n\n"
        f"    wp.launch(k, dim=1)\n    wp.set_module_options({{'max_unroll': {value}}})\n\n\n"
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    pyproject = '[tool.warpfix]\nbaseline = "known.json"\nselect = ["WF101", "WF202"]\n'
    return write_files(tmp_path, {"pyproject.toml": pyproject, "app.py": HEAD + late("one"), "sub/b.py": HEAD})


def test_only_new_findings(run_cli: RunCli, project: Path) -> None:
    done = run_cli("scan", "--write-baseline", cwd=project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "known.json: 2 known findings\n", "")
    entries = json.loads((project / "known.json").read_text())["findings"]
    assert entries == [
        {"rule": "WF101", "path": "app.py", "kernel": "one.<locals>.k"},
        {"rule": "WF202", "path": "app.py", "line": "wp.set_module_options({'max_unroll': 1})"},
    ]
    # Moved down and indented otherwise, from any folder: still known. The same again is new.
    (project / "app.py").write_text(HEAD + "X = 1\n" + late("one"))
    for cwd in (project, project / "sub"):
        done = run_cli("scan", project, cwd=cwd)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[:2] == [
            "nothing new found in 2 files that use Warp",
            "2 known findings left out, as the baseline lists them",
        ]
    (project / "app.py").write_text(HEAD + late("one") + late("two"))
    done = run_cli("scan", "--format", "json", cwd=project)
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert [(item["code"], item["line"]) for item in document["findings"]] == [("WF101", 14), ("WF202", 19)]
    assert (document["summary"]["known"], document["stale_baseline"]) == (2, [])


def test_stale_entries_are_said(run_cli: RunCli, project: Path) -> None:
    run_cli("scan", "--write-baseline", cwd=project)
    (project / "app.py").write_text(HEAD)
    done = run_cli("scan", cwd=project)
    assert done.returncode == 0
    assert done.stderr == (
        "warpfix: known.json: no longer found: WF101 app.py: one.<locals>.k; "
        "WF202 app.py: wp.set_module_options({'max_unroll': 1}) (--write-baseline takes it out)\n"
    )
    # Nothing is said of what was not looked at: another rule, another file.
    assert "WF202" not in run_cli("scan", "--select", "WF101", cwd=project).stderr
    assert run_cli("scan", "sub", cwd=project).stderr == ""
    (project / "app.py").unlink()
    assert "no longer found" in run_cli("scan", cwd=project).stderr
    run_cli("scan", "--write-baseline", cwd=project)
    assert json.loads((project / "known.json").read_text())["findings"] == []


def test_writing_a_part_keeps_the_rest(run_cli: RunCli, project: Path) -> None:
    run_cli("scan", "--write-baseline", cwd=project)
    (project / "sub/b.py").write_text(HEAD + late("two"))
    done = run_cli("scan", "sub", "--select", "WF202", "--write-baseline", cwd=project)
    assert done.stdout == "known.json: 1 known finding, and 2 kept that this scan did not look for\n"
    done = run_cli("scan", "--format", "json", cwd=project)
    assert [(item["code"], item["path"]) for item in json.loads(done.stdout)["findings"]] == [("WF101", "sub/b.py")]


def test_nothing_is_written_where_a_file_is_broken(run_cli: RunCli, project: Path) -> None:
    (project / "sub/b.py").write_text("import warp\ndef f(:\n")
    done = run_cli("scan", "--write-baseline", cwd=project)
    assert done.returncode == 2 and "no baseline written" in done.stderr
    assert not (project / "known.json").exists()


def test_a_file_that_is_named(run_cli: RunCli, project: Path) -> None:
    assert run_cli("scan", "--baseline", "mine.json", "--write-baseline", cwd=project).returncode == 0
    assert run_cli("scan", "--baseline", "mine.json", cwd=project).returncode == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "there is no baseline"), ("[]", "not a baseline"), ("{", "not a baseline"), ('{"schema": 1}', "not a")],
)
def test_no_baseline(run_cli: RunCli, project: Path, text: str | None, message: str) -> None:
    if text is not None:
        (project / "known.json").write_text(text)
    done = run_cli("scan", cwd=project, debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1
