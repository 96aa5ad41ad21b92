"""Small profiles made by hand, for rules that read one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scan_support import Sources, write_files

from warpfix.findings import Finding
from warpfix.index.build import build_index
from warpfix.measure.profile import (
    BuiltKernel,
    Cause,
    KernelDef,
    LaunchLog,
    LaunchSignature,
    Load,
    ProcessRun,
    Profile,
    Run,
    SourceLine,
)
from warpfix.project import discover
from warpfix.rules import run_rules


@dataclass(frozen=True)
class Built:
    """One load: the Warp module, and its kernels as ``qualname`` or ``(qualname, signature)``."""

    module: str
    kernels: Sequence[str | tuple[str, str]]
    block_dim: int = 1
    target: str = "cpu"
    outcome: str = "compiled"
    paid: int | None = None
    """The line that waited for it."""


@dataclass(frozen=True)
class Launched:
    """One launch, out of the load with this number."""

    kernel: str
    load: int = 0
    overload: str = ""
    types: tuple[str, ...] = ()
    block_dim: int = 1
    adjoint: bool = False


def profile(
    path: str, loads: Sequence[Built], launches: Sequence[Launched] = (), warm: Sequence[Built] = ()
) -> Profile:
    """A profile of one process whose kernels are all defined in one file, and of its warm run if one is given."""

    def run(state: str, built: Sequence[Built]) -> Run:
        made = tuple(_load(number, one, path) for number, one in enumerate(built))
        signatures = tuple(_signature(number, one, made, path) for number, one in enumerate(launches))
        counts = {one.id: 1 for one in signatures}
        log = LaunchLog(len(signatures), signatures, counts, tuple(counts))
        process = ProcessRun(1, 0, ("python", path), "3.11", "1.19.0", 0.0, True, None, 1.0, made, log)
        return Run(state, 0, 1.0, "", "", (process,))

    runs = [run("cold", loads), run("warm", warm or [replace(one, outcome="cached") for one in loads])]
    return Profile(("python", path), "/", "native", tuple(runs))


def _load(number: int, one: Built, path: str) -> Load:
    kernels = []
    for item in one.kernels:
        qualname, overload = (item, "") if isinstance(item, str) else item
        definition = KernelDef(qualname.replace(".", "__"), qualname, path, 1)
        kernels.append(BuiltKernel(definition, overload, {}, f"code of {qualname}{overload}", "b"))
    paid = None if one.paid is None else SourceLine(path, one.paid)
    cause = Cause("first-load", "first use", paid)
    return Load(
        number,
        one.module,
        f"hash{number}",
        one.target,
        one.target,
        one.block_dim,
        one.outcome,
        0.0,
        1.0,
        {},
        0,
        tuple(kernels),
        {},
        1000,
        0,
        cause,
        paid,
    )


def _signature(number: int, one: Launched, loads: Sequence[Load], path: str) -> LaunchSignature:
    definition = KernelDef(one.kernel.replace(".", "__"), one.kernel, path, 1)
    module = loads[one.load].module
    return LaunchSignature(
        number,
        definition,
        one.overload,
        module,
        one.load,
        (4,),
        one.types,
        "cpu",
        one.block_dim,
        0,
        one.adjoint,
        "launch",
    )


def profiled(
    root, sources: Sources, measured, *, select: tuple[str, ...] = (), warp_min: str | None = None
) -> list[Finding]:
    """What the rules find in a project with these files and this profile."""
    project = discover([write_files(root, sources)])[0]
    config = project.config.override(select=select, warp_min=warp_min)
    findings, problems = run_rules(build_index(project, config), config, measured)
    assert problems == []
    return findings
