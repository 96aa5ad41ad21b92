"""Compares runs of one command before and after a change: what was launched, with which options, from which code.

The baseline is compared with itself first (A/A). What differs between two of its own runs is no evidence, so each
comparison is weakened to the strongest form that the baseline passes, and the report names that form.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from warpfix.findings import KernelRename
from warpfix.measure.profile import BuiltKernel, KernelDef, LaunchSignature, Load, ProcessRun, Profile, Run
from warpfix.probe.data import EVERY
from warpfix.verify.data import Difference, Process, compare_data, has_data, left_out
from warpfix.verify.verdict import INVARIANTS, Check, Outcome, Totals, Verdict, judge, totals

Token = Hashable

PLAIN = "in order"
FORMS = (PLAIN, "in order in each thread", "by count", "by count over all processes", "as a set")
"""The forms of a comparison of launches, strongest first."""
PREFIX = "in order, up to where the shortest run was stopped"

ORIGINAL = "original"
"""What the overlay reports of a file whose original ran although it was served edited."""

_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")


@dataclass(frozen=True)
class Expected:
    """What the change is meant to do, and how strictly it is judged."""

    renames: Sequence[KernelRename] = ()
    """Kernel definitions that moved: launches before are matched with launches after through them."""
    options: frozenset[str] = frozenset()
    """The options that the change is about: the only ones that may differ."""
    overlaid: Mapping[str, str] | None = None
    """Absolute path to SHA-256 of the text that the runs after were to execute; None where nothing was overlaid."""
    baseline_overlaid: Mapping[str, str] | None = None
    """The same of the runs before."""
    accept_stdout: bool = False
    folders: tuple[str, str] | None = None
    """Working directories before and after, where they are not the same: paths count relative to them."""


@cache
def real(path: str) -> str:
    """A path by which two spellings of one file are equal."""
    return os.path.normcase(os.path.realpath(path))


_FAILS = ("exit status was", "the Warp module")


_SAME_CODE = frozenset(
    ("use_precompiled_headers", "lineinfo", "line_directives", "compile_time_trace", "cuda_output", "cache_kernels")
)
"""Options that decide how code is made, or what is noted beside it, and not what it is."""
_LAUNCH, _OPTIONS, _CODE, _TEXT = range(4)
_OTHERWISE = frozenset(("not-executed", "no-blocks", "device-code", "mathdx", "fast-math", "deterministic"))
"""Deviations of the emulated device under which a launch's numbers are not the device's."""
_HASHED = re.compile(r"_[0-9a-f]{8}\Z")


# What a launch is, without the code behind it; what is behind it: options, and digests of its code. ``code`` is what
# the verdict rests on (machine code for CUDA, where it is known), ``text`` the generated code.
@dataclass(frozen=True)
class _Facets:
    launch: Token
    options: Token
    code: Token
    text: Token


def compare(
    before: Sequence[Run] | Profile,
    after: Sequence[Run] | Profile,
    expected: Expected = Expected(),
    *,
    checks: Iterable[Check] = (),
) -> Verdict:
    """Judge ``after`` against ``before``.

    Args:
        before: Runs of the baseline; two or more cold ones make the A/A comparison.
        after: Runs of the candidate.
        expected: Renamed kernels, options that may differ, texts that had to run.
        checks: Checks made elsewhere (``interface``), which count like those made here.
    """
    old = list(before.runs if isinstance(before, Profile) else before)
    new = list(after.runs if isinstance(after, Profile) else after)
    comparison = _Comparison(old, new, expected)
    order = {name: number for number, name in enumerate(INVARIANTS)}
    made = sorted([*comparison.checks(), *checks], key=lambda check: order[check.invariant])
    # A program that fails launches less, too: the failure is what there is to say.
    made.sort(key=lambda check: not (check.outcome is Outcome.BROKEN and check.message.startswith(_FAILS)))
    return judge(made, totals(old), totals(new), comparison.notes(), renamed=bool(expected.renames))


class _Comparison:
    def __init__(self, before: list[Run], after: list[Run], expected: Expected) -> None:
        self.before = before
        self.after = after
        self.expected = expected
        self.renamed = {(real(r.path), r.old_qualname): r.new_qualname for r in expected.renames}
        self.interned: dict[Token, int] = {}
        self.words: list[Token] = []
        self.by_kernel = False
        self.difference_in_data: Difference | None = None
        self.known_code: dict[Token, BuiltKernel] = {}
        self.remember_code(before, True)
        self.remember_code(after, False)
        self.by_machine = self.every_binary_read()
        self.traces_before = [self.trace(run, rename=True) for run in before]
        self.traces_after = [self.trace(run, rename=False) for run in after]

    # Reading runs.

    def remember_code(self, runs: Iterable[Run], rename: bool) -> None:
        """A load from the cache generates nothing: its code is that of the build with the same hash on its side."""
        for load in (load for run in runs for load in run.loads):
            for kernel in load.kernels:
                key = (rename, _code_key(load, kernel))
                known = self.known_code.get(key)
                if kernel.forward_code and (known is None or not known.machine_code):
                    self.known_code[key] = kernel

    def trace(self, run: Run, rename: bool) -> list[_Trace]:
        traces = []
        for process in run.processes:
            if process.launches.total == 0 and not process.loads:
                continue
            loads = {load.id: load for load in process.loads}
            facets: dict[int, tuple[int, ...]] = {}
            for signature in process.launches.signatures:
                made = self.facets(signature, loads.get(signature.load), rename)
                tokens = (made.launch, made.options, made.code, made.text)
                facets[signature.id] = tuple(map(self.intern, tokens))
            traces.append(_Trace(_command_key(process), process, facets))
        return traces

    def intern(self, token: Token) -> int:
        number = self.interned.get(token)
        if number is None:
            number = self.interned[token] = len(self.words)
            self.words.append(token)
        return number

    def facets(self, signature: LaunchSignature, load: Load | None, rename: bool) -> _Facets:
        kernel = self.definition(signature.kernel, rename)
        instance = (*kernel, signature.overload)
        launch = _Launch(
            instance,
            signature.dim,
            signature.dtypes,
            signature.device,
            signature.block_dim,
            signature.max_blocks,
            signature.adjoint,
            signature.kind,
        )
        built = self.built(signature, load, rename)
        if load is None or built is None:
            return _Facets(launch, (instance, None), (instance, None), (instance, None))
        options = {**load.options, **built.options}
        kept = tuple(sorted((k, _plain(v)) for k, v in options.items() if k not in self.expected.options))
        only_forward = "enable_backward" in self.expected.options and not signature.adjoint
        text = _parts(built.forward_code, built.backward_code, only_forward)
        code = text
        if load.target != "cpu" and self.by_machine:
            machine = built.machine_code
            code = _parts(machine.get("forward", ""), machine.get("backward", ""), only_forward)
        return _Facets(launch, (instance, kept), (instance, code), (instance, text))

    def built(self, signature: LaunchSignature, load: Load | None, rename: bool) -> BuiltKernel | None:
        """The kernel of this launch inside the load that it ran from."""
        if load is None:
            return None
        wanted = (signature.kernel.path, signature.kernel.qualname, signature.kernel.key)
        same = [
            kernel
            for kernel in load.kernels
            if (kernel.definition.path, kernel.definition.qualname, kernel.definition.key) == wanted
        ]
        found = [kernel for kernel in same if kernel.overload == signature.overload] or same
        # Kept variants of one definition are all in the build; the hash says which one was launched.
        found = [kernel for kernel in found if kernel.variant == signature.variant] or found
        if not found:
            return None
        one = found[-1]
        if one.forward_code and (load.target == "cpu" or one.machine_code):
            return one
        return self.known_code.get((rename, _code_key(load, one)), one)

    def every_binary_read(self) -> bool:
        """Whether the machine code of every launched CUDA kernel is known on both sides."""
        for rename, run in [*((True, run) for run in self.before), *((False, run) for run in self.after)]:
            for process in run.processes:
                loads = {load.id: load for load in process.loads}
                for signature in process.launches.signatures:
                    load = loads.get(signature.load)
                    built = self.built(signature, load, rename)
                    if load and built and load.target != "cpu" and not built.machine_code.get("forward"):
                        return False
        return True

    def definition(self, kernel: KernelDef, rename: bool) -> tuple[str, str]:
        path = real(kernel.path)
        qualname = kernel.qualname or kernel.key
        if rename:
            qualname = self.renamed.get((path, qualname), qualname)
        if self.expected.folders:
            path = path.removeprefix(real(self.expected.folders[0 if rename else 1]))
        return path, qualname

    # The checks.

    def checks(self) -> list[Check]:
        if not self.before or not self.after:
            return [Check("launches", Outcome.MISSING, "one side has no run")]
        launches = self.launches()
        # Where the launches are others, options and code are still told, kernel by kernel.
        self.by_kernel = launches.outcome is not Outcome.HELD
        return [launches, self.options(), self.code(), *self.data(), self.program(), *self.text(), *self.probe()]

    def launches(self) -> Check:
        count = sum(trace.process.launches.total for trace in self.traces_before[0])
        return self.facet("launches", _LAUNCH, f"{count:,} launches equal")

    def options(self) -> Check:
        but = f" but for {', '.join(sorted(self.expected.options))}" if self.expected.options else ""
        return self.facet("options", _OPTIONS, f"resolved options equal behind each launch{but}")

    def code(self) -> Check:
        missing = self.missing_code()
        if missing:
            return Check("code", Outcome.UNVERIFIED, missing)
        check = self.facet("code", _CODE, self.code_words())
        free = self.expected.options - {"enable_backward"} - _SAME_CODE
        if check.outcome is Outcome.BROKEN and free:
            names = ", ".join(sorted(free))
            kernels = ", ".join(_kernel_words(instance) for instance in self.differing(_CODE)) or check.message
            message = f"the change is about {names}, and how that changes code can't be checked; it is another in"
            return Check("code", Outcome.UNVERIFIED, f"{message} {kernels}", check.form)
        if check.outcome is Outcome.HELD and "enable_backward" in self.expected.options:
            extra = self.backward_kept()
            if extra:
                return Check("code", Outcome.BROKEN, extra, check.form)
        return check

    def code_words(self) -> str:
        traces = [trace for run in self.traces_before for trace in run]
        kernels = {self.pair(trace.facets[number][_CODE])[0] for trace in traces for number in trace.used()}
        parts = "forward code" if "enable_backward" in self.expected.options else "forward and backward code"
        count = "1 launched kernel" if len(kernels) == 1 else f"{len(kernels)} launched kernels"
        words = f"{parts} of {count} equal"
        targets = self.launched_targets()
        if targets <= {"cpu"}:
            return f"{words} (generated code, normalised)"
        if not self.by_machine:
            return f"{words} (generated code, normalised; machine code could not be read on both sides)"
        words += " (machine code, bit for bit)" if "cpu" not in targets else ""
        words += " (machine code, bit for bit, for CUDA; generated code for the CPU)" if "cpu" in targets else ""
        others = self.differing(_TEXT)
        if others:
            names = ", ".join(_kernel_words(instance) for instance in others)
            words += f"; the generated code of {names} is another, and compiles to the same: machine code decides"
        return words

    def launched_targets(self) -> set[str]:
        """The targets of the loads that the baseline's launches ran from."""
        found = set()
        for process in (process for run in self.before for process in run.processes):
            targets = {load.id: load.target for load in process.loads}
            launches = process.launches
            found |= {targets[s.load] for s in launches.signatures if s.load in targets and launches.counts.get(s.id)}
        return found

    def differing(self, facet: int) -> list[tuple[str, ...]]:
        """The kernels launched on both sides that differ, without order and count."""
        old = [self.by_instance(facet, traces) for traces in self.traces_before]
        new = [self.by_instance(facet, traces) for traces in self.traces_after]
        stable = [kernel for kernel in old[0] if all(some.get(kernel) == old[0][kernel] for some in old)]
        return sorted(
            kernel for kernel in stable if any(some.get(kernel, old[0][kernel]) != old[0][kernel] for some in new)
        )

    def missing_code(self) -> str:
        for arm, traces in (("before", self.traces_before), ("after", self.traces_after)):
            for trace_list in traces:
                for trace in trace_list:
                    for number in trace.used():
                        instance, code = self.pair(trace.facets[number][_CODE])
                        if code is None and trace.kind(number) != "capture_launch":
                            return f"the generated code of {_kernel_words(instance)} could not be read {arm}"
        return ""

    def backward_kept(self) -> str:
        """Where backward code is left, it must be what it was: turning it off or on is all that may happen."""
        old, new = self.backward(self.traces_before, True), self.backward(self.traces_after, False)
        for instance in sorted(old.keys() & new.keys()):
            if old[instance] and new[instance] - old[instance]:
                return f"backward code of {_kernel_words(instance)} is another, not merely left out"
        return ""

    def backward(self, traces: Iterable[Iterable[_Trace]], rename: bool) -> dict[tuple[str, ...], set[str]]:
        result: dict[tuple[str, ...], set[str]] = {}
        for trace in (trace for run in traces for trace in run):
            loads = {load.id: load for load in trace.process.loads}
            for signature in trace.process.launches.signatures:
                load = loads.get(signature.load)
                built = self.built(signature, load, rename)
                if load is not None and built is not None:
                    instance = (*self.definition(signature.kernel, rename), signature.overload)
                    codes = result.setdefault(instance, set())
                    machine = load.target != "cpu" and self.by_machine
                    code = built.machine_code.get("backward", "") if machine else built.backward_code
                    if code:
                        codes.add(code)
        return result

    def facet(self, invariant: str, facet: int, held: str) -> Check:
        """One comparison in the strongest form that the baseline passes."""
        if self.by_kernel:
            return self.kernels(invariant, facet, held)
        stopped = any(run.stopped_by not in (None, "stop-after-launches") for run in [*self.before, *self.after])
        reducers: list[tuple[str, Callable[[list[_Trace]], Any]]] = [
            (PLAIN, partial(_in_order, facet)),
            (FORMS[1], partial(_by_thread, facet)),
            (FORMS[2], partial(_by_count, facet)),
            (FORMS[3], partial(_over_all, facet)),
            (FORMS[4], partial(_as_set, facet)),
        ]
        if stopped:
            shortest = min(
                (_shortest(traces) for traces in [*self.traces_before, *self.traces_after]),
                default=0,
            )
            reducers.insert(1, (PREFIX, partial(_prefix, facet, shortest)))
        for form, reduce in reducers:
            first = reduce(self.traces_before[0])
            if any(reduce(traces) != first for traces in self.traces_before[1:]):
                continue
            # Where the runs were stopped by the clock, they end at different launches: only the common part counts.
            if form == PLAIN and stopped and any(reduce(traces) != first for traces in self.traces_after):
                continue
            shown = "" if form == PLAIN else form
            for traces in self.traces_after:
                if reduce(traces) != first:
                    return Check(invariant, Outcome.BROKEN, self.difference(invariant, facet, traces, form), shown)
            return Check(invariant, Outcome.HELD, held, shown)
        return Check(invariant, Outcome.UNVERIFIED, "two runs of the baseline differ even as a set: nothing to compare")

    def kernels(self, invariant: str, facet: int, held: str) -> Check:
        """One comparison per kernel that both sides launch, without order and count."""
        form = "per kernel that both sides launch"
        old = [self.by_instance(facet, traces) for traces in self.traces_before]
        stable = {kernel for kernel in old[0] if all(some.get(kernel) == old[0][kernel] for some in old)}
        for traces in self.traces_after:
            new = self.by_instance(facet, traces)
            for kernel in sorted(stable & new.keys()):
                if new[kernel] != old[0][kernel]:
                    gone, come = sorted(old[0][kernel] - new[kernel]), sorted(new[kernel] - old[0][kernel])
                    one, two = (gone or come)[0], (come or gone)[0]
                    return Check(invariant, Outcome.BROKEN, self.pair_words(invariant, None, one, two), form)
        return Check(invariant, Outcome.HELD, held, form)

    def by_instance(self, facet: int, traces: list[_Trace]) -> dict[tuple[str, ...], set[int]]:
        result: dict[tuple[str, ...], set[int]] = {}
        for token in (token for trace in traces for token in trace.counter(facet)):
            result.setdefault(self.pair(token)[0], set()).add(token)
        return result

    # Words for the first difference.

    def difference(self, invariant: str, facet: int, after: list[_Trace], form: str) -> str:
        before = self.traces_before[0]
        old_keys, new_keys = Counter(trace.key for trace in before), Counter(trace.key for trace in after)
        if old_keys != new_keys and form in FORMS[:3]:
            gone, come = old_keys - new_keys, new_keys - old_keys
            which = next(iter(gone or come))
            verb = "ran Warp before and does not after" if gone else "runs Warp after and did not before"
            return f"the process `{' '.join(which)}` {verb}"
        if form in (PLAIN, PREFIX):
            for old_trace, new_trace in _paired(before, after):
                old, new = old_trace.order(facet), new_trace.order(facet)
                for number, (one, two) in enumerate(zip(old, new, strict=False)):
                    if one != two:
                        return self.pair_words(invariant, number + 1, one, two)
                if len(old) != len(new):
                    more, word = (old, "missing after") if len(old) > len(new) else (new, "new after")
                    number = min(len(old), len(new))
                    return f"launch {number + 1} is {word}: {self.token_words(invariant, more[number])}"
        old_counts = sum((trace.counter(facet) for trace in before), Counter())
        new_counts = sum((trace.counter(facet) for trace in after), Counter())
        changed = [token for token in {**old_counts, **new_counts} if old_counts[token] != new_counts[token]]
        gone_tokens = [token for token in changed if old_counts[token] > new_counts[token]]
        come_tokens = [token for token in changed if old_counts[token] < new_counts[token]]
        for one in gone_tokens:
            for two in come_tokens:
                if self.same_kernel(one, two):
                    return self.pair_words(invariant, None, one, two)
        if gone_tokens and come_tokens:
            return self.pair_words(invariant, None, gone_tokens[0], come_tokens[0])
        if changed:
            token = changed[0]
            words = self.token_words(invariant, token)
            return f"{words}: {old_counts[token]:,} times before, {new_counts[token]:,} after"
        return "the launches are the same, their order within threads or processes is another"

    def pair(self, token: int) -> tuple[tuple[str, ...], Any]:
        word: Any = self.words[token]
        return word[0], word[1]

    def same_kernel(self, one: int, two: int) -> bool:
        return bool(_instance_of(self.words[one]) == _instance_of(self.words[two]))

    def token_words(self, invariant: str, token: int) -> str:
        word = self.words[token]
        if isinstance(word, _Launch):
            return str(word)
        return f"{invariant} of {_kernel_words(_instance_of(word))}"

    def pair_words(self, invariant: str, number: int | None, one: int, two: int) -> str:
        where = f"launch {number:,}" if number else "a launch"
        if invariant == "launches":
            return f"{where} was {self.token_words(invariant, one)}, and is {self.token_words(invariant, two)}"
        (old_instance, old), (new_instance, new) = self.pair(one), self.pair(two)
        if old_instance != new_instance:
            return f"{where} was of {_kernel_words(old_instance)}, and is of {_kernel_words(new_instance)}"
        kernel = _kernel_words(new_instance)
        if old is None or new is None:
            return f"{invariant} of {kernel} could not be read {'before' if old is None else 'after'}"
        if invariant == "options":
            olds, news = dict(old), dict(new)
            for name in sorted({**olds, **news}):
                if olds.get(name, _ABSENT) != news.get(name, _ABSENT):
                    was, now = olds.get(name, _ABSENT), news.get(name, _ABSENT)
                    at = f" at {where}" if number else ""
                    return f"{name} of {kernel}{at} was {was}, and is {now}"
        parts = ("forward", "backward")
        for part, was, now in zip(parts, old, new, strict=False):
            if was != now:
                if not now or not was:
                    return f"{kernel} has {'lost' if not now else 'got'} its {part} code"
                return f"{part} code of {kernel} is another ({self.why(new_instance)})"
        return f"code of {kernel} is another"

    def why(self, instance: tuple[str, ...]) -> str:
        """What changed, as far as the generated code tells."""
        if self.by_machine and self.launched_targets() - {"cpu"} and instance not in self.differing(_TEXT):
            return "its machine code, although the generated code is equal: what compiles or links it changed"
        return "a constant, a statement or a called function changed"

    # Data.

    def data(self) -> list[Check]:
        """Did each launch leave the same in its arrays? Nothing is said where nobody asked."""
        before = [self.digested(traces) for traces in self.traces_before]
        after = [self.digested(traces) for traces in self.traces_after]
        sides = [all(map(has_data, before)), all(map(has_data, after))]
        if not any(map(has_data, [*before, *after])):
            return []
        if not all(sides):
            return [Check("data", Outcome.MISSING, "the arrays of launches were digested on one side only")]
        stopped = any(run.stopped_by is not None for run in [*self.before, *self.after])
        unstable: set[tuple[tuple[str, ...], str]] = set()
        for other in before[1:]:
            made = compare_data(before[0], other, self.old_name, self.old_name, all_of_them=True, stopped=stopped)
            if made.unlike:
                message = f"two runs of the baseline can't be compared launch by launch: {made.unlike}"
                return [Check("data", Outcome.UNVERIFIED, message)]
            if made.difference is not None:
                message = "two runs of the baseline differ beyond the launches of which each array is recorded"
                return [Check("data", Outcome.UNVERIFIED, message)]
            unstable |= made.unstable
        forms = []
        if unstable:
            names = ", ".join(f"`{name}` of {_kernel_words(kernel)}" for kernel, name in sorted(unstable))
            forms.append(f"without {names}, which differ{'s' * (len(unstable) == 1)} between two runs of the baseline")
        otherwise = self.executed_otherwise()
        if otherwise:
            kernels = ", ".join(sorted({_kernel_words(kernel) for kernel, _ in otherwise}))
            forms.append(f"without what {kernels} wrote, which the emulated device runs otherwise")
        if len(before) < 2:
            forms.append("with one run of the baseline, which could not be compared with itself")
        form = "; ".join(forms)
        ignore = frozenset(unstable | otherwise)
        if ignore and self.nothing_left(ignore):
            message = "no array is the same in two runs of the baseline: nothing to compare"
            return [Check("data", Outcome.UNVERIFIED, "no array is left to compare" if otherwise else message, form)]
        for new in after:
            made = compare_data(before[0], new, self.old_name, self.new_name, ignore=ignore, stopped=stopped)
            if made.unlike:
                return [Check("data", Outcome.UNVERIFIED, f"arrays can't be compared: {made.unlike}", form)]
            if made.difference is not None:
                self.difference_in_data = made.difference
                return [Check("data", Outcome.UNVERIFIED, _difference_words(made.difference), form)]
        message = f"the arrays of {made.launches:,} launches equal bit for bit, each time after the launch"
        if any(process.twins for trace_list in self.traces_before for process in (t.process for t in trace_list)):
            message += " (as the CPU computes them for the emulated device)"
        if made.unchecked:
            message = f"{message}; {made.unchecked:,} launches beyond were not compared"
        missing = [f"{count:,} {why}" for why, count in sorted(left_out(before[0]).items())]
        if not made.launches and missing:
            message = f"no launch's arrays were looked at: {', '.join(missing)}"
            return [Check("data", Outcome.UNVERIFIED, message, form)]
        if missing:
            message = f"{message}; not looked at: {', '.join(missing)}"
        return [Check("data", Outcome.HELD, message, form)]

    def digested(self, traces: Iterable[_Trace]) -> list[Process]:
        return [(trace.key, trace.process) for trace in traces if trace.process.launches.total]

    def old_name(self, signature: LaunchSignature) -> tuple[str, ...]:
        return (*self.definition(signature.kernel, True), signature.overload)

    def new_name(self, signature: LaunchSignature) -> tuple[str, ...]:
        return (*self.definition(signature.kernel, False), signature.overload)

    def executed_otherwise(self) -> set[tuple[tuple[str, ...], str]]:
        """The arrays of kernels that the emulated device of a ``--target`` does not run as the real one would."""
        found = set()
        for process in (trace.process for traces in self.traces_before for trace in traces):
            keys = {_HASHED.sub("", one.what) for one in process.deviations if one.kind in _OTHERWISE}
            names = process.data.names if process.data else {}
            for signature in process.launches.signatures:
                if signature.kernel.key in keys:
                    found |= {(self.old_name(signature), name) for name in names.get(signature.id, ())}
        return found

    def nothing_left(self, unstable: frozenset[tuple[tuple[str, ...], str]]) -> bool:
        """Whether no array of any launched kernel is evidence."""
        for process in (trace.process for trace in self.traces_before[0]):
            names = process.data.names if process.data else {}
            for signature in process.launches.signatures:
                if any((self.old_name(signature), name) not in unstable for name in names.get(signature.id, ())):
                    return False
        return True

    # Program, text, probe.

    def program(self) -> Check:
        for run in self.after:
            if run.exit_status != self.before[0].exit_status:
                was = self.before[0].exit_status
                return Check("program", Outcome.BROKEN, f"exit status was {was}, and is {run.exit_status}")
        failed = {load.module for run in self.before for load in run.loads if load.outcome == "failed"}
        for load in (load for run in self.after for load in run.loads):
            if load.outcome == "failed" and load.module not in failed:
                return Check("program", Outcome.BROKEN, f"the Warp module {load.module} does not build any more")
        old = [program_output(run) for run in self.before]
        new = [program_output(run) for run in self.after]
        if any(text is None for text in [*old, *new]):
            message = "exit status equal; what the program printed is not in saved reports"
            return Check("program", Outcome.MISSING, message)
        if any(run.stopped_by for run in [*self.before, *self.after]):
            return Check(
                "program", Outcome.MISSING, "the program was stopped on both sides: its stdout is not compared"
            )
        check = compare_stdout([text for text in old if text is not None], [text for text in new if text is not None])
        if check.outcome is not Outcome.HELD and self.expected.accept_stdout:
            return Check("program", Outcome.HELD, f"exit status equal; accepted by --accept-stdout: {check.message}")
        return check

    def text(self) -> list[Check]:
        """Did each process run the text that it was given?"""
        for arm, runs, texts in (
            ("before", self.before, self.expected.baseline_overlaid),
            ("after", self.after, self.expected.overlaid),
        ):
            for run in runs if texts else ():
                executed = {path: sha for process in run.processes for path, sha in process.overlaid.items()}
                by_halves = [
                    path
                    for process in run.processes
                    for path, sha in process.overlaid.items()
                    if sha != (texts or {}).get(path, sha)
                ]
                if by_halves:
                    message = f"{by_halves[0]} was served by halves {arm}: a process executed another text of it"
                    return [Check("text", Outcome.BROKEN, message)]
                missing = sorted((texts or {}).keys() - executed.keys())
                if missing:
                    message = f"no process executed {', '.join(missing)} {arm}: what it does is not shown by this run"
                    return [Check("text", Outcome.UNVERIFIED, message)]
        count = len(self.expected.overlaid or ())
        if not count:
            return []
        words = f"{count} edited file{'s' if count > 1 else ''} executed as edited, by digest"
        return [Check("text", Outcome.HELD, words)]

    def probe(self) -> list[Check]:
        for run in [*self.before, *self.after]:
            for process in run.processes:
                if process.errors:
                    return [Check("probe", Outcome.UNVERIFIED, f"the probe had a fault: {process.errors[0]}")]
        return []

    def notes(self) -> list[str]:
        notes = []
        if len(self.before) == 1:
            notes.append("one run of the baseline: it could not be compared with itself")
        if any(process.data is not None for run in [*self.before, *self.after] for process in run.processes):
            notes.append("times are left out: with --check-data they are those of reading every array")
        old, new = totals(self.before), totals(self.after)
        first = self.before[0].processes if self.before else ()
        deviated = sum(process.deviated_launches for process in first)
        if deviated:
            total = sum(process.launches.total for process in first)
            said = f"{deviated} of {total} launches ran under a deviation of the emulated device"
            notes.append(f"{said} (docs/target.md)")
        notes += [f"builds differ between cold runs of {a}" for a, t in _arms(old, new) if len(set(t.builds)) > 1]
        return notes


