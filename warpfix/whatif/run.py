"""Runs the baseline and each lever, interleaved, and fills the ledger. The only file of the package with I/O."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from warpfix.errors import WarpfixError
from warpfix.files import private_folder
from warpfix.measure.profile import Profile, Run
from warpfix.measure.run import RunSettings, environment_facts, last_lines, require_good, run_command
from warpfix.measure.stats import summarise
from warpfix.verify.compare import Expected, compare
from warpfix.verify.verdict import judge, totals
from warpfix.whatif import levers as known
from warpfix.whatif.ledger import (
    FAILED,
    INAPPLICABLE,
    PRICED,
    REFUSED,
    UNPRICED,
    Entry,
    Ledger,
    elapsed_of,
)
from warpfix.whatif.levers import CACHE, COST, PRELOAD, Lever

_PROGRAM = """\
import warp as wp


@wp.kernel(module="unique")
def first(values: wp.array(dtype=float)):
    values[wp.tid()] = 1.0


@wp.kernel(module="unique")
def second(values: wp.array(dtype=float)):
    values[wp.tid()] = values[wp.tid()] + 2.0


@wp.kernel(module="unique")
def third(values: wp.array(dtype=float)):
    values[wp.tid()] = values[wp.tid()] * 3.0


device = wp.get_preferred_device()
values = wp.zeros(4, dtype=float, device=device)
for kernel in (first, second, third):
    wp.launch(kernel, dim=4, inputs=[values], device=device)
