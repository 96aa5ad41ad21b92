"""``warpfix budget`` as typed: mistakes, and one small program through writing, keeping and breaking its budget."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

PROGRAM = """
import warp as wp

@wp.kernel
def push(v: wp.array(dtype=float)):
    v[wp.tid()] += 1.0

values = wp.zeros(4, dtype=float, device="cpu")
wp.launch(push, dim=4, inputs=[values], device="cpu")
"""
MORE = """
@wp.kernel(enable_backward=False)
def pull(v: wp.array(dtype=float)):
    v[wp.tid()] -= 1.0

wp.launch(pull, dim=4, inputs=[values], device="cpu")
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["check"], "there is no warpfix-budget.toml: write it first", id="nothing to check"),
        pytest.param(["write"], "holds no budget", id="nothing to write"),
        pytest.param(["write", "--file", "no/b.toml", "--", "x"], "there is no folder", id="no folder"),
        pytest.param(["check", "--file", "empty.toml"], "holds no budget", id="no entries"),
        pytest.param(
            ["check", "--file", "two.toml", "--name", "c"], "no budget called c; there are a, b", id="no name"
        ),
        pytest.param(["check", "--file", "two.toml", "--", "x"], "add --name", id="which"),
        pytest.param(["write", "--file", "two.toml", "--name", "a", "--", "y"], "for another command", id="taken"),
        pytest.param(["write", "--", "x", "--api-key", "abc"], "look like secrets", id="secret"),
        pytest.param(["check", "--file", "two.toml", "--name", "b"], "the folder of b is not there", id="no cwd"),
        pytest.param(["check", "--file", "two.toml", "--name", "a"], "can't start no-such-x", id="no command"),
    ],
)
def test_mistakes(arguments: list[str], message: str, tmp_path: Path, run_cli) -> None:
    (tmp_path / "empty.toml").write_text("version = 1\n")
    (tmp_path / "two.toml").write_text(
        "version = 1\n[command.a]\nrun = ['no-such-x']\n[command.b]\nrun = ['x']\ncwd = 'gone'\n"
    )
    done = run_cli("budget", *arguments, cwd=tmp_path, debug=False)
    assert done.returncode == 2
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "warpfix-budget.toml").exists()


@dataclass
class Story:
    """What the commands said, in order."""

    folder: Path
    written: str
    first: CompletedProcess[str]
    over: CompletedProcess[str]
    github: CompletedProcess[str]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, run_cli) -> Story:
    folder = tmp_path_factory.mktemp("budget")
    program = folder / "app.py"
    program.write_text(PROGRAM)
    done = run_cli("budget", "write", "--", sys.executable, "app.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    written = (folder / "warpfix-budget.toml").read_text()
    # As somebody might shorten it.
    (folder / "warpfix-budget.toml").write_text(written.replace("identities = 1\n", ""))
    first = run_cli("budget", "check", "--format", "json", cwd=folder)
    program.write_text(PROGRAM + MORE)
    # Run from elsewhere: the folder of the file is where the command runs.
    path = folder / "warpfix-budget.toml"
    over = run_cli("budget", "check", "--file", str(path))
    github = run_cli("budget", "check", "--format", "github", cwd=folder)
    return Story(folder, written, first, over, github)


@pytest.mark.warp
def test_the_file_says_what_was_built(story: Story) -> None:
    assert "[command.app]" in story.written
    assert re.search(r'run = \["[^"]+", "app.py"\]', story.written)
    assert "__main__ = {first-load = 1}" in story.written
    for line in ("builds = 1", "rebuilds = 0", "warm_builds = 0", "identities = 1", "kernels = 2"):
        assert f"{line}\n" in story.written
    assert (story.folder / "warpfix-budget.toml").stat().st_mode & 0o044


@pytest.mark.warp
def test_a_kept_budget(story: Story) -> None:
    assert story.first.returncode == 0, story.first.stderr
    (result,) = json.loads(story.first.stdout)
    assert result == {
        "name": "app", "good": True, "over": {}, "below": {}, "added": [], "notes": [], "not_compared": []
    }  # fmt: skip


@pytest.mark.warp
def test_a_broken_budget_names_the_line(story: Story) -> None:
    assert story.over.returncode == 1, story.over.stderr
    number = (PROGRAM + MORE).splitlines().index("def pull(v: wp.array(dtype=float)):") + 1
    text = " ".join(story.over.stdout.split())
    assert "app: over budget" in text
    assert re.search(r"builds 1 2\b", text) and re.search(r"again?st|built before 0 1\b", text)
    assert "kernel pull was defined after __main__ had been loaded" in text
    assert f"app.py:{number}, paid by app.py:{number + 3}" in text
    assert "warpfix budget write --name app" in text


@pytest.mark.warp
def test_annotations_for_github(story: Story) -> None:
    assert story.github.returncode == 1
    over, added = story.github.stdout.splitlines()
    assert over.startswith("::error file=warpfix-budget.toml,title=warpfix budget::app is over budget: builds 1 -> 2")
    assert re.match(r"::error file=app\.py,line=\d+,title=warpfix budget%3A app::__main__ \(new\): kernel pull", added)