_ABSENT = "absent"


def _arms(before: Totals, after: Totals) -> list[tuple[str, Totals]]:
    return [("the baseline", before), ("the candidate", after)]


@dataclass(frozen=True)
class _Launch:
    instance: tuple[str, str, str]
    dim: tuple[int, ...]
    dtypes: tuple[str, ...]
    device: str
    block_dim: int
    max_blocks: int
    adjoint: bool
    kind: str

    def __str__(self) -> str:
        words = f"{_kernel_words(self.instance)} over {self.dim} on {self.device}, block_dim {self.block_dim}"
        words += f", ({', '.join(self.dtypes)})" if self.dtypes else ""
        words += f", max_blocks {self.max_blocks}" if self.max_blocks else ""
        words += ", adjoint" if self.adjoint else ""
        return words + ("" if self.kind == "launch" else f", {self.kind.replace('_', ' ')}")


@dataclass(frozen=True)
class _Trace:
    """The launches of one process, by the three facets of each signature."""

    key: tuple[str, ...]
    process: ProcessRun
    facets: Mapping[int, tuple[int, ...]]

    def order(self, facet: int) -> list[int]:
        return [self.facets[number][facet] for number in self.process.launches.sequence]

    def threads(self, facet: int) -> list[tuple[int, ...]]:
        log = self.process.launches
        lists = log.threads.values() if log.threads else [log.sequence]
        return sorted(tuple(self.facets[number][facet] for number in numbers) for numbers in lists)

    def counter(self, facet: int) -> Counter[int]:
        counts: Counter[int] = Counter()
        for number, count in self.process.launches.counts.items():
            if number in self.facets:
                counts[self.facets[number][facet]] += count
        return counts

    def used(self) -> list[int]:
        return [number for number in self.facets if self.process.launches.counts.get(number)]

    def kind(self, number: int) -> str:
        return next(s.kind for s in self.process.launches.signatures if s.id == number)


