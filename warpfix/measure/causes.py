"""Why each load happened: the ingredients of a module's hash, against those of its previous load in the process.

The words used here are those of docs/causes.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from warpfix.measure.profile import Cause, Load, OptionWrite, SourceLine

Event = Mapping[str, Any]

KINDS = (
    "first-load",
    "imported-twice",
    "kernel-added",
    "kernel-gone",
    "kernel-changed",
    "overload-added",
    "option-changed",
    "block-dim",
    "constant-changed",
    "function-changed",
    "cache-lost",
    "concurrent",
    "previous-failed",
    "inherited",
    "unknown",
)

CREATION_OPTIONS = frozenset(
    ("enable_backward", "max_unroll", "lineinfo", "compile_time_trace", "deterministic", "deterministic_max_records")
)
"""Copied from ``wp.config`` when a Warp module is created; ignored by that module afterwards."""

MAIN = ("__main__", "__mp_main__")
"""The names of the Warp module of a program's main file: in itself, and in children of multiprocessing."""

NOT_CODE = frozenset(
    (
        "verbose",
        "quiet",
        "log_level",
        "verbose_warnings",
        "print_launches",
        "verify_cuda",
        "kernel_cache_dir",
        "cache_kernels",
        "enable_cpu_blocks",
        "cuda_output",
        "ptx_target_arch",
        "cuda_arch_suffix",
        "legacy_cpu_linker",
        "load_module_max_workers",
        "enable_graph_capture_module_load_by_default",
        "enable_mempools_at_init",
        "track_memory",
        "launch_array_access_mode",
        "max_workers",
    )
)
"""Settings that never enter generated code, or are read at use: lateness has no meaning for them."""


def _line(value: Any) -> SourceLine | None:
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        return None
    return SourceLine(str(value[0]), int(value[1]), str(value[2]) if len(value) > 2 else "")


def _where(line: SourceLine | None) -> str:
    return f"{line.path}:{line.line}" if line else "a line that could not be found"


def _instance(kernel: Event) -> tuple[str, str]:
    return (str(kernel.get("key", "")), str(kernel.get("sig", "")))


def _definition(kernel: Event) -> tuple[str, int, str]:
    return (str(kernel["path"]), int(kernel["line"]), str(kernel["qualname"]))


def _overlap(one: Event, other: Event) -> bool:
    """Whether two loads went on at the same time, in two threads."""
    apart = float(one["start"]) >= float(other["end"]) or float(other["start"]) >= float(one["end"])
    return not apart and one.get("thread") != other.get("thread")


_SCALARS = {"b": "bool", "f": "float", "i": "int", "u": "uint"}
_TYPE = re.compile(r"(?P<array>(?:ifa|ia|fa|a)\d)?(?P<shape>v\d+|m\d\d|q|t)?(?P<kind>[bfiu])(?P<bytes>[1248])")


def type_words(signature: str) -> str:
    """Warp's signature of a generic kernel's instance in words: ``a1f8_f8`` is ``array of float64, float64``."""
    return ", ".join(_type_words(part) for part in signature.split("_"))


def _type_words(code: str) -> str:
    found = _TYPE.fullmatch(code)
    if found is None:
        return code
    kind, shape = found["kind"], found["shape"] or ""
    words = "bool" if kind == "b" else f"{_SCALARS[kind]}{8 * int(found['bytes'])}"
    if shape:
        name = {"v": "vec", "m": "mat", "q": "quat", "t": "transform"}[shape[0]]
        words = f"{name}{'x'.join(shape[1:]) if shape[0] == 'm' else shape[1:]} of {words}"
    if found["array"]:
        ndim = found["array"][-1]
        words = f"array{'' if ndim == '1' else ndim + 'd'} of {words}"
    return words


