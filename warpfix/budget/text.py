"""A checked budget in words. At most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from warpfix.budget.counts import TOTALS, Added, Comparison
from warpfix.measure.profile import Profile
from warpfix.measure.words import place, wrap

_SHOWN = 12


def lines(name: str, comparison: Comparison, profile: Profile, file: str) -> Iterator[str]:
    """The result of one entry: over or within, what is over, and which lines added builds."""
    if comparison.good:
        yield f"{name}: within budget"
        for one in comparison.below:
            yield from wrap(f"{TOTALS[one.name]}: {one.found:,}, {one.allowed:,} allowed", "  ")
        if comparison.below:
            yield from wrap(f"`warpfix budget write --name {name}` lowers the budget to what is needed now", "  ")
    else:
        yield f"{name}: over budget"
        yield ""
        width = max(len(TOTALS[one.name]) for one in comparison.excess)
        yield f"  {'':{width}}  {'allowed':>11}  {'found':>11}"
        for one in comparison.excess:
            yield f"  {TOTALS[one.name]:{width}}  {one.allowed:>11,}  {one.found:>11,}"
    if comparison.added and not comparison.good:
        yield ""
        yield "  builds that the budget does not hold:"
        for added in comparison.added[:_SHOWN]:
            yield from wrap(said(added), "      ", "    ")
            yield from wrap(where(added, profile), "      ")
        if len(comparison.added) > _SHOWN:
            yield f"    and {len(comparison.added) - _SHOWN} more"
    for other in comparison.other:
        yield from wrap(f"note: {other}", "  ")
    if comparison.skipped:
        names = " and ".join(TOTALS[one] for one in comparison.skipped)
        yield from wrap(f"note: {names} were not compared for that reason", "  ")
    if comparison.other and not comparison.good:
        text = f"if no change of yours is above, Warp builds otherwise now: `warpfix budget write --name {name}`"
        yield from wrap(text, "  ")
    elif not comparison.good:
        text = f"if it has to be so: `warpfix budget write --name {name}`, and commit {file}"
        yield ""
        yield from wrap(text, "  ")


def said(added: Added) -> str:
    """What was built, how much more often than allowed, and why."""
    more = added.found - added.allowed
    times = f"{more} more" if more > 1 or added.allowed else "new"
    return f"{added.load.module} ({times}): {added.load.cause.text}"


def where(added: Added, profile: Profile) -> str:
    """The line that caused it, and the launch that paid."""
    line, paid = place(profile, added.load.cause.line), place(profile, added.load.paid_by)
    return f"at {paid}" if line == paid else f"{line}, paid by {paid}"


def to_dict(name: str, comparison: Comparison, profile: Profile) -> dict[str, Any]:
    """The result of one entry for machines."""
    return {
        "name": name,
        "good": comparison.good,
        "over": {one.name: {"allowed": one.allowed, "found": one.found} for one in comparison.excess},
        "below": {one.name: {"allowed": one.allowed, "found": one.found} for one in comparison.below},
        "added": [
            {
                "module": one.load.module,
                "cause": one.cause,
                "text": one.load.cause.text,
                "allowed": one.allowed,
                "found": one.found,
                "line": place(profile, one.load.cause.line),
                "paid_by": place(profile, one.load.paid_by),
            }
            for one in comparison.added
        ],
        "notes": list(comparison.other),
        "not_compared": list(comparison.skipped),
    }
