"""Programs on the emulated CUDA device, each run cold and warm once for all tests of its module."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from warpfix.measure.profile import ProcessRun, Run
from warpfix.measure.run import RunSettings, run_command


@dataclass(frozen=True)
class Ran:
    """One program's runs on a target."""

    runs: tuple[Run, ...]
    caches: Path

    @property
    def cold(self) -> ProcessRun:
        """The one process of the cold run."""
        (process,) = self.runs[0].processes
        return process

    @property
    def warm(self) -> ProcessRun:
        """The one process of the warm run."""
        (process,) = self.runs[1].processes
        return process

    def output(self, number: int = 0) -> list[str]:
        """What the program itself printed."""
        return [line for line in Path(self.runs[number].stdout_path).read_text().splitlines() if line.startswith("> ")]

    def errors(self) -> str:
        """The end of what stands on stderr, for a failing test."""
        return Path(self.runs[0].stderr_path).read_text()[-3000:]


@pytest.fixture(scope="session")
def on_target(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ran]:
    """Run a program's text on an emulated device."""

    def run(text: str, *, target: str = "sm_90", warm: bool = False, status: int = 0) -> Ran:
        folder = tmp_path_factory.mktemp("target")
        (folder / "program.py").write_text(textwrap.dedent(text))
        runs = []
        for state in ("cold", "warm") if warm else ("cold",):
            done = run_command(
                (sys.executable, "program.py"),
                cwd=folder,
                state=state,
                workspace=folder / state,
                caches=folder / "caches",
                settings=RunSettings(target=target, timeout=300.0),
            )
            assert done.exit_status == status, Path(done.stderr_path).read_text()[-3000:]
            runs.append(done)
        return Ran(tuple(runs), folder / "caches")

    return run
