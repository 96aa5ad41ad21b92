"""What a scan gives its renderers. Plain data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warpfix.findings import Finding
from warpfix.index.model import Problem


@dataclass(frozen=True)
class ScannedProject:
    """One project of a scan."""

    root: str
    editable: bool
    files: int
    """Python files seen."""
    warp_files: int
    """Those that have to do with Warp, and were parsed."""
    left_out: int
    """Test and vendored files among the ones asked for, that nothing was reported for."""
    warp_min: str | None
    warp_min_source: str


@dataclass(frozen=True)
class ScanResult:
    """Findings and problems of a scan, with the texts that excerpts are taken from."""

    projects: tuple[ScannedProject, ...]
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    texts: Mapping[tuple[str, int | None], str] = field(default_factory=dict)
    """Path and, in a notebook, number of the cell, to the text that lines count in."""
    statistics: Mapping[str, float] = field(default_factory=dict)
    """Seconds by stage (``discover``, ``index``) and by rule code."""
    with_profile: bool = False
    refuted: tuple[tuple[Finding, str], ...] = ()
    """What the profile refutes, and why, in words: left out."""
    known: int = 0
    """Findings that a baseline lists: left out."""
    stale: tuple[tuple[str, str], ...] = ()
    """Entries of a baseline that nothing corresponds to any more: its path, and the entry in words."""
    since: str | None = None
    """With ``--diff``: the revision that the reported lines differ from."""


def shown_place(finding: Finding) -> str:
    """Where a finding is: ``app.py:9``, or ``book.ipynb:cell 3:2``."""
    cell = "" if finding.cell is None else f"cell {finding.cell}:"
    return f"{shown_path(finding.path)}:{cell}{finding.line}"


def shown_path(path: str, base: str | None = None) -> str:
    """A path as it is shown: relative to the current folder where it lies below it, with forward slashes."""
    start = base if base is not None else str(Path.cwd())
    try:
        relative = os.path.relpath(path, start)
    except ValueError:  # another drive
        return Path(path).as_posix()
    if relative.startswith(".."):
        return Path(path).as_posix()
    return Path(relative).as_posix()
