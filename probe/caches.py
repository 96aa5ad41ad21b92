"""Maps every cache folder that the program chooses below a private root: same choice to same place."""

import functools
import hashlib
import os

from . import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


class Caches:
    """The mapping. ``record`` is told each new choice."""

    def __init__(self, root, record):
        # type: (str, Any) -> None
        self.root = os.path.realpath(root)
        self.record = record
        self.seen = {}  # type: dict[str, str]

    def inside(self, path):
        # type: (str) -> bool
        """Whether a path already lies below the private root."""
        full = os.path.realpath(path)
        return full == self.root or full.startswith(self.root + os.sep)

    def map(self, choice, via):
        # type: (Any, str) -> Any
        """The private place for a chosen folder; what is private already, or no path, comes back as it is."""
        try:
            path = os.fspath(choice)
        except TypeError:
            return choice
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if self.inside(path):
            return choice
        full = os.path.realpath(path)
        mapped = self.seen.get(full)
        if mapped is None:
            digest = hashlib.sha256(full.encode("utf-8", "surrogateescape")).hexdigest()[:12]
            mapped = os.path.join(self.root, "chosen", digest)
            if len(self.seen) < 20000:
                self.seen[full] = mapped
            self.record(full, mapped, via)
        if os.path.isdir(full):
            # clear_kernel_cache() lists the folder: it must exist where the original does.
            os.makedirs(mapped, exist_ok=True)
        return mapped


def install(build, caches, log):
    # type: (Any, Caches, Any) -> None
    """Map what ``init_kernel_cache`` is given, by argument or by WARP_CACHE_PATH (the program may set it itself); note
    who clears a cache."""
    for name in ("clear_kernel_cache", "clear_lto_cache"):
        _hook_clear(build, name, log)
    original = getattr(build, "init_kernel_cache", None)
    if original is None:
        return

    @functools.wraps(original)
    def init_kernel_cache(path=None):
        # type: (Any) -> Any
        if path is not None:
            return original(caches.map(path, "init_kernel_cache"))
        chosen = os.environ.get("WARP_CACHE_PATH")
        if chosen and not caches.inside(chosen):
            return original(caches.map(chosen, "WARP_CACHE_PATH"))
        return original()

    build.init_kernel_cache = init_kernel_cache


def _hook_clear(build, name, log):
    # type: (Any, str, Any) -> None
    original = getattr(build, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def clear(*args, **kwargs):
        # type: (Any, Any) -> Any
        try:
            line = frames.user_line(1)
            log.repeated((name, line), "cache", what="cleared", via=name, line=line)
        except Exception as error:
            log.fault(name, error)
        return original(*args, **kwargs)

    setattr(build, name, clear)
