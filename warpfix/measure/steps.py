"""What to do next: at most a few steps, each with its reason in numbers and the command to type."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass

from warpfix.measure.privacy import shown_command
from warpfix.measure.profile import Profile, Run
from warpfix.measure.report import compile_elapsed
from warpfix.measure.stats import TIME_SAMPLES
from warpfix.measure.text import BOTTLENECK_SHARE
from warpfix.measure.words import count, seconds, short_name, wrap

SHOWN = 3
_MANY_MODULES = 3


@dataclass(frozen=True)
class Step:
    """One thing to do."""

    title: str
    why: str
    command: str
    """As typed in the folder of the measured command; empty where there is nothing to type."""


def next_steps(profile: Profile, shown: int = SHOWN) -> list[Step]:
    """What pays most, first. Nothing but what the measurement shows is proposed."""
    cold = profile.cold[0] if profile.cold else None
    if cold is None or not cold.loads:
        return []
    typed = shown_command(profile.command)
    steps: list[Step] = []
    elapsed = min(compile_elapsed(cold), cold.wall * 1e3)
    idle = cold.wall and elapsed / (cold.wall * 1e3) < BOTTLENECK_SHARE
    warm = profile.warm[0].builds if profile.warm else []
    if idle and not warm:
        share = f"{seconds(elapsed)} of {seconds(cold.wall * 1e3)}"
        steps.append(Step("Look elsewhere first", f"Compilation takes only {share} of the cold run.", ""))
    if warm:
        took = seconds(sum(load.milliseconds for load in warm))
        why = f"The second run builds {count(len(warm), 'module')} again ({took}): what the first left is not used."
        first = max(warm, key=lambda load: load.milliseconds).module
        cold_hashes = {load.hash for load in cold.loads}
        if all(load.hash not in cold_hashes for load in warm):
            command = _explain(first, typed)
            steps.append(Step("See what is another in each run", why, command))
        else:
            steps.append(Step("Find what loses the cache", why, "warpfix scan"))
    mend = _mendable(cold)
    if mend:
        steps.append(Step("Mend what is built too often", mend, f"warpfix apply --verify -- {typed}"))
    again = cold.rebuilds
    if again:
        module = max(again, key=lambda load: load.milliseconds).module
        times = sum(load.module == module for load in cold.builds)
        why = f"{short_name(module)} was built {count(times, 'time')}: this lays its hashes side by side."
        steps.append(Step("See what changed in between", why, _explain(module, typed)))
    adjoint = _unused_adjoints(cold)
    if adjoint and not idle:
        command = f"warpfix apply --verify --select WF701 -- {typed}"
        steps.append(Step("Leave out adjoint code that nothing runs", adjoint, command))
    if cold.builds and not idle:
        why = f"{seconds(elapsed)} of building: this measures what options, a preload or a kept cache would save of it."
        steps.append(Step("Price what was not taken", why, f"warpfix whatif -- {typed}"))
    why = f"A later change that adds to the {count(len(cold.builds), 'build')} then fails in CI, with its line."
    steps.append(Step("Keep it as it is", why, f"warpfix budget write -- {typed}"))
    if len(profile.cold) < TIME_SAMPLES:
        why = f"{count(len(profile.cold), 'cold run')} can't tell a change of time from noise; counts are exact."
        command = f"warpfix measure --samples {TIME_SAMPLES} -o before.json -- {typed}"
        steps.append(Step("Measure with samples before you change something", why, command))
    return steps[:shown]


def _explain(module: str, typed: str) -> str:
    return f"warpfix explain-build {shlex.quote(module)} -- {typed}"


def step_lines(profile: Profile) -> list[str]:
    """The steps as lines of a text report; none where there is nothing to do."""
    lines: list[str] = []
    for step in next_steps(profile):
        lines += wrap(f"{step.title}. {step.why}", "  ")
        # A command is never broken: it is there to be copied.
        lines += [f"    {step.command}"] if step.command else []
    return ["", "Next", *lines] if lines else []


def _mendable(run: Run) -> str:
    said = []
    again = run.rebuilds
    if again:
        took = seconds(sum(load.milliseconds for load in again))
        said.append(f"{count(len(again), 'build')} of {len(run.builds)} repeat a module that was built before ({took})")
    kernels: dict[str, set[str]] = defaultdict(set)
    for load in run.builds:
        kernels[load.module] |= {kernel.definition.qualname for kernel in load.kernels}
    alone = [name for name, names in kernels.items() if len(names) == 1]
    if len(alone) >= _MANY_MODULES:
        said.append(f"{count(len(alone), 'module')} hold one kernel each")
    return "; ".join(said) + "." if said else ""


def _unused_adjoints(run: Run) -> str:
    if any(signature.adjoint for process in run.processes for signature in process.launches.signatures):
        return ""
    built = {kernel.definition for load in run.builds for kernel in load.kernels if kernel.backward_code}
    if not built:
        return ""
    were = "was" if len(built) == 1 else "were"
    return f"{count(len(built), 'kernel')} {were} built with an adjoint, and no launch of this command ran one."
