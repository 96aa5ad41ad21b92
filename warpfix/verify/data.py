"""Compares what the launches of two runs left in their arrays, and finds the first launch that left something else.

The baseline is compared with itself first: an array that differs between two of its own runs (sums by atomics, say) is
no evidence, and is left out by name. Equal code that leaves other bits is never called wrong here, and never proved: it
is told with the launch, the array and the distance, and the verdict is UNVERIFIED.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from warpfix.measure.profile import DataLog, LaunchSignature, ProcessRun, Sample, SourceLine
from warpfix.probe.data import CHECKPOINT, EVERY

Process = tuple[tuple[str, ...], ProcessRun]
"""The arguments by which processes of two runs are paired, and the process."""
Kernel = tuple[str, ...]
Name = Callable[[LaunchSignature], Kernel]
"""How a launch's kernel is called, so that it is the same before and after."""


@dataclass(frozen=True)
class Difference:
    """The first launch that left something else."""

    launch: int
    """Its number among the digested launches of its process, from 0."""
    kernel: Kernel
    array: str
    line: SourceLine | None
    exact: bool = True
    """False: it is one of the ``EVERY`` launches up to this one."""


@dataclass(frozen=True)
class Compared:
    """What a comparison of one run with another says."""

    launches: int = 0
    difference: Difference | None = None
    unlike: str = ""
    """Why the two could not be compared launch by launch."""
    unstable: frozenset[tuple[Kernel, str]] = frozenset()
    """Arrays that differ, all of them; only where all were asked for."""
    unchecked: int = 0
    """Launches beyond the recorded ones, which could not be compared because arrays are left out."""


@dataclass(frozen=True)
class _Stream:
    launches: Sequence[tuple[int, tuple[int, ...]]]
    checkpoints: Sequence[int]


def has_data(processes: Iterable[Process]) -> bool:
    """Whether arrays were digested in any of them."""
    return any(process.data is not None for _, process in processes)


def compare_data(
    before: Sequence[Process],
    after: Sequence[Process],
    name_before: Name,
    name_after: Name,
    *,
    ignore: frozenset[tuple[Kernel, str]] = frozenset(),
    all_of_them: bool = False,
    stopped: bool = False,
) -> Compared:
    """Compare the digests of two runs.

    Args:
        before: Processes of the one run.
        after: Those of the other.
        name_before: Names the kernels of the one.
        name_after: Names the kernels of the other.
        ignore: (kernel, array) that are no evidence.
        all_of_them: Collect every (kernel, array) that differs, instead of ending at the first.
        stopped: The runs were stopped from outside: only what both have counts.
    """
    total = unchecked = 0
    unstable: set[tuple[Kernel, str]] = set()
    old, new = _grouped(before), _grouped(after)
    if {key: len(group) for key, group in old.items()} != {key: len(group) for key, group in new.items()}:
        return Compared(unlike="other processes launch kernels")
    for key, group in old.items():
        for one, two in zip(group, new[key], strict=True):
            assert one.data is not None and two.data is not None
            first, second = _stream(one.data), _stream(two.data)
            names = _names(one, name_before), _names(two, name_after)
            for number, (left, right) in enumerate(zip(first.launches, second.launches, strict=False)):
                kernel, arrays, line = names[0][left[0]]
                if kernel != names[1][right[0]][0] or len(left[1]) != len(right[1]):
                    return Compared(number, unlike=f"launch {number + 1:,} is of another kernel")
                if left[1] == right[1]:
                    continue
                for name, was, now in zip(arrays, left[1], right[1], strict=False):
                    if was == now or (kernel, name) in ignore:
                        continue
                    unstable.add((kernel, name))
                    if not all_of_them:
                        return Compared(number, Difference(number, kernel, name, line))
            total += min(len(first.launches), len(second.launches))
            if stopped:
                continue
            if one.data.launches != two.data.launches:
                return Compared(total, unlike=f"{one.data.launches:,} launches before, {two.data.launches:,} after")
            if unstable or ignore:
                unchecked += max(0, one.data.launches - len(first.launches))
                continue
            found = _beyond(one.data, first, second)
            if found is None and one.data.digest != two.data.digest:
                found = one.data.launches
            if found is not None:
                return Compared(total, Difference(found - 1, (), "", None, exact=False))
            total += max(0, one.data.launches - len(first.launches))
    return Compared(total, unstable=frozenset(unstable), unchecked=unchecked)


