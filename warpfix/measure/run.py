"""Runs a command with the probe inside: once (``run_command``), or cold and warm (``measure``)."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from warpfix._version import __version__
from warpfix.errors import WarpfixError
from warpfix.files import private_folder
from warpfix.measure.causes import explain_warm
from warpfix.measure.inject import LOGS, Injection, inject
from warpfix.measure.privacy import mask_text, shown_command
from warpfix.measure.profile import ProcessRun, Profile, Run
from warpfix.measure.read import Watch, read_processes

STOP_HELP = "--stop-after-launches, --stop-after-seconds or --stop-when-idle end a program that does not end by itself"
TIMEOUT = "timeout"
INTERRUPT = "interrupt"
"""Beside the stop conditions, what ends a run before its end; neither is a success."""
_POLL = 0.02
_GRACE = 2.0
_TELL = 0.25


@dataclass(frozen=True)
class RunSettings:
    """How a command is run. Times are in seconds."""

    target: str = "native"
    timeout: float = 600.0
    stop_after_launches: int | None = None
    """End each process after this many launches, as a success."""
    stop_after_seconds: float | None = None
    stop_when_idle: float | None = None
    """End the command when nothing was built for this long, as a success."""
    prepare: str | None = None
    """Shell command to run before each run."""
    cleanup: str | None = None
    """Shell command to run after each run."""
    expect_status: int = 0
    """The exit status with which the command succeeds."""
    show_output: bool = False
    stdin: bytes | None = None
    """Replayed to every run; none means /dev/null."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that are set for the command beside those that it inherits."""
    levers: Mapping[str, Any] = field(default_factory=dict)
    """What to override inside the process, as ``warpfix.probe.levers`` reads it."""
    check_data: bool = False
    """Digest the arrays of every launch; times are then no evidence."""
    data_watch: int | None = None
    """With ``check_data``: the number of a launch whose arrays are kept, to be looked at."""
    keep_workspace: bool = False
    """Leave the private folders of ``measure`` behind, for looking at."""
    watch: Callable[[Path | None, float], None] | None = field(default=None, compare=False)
    """Told a few times a second where a run's logs are and for how many seconds it has gone on; no logs: it ended."""


