"""Reads the event logs of a run and turns them into processes, loads, launches. Tolerates logs that stop anywhere."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from warpfix.generated.digests import digests, machine_digests
from warpfix.measure import causes
from warpfix.measure.profile import (
    BuiltKernel,
    Cause,
    DataLog,
    Deviation,
    KernelDef,
    LaunchLog,
    LaunchSignature,
    Load,
    ProcessRun,
    Rehash,
    Sample,
    SourceLine,
    Span,
    Twin,
)
from warpfix.probe.sequence import ID_MASK, THREAD_SHIFT

Event = Mapping[str, Any]


def read_events(path: Path) -> list[Event]:
    """The events of one log. A last line that was cut is left out; so is anything else that is no event."""
    events: list[Event] = []
    try:
        text = path.read_bytes()
    except OSError:
        return events
    for line in text.split(b"\n"):
        if not line:
            continue
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "e" in event:
            events.append(event)
    return events


def read_processes(logs: Path, stopped_by: str | None = None) -> list[ProcessRun]:
    """All processes that logged into ``logs``, in order of start."""
    files = {path.stem: list(_described(read_events(path))) for path in sorted(logs.glob("*.jsonl"))}
    processes = [_process(name, files, logs, stopped_by) for name in files]
    return sorted((process for process in processes if process is not None), key=lambda process: process.started)


def _described(events: Iterable[Event]) -> Iterable[Event]:
    """The events with what each kernel and function put into a hash where loads only name it: said once per log."""
    known: dict[str, Any] = {}
    for event in events:
        if event["e"] == "load" and "defined" in event:
            known.update(event["defined"])
            kernels = [known[name] for name in event["kernels"] if name in known]
            functions = {key: known[name] for key, name in event["functions"].items() if name in known}
            yield {**event, "kernels": kernels, "functions": functions}
        else:
            yield event


def _process(name: str, files: Mapping[str, list[Event]], logs: Path, stopped_by: str | None) -> ProcessRun | None:
    events = files[name]
    start = next((event for event in events if event["e"] == "start"), None)
    if start is None:
        return None
    warp = next((event for event in events if event["e"] == "warp"), None)
    inherited: list[Event] = []
    parent = str(start.get("parent") or "")
    while parent and parent in files:
        # A forked child goes on with what its parent had loaded.
        first = next((event for event in files[parent] if event["e"] == "start"), {})
        fork = (float(start["started"]) - float(first.get("started", 0.0))) * 1e3
        inherited = [event for event in files[parent] if float(event.get("t", 0.0)) <= fork] + inherited
        warp = warp or next((event for event in files[parent] if event["e"] == "warp"), None)
        parent = str(first.get("parent") or "")
    ends = [event for event in events if event["e"] in ("end", "exec")]
    end = ends[-1] if ends else None
    loads = _loads(events, inherited)
    constructions: Counter[str] = Counter()
    for event in events:
        if event["e"] == "constructions":
            constructions.update({str(key): int(value) for key, value in event["counts"].items()})
    if not constructions:
        constructions.update(f"{event['path']}:{event['line']}" for event in events if event["e"] == "kernel")
    faults = [f"{event.get('where')}: {event.get('error')}" for event in events if event["e"] == "fault"]
    faults += _losses(events, end)
    reason = end.get("reason") if end else None
    return ProcessRun(
        data=_data(events, logs / f"{name}.data"),
        pid=int(start["pid"]),
        parent=int(start.get("ppid", 0)),
        argv=tuple(str(arg) for arg in start.get("argv", ())),
        python_version=str(start.get("python", "")),
        warp_version=str(warp["version"]) if warp else None,
        started=float(start["started"]),
        ended=end is not None,
        stopped_by=str(reason) if reason else (stopped_by if end is None else None),
        wall=float(events[-1].get("t", 0.0)),
        loads=tuple(loads),
        launches=_launches(events, logs / f"{name}.seq"),
        option_writes=tuple(causes.option_writes(inherited + events, loads)),
        kernel_definitions=dict(constructions),
        overlaid={str(event["path"]): str(event["sha256"]) for event in events if event["e"] == "overlaid"},
        warp_output_lines=tuple(_output_lines(events)),
        twins=tuple(_twin(event) for event in events if event["e"] == "twin"),
        deviations=tuple(_deviations(events)),
        deviated_launches=max((int(event["launches"]) for event in events if event["e"] == "deviated"), default=0),
        hidden_devices=max((int(event["hidden"]) for event in events if event["e"] == "target"), default=0),
        refused=next((str(event["text"]) for event in events if event["e"] == "refused"), ""),
        errors=tuple(faults),
        executable=str(start.get("executable") or ""),
        main=str((warp or {}).get("main") or ""),
        warp_imported=source_line((warp or {}).get("imported")),
        levers={
            f"{event['module']}: {event['option']}" if event.get("module") else str(event["option"]): event.get("value")
            for event in events
            if event["e"] == "lever" and event.get("known")
        },
        spans=tuple(_spans(events)),
        rehashes=tuple(_rehashes(events)),
        cache_events=tuple(causes.cache_events(inherited + events)),
        unfinished=() if end is not None else tuple(_unfinished(events)),
        unobserved=tuple(_unobserved(inherited + events)),
    )


def _losses(events: Sequence[Event], end: Event | None) -> list[str]:
    """What the log itself says that it lacks."""
    said = []
    dropped = dict((end or {}).get("dropped") or {})
    for event in events:
        if event["e"] == "limit":
            kind = str(event["kind"])
            many = f"{dropped[kind]} events" if kind in dropped else "further events"
            said.append(f"log: full at {int(event['bytes'])} bytes: {many} of kind {kind} are not in it")
    if end is not None and end.get("lost"):
        said.append(f"log: {int(end['lost'])} events could not be written (is the disk full?)")
    return said


def _unobserved(events: Iterable[Event]) -> list[str]:
    """What the probe did not find in this Warp, in words."""
    missing = [one for event in events if event["e"] == "hooks" for one in event.get("missing", ())]
    return [f"no {name}: not observed: {loss}" for name, loss in dict.fromkeys(map(tuple, missing))]


def _rehashes(events: Iterable[Event]) -> list[Rehash]:
    """The tallies of idle hashings, the latest of each."""
    found: dict[tuple[str, str], Rehash] = {}
    for event in events:
        if event["e"] != "rehashes":
            continue
        for module, count, milliseconds, line, kernel, made in event["tallies"]:
            found[str(module), str(line)] = Rehash(
                str(module), int(count), float(milliseconds), source_line(line), str(kernel), source_line(made)
            )
    return sorted((one for one in found.values() if one.count > 0), key=lambda one: -one.milliseconds)


_LAUNCHES_TOLD = 200


def _spans(events: Iterable[Event]) -> list[Span]:
    """What the time line shows beside the loads. Of first launches the earliest are enough."""
    found, launches = [], 0
    for event in events:
        if event["e"] == "span":
            start, end = float(event["start"]), float(event["end"])
            found.append(Span(str(event["kind"]), str(event["name"]), start, end, int(event.get("depth", 0))))
        elif event["e"] == "sig" and launches < _LAUNCHES_TOLD:
            launches += 1
            at = float(event.get("t", 0.0))
            name = str((event.get("kernel") or {}).get("key") or event.get("kind", ""))
            found.append(Span("launch", name, at, at))
    return sorted(found, key=lambda span: (span.start, span.depth))


def _unfinished(events: Iterable[Event]) -> list[Span]:
    """The builds that had begun and not ended; a thread does one at a time."""
    begun: dict[int, Span] = {}
    for event in events:
        if event["e"] == "native":
            at = float(event.get("t", 0.0))
            begun[int(event.get("thread", 0))] = Span("build", _module_of(event), at, at)
        elif event["e"] == "native-end":
            begun.pop(int(event.get("thread", 0)), None)
    return sorted(begun.values(), key=lambda span: span.start)


def _module_of(event: Event) -> str:
    """The module that a generated source is of, as far as the name of its file tells."""
    found = _SOURCE.match(str(event.get("source", "")))
    return found["module"] if found else ""


def _twin(event: Event) -> Twin:
    return Twin(
        module=str(event["module"]),
        hash=str(event["hash"]),
        block_dim=int(event["block_dim"]),
        outcome=str(event["outcome"]),
        milliseconds=float(event["ms"]),
        error=str(event.get("error", "")),
    )


def _deviations(events: Iterable[Event]) -> list[Deviation]:
    found: dict[tuple[str, str], Deviation] = {}
    for event in events:
        if event["e"] == "deviation":
            key = (str(event["kind"]), str(event["what"]))
            known = found.get(key)
            line = known.line if known else source_line(event.get("line"))
            found[key] = Deviation(*key, int(event["count"]), line)
    return list(found.values())


def _output_lines(events: Iterable[Event]) -> list[str]:
    text = "".join(str(event.get("text", "")) for event in events if event["e"] == "out")
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []


def source_line(value: Any) -> SourceLine | None:
    """A logged (path, line, function) as a SourceLine."""
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        return None
    return SourceLine(str(value[0]), int(value[1]), str(value[2]) if len(value) > 2 else "")


def _definition(data: Mapping[str, Any]) -> KernelDef:
    return KernelDef(
        key=str(data.get("key", "")),
        qualname=str(data.get("qualname", "")),
        path=str(data.get("path", "")),
        line=int(data.get("line", 0)),
    )


def _loads(events: list[Event], inherited: list[Event]) -> list[Load]:
    explainer = causes.Explainer()
    loads = []
    for own, event in [(False, event) for event in inherited] + [(True, event) for event in events]:
        explainer.see(event)
        if event["e"] != "load":
            continue
        cause = explainer.explain(event)
        if own:
            loads.append(_load(event, cause, str(event["outcome"])))
        elif event["outcome"] != "failed":
            loads.append(_load(event, Cause("inherited", "loaded by the parent process before it forked"), "inherited"))
    return loads


def _load(event: Event, cause: Cause, outcome: str) -> Load:
    codes = digests(event.get("code") or ())
    machine = machine_digests(event.get("code") or ())
    kernels = []
    for data in event.get("kernels", ()):
        key = str(data.get("key", ""))
        names = ((key, str(data.get("hash", ""))[:8]), (key, ""))
        entry = next((codes[name] for name in names if name in codes), None)
        kernels.append(
            BuiltKernel(
                definition=_definition(data),
                overload=str(data.get("sig", "")),
                options=dict(data.get("options", {})),
                forward_code=entry.forward if entry else "",
                backward_code=entry.backward if entry else "",
                forward_bytes=entry.forward_bytes if entry else 0,
                backward_bytes=entry.backward_bytes if entry else 0,
                forward_functions=entry.forward_functions if entry else 0,
                backward_functions=entry.backward_functions if entry else 0,
                machine_code=dict(next((machine[name] for name in names if name in machine), {})),
                ingredients=_ingredients(data),
                variant=str(data.get("hash", "")),
            )
        )
    start, end = float(event["start"]), float(event["end"])
    inherited = outcome == "inherited"
    return Load(
        id=int(event["id"]),
        module=str(event["module"]),
        hash=str(event["hash"]),
        device=str(event["device"]),
        target=str(event["target"]),
        block_dim=int(event["block_dim"]),
        outcome=outcome,
        start=0.0 if inherited else start,
        end=0.0 if inherited else end,
        phases={} if inherited else {str(key): float(value) for key, value in event.get("phases", {}).items()},
        thread=int(event.get("thread", 0)),
        kernels=tuple(kernels),
        options=dict(event.get("options", {})),
        source_bytes=int(event.get("source_bytes", 0)),
        lto_artifacts=int(event.get("lto", 0)),
        links={str(kind): int(number) for kind, number in (event.get("links") or {}).items()},
        probe=0.0 if inherited else float(event.get("probe", 0.0)),
        cause=cause,
        paid_by=source_line(event.get("paid")),
        functions={
            str(key): {**_ingredients(data), "hash": str(data.get("hash", ""))}
            for key, data in (event.get("functions") or {}).items()
        },
    )


def _ingredients(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a kernel or a function put into the hash; constants as text where the log has it, else as a digest."""
    values = {str(name): str(value) for name, value in (data.get("values") or {}).items()}
    digests_of = {str(name): f"#{value}" for name, value in (data.get("constants") or {}).items()}
    functions = data.get("functions") or {}
    found = {
        "source": str(data.get("source", "")),
        "constants": {**digests_of, **values},
        "functions": dict(functions) if isinstance(functions, Mapping) else {str(name): "" for name in functions},
        "loops": int(data.get("loops", 0)),
    }
    if "arguments" in data:
        found["arguments"] = dict(data["arguments"])
    return found


