"""The text report of a measurement: what a person reads first. At most 80 columns."""

from __future__ import annotations

import signal
from collections import defaultdict
from collections.abc import Sequence

from warpfix.measure.emulated import emulated_lines
from warpfix.measure.privacy import shown_command
from warpfix.measure.profile import PHASES, Load, OptionWrite, Profile, Run
from warpfix.measure.report import compile_elapsed
from warpfix.measure.stats import summarise
from warpfix.measure.words import WIDTH, count, place, seconds, short_name, short_path, size, wrap

BOTTLENECK_SHARE = 0.10
"""Below this share of the cold run, compilation is not what makes a program slow to start."""
_MODULES_SHOWN = 12
_CAUSES_SHOWN = 6


def render(profile: Profile, *, modules: int = _MODULES_SHOWN) -> str:
    """The report as text, sorted by cost, repeats grouped, causes in words with both source lines.

    Args:
        profile: What was measured.
        modules: How many Warp modules to list; the rest is summed up in one line.
    """
    lines = _head(profile)
    cold = profile.cold[0] if profile.cold else None
    if cold is None:
        return "\n".join([*lines, "Nothing was run."]) + "\n"
    lines += emulated_lines(profile, cold)
    lines += _totals(profile)
    lines += _data(profile)
    lines += ["", *_verdict(profile, cold)]
    lines += _modules(profile, cold, modules)
    lines += _warm(profile)
    lines += _late_options(profile, cold)
    lines += _remade(profile, cold)
    lines += _faults(profile)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _data(profile: Profile) -> list[str]:
    """That arrays were read, and what it means for the times."""
    logs = [process.data for run in profile.runs for process in run.processes if process.data is not None]
    if not logs:
        return []
    launches = sum(max(0, log.launches) for log in logs)
    return ["", *wrap(f"The arrays of {launches:,} launches were read (--check-data): the times are no evidence.", "")]


def headline(profile: Profile) -> str:
    """Whether compilation is what makes the program slow to start, in a sentence or two."""
    return " ".join(_verdict(profile, profile.cold[0])) if profile.cold else "Nothing was run."


def _head(profile: Profile) -> list[str]:
    facts = profile.environment
    what = [f"Warp {facts['warp']}"] if facts.get("warp") else []
    what += [f"Python {facts['python']}"] if facts.get("python") else []
    what.append(profile.target)
    what.append(f"{count(len(profile.cold), 'cold run')}, {len(profile.warm)} warm")
    command = shown_command(profile.command)
    if len(command) > WIDTH - 2:
        command = command[: WIDTH - 5] + "..."
    return [command, ", ".join(what), ""]


def _totals(profile: Profile) -> list[str]:
    def row(name: str, cold: str, warm: str, note: str = "") -> str:
        return f"{name:<22}{cold:>12}{warm:>12}  {note}".rstrip()

    def times(runs: Sequence[Run], value: str) -> str:
        if not runs:
            return "-"
        samples = [getattr(run, value) * (1e3 if value == "wall" else 1.0) for run in runs]
        return seconds(summarise(samples).median)

    cold, warm = profile.cold, profile.warm
    lines = [row("", "cold", "warm")]
    lines.append(row("elapsed", times(cold, "wall"), times(warm, "wall")))
    spread = summarise([run.module_milliseconds for run in cold])
    note = f"+- {seconds(spread.band)}" if len(cold) > 1 else ""
    lines.append(row("Warp modules", times(cold, "module_milliseconds"), times(warm, "module_milliseconds"), note))
    for phase in PHASES:
        values = [
            [sum(load.phases.get(phase, 0.0) for load in run.loads) for run in runs] if runs else [0.0]
            for runs in (cold, warm)
        ]
        middle = [summarise(samples).median for samples in values]
        if max(middle) >= 0.5:
            lines.append(row(f"  {PHASE_WORDS[phase]}", *(seconds(value) for value in middle)))
    last = [runs[0] if runs else None for runs in (cold, warm)]
    lines.append(row("builds", *(str(len(run.builds)) if run else "-" for run in last)))
    lines.append(row("identities", *(str(len({load.identity for load in run.loads})) if run else "-" for run in last)))
    lines.append(row("generated source", *(size(_source(run)) if run else "-" for run in last)))
    lines.append(row("launches", *(str(_launches(run)) if run else "-" for run in last)))
    return lines


