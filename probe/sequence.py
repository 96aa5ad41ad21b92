"""The launches of this process in order, in bounded memory, on disk the moment they happen.

A prefix lies in a memory-mapped file (``<log>.seq``): what is written there survives a kill without any flush. Beyond the
prefix only a running digest and the count per signature are kept, and written to the log now and then.

File: 8 bytes little-endian count of entries written, then one uint32 per launch: thread number << 24 | signature id.
"""

import array
import hashlib
import itertools
import mmap
import os
import threading
import time

LIMIT = 200000
"""Launches kept in order."""
HEADER = 8
_CHUNK = 16384
_ID = 0xFFFFFF


class Sequence:
    """Append-only sequence of signature ids. ``append`` is the hot path."""

    def __init__(self, log, stop_after, stop):
        # type: (object, object, object) -> None
        self.log = log
        self.stop_after = stop_after if stop_after else 1 << 62
        self.stop = stop
        self.reset()

    def reset(self):
        # type: () -> None
        """Start over: at the beginning and in a forked child."""
        self._next = itertools.count()
        self._threads = {threading.get_ident(): 0}
        self._view = None  # type: object
        self._map = None  # type: object
        self._rest = array.array("I")
        self._counts = {}  # type: dict[int, int]
        self._digest = None  # type: object
        self._hashed = 0
        self._lock = threading.Lock()
        self._written = 0.0
        self.total = 0

    def _open(self):
        # type: () -> None
        size = HEADER + 4 * LIMIT
        path = self.log.path[: -len(".jsonl")] + ".seq"
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # Real blocks, not a hole: a write into a hole on a full disk would kill the program with SIGBUS.
            block = bytes(1 << 16)
            written = 0
            while written < size:
                written += os.write(handle, block[: min(len(block), size - written)])
            self._map = mmap.mmap(handle, size)
        except Exception as error:
            self.log.fault("sequence", error)
            self._map = bytearray(size)
        finally:
            os.close(handle)
        view = memoryview(self._map)
        self._header = view[:HEADER].cast("Q")
        self._view = view[HEADER:].cast("I")

    def append(self, signature):
        # type: (int) -> None
        """Record one launch."""
        index = next(self._next)
        if index >= self.stop_after:
            self.stop()
        self.total = index + 1
        if index < LIMIT:
            if self._view is None:
                self._open()
            ident = threading.get_ident()
            thread = self._threads.get(ident)
            if thread is None:
                thread = self._threads[ident] = min(len(self._threads), 255)
            self._view[index] = thread << 24 | signature & _ID
            self._header[0] = index + 1
            return
        self._rest.append(signature)
        if len(self._rest) >= _CHUNK:
            self._fold()

    def _fold(self):
        # type: () -> None
        with self._lock:
            rest, self._rest = self._rest, array.array("I")
            if self._digest is None:
                self._digest = hashlib.sha256()
                self._digest.update(array.array("I", [value & _ID for value in self._view[:LIMIT]]).tobytes())
                self._hashed = LIMIT
            self._digest.update(rest.tobytes())
            self._hashed += len(rest)
            counts = self._counts
            for value in rest:
                counts[value] = counts.get(value, 0) + 1
            now = time.monotonic()
            if now - self._written > 0.5:
                self._written = now
                self._write()

    def _write(self):
        # type: () -> None
        self.log.event("launches", total=self._hashed, digest=self._digest.hexdigest(), beyond=self._counts)

    def flush(self):
        # type: () -> None
        """Write what is not in the prefix file: at the end of the process."""
        if self.total > LIMIT:
            self._fold()
            self._write()