class CutShort(WarpfixError):
    """The command did not end within ``--timeout``; ``run`` holds what it did until then."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


def run_command(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    state: str,
    workspace: str | os.PathLike[str],
    caches: str | os.PathLike[str],
    settings: RunSettings,
    overlay: Mapping[str, bytes] | None = None,
) -> Run:
    """Run a command once with the probe inside.

    Args:
        command: The command and its arguments; never passed through a shell.
        cwd: Working directory of the command.
        state: ``cold`` or ``warm``; only a label, ``caches`` decides.
        workspace: Private folder of this run for logs, probe and captured streams; created 0700. Not to be shared.
        caches: Private root of all compiler caches: empty for a cold run, that of an earlier run for a warm one.
        settings: Stop conditions, time limit, expected status.
        overlay: Absolute path to the bytes that are served in place of that file.

    Returns:
        What every process did. An unexpected exit status is in ``Run.exit_status``, not an error: see ``require_good``.

    Raises:
        CutShort: It did not end in time.
        WarpfixError: The command can't be started, or the probe itself could not start in it.
    """
    work = Path(workspace)
    try:
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
        injection = inject(
            work,
            Path(caches),
            environment=os.environ,
            overlay=overlay,
            stop_after_launches=settings.stop_after_launches,
            target=settings.target,
            check_data=settings.check_data,
            data_watch=settings.data_watch,
            levers=settings.levers,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise WarpfixError(f"can't put the probe into {work}: {reason} (TMPDIR chooses another place)") from error
    if settings.prepare:
        _side_command(settings.prepare, cwd, "--prepare")
    try:
        status, wall, stopped = _execute(command, Path(cwd), work, injection, settings)
    finally:
        if settings.cleanup:
            _side_command(settings.cleanup, cwd, "--cleanup")
    unstarted = last_lines(injection.folder / "boot-errors.txt", 1)
    if unstarted:
        raise WarpfixError(f"the probe could not start in process {unstarted[0]}")
    run = _seen(work, state, status, wall, stopped)
    for process in run.processes:
        if process.refused:
            raise WarpfixError(process.refused)
    if stopped == TIMEOUT:
        raise CutShort(f"the command did not end within {settings.timeout:g} s (--timeout); {STOP_HELP}", run)
    return run


def _seen(work: Path, state: str, status: int, wall: float, stopped: str | None) -> Run:
    """What the processes of a run have logged, whether or not it came to its end."""
    return Run(
        state=state,
        exit_status=status,
        wall=wall,
        stdout_path=str(work / "stdout"),
        stderr_path=str(work / "stderr"),
        processes=_cut_by_the_disk(read_processes(work / LOGS, stopped), work),
        stopped_by=stopped,
    )


def measure(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    samples: int = 1,
    settings: RunSettings,
    overlay: Mapping[str, bytes] | None = None,
    progress: Callable[[str], None] | None = None,
    partial: Callable[[Profile], None] | None = None,
) -> Profile:
    """Measure a command: per sample one cold run over empty private caches and one warm run over what it left.

    Args:
        command: The command and its arguments.
        cwd: Working directory of the command.
        samples: How many cold and warm pairs to run.
        settings: See ``RunSettings``.
        overlay: Absolute path to the bytes served in place of that file.
        progress: Told in one line what is about to happen.
        partial: Given what was seen, where the command fails, does not end or is interrupted after Warp was seen in
            it, before the error is raised.

    Raises:
        WarpfixError: The command fails, does not end, or can't be observed (no process reported).
    """
    say = progress or (lambda line: None)
    root = private_folder()
    runs: list[Run] = []
    kept = False

    def keep(run: Run) -> None:
        """Hand over what was seen until it went wrong."""
        if partial is not None and unobserved(run, command) is None:
            partial(_profile(command, cwd, settings, [*runs, run]))

    try:
        for number in range(samples):
            caches = root / f"caches-{number}"
            for state in ("cold", "warm"):
                done = len(runs)
                left = 2 * samples - done
                estimate = f", about {left * runs[-1].wall:.0f} s to go" if runs else ""
                say(f"run {done + 1} of {2 * samples} ({state}{estimate})")
                work, start = root / f"run-{done}", time.perf_counter()
                try:
                    run = run_command(
                        command,
                        cwd=cwd,
                        state=state,
                        workspace=work,
                        caches=caches,
                        settings=settings,
                        overlay=overlay,
                    )
                except CutShort as error:
                    keep(error.run)
                    raise
                except (KeyboardInterrupt, SystemExit):
                    # Who waits for ten minutes and gives up wants to know what they went into.
                    keep(_seen(work, state, -signal.SIGINT, time.perf_counter() - start, INTERRUPT))
                    raise
                try:
                    require_good(run, command, settings)
                except WarpfixError:
                    keep(run)
                    raise
                runs.append(explain_warm(runs[-1], run) if state == "warm" else run)
            shutil.rmtree(caches, ignore_errors=True)
        kept = settings.keep_workspace
    finally:
        if not kept:
            shutil.rmtree(root, ignore_errors=True)
    return _profile(command, cwd, settings, runs)


def _profile(
    command: Sequence[str], cwd: str | os.PathLike[str], settings: RunSettings, runs: Sequence[Run]
) -> Profile:
    return Profile(
        command=tuple(command),
        cwd=str(cwd),
        target=settings.target,
        runs=tuple(runs),
        environment=environment_facts(runs),
    )


def environment_facts(runs: Sequence[Run]) -> dict[str, str]:
    """What of the environment may enter a report: Warp's, CUDA's and NVRTC's variables, the hash seed, versions."""
    facts = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(("WARP_", "CUDA_", "NVRTC_")) or name == "PYTHONHASHSEED"
    }
    facts["warpfix"] = __version__
    facts["platform"] = f"{platform.system()} {platform.machine()}"
    facts["cpus"] = str(os.cpu_count())
    for run in runs:
        for process in run.processes:
            facts.setdefault("python", process.python_version)
            if process.warp_version:
                facts.setdefault("warp", process.warp_version)
    return facts


def require_good(run: Run, command: Sequence[str], settings: RunSettings) -> None:
    """Raise WarpfixError unless the run succeeded and the probe saw Warp in it."""
    if run.exit_status != settings.expect_status and run.stopped_by is None:
        how = f"exit status {run.exit_status}"
        if run.exit_status < 0:
            how = f"signal {_signal_name(-run.exit_status)}"
        last = last_lines(run.stderr_path) or last_lines(run.stdout_path)
        message = f"the command ends with {how} (expected {settings.expect_status}): {shown_command(command)}"
        if disk_is_full(Path(run.stderr_path).parent):
            message += f"; the disk that holds {tempfile.gettempdir()} is full (TMPDIR chooses another place)"
        raise WarpfixError(message + ("\n" + "\n".join("  | " + line for line in last) if last else ""))
    problem = unobserved(run, command)
    if problem:
        raise WarpfixError(problem)


