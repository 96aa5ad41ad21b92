"""From findings to a plan: which fixes are written, which are left, and why. Deterministic; no I/O."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from warpfix.codemods.base import Edit
from warpfix.codemods.compose import compose
from warpfix.findings import Applicability, Finding, Fix, KernelRename
from warpfix.measure.profile import Load, Profile
from warpfix.prediction import Definition, choose, definition, isolate


@dataclass(frozen=True)
class PlanSettings:
    """What the user allows. ``named`` holds the codes and slugs that the user named with ``--select``."""

    verify: bool = False
    unsafe: bool = False
    named: Collection[str] = ()


@dataclass(frozen=True)
class Planned:
    """One fix that is kept, with the findings that it mends."""

    fix: Fix
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Dropped:
    """One finding that is left, and why, in words."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class Plan:
    """What will be written. ``edits`` are the kept fixes' edits by path, in order of precedence, each once."""

    kept: tuple[Planned, ...]
    dropped: tuple[Dropped, ...]

    @property
    def edits(self) -> dict[str, tuple[Edit, ...]]:
        """Path to the edits of all kept fixes."""
        return _edits(self.kept)

    @property
    def renames(self) -> tuple[KernelRename, ...]:
        """Every kernel whose definition moves."""
        return tuple(dict.fromkeys(rename for planned in self.kept for rename in planned.fix.renames))


def make_plan(
    findings: Iterable[Finding],
    sources: Mapping[str, str],
    settings: PlanSettings = PlanSettings(),
    profile: Profile | None = None,
) -> Plan:
    """Decide which fixes are kept.

    Args:
        findings: From the rules, suppressed ones left out.
        sources: Path to the text that the edits' positions refer to, for every path that a fix touches.
        settings: What the user allows.
        profile: A measured command, if there is one: a fix is then kept only if it can help it and can't hurt it.
    """
    ordered = sorted(findings, key=lambda finding: (finding.path, finding.line, finding.column, finding.code))
    kept: list[Planned] = []
    dropped: list[Dropped] = []
    evidence = _Evidence(profile) if profile is not None else None
    for finding in ordered:
        reason = _refusal(finding, settings, evidence)
        if reason is not None:
            dropped.append(Dropped(finding, reason))
            continue
        assert finding.fix is not None
        same = next((number for number, one in enumerate(kept) if one.fix == finding.fix), None)
        if same is None:
            kept.append(Planned(finding.fix, (finding,)))
        else:
            kept[same] = Planned(kept[same].fix, (*kept[same].findings, finding))
    if evidence is not None:
        kept = _only_what_pays(kept, dropped, evidence, settings)
    return Plan(*_without_conflicts(kept, dropped, sources))


def render(plan: Plan, sources: Mapping[str, str]) -> dict[str, str]:
    """Path to new text, for every file whose text the plan changes."""
    result = {}
    for path, edits in plan.edits.items():
        text, conflicts = compose(sources[path], edits, path)
        assert not conflicts, "a plan holds no conflicts"
        if text != sources[path]:
            result[path] = text
    return result


def _refusal(finding: Finding, settings: PlanSettings, evidence: _Evidence | None) -> str | None:
    """Why a finding's fix is not written, as far as it can be said of this finding alone."""
    fix = finding.fix
    if fix is None:
        return finding.declined or finding.advice
    if finding.data.get("needs_profile") and evidence is None:
        return f"{fix.unproved} (written with --select {finding.rule} by --verify, or with --profile)"
    if "isolates" in finding.data and evidence is None:
        stays = f"{finding.data['not_hoisted']}; apart from the others: " if "not_hoisted" in finding.data else ""
        return f"{stays}{fix.unproved} (written by --verify, or with --profile)"
    named = finding.code in settings.named or finding.rule in settings.named
    if fix.applicability is Applicability.ASK and not (named and (settings.verify or settings.unsafe)):
        how = f"--select {finding.rule}" + ("" if settings.verify else " --unsafe-fixes")
        return f"{fix.unproved or 'it changes what others get'} (written only with {how})"
    measured = fix.applicability is Applicability.MEASURED
    if measured and not (settings.verify or settings.unsafe or evidence is not None):
        return (
            f"{fix.unproved or 'only a measurement can say whether it pays'} (written by --verify, or with --profile)"
        )
    if evidence is not None:
        adjoint = next((name for path, name in fix.needs_no_adjoint if evidence.has_adjoint(path, name)), None)
        if adjoint is not None:
            return f"an adjoint of `{adjoint}` is launched in the measured command"
    return None


