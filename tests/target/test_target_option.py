"""What --target takes, and how it is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import clean_environment

from warpfix.errors import WarpfixError
from warpfix.measure.target import parse_target


@pytest.mark.parametrize("text", ["native", "sm_75", "sm_90", "sm_120"])
def test_a_target_is_a_word(text: str) -> None:
    assert parse_target(text) == text


@pytest.mark.parametrize("text", ["", "cpu", "cuda", "90", "sm90", "sm_9", "SM_90", "sm_90 ", "compute_90", "sm_1000"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(WarpfixError, match=r"name native .* or an architecture such as sm_90"):
        parse_target(text)


def test_a_suffix_belongs_to_the_program() -> None:
    with pytest.raises(WarpfixError, match=r"name sm_90; .*cuda_arch_suffix"):
        parse_target("sm_90a")


def _measure(folder: Path, target: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text("import warp as wp\n\nwp.init()\nprint('went on')\n")
    return subprocess.run(
        [sys.executable, "-m", "warpfix", "measure", "--show-output", "--target", target]
        + ["--", sys.executable, "program.py"],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.warp
def test_an_unknown_architecture_names_those_there_are(tmp_path: Path) -> None:
    done = _measure(tmp_path, "sm_91")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("warpfix: --target sm_91: Warp's NVRTC can't compile for it; it can for sm_")
    assert "sm_90" in last
    assert "went on" not in done.stderr + done.stdout


@pytest.mark.warp
def test_the_report_names_the_target(tmp_path: Path) -> None:
    done = _measure(tmp_path, "sm_86")
    assert done.returncode == 0, done.stderr
    assert "Emulated sm_86: nothing was launched." in done.stdout
