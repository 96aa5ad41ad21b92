"""What a page says, as plain data for its template: every number and every word is decided here."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from warpfix.measure import privacy
from warpfix.measure.profile import PHASES, Load, ProcessRun, Profile, Run, SourceLine
from warpfix.measure.report import compile_elapsed
from warpfix.measure.stats import summarise
from warpfix.measure.steps import next_steps
from warpfix.measure.text import PHASE_WORDS, headline, late_options, remade
from warpfix.measure.words import count, place, seconds, short_name, size
from warpfix.page.excerpts import Excerpt, Excerpts
from warpfix.verify.verdict import Outcome, Verdict, rows

_PROCESSES = 6
_TICKS = 6
_OUTCOMES = {
    Outcome.HELD: "held",
    Outcome.BROKEN: "broken",
    Outcome.UNVERIFIED: "unverified",
    Outcome.MISSING: "not compared",
}
View = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """The second arm of a page."""

    after: Profile | None
    """What was measured after the change; None where the candidate never ran."""
    verdict: Verdict
    title: str = "Before against after"
    lines: tuple[str, ...] = ()
    """What else is to be said of the change, as lines of plain text."""


def view(
    profile: Profile, comparison: Comparison | None = None, *, source: bool = True, ledger: View | None = None
) -> View:
    """Everything that the template shows.

    Args:
        profile: What was measured; with a comparison, before the change.
        comparison: What came out after it.
        source: Whether excerpts of the project's files may be shown.
        ledger: What levers would give, as ``warpfix whatif`` tells it: ``columns`` and ``rows`` of text, and ``notes``.
    """
    # What is left to do is what the page is opened for: details are those of the changed program where there is one.
    shown = comparison.after if comparison and comparison.after and comparison.after.cold else profile
    arms = [("", profile)] if shown is profile else [("before", profile), ("after", shown)]
    excerpts, until = Excerpts(shown, source), _scale(arms)
    cold = shown.cold[0] if shown.cold else None
    data: View = {
        "title": privacy.shown_command(shown.command),
        "facts": _facts(shown),
        "headline": headline(shown),
        "tiles": _tiles(shown),
        "steps": [{"title": s.title, "why": s.why, "command": s.command} for s in next_steps(shown)],
        "timelines": [line for name, one in arms for line in _timelines(name, one, until)],
        "modules": _modules(shown, cold) if cold else [],
        "repeats": _repeats(shown, cold, excerpts) if cold else [],
        "warm": _warm(shown, excerpts),
        "options": late_options(shown, cold) if cold else [],
        "remade": remade(shown, cold) if cold else [],
        "comparison": _comparison(comparison) if comparison else None,
        "ledger": ledger,
        "legend": [],
        "arm": arms[-1][0],
        "schema": 1,
    }
    data["legend"] = _legend(data)
    masked: View = privacy.Mask().paths(data)
    return masked


def _facts(profile: Profile) -> list[tuple[str, str]]:
    facts = profile.environment
    runs = f"{count(len(profile.cold), 'cold run')}, {len(profile.warm)} warm"
    found = [("Warp", facts.get("warp", "")), ("Python", facts.get("python", "")), ("compiled for", profile.target)]
    found += [("on", facts.get("platform", "")), ("CPUs", facts.get("cpus", "")), ("measured", runs)]
    found += [("by warpfix", facts.get("warpfix", ""))]
    return [(name, text) for name, text in found if text]


def _tiles(profile: Profile) -> list[View]:
    """The few numbers that answer whether there is something to do."""
    cold, warm = profile.cold, profile.warm
    if not cold:
        return []
    walls = summarise([run.wall * 1e3 for run in cold])
    modules = summarise([run.module_milliseconds for run in cold])
    first = cold[0]
    spread = f" ± {seconds(walls.band)}" if len(cold) > 1 else ""
    tiles = [
        {"id": "cold", "name": "first start", "value": seconds(walls.median), "note": f"empty caches{spread}"},
        {
            "id": "modules",
            "name": "in Warp modules",
            "value": seconds(modules.median),
            "note": f"{seconds(compile_elapsed(first))} of it elapsed" if _overlaps(first) else "summed over loads",
        },
        {
            "id": "builds",
            "name": "builds",
            "value": str(len(first.builds)),
            "note": f"{len(first.rebuilds)} of them again" if first.rebuilds else "no module twice",
        },
    ]
    if warm:
        again = warm[0].builds
        tiles.append(
            {
                "id": "warm",
                "name": "next start",
                "value": seconds(summarise([run.wall * 1e3 for run in warm]).median),
                "note": f"{count(len(again), 'build')} again" if again else "everything from the cache",
            }
        )
    return tiles


def _overlaps(run: Run) -> bool:
    return compile_elapsed(run) < 0.95 * run.module_milliseconds


def _legend(data: View) -> list[tuple[str, str]]:
    """The colours that occur."""
    bars = [bar for line in data["timelines"] for lane in line["lanes"] for bar in lane["bars"]]
    parts = [part for one in (*bars, *data["modules"]) for part in one["parts"]]
    used = {one["kind"] for one in (*bars, *parts)}
    words = {"import": "import", "init": "initialise Warp", "cached": "from the cache", **PHASE_WORDS, "other": "other"}
    return [(kind, text) for kind, text in words.items() if kind in used]


# --- the time line


def _timelines(arm: str, profile: Profile, until: float) -> list[View]:
    """One time line for each process that loaded modules, of the first cold run."""
    run = profile.cold[0] if profile.cold else None
    if run is None:
        return []
    loading = [p for p in run.processes if any(load.outcome != "inherited" for load in p.loads)]
    lines = [_timeline(process, arm, until) for process in loading[:_PROCESSES]]
    if lines and len(loading) > _PROCESSES:
        lines[-1]["more"] = f"{count(len(loading) - _PROCESSES, 'more process')} loaded modules."
    if lines and len(run.processes) > 1:
        for line, process in zip(lines, loading, strict=False):
            line["title"] += f" (process {process.pid})"
    return lines


def _moments(process: ProcessRun) -> float:
    """When the last thing that a time line shows has ended, in milliseconds."""
    loads = [load.end for load in process.loads if load.outcome != "inherited"]
    return max([*loads, *(span.end for span in process.spans)], default=0.0)


def _scale(arms: Sequence[tuple[str, Profile]]) -> float:
    """The length of all time lines of a page: on one scale, before and after can be compared by eye."""
    ends = [_moments(process) for _, one in arms for run in one.cold[:1] for process in run.processes]
    return max(ends, default=0.0) * 1.02 or 1.0


def _timeline(process: ProcessRun, arm: str, until: float) -> View:
    loads = [load for load in process.loads if load.outcome != "inherited"]
    launches = [span for span in process.spans if span.kind == "launch"]
    start = [span for span in process.spans if span.kind in ("import", "init")]

    def x(moment: float) -> float:
        return round(100 * moment / until, 3)

    lanes: list[View] = []
    outer = [span for span in start if span.kind == "init" or span.depth == 0]
    if outer:
        bars = [
            {
                "x": x(span.start),
                "width": round(x(span.end) - x(span.start), 3),
                "kind": span.kind,
                "label": f"{_span_words(span.kind, span.name)}, {seconds(span.end - span.start)}",
                "href": "",
                "parts": [],
            }
            for span in outer
        ]
        lanes.append({"name": "imports, runtime", "bars": bars, "ticks": []})
    threads: dict[int, list[Load]] = defaultdict(list)
    for load in loads:
        threads[load.thread].append(load)
    for number, some in sorted(threads.items()):
        name = "module loads" if len(threads) == 1 else f"loads, thread {number}"
        lanes.append({"name": name, "bars": [_bar(load, x) for load in some], "ticks": []})
    if launches:
        ticks = [
            {"x": x(span.start), "label": f"{span.name}, first launched {seconds(span.start)}"} for span in launches
        ]
        lanes.append({"name": "first launches", "bars": [], "ticks": ticks})
    entries = [
        (span.start, span.end, _span_words(span.kind, span.name))
        for span in start
        if span.kind == "init" or not span.depth
    ]
    entries += [(load.start, load.end, f"{_outcome(load)} {load.module}") for load in loads]
    entries += [(span.start, span.start, f"first launch of {span.name}") for span in launches]
    rest = process.wall - _moments(process)
    return {
        "title": {"before": "The start, before", "after": "The start, after"}.get(arm, "The start"),
        "until": until,
        "lanes": lanes,
        "axis": [{"x": x(tick), "label": _tick(tick)} for tick in _ticks(until)],
        "entries": [
            {"at": seconds(begin), "took": seconds(end - begin) if end > begin else "", "what": what}
            for begin, end, what in sorted(entries)
        ],
        "after": f"After the last of these it ran for another {seconds(rest)}." if rest > 0.02 * process.wall else "",
        "more": "",
    }


def _span_words(kind: str, name: str) -> str:
    return f"import {name}" if kind == "import" else "initialise Warp"


def _outcome(load: Load) -> str:
    return {"compiled": "build", "cached": "load from the cache", "failed": "failed build"}.get(
        load.outcome, load.outcome
    )


def _bar(load: Load, x: Any) -> View:
    left, right = x(load.start), x(load.end)
    parts, at = [], left
    length = load.end - load.start
    for phase in PHASES:
        width = (right - left) * load.phases.get(phase, 0.0) / length if length > 0 else 0.0
        if width > 0:
            parts.append({"x": round(at, 3), "width": round(width, 3), "kind": phase})
            at += width
    return {
        "x": left,
        "width": round(right - left, 3),
        "kind": load.outcome,
        "label": f"{_outcome(load)} {load.module}, {seconds(load.milliseconds)}",
        "href": f"#{_anchor(load.module)}" if load.outcome in ("compiled", "failed") else "",
        "parts": parts,
    }


def _ticks(until: float) -> list[float]:
    """Round moments, at most seven."""
    power = 10.0 ** math.floor(math.log10(until))
    step = next(power * factor for factor in (0.2, 0.5, 1.0, 2.0) if until / (power * factor) <= _TICKS)
    return [number * step for number in range(int(until / step) + 1)]


def _tick(moment: float) -> str:
    return f"{moment / 1e3:g} s" if moment >= 1e3 else f"{moment:g} ms" if moment else "0"


# --- modules


def _anchor(module: str) -> str:
    """A fragment that any name fits into: letters and digits stand, all else by number."""
    return "m-" + "".join(c if c.isascii() and c.isalnum() else f"-{ord(c):x}-" for c in module)


def _modules(profile: Profile, run: Run) -> list[View]:
    groups: dict[str, list[Load]] = defaultdict(list)
    for load in run.loads:
        if load.outcome in ("compiled", "failed"):
            groups[load.module].append(load)
    ranked = sorted(groups.items(), key=lambda item: -_total(item[1]))
    largest = max((_total(loads) for _, loads in ranked), default=1.0) or 1.0
    return [_module(profile, name, loads, largest) for name, loads in ranked]


def _total(loads: Sequence[Load]) -> float:
    return sum(load.milliseconds for load in loads)


def _module(profile: Profile, name: str, loads: Sequence[Load], largest: float) -> View:
    phases = {phase: sum(load.phases.get(phase, 0.0) for load in loads) for phase in PHASES}
    total = _total(loads)
    parts, at = [], 0.0
    for phase, took in phases.items():
        width = 100 * took / largest
        if width >= 0.05:
            parts.append({"x": round(at, 3), "width": round(width, 3), "kind": phase})
        at += width
    other = max(0.0, 100 * total / largest - at)
    if other >= 0.05:
        parts.append({"x": round(at, 3), "width": round(other, 3), "kind": "other"})
    source = sum(load.source_bytes for load in loads)
    kernels: dict[tuple[str, str], View] = {}
    for load in loads:
        for kernel in load.kernels:
            where = SourceLine(kernel.definition.path, kernel.definition.line)
            key = (kernel.definition.key, kernel.overload)
            known = kernels.get(key, {"builds": 0, "adjoint": False})
            kernels[key] = {
                "key": kernel.definition.key,
                "overload": kernel.overload,
                "at": place(profile, where) if where.path else "",
                "builds": known["builds"] + 1,
                "adjoint": known["adjoint"] or bool(kernel.backward_code),
            }
    causes = Counter(load.cause.kind for load in loads)
    dims = sorted({load.block_dim for load in loads})
    failed = sum(load.outcome == "failed" for load in loads)
    return {
        "id": _anchor(name),
        "name": name,
        "shown": short_name(name),
        "builds": len(loads),
        "failed": failed,
        "ms": round(total, 3),
        "time": seconds(total),
        "source": size(source),
        "source_bytes": source,
        "kernels": sorted(kernels.values(), key=lambda one: (one["key"], one["overload"])),
        "parts": parts,
        "phases": [(PHASE_WORDS[p], seconds(took)) for p, took in phases.items() if took >= 0.05],
        "causes": [f"{kind} ({number} x)" if number > 1 else kind for kind, number in causes.most_common()],
        "again": len(loads) > 1,
        "targets": sorted({load.target for load in loads}),
        "dims": [str(dim) for dim in dims] if len(dims) > 1 else [],
    }


# --- repeats


def _repeats(profile: Profile, run: Run, excerpts: Excerpts) -> list[View]:
    """Each repeat build with its cause and both source lines; equal ones once."""
    failed = [load for load in run.loads if load.outcome == "failed"]
    return _caused(profile, [*run.rebuilds, *failed], excerpts)


def _warm(profile: Profile, excerpts: Excerpts) -> list[View]:
    return _caused(profile, profile.warm[0].builds, excerpts) if profile.warm else []


def _caused(profile: Profile, loads: Sequence[Load], excerpts: Excerpts) -> list[View]:
    groups: dict[Any, list[Load]] = defaultdict(list)
    for load in loads:
        groups[load.module, load.cause.kind, load.cause.text, load.cause.line, load.paid_by].append(load)
    found = []
    for (module, kind, text, line, paid), some in sorted(groups.items(), key=lambda item: -_total(item[1])):
        places = [("caused at", line)] if line else []
        if paid and (not line or (paid.path, paid.line) != (line.path, line.line)):
            places.append(("paid by the launch at", paid))
        elif paid and places:
            places = [("caused and paid at", paid)]
        found.append(
            {
                "module": module,
                "anchor": _anchor(module),
                "kind": kind,
                "text": text + (" (the build failed)" if some[0].outcome == "failed" else ""),
                "also": [str(one) for one in some[0].cause.data.get("also", ())][:8],
                "times": len(some),
                "ms": round(_total(some), 3),
                "time": seconds(_total(some)),
                "places": [_excerpt(profile, words, at, excerpts.of(at)) for words, at in places],
            }
        )
    return found


def _excerpt(profile: Profile, words: str, line: SourceLine, excerpt: Excerpt) -> View:
    lines = [{"number": number, "text": text, "hit": hit} for number, text, hit in excerpt.lines]
    return {
        "words": words,
        "place": place(profile, line),
        "function": line.function if line.function not in ("", "<module>") else "",
        "lines": lines,
        "why_not": excerpt.why_not,
    }


# --- before against after


def _comparison(comparison: Comparison) -> View:
    verdict = comparison.verdict
    return {
        "title": comparison.title,
        "status": verdict.status.value,
        "good": verdict.good,
        "reason": verdict.reason(),
        "rows": rows(verdict.before, verdict.after),
        "checks": [
            {
                "invariant": check.invariant,
                "outcome": _OUTCOMES[check.outcome],
                "kind": check.outcome.name.lower(),
                "message": check.message + (f" (compared {check.form})" if check.form else ""),
            }
            for check in verdict.checks
        ],
        "notes": list(verdict.notes),
        "lines": list(comparison.lines),
    }