def _launches(events: list[Event], sequence_path: Path) -> LaunchLog:
    signatures = tuple(_signature(event) for event in events if event["e"] == "sig")
    entries = array("I")
    with contextlib.suppress(OSError, ValueError):
        words = sequence_path.read_bytes()
        # A file that was cut within a word.
        entries.frombytes(words[: len(words) - len(words) % entries.itemsize])
    # A launch whose signature did not reach the log (killed in between) can't be told: the sequence ends before it.
    known = {signature.id for signature in signatures}
    sequence = []
    threads: dict[int, list[int]] = {}
    for entry in entries:
        signature = (entry & ID_MASK) - 1
        if signature not in known:
            break
        sequence.append(signature)
        threads.setdefault(entry >> THREAD_SHIFT, []).append(signature)
    counts = Counter(sequence)
    digest = hashlib.sha256(array("I", sequence).tobytes()).hexdigest()
    total = len(sequence)
    for event in events:
        if event["e"] == "launches" and int(event["total"]) >= total:
            total, digest = int(event["total"]), str(event["digest"])
            counts = Counter(sequence)
            counts.update({int(key): int(value) for key, value in event["beyond"].items()})
            if event.get("other"):
                digest = hashlib.sha256(f"{digest} {event['other']}".encode()).hexdigest()
    return LaunchLog(
        total=total,
        signatures=signatures,
        counts=dict(counts),
        sequence=tuple(sequence),
        threads={key: tuple(value) for key, value in threads.items()} if len(threads) > 1 else {},
        digest=digest,
    )


