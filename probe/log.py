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


class Log:
    """Append-only log of this process, named by process id and start time. Never raises."""

    def __init__(self, folder):
        # type: (str) -> None
        self.folder = folder
        self.parent = ""
        self.errors = 0
        self._lock = threading.Lock()
        self._open()

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
                handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
                try:
                    os.write(handle, line)
                finally:
                    os.close(handle)
        except Exception:
            self.errors += 1

    def fault(self, where, error):
        # type: (str, BaseException) -> None
        """Record an error of the probe itself; at most fifty, so that a fault on a hot path can't fill the disk."""
        self.errors += 1
        if self.errors <= 50:
            self.event("fault", where=where, error="%s: %s" % (type(error).__name__, error))
