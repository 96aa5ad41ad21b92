"""Bad fixes, forced through the judgement with real Warp: one per invariant, each refused by its name."""

from __future__ import annotations

import difflib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warpfix.verify.engine import patch_candidate
from warpfix.verify.lab import Judgement, Lab, VerifyOptions
from warpfix.verify.patch import apply_patch
from warpfix.verify.verdict import Outcome, Status

from .make import Thrifty

pytestmark = pytest.mark.warp

KERNELS = '''\
import warp as wp

wp.set_module_options({"fast_math": True})
FACTOR = 1.0


@wp.kernel
def add(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0


def make_scale():
    """Reads FACTOR when it is called."""
    factor = FACTOR

    @wp.kernel
    def scale(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * factor

    return scale


def make_shift():
    @wp.kernel(enable_backward=False)
    def shift(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] - 0.5

    return shift


def helper_for_others(a, b=1):
    return a + b
'''
APP = """\
import sys

import kernels
import warp as wp


def main():
    x = wp.ones(8, dtype=float)
    wp.launch(kernels.add, dim=8, inputs=[x])
    wp.launch(kernels.double, dim=8, inputs=[x])
    wp.launch(kernels.make_shift(), dim=8, inputs=[x])
    wp.launch(kernels.make_scale(), dim=8, inputs=[x])
    kernels.FACTOR = 3.0
    wp.launch(kernels.make_scale(), dim=8, inputs=[x])
    print("result", x.numpy()[0])
    return 0


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        sys.exit(main())
"""
UNUSED = "def never_imported():\n    return 1\n"

