"""Runs a baseline and candidates under the overlay, interleaved, and judges each candidate.

A candidate is only a set of texts served in place of files, and what it claims. Nothing here writes to the project.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from warpfix.errors import WarpfixError
from warpfix.files import private_folder
from warpfix.findings import KernelRename
from warpfix.measure.privacy import shown_command
from warpfix.measure.profile import Profile, Run, Sample
from warpfix.measure.run import RunSettings, environment_facts, last_lines, require_good, run_command
from warpfix.verify.compare import Expected, compare, first_difference, real
from warpfix.verify.data import distance
from warpfix.verify.verdict import Check, Outcome, Status, Verdict, judge, merge, totals


@dataclass(frozen=True)
class Job:
    """A command on a target: one thing that a change must hold for."""

    argv: tuple[str, ...]
    target: str
    text: str
    """As it stands in reports."""


@dataclass(frozen=True)
class VerifyOptions:
    """How a change is verified. Times are in seconds."""

    commands: tuple[tuple[str, ...], ...]
    targets: tuple[str, ...] = ()
    """Each command must hold on each of these; none stands for that of ``settings``."""
    samples: int = 2
    """Cold runs of each version; two are the least that shows whether its counts are always the same."""
    stop_when_clear: bool = False
    """Whether one cold and one warm run of each version are enough where more of them could not say anything else."""
    max_time: float = 1800.0
    accept_stdout: bool = False
    settings: RunSettings = field(default_factory=RunSettings)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Every command on every target."""
        targets = self.targets or (self.settings.target,)
        return tuple(
            Job(argv, target, shown_command(argv) + (f" (on {target})" if len(targets) > 1 else ""))
            for argv in self.commands
            for target in targets
        )


@dataclass(frozen=True)
class Candidate:
    """Texts that stand for files, and what is claimed of them."""

    files: Mapping[str, bytes]
    """Absolute path to the edited bytes."""
    originals: Mapping[str, bytes]
    """The same paths to the bytes on disk, which the baseline is served."""
    renames: tuple[KernelRename, ...] = ()
    options: frozenset[str] = frozenset()
    checks: tuple[Check, ...] = ()
    """Checks that need no run (``interface``)."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on a candidate for each command, and over all."""

    status: Status
    verdicts: Mapping[str, Verdict]
    """Command, as typed, to its verdict."""
    runs: Mapping[str, tuple[Run, ...]]
    failure: tuple[str, ...] = ()
    """Last lines of the command's output where the candidate broke it."""
    cut_short: bool = False
    """Whether --max-time ended the sampling."""

    def reason(self) -> str:
        """Why the status is what it is, for the command that decides."""
        for text, verdict in self.verdicts.items():
            if verdict.status is self.status:
                return verdict.reason() + (f" (command: {text})" if len(self.verdicts) > 1 else "")
        return self.status.value

    def checks(self, outcome: Outcome) -> list[Check]:
        """All checks with that outcome, over the commands."""
        return [check for verdict in self.verdicts.values() for check in verdict.checks if check.outcome is outcome]


class OutOfTime(Exception):
    """The next run would pass --max-time."""


