"""The loop behind ``apply --verify`` and ``try``: measure, plan, run under the overlay, judge, write, confirm."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpfix.errors import EXIT_FINDINGS, EXIT_OK, WarpfixError
from warpfix.files import CannotWrite, Change, SourceFile, changes, check_writable, undo, write_all
from warpfix.findings import Applicability, KernelRename
from warpfix.index.model import Problem
from warpfix.index.read import read
from warpfix.measure.profile import Load, Profile, Run
from warpfix.measure.report import summary
from warpfix.plan import Dropped, Plan, Planned, render
from warpfix.project import discover, find_root
from warpfix.verify.compare import Expected, compare, real
from warpfix.verify.interface import check_interface
from warpfix.verify.lab import Candidate, Job, Judgement, Lab, OutOfTime, VerifyOptions, unexecuted
from warpfix.verify.patch import Patched, infer_renames
from warpfix.verify.verdict import Check, Outcome, Status, Totals, judge, totals

__all__ = ["Applied", "Proposal", "VerifyOptions", "apply_verified", "try_patch"]


@dataclass(frozen=True)
class Proposal:
    """What the rules and the plan propose for a measured command."""

    plan: Plan
    sources: Mapping[str, SourceFile]
    """Path to the file as read, for every path that the plan edits."""
    root: str | None = None
    """The folder that the edited files belong to, where that is not the project in which the command runs."""


@dataclass(frozen=True)
class Left:
    """A fix that the verification dropped, and why, in words."""

    planned: Planned
    reason: str
    invariant: str = ""
    """The invariant that it breaks, if it does."""


# --- try ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """The outcome of ``try``."""

    judgement: Judgement
    renames: tuple[KernelRename, ...]
    touched: Mapping[str, str]
    baseline: Mapping[Job, Profile] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether the patch may be applied."""
        return self.judgement.status is Status.GOOD

    def to_dict(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "status": self.judgement.status.value,
            "reason": self.judgement.reason(),
            "commands": {command: verdict.to_dict() for command, verdict in self.judgement.verdicts.items()},
            "renames": [[one.path, one.old_qualname, one.new_qualname] for one in self.renames],
            "files_written_by_the_command": dict(self.touched),
        }


def try_patch(
    patched: Patched,
    options: VerifyOptions,
    *,
    cwd: str,
    about: frozenset[str] = frozenset(),
    say: Callable[[str], None] = lambda line: None,
) -> Tried:
    """Judge a patch; nothing is written.

    Args:
        patched: The files before and after.
        options: Commands, samples and limits.
        cwd: Where the commands run.
        about: Warp options that the patch changes on purpose.
        say: Told in one line what is about to happen.

    Raises:
        WarpfixError: The command fails as it stands, does not end, or can't be observed.
    """
    after = {path: _decode(path, data) for path, data in patched.after.items()}
    with Lab(options, cwd, say) as lab:
        _announce(lab, writes=False)
        root = find_root(cwd) or cwd
        lab.measure_baseline(root)
        broken = _compile_check(after)
        if broken is not None:
            return Tried(_refused(lab, broken), (), lab.touched, lab.profiles())
        candidate = patch_candidate(lab, patched, about, root)
        judgement = lab.judge(candidate)
        return Tried(judgement, _launched(candidate.renames, judgement), lab.touched, lab.profiles())


def patch_candidate(lab: Lab, patched: Patched, about: frozenset[str], root: str) -> Candidate:
    """What a patch claims: its texts, the kernels that it seems to have moved, an interface that stays."""
    before = {path: _decode(path, data) for path, data in patched.before.items()}
    after = {path: _decode(path, data) for path, data in patched.after.items()}
    checks = [check_interface(before, after, _star_importers(root)), *_written_sources(lab)]
    return Candidate(patched.after, patched.before, infer_renames(before, after), about, tuple(checks))


def _refused(lab: Lab, check: Check) -> Judgement:
    runs = [run for some in lab.baseline.values() for run in some]
    verdict = judge([check], totals(runs), totals(()))
    return Judgement(Status.INVALID, {lab.options.jobs[0].text: verdict}, {})