def _grouped(traces: Iterable[_Trace]) -> dict[tuple[str, ...], list[_Trace]]:
    groups: dict[tuple[str, ...], list[_Trace]] = {}
    for trace in traces:
        groups.setdefault(trace.key, []).append(trace)
    return groups


def _paired(before: list[_Trace], after: list[_Trace]) -> list[tuple[_Trace, _Trace]]:
    old, new = _grouped(before), _grouped(after)
    return [pair for key in old for pair in zip(old[key], new.get(key, ()), strict=False)]


def _in_order(facet: int, traces: list[_Trace]) -> Any:
    # Beyond the recorded prefix only the counts are known.
    return {key: [(t.order(facet), t.counter(facet)) for t in group] for key, group in _grouped(traces).items()}


def _prefix(facet: int, length: int, traces: list[_Trace]) -> Any:
    return {key: [t.order(facet)[:length] for t in group] for key, group in _grouped(traces).items()}


def _by_thread(facet: int, traces: list[_Trace]) -> Any:
    return {key: [(t.threads(facet), t.counter(facet)) for t in group] for key, group in _grouped(traces).items()}


def _by_count(facet: int, traces: list[_Trace]) -> Any:
    return {key: [t.counter(facet) for t in group] for key, group in _grouped(traces).items()}