class Lab:
    """Private folders, the clock, and the runs of the baseline, which all candidates share."""

    def __init__(self, options: VerifyOptions, cwd: str, say: Callable[[str], None]) -> None:
        self.options = options
        self.cwd = cwd
        self.say = say
        self.baseline: dict[Job, list[Run]] = {job: [] for job in options.jobs}
        self.touched: dict[str, str] = {}
        self.runs_done = 0
        self._longest: dict[str, float] = {}
        self._root = private_folder()
        self._start = time.monotonic()

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    def measure_baseline(self, root: str | None = None) -> dict[Job, Profile]:
        """Run each command cold and warm as it stands. Files below ``root`` that the command writes are noted.

        Raises:
            WarpfixError: The baseline fails, does not end or can't be observed.
        """
        before = _snapshot(root) if root else {}
        for job in self.options.jobs:
            self.pair(job, None, self.baseline[job])
        after = _snapshot(root) if root else {}
        self.touched = {
            path: "changed" if path in before else "created"
            for path in sorted(after)
            if after[path] != before.get(path)
        }
        self.touched |= {path: "removed" for path in before if path not in after}
        return self.profiles()

    def profiles(self) -> dict[Job, Profile]:
        """What the runs of the baseline so far amount to, for each job."""
        return {job: self.profile(job) for job in self.options.jobs}

    def profile(self, job: Job) -> Profile:
        """What the runs of the baseline so far amount to."""
        runs = self.baseline[job]
        return Profile(job.argv, self.cwd, job.target, tuple(runs), environment_facts(runs))

    def pair(self, job: Job, overlay: Mapping[str, bytes] | None, into: list[Run]) -> None:
        """One cold run over empty caches and one warm run over what it left, appended to ``into`` as they end."""
        caches = self._root / f"caches-{self.runs_done}"
        try:
            for state in ("cold", "warm"):
                into.append(self.run(job, state, overlay, caches, must_succeed=into is self.baseline.get(job)))
        finally:
            shutil.rmtree(caches, ignore_errors=True)

    def cold(self, job: Job, overlay: Mapping[str, bytes] | None, whatever_the_time: bool = False) -> Run:
        """One cold run."""
        caches = self._root / f"caches-{self.runs_done}"
        try:
            return self.run(job, "cold", overlay, caches, False, whatever_the_time)
        finally:
            shutil.rmtree(caches, ignore_errors=True)

    def run(
        self,
        job: Job,
        state: str,
        overlay: Mapping[str, bytes] | None,
        caches: Path,
        must_succeed: bool,
        whatever_the_time: bool = False,
        watch: int | None = None,
    ) -> Run:
        """One run. ``watch``: the number of a launch whose arrays are to be kept.

        Raises:
            OutOfTime: It would pass --max-time.
        """
        elapsed = time.monotonic() - self._start
        expected = self._longest.get(state, 0.0)
        if self.runs_done and elapsed + expected > self.options.max_time and not whatever_the_time:
            raise OutOfTime
        about = f", {state}, about {expected:.0f} s" if expected else f", {state}"
        self.say(f"run {self.runs_done + 1}: {'edited' if overlay else 'as it stands'}{about}")
        number, self.runs_done = self.runs_done, self.runs_done + 1
        settings = replace(self.options.settings, target=job.target, data_watch=watch)
        done = run_command(
            job.argv,
            cwd=self.cwd,
            state=state,
            workspace=self._root / f"run-{number}",
            caches=caches,
            settings=settings,
            overlay=overlay,
        )
        if must_succeed:
            require_good(done, job.argv, settings)
        self._longest[state] = max(self._longest.get(state, 0.0), done.wall)
        return done

    # Judging.

    def try_once(self, candidate: Candidate, warm: bool = False) -> Judgement:
        """One cold run (and a warm one) of each job against the baseline so far: enough to refuse a candidate, not to
        accept it."""
        runs: dict[Job, list[Run]] = {job: [] for job in self.options.jobs}
        for job in self.options.jobs:
            failure = self._candidate_runs(job, candidate, runs[job], warm=warm)
            if failure is not None:
                return self._failed(candidate, job, failure, runs)
        return self._judgement(candidate, runs)

    def judge(self, candidate: Candidate) -> Judgement:
        """Sample the candidate and the baseline, interleaved (ABBA), and judge.

        The baseline runs at least twice, so that it is compared with itself before anything is held against the
        candidate. A candidate that one job breaks after that is not sampled further, on this job or another; nor, with
        ``stop_when_clear``, is one of which the first runs say all that counts can say.
        """
        runs: dict[Job, list[Run]] = {job: [] for job in self.options.jobs}
        cut_short = False
        try:
            for number in range(self.options.samples):
                for job in self.options.jobs:
                    # A B, then B A: the baseline's first pair is there already.
                    for arm in ("A", "B") if number % 2 == 0 else ("B", "A"):
                        if arm == "A":
                            if _cold(self.baseline[job]) <= number:
                                self.pair(job, candidate.originals, self.baseline[job])
                            continue
                        failure = self._candidate_runs(job, candidate, runs[job], warm=True)
                        if failure is not None:
                            return self._failed(candidate, job, failure, runs)
                        if self._judgement(candidate, {job: runs[job]}).status is Status.INVALID:
                            while _cold(self.baseline[job]) < 2:
                                self.pair(job, candidate.originals, self.baseline[job])
                            judgement = self._judgement(candidate, {one: some for one, some in runs.items() if some})
                            if judgement.status is Status.INVALID:
                                return judgement
                if self.options.stop_when_clear and (clear := self._clear(candidate, runs)) is not None:
                    return clear
        except OutOfTime:
            cut_short = True
        return self._explained(candidate, self._judgement(candidate, runs, cut_short), runs)

    def _clear(self, candidate: Candidate, runs: Mapping[Job, Sequence[Run]]) -> Judgement | None:
        """The judgement, where further runs could change nothing but the medians of times."""
        judgement = self._judgement(candidate, runs)
        ran = _executed(*runs.values())
        seen = {path: data for path, data in candidate.files.items() if real(path) in ran}
        # What no process executed stays unproved however often it is not executed; the rest may be clear.
        rest = self._judgement(replace(candidate, files=seen), runs) if seen else judgement
        if seen and rest.status not in (Status.GOOD, Status.NO_GAIN):
            return None
        for job, some in runs.items():
            checks = rest.verdicts[job.text].checks
            plain = all(one.outcome in (Outcome.HELD, Outcome.MISSING) and not one.form for one in checks)
            if (seen and not plain) or not all(map(one_thing_after_another, [*self.baseline[job], *some])):
                return None
        once = all(_cold(some) == 1 for some in runs.values())
        return _with_note(judgement) if once else judgement

    def _expected(self, candidate: Candidate, runs: Sequence[Run]) -> Expected:
        # A file that only one of several commands executes is verified by that one.
        ran = _executed(runs)
        return Expected(
            renames=candidate.renames,
            options=candidate.options,
            overlaid={path: digest(data) for path, data in candidate.files.items() if real(path) in ran},
            accept_stdout=self.options.accept_stdout,
        )

    def _explained(self, candidate: Candidate, judgement: Judgement, runs: Mapping[Job, Sequence[Run]]) -> Judgement:
        """Where equal code left other data: run both versions once more to keep the arrays of the first such launch."""
        verdicts = dict(judgement.verdicts)
        for job, some in runs.items():
            verdict = verdicts[job.text]
            check = next((one for one in verdict.checks if one.invariant == "data"), None)
            if verdict.broken or check is None or check.outcome is not Outcome.UNVERIFIED or not some:
                continue
            found = first_difference(self.baseline[job], some, self._expected(candidate, some))
            if found is None or not found.exact:
                continue
            try:
                sides = [self._samples(job, files, found.launch) for files in (candidate.originals, candidate.files)]
                words = distance(*sides) or "run once more, both versions left the same there"
            except (OutOfTime, WarpfixError):
                words = "how far apart was not measured: another run was not possible"
            told = replace(check, message=f"{check.message} ({words})")
            checks = tuple(told if one is check else one for one in verdict.checks)
            verdicts[job.text] = replace(verdict, checks=checks)
        return replace(judgement, verdicts=verdicts)

    def _samples(self, job: Job, files: Mapping[str, bytes], launch: int) -> list[Sample]:
        """The arrays of one launch, of the first process that made it."""
        caches = self._root / f"caches-{self.runs_done}"
        try:
            run = self.run(job, "cold", files, caches, False, watch=launch)
        finally:
            shutil.rmtree(caches, ignore_errors=True)
        return next((list(p.data.samples) for p in run.processes if p.data and p.data.samples), [])

    def rejudge(self, candidate: Candidate, judgement: Judgement) -> Judgement:
        """Judge a candidate by runs that were made for another one, which did the same."""
        runs = {job: judgement.runs[job.text] for job in self.options.jobs}
        made = self._judgement(candidate, runs, judgement.cut_short)
        return _with_note(made) if any(_ONCE in one.notes for one in judgement.verdicts.values()) else made

    def _candidate_runs(self, job: Job, candidate: Candidate, into: list[Run], warm: bool) -> str | None:
        """Run the candidate; the words for what went wrong where it can't even be run as the baseline was."""
        try:
            if warm:
                self.pair(job, candidate.files, into)
            else:
                into.append(self.cold(job, candidate.files))
        except WarpfixError as error:
            return str(error)
        return None

    def _failed(
        self,
        candidate: Candidate,
        job: Job,
        failure: str,
        runs: Mapping[Job, Sequence[Run]],
    ) -> Judgement:
        first, *rest = failure.splitlines()
        check = Check("program", Outcome.BROKEN, f"after the change, {first}")
        baseline = self.baseline[job]
        verdict = judge([check, *candidate.checks], totals(baseline), totals(runs[job]))
        kept = {job.text: tuple(runs[job])}
        return Judgement(Status.INVALID, {job.text: verdict}, kept, tuple(line.strip(" |") for line in rest))

    def _judgement(
        self,
        candidate: Candidate,
        runs: Mapping[Job, Sequence[Run]],
        cut_short: bool = False,
    ) -> Judgement:
        verdicts = {}
        failure: tuple[str, ...] = ()
        never = sorted(path for path in candidate.files if real(path) not in _executed(*runs.values()))
        message = f"no process executed {', '.join(never)}: what the edit does is not shown by this command"
        missing = [Check("text", Outcome.UNVERIFIED, message)] if never else []
        for job, some in runs.items():
            expected = self._expected(candidate, some)
            checks = [*candidate.checks, *(missing if _cold(some) else ())]
            verdict = compare(self.baseline[job], some, expected, checks=checks)
            if cut_short and verdict.status is not Status.INVALID and _cold(some) == 0:
                check = Check("launches", Outcome.UNVERIFIED, "--max-time ended before the edited program could run")
                verdict = judge([check, *candidate.checks], verdict.before, verdict.after)
            verdicts[job.text] = verdict
            for run in some:
                if run.exit_status != self.baseline[job][0].exit_status:
                    failure = tuple(last_lines(run.stderr_path) or last_lines(run.stdout_path))
        kept = {job.text: tuple(some) for job, some in runs.items()}
        return Judgement(merge(verdicts), verdicts, kept, failure, cut_short)