def _launched(renames: Iterable[KernelRename], judgement: Judgement) -> tuple[KernelRename, ...]:
    """Of everything that moved, the kernels that the commands built."""
    built = {
        (real(kernel.definition.path), kernel.definition.qualname)
        for runs in judgement.runs.values()
        for run in runs
        for load in run.loads
        for kernel in load.kernels
    }
    return tuple(one for one in renames if (real(one.path), one.new_qualname) in built)


# --- apply --verify ----------------------------------------------------------------------------------------------


@dataclass
class Applied:
    """The outcome of ``apply --verify``, filled in as it goes on."""

    status: str = "nothing-to-do"
    """``written``, ``nothing-to-do``, ``refused`` (no good verdict), ``undone`` (the real tree disagreed), or
    ``proved`` (good, and not to be written)."""
    kept: tuple[Planned, ...] = ()
    left: list[Left] = field(default_factory=list)
    dropped: tuple[Dropped, ...] = ()
    judgement: Judgement | None = None
    refused: list[Judgement] = field(default_factory=list)
    baseline: Mapping[Job, Profile] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    """What was written, or would be."""
    written: tuple[str, ...] = ()
    confirmed: str = ""
    touched: Mapping[str, str] = field(default_factory=dict)
    root: str = ""

    def totals(self, job: Job) -> Totals:
        """Counts and times of the command as it stood."""
        return totals(self.baseline[job].runs)

    def rebuilds(self) -> list[Load]:
        """The builds of modules built before that remain: of the written program, else of the program as it stands."""
        runs: list[Sequence[Run]] = [profile.runs for profile in self.baseline.values()]
        if self.status == "written" and self.judgement is not None:
            runs = list(self.judgement.runs.values())
        return [load for some in runs for run in some[:1] for load in run.rebuilds]

    def unlaunched(self) -> list[tuple[str, int, str]]:
        """(path, line, name where it is known) of the kernels of edited files that were made and never launched."""
        if self.judgement is None:
            return []
        edited = {real(path) for planned in self.kept for path in planned.fix.edits}
        made: dict[tuple[str, int], str] = {}
        launched: set[tuple[str, int]] = set()
        for process in (p for runs in self.judgement.runs.values() for run in runs for p in run.processes):
            for site in process.kernel_definitions:
                path, _, line = site.rpartition(":")
                made.setdefault((path, int(line)), "")
            for kernel in (one.definition for load in process.loads for one in load.kernels):
                made[kernel.path, kernel.line] = kernel.qualname
            launches = process.launches
            launched |= {(s.kernel.path, s.kernel.line) for s in launches.signatures if launches.counts.get(s.id)}
        return sorted((*site, name) for site, name in made.items() if real(site[0]) in edited and site not in launched)

    def to_dict(self) -> dict[str, Any]:
        """The report for machines."""
        judgement = self.judgement
        return {
            "status": self.status,
            "reason": judgement.reason() if judgement else "",
            "commands": {c: v.to_dict() for c, v in judgement.verdicts.items()} if judgement else {},
            "baseline": {job.text: summary(profile) for job, profile in self.baseline.items()},
            "written": list(self.written),
            "confirmed": self.confirmed,
            "changed": [_planned_to_dict(planned) for planned in self.kept],
            "left": [
                *({**_planned_to_dict(o.planned), "reason": o.reason, "invariant": o.invariant} for o in self.left),
                *(
                    {"path": d.finding.path, "line": d.finding.line, "rule": d.finding.rule, "reason": d.reason}
                    for d in self.dropped
                ),
            ],
            "rebuilds": [_rebuild_to_dict(load) for load in self.rebuilds()],
            "not_launched": [{"path": path, "line": line, "kernel": name} for path, line, name in self.unlaunched()],
            "files_written_by_the_command": dict(self.touched),
        }

    @property
    def exit_status(self) -> int:
        """0: written, or nothing to do; 1: there was a candidate, and it was not good, or was not to be written."""
        return EXIT_OK if self.status in ("written", "nothing-to-do") else EXIT_FINDINGS