_ROOM = 1 << 18


def disk_is_full(folder: Path) -> bool:
    """Whether less than a quarter of a megabyte is left where the logs and caches lie."""
    try:
        return shutil.disk_usage(folder).free < _ROOM
    except OSError:
        return False


def _cut_by_the_disk(processes: Sequence[ProcessRun], folder: Path) -> tuple[ProcessRun, ...]:
    """The processes; those whose log stops say so where the disk is full."""
    if not disk_is_full(folder):
        return tuple(processes)
    said = "log: the disk with the temporary files is full: what came last is missing (TMPDIR chooses another place)"
    return tuple(one if one.ended else replace(one, errors=(*one.errors, said)) for one in processes)


def unobserved(run: Run, command: Sequence[str]) -> str | None:
    """Why a run tells nothing, in one line: no process reported, or none imported Warp; None if it does tell."""
    if not run.processes:
        return f"no Python process of the command reported to the probe: {_probable_cause(command)}"
    if all(process.warp_version is None for process in run.processes):
        count = len(run.processes)
        seen = "the one Python process" if count == 1 else f"none of the {count} Python processes"
        verb = "never imported Warp" if count == 1 else "imported Warp"
        return f"{seen} of the command {verb}: there is nothing to measure (is it the right command and environment?)"
    return None


def last_lines(path: str | os.PathLike[str], count: int = 8) -> list[str]:
    """The last lines of a captured stream."""
    try:
        with Path(path).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16384))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    # Every machine without a GPU prints this one: where it stands alone, it reads like the cause.
    lines = [line for line in text.rstrip().splitlines() if not line.startswith("Warp CUDA warning: Could not find")]
    return [line[:300] for line in lines[-count:]]


def _probable_cause(command: Sequence[str]) -> str:
    name = Path(command[0]).name
    if name in ("docker", "podman", "apptainer", "singularity", "kubectl"):
        return f"{name} runs it in a container, where the probe's folder is not; run warpfix inside the container"
    if name in ("sudo", "doas", "su", "ssh"):
        return f"{name} starts it with another environment; run warpfix itself under {name}"
    said = _in_a_script(command)
    if said:
        return said
    if name == "env" and any(arg in ("-i", "-", "--ignore-environment") for arg in command[1:]):
        return "env -i empties the environment, and with it PYTHONPATH, through which the probe gets in"
    flags = [arg for arg in command[1:] if arg.startswith("-") and not arg.startswith("--")]
    for flag in flags:
        if flag in ("-m", "-c"):
            break
        for letter, words in (("I", "isolates it"), ("E", "makes it ignore PYTHONPATH"), ("S", "leaves out site")):
            if letter in flag[1:]:
                return f"python {flag} {words}, so the probe can't get in; leave the flag out for the measurement"
    return "it starts no Python, or one that ignores PYTHONPATH (-I, -E, -S, env -i, a container)"


_LOSES = re.compile(
    r"(?P<set>\bPYTHONPATH=(?!\S*\$\{?PYTHONPATH)\S*)"
    r"|(?P<unset>\bunset\b.*\bPYTHONPATH\b|\benv\b.*(?:-u ?|--unset=)PYTHONPATH\b)"
    r"|(?P<empty>\benv (?:-i|-|--ignore-environment)(?=\s))"
    r"|\bpython[\d.]* (?P<flag>-(?:I|E|S)[a-zA-Z]*)(?=\s|$)"
)


