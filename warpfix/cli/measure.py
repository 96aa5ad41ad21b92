"""``warpfix measure``: run a command cold and warm, and say what was built, why, and by which line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from warpfix.errors import WarpfixError

_END = "as a success"


@click.command(context_settings={"ignore_unknown_options": False})
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="Pairs of cold and warm runs.")
@click.option("--target", default="native", show_default=True, help="What to compile for.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the JSON report too.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=600.0, show_default=True, help="Seconds.")
@click.option("--stop-after-launches", type=click.IntRange(1), help=f"End a process after this many launches, {_END}.")
@click.option("--stop-after-seconds", type=click.FloatRange(0, min_open=True), help=f"End the command then, {_END}.")
@click.option("--stop-when-idle", type=click.FloatRange(0, min_open=True), help="... when nothing was built so long.")
@click.option("--prepare", help="Shell command to run before each run.")
@click.option("--cleanup", help="Shell command to run after each run.")
@click.option("--expect-status", type=int, default=0, show_default=True, help="Exit status of a good run.")
@click.option("--show-output", is_flag=True, help="Show the command's output, on stderr.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(
    samples: int,
    target: str,
    output: Path | None,
    form: str,
    timeout: float,
    stop_after_launches: int | None,
    stop_after_seconds: float | None,
    stop_when_idle: float | None,
    prepare: str | None,
    cleanup: str | None,
    expect_status: int,
    show_output: bool,
    command: tuple[str, ...],
) -> int:
    """Run COMMAND cold and warm, and say what was built, why, and by which line.

    \b
    warpfix measure -- python -m app
    warpfix measure -o before.json -- pytest tests/test_solver.py
    """
    from warpfix.measure.report import to_dict, write_report
    from warpfix.measure.run import RunSettings, measure
    from warpfix.measure.text import render

    if not command:
        raise WarpfixError("no command to measure: put it after --, as in: warpfix measure -- python -m app")
    if output is not None and not output.resolve().parent.is_dir():
        raise WarpfixError(f"can't write {output}: there is no folder {output.resolve().parent}")
    settings = RunSettings(
        target=target,
        timeout=timeout,
        stop_after_launches=stop_after_launches,
        stop_after_seconds=stop_after_seconds,
        stop_when_idle=stop_when_idle,
        prepare=prepare,
        cleanup=cleanup,
        expect_status=expect_status,
        show_output=show_output,
        stdin=None if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty() else _stdin(),
    )
    profile = measure(command, cwd=Path.cwd(), samples=samples, settings=settings, progress=_progress())
    if output is not None:
        write_report(profile, output)
    if form == "json":
        import json

        click.echo(json.dumps(to_dict(profile), indent=1, default=str))
    else:
        click.echo(render(profile), nl=False)
    return 0


def _stdin() -> bytes | None:
    """What was piped to warpfix, so that every run gets the same; nothing where no data waits."""
    import select

    try:
        ready, _, _ = select.select([sys.stdin], [], [], 0)
        return sys.stdin.buffer.read() if ready else None
    except (OSError, ValueError):
        return None


def _progress() -> Callable[[str], None] | None:
    """Print progress on a terminal only, and only when it takes more than a second."""
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()

    def say(line: str) -> None:
        if time.monotonic() - start > 1.0 or "1 of" in line:
            print(f"warpfix: {line}", file=sys.stderr)

    return say
