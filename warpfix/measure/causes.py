"""Why each load happened: the ingredients of a module's hash, against those of its previous load in the process.

The words used here are those of docs/causes.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from warpfix.measure.profile import CacheEvent, Cause, Load, OptionWrite, Run, SourceLine

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
    "struct-changed",
    "cache-cleared",
    "cache-disabled",
    "cache-moved",
    "cache-lost",
    "concurrent",
    "previous-failed",
    "inherited",
    "unknown",
)

ORDER = (
    "option-changed",
    "overload-added",
    "kernel-added",
    "constant-changed",
    "struct-changed",
    "function-changed",
)
"""Of several changes the first of these is named; the others follow."""

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
        self._caches: list[CacheEvent] = []

    def see(self, event: Event) -> None:
        """Take note of an event that is not itself explained."""
        kind = event["e"]
        self._caches += cache_events([event])
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
                text = f"the same code of {module} was built before in this process, and "
                since = [one for one in self._caches if one.at >= float(same[-1]["end"])]
                moved = str(event.get("cache", "")) != str(same[-1].get("cache", ""))
                return lost_cache(text, since, self._caches, event["options"], paid, moved)
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
        if before[-1]["outcome"] == "failed" and not event["kernels"]:
            # Warp forgot what it had hashed when that build failed.
            text = f"the previous build of {module} failed: {before[-1].get('error')}"
            return Cause("previous-failed", text, paid)
        changes = self._differences(module, before[-1], event)
        if not changes:
            return Cause("unknown", f"the hash of {module} changed for a reason that was not observed", paid)
        changes.sort(key=lambda change: KINDS.index(change.kind) if change.kind in KINDS else 99)
        first = next((change for kind in ORDER for change in changes if change.kind == kind), changes[0])
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
                    data = {"other": other}
                    by = _line(kernel.get("made"))
                    if by is not None and by.path != path:
                        data["registered"] = _where(by)
                        text += f" (imported at {PurePath(by.path).name}:{by.line})"
                    return Cause("imported-twice", text, SourceLine(path, line, qualname), data)
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
                    tables = (old.get("functions") or {}, new.get("functions") or {})
                    changes.append(self._changed(module, stale[index], kernel, tables))
                else:
                    changes.append(self._added(module, kernel, again=instance in olds))
        for instance, kernels in olds.items():
            missing = len([1 for value in kernels if value not in news.get(instance, {})])
            matched = len([1 for value in news.get(instance, {}) if value not in kernels])
            if missing > matched:
                kernel = next(kernel for value, kernel in kernels.items() if value not in news.get(instance, {}))
                line = _source(kernel)
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
        if old is None and writes and not writes[-1].get("known", True):
            text = f"option {name}, which Warp does not know, was set to {new!r} in {module}: it changes the hash"
        if line:
            text += f" by {by}"
        return Cause("option-changed", text, line, {"option": name, "old": old, "new": new, "via": via})

    def _added(self, module: str, kernel: Event, again: bool) -> Cause:
        key, sig = _instance(kernel)
        line = _source(kernel)
        overload = self._overloads.get((module, key, sig))
        if sig and overload is not None:
            used = _line(overload.get("used"))
            text = f"generic kernel {key} got a new instance for {type_words(sig)}"
            defined = _where(line)
            return Cause("overload-added", text, used, {"kernel": key, "overload": sig, "defined": defined})
        made = self._kernels.get((module, key))
        registered = _line(kernel.get("made")) or (_line(made.get("registered")) if made else None)
        what = f"kernel {key} was defined after {module} had been loaded"
        if again:
            what = f"another kernel named {key}, with other content, was made after {module} had been loaded"
        data = {"kernel": key}
        if registered:
            data["registered"] = _where(registered)
        if kernel.get("generated"):
            data["generated"] = f"{kernel['path']}:{kernel['line']}"
        return Cause("kernel-added", what, line, data)

    def _changed(self, module: str, old: Event, new: Event, tables: tuple[Event, Event]) -> Cause:
        cause = self._difference(old, new, tables)
        remade = self._remade.get((module, str(new["key"])))
        again = _line(remade.get("by")) if remade else None
        made = _line(new.get("made"))
        if again is not None:
            file = PurePath(str(new["path"])).name
            text = f"{cause.text} ({file} ran again at {PurePath(again.path).name}:{again.line})"
            return Cause(cause.kind, text, cause.line, {**cause.data, "registered": _where(again)})
        if made is not None and made != cause.line:
            return Cause(cause.kind, cause.text, cause.line, {**cause.data, "registered": _where(made)})
        return cause

    def _difference(self, old: Event, new: Event, tables: tuple[Event, Event]) -> Cause:
        key = str(new["key"])
        line = _source(new)
        if old.get("source") != new.get("source"):
            return Cause("kernel-changed", f"kernel {key} was defined again with another text", line, {"kernel": key})
        constants = _unequal(old, new, "constants")
        if constants:
            text = f"what kernel {key} captures changed: {', '.join(_values(old, new, constants))}"
            return Cause("constant-changed", text, line, {"kernel": key, "constants": constants})
        structs = _unequal(old, new, "types")
        if structs:
            return _struct_changed(f"kernel {key}", structs, new, line)
        functions = _unequal(old, new, "functions")
        if functions:
            return _function_changed(key, functions, tables, line)
        options = _unequal(old, new, "options")
        if options:
            text = f"options of kernel {key} changed: {', '.join(options)}"
            return Cause("option-changed", text, line, {"kernel": key, "options": options})
        if old.get("arguments") == new.get("arguments"):
            return Cause("kernel-changed", f"kernel {key} changed in what was not observed", line, {"kernel": key})
        return Cause("kernel-changed", f"kernel {key} changed in its argument types", line, {"kernel": key})


def _source(kernel: Event) -> SourceLine:
    """The line to name for a kernel: its ``def``; where Warp wrote the kernel (``wp.map``), who asked for it."""
    made = _line(kernel.get("made"))
    if kernel.get("generated") and made is not None:
        return made
    return SourceLine(str(kernel["path"]), int(kernel["line"]), str(kernel["qualname"]))


def _unequal(old: Event, new: Event, part: str) -> list[str]:
    before, after = old.get(part) or {}, new.get(part) or {}
    return sorted(name for name in {*before, *after} if _hash(before.get(name)) != _hash(after.get(name)))


def _hash(value: Any) -> Any:
    return value.get("hash") if isinstance(value, Mapping) else value


def _values(old: Event, new: Event, names: Iterable[str]) -> list[str]:
    """``factor (1.0 to 2.0)``, where the log has the values."""
    before, after = old.get("values") or {}, new.get("values") or {}
    return [f"{name} ({before[name]} to {after[name]})" if name in before and name in after else name for name in names]


def _struct_changed(whose: str, names: Sequence[str], new: Event, line: SourceLine) -> Cause:
    known = new.get("types") or {}
    at = next((_line(known[name].get("at")) for name in names if name in known), None)
    return Cause("struct-changed", f"a struct of {whose} changed: {', '.join(names)}", at or line, {"structs": names})


def _function_changed(kernel: str, names: Sequence[str], tables: tuple[Event, Event], line: SourceLine) -> Cause:
    """The function that differs by itself: one that only calls a changed one is passed through."""
    text = f"a function that kernel {kernel} calls changed: {', '.join(names)}"
    data: dict[str, Any] = {"kernel": kernel, "functions": list(names)}
    pending, met = list(names), set()
    while pending:
        name = pending.pop(0)
        old, new = tables[0].get(name), tables[1].get(name)
        if name in met or old is None or new is None or old.get("hash") == new.get("hash"):
            continue
        met.add(name)
        at = SourceLine(str(new["path"]), int(new["line"]), name) if new.get("path") else line
        own = "" if old.get("source") == new.get("source") else "its text"
        own = own or ", ".join(_values(old, new, _unequal(old, new, "constants")))
        structs = _unequal(old, new, "types")
        if structs and not own:
            return _struct_changed(f"function {name}, which kernel {kernel} calls,", structs, new, at)
        if own:
            text += f": {own}" if name in names else f" (through {name}: {own})"
            return Cause("function-changed", text, at, {**data, "function": name})
        pending += new.get("functions") or ()
    return Cause("function-changed", text, line, data)


_OF_CACHES = ("cache-cleared", "cache-moved", "cache-disabled")
CACHE_WORDS = {"cleared": "cleared the cache", "moved": "moved the cache", "disabled": "has Warp pass the cache by"}
_BYPASSES = {"cache_kernels": False, "verify_autograd_array_access": True}
"""Settings, and the value with which Warp does not take binaries from the cache."""


def cache_events(events: Iterable[Event]) -> list[CacheEvent]:
    """What the program did to its caches, in order."""
    found = []
    for event in events:
        line, at = _line(event.get("line")), float(event.get("t", 0.0))
        if event["e"] == "cache" and "what" in event:
            choice = str(event.get("choice", ""))
            found.append(CacheEvent(str(event["what"]), str(event["via"]), line, at, choice))
        elif event["e"] == "option" and event["via"] == "config":
            off = _BYPASSES.get(str(event["option"]))
            if off is not None and event["new"] == off and event["old"] != off:
                found.append(CacheEvent("disabled", f"wp.config.{event['option']}", line, at))
    return found


def lost_cache(
    text: str,
    since: Sequence[CacheEvent],
    earlier: Sequence[CacheEvent],
    options: Mapping[str, Any],
    paid: SourceLine | None,
    moved: bool,
) -> Cause:
    """Why something that had been built was not in the cache.

    Args:
        text: Beginning of the sentence.
        since: What was done to the cache since it was built.
        earlier: All that was done to it before the load: a setting stays in force.
        options: The resolved options of the load.
        paid: The line that waited.
        moved: Whether the folder is another one.
    """
    cleared = [one for one in since if one.kind == "cleared" and one.via == "clear_kernel_cache"]
    places = [one for one in earlier if one.kind == "moved"] if moved else []
    off = [one for one in earlier if one.kind == "disabled"]
    done = places or cleared or off
    event = done[-1] if done else None
    if event is None and options.get("verify_autograd_array_access"):
        event = CacheEvent("disabled", "verify_autograd_array_access", None, 0.0)
    if event is None:
        return Cause("cache-lost", f"{text}the cache no longer had it", paid)
    via = event.via if event.via.startswith(("wp.", "WARP")) or event.kind == "disabled" else f"wp.{event.via}()"
    data = {"via": event.via, **({"choice": event.choice} if event.choice else {})}
    return Cause(f"cache-{event.kind}", f"{text}{via} {CACHE_WORDS[event.kind]}", event.line or paid, data)


def explain_warm(cold: Run, warm: Run) -> Run:
    """The warm run with the builds explained that the cold run had left in its cache, if the program let it."""
    built = {load.identity for load in cold.loads if load.outcome in ("compiled", "cached")}
    places = {event.choice for process in cold.processes for event in process.cache_events}
    left = [event for process in cold.processes for event in process.cache_events if event.kind == "cleared"]
    processes = []
    for process in warm.processes:
        loads: list[Load] = []
        for load in process.loads:
            if load.compiled and load.identity in built and load.cause.kind not in _OF_CACHES:
                done = [event for event in process.cache_events if event.at <= load.start]
                choices = [event for event in done if event.kind == "moved"]
                moved = bool(choices) and choices[-1].choice not in places
                text = f"{load.module} had been built in the cold run, and "
                done = done or left
                cause = lost_cache(text, done, done, load.options, load.paid_by, moved)
                # Why it was loaded at all is another question.
                cause = replace(cause, data={**cause.data, "loaded": load.cause.text})
                load = replace(load, cause=cause)
            loads.append(load)
        processes.append(replace(process, loads=tuple(loads)))
    return replace(warm, processes=tuple(processes))


def option_writes(events: Iterable[Event], loads: Sequence[Load]) -> list[OptionWrite]:
    """Every write of an option with the effect that it had, from the loads before and after it."""
    events = list(events)
    writes = []
    for event in events:
        if event["e"] != "option":
            continue
        effect, missed = _effect(event, loads)
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


def _effect(event: Event, loads: Sequence[Load]) -> tuple[str, list[str]]:
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
