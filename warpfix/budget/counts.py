"""What of a measurement is the same on every machine, and how two such countings differ. Plain data; no I/O.

Counted is what follows from the program and from Warp alone: builds by module and cause, identities, kernel entries,
bytes of generated source. Times and launches are not: the first depend on the machine, the second cost no build.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warpfix.measure.profile import Load, Profile, Run

TOLERANCE = 0.02
"""Share by which generated source may grow before it counts: comments and spellings, not code."""
_UNIQUE = re.compile(r"_[0-9a-f]{8}$")
_SUBJECTS = ("kernel", "option", "block_dim", "other")

TOTALS = {
    "builds": "builds",
    "rebuilds": "builds of a module that was built before",
    "warm_builds": "builds in a warm run",
    "identities": "identities",
    "kernels": "forward and backward kernels",
    "generated_bytes": "bytes of generated source",
}


@dataclass(frozen=True)
class Counts:
    """Counts of one cold and one warm run; of several, the largest."""

    totals: Mapping[str, int]
    """By the names of ``TOTALS``. In a budget, one that is absent is not checked."""
    modules: Mapping[str, Mapping[str, int]]
    """Module to cause (``first-load``, ``kernel-added apply_drag``) to number of builds."""
    warp: str = ""
    targets: tuple[str, ...] = ()


def module_name(module: str) -> str:
    """A module's name without the hash that a unique one ends in: an edit of the kernel must not rename its line."""
    return _UNIQUE.sub("_*", module)


def cause_key(load: Load) -> str:
    """The cause of a build without lines and numbers, which move with every edit."""
    data = load.cause.data
    subject = next((str(data[name]) for name in _SUBJECTS if name in data), "")
    return f"{load.cause.kind} {subject}".strip()


def counts(profile: Profile) -> Counts:
    """Count a profile. Where its runs differ, as those of threads that race may, the largest number stands."""
    totals = dict.fromkeys(TOTALS, 0)
    modules: dict[str, dict[str, int]] = defaultdict(dict)
    for run in profile.cold:
        for name, number in _totals(run).items():
            totals[name] = max(totals[name], number)
        seen = Counter((module_name(load.module), cause_key(load)) for load in _built(run))
        for (module, key), number in seen.items():
            modules[module][key] = max(modules[module].get(key, 0), number)
    totals["warm_builds"] = max((len(run.builds) for run in profile.warm), default=0)
    targets = sorted({load.target for run in profile.cold for load in run.builds})
    return Counts(
        totals,
        {module: dict(sorted(keys.items())) for module, keys in sorted(modules.items())},
        profile.environment.get("warp", ""),
        tuple(targets),
    )


def _built(run: Run) -> list[Load]:
    return [load for load in run.loads if load.outcome in ("compiled", "failed")]


def _totals(run: Run) -> dict[str, int]:
    builds = run.builds
    return {
        "builds": len(_built(run)),
        "rebuilds": len(run.rebuilds),
        "identities": len({load.identity for load in run.loads if load.outcome != "inherited"}),
        "kernels": sum(1 + bool(kernel.backward_code) for load in builds for kernel in load.kernels),
        "generated_bytes": sum(load.source_bytes for load in builds),
    }


@dataclass(frozen=True)
class Excess:
    """One total that is over its budget."""

    name: str
    allowed: int
    found: int


@dataclass(frozen=True)
class Added:
    """Builds of one module for one cause that the budget does not hold."""

    module: str
    cause: str
    allowed: int
    found: int
    load: Load
    """The last of them: with its cause, the line of it, and the launch that paid."""


@dataclass(frozen=True)
class Comparison:
    """A counting against its budget."""

    excess: tuple[Excess, ...]
    added: tuple[Added, ...]
    below: tuple[Excess, ...]
    """Totals that are lower than they may be."""
    other: tuple[str, ...]
    """What was otherwise when the budget was written, in words: it may be why."""
    skipped: tuple[str, ...] = field(default=())
    """Totals that were not compared because of that."""

    @property
    def good(self) -> bool:
        """Whether the budget is kept."""
        return not self.excess


def compare(budget: Counts, profile: Profile, tolerance: float = TOLERANCE) -> Comparison:
    """Hold a measurement against a budget.

    Under another Warp, or on another kind of device, builds are compared as ever, because they follow from the program;
    entries and bytes are not, because these follow from what Warp makes of it.
    """
    found = counts(profile)
    other = []
    if budget.warp and found.warp and budget.warp != found.warp:
        other.append(f"the budget was written with Warp {budget.warp}, and this is {found.warp}")
    if budget.targets and found.targets and budget.targets != found.targets:
        other.append(
            f"the budget was written for {', '.join(budget.targets)}, and this built {', '.join(found.targets)}"
        )
    skipped = tuple(name for name in ("kernels", "generated_bytes") if other and name in budget.totals)
    excess, below = [], []
    for name, allowed in budget.totals.items():
        number = found.totals.get(name, 0)
        slack = allowed * tolerance if name == "generated_bytes" else 0
        if name in skipped or name not in TOTALS:
            continue
        if number > allowed + slack:
            excess.append(Excess(name, allowed, number))
        elif number < allowed - slack:
            below.append(Excess(name, allowed, number))
    return Comparison(tuple(excess), tuple(_added(budget, found, profile)), tuple(below), tuple(other), skipped)


def _added(budget: Counts, found: Counts, profile: Profile) -> Sequence[Added]:
    """Which builds are new: by module and cause."""
    last: dict[tuple[str, str], Load] = {}
    for run in profile.cold:
        for load in _built(run):
            last[module_name(load.module), cause_key(load)] = load
    added = []
    for module, keys in found.modules.items():
        known = budget.modules.get(module, {})
        for key, number in keys.items():
            if number > known.get(key, 0):
                added.append(Added(module, key, known.get(key, 0), number, last[module, key]))

    # A build whose cause only has another name now is none too many: where a module has no more builds than it may, or
    # gave up others, only the difference is new. What is certain stands first.
    def surplus(one: Added) -> int:
        return sum(found.modules[one.module].values()) - sum(budget.modules.get(one.module, {}).values())

    return sorted((one for one in added if surplus(one) > 0), key=lambda one: (-surplus(one), one.module, one.cause))
