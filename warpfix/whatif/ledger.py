"""The ledger: for each lever what it does to builds, bytes and time, what else it changes, how it is taken. Data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpfix.measure import privacy
from warpfix.measure.profile import Profile, SourceLine
from warpfix.measure.report import compile_elapsed
from warpfix.measure.stats import TIME_SAMPLES, Summary, summarise
from warpfix.verify.verdict import Check, Outcome, Totals, Verdict
from warpfix.whatif.levers import CACHE, COST, AdjointLaunch, Lever

SCHEMA_VERSION = 1
FORMAT = "warpfix-ledger"

PRICED, REFUSED, INAPPLICABLE, FAILED, UNPRICED = "priced", "refused", "not applicable", "failed", "not priced"


@dataclass(frozen=True)
class Entry:
    """One lever of the ledger."""

    lever: Lever
    status: str
    """``priced``; ``refused`` (an adjoint is launched), ``not applicable``, ``failed`` (the program breaks under it),
    ``not priced`` (no time was left)."""
    reason: str = ""
    """Why it is not priced, in words."""
    verdict: Verdict | None = None
    """Baseline against the overridden runs: counts, times, and whether launches, options, code and output are equal."""
    elapsed: tuple[Summary, Summary] | None = None
    """Milliseconds during which something was being built, overlap counted once: before, after."""
    adjoints: tuple[AdjointLaunch, ...] = ()
    """What it is refused for."""
    overruled: tuple[SourceLine, ...] = ()
    """Lines of the program that set the option again, and so win over the lever."""
    notes: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()
    """Last lines of the program's output where it failed; not in JSON, for they are the program's own."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """For ``module-cost``: ``first_ms``, ``next_ms``, ``samples``."""
    why_not: str = ""
    line: str = ""
    where: str = ""

    @property
    def equal(self) -> bool:
        """Whether launches, options but the lever's, code and output were shown to be equal."""
        checks = self.verdict.checks if self.verdict else ()
        return bool(checks) and all(check.outcome in (Outcome.HELD, Outcome.MISSING) for check in checks)

    @property
    def changed(self) -> tuple[Check, ...]:
        """The checks that did not hold."""
        checks = self.verdict.checks if self.verdict else ()
        return tuple(one for one in checks if one.outcome not in (Outcome.HELD, Outcome.MISSING))

    @property
    def arms(self) -> tuple[Totals, Totals] | None:
        """Counts and times of the baseline and of the overridden runs."""
        return (self.verdict.before, self.verdict.after) if self.verdict else None

    @property
    def effect(self) -> str:
        """``better``, ``worse``, ``none`` or ``mixed``: by counts and bytes, and by time beyond the noise of enough
        samples; ``unknown`` where nothing was measured, or too little for time to tell anything."""
        if self.status != PRICED or self.verdict is None:
            return "unknown"
        gains, losses = bool(self.verdict.gains), bool(self.verdict.losses)
        if gains or losses:
            return "mixed" if gains and losses else "better" if gains else "worse"
        sampled = min(len(arm.module_ms.samples) for arm in (self.verdict.before, self.verdict.after))
        return "none" if sampled >= TIME_SAMPLES else "unknown"


@dataclass(frozen=True)
class Ledger:
    """All levers of one command, in the order in which they were asked for or planned."""

    profile: Profile
    """The baseline: its cold and warm runs."""
    samples: int
    entries: tuple[Entry, ...]
    cut_short: bool = False
    """Whether --max-time ended the sampling."""

    @property
    def bound(self) -> float:
        """By how much overlapping builds could at most shorten them: the sum of the module times over the largest; of
        the first cold run, 1 where nothing was built. What is built again for the same target and block_dim can only
        follow the build before, and so counts with it."""
        times: dict[tuple[str, str, int], float] = {}
        for load in self.profile.cold[0].loads if self.profile.cold else ():
            key = (load.module, load.target, load.block_dim)
            times[key] = times.get(key, 0.0) + load.milliseconds
        largest = max(times.values(), default=0.0)
        return sum(times.values()) / largest if largest else 1.0

    def refused(self) -> list[Entry]:
        """The entries that were refused or failed."""
        return [entry for entry in self.entries if entry.status in (REFUSED, FAILED)]


def elapsed_of(runs: Sequence[Any]) -> Summary:
    """Milliseconds of building in the cold runs, overlap counted once."""
    return summarise([compile_elapsed(run) for run in runs if run.state == "cold"])


def _summary(value: Summary) -> dict[str, Any]:
    return {
        "median": round(value.median, 4),
        "mad": round(value.mad, 4),
        "band": round(value.band, 4),
        "samples": [round(sample, 4) for sample in value.samples],
    }


def _line(line: SourceLine | None) -> dict[str, Any] | None:
    return {"path": line.path, "line": line.line, "function": line.function} if line else None


def _arm(total: Totals, elapsed: Summary | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        name: list(getattr(total, name))
        for name in ("builds", "warm_builds", "identities", "entries", "generated_bytes", "lto_artifacts")
    }
    for name in ("module_ms", "wall_s", "warm_wall_s"):
        data[name] = _summary(getattr(total, name))
    if elapsed is not None:
        data["compile_elapsed_ms"] = _summary(elapsed)
    return data


def to_dict(ledger: Ledger) -> dict[str, Any]:
    """The ledger as JSON-able data (docs/whatif.md), masked as reports are."""
    profile = ledger.profile
    data = {
        "schema_version": SCHEMA_VERSION,
        "format": FORMAT,
        "command": privacy.mask_arguments(profile.command),
        "cwd": profile.cwd,
        "target": profile.target,
        "environment": dict(profile.environment),
        "samples": ledger.samples,
        "cut_short": ledger.cut_short,
        "overlap_bound": round(ledger.bound, 4),
        "levers": [_entry(entry) for entry in ledger.entries],
    }
    masked: dict[str, Any] = privacy.Mask().paths(data)
    return masked


def _entry(entry: Entry) -> dict[str, Any]:
    lever, arms = entry.lever, entry.arms
    measured: dict[str, Any] | None = None
    if arms:
        before, after = entry.elapsed or (None, None)
        measured = {"before": _arm(arms[0], before), "after": _arm(arms[1], after)}
    return {
        "lever": lever.name,
        "kind": lever.kind,
        "option": lever.option or None,
        "value": lever.value,
        "modules": list(lever.modules),
        "status": entry.status,
        "reason": entry.reason,
        "effect": entry.effect,
        "equal": entry.equal if entry.verdict and lever.kind not in (CACHE, COST) else None,
        "measured": measured,
        "gains": list(entry.verdict.gains) if entry.verdict else [],
        "losses": list(entry.verdict.losses) if entry.verdict else [],
        "checks": [
            {"invariant": one.invariant, "outcome": one.outcome.value, "form": one.form, "message": one.message}
            for one in (entry.verdict.checks if entry.verdict else ())
        ],
        "adjoints": [{"module": one.module, "kernel": one.kernel, "line": _line(one.line)} for one in entry.adjoints],
        "overruled_by": [_line(line) for line in entry.overruled],
        "notes": list(entry.notes),
        "data": dict(entry.data),
        "why_not_taken": entry.why_not,
        "how": entry.line,
        "where": entry.where,
    }
