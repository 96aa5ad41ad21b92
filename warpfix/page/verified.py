"""What a verification measured, as the two arms of a page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from warpfix.errors import WarpfixError
from warpfix.measure.profile import Profile
from warpfix.page.view import Comparison
from warpfix.verify.engine import Applied, Tried
from warpfix.verify.lab import Job, Judgement
from warpfix.verify.text import headline, place


def applied_arms(applied: Applied) -> tuple[Profile, Comparison | None]:
    """Baseline and candidate of ``apply --verify``: of what was written, else of what was refused last."""
    judgement = applied.judgement or (applied.refused[-1] if applied.refused else None)
    lines = [headline(applied)[:1].upper() + headline(applied)[1:] + "."]
    for planned in applied.kept:
        finding = planned.findings[0]
        lines.append(f"{place(finding.path, finding.line, applied.root)}: {planned.fix.summary}")
    return _arms(applied.baseline, judgement, tuple(lines))


def tried_arms(tried: Tried) -> tuple[Profile, Comparison | None]:
    """Baseline and patched program of ``try``."""
    return _arms(tried.baseline, tried.judgement, ())


def _arms(
    baseline: Mapping[Job, Profile], judgement: Judgement | None, lines: tuple[str, ...]
) -> tuple[Profile, Comparison | None]:
    if not baseline:
        raise WarpfixError("there is nothing to make a page of: no command was measured")
    job, before = next(iter(baseline.items()))
    shown = job.text
    if judgement is None or shown not in judgement.verdicts:
        return before, None
    runs = judgement.runs.get(shown, ())
    after = dataclasses.replace(before, runs=tuple(runs)) if runs else None
    for other, verdict in judgement.verdicts.items():
        if other != shown:
            lines += (f"Also measured: {other}: {verdict.status.value}: {verdict.reason()}.",)
    return before, Comparison(after, judgement.verdicts[shown], lines=lines)
