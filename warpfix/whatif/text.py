"""The ledger in words. At most 80 columns."""

from __future__ import annotations

from warpfix.measure.emulated import emulated_lines
from warpfix.measure.privacy import shown_command
from warpfix.measure.profile import Profile, SourceLine
from warpfix.measure.stats import TIME_SAMPLES, Summary, differs
from warpfix.measure.target import is_emulated
from warpfix.measure.words import WIDTH, count, place, seconds, short_path, size, wrap
from warpfix.verify.verdict import Check, Totals
from warpfix.whatif.ledger import FAILED, INAPPLICABLE, PRICED, REFUSED, UNPRICED, Entry, Ledger
from warpfix.whatif.levers import CACHE, COST, PRELOAD

_NAME = 32
_EFFECT = {
    "better": "saves",
    "worse": "costs",
    "mixed": "saves and costs",
    "none": "no difference beyond the noise",
    "unknown": f"no difference in counts; {TIME_SAMPLES} samples or more would tell the time",
}


def render(ledger: Ledger) -> str:
    """The table of all levers, then what is to be said of each."""
    profile = ledger.profile
    lines = _head(ledger)
    lines += _table(ledger)
    for entry in ledger.entries:
        if entry.status == PRICED and entry.lever.kind != COST:
            lines += ["", *_priced(profile, entry)]
    refused = [entry for entry in ledger.entries if entry.status in (REFUSED, FAILED)]
    for entry in refused:
        lines += ["", *_refused(profile, entry)]
    lines += _rest(ledger)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(ledger: Ledger) -> list[str]:
    profile = ledger.profile
    facts = profile.environment
    command = shown_command(profile.command)
    what = [f"{word} {facts[name]}" for word, name in (("Warp", "warp"), ("Python", "python")) if facts.get(name)]
    what += [profile.target, f"{count(ledger.samples, 'cold run')} of each, interleaved"]
    lines = [command if len(command) <= WIDTH else command[: WIDTH - 3] + "...", ", ".join(what), ""]
    lines += emulated_lines(profile, profile.cold[0]) if profile.cold else []
    if ledger.samples == 1:
        lines += [*wrap("One sample: the command could not be compared with itself, and times tell nothing.", ""), ""]
    if ledger.cut_short:
        lines += [*wrap("--max-time ended the sampling: some levers have fewer samples, or none.", ""), ""]
    return lines


def _table(ledger: Ledger) -> list[str]:
    # On an emulated device the elapsed time holds what executes the launches on the CPU.
    emulated = is_emulated(ledger.profile.target)
    rows = [("", "builds", "source", "modules", "building" if emulated else "elapsed")]
    priced = [entry for entry in ledger.entries if entry.arms]
    if not priced:
        return []
    before = max((entry.arms[0] for entry in priced if entry.arms), key=lambda arm: len(arm.builds))
    rows.append(("as it stands", *_cells(before, priced[0].elapsed[0] if emulated and priced[0].elapsed else None)))
    for entry in priced:
        if entry.arms:
            building = entry.elapsed[1] if emulated and entry.elapsed else None
            rows.append((_short(entry), *_cells(entry.arms[1], building)))
    return [
        f"{name:<{_NAME}}{builds:>7}{source:>9}{modules:>18}{wall:>14}" for name, builds, source, modules, wall in rows
    ]


def _short(entry: Entry) -> str:
    name = entry.lever.name
    return name if len(name) < _NAME else name[: _NAME - 4] + "..."


def _cells(arm: Totals, building: Summary | None) -> tuple[str, str, str, str]:
    builds = "/".join(str(number) for number in sorted(set(arm.builds)))
    source = "/".join(size(number) for number in sorted(set(arm.generated_bytes))[-1:])
    last = _time(arm.wall_s, 1e3) if building is None else _time(building)
    return builds, source, _time(arm.module_ms), last


def _time(value: Summary, factor: float = 1.0) -> str:
    if not value.samples:
        return "-"
    text = seconds(value.median * factor)
    return text if len(value.samples) < 2 else f"{text} +-{value.band * factor / 1e3:.2f}"


