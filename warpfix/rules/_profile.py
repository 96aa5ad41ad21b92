"""Join findings with a measured profile: what each cost, what never ran, and what the measurement refutes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from warpfix.findings import Cost, Finding
from warpfix.index.notebook import SUFFIX
from warpfix.measure.profile import Load, OptionWrite, Profile, Run


def join_profile(findings: Iterable[Finding], profile: Profile) -> list[Finding]:
    """Findings with their cost in the first cold run; those that the run refutes are left out.

    A finding about a kernel is joined by the kernel's definition (path and qualname), one about an option by the line
    that sets it and the kernels that it says it reaches (``data["kernels"]``).
    """
    runs = profile.cold or list(profile.runs)
    if not runs:
        return list(findings)
    run = runs[0]
    writes = _writes(run)
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
            if observed and all(write.effect in ("before-load", "same-value") for write in observed):
                continue  # the run shows that it came in time, or changed nothing
            kept.append(replace(finding, cost=_option_cost(run, finding, lines, bool(observed))))
        elif "made_at" in finding.data:
            made = _made(run, *finding.data["made_at"])
            if made == 1:
                continue  # the factory ran once: there is nothing to keep
            cost = _kernel_cost(run, {(os.path.realpath(finding.path), str(finding.kernel))})
            message = f"{finding.message} ({made} times in the measured command)" if made else finding.message
            kept.append(replace(finding, message=message, cost=replace(cost, ran=made > 0)))
        elif finding.kernel is not None:
            kept.append(replace(finding, cost=_kernel_cost(run, {(os.path.realpath(finding.path), finding.kernel)})))
        else:
            kept.append(finding)
    return kept


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
        return _cost(holding, ran=True)
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
        return _cost(caused, ran=True)
    kernels = {(os.path.realpath(path), qualname) for path, qualname in finding.data.get("kernels", ())}
    if not ran and kernels:
        ran = _kernel_cost(run, kernels).ran
    return Cost(0, 0.0, ran=ran)


def _cost(loads: list[Load], ran: bool) -> Cost:
    return Cost(sum(load.compiled for load in loads), sum(load.milliseconds for load in loads), ran)