PHASE_WORDS = {
    "hash": "hashing",
    "codegen": "code generation",
    "pch": "precompiled header",
    "native": "native compiler",
    "link": "device-code link",
    "load": "loading",
    "files": "cache and files",
    "wait": "waiting for locks",
}
"""The phases of a load in words."""


def _source(run: Run) -> int:
    return sum(load.source_bytes for load in run.builds)


def _launches(run: Run) -> int:
    return sum(process.launches.total for process in run.processes)


def _verdict(profile: Profile, cold: Run) -> list[str]:
    if all(process.warp_version is None for process in cold.processes):
        return ["Warp was never imported: there is nothing to say about its compilation."]
    if not cold.loads:
        return wrap("Nothing was built or loaded: no kernel was launched. Compilation is not the bottleneck.", "")
    wall = cold.wall * 1e3
    elapsed = min(compile_elapsed(cold), wall)
    share = elapsed / wall if wall else 0.0
    failed = [load for load in cold.loads if load.outcome == "failed"]
    said = []
    if failed:
        said += wrap(f"{count(len(failed), 'build')} failed.", "")
    if not cold.builds:
        return said + wrap("Nothing was built: every module came from a cache that the program brought along.", "")
    if share < BOTTLENECK_SHARE:
        return said + wrap(
            f"Compilation is not the bottleneck: {seconds(elapsed)} of {seconds(wall)} "
            f"({share:.0%}) in the cold run. Look elsewhere first.",
            "",
        )
    return said + wrap(
        f"Compilation takes {seconds(elapsed)} of the cold run's {seconds(wall)} ({share:.0%}); "
        f"{count(len(cold.builds), 'build')} of {count(len({load.module for load in cold.builds}), 'module')}.",
        "",
    )


def _modules(profile: Profile, run: Run, shown: int) -> list[str]:
    groups: dict[str, list[Load]] = defaultdict(list)
    for load in run.loads:
        if load.outcome in ("compiled", "failed"):
            groups[load.module].append(load)
    if not groups:
        return []
    ranked = sorted(groups.items(), key=lambda item: -sum(load.milliseconds for load in item[1]))
    lines = ["", "Modules by cost"]
    for name, loads in ranked[:shown]:
        total = sum(load.milliseconds for load in loads)
        kernels = len({kernel.definition.key for load in loads for kernel in load.kernels})
        source = size(sum(load.source_bytes for load in loads))
        details = f"{count(len(loads), 'build')}, {count(kernels, 'kernel')}, {source}"
        lines += wrap(f"{short_name(name)}: {details}", " " * 10, f"{seconds(total):>8}  ")
        lines += _largest(loads[-1])
        lines += _causes(profile, loads)
    rest = ranked[shown:]
    if rest:
        total = sum(load.milliseconds for _, loads in rest for load in loads)
        builds = sum(len(loads) for _, loads in rest)
        lines.append(f"{seconds(total):>8}  {count(len(rest), 'more module')}, {count(builds, 'build')}")
    return lines


def _largest(load: Load) -> list[str]:
    """The kernel of a build with the most code, its two halves apart; nothing to say of a module with one kernel."""
    kernels = {kernel.definition.key: kernel for kernel in load.kernels if kernel.forward_bytes}
    if len(kernels) < 2:
        return []
    most = max(kernels.values(), key=lambda kernel: kernel.forward_bytes + kernel.backward_bytes)
    halves = [f"forward {size(most.forward_bytes)} in {count(most.forward_functions, 'function')}"]
    if most.backward_bytes:
        halves.append(f"adjoint {size(most.backward_bytes)} in {most.backward_functions}")
    return wrap(f"largest kernel {short_name(most.definition.key, 40)}: {', '.join(halves)}", " " * 12, " " * 10)


