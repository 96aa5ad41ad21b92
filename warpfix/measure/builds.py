"""All builds of one Warp module in order, and what each has in its hash that the one before had not. Pure.

The ingredients are what Warp hashes: the module's options, block_dim, and for each kernel its text, argument types,
own options, captured constants, ``wp.static`` values and the functions that it reaches, with theirs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from warpfix.measure import privacy
from warpfix.measure.profile import BuiltKernel, Load, ProcessRun, Profile, SourceLine

SCHEMA_VERSION = 1
FORMAT = "warpfix-builds"
ABSENT = "-"


@dataclass(frozen=True)
class Ingredient:
    """One thing that went into a hash."""

    kind: str
    """``block_dim``, ``target``, ``option``, ``kernel``, ``argument``, ``kernel option``, ``constant``, ``static``,
    ``function``, ``call`` (a function that only one of the two calls)."""
    owner: str
    """The kernel or function that it belongs to; empty for what belongs to the module."""
    name: str
    before: str
    """Its value in the earlier hash; ``-`` where it was not there. Texts are told by a digest."""
    after: str
    line: SourceLine | None = None
    """Where the kernel is defined."""

    @property
    def changed(self) -> bool:
        """Whether it tells the two hashes apart."""
        return self.before != self.after

    @property
    def label(self) -> str:
        """The ingredient in words."""
        if self.kind in ("block_dim", "target"):
            return self.kind
        words = f"{self.kind} {self.name}" if self.name else self.kind
        return f"{words} of {self.owner}" if self.owner else words


@dataclass(frozen=True)
class Step:
    """One load of the module, against the load that it is compared with."""

    number: int
    """Counts the module's loads in its process, from 1."""
    load: Load
    against: Load | None
    """The module's previous load for the same target and block_dim, else the previous one; None for the first."""
    ingredients: tuple[Ingredient, ...]
    """Of both, side by side; for the first load, its own alone."""

    @property
    def changed(self) -> tuple[Ingredient, ...]:
        """Those that tell the two hashes apart; empty for a first load."""
        return tuple(one for one in self.ingredients if one.changed) if self.against else ()


@dataclass(frozen=True)
class History:
    """The loads of one module in one process."""

    state: str
    """``cold`` or ``warm``: the run that the process belongs to."""
    process: ProcessRun
    steps: tuple[Step, ...]

    @property
    def builds(self) -> int:
        """How many of the loads were builds."""
        return sum(step.load.compiled for step in self.steps)


def histories(profile: Profile, module: str) -> list[History]:
    """The module's loads, process by process, of the first cold run and the first warm run.

    In a warm run only processes that built the module are told; what they built is compared with the cold run's build
    of the same target and block_dim: that tells why the cache could not serve it.
    """
    found = []
    last: dict[tuple[str, int], Load] = {}
    for run in [*profile.cold[:1], *profile.warm[:1]]:
        for process in run.processes:
            loads = [load for load in process.loads if load.module == module and load.outcome != "inherited"]
            if not loads or (run.state == "warm" and not any(load.compiled for load in loads)):
                continue
            steps = _steps(loads, last if run.state == "warm" else {})
            found.append(History(run.state, process, tuple(steps)))
            if run.state == "cold":
                for load in loads:
                    last.setdefault((load.target, load.block_dim), load)
    return found


def _steps(loads: Sequence[Load], cold: Mapping[tuple[str, int], Load]) -> list[Step]:
    steps = []
    for number, load in enumerate(loads, 1):
        earlier = loads[: number - 1]
        same = [one for one in earlier if (one.target, one.block_dim) == (load.target, load.block_dim)]
        against = same[-1] if same else earlier[-1] if earlier else cold.get((load.target, load.block_dim))
        steps.append(Step(number, load, against, tuple(side_by_side(against, load))))
    return steps


