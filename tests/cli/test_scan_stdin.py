"""``warpfix scan -``: source from stdin, with or without the path that it has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from scan_support import write_files

RunCli = Callable[..., object]

LATE = """\
import warp as wp

@wp.kernel
def k(v: int):
    pass

def main():
    wp.launch(k, dim=1)
    wp.set_module_options({"enable_backward": False})
"""


def test_without_a_name(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("scan", "-", cwd=tmp_path, input=LATE)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("<stdin>:9:5 WF202 ")
    assert '  9 |     wp.set_module_options({"enable_backward": False})' in done.stdout


def test_the_name_gives_path_project_and_configuration(run_cli: RunCli, tmp_path: Path) -> None:
    sources = {
        "pyproject.toml": '[tool.warpfix.per-file-ignores]\n"quiet.py" = ["WF202"]\n',
        "kernels.py": "import warp as wp\n\n@wp.kernel\ndef k(v: int):\n    pass\n",
        "app.py": "nothing that parses (",
    }
    write_files(tmp_path, sources)
    assert run_cli("scan", "-", "--stdin-filename", "quiet.py", cwd=tmp_path, input=LATE).returncode == 0
    done = run_cli("scan", "-", "--stdin-filename", "app.py", cwd=tmp_path, input=LATE)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("app.py:9:5 WF202 ")
    # What it imports is looked up in its project.
    importing = "import warp as wp\nimport kernels\n\nwp.launch(kernels.k, dim=1)\nwp.set_module_options({'max_unroll': 1}, module=kernels)\n"
    done = run_cli("scan", "-", "--stdin-filename", "new.py", "--format", "json", cwd=tmp_path, input=importing)
    assert [(f["path"], f["line"], f["code"]) for f in json.loads(done.stdout)["findings"]] == [("new.py", 5, "WF202")]
    assert (tmp_path / "app.py").read_text() == "nothing that parses ("


def test_source_that_does_not_parse(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("scan", "-", cwd=tmp_path, input="def f(:\n")
    assert done.returncode == 2
    assert done.stderr.startswith("warpfix: <stdin>:1: not parsed: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "app.py"], "stands alone"),
        (["--stdin-filename", "app.py"], "give `-` as PATH"),
        (["-", "--stdin-filename", "."], "that is a folder"),
    ],
)
def test_a_wrong_call(run_cli: RunCli, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run_cli("scan", *arguments, cwd=tmp_path, input=LATE, debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1
