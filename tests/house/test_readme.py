"""The README's commands are real. Its two long ones are run by .ci/run; the others are checked here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from warpfix.cli import COMMANDS

CHECKOUT = Path(__file__).resolve().parents[2]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
# `warpfix apply --verify ...` in the text, in tables and in blocks, without a console's prompt.
CALLS = sorted(
    {
        (match.group(1), tuple(re.findall(r"(?<!\S)--[a-z][a-z-]*", match.group(2).split(" -- ")[0])))
        for text in [*BLOCKS, *re.findall(r"`([^`\n]+)`", README)]
        for match in re.finditer(r"(?:^|(?<=[\s/]))warpfix ([a-z]+(?:-[a-z]+)*)\b([^\n&|]*)", text)
    }
)


def test_the_first_screen_holds_what_to_do() -> None:
    first_screen = "\n".join(README.splitlines()[:25])
    install, tests = BLOCKS[:2]
    assert install in first_screen and tests in first_screen
    assert len(install.strip().splitlines()) == len(tests.strip().splitlines()) == 1


def test_ci_runs_the_two_commands() -> None:
    install, tests = BLOCKS[:2]
    script = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8")
    for command, marker in ((install, "warpfix"), (tests, "-m pytest")):
        words = shlex.split(command.rsplit("&&", 1)[1])
        tail = " ".join(words[1:])
        assert marker in command
        assert tail in script


def test_every_command_is_told() -> None:
    assert {name for name, _ in CALLS} == set(COMMANDS)


@pytest.mark.parametrize(("name", "options"), CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_the_command_and_its_options_exist(name: str, options: tuple[str, ...], run_cli) -> None:
    result = run_cli(name, "--help")
    assert result.returncode == 0, result.stderr
    for option in options:
        assert option in result.stdout