def _priced(profile: Profile, entry: Entry) -> list[str]:
    verdict = entry.verdict
    assert verdict is not None
    lines = wrap(f"{entry.lever.name}: {_EFFECT[entry.effect]}", "  ", "")
    said = [*verdict.gains, *verdict.losses]
    if said:
        lines += _part("", "; ".join(said))
    if entry.lever.kind == PRELOAD and entry.elapsed:
        lines += _part("", _overlap(entry.elapsed))
    for note in entry.notes:
        lines += _part("", note)
    for line in entry.overruled:
        lines += _part("", f"{place(profile, line)} sets it again afterwards, which wins: change that line")
    if entry.lever.kind != CACHE:
        lines += _part("", _same(entry))
    lines += _part("why not: ", entry.why_not)
    if entry.line:
        lines += _part("to take it: ", _shortened(profile, entry.where))
        # Never broken: it is there to be copied.
        lines += [f"        {text}" for text in entry.line.splitlines()]
    return lines


def _part(head: str, text: str) -> list[str]:
    return wrap(text, " " * (4 + len(head)), f"    {head}") if text else []


def _shortened(profile: Profile, where: str) -> str:
    """Words with paths as they are seen from the command's folder."""
    for word in where.replace(",", " ").replace(";", " ").split():
        path, _, line = word.partition(":")
        if path.startswith("/") or path[1:3] == ":\\":
            where = where.replace(word, short_path(profile, path) + (f":{line}" if line else ""))
    return where


def _overlap(elapsed: tuple[Summary, Summary]) -> str:
    before, after = elapsed
    text = f"time in which something was built: {seconds(before.median)} -> {seconds(after.median)}"
    if min(len(before.samples), len(after.samples)) < TIME_SAMPLES:
        return f"{text} (too few samples to tell)"
    return text + ("" if differs(before.samples, after.samples) else " (within the noise)")


def _same(entry: Entry) -> str:
    if entry.equal:
        but = f" but for {entry.lever.option}" if entry.lever.option else ""
        machine = entry.verdict and any("machine code" in check.message for check in entry.verdict.checks)
        code = "generated code, machine code" if machine else "generated code"
        return f"launches, options{but}, {code} and output are equal"
    return "; ".join(_check(check) for check in entry.changed)


def _check(check: Check) -> str:
    return f"{check.invariant} {check.outcome.value}: {check.message}"


def _refused(profile: Profile, entry: Entry) -> list[str]:
    lines = wrap(f"{entry.lever.name}: {entry.status}: {_shortened(profile, entry.reason)}", "    ", "")
    for one in entry.adjoints[1:6]:
        lines += _part("", f"{one.kernel} (module {one.module}){_at(profile, one.line)}")
    for note in entry.notes:
        lines += _part("", note)
    return lines + [f"    | {line}"[:WIDTH] for line in entry.failure[-5:]]


def _at(profile: Profile, line: SourceLine | None) -> str:
    return f", by the tape at {place(profile, line)}" if line else ""


def _rest(ledger: Ledger) -> list[str]:
    lines: list[str] = [""]
    for entry in ledger.entries:
        if entry.lever.kind == COST and entry.status == PRICED:
            lines += wrap(_cost(entry), "    ", "")
    lines += wrap(
        f"Overlapping builds can shorten them {ledger.bound:.1f} times at most: the sum of the module times over the "
        "largest one.",
        "    ",
        "",
    )
    reasons: dict[tuple[str, str], list[str]] = {}
    for entry in ledger.entries:
        if entry.status in (INAPPLICABLE, UNPRICED):
            reasons.setdefault((entry.status, entry.reason), []).append(entry.lever.name)
    lines += [""] if reasons else []
    for (status, reason), names in reasons.items():
        lines += wrap(f"{status}: {', '.join(names)}: {reason}", "    ", "")
    return lines


def _cost(entry: Entry) -> str:
    data = entry.data
    modules: int = data["modules"]
    first, following = seconds(data["first_ms"]), seconds(data["next_ms"])
    text = f"One more module of one small kernel costs {following} here, the first {first}"
    return text + f"; {count(modules, 'module')} of this program: {seconds(data['all_ms'])} at that price."