def _only_what_pays(
    kept: Sequence[Planned], dropped: list[Dropped], evidence: _Evidence, settings: PlanSettings
) -> list[Planned]:
    """Drop fixes that the measured command shows to be useless, or to make it build more."""
    kept = _only_isolations_that_pay(kept, dropped, evidence)
    company: dict[str, int] = {}
    for planned in kept:
        for module, path, name in _moves(planned):
            if evidence.builds(path, name):
                company[module] = company.get(module, 0) + 1
    result = []
    for planned in kept:
        reason = _does_not_pay(planned, evidence, settings, company)
        if reason is None:
            result.append(planned)
        else:
            dropped += [Dropped(finding, reason) for finding in planned.findings]
    return result


def _only_isolations_that_pay(kept: Sequence[Planned], dropped: list[Dropped], evidence: _Evidence) -> list[Planned]:
    """Of the kernels that would get a Warp module of their own, those that save builds together, or make them smaller.

    Isolating too many is worse than none: kernels that are all there before the first launch are one build now.
    """
    groups: dict[str, set[Definition]] = {}
    settled: set[Definition] = set()
    for planned in kept:
        module = _isolated_from(planned)
        if module is not None:
            groups.setdefault(module, set()).update(_defined(planned))
        else:
            settled |= {definition(path, name) for _, path, name in _moves(planned)}
    if not groups:
        return list(kept)
    chosen = {module: choose(evidence.profile, kernels, settled) for module, kernels in groups.items()}
    result = []
    for planned in kept:
        module = _isolated_from(planned)
        if module is None or _defined(planned) <= chosen[module]:
            result.append(planned)
            continue
        outcome = isolate(evidence.profile, groups[module], settled)
        name = planned.fix.renames[0].old_qualname.rpartition(".")[2]
        if isolate(evidence.profile, _defined(planned)) is None:
            reason = f"the measured command never builds `{name}`, so nothing can be proved of it"
        elif outcome is not None and outcome.builds_after > outcome.builds_before:
            reason = (
                f"with modules of their own the measured command would build {outcome.builds_after} modules in place "
                f"of {outcome.builds_before}: these kernels are made before their module is built"
            )
        else:
            reason = f"`{name}` has its module built no more often than it would be in one of its own"
        dropped += [Dropped(finding, reason) for finding in planned.findings]
    return result


def _isolated_from(planned: Planned) -> str | None:
    """The shared Warp module (with its file) that a fix takes a kernel out of."""
    for finding in planned.findings:
        module = finding.data.get("isolates")
        if isinstance(module, str):
            return f"{module} {finding.path}"
    return None


def _defined(planned: Planned) -> set[Definition]:
    return {definition(rename.path, rename.old_qualname) for rename in planned.fix.renames}


def _does_not_pay(
    planned: Planned, evidence: _Evidence, settings: PlanSettings, company: Mapping[str, int]
) -> str | None:
    fix = planned.fix
    moves = _moves(planned)
    if not moves:
        return None
    built = [move for move in moves if evidence.builds(*move[1:])]
    if not built:
        name = moves[0][2].rpartition(".")[2]
        if settings.verify:
            return f"the measured command never builds `{name}`, so nothing can be proved of it"
        if (
            any(evidence.module_built(module, path) for module, path, _ in moves)
            or fix.applicability is not Applicability.SAFE
        ):
            return f"the measured command never builds `{name}`, and would after the change"
        return None
    if fix.applicability is Applicability.SAFE:
        return None
    keeps = all(finding.data.get("keeps_module") for finding in planned.findings)
    for module, path, name in built:
        if keeps:
            # It stays in its module: fewer builds only where that module is built more than once.
            if any(evidence.rebuilt(load) for load in evidence.builds(path, name)):
                return None
        elif evidence.module_built(module, path) or company.get(module, 0) > 1:
            return None
    return "the measured command would not build fewer modules"


