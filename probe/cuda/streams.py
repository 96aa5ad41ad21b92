"""Contexts, streams and events. Everything runs at once, in the order of the calls; what a stream captures is kept."""

import threading
import time

from .values import CURRENT_STREAM, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

NOT_CAPTURABLE = "Warp CUDA error 900: operation not permitted when stream is capturing"


class _Thread(threading.local):
    """The contexts of one thread."""

    def __init__(self):
        # type: () -> None
        self.current = 0
        self.pushed = []  # type: list[int]


class Event:
    """When, and inside which capture, an event was recorded."""

    def __init__(self):
        # type: () -> None
        self.capture = None  # type: Any
        self.time = 0.0


class Streams:
    """The entry points for contexts, streams and events."""

    def __init__(self, driver):
        # type: (Any) -> None
        self.driver = driver
        self.thread = _Thread()
        self.current = 0
        self.captures = {0: None}  # type: dict[int, Any]
        self.priorities = {}  # type: dict[int, int]
        self.events = {}  # type: dict[int, Event]

    def handle(self, stream):
        # type: (Any) -> int
        """The stream that an argument names."""
        handle = number(stream)
        return self.current if handle in (CURRENT_STREAM, -1) else handle

    def capture(self, stream):
        # type: (Any) -> Any
        """The capture that a stream is part of, or None."""
        return self.captures.get(self.handle(stream))

    def any_capture(self):
        # type: () -> Any
        """A capture that is going on, on whatever stream."""
        return next((one for one in self.captures.values() if one is not None), None)

    def do(self, stream, action):
        # type: (Any, Any) -> None
        """Run an action, or record it where its stream captures."""
        capture = self.captures.get(self.handle(stream))
        if capture is None:
            action()
        else:
            capture.actions.append(action)

    def wp_cuda_context_get_current(self):
        # type: () -> Any
        return self.thread.current or None

    def wp_cuda_context_set_current(self, context):
        # type: (Any) -> None
        self.thread.current = number(context)

    def wp_cuda_context_push_current(self, context):
        # type: (Any) -> None
        self.thread.pushed.append(self.thread.current)
        self.thread.current = number(context)

    def wp_cuda_context_pop_current(self):
        # type: () -> None
        self.thread.current = self.thread.pushed.pop() if self.thread.pushed else 0

    def wp_cuda_context_check(self, context):
        # type: (Any) -> int
        return 0

    def wp_cuda_context_synchronize(self, context=None):
        # type: (Any) -> bool
        if self.any_capture() is not None:
            self.driver.errors.set(NOT_CAPTURABLE)
            return False
        return True

    def wp_cuda_context_set_stream(self, context, stream, synchronise):
        # type: (Any, Any, Any) -> None
        self.current = number(stream)

    def wp_cuda_context_get_stream(self, context):
        # type: (Any) -> Any
        return self.current or None

    def wp_cuda_stream_create(self, context, priority=0):
        # type: (Any, int) -> int
        handle = self.driver.handle()
        self.captures[handle] = None
        # CUDA clamps to what the device has: 0 and -5 on those of today.
        self.priorities[handle] = max(min(number(priority), 0), -5)
        return int(handle)

    def wp_cuda_stream_destroy(self, context, stream):
        # type: (Any, Any) -> None
        handle = number(stream)
        self.priorities.pop(handle, None)
        if handle and self.captures.get(handle) is None:
            self.captures.pop(handle, None)

    def wp_cuda_stream_register(self, context, stream):
        # type: (Any, Any) -> None
        self.captures.setdefault(number(stream), None)

    def wp_cuda_stream_unregister(self, context, stream):
        # type: (Any, Any) -> None
        return None

    def wp_cuda_stream_query(self, stream):
        # type: (Any) -> int
        return 0

    def wp_cuda_stream_is_blocking(self, stream):
        # type: (Any) -> int
        return 1

    def wp_cuda_stream_get_priority(self, stream):
        # type: (Any) -> int
        return self.priorities.get(number(stream), 0)

    def wp_cuda_stream_synchronize(self, stream):
        # type: (Any) -> bool
        if self.capture(stream) is not None:
            self.driver.errors.set(NOT_CAPTURABLE)
            return False
        return True

    def wp_cuda_stream_is_capturing(self, stream):
        # type: (Any) -> int
        return int(self.capture(stream) is not None)

    def wp_cuda_stream_get_capture_id(self, stream):
        # type: (Any) -> int
        capture = self.capture(stream)
        return capture.id if capture is not None else 0

    def wp_cuda_stream_wait_event(self, stream, event, external=False):
        # type: (Any, Any, Any) -> None
        known = self.events.get(number(event))
        if known is not None and known.capture is not None and known.capture.active:
            # The stream joins the capture in which the event was recorded.
            self.captures[self.handle(stream)] = known.capture

    def wp_cuda_stream_wait_stream(self, stream, other, event, external=False):
        # type: (Any, Any, Any, Any) -> None
        self.wp_cuda_event_record(event, other)
        self.wp_cuda_stream_wait_event(stream, event)

    def wp_cuda_thread_exchange_capture_mode(self, mode):
        # type: (int) -> int
        return 0

    def wp_cuda_event_create(self, context, flags):
        # type: (Any, int) -> int
        handle = self.driver.handle()
        self.events[handle] = Event()
        return int(handle)

    def wp_cuda_event_destroy(self, event):
        # type: (Any) -> None
        self.events.pop(number(event), None)

    def wp_cuda_event_query(self, event):
        # type: (Any) -> int
        return 0

    def wp_cuda_event_record(self, event, stream, external=False):
        # type: (Any, Any, Any) -> None
        known = self.events[number(event)]
        capture = known.capture = self.capture(stream)
        if capture is None:
            known.time = time.perf_counter()
        else:
            capture.actions.append(lambda: setattr(known, "time", time.perf_counter()))

    def wp_cuda_event_synchronize(self, event):
        # type: (Any) -> bool
        return True

    def wp_cuda_event_elapsed_time(self, start, end):
        # type: (Any, Any) -> float
        return (self.events[number(end)].time - self.events[number(start)].time) * 1e3
