"""The options of every command that runs a program: declared once, read into ``RunSettings`` once."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from warpfix.cli.progress import progress as progress
from warpfix.errors import WarpfixError

if TYPE_CHECKING:
    from warpfix.measure.run import RunSettings
    from warpfix.verify.engine import VerifyOptions

Function = TypeVar("Function", bound=Callable[..., Any])

_END = "as a success"

_TARGET_HELP = "native, the devices Warp finds, or sm_NN: CUDA with no GPU (docs/target.md)"
_TARGET = (click.option("--target", default="native", show_default=True, help=f"{_TARGET_HELP}."),)
_TARGETS = (
    click.option(
        "--target",
        "targets",
        multiple=True,
        default=("native",),
        show_default=True,
        help=f"{_TARGET_HELP}; may be repeated: a fix must hold on each.",
    ),
)
_RUN = (
    click.option(
        "--timeout", type=click.FloatRange(0, min_open=True), default=600.0, show_default=True, help="Seconds."
    ),
    click.option(
        "--stop-after-launches", type=click.IntRange(1), help=f"End a process after so many launches, {_END}."
    ),
    click.option(
        "--stop-after-seconds", type=click.FloatRange(0, min_open=True), help=f"End the command then, {_END}."
    ),
    click.option(
        "--stop-when-idle", type=click.FloatRange(0, min_open=True), help="... when nothing was built so long."
    ),
    click.option("--prepare", help="Shell command to run before each run."),
    click.option("--cleanup", help="Shell command to run after each run."),
    click.option("--expect-status", type=int, default=0, show_default=True, help="Exit status of a good run."),
    click.option("--show-output", is_flag=True, help="Show the command's output, on stderr."),
)
_DATA = (
    click.option(
        "--check-data",
        is_flag=True,
        help="Digest the arrays of every launch, so that runs compare bit for bit. Reads them all after each launch: "
        "programs take many times longer, and their times are no evidence.",
    ),
)
_VERIFY = (
    click.option(
        "--samples",
        type=click.IntRange(2),
        help="Cold runs of each version; without it 2, and 1 where that is clear; 3 or more for a claim about time.",
    ),
    click.option(
        "--max-time", type=click.FloatRange(0, min_open=True), default=1800.0, show_default=True, help="Seconds."
    ),
    click.option("--accept-stdout", is_flag=True, help="A different output of the program is no fault."),
    click.option("--command", "commands", multiple=True, help="Another command to verify with; may be repeated."),
)


def run_options(function: Function) -> Function:
    """Decorate a click command with the options that say how a program is run."""
    return _apply(_TARGET + _RUN, function)


def command_options(function: Function) -> Function:
    """Decorate a click command with ``run_options`` but for ``--target``, which it declares in its own way."""
    return _apply(_RUN, function)


def data_option(function: Function) -> Function:
    """Decorate a click command, beside ``run_options``, with ``--check-data``: for those whose point is no time."""
    return _apply(_DATA, function)


def verify_options(function: Function) -> Function:
    """Decorate a click command with ``run_options`` and those of a verification."""
    return _apply(_TARGETS + _RUN + _DATA + _VERIFY, function)


def _apply(options: Sequence[Callable[[Any], Any]], function: Function) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def run_settings(values: dict[str, Any]) -> RunSettings:
    """Take the values of ``run_options`` out of a command's keyword arguments."""
    from warpfix.measure.run import RunSettings
    from warpfix.measure.target import parse_target

    values["target"] = parse_target(values["target"])
    stops = ("stop_after_launches", "stop_after_seconds", "stop_when_idle")
    names = ("target", "timeout", *stops, "prepare", "cleanup", "expect_status", "show_output")
    given = {name: values.pop(name) for name in names}
    return RunSettings(**given, check_data=values.pop("check_data", False), stdin=piped_stdin(), watch=progress().watch)


def verify_settings(values: dict[str, Any], command: Sequence[str]) -> VerifyOptions:
    """Take the values of ``verify_options`` out of a command's keyword arguments; ``command`` is what stood after --.

    Where the command line names none, the project's configuration may: ``commands`` in ``[tool.warpfix]``.

    Raises:
        WarpfixError: There is no command to run.
    """
    from warpfix.measure.target import parse_target
    from warpfix.verify.engine import VerifyOptions

    commands = [tuple(command)] if command else []
    given, source = list(values.pop("commands")), "--command"
    if not commands and not given:
        given, source = configured_commands(), "the command"
    for text in given:
        try:
            commands.append(tuple(shlex.split(text)))
        except ValueError as error:
            raise WarpfixError(f"can't read {source} {text!r}: {error}") from error
    if not commands or not all(commands):
        raise WarpfixError("no command to run: put it after --, as in: -- python -m app")
    targets = tuple(dict.fromkeys(parse_target(text) for text in values.pop("targets")))
    samples = values.pop("samples")
    values["target"] = targets[0]
    for argv in commands:
        # Said before any run is announced.
        if shutil.which(argv[0]) is None:
            raise WarpfixError(f"can't start {argv[0]}: there is no such command here")
    return VerifyOptions(
        commands=tuple(commands),
        targets=targets,
        samples=samples or 2,
        stop_when_clear=samples is None,
        max_time=values.pop("max_time"),
        accept_stdout=values.pop("accept_stdout"),
        settings=run_settings(values),
    )


def configured_commands() -> list[str]:
    """``commands`` of the project that the current folder lies in. They run where they are configured: at its root."""
    import os

    from warpfix.config import load_config
    from warpfix.project import find_root

    root = find_root(os.getcwd())
    commands = list(load_config(root).commands)
    if commands and root is not None and os.path.realpath(root) != os.path.realpath(os.getcwd()):
        raise WarpfixError(f"the commands in pyproject.toml are run from {root}: go there, or name one after --")
    return commands


def piped_stdin() -> bytes | None:
    """What was piped to warpfix, so that every run gets the same; None where no data waits."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return None
    import select

    try:
        ready, _, _ = select.select([sys.stdin], [], [], 0)
        return sys.stdin.buffer.read() if ready else None
    except (OSError, ValueError):
        return None
