"""``warpfix scan``, ``rules`` and ``explain`` from the outside: statuses, streams, formats."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from scan_support import write_files

from warpfix.cli import main

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
CLEAN = "import warp as wp\n\n@wp.kernel\ndef k(v: int):\n    pass\n"


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(
        tmp_path_factory.mktemp("late"), {"app.py": LATE, "tests/test_app.py": LATE, "plain.py": "x = 1\n"}
    )


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("clean"), {"app.py": CLEAN})


def test_nothing_found(run_cli: RunCli, clean: Path) -> None:
    done = run_cli("scan", cwd=clean)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "nothing found in 1 file that uses Warp\n"


def test_no_warp_at_all(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("scan", write_files(tmp_path, {"a.py": "x = 1\n"}))
    assert (done.returncode, done.stdout) == (
        0,
        "nothing to look at: the one file that was read does not import Warp, or is no Python\n",
    )


def test_text(run_cli: RunCli, late: Path) -> None:
    done = run_cli("scan", ".", cwd=late)
    assert done.returncode == 1
    first, excerpt, carets, *rest = done.stdout.splitlines()
    assert first.startswith("app.py:9:5 WF202 late-module-options: ")
    assert excerpt == '  9 |     wp.set_module_options({"enable_backward": False})'
    assert carets == "    |     " + "^" * 49
    assert any(line.startswith("  = fix (measured): ") for line in rest)
    assert rest[-2:] == [
        "1 finding in 1 file; fixes: 1 measured",
        "1 test or vendored file left out (--include-tests takes tests in)",
    ]
    assert "\x1b" not in done.stdout


def test_tests_on_demand(run_cli: RunCli, late: Path) -> None:
    assert "2 findings in 2 files" in run_cli("scan", "--include-tests", cwd=late).stdout


def test_exit_zero(run_cli: RunCli, late: Path) -> None:
    assert run_cli("scan", "--exit-zero", cwd=late).returncode == 0


@pytest.mark.parametrize(
    ("options", "status"),
    [(["--select", "WF201"], 0), (["--ignore", "late-module-options"], 0), (["--select", "WF201,WF202"], 1)],
)
def test_selection(run_cli: RunCli, late: Path, options: list[str], status: int) -> None:
    assert run_cli("scan", *options, cwd=late).returncode == status


def test_json(run_cli: RunCli, late: Path) -> None:
    done = run_cli("scan", "--format", "json", "--statistics", cwd=late)
    document = json.loads(done.stdout)
    assert (document["schema"], document["version"], document["summary"]["by_rule"]) == (
        "warpfix-scan",
        1,
        {"WF202": 1},
    )
    (finding,) = document["findings"]
    assert (finding["path"], finding["line"], finding["column"], finding["end_column"]) == ("app.py", 9, 5, 54)
    assert finding["fix"]["applicability"] == "measured"
    assert finding["fix"]["edits"] == [
        {"path": "app.py", "codemod": "move_statement", "arguments": {"line": 9, "before": 8, "noqa": []}}
    ]
    assert set(document["statistics"]["seconds"]) >= {"discover", "index", "WF202"}


def test_sarif(run_cli: RunCli, late: Path) -> None:
    done = run_cli("scan", "--format", "sarif", cwd=late)
    log = json.loads(done.stdout)
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "WF202"
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "app.py", "uriBaseId": "SRCROOT"}
    assert location["region"] == {"startLine": 9, "startColumn": 5, "endLine": 9, "endColumn": 54}
    assert all(fix["artifactChanges"] for fix in result.get("fixes", []))
    assert result["partialFingerprints"]


def test_github(run_cli: RunCli, late: Path) -> None:
    done = run_cli("scan", "--format", "github", cwd=late)
    (line,) = done.stdout.splitlines()
    assert line.startswith(
        "::warning file=app.py,line=9,endLine=9,col=5,endColumn=54,title=WF202 late-module-options::"
    )


def test_to_a_file(run_cli: RunCli, late: Path, tmp_path: Path) -> None:
    done = run_cli("scan", "--format", "json", "-o", tmp_path / "out.json", cwd=late)
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads((tmp_path / "out.json").read_text())["summary"]["findings"] == 1


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_a_bad_file_is_reported_with_the_rest(run_cli: RunCli, tmp_path: Path, form: str) -> None:
    write_files(tmp_path, {"app.py": LATE, "bad.py": "import warp\ndef f(:\n"})
    done = run_cli("scan", "--format", form, cwd=tmp_path)
    assert done.returncode == 2
    assert "WF202" in done.stdout
    assert done.stderr.startswith("warpfix: bad.py:2: not parsed: ")
    assert done.stderr.count("\n") == 1


ERRORS = [
    pytest.param(["scan", "nowhere"], "nowhere: no such file or folder", id="a path that does not exist"),
    pytest.param(["scan", "--select", "WF9"], "no rule is called 'WF9'", id="an unknown rule"),
    pytest.param(["scan", "--format", "xml"], "'xml' is not one of", id="an unknown format"),
    pytest.param(["scan", "-o", "no/where.txt"], "there is no folder", id="a folder that does not exist"),
    pytest.param(["scan", "--warp-min", "new"], "not a version", id="no version"),
    pytest.param(["scan", "--profile", "nothing.json"], "nothing.json", id="no profile"),
    pytest.param(["explain", "WF9"], "no rule is called 'WF9'", id="explain an unknown rule"),
]


@pytest.mark.parametrize(("arguments", "message"), ERRORS)
def test_a_mistake_gives_one_clear_line_and_2(run_cli: RunCli, clean: Path, arguments: list[str], message: str) -> None:
    done = run_cli(*arguments, cwd=clean, debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_unknown_configuration_key(run_cli: RunCli, tmp_path: Path) -> None:
    write_files(tmp_path, {"pyproject.toml": "[tool.warpfix]\nselekt = []\n", "app.py": CLEAN})
    done = run_cli("scan", cwd=tmp_path, debug=False)
    assert done.returncode == 2
    assert "unknown key 'selekt'" in done.stderr and done.stderr.count("\n") == 1


def test_characters_that_the_terminal_does_not_have(run_cli: RunCli, tmp_path: Path) -> None:
    write_files(tmp_path, {"app.py": LATE.replace("False})", "False})  # grün → schnell")})
    done = run_cli("scan", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert done.returncode == 1
    assert "gr\\xfcn" in done.stdout


def test_rules_and_explain(run_cli: RunCli) -> None:
    listed = run_cli("rules").stdout.splitlines()
    assert any(line.startswith("WF202  late-module-options") for line in listed)
    catalogue = json.loads(run_cli("rules", "--format", "json").stdout)
    assert [rule["code"] for rule in catalogue] == [line.split()[0] for line in listed if line.startswith("WF")]
    text = run_cli("explain", "late-config").stdout
    assert all(word in text for word in ("Bad:", "Good:", "Limits:", "Fix:", "ignore[WF201]"))


def test_collector_is_left_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A scan runs without it, but a process that calls ``main`` goes on afterwards."""
    (tmp_path / "mod.py").write_text("import warp as wp\n")
    assert gc.isenabled()
    with pytest.raises(SystemExit) as raised:
        main(["scan", str(tmp_path)])
    assert raised.value.code == 0
    assert gc.isenabled()
    frozen = gc.get_freeze_count()
    gc.disable()
    try:
        with pytest.raises(SystemExit):
            main(["scan", str(tmp_path)])
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert gc.get_freeze_count() == frozen
