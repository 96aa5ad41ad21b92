"""The builds of one Warp module in words: each hash beside the one before it. At most 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from warpfix.measure.builds import History, Ingredient, Step
from warpfix.measure.privacy import shown_command
from warpfix.measure.profile import Load, Profile, SourceLine
from warpfix.measure.words import count, place, seconds, short_name, wrap

_LABEL = 38
_VALUE = 18


def render(profile: Profile, module: str, found: Sequence[History], *, everything: bool = False) -> str:
    """All builds of a module in order, what differs between two hashes, and how much is the same.

    Args:
        profile: What was measured.
        module: The module's name.
        found: Its loads (``histories``).
        everything: List what is the same too.
    """
    lines: list[str] = []
    for history in found:
        builds, loads = history.builds, len(history.steps)
        text = f"{short_name(module)}: {count(builds, 'build')}"
        text += f", {count(loads - builds, 'load')} without one" if loads > builds else ""
        lines += wrap(f"{text}, in a {history.state} run of {_argv(history)}", "  ", "")
        for step in history.steps:
            lines += ["", *_step(profile, history, step, everything)]
        lines.append("")
    return "\n".join(line.rstrip() for line in lines)


def _argv(history: History) -> str:
    argv = shown_command(history.process.argv)
    return argv if len(argv) <= 60 else argv[:57] + "..."


def _step(profile: Profile, history: History, step: Step, everything: bool) -> list[str]:
    load = step.load
    head = f"{step.number}  {_hash(load)}  {load.target}, block_dim {load.block_dim}: {load.outcome}"
    lines = [f"{head}, {seconds(load.milliseconds)}"]
    if history.state == "cold" or step.number > 1:
        lines += wrap(load.cause.text, "   ")
        lines += wrap(_where(profile, load), "   ")
    if step.against is None:
        return [*lines, *wrap(f"in its hash: {_sums(step.ingredients)}", "   "), *_all(profile, step, everything)]
    if step.against.hash == load.hash:
        return [*lines, f"   the same hash as {_which(history, step)}: nothing in it changed"]
    if not step.changed:
        text = f"another hash than {_which(history, step)}, {_hash(step.against)}, by something that was not observed"
        return [*lines, *wrap(text, "   ")]
    lines += ["", f"   {'in the hash':{_LABEL}}{_hash(step.against):{_VALUE}}{_hash(load)}"]
    told: SourceLine | None = None
    for one in step.changed:
        lines += _row(profile, one, told)
        told = one.line
    same = [one for one in step.ingredients if not one.changed]
    return [*lines, *wrap(f"the same in both: {_sums(same)}", "   "), *_all(profile, step, everything)]


def _row(profile: Profile, one: Ingredient, told: SourceLine | None) -> list[str]:
    label = one.label
    if len(label) < _LABEL and len(one.before) < _VALUE and len(one.after) < _VALUE:
        lines = [f"   {label:{_LABEL}}{one.before:{_VALUE}}{one.after}"]
    else:
        lines = [*wrap(label, "     ", "   ")]
        lines += wrap(f"was {one.before}", " " * 11, "       ") + wrap(f"is {one.after}", " " * 11, "       ")
    if one.line is not None and one.line != told:
        lines += wrap(f"at {place(profile, one.line)}", "       ")
    return lines


def _all(profile: Profile, step: Step, everything: bool) -> list[str]:
    if not everything:
        return []
    lines = []
    for one in step.ingredients:
        if step.against is None or not one.changed:
            lines += wrap(f"= {one.label}: {one.after}", "       ", "     ")
    return lines


def _which(history: History, step: Step) -> str:
    earlier = [one for one in history.steps[: step.number - 1] if one.load is step.against]
    return f"load {earlier[-1].number}" if earlier else "the cold run's build"


def _hash(load: Load) -> str:
    return load.hash[:7] or "unknown"


def _where(profile: Profile, load: Load) -> str:
    line: SourceLine | None = load.cause.line
    if line is None or line == load.paid_by:
        return f"at {place(profile, load.paid_by)}"
    return f"{place(profile, line)}, paid by {place(profile, load.paid_by)}"


_KINDS = ("kernel", "function", "option", "kernel option", "argument", "constant", "static")
_WORDS = {"static": "static value", "option": "module option"}


def _sums(ingredients: Sequence[Ingredient]) -> str:
    counts = Counter(one.kind for one in ingredients)
    parts = [count(counts[kind], _WORDS.get(kind, kind)) for kind in _KINDS if counts[kind]]
    return ", ".join(parts) or "nothing"
