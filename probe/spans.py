"""What a start spends its time on beside builds: imports of packages, and the initialisation of Warp's runtime.

Imports are watched without touching them: a finder that finds nothing sees each one begin, and whether an earlier one
still goes on is read from its module's spec. So an import is known to have lasted at least until the last import that
it made in turn; what ran after that is not counted.
"""

import functools
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_clock = time.perf_counter
SHORTEST = 0.005
"""Seconds; shorter imports are not told."""


class Imports:
    """A finder that finds nothing and notes when top-level packages are imported by the main thread.

    It leaves ``sys.meta_path`` with the first import after the first load of a Warp module.
    """

    def __init__(self, probe):
        # type: (Any) -> None
        self.probe = probe
        self.thread = threading.get_ident()
        # [name, start, last moment at which it was still going on], outermost first.
        self.open = []  # type: list[list[Any]]

    def find_spec(self, name, path=None, target=None):
        # type: (str, Any, Any) -> None
        """Note the import; never find anything."""
        try:
            if threading.get_ident() == self.thread:
                now = _clock()
                self.settle(now)
                if self.probe.loads.threads:
                    self.remove()
                elif "." not in name:
                    self.open.append([name, now, now])
        except Exception as error:
            self.probe.log.fault("imports", error)

    def settle(self, now):
        # type: (float) -> None
        """Tell the imports that have ended by ``now``."""
        while self.open:
            name, start, last = self.open[-1]
            spec = getattr(sys.modules.get(name), "__spec__", None)
            if getattr(spec, "_initializing", False):
                self.open[-1][2] = now
                return
            self.open.pop()
            if self.open:
                self.open[-1][2] = max(self.open[-1][2], last)
            if last - start >= SHORTEST:
                self.probe.log.event(
                    "span",
                    kind="import",
                    name=name,
                    start=self.probe.loads.milliseconds(start),
                    end=self.probe.loads.milliseconds(last),
                    depth=len(self.open),
                )

    def remove(self):
        # type: () -> None
        """See no more imports."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def watch_imports(probe):
    # type: (Any) -> Imports
    """See the imports of this process from now on."""
    imports = Imports(probe)
    sys.meta_path.insert(0, imports)
    return imports


def install(context, probe):
    # type: (Any, Any) -> None
    """Time the initialisation of the runtime: devices are looked for, native libraries loaded."""
    runtime = getattr(context, "Runtime", None)
    if runtime is None:
        return
    original = runtime.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        # type: (Any, Any, Any) -> None
        start = _clock()
        try:
            original(self, *args, **kwargs)
        finally:
            milliseconds = probe.loads.milliseconds
            probe.log.event(
                "span", kind="init", name="warp.init", start=milliseconds(start), end=milliseconds(_clock()), depth=0
            )

    runtime.__init__ = __init__