class Explainer:
    """Follows one process's events in order and explains each load from what was seen before it."""

    def __init__(self) -> None:
        self._loads: dict[str, list[Event]] = {}
        self._writes: list[Event] = []
        self._kernels: dict[tuple[str, str], Event] = {}
        self._overloads: dict[tuple[str, str, str], Event] = {}
        self._remade: dict[tuple[str, str], Event] = {}
        self._homes: dict[tuple[str, int, str], set[str]] = {}

    def see(self, event: Event) -> None:
        """Take note of an event that is not itself explained."""
        kind = event["e"]
        if kind == "option":
            self._writes.append(event)
        elif kind == "kernel":
            self._kernels[(str(event.get("module")), str(event["key"]))] = event
        elif kind == "remade":
            self._remade[(str(event.get("module")), str(event["key"]))] = event
        elif kind == "overload":
            self._overloads[(str(event["module"]), str(event["key"]), str(event["sig"]))] = event

    def explain(self, event: Event) -> Cause:
        """The cause of a load event; it becomes the predecessor of the module's next one."""
        module = str(event["module"])
        earlier = self._loads.setdefault(module, [])
        try:
            return self._explain(event, earlier)
        finally:
            earlier.append(event)
            for kernel in event["kernels"]:
                self._homes.setdefault(_definition(kernel), set()).add(module)

    def _explain(self, event: Event, earlier: Sequence[Event]) -> Cause:
        module = str(event["module"])
        paid = _line(event.get("paid"))
        if not earlier:
            return self._twice(event, paid) or Cause("first-load", f"first use of module {module}", paid)
        variant = (event["block_dim"], event["target"])
        same = [one for one in earlier if one["hash"] == event["hash"] and (one["block_dim"], one["target"]) == variant]
        if same:
            if any(_overlap(event, one) for one in same):
                text = f"several threads used {module} for the first time at once, and each loaded it"
                return Cause("concurrent", text, paid)
            # Changed, and now changed back: what is there again is no lost cache.
            back = event["outcome"] == "cached" and self._latest(earlier, variant)["hash"] != event["hash"]
            if same[-1]["outcome"] == "failed":
                return Cause("previous-failed", f"the previous build of {module} failed: {same[-1].get('error')}", paid)
            if event["outcome"] == "compiled":
                return Cause(
                    "cache-lost",
                    f"the same code of {module} was built before in this process, and the cache no longer had it",
                    paid,
                )
            if not back:
                return Cause("cache-lost", f"{module} was unloaded and loaded again unchanged", paid)
        before = [one for one in earlier if (one["block_dim"], one["target"]) == variant]
        if not before:
            changes = self._differences(module, earlier[-1], event, ignore=("block_dim",))
            dims = ", ".join(str(dim) for dim in dict.fromkeys(one["block_dim"] for one in earlier))
            text = f"launched with block_dim {event['block_dim']}; {module} was built for {dims} before"
            data = {"block_dim": event["block_dim"], "earlier": sorted({int(one["block_dim"]) for one in earlier})}
            if event["target"] != earlier[-1]["target"]:
                return Cause("first-load", f"first use of module {module} on {event['target']}", paid)
            return Cause("block-dim", text, paid, {**data, "also": [change.text for change in changes]})
        changes = self._differences(module, before[-1], event)
        if not changes:
            return Cause("unknown", f"the hash of {module} changed for a reason that was not observed", paid)
        changes.sort(key=lambda change: KINDS.index(change.kind) if change.kind in KINDS else 99)
        order = ("option-changed", "overload-added", "kernel-added", "constant-changed", "function-changed")
        first = next((change for kind in order for change in changes if change.kind == kind), changes[0])
        others = [change.text for change in changes if change is not first]
        text = first.text + (f" (and {len(others)} more)" if others else "")
        return Cause(first.kind, text, first.line or paid, {**first.data, "also": others} if others else first.data)

    def _latest(self, earlier: Sequence[Event], variant: tuple[Any, Any]) -> Event:
        return [one for one in earlier if (one["block_dim"], one["target"]) == variant][-1]

    def _twice(self, event: Event, paid: SourceLine | None) -> Cause | None:
        """``python -m pkg.app`` and ``import pkg.app``: one file runs twice and has two Warp modules."""
        module = str(event["module"])
        for kernel in event["kernels"]:
            path, line, qualname = _definition(kernel)
            if "<locals>" in qualname:
                continue
            for other in sorted(self._homes.get((path, line, qualname), ())):
                imported = other if module in MAIN else module
                stem = PurePath(path).stem
                if (module in MAIN) != (other in MAIN) and imported.rpartition(".")[2] == stem:
                    main = module if module in MAIN else other
                    text = (
                        f"{PurePath(path).name} runs twice, as {main} and as {imported}: its kernels were built for"
                        f" {other} already, and again for {module}"
                    )
                    return Cause("imported-twice", text, SourceLine(path, line, qualname), {"other": other})
        return None

    def _differences(self, module: str, old: Event, new: Event, ignore: Iterable[str] = ()) -> list[Cause]:
        changes = [
            self._option(module, name, old["options"].get(name), new["options"].get(name), new)
            for name in sorted(set(old["options"]) | set(new["options"]))
            if name not in ignore and old["options"].get(name) != new["options"].get(name)
        ]
        olds: dict[tuple[str, str], dict[str, Event]] = {}
        news: dict[tuple[str, str], dict[str, Event]] = {}
        for table, event in ((olds, old), (news, new)):
            for kernel in event["kernels"]:
                table.setdefault(_instance(kernel), {})[str(kernel["hash"])] = kernel
        for instance, kernels in news.items():
            fresh = [kernel for value, kernel in kernels.items() if value not in olds.get(instance, {})]
            stale = [kernel for value, kernel in olds.get(instance, {}).items() if value not in kernels]
            for index, kernel in enumerate(fresh):
                if index < len(stale):
                    changes.append(self._changed(module, stale[index], kernel))
                else:
                    changes.append(self._added(module, kernel, again=instance in olds))
        for instance, kernels in olds.items():
            missing = len([1 for value in kernels if value not in news.get(instance, {})])
            matched = len([1 for value in news.get(instance, {}) if value not in kernels])
            if missing > matched:
                kernel = next(iter(kernels.values()))
                line = SourceLine(str(kernel["path"]), int(kernel["line"]), str(kernel["qualname"]))
                text = f"kernel {kernel['key']} no longer exists (its last reference went away)"
                changes.append(Cause("kernel-gone", text, line))
        return changes

    def _option(self, module: str, name: str, old: Any, new: Any, event: Event) -> Cause:
        at = float(event["start"])
        writes = [
            write
            for write in self._writes
            if write["option"] == name and write["module"] in (module, None) and float(write["t"]) <= at
        ]
        line = _line(writes[-1].get("line")) if writes else None
        via = str(writes[-1]["via"]) if writes else ""
        by = {"config": f"wp.config.{name}", "set_module_options": "wp.set_module_options"}.get(via, "module.options")
        text = f"option {name} of {module} changed from {old!r} to {new!r}"
        if line:
            text += f" by {by}"
        return Cause("option-changed", text, line, {"option": name, "old": old, "new": new, "via": via})

    def _added(self, module: str, kernel: Event, again: bool) -> Cause:
        key, sig = _instance(kernel)
        line = SourceLine(str(kernel["path"]), int(kernel["line"]), str(kernel["qualname"]))
        overload = self._overloads.get((module, key, sig))
        if sig and overload is not None:
            used = _line(overload.get("used"))
            text = f"generic kernel {key} got a new instance for {type_words(sig)}"
            defined = f"{line.path}:{line.line}"
            return Cause("overload-added", text, used, {"kernel": key, "overload": sig, "defined": defined})
        made = self._kernels.get((module, key))
        registered = _line(made.get("registered")) if made else None
        what = f"kernel {key} was defined after {module} had been loaded"
        if again:
            what = f"another kernel named {key}, with other content, was made after {module} had been loaded"
        data = {"kernel": key}
        if registered:
            data["registered"] = f"{registered.path}:{registered.line}"
        return Cause("kernel-added", what, line, data)

    def _changed(self, module: str, old: Event, new: Event) -> Cause:
        cause = self._difference(old, new)
        remade = self._remade.get((module, str(new["key"])))
        again = _line(remade.get("by")) if remade else None
        if remade is None or again is None:
            return cause
        text = f"{cause.text} ({PurePath(str(new['path'])).name} ran again at {PurePath(again.path).name}:{again.line})"
        return Cause(cause.kind, text, cause.line, {**cause.data, "registered": _where(again)})

    def _difference(self, old: Event, new: Event) -> Cause:
        key = str(new["key"])
        line = SourceLine(str(new["path"]), int(new["line"]), str(new["qualname"]))
        if old.get("source") != new.get("source"):
            return Cause("kernel-changed", f"kernel {key} was defined again with another text", line, {"kernel": key})
        before, after = old.get("constants", {}), new.get("constants", {})
        constants = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        if constants:
            text = f"what kernel {key} captures changed: {', '.join(constants)}"
            return Cause("constant-changed", text, line, {"kernel": key, "constants": constants})
        before, after = old.get("functions", {}), new.get("functions", {})
        functions = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        if functions:
            text = f"a function that kernel {key} calls changed: {', '.join(functions)}"
            return Cause("function-changed", text, line, {"kernel": key, "functions": functions})
        before, after = old.get("options", {}), new.get("options", {})
        options = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        if options:
            text = f"options of kernel {key} changed: {', '.join(options)}"
            return Cause("option-changed", text, line, {"kernel": key, "options": options})
        return Cause("kernel-changed", f"kernel {key} changed in its argument types", line, {"kernel": key})


