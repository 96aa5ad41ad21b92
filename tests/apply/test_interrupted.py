"""``warpfix apply`` that is killed, interrupted or runs out of space: every file is old or new, and one line says why."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from edit_support import make_project
from support import clean_environment

from warpfix.files import undo

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and limits are POSIX")

# A setting of older Warps, which gets a longer name: each file grows.
TEXT = "# filler\n" * 300 + "import warp as wp\n\nwp.config.quiet = True\n\nif __name__ == '__main__':\n    wp.init()\n"
NAMES = ("one.py", "two.py", "three.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "p", dict.fromkeys(NAMES, TEXT.encode()), warp=">=1.18")


def start(root: Path, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "warpfix", "apply"],
        cwd=root,
        env=clean_environment(),
        preexec_fn=before,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def texts(root: Path) -> list[str]:
    return [(root / name).read_text(encoding="utf-8") for name in NAMES]


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
def test_at_random_times(project: Path, signal_number: int) -> None:
    began = time.monotonic()
    with start(project) as whole:
        whole.communicate()
    longest = time.monotonic() - began
    (new,) = set(texts(project))
    assert whole.returncode == 0 and new != TEXT and len(new) > len(TEXT)
    undo(str(project))
    ended_early = False
    for number in range(4):
        with start(project) as process:
            # Most of the time nothing is written yet: the second half is tried more often.
            time.sleep(longest * random.Random(number).triangular(0.0, 1.05, 0.9))
            process.send_signal(signal_number)
            process.communicate()
        found = texts(project)
        assert set(found) <= {TEXT, new}
        if signal_number == signal.SIGINT:
            assert len(set(found)) == 1, "an interrupt leaves all old or all new"
        ended_early = ended_early or process.returncode != 0
        undo(str(project))
        assert set(texts(project)) == {TEXT}
    assert ended_early, "no signal came in time"
    with start(project) as again:
        again.communicate()
    assert again.returncode == 0 and set(texts(project)) == {new}
    assert [path.name for path in project.iterdir() if "tmp" in path.name] == []


@pytest.mark.parametrize("space", [1, 1000, len(TEXT.encode())], ids=["nothing", "no record", "no new file"])
def test_no_space_left(project: Path, space: int) -> None:
    """A limit on the size of files stands for a full disk: the write fails in the same place, with another word."""
    import resource

    with start(project, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (space, space))) as process:
        _, errors = process.communicate()
    assert process.returncode == 2
    assert len(errors.splitlines()) == 1 and "File too large" in errors, errors
    assert set(texts(project)) == {TEXT}
    assert sorted(path.name for path in project.iterdir() if not path.name.startswith(".warpfix")) == sorted(
        [*NAMES, "pyproject.toml"]
    )
    with start(project) as again:
        again.communicate()
    assert again.returncode == 0 and TEXT not in texts(project)
