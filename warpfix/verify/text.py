"""Judgements in words, for people. At most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from warpfix.findings import Applicability
from warpfix.verify.lab import Judgement
from warpfix.verify.verdict import Check, Outcome, Status, Totals, Verdict, table

if TYPE_CHECKING:
    from warpfix.verify.engine import Applied, Tried

WIDTH = 80
_FEW = 8
_SHOWN = 12
_SHORT = {Outcome.HELD: "held", Outcome.BROKEN: "BROKEN", Outcome.UNVERIFIED: "unverified", Outcome.MISSING: "-"}


def wrap(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Text as lines; ``first`` and ``rest`` indent the first and the following ones."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first) if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def verdict_lines(verdict: Verdict) -> list[str]:
    """One verdict with its totals, checks and notes."""
    return [*wrap(f"verdict: {verdict.status.value}: {verdict.reason()}"), *_body(verdict)]


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
        lines += wrap("note: --max-time ended the sampling; this is the best verdict so far")
    return lines


def _body(verdict: Verdict) -> list[str]:
    lines = ["", *table(verdict.before, verdict.after), ""]
    lines += check_lines(verdict.checks)
    return lines + [line for note in verdict.notes for line in wrap(f"note: {note}")]


def check_lines(checks: Iterable[Check]) -> list[str]:
    """Each check: the invariant, what came out, in which form, and the words."""
    lines = []
    for check in checks:
        form = f" (compared {check.form})" if check.form else ""
        lines += wrap(check.message + form, f"{check.invariant:9}  {_SHORT[check.outcome]:10}  ")
    return lines


def tried_lines(tried: Tried) -> list[str]:
    """The report of ``try``."""
    lines = wrap(f"verdict: {tried.judgement.status.value}: {tried.judgement.reason()}")
    lines += judgement_lines(tried.judgement)
    if any(check.invariant == "options" for check in tried.judgement.checks(Outcome.BROKEN)):
        lines += wrap("hint: where the patch is about an option, --about OPTION says so; only that one may differ then")
    if tried.renames:
        lines += ["", "taken for moved, because name and parameters are equal:"]
        lines += [f"  {one.old_qualname} -> {one.new_qualname} ({Path(one.path).name})" for one in tried.renames]
    return lines + _touched(tried.touched)


def applied_lines(applied: Applied) -> list[str]:
    """The report of ``apply --verify``: before and after, what was changed, what was left, what each claim rests on."""
    lines = wrap(headline(applied))
    if applied.judgement is not None:
        lines += judgement_lines(applied.judgement)
    else:
        for job in applied.baseline:
            if len(applied.baseline) > 1:
                lines += ["", f"$ {job.text}"]
            lines += ["", *_as_it_stands(applied.totals(job))]
    if applied.status == "written":
        lines += wrap(applied.confirmed, f"{'real tree':9}  {'held':10}  ")
        lines += ["", "changed:", *_fixes(applied)]
        keys = [(r.old_key, r.new_key) for one in applied.kept for r in one.fix.renames if r.old_key != r.new_key]
        if keys:
            lines += ["", "kernel keys, old -> new:"]
            lines += [f"  {old} -> {new}" for old, new in dict.fromkeys(keys)]
    elif applied.status == "proved":
        lines += ["", "proved, and not written:", *_fixes(applied)]
    elif applied.status == "undone":
        lines += ["", *wrap(f"{applied.confirmed}; the write was undone")]
    elif applied.status == "refused" and applied.kept:
        lines += ["", "proposed, and not written:", *_fixes(applied), *_way_on(applied)]
    if applied.left or applied.dropped:
        lines += ["", "left:"]
        for one in applied.left:
            for finding in one.planned.findings:
                lines += _left(applied, finding.path, finding.line, finding.message, one.reason)
        lines += _dropped(applied)
        lines += _to_decide(applied)
    lines += _rebuilds(applied)
    lines += _unproved(applied)
    return lines + _touched(applied.touched)


def headline(applied: Applied) -> str:
    """What came of it, in a line."""
    if applied.status == "written":
        files = len(applied.written)
        assert applied.judgement is not None
        return f"written: {files} file{'s' if files > 1 else ''}: {applied.judgement.reason()}"
    if applied.status == "proved":
        files = len(applied.changes)
        assert applied.judgement is not None
        return f"proved, and not written: {files} file{'s' if files > 1 else ''}: {applied.judgement.reason()}"
    if applied.status == "undone":
        return "nothing is changed: the real tree disagreed with the measurement"
    if applied.status == "nothing-to-do":
        return "nothing to change" if applied.dropped else "nothing to change: the rules find nothing here"
    if applied.judgement is None or not applied.kept:
        judgement = applied.refused[-1] if applied.refused else applied.judgement
        if judgement is not None and judgement.status is Status.INVALID:
            return f"nothing is changed: {judgement.status.value}: {judgement.reason()}"
        return "nothing is changed: no proposed fix is proved and pays"
    if applied.judgement.status is Status.NO_GAIN and not any(v.losses for v in applied.judgement.verdicts.values()):
        saves = "what is proposed does the same and" if len(applied.kept) > 1 else "the proposed fix does the same and"
        return f"nothing is changed: no-gain: {saves} saves this command no build and no code"
    return f"nothing is changed: {applied.judgement.status.value}: {applied.judgement.reason()}"


def _way_on(applied: Applied) -> list[str]:
    """What somebody can do who wants the fixes all the same."""
    assert applied.judgement is not None
    safe = sum(planned.fix.applicability is Applicability.SAFE for planned in applied.kept)
    if applied.judgement.status is not Status.NO_GAIN or not safe:
        return []
    which = {len(applied.kept): "they are"}.get(safe, f"{safe} of them are") if len(applied.kept) > 1 else "it is"
    return wrap(f"{which} proved safe from the source all the same: `warpfix apply` without --verify writes that")


def _as_it_stands(totals: Totals) -> list[str]:
    rows = table(totals, Totals())
    # One column: there is no second version.
    return [line.rstrip() for line in rows[1:]]


def _fixes(applied: Applied) -> list[str]:
    """Each fix in words, and what was proved of it from source: once for all of which the same was proved."""
    lines: list[str] = []
    by_proof: dict[str, list[str]] = {}
    for planned in applied.kept:
        where = place(planned.findings[0].path, planned.findings[0].line, applied.root)
        by_proof.setdefault(planned.fix.proved, []).append(f"{where}: {planned.fix.summary}")
    for proof, fixes in by_proof.items():
        lines += [line for fix in fixes for line in wrap(fix, "  ", "    ")]
        if proof:
            lines += wrap(f"proved from source: {proof}", "    ")
    return lines


def _dropped(applied: Applied) -> list[str]:
    """What the plan left: each with its message, or, where they are many, grouped by the reason."""
    if len(applied.dropped) <= _FEW:
        found = [(one.finding, one.reason) for one in applied.dropped]
        return [line for one, why in found for line in _left(applied, one.path, one.line, one.message, why)]
    groups: dict[str, list[str]] = {}
    for dropped in applied.dropped:
        finding = dropped.finding
        name = f" `{finding.kernel.rpartition('.')[2]}`" if finding.kernel else ""
        where = f"{place(finding.path, finding.line, applied.root)}{name} ({finding.code})"
        groups.setdefault(dropped.reason, []).append(where)
    lines = []
    for reason, places in groups.items():
        lines += wrap(reason, "  ", "  ")
        lines += [f"    {where}" for where in places[:_SHOWN]]
        if len(places) > _SHOWN:
            lines.append(f"    and {len(places) - _SHOWN} more")
    return lines


def _to_decide(applied: Applied) -> list[str]:
    """How to have the fixes that are only written for those who name their rule."""
    rules = sorted(
        {one.finding.rule for one in applied.dropped if f"only with --select {one.finding.rule}" in one.reason}
    )
    if not rules:
        return []
    them = "its fixes" if len(rules) == 1 else "their fixes"
    return [
        "",
        *wrap(f"yours to decide: the same call with `--select {','.join(rules)}` has {them} proved and written"),
    ]


def _rebuilds(applied: Applied) -> list[str]:
    """What is still built again, whether or not a rule has something to say about it."""
    lines: list[str] = []
    groups: dict[tuple[str, str], int] = {}
    for load in applied.rebuilds():
        line = load.cause.line
        where = f" ({place(line.path, line.line, applied.root)})" if line else ""
        key = (load.module, f"{load.cause.text}{where}")
        groups[key] = groups.get(key, 0) + 1
    for (module, text), count in list(groups.items())[:_SHOWN]:
        times = f", {count} times" if count > 1 else ""
        lines += wrap(f"{module}{times}: {text}", "  ", "    ")
    if len(groups) > _SHOWN:
        lines.append(f"  and {len(groups) - _SHOWN} more")
    return ["", "still built again:", *lines] if lines else []


def _left(applied: Applied, path: str, line: int, message: str, reason: str) -> list[str]:
    lines = wrap(f"{place(path, line, applied.root)}: {message}", "  ", "    ")
    return lines + wrap(f"why: {reason}", "    ", "    ") if reason and reason != message else lines


def place(path: str, line: int, root: str) -> str:
    """``path:line``, relative to the project's root where it lies below."""
    try:
        shown = Path(path).relative_to(root).as_posix()
    except ValueError:
        shown = path
    return f"{shown}:{line}"


