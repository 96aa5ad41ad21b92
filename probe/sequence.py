"""The launches of this process in order, in bounded memory, on disk the moment they happen.

A prefix lies in a memory-mapped file (``<log>.seq``): what is written there survives a kill without any flush. Beyond
the prefix only a running digest and the count per signature are kept, and written to the log now and then.

File: one uint32 per launch, ``thread number << 24 | signature id + 1``; 0 where nothing was written.
"""

import array
import hashlib
import itertools
import mmap
import os
import threading
import time
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

LIMIT = 200000
"""Launches kept in order."""
THREAD_SHIFT = 24
ID_MASK = (1 << THREAD_SHIFT) - 1
_CHUNK = 16384


class Sequence:
    """Append-only sequence of signature ids. ``append`` is the hot path: a closure, made anew in a forked child."""

    def __init__(self, log, stop_after, stop):
        # type: (Any, Any, Any) -> None
        self.log = log
        self.stop_after = stop_after if stop_after else 1 << 62
        self.stop = stop
        self.reset()

    def reset(self):
        # type: () -> None
        """Start over: at the beginning and in a forked child."""
        self._counter = itertools.count()
        self._threads = {}  # type: dict[int, int]
        self._view = None  # type: Any
        self._rest = array.array("I")
        self._counts = Counter()  # type: Counter[int]
        self._digest = None  # type: Any
        self._hashed = 0
        self._lock = threading.Lock()
        self._written = 0.0
        self._began = time.monotonic()
        self._beyond = 0
        self._other = None  # type: Any
        self.on_disk = False
        self.append = self._first

    def _first(self, signature):
        # type: (int) -> None
        """The first launch opens the file; a process without launches leaves none."""
        with self._lock:
            if self._view is None:
                self._open()
                self.append = self._appender()
        self.append(signature)

    def _open(self):
        # type: () -> None
        size = 4 * LIMIT
        path = self.log.path[: -len(".jsonl")] + ".seq"
        memory = bytearray(size)  # type: Any
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                # Real blocks, not a hole: a write into a hole on a full disk would kill the program with SIGBUS.
                block = bytes(1 << 16)
                written = 0
                while written < size:
                    written += os.write(handle, block[: min(len(block), size - written)])
                memory = mmap.mmap(handle, size)
                self.on_disk = True
            finally:
                os.close(handle)
        except Exception as error:
            self.log.fault("sequence", error)
        self._view = memoryview(memory).cast("I")

    def _appender(self):
        # type: () -> Any
        advance = self._counter.__next__
        view = self._view
        threads = self._threads
        ident = threading.get_ident
        limit = min(LIMIT, self.stop_after)

        def append(signature):
            # type: (int) -> None
            index = advance()
            if index < limit:
                try:
                    thread = threads[ident()]
                except KeyError:
                    thread = threads[ident()] = min(len(threads), 255) << THREAD_SHIFT
                view[index] = thread | signature + 1
            else:
                self._after_limit(index, signature)

        return append

    def _after_limit(self, index, signature):
        # type: (int, int) -> None
        if index >= self.stop_after:
            self.stop()
        if index < LIMIT:
            return
        self._beyond += 1
        self._rest.append(signature)
        if len(self._rest) >= _CHUNK:
            self._fold()

    @property
    def total(self):
        # type: () -> int
        """Launches so far."""
        if self._beyond:
            return LIMIT + self._beyond
        count = 0
        view = self._view
        if view is not None:
            low, high = 0, LIMIT
            while low < high:
                middle = (low + high) // 2
                if view[middle]:
                    low = middle + 1
                else:
                    high = middle
            count = low
        return count

    def _fold(self):
        # type: () -> None
        with self._lock:
            rest, self._rest = self._rest, array.array("I")
            if self._digest is None:
                self._digest = hashlib.sha256()
                prefix = array.array("I", [(value & ID_MASK) - 1 for value in self._view])
                self._digest.update(prefix.tobytes())
                self._hashed = LIMIT
            self._digest.update(rest.tobytes())
            self._hashed += len(rest)
            self._counts.update(rest)
            now = time.monotonic()
            # Rarer and rarer: what a program of days writes stays small.
            if now - self._written > max(0.5, (now - self._began) / 20):
                self._written = now
                self._write()

    def _write(self):
        # type: () -> None
        other = self._other.hexdigest() if self._other else ""
        self.log.event(
            "launches", total=self._hashed, digest=self._digest.hexdigest(), beyond=self._counts, other=other
        )

    def unlike(self, content):
        # type: (str) -> None
        """A launch whose signature is one too many to be logged: told only by this digest."""
        with self._lock:
            if self._other is None:
                self._other = hashlib.sha256()
            self._other.update(content.encode("utf-8", "backslashreplace") + b"\0")

    def flush(self):
        # type: () -> None
        """Write what is not in the prefix file: at the end of the process."""
        if self._beyond:
            self._written = float("inf")
            self._fold()
            self._write()
        elif self._view is not None and (self._other or not self.on_disk):
            prefix = array.array("I", [(value & ID_MASK) - 1 for value in self._view[: self.total]])
            self.log.event(
                "launches",
                total=len(prefix),
                digest=hashlib.sha256(prefix.tobytes()).hexdigest(),
                # What the prefix file holds is counted from there.
                beyond={} if self.on_disk else Counter(prefix),
                other=self._other.hexdigest() if self._other else "",
            )
