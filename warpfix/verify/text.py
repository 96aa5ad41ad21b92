"""A judgement in words, for people."""

from __future__ import annotations

from collections.abc import Iterable

from warpfix.verify.lab import Judgement
from warpfix.verify.verdict import Check, Outcome, Verdict, table

_SHORT = {Outcome.HELD: "held", Outcome.BROKEN: "BROKEN", Outcome.UNVERIFIED: "unverified", Outcome.MISSING: "-"}


def judgement_lines(judgement: Judgement) -> list[str]:
    """Totals, checks and notes of every command."""
    lines: list[str] = []
    for command, verdict in judgement.verdicts.items():
        if len(judgement.verdicts) > 1:
            lines += ["", f"$ {command}"]
        lines += _body(verdict)
    if judgement.failure:
        lines += ["", "last lines of the command after the change:"]
        lines += [f"  | {line}" for line in judgement.failure]
    if judgement.cut_short:
        lines.append("note: --max-time ended the sampling; this is the best verdict so far")
    return lines


def verdict_lines(verdict: Verdict) -> list[str]:
    """One verdict with its totals, checks and notes."""
    return [f"verdict: {verdict.status.value}: {verdict.reason()}", *_body(verdict)]


def _body(verdict: Verdict) -> list[str]:
    lines = ["", *table(verdict.before, verdict.after), ""]
    lines += check_lines(verdict.checks)
    return lines + [f"note: {note}" for note in verdict.notes]


def check_lines(checks: Iterable[Check]) -> list[str]:
    """One line per check: the invariant, what came out, in which form, and the words."""
    lines = []
    for check in checks:
        form = f" ({check.form})" if check.form else ""
        lines.append(f"{check.invariant:9}  {_SHORT[check.outcome]:10}  {check.message}{form}")
    return lines
