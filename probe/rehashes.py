"""Hashings of a module that led to no load: what a kernel that is made again at every step costs each launch."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_KEPT = 20000


class Tally:
    """How often, and for how many seconds, a module was hashed again for nothing at one line."""

    __slots__ = ("count", "kernel", "line", "made", "module", "seconds", "told")

    def __init__(self, module, line, kernel, made):
        # type: (str, Any, str, Any) -> None
        self.module = module
        self.line = line
        self.kernel = kernel
        self.made = made
        self.count = 0
        self.told = 0
        self.seconds = 0.0


class Rehashes:
    """Tallies by module and line. A hash is taken for idle until a load claims it."""

    def __init__(self, probe):
        # type: (Any) -> None
        self.probe = probe
        self.forget()

    def forget(self):
        # type: () -> None
        """Start over: at the beginning and in a forked child."""
        self.tallies = {}  # type: dict[Any, Tally]
        self.dirty = 0
        self.total = 0

    def hashed(self, module, seconds, line):
        # type: (str, float, Any) -> Any
        """A module was hashed; ``line`` waited for it. Returns what ``claim`` takes back, or None."""
        key = (module, line)
        tally = self.tallies.get(key)
        if tally is None:
            if len(self.tallies) >= _KEPT:
                return None
            kernel, made = self.probe.constructions.latest.get(module, ("", None))
            tally = self.tallies[key] = Tally(module, line, kernel, made)
        tally.count += 1
        tally.seconds += seconds
        self.dirty += 1
        self.total += 1
        if self.dirty >= max(1000, self.total // 8):
            self.flush()
        return (tally, seconds)

    def claim(self, note):
        # type: (Any) -> None
        """That hash belonged to a load."""
        if note is not None:
            tally, seconds = note
            tally.count -= 1
            tally.seconds -= seconds

    def flush(self):
        # type: () -> None
        """Write the tallies that changed."""
        self.dirty = 0
        changed = [tally for tally in self.tallies.values() if tally.count != tally.told]
        if not changed:
            return
        listed = []
        for tally in changed:
            tally.told = tally.count
            spent = round(tally.seconds * 1e3, 3)
            listed.append([tally.module, tally.count, spent, tally.line, tally.kernel, tally.made])
        self.probe.log.event("rehashes", tallies=listed)