wp.synchronize()
"""
"""Three modules of one small kernel each: what a module costs beside what is in it."""


class _OutOfTime(Exception):
    """The next run would pass --max-time."""


class _Runner:
    def __init__(
        self, command: Sequence[str], cwd: str, settings: RunSettings, max_time: float, say: Callable[[str], None]
    ) -> None:
        self.command = tuple(command)
        self.cwd = cwd
        self.settings = settings
        self.max_time = max_time
        self.say = say
        self.root = private_folder()
        self.done = 0
        self.longest = 0.0
        self.start = time.monotonic()

    def run(self, state: str, caches: Path, settings: RunSettings, what: str, command: Sequence[str] = ()) -> Run:
        """One run.

        Raises:
            _OutOfTime: It would pass --max-time.
        """
        elapsed = time.monotonic() - self.start
        if self.done and elapsed + self.longest > self.max_time:
            raise _OutOfTime
        self.say(f"run {self.done + 1}: {what}" + (f", about {self.longest:.0f} s" if self.longest else ""))
        number, self.done = self.done, self.done + 1
        run = run_command(
            command or self.command,
            cwd=self.cwd,
            state=state,
            workspace=self.root / f"run-{number}",
            caches=caches,
            settings=settings,
        )
        if state == "cold" and not command:
            self.longest = max(self.longest, run.wall)
        return run

    def baseline(self, into: list[Run]) -> None:
        """One cold and one warm run, as it stands."""
        caches = self.root / f"caches-{self.done}"
        try:
            for state in ("cold", "warm"):
                run = self.run(state, caches, self.settings, f"as it stands, {state}")
                require_good(run, self.command, self.settings)
                into.append(run)
        finally:
            shutil.rmtree(caches, ignore_errors=True)

    def overridden(self, lever: Lever, profile: Profile) -> Run:
        """One cold run under a lever."""
        caches = self.root / f"caches-{self.done}"
        settings = dataclasses.replace(self.settings, levers=lever.config(profile))
        try:
            return self.run("cold", caches, settings, lever.name)
        finally:
            shutil.rmtree(caches, ignore_errors=True)


def price(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    levers: Sequence[Lever] = (),
    samples: int = 2,
    settings: RunSettings,
    max_time: float = 1800.0,
    say: Callable[[str], None] | None = None,
) -> Ledger:
    """Price levers of a command: each sample runs the baseline and every lever over empty caches, in one order and then
    in the opposite one (ABBA), so that a machine that gets slower blames none of them.

    Args:
        command: The command and its arguments.
        cwd: Its working directory.
        levers: What to price; by default what can matter for this command.
        samples: Cold runs of the baseline and of each lever; with two, the baseline is compared with itself.
        settings: How the command is run.
        max_time: Seconds; runs that would pass it are left out, and the ledger says so.
        say: Told in one line what is about to happen.

    Raises:
        WarpfixError: The command as it stands fails, does not end, or can't be observed.
    """
    runner = _Runner(command, os.fspath(cwd), settings, max_time, say or (lambda line: None))
    try:
        return _price(runner, tuple(levers), samples)
    finally:
        shutil.rmtree(runner.root, ignore_errors=True)


def _price(runner: _Runner, wanted: Sequence[Lever], samples: int) -> Ledger:
    baseline: list[Run] = []
    runner.baseline(baseline)
    profile = _profile(runner, baseline)
    adjoints = known.adjoint_launches(profile.runs)
    chosen = list(dict.fromkeys(wanted)) or known.defaults(profile, adjoints)
    open_levers, entries = [], {}
    for lever in chosen:
        refusals = known.refused(lever, adjoints)
        reason = known.inapplicable(lever, profile)
        if refusals:
            notes = known.without_adjoints(profile, adjoints)
            entries[lever] = Entry(lever, REFUSED, _refusal(refusals), adjoints=refusals, notes=notes)
        elif reason:
            entries[lever] = Entry(lever, INAPPLICABLE, reason)
        elif lever.kind not in (CACHE, COST):
            open_levers.append(lever)
    runner.say(
        f"{samples} x {len(open_levers) + 1} cold runs of about {runner.longest:.0f} s, "
        f"about {samples * (len(open_levers) + 1) * runner.longest:.0f} s in all"
    )
    runs: dict[Lever, list[Run]] = {lever: [] for lever in open_levers}
    failed: dict[Lever, tuple[str, tuple[str, ...]]] = {}
    cut_short = False
    try:
        for number in range(samples):
            order: list[Lever | None] = [None, *open_levers]
            for one in order if number % 2 == 0 else reversed(order):
                if one is None:
                    if number:
                        runner.baseline(baseline)
                elif one not in failed:
                    fault = _sample(runner, one, profile, runs[one])
                    if fault:
                        failed[one] = fault
    except _OutOfTime:
        cut_short = True
    if COST in {lever.kind for lever in chosen}:
        lever = Lever(COST)
        if lever not in entries:
            entries[lever] = _module_cost(runner, lever, profile)
    profile = _profile(runner, baseline)
    for lever in chosen:
        if lever in entries:
            continue
        if lever.kind == CACHE:
            entries[lever] = _persisted(lever, profile)
        elif lever in failed:
            reason, lines = failed[lever]
            entries[lever] = Entry(lever, FAILED, reason, failure=lines)
        elif not runs[lever]:
            entries[lever] = Entry(lever, UNPRICED, "--max-time ended before it could run")
        else:
            entries[lever] = _priced(lever, baseline, runs[lever])
    return Ledger(profile, samples, tuple(_told(entries[lever], profile) for lever in chosen), cut_short)


def _profile(runner: _Runner, runs: Sequence[Run]) -> Profile:
    return Profile(runner.command, runner.cwd, runner.settings.target, tuple(runs), environment_facts(runs))


def _sample(runner: _Runner, lever: Lever, profile: Profile, into: list[Run]) -> tuple[str, tuple[str, ...]] | None:
    """One run under a lever; what went wrong where the program breaks under it."""
    try:
        run = runner.overridden(lever, profile)
    except WarpfixError as error:
        first, *rest = str(error).splitlines()
        return first, tuple(rest)
    if run.exit_status != runner.settings.expect_status and run.stopped_by is None:
        lines = last_lines(run.stderr_path) or last_lines(run.stdout_path)
        return f"under it the program ends with exit status {run.exit_status}", tuple(lines)
    faults = [
        error for process in run.processes for error in process.errors if error.startswith(("levers:", "preload:"))
    ]
    if faults:
        return f"it could not be pulled: {faults[0]}", ()
    if not known.levers_taken([run]):
        what = f"this Warp has no option {lever.option}" if lever.option else "no process met it"
        return f"it reached nothing: {what}", ()
    into.append(run)
    return None


def _refusal(adjoints: Sequence[known.AdjointLaunch]) -> str:
    one = adjoints[0]
    at = f" by the tape at {one.line.path}:{one.line.line}" if one.line else ""
    more = f", and {len(adjoints) - 1} more" if len(adjoints) > 1 else ""
    return f"the adjoint of {one.kernel} (module {one.module}) is launched{at}{more}"


def _priced(lever: Lever, baseline: Sequence[Run], runs: Sequence[Run]) -> Entry:
    cold = [run for run in baseline if run.state == "cold"]
    expected = Expected(options=frozenset({lever.option} if lever.option else ()))
    verdict = compare(cold, runs, expected)
    notes = [note for note in verdict.notes if len(cold) > 1]
    overruled = known.later_writes(lever, runs) if lever.option else []
    if lever.kind == PRELOAD:
        notes += _preload_notes(cold, runs)
    if lever.option == "enable_backward":
        notes += _kept_backward(lever, runs)
    return Entry(
        lever,
        PRICED,
        verdict=verdict,
        elapsed=(elapsed_of(cold), elapsed_of(runs)),
        overruled=tuple(overruled),
        notes=tuple(notes),
    )


def _preload_notes(cold: Sequence[Run], runs: Sequence[Run]) -> list[str]:
    wanted = len({(load.module, load.device, load.block_dim) for load in cold[0].loads if load.outcome != "failed"})
    found = known.levers_taken(runs).get("preload", 0)
    if found < wanted:
        return [
            f"{wanted - found} of {wanted} identities had no kernel yet at the first launch, and were not preloaded"
        ]
    return []


def _kept_backward(lever: Lever, runs: Sequence[Run]) -> list[str]:
    """Kernels whose decorator asks for adjoint code: that is respected."""
    kept = {
        kernel.definition.key
        for load in runs[0].loads
        for kernel in load.kernels
        if kernel.options.get("enable_backward") is True and lever.covers(load.module)
    }
    if not kept:
        return []
    names = ", ".join(sorted(kept)[:4]) + (" ..." if len(kept) > 4 else "")
    return [f"enable_backward=True in the decorator is respected: {names}"]


def _persisted(lever: Lever, profile: Profile) -> Entry:
    """The warm runs against the cold ones: what a cache that is kept saves."""
    before, after = totals(profile.cold), totals([dataclasses.replace(run, state="cold") for run in profile.warm])
    notes = []
    if any(after.builds):
        notes.append("the warm run builds too: `warpfix measure` says why the cache does not serve it")
    elapsed = (elapsed_of(profile.cold), elapsed_of([dataclasses.replace(run, state="cold") for run in profile.warm]))
    return Entry(lever, PRICED, verdict=judge((), before, after), elapsed=elapsed, notes=tuple(notes))


def _module_cost(runner: _Runner, lever: Lever, profile: Profile) -> Entry:
    """Three one-kernel modules in the measured environment: the first pays for the header, the others are the price."""
    process = known.home(profile)
    python = process.executable if process else ""
    if not python:
        return Entry(lever, INAPPLICABLE, "the Python of the measured program is not known")
    program = runner.root / "module_cost.py"
    program.write_text(_PROGRAM, encoding="utf-8")
    settings = RunSettings(target=runner.settings.target, timeout=runner.settings.timeout)
    caches = runner.root / f"caches-{runner.done}"
    try:
        run = runner.run("cold", caches, settings, "one-kernel modules", (python, str(program)))
    except _OutOfTime:
        return Entry(lever, UNPRICED, "--max-time ended before it could run")
    except WarpfixError as error:
        return Entry(lever, FAILED, str(error).splitlines()[0])
    finally:
        shutil.rmtree(caches, ignore_errors=True)
    times = [load.milliseconds for load in run.builds]
    if run.exit_status != 0 or len(times) != 3:
        lines = tuple(last_lines(run.stderr_path) or last_lines(run.stdout_path))
        return Entry(lever, FAILED, f"three one-kernel modules made {len(times)} builds", failure=lines)
    next_ms = summarise(times[1:])
    modules = len({load.module for load in profile.cold[0].builds})
    data = {"first_ms": times[0], "next_ms": next_ms.median, "samples": times, "modules": modules}
    data["all_ms"] = next_ms.median * modules
    return Entry(lever, PRICED, data=data)


def _told(entry: Entry, profile: Profile) -> Entry:
    """With what speaks against it, and how it is taken."""
    line, where = known.how(entry.lever, profile)
    if entry.status in (INAPPLICABLE, REFUSED, FAILED):
        line = where = ""
    return dataclasses.replace(entry, why_not=known.why_not(entry.lever), line=line, where=where)
