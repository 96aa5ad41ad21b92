"""``warpfix demo`` short of the measurement: what it offers, copies and refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpfix.cli import demo
from warpfix.errors import WarpfixError

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path.name for path in (CHECKOUT / "sample_projects").iterdir() if (path / "pyproject.toml").is_file())


def test_every_sample_project_is_offered() -> None:
    assert sorted(demo.SAMPLES) == FOLDERS


@pytest.mark.parametrize("name", FOLDERS)
def test_the_command_is_that_of_its_expect_md(name: str) -> None:
    expect = (CHECKOUT / "sample_projects" / name / "EXPECT.md").read_text(encoding="utf-8")
    (run,) = re.findall(r"^Run: `python (.+)`$", expect, re.MULTILINE)
    assert " ".join(demo.SAMPLES[name].command) == run


def test_list_names_them_all(run_cli) -> None:
    result = run_cli("demo", "--list")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(demo.SAMPLES)


def test_an_unknown_name_is_one_line(run_cli) -> None:
    result = run_cli("demo", "nonesuch", debug=False)
    assert result.returncode == 2 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and "particle_stages" in result.stderr


def test_a_folder_in_use_is_left_alone(tmp_path: Path, run_cli) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    result = run_cli("demo", "clean", "--keep", tmp_path, debug=False)
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", FOLDERS)
def test_the_copy_is_complete_and_equal(name: str, tmp_path: Path) -> None:
    demo.copy_sample(name, tmp_path / "copy")
    original = CHECKOUT / "sample_projects" / name
    for path in original.rglob("*"):
        if path.is_file() and path.suffix in (".py", ".toml", ".md"):
            assert (tmp_path / "copy" / path.relative_to(original)).read_bytes() == path.read_bytes()
    assert demo.changes(name, tmp_path / "copy") == ""


def test_changes_are_shown_as_a_diff(tmp_path: Path) -> None:
    demo.copy_sample("late_config", tmp_path / "copy")
    script = tmp_path / "copy" / "run.py"
    script.write_text(script.read_text(encoding="utf-8").replace("COUNT = 2048", "COUNT = 2"), encoding="utf-8")
    diff = demo.changes("late_config", tmp_path / "copy").splitlines()
    assert diff[:2] == ["--- a/run.py", "+++ b/run.py"]
    assert [line for line in diff[2:] if line.startswith(("-", "+"))] == ["-COUNT = 2048", "+COUNT = 2"]


def test_a_missing_target_folder_is_made(tmp_path: Path) -> None:
    demo.copy_sample("clean", tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / "run.py").is_file()


def test_a_target_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WarpfixError, match="not an empty folder"):
        demo.copy_sample("clean", tmp_path / "file")
