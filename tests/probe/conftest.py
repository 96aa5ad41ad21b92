"""Runs small programs under the probe. Most need no Warp: what is tested is how the probe gets in and stays out of the
way."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from warpfix.measure.profile import Run
from warpfix.measure.run import RunSettings, run_command

Probed = Callable[..., Run]


@pytest.fixture
def probed(tmp_path: Path) -> Probed:
    """``probed(command_or_source, files={...})``: one run under the probe in an empty folder, cold.

    A string is the text of a script; a list is a command, in which ``python`` stands for this Python.
    """
    numbers = iter(range(100))

    def run(
        command: str | Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        args: Sequence[str] = (),
        settings: RunSettings | None = None,
        caches: Path | None = None,
    ) -> Run:
        folder = tmp_path / "program"
        folder.mkdir(exist_ok=True)
        for name, text in (files or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"))
        if isinstance(command, str):
            (folder / "script.py").write_text(textwrap.dedent(command).lstrip("\n"))
            command = [sys.executable, "script.py", *args]
        else:
            command = [sys.executable if part == "python" else part for part in command]
        number = next(numbers)
        return run_command(
            command,
            cwd=folder,
            state="cold",
            workspace=tmp_path / f"work-{number}",
            caches=caches or tmp_path / f"caches-{number}",
            settings=settings or RunSettings(timeout=120),
        )

    return run


def stdout(run: Run) -> str:
    """What the program printed."""
    return Path(run.stdout_path).read_text()
