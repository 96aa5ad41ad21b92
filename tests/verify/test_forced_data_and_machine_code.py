"""Bad fixes that generated code, options and output don't show: one changes only data, one only machine code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from warpfix.measure.run import RunSettings
from warpfix.verify.engine import patch_candidate
from warpfix.verify.lab import Judgement, Lab, VerifyOptions
from warpfix.verify.patch import Patched
from warpfix.verify.verdict import Check, Outcome, Status

from .make import Thrifty

pytestmark = pytest.mark.warp

APP = """\
import sys

import warp as wp

wp.set_module_options({"enable_backward": False, "use_precompiled_headers": False})
# here


@wp.struct
class State:
    scale: float
    position: wp.array(dtype=wp.vec3)


@wp.kernel
def place(state: State, height: wp.array(dtype=float)):
    i = wp.tid()
    state.position[i] = wp.vec3(0.0, wp.sin(height[i]) * state.scale, 0.0)


@wp.kernel
def total(height: wp.array(dtype=float), sum: wp.array(dtype=float)):
    wp.atomic_add(sum, 0, height[wp.tid()])


with wp.ScopedDevice(sys.argv[1]):
    state = State()
    state.scale = 2.0
    state.position = wp.zeros(4, dtype=wp.vec3)
    height = wp.array([0.5, 1.0, 1.5, 2.0], dtype=float)
    sum = wp.zeros(1, dtype=float)
    for _ in range(3):
        wp.launch(place, dim=4, inputs=[state, height])
        wp.launch(total, dim=4, inputs=[height, sum])
    print("done")
"""
DATA = APP.replace("2.0]", "2.0000002]")
MACHINE = APP.replace(
    "# here",
    """\
import importlib

compiler = importlib.import_module("warp._src.build")
compile_cuda = compiler.build_cuda
compiler.build_cuda = lambda *args, **options: compile_cuda(*args, **{**options, "fast_math": True})
""",
)


def project(folder: Path) -> Path:
    (folder / "pyproject.toml").write_text('[project]\nname = "forced"\nversion = "1"\n')
    (folder / "app.py").write_text(APP)
    return folder / "app.py"


def only(judgement: Judgement, invariant: str) -> Check:
    (verdict,) = judgement.verdicts.values()
    return next(check for check in verdict.checks if check.invariant == invariant)


def patched(app: Path, text: str) -> Patched:
    return Patched({str(app): APP.encode()}, {str(app): text.encode()})


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """On the CPU, with data; run twice, so that the baseline is compared with itself."""
    app = project(tmp_path_factory.mktemp("data"))
    settings = RunSettings(check_data=True)
    options = VerifyOptions(commands=((sys.executable, "app.py", "cpu"),), settings=settings)
    with Thrifty(options, str(app.parent), lambda line: None) as lab:
        (job,) = options.jobs
        lab.baseline[job] += [lab.cold(job, None) for _ in range(2)]
        yield lab


def test_a_fix_that_changes_only_data(lab: Lab) -> None:
    app = Path(lab.cwd) / "app.py"
    candidate = patch_candidate(lab, patched(app, DATA), frozenset(), lab.cwd)
    judgement = lab.try_once(candidate)
    assert judgement.status is Status.UNVERIFIED
    for invariant in ("launches", "options", "code", "program"):
        assert only(judgement, invariant).outcome is Outcome.HELD
    # 2.0000002 is one step above 2.0; what the kernel makes of it has another height, too.
    expected = "launch 1 leaves other bits in `state.position` of `place` (app.py), launched at app.py:33"
    assert only(judgement, "data").message == expected
    (job,) = lab.options.jobs
    runs = {job: judgement.runs[job.text]}
    explained = only(lab._explained(candidate, judgement, runs), "data").message
    assert explained.startswith(f"{expected} (`state.position`: 1 of the 12 values differ, the first at 10, by up to ")
    assert explained.endswith("`height`: 1 of the 4 values differ, the first at 3, by up to 1 ulp)")


def test_equal_data(lab: Lab) -> None:
    app = Path(lab.cwd) / "app.py"
    judgement = lab.try_once(patch_candidate(lab, patched(app, APP + "# a comment\n"), frozenset(), lab.cwd))
    check = only(judgement, "data")
    assert check.outcome is Outcome.HELD, check.message
    assert check.message.startswith("the arrays of 6 launches equal bit for bit")


def test_a_fix_that_changes_only_machine_code(tmp_path: Path) -> None:
    app = project(tmp_path)
    settings = RunSettings(target="sm_90")
    options = VerifyOptions(commands=((sys.executable, "app.py", "cuda:0"),), settings=settings)
    with Lab(options, str(tmp_path), lambda line: None) as lab:
        (job,) = options.jobs
        # One run stands for two equal ones: what differs between runs is tested elsewhere.
        first = lab.cold(job, None)
        lab.baseline[job] += [first, replace(first)]
        judgement = lab.try_once(patch_candidate(lab, patched(app, MACHINE), frozenset(), lab.cwd))
    assert judgement.status is Status.INVALID
    assert only(judgement, "options").outcome is Outcome.HELD
    assert judgement.reason() == (
        "code: forward code of `place` (app.py) is another "
        "(its machine code, although the generated code is equal: what compiles or links it changed)"
    )