def _over_all(facet: int, traces: list[_Trace]) -> Any:
    return sum((trace.counter(facet) for trace in traces), Counter())


def _as_set(facet: int, traces: list[_Trace]) -> Any:
    return {token for trace in traces for token in trace.counter(facet)}


def _shortest(traces: list[_Trace]) -> int:
    return min((len(trace.process.launches.sequence) for trace in traces), default=0)


def _command_key(process: ProcessRun) -> tuple[str, ...]:
    """The arguments without what differs from run to run: descriptors and process ids of spawned workers."""
    return tuple(re.sub(r"\d+", "N", arg) for arg in process.argv)


def _code_key(load: Load, kernel: BuiltKernel) -> Token:
    return (load.hash, load.target, load.block_dim, kernel.definition, kernel.overload, kernel.variant)


def _parts(forward: str, backward: str, only_forward: bool) -> tuple[str, ...] | None:
    """The digests that a launch rests on; None where the code is not known."""
    if not forward:
        return None
    return (forward,) if only_forward else (forward, backward)


def _plain(value: Any) -> str:
    return repr(value)


def _difference_words(found: Difference) -> str:
    if not found.exact:
        return f"arrays differ, first in one of the {EVERY:,} launches up to launch {found.launch + 1:,}"
    line = f", launched at {Path(found.line.path).name}:{found.line.line}" if found.line else ""
    return f"launch {found.launch + 1:,} leaves other bits in `{found.array}` of {_kernel_words(found.kernel)}{line}"