def option_writes(events: Iterable[Event], loads: Sequence[Load]) -> list[OptionWrite]:
    """Every write of an option with the effect that it had, from the loads before and after it."""
    events = list(events)
    created = {str(event["name"]): float(event["t"]) for event in events if event["e"] == "module"}
    writes = []
    for event in events:
        if event["e"] != "option":
            continue
        effect, missed = _effect(event, loads, created)
        writes.append(
            OptionWrite(
                via=str(event["via"]),
                module=event.get("module"),
                option=str(event["option"]),
                old=event.get("old"),
                new=event.get("new"),
                line=_line(event.get("line")),
                at=float(event["t"]),
                effect=effect,
                missed=tuple(missed),
            )
        )
    return writes


def _effect(event: Event, loads: Sequence[Load], created: Mapping[str, float]) -> tuple[str, list[str]]:
    name, at = str(event["option"]), float(event["t"])
    if not event.get("known", True):
        return "unknown-option", []
    if event.get("old") == event.get("new"):
        return "same-value", []
    if event["via"] == "config" and (name in NOT_CODE or name.startswith("_")):
        return "not-code", []
    module = event.get("module")
    reachable = [load for load in loads if module is None or load.module == module]
    if module is not None and not reachable:
        return "none", []
    before = {load.module: load for load in reachable if load.start < at}
    reached, rebuilt, missed = set(), set(), set()
    for name_of in {load.module for load in reachable}:
        after = [load for load in reachable if load.module == name_of and load.start >= at]
        took = [load for load in after if load.options.get(name) == event.get("new")]
        if name not in ({*after[0].options} if after else {*before[name_of].options}):
            continue
        if took and name_of in before and before[name_of].options.get(name) != event.get("new"):
            rebuilt.add(name_of)
        elif took or (name_of in before and before[name_of].options.get(name) == event.get("new")):
            reached.add(name_of)
        else:
            missed.add(name_of)
    if rebuilt:
        return "rebuilt", sorted(missed)
    if reached or not missed:
        return "before-load", sorted(missed)
    return "none", sorted(missed)
