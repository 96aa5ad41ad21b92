"""What the tutorial, the README and the skill tell people to type is typed here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import clean_environment

CHECKOUT = Path(__file__).resolve().parents[2]
SKILL = CHECKOUT / "skills" / "warpfix" / "SKILL.md"


@dataclass(frozen=True)
class Step:
    """A command, and what the page shows of its output."""

    command: str
    shown: tuple[str, ...]


def steps(page: str) -> list[Step]:
    """The commands of a page's console blocks, in order."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            found.append(Step(command, tuple(shown)))
    return found


def missing(shown: tuple[str, ...], output: str) -> str | None:
    """The first shown line that the output does not have after the ones before it.

    Blanks count once. ``...`` alone stands for any lines, at the end of a line for any words, at its start too.
    """
    lines = iter([" ".join(line.split()) for line in output.splitlines()])
    for line in shown:
        wanted = " ".join(line.split())
        if wanted == "...":
            continue
        start, end = wanted.startswith("... "), wanted.endswith((" ...", "..."))
        core = wanted.removeprefix("... ").removesuffix("...").strip()
        for have in lines:
            if (start and end and core in have) or (start and have.endswith(core)):
                break
            if (not start and end and have.startswith(core)) or have == core:
                break
        else:
            return line
    return None


def test_what_is_shown_is_looked_for() -> None:
    output = "a  table   5\nsome words here\nlast"
    assert missing(("a table 5", "...", "last"), output) is None
    assert missing(("some words ...",), output) is None
    assert missing(("... words ...",), output) is None
    assert missing(("some words",), output) == "some words"
    assert missing(("last", "a table 5"), output) == "a table 5"
    assert missing(("a table 6",), output) == "a table 6"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An environment in which `warpfix` and `python` are those that run this test."""
    folder = tmp_path_factory.mktemp("bin")
    for name, arguments in (("python", ""), ("python3", ""), ("warpfix", " -m warpfix")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    yield clean_environment(PATH=f"{folder}{os.pathsep}{os.environ['PATH']}", COLUMNS="80")


@pytest.mark.warp
@pytest.mark.slow
def test_the_tutorial(tmp_path: Path, shell: dict[str, str]) -> None:
    todo = steps((CHECKOUT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    assert len(todo) > 8
    folder = tmp_path
    for step in todo:
        if step.command.startswith("cd "):
            folder /= step.command.removeprefix("cd ")
            continue
        # Both streams, as on a terminal.
        result = subprocess.run(
            ["bash", "-c", step.command],
            cwd=folder,
            env=shell,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert result.returncode == 0, (step.command, result.stdout)
        assert missing(step.shown, result.stdout) is None, (step.command, result.stdout)


def bash_lines(page: Path) -> list[str]:
    blocks = re.findall(r"^```bash\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith("#")]


@pytest.mark.warp
@pytest.mark.slow
def test_the_command_of_the_readme_for_a_program_of_yours(tmp_path: Path, shell: dict[str, str]) -> None:
    """The other two blocks of the README are run by .ci/run."""
    (command,) = bash_lines(CHECKOUT / "README.md")[2:]
    (tmp_path / "app").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "app"\nversion = "1"\n', encoding="utf-8")
    program = (CHECKOUT / "sample_projects" / "late_module_options" / "pendulums.py").read_bytes()
    (tmp_path / "app" / "__main__.py").write_bytes(program)

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", command], cwd=tmp_path, env=shell, capture_output=True, text=True)

    result = run(command)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "builds 2 -> 1" in result.stdout
    assert (tmp_path / "app" / "__main__.py").read_bytes() != program
    # As the skill says, it can be taken back.
    result = run("warpfix undo")
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "app" / "__main__.py").read_bytes() == program


def test_the_skill_has_the_open_format() -> None:
    match = re.fullmatch(r"---\n(.*?)\n---\n\n(.*)", SKILL.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    front = dict(line.split(": ", 1) for line in match[1].splitlines())
    assert front["name"] == SKILL.parent.name == "warpfix"
    assert 1 <= len(front["description"]) <= 1024 and len(front["compatibility"]) <= 500
    assert len(match[2].splitlines()) < 200


PAGES = [SKILL, *sorted((CHECKOUT / "docs").glob("*.md"))]


def code(page: str) -> list[str]:
    """The lines of a page's blocks for a shell, and its inline code."""
    blocks = re.findall(r"^```(?:bash|console|text)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()] + re.findall(
        r"`([^`\n]+)`", prose
    )


CALLS = sorted(
    {
        (match[1], *sorted(re.findall(r"(?<!\S)(--[a-z][a-z-]*)", re.split(r" -- | \|\| ", match[2])[0])))
        for page in PAGES
        for line in code(page.read_text(encoding="utf-8"))
        if (match := re.match(r"warpfix ((?:budget )?[a-z]+(?:-[a-z]+)*)\b([^\n&]*)", line))
    }
)


def test_commands_and_options_of_all_pages_exist() -> None:
    import click

    from warpfix.cli import cli

    assert len(CALLS) > 30
    for name, *options in CALLS:
        command: click.Command | None = cli
        for word in name.split():
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), word)
            assert command is not None, name
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert set(options) <= known, (name, options)


@pytest.mark.warp
@pytest.mark.slow
def test_what_the_skill_reads_is_there(copy_sample, shell: dict[str, str]) -> None:
    import json

    folder = copy_sample("late_module_options")
    (folder / "pendulums.py").rename(folder / "run.py")
    wanted = {"measure": 0, "scan": 1, "explain": 0, "rules": 0}
    output = {}
    for line in bash_lines(SKILL):
        name = line.split()[1]
        if name in wanted:
            result = subprocess.run(["bash", "-c", line], cwd=folder, env=shell, capture_output=True, text=True)
            assert result.returncode == wanted[name], (line, result.stdout, result.stderr)
            output[name] = result.stdout
    assert output.keys() == wanted.keys()

    report = json.loads((folder / "before.json").read_text(encoding="utf-8"))
    assert (report["builds"], report["warm_builds"], report["modules"]["__main__"]["builds"]) == (2, 0, 2)
    loads = [load for process in report["runs"][0]["processes"] for load in process["loads"]]
    assert [load["cause"]["kind"] for load in loads] == ["first-load", "option-changed"] and loads[1]["paid_by"]
    (finding,) = [one for one in json.loads(output["scan"])["findings"] if one["code"] == "WF202"]
    assert {"path", "line", "message", "advice", "declined"} <= finding.keys()
    assert finding["fix"]["applicability"] == "measured" and finding["cost"]["builds"] >= 1
    assert {"WF101", "WF701"} <= {rule["code"] for rule in json.loads(output["rules"])}
