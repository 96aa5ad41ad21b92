"""Compares two saved reports: of warpfix, of NVIDIA's ``warp_compile_probe.py``, or one of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpfix.findings import KernelRename
from warpfix.measure.profile import Profile
from warpfix.measure.report import SeedReport, summary
from warpfix.measure.stats import summarise
from warpfix.verify.compare import Expected, compare
from warpfix.verify.verdict import Check, Outcome, Totals, Verdict, judge

Report = Profile | SeedReport


def compare_reports(before: Report, after: Report, options: frozenset[str] = frozenset()) -> Verdict:
    """Judge two reports by what both of them hold; what is missing is said.

    Args:
        before: The earlier report.
        after: The later one.
        options: Warp options that the change between them is about.
    """
    if isinstance(before, Profile) and isinstance(after, Profile):
        renames = _moved(before, after)
        expected = Expected(renames=renames, options=options, folders=(before.cwd, after.cwd))
        verdict = compare(before, after, expected)
        notes = [f"taken for moved: {one.old_qualname} -> {one.new_qualname}" for one in renames]
        if before.command != after.command:
            notes.append("the commands of the two reports differ")
        return judge(verdict.checks, verdict.before, verdict.after, (*verdict.notes, *notes), renamed=bool(renames))
    old, new = _numbers(before), _numbers(after)
    checks = [_launches(old, new)]
    missing = "at least one report is none of warpfix and does not hold them"
    checks += [Check(name, Outcome.MISSING, missing) for name in ("options", "code", "program")]
    notes = [f"{name} is only in one report" for name in _COMPARED if (name in old) != (name in new)]
    return judge(checks, _totals(old, new), _totals(new, old), notes)


_COMPARED = {
    "builds": "builds",
    "identities": "identities",
    "generated_source_bytes": "generated_bytes",
    "lto_artifacts": "lto_artifacts",
}


def _numbers(report: Report) -> Mapping[str, Any]:
    if isinstance(report, Profile):
        return summary(report)
    numbers = {name: value for name, value in report.summary.items() if value is not None}
    numbers["launches"] = dict(report.launches)
    if "builds" not in numbers and report.modules:
        numbers["builds"] = sum(report.modules.values())
    return numbers


def _launches(old: Mapping[str, Any], new: Mapping[str, Any]) -> Check:
    before, after = old.get("launches"), new.get("launches")
    if not before or not after:
        return Check("launches", Outcome.MISSING, "at least one report holds no launches")
    form = "by kernel key and count"
    if before == after:
        return Check("launches", Outcome.HELD, f"{sum(before.values()):,} launches equal", form)
    key = next(key for key in sorted({**before, **after}) if before.get(key, 0) != after.get(key, 0))
    message = f"`{key}` was launched {before.get(key, 0):,} times before, {after.get(key, 0):,} after"
    gone, come = set(before) - set(after), set(after) - set(before)
    if gone and come and sum(before.values()) == sum(after.values()):
        # Keys change when a kernel moves; a report without definitions can't tell that from another kernel.
        message += "; a kernel that moved has another key, which these reports can't follow"
        return Check("launches", Outcome.UNVERIFIED, message, form)
    return Check("launches", Outcome.BROKEN, message, form)


def _totals(own: Mapping[str, Any], other: Mapping[str, Any]) -> Totals:
    """Counts that both reports hold, and the times of this one."""
    counts: dict[str, Any] = {
        field: (int(own[name]),) for name, field in _COMPARED.items() if name in own and name in other
    }
    module = [float(own["cold_module_ms_median"])] if "cold_module_ms_median" in own else []
    wall = [float(own["cold_wall_ms_median"]) / 1e3] if "cold_wall_ms_median" in own else []
    return Totals(**counts, module_ms=summarise(module), wall_s=summarise(wall))


def _moved(before: Profile, after: Profile) -> tuple[KernelRename, ...]:
    """Kernels that are launched under another qualname of the same file, where only one can be meant."""
    old, new = _kernels(before), _kernels(after)
    gone = [one for one in old if one not in new]
    come = [one for one in new if one not in old]
    renames = []
    for one in gone:
        short = one[1].rpartition(".")[2]
        same = [two for two in come if two[0] == one[0] and two[1].rpartition(".")[2] == short]
        rivals = [two for two in gone if two[0] == one[0] and two[1].rpartition(".")[2] == short]
        if len(same) == 1 and len(rivals) == 1:
            path, key = old[one]
            renames.append(KernelRename(path, one[1], same[0][1], key, new[same[0]][1]))
    return tuple(renames)


def _kernels(profile: Profile) -> dict[tuple[str, str], tuple[str, str]]:
    """(path relative to the command's folder, qualname) to (path, key) of every launched kernel."""
    found = {}
    for run in profile.runs:
        for process in run.processes:
            for signature in process.launches.signatures:
                kernel = signature.kernel
                found[kernel.path.removeprefix(profile.cwd), kernel.qualname] = (kernel.path, kernel.key)
    return found