def side_by_side(old: Load | None, new: Load) -> list[Ingredient]:
    """The ingredients of two hashes, matched by what they are. ``old`` None: those of the one alone, as unchanged."""
    before = old if old is not None else new
    found = [
        Ingredient("target", "", "", before.target, new.target),
        Ingredient("block_dim", "", "", str(before.block_dim), str(new.block_dim)),
    ]
    found += _table("option", "", before.options, new.options, None)
    namesakes = {_instance(kernel): kernel for kernel in before.kernels}
    for one, other in _pairs(before.kernels, new.kernels):
        found += _kernel(one, other)
        twin = namesakes.get(_instance(other)) if one is None and other is not None else None
        if twin is not None and other is not None:
            # Another kernel of that name was there already, and still is: what tells the new one from it?
            found += [part for part in _kernel(twin, other)[1:] if part.changed]
    for key in sorted({*before.functions, *new.functions}):
        found += _function(key, before.functions.get(key), new.functions.get(key))
    return found


def _table(
    kind: str, owner: str, old: Mapping[str, Any], new: Mapping[str, Any], line: SourceLine | None
) -> list[Ingredient]:
    missing = object()

    def text(table: Mapping[str, Any], name: str) -> str:
        value = table.get(name, missing)
        return ABSENT if value is missing else str(value)

    names = sorted({*old, *new})
    return [Ingredient(kind, owner, name, text(old, name), text(new, name), line) for name in names]


def _constants(
    owner: str, old: Mapping[str, Any], new: Mapping[str, Any], line: SourceLine | None = None
) -> list[Ingredient]:
    found = []
    for one in _table("constant", owner, old.get("constants") or {}, new.get("constants") or {}, line):
        static = one.name.startswith("wp.static(")
        found.append(Ingredient("static", owner, one.name, one.before, one.after, line) if static else one)
    return found


def _instance(kernel: BuiltKernel) -> tuple[str, str]:
    return (kernel.definition.key, kernel.overload)


def _pairs(
    olds: Iterable[BuiltKernel], news: Iterable[BuiltKernel]
) -> list[tuple[BuiltKernel | None, BuiltKernel | None]]:
    """Kernels of two builds, matched by key and overload; equal ones first, where several share a key."""
    groups: dict[tuple[str, str], tuple[list[BuiltKernel], list[BuiltKernel]]] = {}
    for side, kernels in ((0, olds), (1, news)):
        for kernel in kernels:
            groups.setdefault(_instance(kernel), ([], []))[side].append(kernel)
    pairs: list[tuple[BuiltKernel | None, BuiltKernel | None]] = []
    for _, (old, new) in sorted(groups.items()):
        for kernel in list(old):
            twin = next((one for one in new if _content(one) == _content(kernel)), None)
            if twin is not None:
                pairs.append((kernel, twin))
                old.remove(kernel)
                new.remove(twin)
        for index in range(max(len(old), len(new))):
            pairs.append((old[index] if index < len(old) else None, new[index] if index < len(new) else None))
    return pairs


def _content(kernel: BuiltKernel) -> Any:
    return (kernel.ingredients, kernel.options)


def _kernel(old: BuiltKernel | None, new: BuiltKernel | None) -> list[Ingredient]:
    kernel = new or old
    assert kernel is not None
    definition = kernel.definition
    line = SourceLine(definition.path, definition.line, definition.qualname)
    owner = definition.key + (f" [{kernel.overload}]" if kernel.overload else "")

    def text(one: BuiltKernel | None) -> str:
        return ABSENT if one is None else "text " + str(one.ingredients.get("source", ""))[:8]

    found = [Ingredient("kernel", "", owner, text(old), text(new), line)]
    if old is None or new is None:
        # A kernel that is only in one of them: its parts would each be told as a change.
        return found
    one, other = old.ingredients, new.ingredients
    found += _table("argument", owner, one.get("arguments") or {}, other.get("arguments") or {}, line)
    found += _table("kernel option", owner, old.options, new.options, line)
    found += _constants(owner, one, other, line)
    found += _uses(owner, one, other, line)
    return found