def first_difference(before: Sequence[Run], after: Sequence[Run], expected: Expected) -> Difference | None:
    """The first launch that left other data in its arrays; None where none did, or none could be told."""
    comparison = _Comparison(list(before), list(after), expected)
    comparison.data()
    return comparison.difference_in_data


def _instance_of(word: Token) -> Any:
    return word.instance if isinstance(word, _Launch) else word[0]  # type: ignore[index]


def _kernel_words(instance: Sequence[str]) -> str:
    path, qualname, overload = instance
    words = f"`{qualname}`" + (f" [{overload}]" if overload else "")
    return f"{words} ({Path(path).name})" if path else words


# The program's own output.


# What Warp's compiler library prints from C++ in verbose runs (warp/native/clang/clang.cpp): no hook sees it.
_NATIVE_LINES = re.compile(
    r"^Warp: (?:Generating precompiled header: |Using existing precompiled header: |"
    r"Precompiled header generated successfully)[^\n]*\n",
    re.M,
)


def program_output(run: Run) -> str | None:
    """What the program itself wrote to stdout, without Warp's own lines; None where it was not kept."""
    try:
        text = Path(run.stdout_path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    for process in run.processes:
        position = 0
        for line in process.warp_output_lines:
            # Warp's lines come whole, and in order, but may follow what the program wrote without a newline.
            found = text.find(line + "\n", position)
            if found < 0:
                found = text.find(line + "\n")
            if found >= 0:
                text = text[:found] + text[found + len(line) + 1 :]
                position = found
    return _NATIVE_LINES.sub("", text)


def compare_stdout(before: Sequence[str], after: Sequence[str]) -> Check:
    """Compare the outputs of the program, as strictly as the baseline's own runs allow."""
    if len(set(before)) == 1:
        for text in after:
            if text != before[0]:
                return Check("program", Outcome.BROKEN, "stdout: " + _line_difference(before[0], text))
        count = len(before[0].splitlines())
        counted = "1 line" if count == 1 else f"{count} lines"
        return Check("program", Outcome.HELD, f"exit status and stdout equal ({counted})")
    lines = [text.splitlines() for text in before]
    if len({len(some) for some in lines}) == 1:
        patterns = [_pattern(column) for column in zip(*lines, strict=True)]
        free = sum(pattern is None for pattern in patterns)
        for text in after:
            new = text.splitlines()
            if len(new) != len(patterns):
                return Check("program", Outcome.BROKEN, f"stdout had {len(patterns)} lines, and has {len(new)}")
            for number, (pattern, line) in enumerate(zip(patterns, new, strict=True), 1):
                if pattern is not None and not pattern(line):
                    message = f"stdout line {number} was {lines[0][number - 1]!r}, and is {line!r}"
                    return Check("program", Outcome.BROKEN, message)
        if free == len(patterns):
            return Check("program", Outcome.UNVERIFIED, "no line of stdout is the same in two runs of the baseline")
        masked = sum(len(set(column)) > 1 for column in zip(*lines, strict=True))
        form = f"without what differs between runs of the baseline in {masked} of {len(patterns)} lines of stdout"
        return Check("program", Outcome.HELD, "exit status and stdout equal", form)
    bags = [Counter(_NUMBER.sub("#", line) for line in some) for some in lines]
    common = {line: count for line, count in bags[0].items() if all(bag[line] == count for bag in bags)}
    if not common:
        return Check("program", Outcome.UNVERIFIED, "no line of stdout is the same in two runs of the baseline")
    for text in after:
        bag = Counter(_NUMBER.sub("#", line) for line in text.splitlines())
        for line, count in common.items():
            if bag[line] != count:
                message = f"stdout had {line!r} {count} times in each run of the baseline, and has it {bag[line]} times"
                return Check("program", Outcome.BROKEN, message)
    form = "only the lines of stdout that all runs of the baseline print, numbers left out"
    return Check("program", Outcome.HELD, "exit status and stdout equal", form)


def _pattern(column: Sequence[str]) -> Callable[[str], bool] | None:
    """What a line must fulfil, given the same line of several baseline runs; None: anything."""
    if len(set(column)) == 1:
        return lambda line: line == column[0]
    masked = {_NUMBER.sub("#", line) for line in column}
    if len(masked) == 1:
        only = next(iter(masked))
        return lambda line: _NUMBER.sub("#", line) == only
    return None


def _line_difference(old: str, new: str) -> str:
    olds, news = old.splitlines(), new.splitlines()
    for number, (one, two) in enumerate(zip(olds, news, strict=False), 1):
        if one != two:
            return f"line {number} was {one[:160]!r}, and is {two[:160]!r}"
    if len(olds) != len(news):
        return f"{len(olds)} lines before, {len(news)} after"
    return "it differs in line endings"