def apply_verified(
    propose: Callable[[Profile], Proposal],
    options: VerifyOptions,
    *,
    cwd: str,
    say: Callable[[str], None] = lambda line: None,
    write: bool = True,
) -> Applied:
    """Measure, plan, judge what the plan proposes, and write what is good.

    Args:
        propose: From a profile of the commands as they stand to a plan for them.
        options: Commands, samples and limits.
        cwd: Where the commands run.
        say: Told in one line what is about to happen.
        write: Whether what is good is written; else it is only returned.

    Raises:
        WarpfixError: The command fails as it stands, does not end or can't be observed; or a file can't be written.
    """
    with Lab(options, cwd, say) as lab:
        _announce(lab, writes=write)
        root = find_root(cwd) or cwd
        result = Applied(root=root)
        result.baseline = lab.measure_baseline(root)
        result.touched = lab.touched
        proposal = propose(_together(result.baseline, options))
        result.dropped = proposal.plan.dropped
        kept = list(proposal.plan.kept)
        if not kept:
            return result
        loop = _Loop(lab, proposal, result, proposal.root or root)
        if write:
            # Said before the runs, which may take long; looked at again when it is written.
            for owner, some in _by_root(loop.candidate(kept), root).items():
                check_writable(some, owner)
        result.kept, result.judgement = loop.settle(kept)
        # With the samples that the baseline got meanwhile.
        result.baseline = lab.profiles()
        if not result.kept or result.judgement is None or result.judgement.status is not Status.GOOD:
            result.status = "refused"
            return result
        candidate = loop.candidate(list(result.kept))
        result.changes = _changes(candidate)
        if write:
            _write_and_confirm(lab, result, candidate)
        else:
            result.status = "proved"
        return result


def _changes(candidate: Candidate) -> tuple[Change, ...]:
    return tuple(Change(path, candidate.originals[path], data) for path, data in sorted(candidate.files.items()))


def _by_root(candidate: Candidate, root: str) -> dict[str, list[Change]]:
    """The changes by the project that they are written to, each with a lock and a record of its own."""
    found: dict[str, list[Change]] = {}
    for change in _changes(candidate):
        found.setdefault(find_root(change.path) or root, []).append(change)
    return found


def _together(profiles: Mapping[Job, Profile], options: VerifyOptions) -> Profile:
    """One profile for the plan: what any of the commands does counts."""
    first = profiles[options.jobs[0]]
    if len(profiles) == 1:
        return first
    runs = []
    for state in ("cold", "warm"):
        some = [next(run for run in profile.runs if run.state == state) for profile in profiles.values()]
        processes = tuple(process for run in some for process in run.processes)
        runs.append(Run(state, 0, sum(run.wall for run in some), "", "", processes))
    return Profile(first.command, first.cwd, first.target, tuple(runs), first.environment)


