"""What isolating kernels would do to the builds of a measured command. Counts over a profile; no I/O."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from warpfix.measure.profile import BuiltKernel, Load, Profile, Run

Definition = tuple[str, str]
"""(path, qualname) of a kernel's definition; see :func:`definition`."""


def definition(path: str, qualname: str) -> Definition:
    """A kernel's definition by which two spellings of one path are equal."""
    return os.path.normcase(os.path.realpath(path)), qualname


@dataclass(frozen=True)
class Outcome:
    """Builds and kernel entries (forward and backward count apart) of the modules that the kernels are in."""

    builds_before: int
    builds_after: int
    entries_before: int
    entries_after: int

    @property
    def pays(self) -> bool:
        """Fewer builds, or as many that are smaller."""
        return (self.builds_after, self.entries_after) < (self.builds_before, self.entries_before)


def isolate(profile: Profile, kernels: Collection[Definition], settled: Collection[Definition] = ()) -> Outcome | None:
    """What the cold run would build if each variant of these kernels had a Warp module of its own.

    Args:
        profile: The measured command.
        kernels: Definitions that would be isolated.
        settled: Definitions that another fix moves to module scope: they are in their module from the start, and
            cause none of its builds any more.

    Returns:
        None if the command builds none of the kernels.
    """
    total = [0, 0, 0, 0]
    found = False
    for run in profile.cold[:1]:
        launched = _launched(run)
        for builds in _modules_of(run, kernels).values():
            found = True
            for number, count in enumerate(_count(builds, set(kernels), set(settled), launched)):
                total[number] += count
    return Outcome(*total) if found else None


def choose(
    profile: Profile, candidates: Collection[Definition], settled: Collection[Definition] = ()
) -> frozenset[Definition]:
    """The kernels of one Warp module that are worth isolating together: those that make it build again."""
    chosen = {one for one in candidates if _changes(profile, one)}
    while chosen:
        outcome = isolate(profile, chosen, settled)
        if outcome is None:
            return frozenset()
        best = outcome
        leave: Definition | None = None
        for one in sorted(chosen):
            without = isolate(profile, chosen - {one}, settled)
            if without is None:
                continue
            # Both count the same builds, as long as the modules are the same ones.
            if (without.builds_after, without.entries_after) < (best.builds_after, best.entries_after):
                best, leave = without, one
        if leave is None:
            return frozenset(chosen) if outcome.pays else frozenset()
        chosen.discard(leave)
    return frozenset()


def _changes(profile: Profile, one: Definition) -> bool:
    """Whether builds of one module hold other variants of the kernel, or some hold none."""
    for run in profile.cold[:1]:
        for builds in _modules_of(run, {one}).values():
            if len({frozenset(_tokens(load, {one})) for load in builds}) > 1:
                return True
    return False


def _modules_of(run: Run, kernels: Collection[Definition]) -> dict[tuple[str, str, int], list[Load]]:
    """(module, target, block_dim) to all builds of each Warp module that holds one of the kernels."""
    names = {load.module for load in run.builds if any(_defined(kernel) in kernels for kernel in load.kernels)}
    found: dict[tuple[str, str, int], list[Load]] = {}
    for load in run.builds:
        if load.module in names:
            found.setdefault((load.module, load.target, load.block_dim), []).append(load)
    return found


def _count(
    builds: Sequence[Load], mine: set[Definition], settled: set[Definition], launched: Mapping[str, set[Definition]]
) -> tuple[int, int, int, int]:
    """Builds before and after, entries before and after, of one module for one target and block size."""
    here = launched.get(builds[0].module, set())
    fixed = {token: size for load in builds for token, size in _tokens(load, settled - mine).items()}
    states: dict[tuple[frozenset[str], frozenset[str]], tuple[int, int]] = {}
    variants: dict[str, tuple[Definition, int]] = {}
    overloads: dict[Definition, set[str]] = {}
    for load in builds:
        own, all_ = _tokens(load, mine), _tokens(load, None)
        rest = {token: size for token, size in all_.items() if token not in own and token not in fixed}
        states[frozenset(own), frozenset(rest)] = (sum(own.values()), sum(rest.values()))
        for kernel in load.kernels:
            if (where := _defined(kernel)) in mine and where in here:
                token, size = _token(kernel)
                variants[token] = where, size
                overloads.setdefault(where, set()).add(kernel.overload)
    constant = sum(fixed.values())
    others = {rest: size for (_, rest), (_, size) in states.items()}
    stays = bool(here - mine)
    return (
        len(states),
        len(variants) + (len(others) if stays else 0),
        sum(own + rest + constant for own, rest in states.values()),
        # That of a generic kernel is built for each type in turn, with those before it: with all of them at most.
        sum(size * len(overloads[where]) for where, size in variants.values())
        + (sum(size + constant for size in others.values()) if stays else 0),
    )


def _launched(run: Run) -> dict[str, set[Definition]]:
    """Warp module to the kernels that are launched out of it."""
    found: dict[str, set[Definition]] = {}
    for process in run.processes:
        for signature in process.launches.signatures:
            where = definition(signature.kernel.path, signature.kernel.qualname)
            found.setdefault(signature.module, set()).add(where)
    return found


def _defined(kernel: BuiltKernel) -> Definition:
    return definition(kernel.definition.path, kernel.definition.qualname)


def _tokens(load: Load, wanted: Iterable[Definition] | None) -> dict[str, int]:
    """What tells each kernel of a build from its other variants, with the number of its entries."""
    chosen = None if wanted is None else set(wanted)
    return dict(_token(kernel) for kernel in load.kernels if chosen is None or _defined(kernel) in chosen)


def _token(kernel: BuiltKernel) -> tuple[str, int]:
    content = [
        *_defined(kernel),
        kernel.overload,
        kernel.forward_code,
        kernel.backward_code,
        sorted(kernel.options.items()),
        kernel.ingredients,
    ]
    return json.dumps(content, sort_keys=True, default=str), 1 + bool(kernel.backward_code)