def _data(events: list[Event], path: Path) -> DataLog | None:
    """The digests of arrays, if they were asked for: then the end of the log says so, or the file is there."""
    last = next((event for event in reversed(events) if event["e"] == "data"), None)
    words = path.read_bytes() if path.is_file() else b""
    if last is None and not words:
        return None
    samples = []
    for event in events:
        if event["e"] == "data-sample":
            try:
                data = Path(str(event["file"])).read_bytes()
            except OSError:
                continue
            samples.append(Sample(str(event["name"]), str(event["scalar"]), data, int(event["bytes"]) <= len(data)))
    return DataLog(
        launches=int(last["launches"]) if last else -1,
        digest=str(last["digest"]) if last else "",
        words=words,
        names={int(e["sig"]): tuple(map(str, e["names"])) for e in events if e["e"] == "data-names"},
        left_out={str(key): int(value) for key, value in last["left_out"].items()} if last else {},
        samples=tuple(samples),
    )


def _signature(event: Event) -> LaunchSignature:
    return LaunchSignature(
        id=int(event["id"]),
        kernel=_definition(event.get("kernel") or {}),
        overload=str(event.get("overload", "")),
        module=str(event.get("module", "")),
        load=int(event.get("load", -1)),
        dim=tuple(int(part) for part in event.get("dim", ())),
        dtypes=tuple(str(name) for name in event.get("dtypes", ())),
        device=str(event.get("device", "")),
        block_dim=int(event.get("block_dim") or 0),
        max_blocks=int(event.get("max_blocks", 0)),
        adjoint=bool(event.get("adjoint")),
        kind=str(event.get("kind", "launch")),
        line=source_line(event.get("line")),
        variant=str(event.get("variant", "")),
    )


