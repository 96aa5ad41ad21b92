"""What a rule says: findings and the fixes that they offer. Plain data; no I/O."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warpfix.codemods import Edit


class Applicability(str, enum.Enum):
    """How much a fix needs before it may be written."""

    SAFE = "safe"
    """Kept by proof from source: all that a static ``apply`` does."""
    MEASURED = "measured"
    """Kept, and worth it only where a profile says so: ``apply --verify``, ``--profile`` or ``--unsafe-fixes``."""
    ASK = "ask"
    """Changes numerics, capability, policy or what other consumers get: only when the user names its rule."""


@dataclass(frozen=True)
class KernelRename:
    """One kernel's definition before and after a fix; the verification matches launches by it.

    Paths are absolute; qualnames are Python's (``make.<locals>.scale``); keys are Warp's (``make__locals__scale``).
    """

    path: str
    old_qualname: str
    new_qualname: str
    old_key: str
    new_key: str


@dataclass(frozen=True)
class Fix:
    """A proposed change: all of its edits are written, or none.

    ``edits`` maps an absolute path to the codemod edits for that file, located in the text the index read.
    ``options`` names the Warp options that the fix is about: the only ones that may differ afterwards.
    ``needs_no_adjoint`` names kernels (absolute path, qualname) on which no adjoint may be launched in the measured
    run, else the fix is dropped.
    """

    applicability: Applicability
    summary: str
    edits: Mapping[str, tuple[Edit, ...]]
    renames: tuple[KernelRename, ...] = ()
    options: frozenset[str] = frozenset()
    needs_no_adjoint: tuple[tuple[str, str], ...] = ()
    proved: str = ""
    """What was proved from source, in words."""
    unproved: str = ""
    """What was not, in words: why the applicability is not ``safe``."""


@dataclass(frozen=True)
class Cost:
    """What a finding cost in the measured command. Milliseconds are of module time summed over its builds."""

    builds: int
    milliseconds: float
    ran: bool = True
    repeats: int = 0
    """Those of the builds that built a module again, for the same target and block size: the most that a fix saves."""
    repeats_milliseconds: float = 0.0


@dataclass(frozen=True)
class Finding:
    """One thing that a reader can act on. Lines and columns count from 1; ``path`` is absolute."""

    code: str
    rule: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    advice: str
    """What the reader can do: the fix in words, or why there is none and what to do by hand."""
    kernel: str | None = None
    """Python qualname of the kernel that it is about, if any: the key for joining with a profile."""
    fix: Fix | None = None
    declined: str | None = None
    """Why no fix is offered, in plain words."""
    cost: Cost | None = None
    cell: int | None = None
    """Number of the notebook's cell that ``line`` and ``end_line`` count in; None for a finding in a file."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Rule-specific facts for machine formats; JSON-able."""
