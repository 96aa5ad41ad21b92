"""A program that nobody ran, with the files that its report speaks of: quick, and as nasty as names can be."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

import pytest

from warpfix.measure.profile import (
    BuiltKernel,
    Cause,
    KernelDef,
    LaunchLog,
    LaunchSignature,
    Load,
    OptionWrite,
    ProcessRun,
    Profile,
    Run,
    SourceLine,
    Span,
)

EVIL = "<script>document.title = 'owned'</script>"
QUOTED = 'it\'s "quoted" & <b>bold.py'
STEP = """import warp as wp

API_TOKEN = "hunter2hunter2"
if 1 < 2 and "<i>" != "&lt;":
    @wp.kernel
    def push(v: wp.array(dtype=float)):
        v[wp.tid()] += 1.0
"""


def load(number: int, module: str, start: float, end: float, cause: Cause, paid: SourceLine, **changes: object) -> Load:
    took = end - start
    definition = KernelDef(f"k{number}", f"k{number}", paid.path, 6)
    values: dict[str, object] = {
        "id": number,
        "module": module,
        "hash": f"{number:02x}" * 32,
        "device": "cpu",
        "target": "cpu",
        "block_dim": 1,
        "outcome": "compiled",
        "start": start,
        "end": end,
        "phases": {"hash": 0.02 * took, "codegen": 0.08 * took, "native": 0.8 * took, "load": 0.05 * took},
        "thread": 0,
        "kernels": (BuiltKernel(definition, backward_code="ab"),),
        "options": {},
        "source_bytes": 1000 * (number + 1),
        "lto_artifacts": 0,
        "cause": cause,
        "paid_by": paid,
    }
    return Load(**{**values, **changes})  # type: ignore[arg-type]


def run_of(state: str, loads: tuple[Load, ...], wall: float, spans: tuple[Span, ...], writes: tuple = ()) -> Run:
    kernel = KernelDef("k0", "k0", "", 0)
    signature = LaunchSignature(0, kernel, "", "app", 0, (4,), ("f",), "cpu", 1, 0, False, "launch")
    process = ProcessRun(
        pid=7,
        parent=1,
        argv=("python", "-m", "app"),
        python_version="3.11.7",
        warp_version="1.19.0",
        started=time.time() - 10,
        ended=True,
        stopped_by=None,
        wall=wall * 1e3,
        loads=loads,
        launches=LaunchLog(3, (signature,), {0: 3}, (0, 0, 0)),
        option_writes=writes,
        kernel_definitions={},
        spans=spans,
    )
    return Run(state, 0, wall, "", "", (process,))


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program's folder; its files are older than the measurement."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "pyproject.toml").write_text("[project]\nname = 'app'\nversion = '1'\n")
    for name in ("step.py", QUOTED, "newer.py"):
        (folder / name).write_text(STEP)
        if name != "newer.py":
            os.utime(folder / name, (time.time() - 3600,) * 2)
    return folder


@pytest.fixture(scope="session")
def profile(project: Path) -> Profile:
    """Two cold runs and a warm one: builds that repeat, a failed one, one that only the warm run shows, evil names."""
    step, quoted = str(project / "step.py"), str(project / QUOTED)
    first = SourceLine(step, 7, "main")
    text = f"kernel {EVIL} was defined after app had been loaded"
    added = Cause("kernel-added", text, SourceLine(quoted, 6, "<locals>"), {"also": [f"option {EVIL}"]})
    changed = Cause("option-changed", "option fast_math changed", SourceLine(str(project / "newer.py"), 3))

    def loads(scale: float) -> tuple[Load, ...]:
        return (
            load(0, "app", 400, 400 + 900 * scale, Cause("first-load", "first use of module app", first), first),
            load(1, "app", 1400, 1400 + 700 * scale, added, SourceLine(quoted, 7)),
            load(2, EVIL, 2200, 2200 + 300 * scale, Cause("first-load", "first use", first), first, thread=1),
            load(3, "pkg.tiny", 2600, 2600 + 30 * scale, Cause("first-load", "first use", first), first, block_dim=64),
            load(4, "pkg.tiny", 2700, 2700 + 10 * scale, changed, first, block_dim=64),
        )

    spans = (
        Span("import", "numpy", 10, 90, 1),
        Span("import", "warp", 5, 300),
        Span("init", "warp.init", 310, 390),
        Span("launch", EVIL, 2900, 2900),
    )
    writes = (OptionWrite("config", None, "fast_maths", None, True, first, 320.0, "unknown-option"),)
    lost = Cause("cache-lost", "the cache no longer had it", first)
    warm = (load(0, "pkg.tiny", 400, 450, lost, first),)
    runs = (
        run_of("cold", loads(1.0), 3.4, spans, writes),
        run_of("warm", warm, 0.8, spans),
        run_of("cold", loads(1.01), 3.5, spans, writes),
    )
    command = ("python", "-m", "app", "--api-token", "s3cret", f"--name={EVIL}")
    environment = {"warp": "1.19.0", "python": "3.11.7", "warpfix": "0", "platform": "Linux x86_64", "cpus": "2"}
    return Profile(command, str(project), "native", runs, environment)


@pytest.fixture(scope="session")
def mended(profile: Profile) -> Profile:
    """The same program after a change: one build fewer."""
    runs = []
    for run in profile.runs:
        (process,) = run.processes
        kept = tuple(one for one in process.loads if one.id != 1)
        runs.append(
            dataclasses.replace(run, processes=(dataclasses.replace(process, loads=kept),), wall=run.wall - 0.7)
        )
    return dataclasses.replace(profile, runs=tuple(runs))