def _causes(profile: Profile, loads: Sequence[Load]) -> list[str]:
    groups: dict[tuple[str, str, str, str], list[Load]] = defaultdict(list)
    for load in loads:
        cause = load.cause
        key = (cause.kind, cause.text, place(profile, cause.line), place(profile, load.paid_by))
        groups[key].append(load)
    ranked = sorted(groups.items(), key=lambda item: -sum(load.milliseconds for load in item[1]))
    lines = []
    for (kind, text, line, paid), members in ranked[:_CAUSES_SHOWN]:
        times = f"{len(members)} x, " if len(members) > 1 else ""
        if kind == "first-load" and not any(load.outcome == "failed" for load in members):
            # The line above says which module, and what it took if nothing else did.
            took = seconds(sum(load.milliseconds for load in members)) if len(ranked) > 1 else ""
            on = f" on {members[0].target}" if len({load.target for load in loads}) > 1 else ""
            lines += wrap(f"{times}first use{on} at {line}", " " * 20, f"{'':8}{took:>10}  ")
            continue
        said = f"{times}{text}"
        if any(load.outcome == "failed" for load in members):
            said += " (the build failed)"
        took = seconds(sum(load.milliseconds for load in members))
        lines += wrap(said, " " * 20, f"{'':8}{took:>10}  ")
        where = f"{line}, paid by {paid}" if line != paid else f"at {paid}"
        lines += wrap(where, " " * 20)
    if len(ranked) > _CAUSES_SHOWN:
        total = sum(load.milliseconds for _, members in ranked[_CAUSES_SHOWN:] for load in members)
        lines.append(f"{'':8}{seconds(total):>10}  {count(len(ranked) - _CAUSES_SHOWN, 'more cause')}")
    return lines


def _warm(profile: Profile) -> list[str]:
    warm = profile.warm[0] if profile.warm else None
    if warm is None or not warm.builds:
        return []
    names = sorted({load.module for load in warm.builds})
    total = sum(load.milliseconds for load in warm.builds)
    listed = ", ".join(short_name(name) for name in names[:6]) + (" ..." if len(names) > 6 else "")
    lines = ["", f"Built again in the warm run: {count(len(warm.builds), 'build')}, {seconds(total)}"]
    lines += wrap(listed, "  ")
    cold = {load.identity for load in profile.cold[0].loads} if profile.cold else set()
    again = [load for load in warm.builds if load.identity in cold]
    if again:
        text = "with the same hash as in the cold run: the cache is thrown away, moved, bypassed or another each run"
    else:
        text = "with another hash than in the cold run: a name, constant or captured value differs from run to run"
    return lines + wrap(text, "  ")


def late_options(profile: Profile, run: Run) -> list[tuple[str, str]]:
    """Writes of options that came too late, reached nothing or are unknown: (what is to be said, ``path:line``)."""
    words = {
        "none": "reached nothing: too late for",
        "unknown-option": "is no option that Warp knows",
        "rebuilt": "made modules build again that were loaded before",
    }
    seen: dict[tuple[str, str, str], tuple[OptionWrite, int]] = {}
    for process in run.processes:
        homes = {kernel.definition.path for load in process.loads for kernel in load.kernels}
        for write in process.option_writes:
            # A library sets options of many modules that a program never uses: no news. Where kernels of that very file
            # were loaded, they are in other Warp modules.
            idle = write.effect == "none" and not write.missed and not (write.line and write.line.path in homes)
            if write.effect in words and not idle:
                key = (write.option, write.effect, place(profile, write.line))
                known = seen.get(key)
                seen[key] = (write, (known[1] if known else 0) + 1)
    found = []
    for (option, effect, where), (write, times) in seen.items():
        target = "wp.config." if write.via == "config" else ""
        text = f"{target}{option} = {write.new!r} {words[effect]}"
        if effect == "none" and write.missed:
            text += " " + ", ".join(write.missed[:4]) + (" ..." if len(write.missed) > 4 else "")
        elif effect == "none":
            text = f"{option} = {write.new!r} reached nothing: no kernel that was loaded is in module {write.module}"
        if times > 1:
            text += f" ({times} x)"
        found.append((text, where))
    return found


