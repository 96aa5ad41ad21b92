"""The profile of a measured command: what every process built, why, and what it launched. Plain data; no I/O.

Times are milliseconds, but ``Run.wall`` is in seconds. Times of events count from the start of their own process (its
first probe line), so that events of one process can be laid on one time line; nothing is compared across processes by
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA_VERSION = 1

PHASES = ("hash", "codegen", "pch", "native", "link", "load", "files", "wait")
"""The phases of a module load. They exclude each other and add up to it. ``link`` is MathDx's device-code link (LTO);
``native`` is Clang, NVRTC or ptxas, ``pch`` the part of it that made a precompiled header, which later builds share;
``files`` is looking up and filling the cache; ``wait`` is for other threads, which hold Warp's code generation lock."""


@dataclass(frozen=True)
class SourceLine:
    """A line of the application's or a library's source. ``line`` counts from 1; ``path`` is absolute."""

    path: str
    line: int
    function: str = ""


@dataclass(frozen=True)
class KernelDef:
    """Where a kernel object came from. ``key`` is Warp's, ``qualname`` Python's; ``line`` is that of the ``def``."""

    key: str
    qualname: str
    path: str
    line: int


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel inside one build. Digests are of generated code, normalised as ``warpfix.generated.code`` says."""

    definition: KernelDef
    overload: str = ""
    """Signature of the instance of a generic kernel; empty for others."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The kernel's own options (``enable_backward=`` and the like), which override the module's."""
    forward_code: str = ""
    backward_code: str = ""
    forward_bytes: int = 0
    """Bytes of the normal form of the code that the forward entry reaches."""
    backward_bytes: int = 0
    """The same for the adjoint entry, which replays forward functions too; 0 where there is none."""
    forward_functions: int = 0
    """How many functions the entry reaches, itself among them."""
    backward_functions: int = 0
    machine_code: Mapping[str, str] = field(default_factory=dict)
    """For CUDA targets: entry (``forward``/``backward``) to digest of its machine code out of the cubin."""
    ingredients: Mapping[str, Any] = field(default_factory=dict)
    """What it put into the module's hash: ``source`` (digest of its text), ``arguments`` (name to type), ``constants``
    (captured values and ``wp.static`` expressions, as text), ``functions`` (key to hash), ``loops`` (over a range)."""
    variant: str = ""
    """The beginning of its hash: tells it from others of the same definition in the same build."""


