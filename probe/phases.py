"""Time by phase, per thread, exclusive: what a nested phase takes is not counted twice, what the probe takes not at
all."""

import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_clock = time.perf_counter


class _State(threading.local):
    def __init__(self):
        # type: () -> None
        self.stack = []  # type: list[Phase]
        self.done = []  # type: list[tuple[str, float, float, float, Any]]


state = _State()
_KEPT = 8192


class Phase:
    """Context manager that measures one phase and leaves it for the load that encloses it.

    ``data`` is a free dictionary that the hook fills.
    """

    __slots__ = ("data", "kind", "nested", "probe", "start")

    def __init__(self, kind):
        # type: (str) -> None
        self.kind = kind
        self.nested = 0.0
        self.probe = 0.0
        self.start = 0.0
        self.data = {}  # type: dict[str, Any]

    def __enter__(self):
        # type: () -> Phase
        state.stack.append(self)
        self.start = _clock()
        return self

    def __exit__(self, *error):
        # type: (Any) -> None
        end = _clock()
        total = end - self.start
        if state.stack and state.stack[-1] is self:
            state.stack.pop()
        if state.stack:
            state.stack[-1].nested += total
            state.stack[-1].probe += self.probe
        else:
            self.data["probe"] = self.probe
        state.done.append((self.kind, self.start, end, total - self.nested, self.data))
        if len(state.done) > _KEPT:
            del state.done[: _KEPT // 2]


class Aside:
    """Context manager around what the probe itself does inside a phase: part of no phase, and summed up."""

    __slots__ = ("start",)

    def __enter__(self):
        # type: () -> Aside
        self.start = _clock()
        return self

    def __exit__(self, *error):
        # type: (Any) -> None
        took = _clock() - self.start
        if state.stack:
            state.stack[-1].nested += took
            state.stack[-1].probe += took


def take(since):
    # type: (float) -> list[tuple[str, float, float, float, dict[str, Any]]]
    """The phases of this thread that began at or after ``since``. All are forgotten here: those before belong to no
    load (the program asked for a hash)."""
    taken = [entry for entry in state.done if entry[1] >= since]
    state.done = []
    return taken


def own_time(done):
    # type: (list[tuple[str, float, float, float, dict[str, Any]]]) -> float
    """Seconds that the probe itself took within phases."""
    return sum(float(entry[4].get("probe", 0.0)) for entry in done)


def divide(start, end, done):
    # type: (float, float, list[tuple[str, float, float, float, dict[str, Any]]]) -> dict[str, float]
    """Milliseconds by phase of a load that went on from ``start`` to ``end``: they add up to it, less ``own_time``.

    ``load`` begins where compiling (or looking for the binary) ended; ``wait`` is what passed until the module could be
    hashed, and what other threads held Warp's code generation lock. What is left is ``files``: looking up the cache,
    writing the source, moving the result into the cache.
    """
    phases = {}  # type: dict[str, float]
    for kind, _, _, own, data in done:
        if kind == "compile":
            continue
        header = min(float(data.get("pch", 0.0)), own)
        if header > 0:
            phases["pch"] = phases.get("pch", 0.0) + header
        phases[kind] = phases.get(kind, 0.0) + own - header
    compiled = [entry[2] for entry in done if entry[0] == "compile"] or [entry[2] for entry in done]
    first = min(done, key=lambda entry: entry[1]) if done else None
    if first is not None:
        phases["wait"] = phases.get("wait", 0.0) + first[1] - start
    last = max(compiled) if compiled else start
    # A phase inside the loading (Warp may build adjoints again for their metadata) is not counted twice.
    inside = sum(entry[3] for entry in done if entry[1] >= last)
    phases["load"] = end - last - inside
    phases["files"] = max(0.0, end - start - own_time(done) - sum(phases.values()))
    return {kind: value * 1e3 for kind, value in phases.items()}