def _unproved(applied: Applied) -> list[str]:
    if applied.status != "written":
        return []
    held = {check.invariant for check in applied.judgement.checks(Outcome.HELD)} if applied.judgement else set()
    words = ["what the kernels wrote (code and output are compared; arrays would be with --check-data)"]
    if "data" in held:
        words = ["what kernels reach through ids, and what runs inside captured graphs"]
    unlaunched = applied.unlaunched()
    if unlaunched:
        places = [
            f"`{name}` ({place(path, line, applied.root)})" if name else place(path, line, applied.root)
            for path, line, name in unlaunched[:_SHOWN]
        ]
        more = f" and {len(unlaunched) - _SHOWN} more" if len(unlaunched) > _SHOWN else ""
        words.append(f"kernels of the edited files that no command launches: {', '.join(places)}{more}")
    words += ["other commands than the measured, other devices and other versions of Warp"]
    return ["", *wrap("not verified: " + "; ".join(words))]


def _touched(touched: Mapping[str, str]) -> list[str]:
    items = list(touched.items())
    if not items:
        return []
    lines = ["", "files in the project that the command writes:"]
    lines += [f"  {path} ({how})" for path, how in items[:20]]
    return lines + ([f"  and {len(items) - 20} more"] if len(items) > 20 else [])
