"""A proved change of an installed package as a patch for its maintainers: the diff, and above it what was measured."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from warpfix._version import __version__
from warpfix.errors import WarpfixError
from warpfix.files import unified_diff
from warpfix.measure.privacy import shown_command
from warpfix.measure.profile import Profile
from warpfix.project import is_installed
from warpfix.verify.text import place, wrap
from warpfix.verify.verdict import table

if TYPE_CHECKING:
    from warpfix.verify.engine import Applied


def installed_folder(profile: Profile, package: str) -> str:
    """The folder of an installed package that the measured command built kernels of.

    Raises:
        WarpfixError: it built none of that package, or the package is no installed one.
    """
    paths = {
        os.path.realpath(kernel.definition.path)
        for run in profile.cold
        for load in run.loads
        for kernel in load.kernels
        if kernel.definition.path
    }
    folders = set()
    for path in paths:
        parts = Path(path).parts
        for number in range(len(parts) - 1, 0, -1):
            if parts[number - 1] in ("site-packages", "dist-packages"):
                if parts[number] == package:
                    folders.add(str(Path(*parts[: number + 1])))
                break
    if len(folders) == 1:
        return folders.pop()
    if any(package in Path(path).parts and not is_installed(path) for path in paths):
        raise WarpfixError(
            f"{package} is not installed in site-packages: it is a project of its own, for `warpfix apply`"
        )
    names = sorted({name for path in paths if (name := _top(path)) is not None})
    known = f"; it builds kernels of {', '.join(names)}" if names else ""
    raise WarpfixError(f"the command builds no kernel of an installed package {package}{known}")


def _top(path: str) -> str | None:
    found = re.search(r"[/\\](?:site|dist)-packages[/\\]([^/\\]+)[/\\]", path)
    return None if found is None else found.group(1)


def patch_with_evidence(applied: Applied, package: str, folder: str) -> bytes:
    """The patch. What stands above the diff is prose, which ``git apply`` and ``patch`` pass over."""
    parent = os.path.dirname(folder)
    lines = [f"Subject: {package}: fewer Warp builds", ""]
    for planned in applied.kept:
        finding = planned.findings[0]
        lines += wrap(f"{place(finding.path, finding.line, parent)}: {planned.fix.summary}", "- ", "  ")
        lines += wrap(finding.message, "  because ", "  ")
        if planned.fix.proved:
            lines += wrap(f"proved from source: {planned.fix.proved}", "  ", "  ")
        if planned.fix.unproved:
            lines += wrap(f"for you to judge: {planned.fix.unproved}", "  ", "  ")
    lines += ["", "Measured", ""]
    for job, profile in applied.baseline.items():
        versions = sorted({p.warp_version for run in profile.runs for p in run.processes if p.warp_version})
        pythons = sorted({p.python_version for run in profile.runs for p in run.processes if p.warp_version})
        lines += [f"  $ {shown_command(profile.command)}", f"  target {profile.target}, Warp {', '.join(versions)}"]
        lines += [f"  Python {', '.join(pythons)}, {package} {_version(package, parent)}"]
        verdict = applied.judgement.verdicts.get(job.text) if applied.judgement is not None else None
        if verdict is not None:
            lines += ["", *(f"  {line}".rstrip() for line in table(verdict.before, verdict.after)), ""]
            for check in verdict.checks:
                form = f" (compared {check.form})" if check.form else ""
                lines += wrap(f"{check.message}{form}", f"  {check.invariant:9}  {check.outcome.value:10}  ")
        lines.append("")
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    lines += wrap(
        f"Found and proved by warpfix {__version__} on {today}: the edited files were served in place of the installed "
        "ones, which were not touched. Not verified: what the kernels wrote where it is not printed, and what this "
        "command does not run.",
    )
    diff = unified_diff(applied.changes, parent)
    return ("\n".join(lines) + "\n---\n\n").encode() + diff


def _version(package: str, parent: str) -> str:
    """The version of the distribution in that site-packages folder which brings the package."""
    for distribution in importlib.metadata.distributions(path=[parent]):
        tops = (distribution.read_text("top_level.txt") or "").split()
        files = distribution.files or ()
        if package in tops or any(file.parts[:1] == (package,) for file in files):
            return distribution.version
    return "(version unknown)"