def _in_a_script(command: Sequence[str]) -> str | None:
    """What in a shell script, in the text after ``sh -c``, or in a shebang keeps the probe out."""
    where, text = "the command", shlex.join(command)
    script = shutil.which(command[0]) or command[0]
    if Path(command[0]).name in ("sh", "bash", "dash", "zsh", "ksh") and len(command) > 1:
        if "-c" not in command:
            script = next((arg for arg in command[1:] if not arg.startswith("-")), script)
        else:
            text = " ".join(command[command.index("-c") + 1 :])
    try:
        with Path(script).open("rb") as file:
            start = file.read(1 << 16)
    except OSError:
        start = b""
    if start and b"\0" not in start:
        where, text = script, start.decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        found = _LOSES.search(line)
        if found is None or (line.lstrip().startswith("#") and number > 1):
            continue
        place = where if where == "the command" else f"{where}:{number}"
        if found["set"]:
            hint = found["set"].replace("PYTHONPATH=", "PYTHONPATH=$PYTHONPATH:")
            return f"{place} sets PYTHONPATH, through which the probe gets in: write {hint} there"
        if found["unset"]:
            return f"{place} takes PYTHONPATH away, through which the probe gets in"
        if found["empty"]:
            return f"{place} empties the environment (env -i), and with it PYTHONPATH, through which the probe gets in"
        return f"{place} runs python {found['flag']}, which ignores PYTHONPATH; leave the flag out for the measurement"
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _side_command(text: str, cwd: str | os.PathLike[str], option: str) -> None:
    done = subprocess.run(text, shell=True, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [""]
        raise WarpfixError(
            f"the {option} command ends with exit status {done.returncode}: {mask_text(text)}: {last[0]}"
        )


def _execute(
    command: Sequence[str], cwd: Path, work: Path, injection: Injection, settings: RunSettings
) -> tuple[int, float, str | None]:
    """Start the command, wait under the stop conditions; exit status, wall time, and which condition ended it."""
    stdin_path = work / "stdin"
    try:
        stdin_path.write_bytes(settings.stdin or b"")
    except OSError as error:
        reason = error.strerror or str(error)
        raise WarpfixError(f"can't write to {work}: {reason} (TMPDIR chooses another place)") from error
    start = time.perf_counter()
    with (
        stdin_path.open("rb") if settings.stdin is not None else Path(os.devnull).open("rb") as stdin,
        (work / "stdout").open("wb") as stdout,
        (work / "stderr").open("wb") as stderr,
    ):
        try:
            process = subprocess.Popen(
                injection.command(command),
                cwd=cwd,
                env=injection.environment({**os.environ, **settings.environment}),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise WarpfixError(f"can't start {command[0]}: {reason}") from error
        shown = _Shown(work) if settings.show_output else None
        watch = Watch(injection.logs) if settings.stop_when_idle is not None else None
        told = start
        try:
            while True:
                try:
                    process.wait(_POLL)
                    break
                except subprocess.TimeoutExpired:
                    pass
                if shown:
                    shown.copy()
                elif settings.watch is not None and time.perf_counter() - told >= _TELL:
                    told = time.perf_counter()
                    settings.watch(injection.logs, told - start)
                met = _stop_reason(injection, settings, time.perf_counter() - start, watch)
                if met:
                    _end_tree(process)
                    return 0, time.perf_counter() - start, met
                if time.perf_counter() - start > settings.timeout:
                    _end_tree(process)
                    return process.returncode, time.perf_counter() - start, TIMEOUT
        except BaseException:
            _end_tree(process)
            raise
        finally:
            if settings.watch is not None:
                settings.watch(None, 0.0)
            if shown:
                shown.copy()
    wall = time.perf_counter() - start
    # Children that outlive the command belong to it: they must not run into the next measurement.
    stopped = _marker(injection)
    if _group_alive(process.pid):
        _end_group(process.pid)
    return (0 if stopped else process.returncode), wall, stopped


def _marker(injection: Injection) -> str | None:
    try:
        return (injection.logs / "stopped").read_text().strip() or None
    except OSError:
        return None


def _stop_reason(injection: Injection, settings: RunSettings, elapsed: float, watch: Watch | None) -> str | None:
    if settings.stop_after_seconds is not None and elapsed >= settings.stop_after_seconds:
        return "stop-after-seconds"
    if watch is not None and settings.stop_when_idle is not None and watch.idle() >= settings.stop_when_idle:
        return "stop-when-idle"
    if settings.stop_after_launches is not None:
        return _marker(injection)
    return None


def _group_alive(group: int) -> bool:
    if os.name == "nt":
        return False
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def _end_group(group: int) -> None:
    """Ask a process group to end, then make it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(group, number)
        except OSError:
            return
        deadline = time.perf_counter() + _GRACE
        while time.perf_counter() < deadline:
            if not _group_alive(group):
                return
            time.sleep(_POLL)


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    """End the command with all its children. What the probe saw is on disk already."""
    if process.poll() is not None and not _group_alive(process.pid):
        return
    if os.name == "nt":
        process.kill()
        process.wait()
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except OSError:
            break
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            continue
        if not _group_alive(process.pid):
            break
    process.wait()


class _Shown:
    """Copies the child's captured streams to our stderr while it runs (stdout is for data)."""

    def __init__(self, work: Path) -> None:
        self._files: list[IO[bytes]] = [(work / name).open("rb") for name in ("stdout", "stderr")]

    def copy(self) -> None:
        for file in self._files:
            text = file.read()
            if text:
                sys.stderr.write(text.decode("utf-8", "replace"))
                sys.stderr.flush()
