"""Time by phase, per thread, exclusive: what a nested phase or a nested load takes is not counted twice."""

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


class Phase:
    """Context manager that measures one phase and leaves it for the load that encloses it.

    ``data`` is a free dictionary that the hook fills.
    """

    __slots__ = ("data", "kind", "nested", "start")

    def __init__(self, kind):
        # type: (str) -> None
        self.kind = kind
        self.nested = 0.0
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
        state.done.append((self.kind, self.start, end, total - self.nested, self.data))
        if len(state.done) > 256:
            del state.done[:128]


def take(since):
    # type: (float) -> list[tuple[str, float, float, float, dict[str, Any]]]
    """The phases of this thread that began at or after ``since``; they are forgotten here."""
    done = state.done
    taken = [entry for entry in done if entry[1] >= since]
    if taken:
        state.done = [entry for entry in done if entry[1] < since]
    return taken
