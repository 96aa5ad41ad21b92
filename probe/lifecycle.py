"""How a process starts and ends: fork, exec, ``os._exit``, interpreter exit, and the stop conditions."""

import atexit
import contextlib
import functools
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


def install(probe):
    # type: (Any) -> None
    """Watch the ends of this process. Signal handlers are the program's own and are left alone: every event is on
    disk before the next one happens, so a killed process loses nothing."""
    atexit.register(probe.end, "exit")
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=probe.forked)

    leave = os._exit

    @functools.wraps(leave)
    def _exit(status):
        # type: (int) -> None
        probe.end("_exit")
        leave(status)

    os._exit = _exit  # type: ignore[assignment]
    probe.leave = leave


def stop(probe, reason):
    # type: (Any, str) -> None
    """End the process as a success because a stop condition given to warpfix was met."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    probe.end("stopped", reason)
    try:
        with open(os.path.join(probe.config["logs"], "stopped"), "w") as file:
            file.write(reason)
    except OSError:
        pass
    probe.leave(0)