_SOURCE = re.compile(r"^(?:wp_)?(?P<module>.+?)(?:_[0-9a-f]{7,})?(?:\.[^.]*)?$")


def _twin_name(event: Event) -> str:
    return f"{event.get('module', '')} (to execute it)"


class Watch:
    """Follows the logs of a running command: what is being built, and for how long has nothing been built?"""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._positions: dict[Path, int] = {}
        self._building: dict[Path, list[str]] = {}
        self._last = time.monotonic()
        self.built = 0
        """Native builds that have ended."""

    @property
    def building(self) -> list[str]:
        """The modules whose native builds go on."""
        return [name for names in self._building.values() for name in names]

    def idle(self) -> float:
        """Seconds since the last build ended; 0 while one goes on."""
        for path in self._logs.glob("*.jsonl"):
            try:
                with path.open("rb") as file:
                    file.seek(self._positions.get(path, 0))
                    new = file.read()
            except OSError:
                continue
            whole = new.rfind(b"\n") + 1
            self._positions[path] = self._positions.get(path, 0) + whole
            for line in new[:whole].splitlines():
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                kind = event.get("e")
                if kind in ("native", "native-end", "load", "start", "warp", "twin-start", "twin"):
                    self._last = time.monotonic()
                names = self._building.setdefault(path, [])
                if kind == "native":
                    names.append(_module_of(event))
                elif kind == "native-end" and names:
                    # Which of several threads' builds this is the end of is not told; the oldest is the likeliest.
                    names.pop(0)
                    self.built += 1
                elif kind == "twin-start":
                    # No build of the program's, and no idleness either.
                    names.append(_twin_name(event))
                elif kind == "twin" and _twin_name(event) in names:
                    names.remove(_twin_name(event))
        return 0.0 if self.building else time.monotonic() - self._last