def _uses(owner: str, old: Mapping[str, Any], new: Mapping[str, Any], line: SourceLine | None) -> list[Ingredient]:
    """Functions that only one of the two calls; what is in a function is told of the function itself."""
    olds, news = old.get("functions") or {}, new.get("functions") or {}
    return [
        Ingredient(
            "call", owner, name, ABSENT if name not in olds else "yes", ABSENT if name not in news else "yes", line
        )
        for name in sorted({*olds, *news})
        if (name in olds) != (name in news)
    ]


def _function(key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> list[Ingredient]:
    def text(one: Mapping[str, Any] | None) -> str:
        return ABSENT if one is None else "text " + str(one.get("source", ""))[:8]

    found = [Ingredient("function", "", key, text(old), text(new))]
    if old is not None and new is not None:
        found += [*_constants(key, old, new), *_uses(key, old, new, None)]
    return found


def modules(profile: Profile) -> list[str]:
    """The names of all Warp modules that any run loaded, in order of first load."""
    return list(dict.fromkeys(load.module for run in profile.runs for load in run.loads))


def find_module(profile: Profile, name: str) -> tuple[str | None, list[str]]:
    """The loaded module that a person means by ``name``: exactly it, else the only one that ends in ``.name``, is a
    unique module of that kernel (``name_1a2b3c4d``), or holds the kernels of a file of that name (``__main__``); None
    with the nearest names, where there is no such one."""
    names = modules(profile)
    if name in names:
        return name, []
    ends = [one for one in names if one.endswith("." + name)]
    unique = [one for one in names if _unique_stem(one) == name or _unique_stem(one).endswith("__" + name)]
    stem = name.rpartition(".")[2]
    loads = [load for run in profile.runs for load in run.loads]
    homes = {load.module for load in loads for one in load.kernels if PurePath(one.definition.path).stem == stem}
    for found in (ends, unique, sorted(homes)):
        if len(found) == 1:
            return found[0], []
    close = [*ends, *unique, *sorted(homes), *difflib.get_close_matches(name, names, 5, 0.4)]
    return None, list(dict.fromkeys(close))[:8]


def _unique_stem(name: str) -> str:
    stem, _, tail = name.rpartition("_")
    return stem if len(tail) == 8 and all(letter in "0123456789abcdef" for letter in tail) else name


def to_dict(profile: Profile, module: str, found: Sequence[History]) -> dict[str, Any]:
    """The histories as JSON-able data, masked as reports are."""

    def line(value: SourceLine | None) -> Any:
        return {"path": value.path, "line": value.line, "function": value.function} if value else None

    data = {
        "schema_version": SCHEMA_VERSION,
        "format": FORMAT,
        "command": privacy.mask_arguments(profile.command),
        "cwd": profile.cwd,
        "module": module,
        "processes": [
            {
                "run": history.state,
                "pid": history.process.pid,
                "argv": privacy.mask_arguments(history.process.argv),
                "loads": [
                    {
                        "number": step.number,
                        "outcome": step.load.outcome,
                        "hash": step.load.hash,
                        "target": step.load.target,
                        "block_dim": step.load.block_dim,
                        "milliseconds": round(step.load.milliseconds, 3),
                        "cause": {
                            "kind": step.load.cause.kind,
                            "text": step.load.cause.text,
                            "line": line(step.load.cause.line),
                        },
                        "paid_by": line(step.load.paid_by),
                        "against": step.against.hash if step.against else None,
                        "ingredients": [
                            {
                                "kind": one.kind,
                                "owner": one.owner,
                                "name": one.name,
                                "before": one.before if step.against else None,
                                "after": one.after,
                                "changed": step.against is not None and one.changed,
                                "line": line(one.line),
                            }
                            for one in step.ingredients
                        ],
                    }
                    for step in history.steps
                ],
            }
            for history in found
        ],
    }
    masked: dict[str, Any] = privacy.Mask().paths(data)
    return masked