SCALE = """\
    factor = FACTOR

    @wp.kernel
    def scale(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * factor

    return scale
"""
SHIFT = """\
def make_shift():
    @wp.kernel(enable_backward=False)
    def shift(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] - 0.5

    return shift
"""
HOISTED_SCALE = """\
@wp.kernel
def scale(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * FACTOR


def make_scale():
"""
HOISTED_SHIFT = """\
@wp.kernel(enable_backward=False)
def shift(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] - 0.5


def make_shift():
    return shift
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forced")
    (folder / "pyproject.toml").write_text('[project]\nname = "forced"\nversion = "1"\n')
    for name, text in (("kernels.py", KERNELS), ("app.py", APP), ("unused.py", UNUSED)):
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def lab(project: Path) -> Iterator[Lab]:
    """One baseline for all patches, run twice so that it is compared with itself."""
    options = VerifyOptions(commands=((sys.executable, "app.py"),))
    with Thrifty(options, str(project), lambda line: None) as lab:
        lab.baseline[options.jobs[0]] += [lab.cold(options.jobs[0], None) for _ in range(2)]
        yield lab


def diff(project: Path, name: str, *replacements: tuple[str, str]) -> bytes:
    old = (project / name).read_text()
    new = old
    for before, after in replacements:
        assert before in new
        new = new.replace(before, after, 1)
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/{name}", f"b/{name}")
    return "".join(lines).encode()


@pytest.fixture(scope="module")
def judged(lab: Lab, project: Path) -> Callable[..., Judgement]:
    def judge(*patches: bytes, about: tuple[str, ...] = ()) -> Judgement:
        patched = apply_patch(b"".join(patches), str(project))
        before = {path: Path(path).read_bytes() for path in patched.before}
        judgement = lab.try_once(patch_candidate(lab, patched, frozenset(about), str(project)))
        assert {path: Path(path).read_bytes() for path in patched.before} == before
        return judgement

    return judge


def test_a_hoist_over_a_reassigned_global(judged: Callable[..., Judgement], project: Path) -> None:
    patch = diff(project, "kernels.py", (SCALE, "    return scale\n"), ("def make_scale():\n", HOISTED_SCALE))
    judgement = judged(patch)
    # The second launch still runs the code of the first value.
    assert judgement.reason().startswith("code: forward code of `scale` (kernels.py) is another")
    assert {check.invariant for check in judgement.checks(Outcome.BROKEN)} == {"code", "program"}


def test_a_lost_kernel_option(judged: Callable[..., Judgement], project: Path) -> None:
    hoisted = HOISTED_SHIFT.replace("(enable_backward=False)", "")
    judgement = judged(diff(project, "kernels.py", (SHIFT, hoisted)))
    assert judgement.status is Status.INVALID
    assert judgement.reason() == "options: enable_backward of `shift` (kernels.py) at launch 3 was False, and is True"


def test_a_lost_module_option(judged: Callable[..., Judgement], project: Path) -> None:
    judgement = judged(diff(project, "kernels.py", ('wp.set_module_options({"fast_math": True})\n', "")))
    assert judgement.reason() == "options: fast_math of `add` (kernels.py) at launch 1 was True, and is False"


def test_two_kernels_exchanged(judged: Callable[..., Judgement], project: Path) -> None:
    patch = diff(project, "kernels.py", ("def add", "def _"), ("def double", "def add"), ("def _", "def double"))
    judgement = judged(patch)
    assert judgement.reason().startswith("code: forward code of `add` (kernels.py) is another")


def test_reordered_launches(judged: Callable[..., Judgement], project: Path) -> None:
    patch = diff(
        project,
        "app.py",
        ("kernels.add", "_"),
        ("kernels.double", "kernels.add"),
        ("_, dim=8", "kernels.double, dim=8"),
    )
    judgement = judged(patch)
    assert judgement.reason().startswith("launches: launch 1 was `add` (kernels.py) over (8,) on cpu")


def test_a_changed_exit_status(judged: Callable[..., Judgement], project: Path) -> None:
    judgement = judged(diff(project, "app.py", ("    return 0\n", "    return 3\n")))
    assert judgement.reason() == "program: exit status was 0, and is 3"


def test_a_changed_output(judged: Callable[..., Judgement], project: Path) -> None:
    judgement = judged(diff(project, "app.py", ('"result"', '"outcome"')))
    assert judgement.reason().startswith("program: stdout: line 1 was 'result ")


def test_a_crash_shows_its_last_lines(judged: Callable[..., Judgement], project: Path) -> None:
    judgement = judged(diff(project, "app.py", ("    return 0\n", "    raise RuntimeError('after the edit')\n")))
    assert judgement.reason().startswith("program: exit status was 0, and is 1")
    assert judgement.failure[-1] == "RuntimeError: after the edit"
    assert any("raise RuntimeError('after the edit')" in line for line in judgement.failure)


def test_a_lost_name(judged: Callable[..., Judgement], project: Path) -> None:
    judgement = judged(diff(project, "kernels.py", ("def helper_for_others(a, b=1)", "def _renamed(a, b=1)")))
    assert judgement.reason() == "interface: kernels.py has lost the name helper_for_others"


def test_a_file_that_nothing_executes(judged: Callable[..., Judgement], project: Path) -> None:
    judgement = judged(diff(project, "unused.py", ("return 1", "return 2")))
    assert judgement.status is Status.UNVERIFIED
    assert judgement.reason().startswith("text: no process executed ")


SMALL = """\
import warp as wp


@wp.kernel
def add(x: wp.array(dtype=float)):
    x[wp.tid()] = 2.0


def make_shift():
    @wp.kernel(enable_backward=False)
    def shift(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] - 0.5

    return shift


with wp.ScopedDevice("cpu"):
    x = wp.ones(8, dtype=float)
    wp.launch(add, dim=8, inputs=[x])
    wp.launch(make_shift(), dim=8, inputs=[x])
    print(x.numpy()[0])
"""


def test_try_end_to_end(tmp_path: Path) -> None:
    """A good patch through the command line: found to be moved, good, and nothing written."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "app.py").write_text(SMALL)
    patch = tmp_path / "good.diff"
    patch.write_bytes(diff(project, "app.py", (SHIFT, HOISTED_SHIFT)))
    command = [sys.executable, "-m", "warpfix", "try", str(patch), "--", sys.executable, "app.py"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("verdict: good: builds 2 -> 1")
    assert "make_shift.<locals>.shift -> shift (app.py)" in done.stdout
    assert "up to 8 runs are planned" in done.stderr
    assert [path.name for path in project.iterdir()] == ["app.py"]
    assert (project / "app.py").read_text() == SMALL
