"""Join findings with a measured profile: what each cost, what never ran, and what the measurement refutes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from warpfix.findings import Cost, Finding
from warpfix.index.notebook import SUFFIX
from warpfix.measure.profile import Load, OptionWrite, Profile, Run


def join_profile(
    findings: Iterable[Finding], profile: Profile, refuted: list[tuple[Finding, str]] | None = None
) -> list[Finding]:
    """Findings with their cost in the first cold run; those that the run refutes are left out.

    ``refuted``, if given, is filled with the latter, each with the reason in words.

    A finding about a kernel is joined by the kernel's definition (path and qualname), one about an option by the line
    that sets it and the kernels that it says it reaches (``data["kernels"]``).
    """
    runs = profile.cold or list(profile.runs)
    if not runs:
        return list(findings)
    run = runs[0]
    writes = _writes(run)
    refuted = [] if refuted is None else refuted
    kept: list[Finding] = []
    for finding in findings:
        if finding.path.endswith(SUFFIX):
            kept.append(finding)  # a kernel of IPython runs its cells from files of its own: nothing to join by
            continue
        lines = {(os.path.realpath(finding.path), line) for line in range(finding.line, finding.end_line + 1)}
        for where in finding.data.get("option_lines", ()):
            lines.add((os.path.realpath(where[0]), where[1]))
        observed = [
            write for write in writes if write.line and (os.path.realpath(write.line.path), write.line.line) in lines
        ]
        if finding.code in ("WF201", "WF202"):
            meant = set(finding.data.get("missed", ()))
            if observed and all(
                write.effect in ("before-load", "same-value") and not meant & set(write.missed) for write in observed
            ):
                refuted.append((finding, _in_time(observed)))
                continue
            kept.append(replace(finding, cost=_option_cost(run, finding, lines, bool(observed))))
        elif "made_at" in finding.data:
            made = _made(run, *finding.data["made_at"])
            if made == 1:
                refuted.append((finding, "the factory made its kernel once in the measured command"))
                continue
            cost = _kernel_cost(run, {(os.path.realpath(finding.path), str(finding.kernel))})
            message = f"{finding.message} ({made} times in the measured command)" if made else finding.message
            kept.append(replace(finding, message=message, cost=replace(cost, ran=made > 0)))
        elif finding.kernel is not None:
            kept.append(replace(finding, cost=_kernel_cost(run, {(os.path.realpath(finding.path), finding.kernel)})))
        else:
            kept.append(replace(finding, cost=_module_cost(run, finding)))
    return kept


def _in_time(writes: Iterable[OptionWrite]) -> str:
    effects = {write.effect for write in writes}
    if effects == {"same-value"}:
        return "in the measured command it set the value that was set already"
    if effects == {"before-load"}:
        return "in the measured command it ran before any module that it reaches was loaded"
    return "in the measured command it ran before the modules that it reaches were loaded, or set what was set already"


def _module_cost(run: Run, finding: Finding) -> Cost | None:
    """Of a finding about several kernels, or about a module by name; None where nothing says what it is about."""
    kernels = {(os.path.realpath(path), qualname) for path, qualname in finding.data.get("kernels", ())}
    if kernels:
        return _kernel_cost(run, kernels)
    loads = [load for load in run.loads if load.module == finding.data.get("module")]
    # That no module has the name says nothing: a script's own is called otherwise when it is run.
    return _cost(run, loads, ran=True) if loads else None


def _writes(run: Run) -> list[OptionWrite]:
    return [write for process in run.processes for write in process.option_writes]


def _made(run: Run, path: str, first: int, last: int) -> int:
    """How often kernel objects were made of a definition that begins on one of these lines."""
    count = 0
    for process in run.processes:
        for where, times in process.kernel_definitions.items():
            owner, _, line = where.rpartition(":")
            if line.isdigit() and first <= int(line) <= last and os.path.realpath(owner) == os.path.realpath(path):
                count += times
    return count


def _kernel_cost(run: Run, kernels: set[tuple[str, str]]) -> Cost:
    holding = [
        load
        for load in run.loads
        if any(
            (os.path.realpath(built.definition.path), built.definition.qualname) in kernels for built in load.kernels
        )
    ]
    if holding:
        return _cost(run, holding, ran=True)
    launched = any(
        (os.path.realpath(signature.kernel.path), signature.kernel.qualname) in kernels
        for process in run.processes
        for signature in process.launches.signatures
    )
    return Cost(0, 0.0, ran=launched)


def _option_cost(run: Run, finding: Finding, lines: set[tuple[str, int]], ran: bool) -> Cost:
    caused = [
        load
        for load in run.loads
        if load.cause.line is not None and (os.path.realpath(load.cause.line.path), load.cause.line.line) in lines
    ]
    if caused:
        return _cost(run, caused, ran=True)
    kernels = {(os.path.realpath(path), qualname) for path, qualname in finding.data.get("kernels", ())}
    if not ran and kernels:
        ran = _kernel_cost(run, kernels).ran
    return Cost(0, 0.0, ran=ran)


def _cost(run: Run, loads: list[Load], ran: bool) -> Cost:
    again = [load for load in _repeats(run) if any(load is one for one in loads)]
    return Cost(
        builds=sum(load.compiled for load in loads),
        milliseconds=sum(load.milliseconds for load in loads),
        ran=ran,
        repeats=len(again),
        repeats_milliseconds=sum(load.milliseconds for load in again),
    )


def _repeats(run: Run) -> list[Load]:
    """Builds of a module that had been built already, for the same target and block size, in the same process."""
    found = []
    for process in run.processes:
        seen: set[tuple[str, str, int]] = set()
        for load in process.loads:
            if load.compiled:
                variant = (load.module, load.target, load.block_dim)
                if variant in seen:
                    found.append(load)
                seen.add(variant)
    return found
