"""Kernel objects: where each was defined, from which line it was made, how often, and with which overloads."""

import functools
import re
import sys

from . import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_DEF = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]", re.M)


def definition(func, source=""):
    # type: (Any, str) -> tuple[str, int]
    """(path, line of the ``def``) of a function; Python's own first line is that of its first decorator."""
    code = getattr(func, "__code__", None)
    if code is None:
        return ("", 0)
    line = code.co_firstlineno
    found = _DEF.search(source) if source else None
    if found is not None:
        line += source.count("\n", 0, found.start())
    return (code.co_filename, line)


def describe(kernel):
    # type: (Any) -> dict[str, Any]
    """A kernel's identity for the log."""
    func = kernel.func
    path, line = definition(func, getattr(kernel.adj, "source", "") or "")
    return {"key": kernel.key, "qualname": getattr(func, "__qualname__", kernel.key), "path": path, "line": line}


_SITES = 20000
_OTHER = "(other kernels):0"


class Constructions:
    """Counts kernel constructions by definition; each definition is logged once, counts at the end and now and then."""

    def __init__(self, probe):
        # type: (Any) -> None
        self.probe = probe
        self.forget()

    def forget(self):
        # type: () -> None
        """Start over: at the beginning and in a forked child, which has a log of its own."""
        self.counts = {}  # type: dict[str, int]
        self.seen = set()  # type: set[Any]
        self.latest = {}  # type: dict[str, tuple[str, Any]]
        self.codes = {}  # type: dict[str, Any]
        self.again = 0
        self.dirty = 0
        self.total = 0

    def made(self, kernel):
        # type: (Any) -> None
        """Note that a kernel object was made, and by which line of the program."""
        data = describe(kernel)
        site = "%s:%d" % (data["path"], data["line"])
        if site not in self.codes and len(self.codes) >= _SITES:
            site = _OTHER
        self.counts[site] = self.counts.get(site, 0) + 1
        module = str(kernel.module.name) if kernel.module else ""
        code = getattr(kernel.func, "__code__", None)
        line = maker(data, 2)
        kernel._warpfix_made = line
        if module in self.latest or len(self.latest) < _SITES:
            self.latest[module] = (site, line)
        key = (site, data["key"], module)
        if site is _OTHER:
            pass
        elif key not in self.seen and len(self.seen) < _SITES:
            self.seen.add(key)
            self.probe.log.event("kernel", module=module or None, registered=line, **data)
        elif code is not self.codes.get(site) and "<locals>" not in data["qualname"] and self.again < 1000:
            # New code for the same line: its file ran again, no loop. Who asked for that?
            self.again += 1
            self.probe.log.event("remade", module=module, by=line, **data)
        self.codes[site] = code
        self.dirty += 1
        self.total += 1
        # Rarer and rarer: a program that makes a million kernels writes some dozens of times.
        if self.dirty >= max(1000, self.total // 8):
            self.flush()

    def flush(self):
        # type: () -> None
        """Write what was counted since the last time."""
        if self.dirty:
            counts, self.counts, self.dirty = self.counts, {}, 0
            self.probe.log.event("constructions", counts=counts)


def maker(data, depth):
    # type: (dict[str, Any], int) -> Any
    """The line that had a kernel made: that called the factory around it, or imported or executed its file."""
    parents = str(data["qualname"]).split(".<locals>.")[:-1]
    if parents:
        return frames.user_line(depth + 1, tuple(part.rsplit(".", 1)[-1] for part in parents))
    return frames.user_line(depth + 1, ("<module>",), data["path"])


def install(context, probe):
    # type: (Any, Any) -> None
    """Hook Kernel.__init__, and Module.mark_modified for the overloads: adding one always ends there, and nothing on
    the way is called once per launch."""
    kernel_class = context.Kernel
    original = kernel_class.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        # type: (Any, Any, Any) -> None
        original(self, *args, **kwargs)
        try:
            probe.constructions.made(self)
        except Exception as error:
            probe.log.fault("kernel", error)

    kernel_class.__init__ = __init__

    module_class = context.Module
    mark = module_class.mark_modified

    @functools.wraps(mark)
    def mark_modified(self):
        # type: (Any) -> Any
        try:
            frame = sys._getframe(1)
            if frame.f_code.co_name in ("add_overload", "_add_normalized_overload"):
                values = frame.f_locals
                kernel, signature = values.get("self"), values.get("sig")
                if isinstance(kernel, kernel_class):
                    probe.log.event(
                        "overload", module=self.name, sig=signature, used=frames.user_line(1), **describe(kernel)
                    )
        except Exception as error:
            probe.log.fault("overload", error)
        return mark(self)

    module_class.mark_modified = mark_modified