class _Loop:
    """Finds the largest set of fixes with a good verdict: drops what breaks an invariant and what gains nothing."""

    def __init__(self, lab: Lab, proposal: Proposal, result: Applied, root: str) -> None:
        self.lab = lab
        self.proposal = proposal
        self.result = result
        self.importers = list(_star_importers(root))

    def settle(self, kept: list[Planned]) -> tuple[tuple[Planned, ...], Judgement | None]:
        judgement: Judgement | None = None
        while kept:
            candidate = self.candidate(kept)
            judgement = self.lab.judge(candidate)
            if judgement.status is Status.INVALID:
                self.result.refused.append(judgement)
                culprit, because = self.culprit(kept, judgement)
                broken = because.checks(Outcome.BROKEN)
                invariant = broken[0].invariant if broken else ""
                self.drop(kept, culprit, f"it breaks an invariant: {because.reason()}", invariant)
                continue
            never = unexecuted(candidate, judgement)
            unseen = [planned for planned in kept if never & set(planned.fix.edits)]
            if unseen and judgement.runs:
                names = ", ".join(sorted(Path(path).name for path in never))
                for planned in unseen:
                    self.drop(kept, planned, f"no process of the command executed {names}: nothing can be proved of it")
                if kept and self.candidate(kept).files == {p: d for p, d in candidate.files.items() if p not in never}:
                    # What was dropped never ran: the runs are evidence for the rest as they are.
                    judgement = self.lab.rejudge(self.candidate(kept), judgement)
                else:
                    continue
            if judgement.status is Status.UNVERIFIED and len(kept) > 1 and self.baseline_is_comparable():
                culprit, because = self.culprit(kept, judgement)
                self.drop(kept, culprit, f"it can't be verified: {because.reason()}")
                continue
            if judgement.status is Status.INCONCLUSIVE and (harmful := self.harmful(kept)):
                for planned in harmful:
                    self.drop(kept, planned, f"without it the others are good; with it: {judgement.reason()}")
                continue
            if judgement.status is not Status.GOOD:
                return tuple(kept), judgement
            useless = self.useless(kept, judgement)
            if not useless:
                return tuple(kept), judgement
            for planned in useless:
                self.drop(kept, planned, _gains_nothing(planned))
        return (), judgement

    def candidate(self, kept: Sequence[Planned]) -> Candidate:
        sources = {path: source.text for path, source in self.proposal.sources.items()}
        texts = render(Plan(tuple(kept), ()), sources)
        planned = changes(self.proposal.sources, texts)
        old = {change.path: sources[change.path] for change in planned}
        new = {change.path: texts[change.path] for change in planned}
        checks = [check_interface(old, new, self.importers), *_written_sources(self.lab)]
        return Candidate(
            files={change.path: change.after for change in planned},
            originals={change.path: change.before for change in planned},
            renames=tuple(dict.fromkeys(rename for one in kept for rename in one.fix.renames)),
            options=frozenset(option for one in kept for option in one.fix.options),
            checks=tuple(checks),
        )

    def drop(self, kept: list[Planned], planned: Planned, reason: str, invariant: str = "") -> None:
        kept.remove(planned)
        self.result.left.append(Left(planned, reason, invariant))

    def culprit(self, kept: Sequence[Planned], judgement: Judgement) -> tuple[Planned, Judgement]:
        """The fix that breaks an invariant, or can't be verified, by halves; and the judgement that shows it."""
        suspects, status = list(kept), judgement.status
        while len(suspects) > 1:
            half = suspects[: len(suspects) // 2]
            try:
                alone = self.lab.try_once(self.candidate(half))
            except OutOfTime:
                break
            if alone.status is status:
                suspects, judgement = half, alone
            else:
                suspects = suspects[len(half) :]
        return suspects[-1], judgement

    def baseline_is_comparable(self) -> bool:
        """Whether the program as it stands could be verified against itself."""
        return all(
            compare(runs[:2], runs[2:]).status not in (Status.UNVERIFIED, Status.INVALID)
            for runs in self.lab.baseline.values()
        )

    def harmful(self, kept: Sequence[Planned]) -> list[Planned]:
        """Fixes of one rule in the same files without which all others are good, though with them something is lost."""
        groups = _groups(kept)
        for group in groups if len(groups) > 1 else ():
            try:
                without = self.lab.try_once(self.candidate([one for one in kept if one not in group]))
            except OutOfTime:
                break
            if without.status is Status.GOOD:
                return group
        return []

    def useless(self, kept: Sequence[Planned], judgement: Judgement) -> list[Planned]:
        """Fixes without which the counts are as good: by module where the counts tell, else by leaving them out.

        Fixes of one rule in the same files stand or fall together: of three kernels that move, the first defined may
        cost nothing where it is, but a file that is mended by halves is the worse edit, and one run for each fix is
        not worth the difference.
        """
        groups = _groups(kept)
        if len(groups) == 1:
            return []
        gained = _gained(kept, self.lab.baseline, judgement)
        # A fix of the cache shows in the second run only.
        warm = any(_fewer(one.after.warm_builds, one.before.warm_builds) for one in judgement.verdicts.values())
        found: list[Planned] = []
        for group in groups:
            if any(planned in gained for planned in group):
                continue
            rest = [one for one in kept if one not in group and one not in found]
            if not rest:
                continue
            try:
                without = self.lab.try_once(self.candidate(rest), warm=warm)
            except OutOfTime:
                break
            if without.status is not Status.INVALID and not _worse(without, judgement):
                found += group
        return found


def _groups(kept: Sequence[Planned]) -> list[list[Planned]]:
    """Fixes of one rule in the same files, which stand or fall together."""
    groups: dict[tuple[str, ...], list[Planned]] = {}
    for planned in kept:
        groups.setdefault((planned.findings[0].rule, *sorted(planned.fix.edits)), []).append(planned)
    return list(groups.values())


def _gains_nothing(planned: Planned) -> str:
    reason = "it saves this command no build and no generated code"
    if planned.fix.applicability is Applicability.SAFE:
        reason += "; proved safe from the source, it is written by `apply` without --verify"
    return reason


def _gained(kept: Sequence[Planned], baseline: Mapping[Job, Sequence[Run]], judgement: Judgement) -> list[Planned]:
    """The fixes whose own modules show the gain: builds that their kernels caused, or modules, that are gone.

    A kernel that is made once instead of at every call gains, too: each making has its module hashed again.
    """
    first_before = [runs[0] for runs in baseline.values()]
    first_after = [runs[0] for runs in judgement.runs.values() if runs]
    before = [load for run in first_before for load in run.builds]
    after = [load for run in first_after for load in run.builds]
    names_before, names_after = {load.module for load in before}, {load.module for load in after}
    landed: dict[str, int] = {}
    moves: list[tuple[Planned, set[str], set[str], bool]] = []
    for planned in kept:
        old = {(real(rename.path), rename.old_qualname) for rename in planned.fix.renames}
        new = {(real(rename.path), rename.new_qualname) for rename in planned.fix.renames}
        old_modules = {load.module for load in before if _holds(load, old)}
        new_modules = {load.module for load in after if _holds(load, new)}
        for module in new_modules:
            landed[module] = landed.get(module, 0) + 1
        caused = _caused(before, old) - _caused(after, new)
        made = _made(first_before, old) - _made(first_after, new)
        moves.append((planned, old_modules, new_modules, caused > 0 or made > 0))
    gained = []
    for planned, old_modules, new_modules, fewer in moves:
        gone = old_modules - names_after
        shared = all(module in names_before or landed[module] > 1 for module in new_modules)
        if fewer or (gone and new_modules and shared):
            gained.append(planned)
    return gained


def _holds(load: Load, definitions: Collection[tuple[str, str]]) -> bool:
    return any((real(kernel.definition.path), kernel.definition.qualname) in definitions for kernel in load.kernels)


def _caused(loads: Iterable[Load], definitions: Collection[tuple[str, str]]) -> int:
    """How many builds of a module that was built before were caused by the definition of one of these kernels."""
    count = 0
    for load in loads:
        if load.cause.kind == "first-load" or load.cause.line is None:
            continue
        lines = {
            (kernel.definition.path, kernel.definition.line)
            for kernel in load.kernels
            if (real(kernel.definition.path), kernel.definition.qualname) in definitions
        }
        count += (load.cause.line.path, load.cause.line.line) in lines
    return count


def _made(runs: Iterable[Run], definitions: Collection[tuple[str, str]]) -> int:
    """How often kernel objects were made from these definitions."""
    count = 0
    for process in (process for run in runs for process in run.processes):
        lines = {
            f"{kernel.definition.path}:{kernel.definition.line}"
            for load in process.loads
            for kernel in load.kernels
            if (real(kernel.definition.path), kernel.definition.qualname) in definitions
        }
        count += sum(process.kernel_definitions.get(line, 0) for line in lines)
    return count


def _fewer(some: Sequence[int], others: Sequence[int]) -> bool:
    return bool(some and others) and max(some) < min(others)


def _worse(without: Judgement, with_it: Judgement) -> bool:
    """Whether leaving a fix out costs builds, bytes or kernels made in some command."""
    for command, verdict in without.verdicts.items():
        full = with_it.verdicts[command]
        for name in ("builds", "warm_builds", "entries", "lto_artifacts", "generated_bytes", "made"):
            some, all_ = getattr(verdict.after, name), getattr(full.after, name)
            # Names make generated text longer or shorter without making it other code.
            slack = 1.3 if name == "generated_bytes" else 1.0
            if some and all_ and min(some) > slack * max(all_):
                return True
    return False


def _write_and_confirm(lab: Lab, result: Applied, candidate: Candidate) -> None:
    """Write, run the real tree cold once, and undo the write where it does not do what was measured."""
    done: list[str] = []
    try:
        for root, some in _by_root(candidate, result.root).items():
            write_all(some, root)
            done.append(root)
        problem = _disagreement(lab, result, candidate)
    except BaseException:
        _undo(done)
        raise
    if problem is not None:
        _undo(done)
        result.status, result.confirmed = "undone", problem
        return
    result.status = "written"
    result.written = tuple(change.path for change in result.changes)
    result.confirmed = "one cold run of the written files gives the same counts, launches and output"


def _undo(done: Iterable[str]) -> None:
    for root in done:
        try:
            undo(root)
        except CannotWrite as error:
            raise CannotWrite(f"the write could not be undone: {error}") from error


def _disagreement(lab: Lab, result: Applied, candidate: Candidate) -> str | None:
    """What the written tree does otherwise than the edited program did, in words; None if nothing."""
    assert result.judgement is not None
    for job, runs in zip(lab.options.jobs, result.judgement.runs.values(), strict=True):
        try:
            real = lab.cold(job, None, whatever_the_time=True)
        except WarpfixError as error:
            return f"after writing, {str(error).splitlines()[0]}"
        counts = {len(run.builds) for run in runs if run.state == "cold"}
        if len(real.builds) not in counts:
            return f"the written files give {len(real.builds)} builds, the edited program gave {_some(counts)}"
        expected = Expected(
            renames=candidate.renames, options=candidate.options, accept_stdout=lab.options.accept_stdout
        )
        verdict = compare(lab.baseline[job], [real], expected)
        if verdict.status in (Status.INVALID, Status.UNVERIFIED):
            return f"the written files do otherwise than the edited program did: {verdict.reason()}"
    return None


def _some(counts: Collection[int]) -> str:
    return " or ".join(str(count) for count in sorted(counts))


# --- shared ------------------------------------------------------------------------------------------------------


def _announce(lab: Lab, writes: bool) -> None:
    """How many runs are planned is said before the first, on stderr."""
    count = len(lab.options.jobs)
    things = "commands" if count == len(lab.options.commands) else "pairs of command and target"
    each = "" if count == 1 else f" for each of {count} {things}"
    samples = lab.options.samples
    runs = (4 * samples + writes) * count
    fewer = f"; {(4 + writes) * count} where the first are clear" if lab.options.stop_when_clear else ""
    text = (
        f"up to {runs} runs are planned{each}: {samples} cold and {samples} warm of the program as it stands, as many "
    )
    text += f"of the edited one{', one after writing' if writes else ''}{fewer}"
    text += f" (at most {lab.options.max_time / 60:g} minutes)"
    print(f"warpfix: {text}", file=sys.stderr)


def _decode(path: str, data: bytes) -> str:
    import importlib.util

    try:
        return importlib.util.decode_source(data)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise WarpfixError(f"{path}: can't be read as Python: {error}") from error


def _compile_check(texts: Mapping[str, str]) -> Check | None:
    for path, text in texts.items():
        try:
            compile(text, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            where = f" line {line}" if line else ""
            message = f"the edited {Path(path).name} does not compile:{where} {getattr(error, 'msg', error)}"
            return Check("program", Outcome.BROKEN, message)
    return None


def _star_importers(root: str) -> Iterable[tuple[str, str]]:
    """The project's files that may star-import something."""
    for path in discover([root])[0].files:
        data = read(path)
        if isinstance(data, Problem):
            continue
        if b"*" in data and b"import" in data:
            yield path, data.decode("utf-8", "replace")


def _written_sources(lab: Lab) -> list[Check]:
    """A command that writes sources of the project measures a moving target."""
    sources = sorted(path for path in lab.touched if path.endswith((".py", ".pyw", ".toml", ".cfg")))
    if not sources:
        return []
    message = f"the command itself writes {', '.join(sources)}: it is not the same program in two runs"
    return [Check("text", Outcome.UNVERIFIED, message)]


def _planned_to_dict(planned: Planned) -> dict[str, Any]:
    finding = planned.findings[0]
    return {
        "path": finding.path,
        "line": finding.line,
        "rule": finding.rule,
        "summary": planned.fix.summary,
        "kernel_keys": [[rename.old_key, rename.new_key] for rename in planned.fix.renames],
    }


def _rebuild_to_dict(load: Load) -> dict[str, Any]:
    line = load.cause.line
    return {
        "module": load.module,
        "target": load.target,
        "block_dim": load.block_dim,
        "cause": load.cause.kind,
        "text": load.cause.text,
        "path": line.path if line else None,
        "line": line.line if line else None,
        "milliseconds": round(load.milliseconds, 1),
    }
