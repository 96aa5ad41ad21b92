"""``warpfix budget``: how much a command may build at most, and whether it keeps to it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

from warpfix.cli.run_options import run_options
from warpfix.errors import EXIT_FINDINGS, EXIT_OK, WarpfixError

if TYPE_CHECKING:
    from warpfix.budget.file import Budget, Entry
    from warpfix.measure.profile import Profile
    from warpfix.measure.run import RunSettings

_FILE = click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("warpfix-budget.toml"),
    show_default=True,
    help="The budget.",
)


@click.group(name="budget", short_help="Keep what a command builds from growing: a gate for CI.")
def command() -> None:
    """Keep what a command builds from growing: counts in a small file under version control, checked by CI.

    \b
    warpfix budget write -- python -m app
    git add warpfix-budget.toml
    warpfix budget check
    """


@command.command()
@click.option("--name", help="What to call the command in the file; by default its module or script.")
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="Runs; the largest count stands.")
@_FILE
@run_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def write(name: str | None, samples: int, file: Path, command: tuple[str, ...], **values: Any) -> int:
    """Run COMMAND cold and warm, and write what it builds as its budget.

    Without COMMAND, count anew what the file holds, or only --name. How the command is run (--target, --stop-after-...,
    --expect-status) is written too. Comments in the file stay.

    \b
    warpfix budget write -- python -m app
    warpfix budget write --name tests --target sm_90 -- pytest tests
    warpfix budget write
    """
    from warpfix.budget.counts import counts
    from warpfix.budget.file import Entry, read, updated
    from warpfix.measure.report import write_private
    from warpfix.measure.words import count

    if not file.absolute().parent.is_dir():
        raise WarpfixError(f"can't write {file}: there is no folder {file.absolute().parent}")
    budget = read(file) if file.exists() else None
    if command:
        _refuse_secrets(command)
        name = name or _name(command)
        known = budget.entries.get(name) if budget else None
        cwd = Path(os.path.relpath(Path.cwd(), file.absolute().parent)).as_posix()
        if known and (known.run, known.cwd) != (command, cwd):
            raise WarpfixError(
                f"{file} has a budget called {name} for another command; --name gives this one a name of its own"
            )
        entries = [Entry(name, command, cwd, _given(), counts_of_nothing())]
    else:
        entries = _chosen(budget, file, (name,) if name else ())
    for entry in entries:
        profile = _measure(entry, file, samples, values)
        fresh = Entry(entry.name, entry.run, entry.cwd, entry.options, counts(profile))
        text = updated(file, fresh)
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o666 & ~_umask()
        write_private(file, text)
        # Under version control, not private.
        file.chmod(mode)
        totals = fresh.counts.totals
        what = f"{count(totals['builds'], 'build')} of {count(len(fresh.counts.modules), 'module')}"
        click.echo(f"{entry.name}: {what}, in {file}")
    return EXIT_OK


@command.command()
@click.option("--name", "names", multiple=True, help="Only this entry of the file; may be repeated.")
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="Runs; the largest count stands.")
@click.option("--format", "form", type=click.Choice(["text", "json", "github"]), default="text", show_default=True)
@_FILE
@run_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def check(names: tuple[str, ...], samples: int, form: str, file: Path, command: tuple[str, ...], **values: Any) -> int:
    """Run the commands of the budget and compare. Fewer builds than allowed are fine.

    Options given here stand over those in the file; a COMMAND stands in for that of one --name (another interpreter,
    say). Exit status 0: within budget. 1: over; the report names the line that added each build. 2: a command fails.

    \b
    warpfix budget check
    warpfix budget check --format github
    warpfix budget check --name app -- .venv/bin/python -m app
    """
    import json

    from warpfix.budget import text
    from warpfix.budget.counts import compare
    from warpfix.budget.file import read

    if not file.exists():
        raise WarpfixError(f"there is no {file}: write it first, as in: warpfix budget write -- python -m app")
    entries = _chosen(read(file), file, names)
    if command and len(entries) != 1:
        raise WarpfixError(f"a command after -- stands in for one entry, and {file} has {len(entries)}: add --name")
    status, results = EXIT_OK, []
    for entry in entries:
        profile = _measure(entry, file, samples, values, command)
        result = compare(entry.counts, profile, entry.tolerance)
        if not result.good:
            status = EXIT_FINDINGS
        if form == "json":
            results.append(text.to_dict(entry.name, result, profile))
        elif form == "github":
            for line in _annotations(entry.name, result, profile, file):
                click.echo(line)
        else:
            click.echo("\n".join(text.lines(entry.name, result, profile, str(file))))
    if form == "json":
        click.echo(json.dumps(results, indent=1))
    return status


def counts_of_nothing() -> Any:
    """The counts of an entry that is to be counted."""
    from warpfix.budget.counts import Counts

    return Counts({}, {})


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _name(command: Sequence[str]) -> str:
    """``python -m pkg.app`` is pkg.app, ``python scripts/run.py`` run, ``pytest tests`` pytest."""
    words = list(command)
    if "-m" in words[:-1]:
        found = words[words.index("-m") + 1]
    else:
        found = next((PurePath(word).stem for word in words if word.endswith(".py")), PurePath(words[0]).stem)
    return re.sub(r"[^A-Za-z0-9_.-]", "-", found) or "command"


def _refuse_secrets(command: Sequence[str]) -> None:
    from warpfix.measure.privacy import mask_arguments

    masked = [word for word, shown in zip(command, mask_arguments(command), strict=True) if word != shown]
    secret = [word for word in masked if not re.match(r"(CUDA|WARP|NVRTC|PYTHON)[A-Z_]*=", word)]
    if secret:
        raise WarpfixError(
            "the command has arguments that look like secrets or settings of one machine, and the budget is for "
            "version control: give them through the environment"
        )


def _given() -> dict[str, Any]:
    """The options of a run that were typed: defaults may change, and need no line."""
    from click.core import ParameterSource

    from warpfix.budget.file import OPTIONS

    context = click.get_current_context()
    typed = {name for name in OPTIONS if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    return {name: context.params[name] for name in OPTIONS if name in typed}


def _chosen(budget: Budget | None, file: Path, names: Sequence[str]) -> list[Entry]:
    if budget is None or not budget.entries:
        raise WarpfixError(f"{file} holds no budget: write one, as in: warpfix budget write -- python -m app")
    for name in names:
        if name not in budget.entries:
            raise WarpfixError(f"{file} has no budget called {name}; there are {', '.join(budget.entries)}")
    return [entry for entry in budget.entries.values() if not names or entry.name in names]


def _measure(entry: Entry, file: Path, samples: int, values: dict[str, Any], command: Sequence[str] = ()) -> Profile:
    from warpfix.cli.run_options import progress, run_settings
    from warpfix.measure.run import measure

    settings: RunSettings = run_settings({**values, **entry.options, **_given()})
    cwd = (file.absolute().parent / entry.cwd).resolve()
    if not cwd.is_dir():
        raise WarpfixError(f"{file}: the folder of {entry.name} is not there: {cwd}")
    say = progress()
    return measure(
        tuple(command) or entry.run,
        cwd=cwd,
        samples=samples,
        settings=settings,
        progress=lambda line: say(f"{entry.name}: {line}"),
    )


def _annotations(name: str, result: Any, profile: Profile, file: Path) -> list[str]:
    """Workflow commands of GitHub: one error for each added build at its line, one for what is over."""
    from warpfix.budget.counts import TOTALS
    from warpfix.budget.text import said, where
    from warpfix.output.github import annotation
    from warpfix.output.scan_result import shown_path

    lines = [annotation("notice", f"{name}: {other}", title="warpfix budget") for other in result.other]
    if result.good:
        return lines
    over = ", ".join(f"{TOTALS[one.name]} {one.allowed:,} -> {one.found:,}" for one in result.excess)
    lines.append(annotation("error", f"{name} is over budget: {over}", file=str(file), title="warpfix budget"))
    for added in result.added:
        at = added.load.cause.line or added.load.paid_by
        place = {"file": shown_path(at.path), "line": at.line} if at else {}
        message = f"{said(added)}; {where(added, profile)}"
        lines.append(annotation("error", message, title=f"warpfix budget: {name}", **place))
    return lines