@dataclass(frozen=True)
class Cause:
    """Why a build happened. ``kind`` is one of the words of docs/causes.md (``first-load``, ``kernel-added``, ...)."""

    kind: str
    text: str
    """The cause in plain words, complete in itself."""
    line: SourceLine | None = None
    """The source line that made it happen (the ``def``, the option write, the launch with a new dtype, ...)."""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Load:
    """One variant of one Warp module made ready to launch: compiled, or taken from the cache, or failed."""

    id: int
    """Number within its process; launch signatures refer to it."""
    module: str
    hash: str
    device: str
    target: str
    """``cpu`` or ``sm_NN``."""
    block_dim: int
    outcome: str
    """``compiled``, ``cached``, ``failed``, or ``inherited`` (loaded by the parent before it forked: no cost here)."""
    start: float
    end: float
    phases: Mapping[str, float]
    thread: int
    kernels: tuple[BuiltKernel, ...]
    options: Mapping[str, Any]
    """Resolved module options that Warp hashed for this (module, block_dim), minus what warpfix itself set."""
    source_bytes: int
    lto_artifacts: int
    cause: Cause
    paid_by: SourceLine | None
    """The launch (or preload call) that waited for it."""
    links: Mapping[str, int] = field(default_factory=dict)
    """Device-code links by what asked for them: ``dot``, ``solver``, ``fft``; empty in older reports."""
    probe: float = 0.0
    """Milliseconds between ``start`` and ``end`` that the probe itself took: part of no phase."""
    functions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Key of each function that its kernels reach, to the same ingredients and ``hash``; empty in older reports."""

    @property
    def compiled(self) -> bool:
        """Whether this load was a build."""
        return self.outcome == "compiled"

    @property
    def milliseconds(self) -> float:
        """Module time: from the start of the load, hashing included, to the end, less what the probe did meanwhile."""
        return self.end - self.start - self.probe

    @property
    def machine_code(self) -> dict[str, str]:
        """Kernel entry (``scale_cuda_kernel_forward``, without Warp's hash) to the digest of its machine code."""
        return {
            f"{kernel.definition.key}_cuda_kernel_{part}": digest
            for kernel in self.kernels
            for part, digest in kernel.machine_code.items()
        }

    @property
    def identity(self) -> tuple[str, str, str, int]:
        """(module name, hash, target, block_dim), as in the documentation's vocabulary."""
        return (self.module, self.hash, self.target, self.block_dim)


@dataclass(frozen=True)
class LaunchSignature:
    """What two launches share when they are the same launch for the proof."""

    id: int
    kernel: KernelDef
    overload: str
    module: str
    load: int
    """``Load.id`` of the code that ran: options and generated code of this launch follow from it."""
    dim: tuple[int, ...]
    dtypes: tuple[str, ...]
    device: str
    block_dim: int
    max_blocks: int
    adjoint: bool
    kind: str
    """``launch``, ``recorded`` (a recorded command launched), ``capture_launch``."""
    line: SourceLine | None = None
    """The first line that launched it; not part of equality."""
    variant: str = ""
    """``BuiltKernel.variant`` of the kernel in its load; not part of equality either."""


@dataclass(frozen=True)
class LaunchLog:
    """All launches of one process in order. Signatures are interned; the sequence refers to them by id."""

    total: int
    signatures: tuple[LaunchSignature, ...]
    counts: Mapping[int, int]
    sequence: tuple[int, ...]
    """Signature ids in launch order; a prefix when ``total`` is larger than its length."""
    threads: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Per thread number, indices of its launches as signature ids (prefix, as above); empty if there is one thread."""
    digest: str = ""
    """Digest over the whole sequence of signature ids, beyond the prefix too."""


@dataclass(frozen=True)
class DataLog:
    """Digests of the arrays that the launches of one process were given, taken after each launch."""

    launches: int
    digest: str
    """Digest over all of them."""
    words: bytes = b""
    """A stream of uint32, little-endian, as ``warpfix.probe.data`` says; it ends where the process was killed."""
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Signature id to the names of its arrays."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What was not digested, in words, and how often."""
    samples: tuple[Sample, ...] = ()
    """The beginnings of the arrays of the one launch that was looked at; not in reports."""


@dataclass(frozen=True)
class Sample:
    """The beginning of an array as it was after a launch."""

    name: str
    scalar: str
    """Warp's name of the scalar type; empty for structs."""
    data: bytes
    whole: bool


@dataclass(frozen=True)
class OptionWrite:
    """A write to ``wp.config``, to a module's options, or a call of ``set_module_options``, as observed."""

    via: str
    """``config``, ``set_module_options``, ``options`` (the dict of a module)."""
    module: str | None
    option: str
    old: Any
    new: Any
    line: SourceLine | None
    at: float
    effect: str
    """``before-load``, ``rebuilt``, ``none`` (reached nothing it was meant for), ``unknown-option``, ``same-value``,
    ``not-code`` (a setting that never enters generated code: lateness has no meaning for it)."""
    missed: tuple[str, ...] = ()
    """Warp modules that were built without it although it was meant for them."""


@dataclass(frozen=True)
class Rehash:
    """Hashings of a module that led to no load, at one line: the price of a kernel that is made again and again."""

    module: str
    count: int
    milliseconds: float
    """Of all of them together."""
    line: SourceLine | None
    """What waited: the launch, or for ``module="unique"`` the line that made the kernel."""
    kernel: str = ""
    """``path:line`` of the kernel of this module that was made last before the first of them."""
    made_by: SourceLine | None = None
    """The line that made it."""


@dataclass(frozen=True)
class CacheEvent:
    """The program did something to a cache: cleared it, chose another folder, or had it passed by."""

    kind: str
    """``cleared``, ``moved`` or ``disabled``."""
    via: str
    """The call, setting or variable, such as ``clear_kernel_cache`` or ``WARP_CACHE_PATH``."""
    line: SourceLine | None
    at: float
    choice: str = ""
    """The folder that was chosen, where it was moved."""


@dataclass(frozen=True)
class Span:
    """A stretch of a process's time beside its loads. A ``launch`` is a moment: ``end`` is ``start``."""

    kind: str
    """``import`` (a top-level package), ``init`` (Warp's runtime), ``launch`` (the first of a signature)."""
    name: str
    """The package, or the kernel's key."""
    start: float
    end: float
    """Of an import: when it was last seen going on."""
    depth: int = 0
    """How many imports that are listed, or were too short to be, lie around it."""


@dataclass(frozen=True)
class Twin:
    """The CPU build of a CUDA module that executed its launches under ``--target``. No build of the program's."""

    module: str
    hash: str
    """The hash of the CUDA module that it stands for."""
    block_dim: int
    """1, or the module's own where its kernels need all threads of a block at once."""
    outcome: str
    """``compiled``, ``cached`` or ``failed``."""
    milliseconds: float
    error: str = ""


@dataclass(frozen=True)
class Deviation:
    """Something in which the emulated device was not the real one; the kinds are listed in docs/target.md."""

    kind: str
    what: str
    """The kernel, or the entry point of Warp's library."""
    count: int
    line: SourceLine | None = None
    """The first line that met it."""


@dataclass(frozen=True)
class ProcessRun:
    """What one process of the command did. A process in which Warp was never imported has ``warp_version`` None."""

    pid: int
    parent: int
    argv: tuple[str, ...]
    python_version: str
    warp_version: str | None
    started: float
    """Seconds since the epoch; orders the processes of a run."""
    ended: bool
    """False when the log stops without an end: killed, crashed, or stopped by a condition given to warpfix."""
    stopped_by: str | None
    wall: float
    loads: tuple[Load, ...]
    launches: LaunchLog
    option_writes: tuple[OptionWrite, ...] = ()
    kernel_definitions: Mapping[str, int] = field(default_factory=dict)
    """``path:line`` of a ``def`` to the number of times a kernel object was made from it."""
    data: DataLog | None = None
    """With ``--check-data``."""
    overlaid: Mapping[str, str] = field(default_factory=dict)
    """Absolute path of each file executed from the overlay, to the SHA-256 of the bytes that ran."""
    warp_output_lines: tuple[str, ...] = ()
    """Lines that Warp itself printed to stdout, so that the program's own output can be told apart."""
    twins: tuple[Twin, ...] = ()
    """Under ``--target``: what was built for the CPU to execute the launches, apart from the loads."""
    deviations: tuple[Deviation, ...] = ()
    """Under ``--target``: where the emulated device was not the real one."""
    deviated_launches: int = 0
    """How many launches ran under at least one deviation."""
    hidden_devices: int = 0
    """How many real devices the process was kept from seeing."""
    refused: str = ""
    """Why the target can't be emulated in this process, in one line."""
    errors: tuple[str, ...] = ()
    """Faults of the probe itself, recorded and never raised into the program."""
    executable: str = ""
    """The Python that ran, absolute."""
    main: str = ""
    """The file of ``__main__``; empty for ``-c`` and where Warp was never imported."""
    warp_imported: SourceLine | None = None
    """The line that imported Warp first."""
    levers: Mapping[str, Any] = field(default_factory=dict)
    """Options that warpfix itself set in this process (``what-if``), to their values; ``module: option`` for one
    module's. What Warp hashed has them; the program did not write them."""
    spans: tuple[Span, ...] = ()
    """Imports, initialisation and first launches, by start; empty in reports of earlier versions."""
    rehashes: tuple[Rehash, ...] = ()
    """By cost; hashings that belong to a load are in its phases."""
    cache_events: tuple[CacheEvent, ...] = ()
    unfinished: tuple[Span, ...] = ()
    """The native builds (kind ``build``, named by module) that went on when the log ends; ``end`` is not known."""
    unobserved: tuple[str, ...] = ()
    """What could not be observed, because this Warp lacks what all known versions have: sentences."""


@dataclass(frozen=True)
class Run:
    """One execution of the command: all of its processes, in order of start."""

    state: str
    """``cold`` or ``warm``."""
    exit_status: int
    wall: float
    stdout_path: str
    stderr_path: str
    processes: tuple[ProcessRun, ...]
    stopped_by: str | None = None

    @property
    def loads(self) -> list[Load]:
        """All loads of all processes."""
        return [load for process in self.processes for load in process.loads]

    @property
    def builds(self) -> list[Load]:
        """The loads that compiled."""
        return [load for load in self.loads if load.compiled]

    @property
    def rebuilds(self) -> list[Load]:
        """The builds of a module that the same process had built before, for the same target and block_dim."""
        found = []
        for process in self.processes:
            seen: set[tuple[str, str, int]] = set()
            for load in process.loads:
                if load.compiled:
                    key = (load.module, load.target, load.block_dim)
                    found += [load] if key in seen else []
                    seen.add(key)
        return found

    @property
    def module_milliseconds(self) -> float:
        """Sum of the module times of all loads."""
        return sum(load.milliseconds for load in self.loads)


@dataclass(frozen=True)
class Profile:
    """A measured command: its cold and warm runs, in the order in which they ran."""

    command: tuple[str, ...]
    cwd: str
    target: str
    runs: tuple[Run, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Only WARP_*, CUDA_*, NVRTC_*, PYTHONHASHSEED and versions; secrets never get here."""

    @property
    def cold(self) -> list[Run]:
        """The runs over empty private caches."""
        return [run for run in self.runs if run.state == "cold"]

    @property
    def warm(self) -> list[Run]:
        """The runs over what a cold run left."""
        return [run for run in self.runs if run.state == "warm"]
