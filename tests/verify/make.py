"""Hand-made runs, so that comparisons are tested without Warp."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from warpfix.measure.profile import (
    BuiltKernel,
    Cause,
    KernelDef,
    LaunchLog,
    LaunchSignature,
    Load,
    ProcessRun,
    Run,
)
from warpfix.verify.lab import Job, Lab


class Thrifty(Lab):
    """Keeps what was compiled between candidates: for tests that look at the invariants, not at the counts."""

    def cold(self, job: Job, overlay: Mapping[str, bytes] | None, whatever_the_time: bool = False) -> Run:
        return self.run(job, "cold", overlay, self._root / "kept", False, whatever_the_time)


FILE = "/project/app.py"
OPTIONS = {"enable_backward": True, "fast_math": False, "max_unroll": 16}


@dataclass(frozen=True)
class K:
    """One launch: the kernel's name decides its code unless ``code`` does."""

    name: str = "scale"
    dim: tuple[int, ...] = (64,)
    dtypes: tuple[str, ...] = ("float32",)
    block_dim: int = 256
    adjoint: bool = False
    code: str = ""
    backward: str = "b"
    options: Mapping[str, Any] = field(default_factory=dict)
    kernel_options: Mapping[str, Any] = field(default_factory=dict)
    thread: int = 0
    module: str = "app"
    hash: str = ""

    @property
    def qualname(self) -> str:
        return self.name


def process(
    launches: Sequence[K],
    *,
    argv: tuple[str, ...] = ("python", "app.py"),
    builds: int | None = None,
    source_bytes: int = 1000,
    module_ms: float = 500.0,
    together: bool = False,
    **changes: Any,
) -> ProcessRun:
    """A process that makes these launches; each distinct (module, code, options) is one load.

    ``together``: each Warp module is one load, with all of its kernels.
    """
    loads: dict[Any, int] = {}
    made: list[Load] = []
    signatures: dict[Any, LaunchSignature] = {}
    sequence: list[int] = []
    threads: dict[int, list[int]] = {}
    for launch in launches:
        options = {**OPTIONS, **launch.options}
        definition = KernelDef(launch.name.replace(".", "__"), launch.qualname, FILE, 10)
        key = (launch.module, launch.name, launch.code, launch.backward, tuple(sorted(options.items())), launch.hash)
        if together:
            key = (launch.module, tuple(sorted(options.items())))
        if together and key in loads:
            load = made[loads[key]]
            if all(kernel.definition != definition for kernel in load.kernels):
                added = BuiltKernel(definition, "", dict(launch.kernel_options), f"code of {launch.name}", "b")
                made[loads[key]] = replace(load, kernels=(*load.kernels, added))
        if key not in loads:
            number = loads[key] = len(made)
            forward = launch.code or f"code of {launch.name.rpartition('.')[2]}"
            kernel = BuiltKernel(definition, "", dict(launch.kernel_options), forward, launch.backward)
            outcome = "compiled" if builds is None or number < builds else "cached"
            made.append(
                Load(
                    id=number,
                    module=launch.module,
                    hash=launch.hash or f"hash{number}",
                    device="cpu",
                    target="cpu",
                    block_dim=1,
                    outcome=outcome,
                    start=0.0,
                    end=module_ms,
                    phases={},
                    thread=0,
                    kernels=(kernel,),
                    options=options,
                    source_bytes=source_bytes,
                    lto_artifacts=0,
                    cause=Cause("first-load", "first use"),
                    paid_by=None,
                )
            )
        signature_key = (loads[key], launch.name, launch.dim, launch.dtypes, launch.block_dim, launch.adjoint)
        if signature_key not in signatures:
            signatures[signature_key] = LaunchSignature(
                id=len(signatures),
                kernel=definition,
                overload="",
                module=launch.module,
                load=loads[key],
                dim=launch.dim,
                dtypes=launch.dtypes,
                device="cpu",
                block_dim=launch.block_dim,
                max_blocks=0,
                adjoint=launch.adjoint,
                kind="launch",
            )
        sequence.append(signatures[signature_key].id)
        threads.setdefault(launch.thread, []).append(signatures[signature_key].id)
    log = LaunchLog(
        total=len(sequence),
        signatures=tuple(signatures.values()),
        counts=dict(Counter(sequence)),
        sequence=tuple(sequence),
        threads={key: tuple(value) for key, value in threads.items()} if len(threads) > 1 else {},
    )
    return ProcessRun(
        **{
            "pid": 1,
            "parent": 0,
            "argv": argv,
            "python_version": "3.11.7",
            "warp_version": "1.19.0",
            "started": 0.0,
            "ended": True,
            "stopped_by": None,
            "wall": 1.0,
            "loads": tuple(made),
            "launches": log,
            **changes,
        }
    )


def run(
    *processes: ProcessRun,
    state: str = "cold",
    status: int = 0,
    stdout: str | None = None,
    folder: Path | None = None,
    wall: float = 1.0,
    stopped_by: str | None = None,
) -> Run:
    """A run of these processes. ``stdout`` needs a folder to be written to."""
    path = ""
    if stdout is not None:
        assert folder is not None
        path = str(folder / f"stdout-{len(list(folder.iterdir()))}")
        Path(path).write_text(stdout)
    return Run(state, status, wall, path, "", processes, stopped_by)


def cold(*launches: K, **changes: Any) -> Run:
    """A cold run of one process."""
    return run(process(launches, **changes))