def one_thing_after_another(run: Run) -> bool:
    """Whether one thread of one process did all that has to do with Warp, up to the end or to a number of launches.

    Warp builds where a launch needs it: where two runs launch the same in the same order, and nothing goes on beside
    it, they build the same.
    """
    working = [process for process in run.processes if process.launches.total or process.loads]
    threads = {load.thread for process in working for load in process.loads}
    threaded = any(process.launches.threads for process in working)
    return len(working) <= 1 and len(threads) <= 1 and not threaded and run.stopped_by in (None, "stop-after-launches")


_ONCE = (
    "one cold and one warm run of the edited program: one thread launches the same in the same order each time, so "
    "that further runs would build the same; times are of one run (--samples N makes more)"
)


def _with_note(judgement: Judgement) -> Judgement:
    """Says that one run of each version was enough."""
    verdicts = {text: replace(one, notes=(*one.notes, _ONCE)) for text, one in judgement.verdicts.items()}
    return replace(judgement, verdicts=verdicts)


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal, as the overlay reports it."""
    return hashlib.sha256(data).hexdigest()


def unexecuted(candidate: Candidate, judgement: Judgement) -> set[str]:
    """The edited files that no process of any command executed."""
    ran = _executed(*judgement.runs.values())
    return {path for path in candidate.files if real(path) not in ran}


def _executed(*runs: Sequence[Run]) -> set[str]:
    return {real(path) for some in runs for run in some for process in run.processes for path in process.overlaid}


def _cold(runs: Sequence[Run]) -> int:
    return sum(run.state == "cold" for run in runs)


def _snapshot(root: str) -> dict[str, tuple[int, int]]:
    """Size and time of every file below ``root``, without what tools keep there; of none where there are too many."""
    found: dict[str, tuple[int, int]] = {}
    for folder, names, files in os.walk(root):
        if "pyvenv.cfg" in files:
            names.clear()
            continue
        if len(found) > _MANY:
            return {}
        names[:] = [name for name in names if name not in _OWN_FOLDERS and not name.endswith(".egg-info")]
        for name in files:
            if name.endswith((".pyc", ".pyo")):
                continue
            path = f"{folder}{os.sep}{name}"
            try:
                status = os.lstat(path)
            except OSError:
                continue
            found[path] = (status.st_mtime_ns, status.st_size)
    return found


_MANY = 50_000
_OWN_FOLDERS = {".git", ".hg", ".warpfix", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules"}
