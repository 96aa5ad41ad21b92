"""The event log of one process: JSON lines, appended and flushed one by one.

The file is opened for each line: the program may close every descriptor that it doesn't know (daemons do), and a
descriptor that we kept could then be somebody else's file.
"""

import json
import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

FORMAT = 1
LIMIT = 256 << 20
"""Bytes of a process's log; beyond, only what is bounded by itself is written, and the rest is counted."""
_ALWAYS = ("start", "end", "exec", "launches", "constructions", "rehashes", "limit", "fault", "overlaid")
REPEATS = 100
"""How often an event that repeats itself is written as it happens."""
_KEYS = 20000


class Log:
    """Append-only log of this process, named by process id and start time. Never raises."""

    def __init__(self, folder):
        # type: (str) -> None
        self.folder = folder
        self.parent = ""
        self.errors = 0
        self.limit = LIMIT
        self._lock = threading.Lock()
        self._fresh()
        self._open()

    def _fresh(self):
        # type: () -> None
        self.size = 0
        self.lost = 0
        self.dropped = {}  # type: dict[str, int]
        self._cut = False
        self._times = {}  # type: dict[Any, int]
        self._held = {}  # type: dict[Any, tuple[str, dict[str, Any]]]

    def _open(self):
        # type: () -> None
        self.started = time.time()
        self.base = time.perf_counter()
        self.name = "%d-%d" % (os.getpid(), int(self.started * 1e6))
        self.path = os.path.join(self.folder, self.name + ".jsonl")

    def reopen_after_fork(self):
        # type: () -> None
        """Continue in a new file: this process is a copy of the one that the old file belongs to."""
        self.parent = self.name
        self._lock = threading.Lock()
        self.errors = 0
        self._fresh()
        self._open()

    def now(self):
        # type: () -> float
        """Milliseconds since the log's start."""
        return (time.perf_counter() - self.base) * 1e3

    def event(self, _kind, **fields):
        # type: (str, Any) -> None
        """Write one event at once."""
        fields["e"] = _kind
        fields.setdefault("t", round(self.now(), 3))
        try:
            line = (json.dumps(fields, default=repr, separators=(",", ":")) + "\n").encode("utf-8", "backslashreplace")
            with self._lock:
                if self.size + len(line) > self.limit and _kind not in _ALWAYS:
                    self.dropped[_kind] = self.dropped.get(_kind, 0) + 1
                    if self.dropped[_kind] > 1:
                        return
                    note = {"e": "limit", "t": fields["t"], "kind": _kind, "bytes": self.size}
                    line = (json.dumps(note) + "\n").encode("utf-8")
                self._append(line)
        except Exception:
            self.errors += 1

    def _append(self, line):
        # type: (bytes) -> None
        """Write one line; a disk that is full may take a part of it, which must not spoil the next one."""
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            if self._cut:
                line = b"\n" + line
            written = os.write(handle, line)
            self.size += written
            self._cut = written < len(line)
            self.lost += self._cut
        except OSError:
            self.lost += 1
            raise
        finally:
            os.close(handle)

    def repeated(self, key, _kind, **fields):
        # type: (Any, str, Any) -> None
        """An event that may come a million times: written the first hundred times for each key, then held back, so
        that the latest one can be told when it matters (``release``)."""
        if key not in self._times and len(self._times) >= _KEYS:
            key = _kind
        times = self._times[key] = self._times.get(key, 0) + 1
        if times <= REPEATS:
            self.event(_kind, **fields)
        else:
            fields.update(t=round(self.now(), 3), times=times)
            self._held[key] = (_kind, fields)

    def release(self):
        # type: () -> None
        """Write what was held back: before something that it may have caused, and at the end."""
        if self._held:
            held, self._held = self._held, {}
            for kind, fields in held.values():
                self.event(kind, **fields)

    def fault(self, where, error):
        # type: (str, BaseException) -> None
        """Record an error of the probe itself; at most fifty, so that a fault on a hot path can't fill the disk."""
        self.errors += 1
        if self.errors <= 50:
            self.event("fault", where=where, error="%s: %s" % (type(error).__name__, error))