def _grouped(processes: Iterable[Process]) -> dict[tuple[str, ...], list[ProcessRun]]:
    groups: dict[tuple[str, ...], list[ProcessRun]] = {}
    for key, process in processes:
        if process.data is not None and process.launches.total:
            groups.setdefault(key, []).append(process)
    return groups


def _names(process: ProcessRun, name: Name) -> Mapping[int, tuple[Kernel, tuple[str, ...], SourceLine | None]]:
    assert process.data is not None
    named = process.data.names
    return {one.id: (name(one), named.get(one.id, ()), one.line) for one in process.launches.signatures}


def _stream(log: DataLog) -> _Stream:
    words = array("I")
    words.frombytes(log.words[: len(log.words) // 4 * 4])
    launches: list[tuple[int, tuple[int, ...]]] = []
    checkpoints: list[int] = []
    place = 0
    while place < len(words):
        signature = words[place]
        count = 1 if signature == CHECKPOINT else len(log.names.get(signature, ()))
        if place + 1 + count > len(words):
            break  # cut where the process was killed
        values = tuple(words[place + 1 : place + 1 + count])
        if signature == CHECKPOINT:
            checkpoints.append(values[0])
        else:
            launches.append((signature, values))
        place += 1 + count
    return _Stream(launches, checkpoints)


def _beyond(log: DataLog, one: _Stream, two: _Stream) -> int | None:
    """The number of launches at the first checkpoint that differs."""
    for number, (left, right) in enumerate(zip(one.checkpoints, two.checkpoints, strict=False), 1):
        if left != right:
            return (len(one.launches) // EVERY + number) * EVERY
    return None


def left_out(processes: Iterable[Process]) -> Mapping[str, int]:
    """What was not digested, in words, and how often."""
    found: dict[str, int] = {}
    for _, process in processes:
        for why, count in (process.data.left_out if process.data else {}).items():
            found[why] = found.get(why, 0) + count
    return found


# How far apart.


def distance(before: Sequence[Sample], after: Sequence[Sample]) -> str:
    """In words, how far apart the arrays of one launch are; empty where they are equal."""
    others = {sample.name: sample for sample in after}
    found = []
    for sample in before:
        other = others.get(sample.name)
        if other is None or (sample.data == other.data and sample.whole):
            continue
        if sample.data == other.data:
            found.append(f"`{sample.name}` is equal in its first {len(sample.data):,} bytes")
            continue
        found.append(f"`{sample.name}`: {_apart(sample, other)}")
    return "; ".join(found)


_FORMATS = {"float16": "H", "bfloat16": "H", "float32": "I", "float64": "Q"}
_INTEGERS = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}
_MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def _apart(one: Sample, two: Sample) -> str:
    if len(one.data) != len(two.data):
        return f"{len(one.data):,} bytes before, {len(two.data):,} after"
    kind = _FORMATS.get(one.scalar) or _INTEGERS.get(one.scalar)
    if kind is None:
        count = sum(a != b for a, b in zip(one.data, two.data, strict=True))
        return f"{count:,} of {len(one.data):,} bytes differ"
    some = "" if one.whole else "first "
    size = struct.calcsize(kind)
    old = [value for (value,) in struct.iter_unpack("<" + kind, one.data[: len(one.data) // size * size])]
    new = [value for (value,) in struct.iter_unpack("<" + kind, two.data[: len(two.data) // size * size])]
    pairs = [(number, a, b) for number, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    where = f"{len(pairs):,} of the {some}{len(old):,} values differ, the first at {pairs[0][0]:,}"
    if one.scalar not in _MANTISSA:
        return f"{where}, by up to {max(abs(a - b) for _, a, b in pairs):,}"
    bits, mantissa = 8 * size, _MANTISSA[one.scalar]
    numbers = [(a, b) for _, a, b in pairs if not _is_nan(a, bits, mantissa) and not _is_nan(b, bits, mantissa)]
    if not numbers:
        return f"{where}; they are no numbers on one side"
    most = max(abs(_ordered(a, bits) - _ordered(b, bits)) for a, b in numbers)
    nans = f", {len(pairs) - len(numbers):,} are no number on one side" if len(numbers) < len(pairs) else ""
    return f"{where}, by up to {most:,} ulp{nans}"


def _ordered(value: int, bits: int) -> int:
    """A float's bits as an integer that counts representable numbers from zero."""
    sign = 1 << (bits - 1)
    return -(value & (sign - 1)) if value & sign else value


def _is_nan(value: int, bits: int, mantissa: int) -> bool:
    exponent = (1 << (bits - 1 - mantissa)) - 1
    return (value >> mantissa) & exponent == exponent and bool(value & ((1 << mantissa) - 1))