def _late_options(profile: Profile, run: Run) -> list[str]:
    found = late_options(profile, run)
    lines = ["", "Options"] if found else []
    for text, where in found:
        lines += wrap(text, "  ") + wrap(f"at {where}", "    ")
    return lines


def remade(profile: Profile, run: Run) -> list[tuple[int, str]]:
    """Kernels made ten times or more: (how often, ``path:line`` of the ``def`` and what it costs), the five most
    frequent."""
    counts: dict[str, int] = defaultdict(int)
    for process in run.processes:
        for site, number in process.kernel_definitions.items():
            counts[site] += number
    many = sorted(((number, site) for site, number in counts.items() if number >= 10), reverse=True)[:5]
    found = []
    for number, site in many:
        path, _, line = site.rpartition(":")
        found.append((number, f"{short_path(profile, path)}:{line}{_rehashed(profile, run, site)}"))
    return found


def _rehashed(profile: Profile, run: Run, site: str) -> str:
    """What making a kernel again costs where it is waited for, in words."""
    costs = [one for process in run.processes for one in process.rehashes if one.kernel == site and one.line]
    if not costs:
        return ""
    most = costs[0]
    times, spent = sum(one.count for one in costs), sum(one.milliseconds for one in costs)
    made = f"made at {place(profile, most.made_by)}, " if most.made_by else ""
    return f", {made}hashed again {times} x at {place(profile, most.line)} ({seconds(spent / times)} each)"


def _remade(profile: Profile, run: Run) -> list[str]:
    found = remade(profile, run)
    if not found:
        return []
    lines = ["", "Kernels made again and again (each makes Warp hash their module again)"]
    for number, where in found:
        lines += wrap(f"{number} x  {where}", "         ", "  ")
    return lines


_CUT_SHORT = {
    "timeout": "it did not end in time (--timeout)",
    "interrupt": "warpfix was interrupted",
}
"""What ends a run before its end, other than the program and a stop condition."""


def _faults(profile: Profile) -> list[str]:
    faults = sorted({error for run in profile.runs for process in run.processes for error in process.errors})
    cut = [process for run in profile.runs for process in run.processes if not process.ended and not process.stopped_by]
    stopped = sorted({run.stopped_by for run in profile.runs if run.stopped_by and run.stopped_by not in _CUT_SHORT})
    lines = []
    if stopped:
        lines += wrap(f"The program was ended by --{', --'.join(stopped)}.", "")
    for run in profile.runs:
        if run.stopped_by in _CUT_SHORT:
            lines += wrap(f"The {run.state} run was cut short: {_CUT_SHORT[run.stopped_by]}.", "")
        elif run.exit_status < 0 and run.stopped_by is None:
            lines += wrap(f"The {run.state} run was cut short by {_signal(-run.exit_status)}.", "")
    for process in (process for run in profile.runs for process in run.processes):
        for span in process.unfinished:
            lines += wrap(f"{short_name(span.name)} was still being built, since {seconds(span.start)}.", "")
    if cut:
        many = "1 process" if len(cut) == 1 else f"{len(cut)} processes"
        lines += wrap(
            f"{many} ended without an end (killed?): what was seen is kept, what came last may be missing.", ""
        )
    unknown = sorted({one for run in profile.runs for process in run.processes for one in process.unobserved})
    if unknown:
        lines += wrap(f"Warp {profile.environment.get('warp', '?')} is not as warpfix knows it:", "")
        for one in unknown:
            lines += wrap(one, "    ", "  ")
    if faults:
        lines += wrap(f"The probe could not observe everything: {'; '.join(faults[:3])}", "")
    return ["", *lines] if lines else []


def _signal(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