def _moves(planned: Planned) -> list[tuple[str, str, str]]:
    """(Warp module that it lands in, path, old qualname) of each kernel that a fix moves or changes the module of."""
    found = []
    for finding in planned.findings:
        module = finding.data.get("landing")
        if isinstance(module, str):
            found += [(module, rename.path, rename.old_qualname) for rename in planned.fix.renames]
    return found


class _Evidence:
    """What a profile says about kernels by definition, from its cold runs."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._builds: dict[tuple[str, str], list[Load]] = {}
        self._modules: dict[str, list[Load]] = {}
        self._main: set[str] = set()
        self._adjoint: set[tuple[str, str]] = set()
        for run in profile.cold[:1]:
            for load in run.builds:
                self._modules.setdefault(load.module, []).append(load)
                for kernel in load.kernels:
                    key = (_same(kernel.definition.path), kernel.definition.qualname)
                    self._builds.setdefault(key, []).append(load)
                    if load.module == "__main__":
                        self._main.add(key[0])
        for run in profile.runs:
            for process in run.processes:
                for signature in process.launches.signatures:
                    if signature.adjoint:
                        self._adjoint.add((_same(signature.kernel.path), signature.kernel.qualname))

    def builds(self, path: str, qualname: str) -> list[Load]:
        """Builds that contained the kernel."""
        return self._builds.get((_same(path), qualname), [])

    def module_built(self, module: str, path: str) -> bool:
        """Whether the command built the Warp module; a script's own is called ``__main__`` when it runs."""
        return module in self._modules or _same(path) in self._main

    def rebuilt(self, load: Load) -> bool:
        """Whether the module of a build was built more than once for one target and block size."""
        same = [
            one for one in self._modules[load.module] if (one.target, one.block_dim) == (load.target, load.block_dim)
        ]
        return len(same) > 1

    def has_adjoint(self, path: str, qualname: str) -> bool:
        """Whether an adjoint of the kernel was launched."""
        return (_same(path), qualname) in self._adjoint


def _same(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _edits(kept: Iterable[Planned]) -> dict[str, tuple[Edit, ...]]:
    found: dict[str, dict[Edit, None]] = {}
    for planned in kept:
        for path, edits in planned.fix.edits.items():
            found.setdefault(path, {}).update(dict.fromkeys(edits))
    return {path: tuple(edits) for path, edits in sorted(found.items())}


def _without_conflicts(
    kept: list[Planned], dropped: list[Dropped], sources: Mapping[str, str]
) -> tuple[tuple[Planned, ...], tuple[Dropped, ...]]:
    """Drop every fix of which some edit can't be applied with the others, whole, until all the rest compose."""
    while True:
        refused: dict[Edit, str] = {}
        where: dict[Edit, str] = {}
        for path, edits in _edits(kept).items():
            if path not in sources:
                refused.update((edit, "its file was not read") for edit in edits)
                continue
            for conflict in compose(sources[path], edits, path).conflicts:
                refused[conflict.edit] = conflict.reason
                where[conflict.edit] = path
        if not refused:
            order = {id(finding): number for number, finding in enumerate(one.finding for one in dropped)}
            dropped.sort(key=lambda one: (one.finding.path, one.finding.line, order[id(one.finding)]))
            return tuple(kept), tuple(dropped)
        remaining = []
        for planned in kept:
            reason = next(
                (refused[edit] for edits in planned.fix.edits.values() for edit in edits if edit in refused), None
            )
            if reason is None:
                remaining.append(planned)
            else:
                dropped += [Dropped(finding, reason) for finding in planned.findings]
        kept = remaining
