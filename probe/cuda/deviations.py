"""Where the emulated device is not the real one: a closed list. Each deviation that a run meets is in its report."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

KINDS = {
    "not-executed": "compiled for the target and not executed: its CPU build failed",
    "no-blocks": "compiled for the target and not executed: this Warp has no cooperative blocks on the CPU (1.18)",
    "device-code": "executed as the CPU branch of code that asks for CUDA (__CUDA_ARCH__, threadIdx)",
    "mathdx": "executed with the CPU's tile algorithms: MathDx's own rounding was compiled, not run",
    "fast-math": "executed with the CPU's fast_math, whose rounding is not CUDA's",
    "deterministic": "executed in the CPU's order, without Warp's deterministic reductions",
    "tree": "built with the CPU's SAH constructor: queries may find the same things in another order",
    "properties": "a guess: registers and local memory of a kernel come from the driver",
    "occupancy": "a guess: the suggested block size comes from the driver",
    "unsupported": "refused: the emulated device does not have it",
}
"""The kinds. Those of a kernel's launches come first; docs/target.md says more of each."""


class Deviations:
    """Counts deviations and logs each when it is first met."""

    def __init__(self, log, line):
        # type: (Any, Any) -> None
        self.log = log
        self.line = line
        self.counts = {}  # type: dict[tuple[str, str], int]
        self.written = {}  # type: dict[tuple[str, str], int]
        self.launches = 0
        self.reported = 0

    def note(self, kind, what):
        # type: (str, str) -> None
        """Count one deviation of a kind."""
        key = (kind, what)
        known = self.counts.get(key, 0)
        self.counts[key] = known + 1
        if not known:
            self.written[key] = 1
            self.log.event("deviation", kind=kind, what=what, count=1, line=self.line(1))

    def launch(self, kinds, kernel):
        # type: (Any, str) -> None
        """Count one launch that runs under these kinds."""
        self.launches += 1
        for kind in kinds:
            self.note(kind, kernel)

    def unsupported(self, name):
        # type: (str) -> Exception
        """The error for an entry point that can't be answered."""
        self.note("unsupported", name)
        return RuntimeError("warpfix --target: the emulated CUDA device does not have %s" % name)

    def forget(self):
        # type: () -> None
        """In a forked child: what is counted from now on is the child's own."""
        self.counts.clear()
        self.written.clear()
        self.launches = self.reported = 0

    def flush(self):
        # type: () -> None
        """Write what was counted since the first time."""
        for key, count in self.counts.items():
            if count != self.written[key]:
                self.written[key] = count
                self.log.event("deviation", kind=key[0], what=key[1], count=count, line=None)
        if self.launches != self.reported:
            self.reported = self.launches
            self.log.event("deviated", launches=self.launches)
