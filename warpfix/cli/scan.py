"""``warpfix scan``: findings from source alone, or joined with a measured profile."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from warpfix.errors import EXIT_ERROR, EXIT_FINDINGS, EXIT_OK, WarpfixError

if TYPE_CHECKING:
    from warpfix.scanning import Stdin


def _names(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=str), metavar="[PATH]...")
@click.option("--profile", type=click.Path(dir_okay=False), help="Report of `warpfix measure -o`: say what each cost.")
@click.option("--select", multiple=True, metavar="RULE,...", help="Only these rules, by code, slug or prefix (WF2).")
@click.option("--ignore", multiple=True, metavar="RULE,...", help="Not these rules.")
@click.option("--include-tests", is_flag=True, help="Report on test files too.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text", show_default=True
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write there, not to stdout.")
@click.option("--stdin-filename", metavar="FILE", help="The path that the source on stdin (PATH `-`) has.")
@click.option(
    "--diff",
    is_flag=False,
    flag_value="HEAD",
    metavar="[REV]",
    help="Only findings on lines that differ from this revision of git (HEAD).",
)
@click.option("--exit-zero", is_flag=True, help="End with 0 also when there are findings.")
@click.option("--statistics", is_flag=True, help="Counts and seconds by rule and stage.")
@click.option(
    "--warp-min", metavar="VERSION", help="Lowest Warp that the code works with; else the project's metadata."
)
def command(
    paths: tuple[str, ...],
    profile: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    include_tests: bool,
    form: str,
    output: Path | None,
    stdin_filename: str | None,
    diff: str | None,
    exit_zero: bool,
    statistics: bool,
    warp_min: str | None,
) -> int:
    """Find what makes a Warp program compile too much, from its source. PATH is a file or folder, `.` by default,
    or `-` for source on stdin.

    \b
    warpfix scan
    warpfix scan src --select WF1,WF2
    warpfix scan src --diff origin/main
    warpfix scan --profile before.json
    warpfix scan --format sarif -o warpfix.sarif --exit-zero

    Exit status 0: nothing found. 1: findings. 2: a file could not be read, or the call is wrong.
    """
    if diff is not None and "-" in paths:
        raise WarpfixError("--diff compares files with git: it and `-` exclude each other")
    from warpfix.output.scan_result import shown_path
    from warpfix.scanning import read_profile, scan_paths

    if output is not None and not output.resolve().parent.is_dir():
        raise WarpfixError(f"can't write {output}: there is no folder {output.resolve().parent}")
    _, result = scan_paths(
        paths or (".",),
        stdin=_stdin(paths, stdin_filename),
        since=diff,
        select=_names(select),
        ignore=_names(ignore),
        include_tests=include_tests,
        warp_min=warp_min,
        profile=None if profile is None else read_profile(profile),
    )
    if form == "json":
        from warpfix.output import json_output

        rendered = json_output.render(result, statistics)
    elif form == "sarif":
        from warpfix.output import sarif

        rendered = sarif.render(result)
    elif form == "github":
        from warpfix.output import github

        rendered = github.render(result)
    else:
        from warpfix.output import text

        rendered = text.render(result, colour=output is None and _colour(), statistics=statistics)
    if output is not None:
        try:
            output.write_text(rendered, encoding="utf-8", newline="\n")
        except OSError as error:
            raise WarpfixError(f"can't write {output}: {error.strerror or error}") from error
    else:
        _write(rendered)
    for problem in result.problems:
        where = shown_path(problem.path) + (f":{problem.line}" if problem.line else "")
        click.echo(f"warpfix: {where}: {problem.message}", err=True)
    if result.problems:
        return EXIT_ERROR
    return EXIT_FINDINGS if result.findings and not exit_zero else EXIT_OK


def _stdin(paths: tuple[str, ...], filename: str | None) -> Stdin | None:
    """What comes from stdin, if it is asked for."""
    from warpfix.scanning import Stdin

    if "-" not in paths:
        if filename is not None:
            raise WarpfixError("--stdin-filename is for the source on stdin: give `-` as PATH")
        return None
    if len(paths) > 1:
        raise WarpfixError("`-` is the source on stdin, and stands alone: no other PATH goes with it")
    return Stdin(sys.stdin.buffer.read(), filename)


def _colour() -> bool:
    import os

    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _write(text: str) -> None:
    """To stdout, whatever its encoding: an excerpt may hold what a terminal can't show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), nl=False)
