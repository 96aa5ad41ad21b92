"""``warpfix scan``: findings from source alone, or joined with a measured profile."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from warpfix.errors import EXIT_ERROR, EXIT_FINDINGS, EXIT_OK, WarpfixError

if TYPE_CHECKING:
    from warpfix.output.scan_result import ScanResult
    from warpfix.scanning import Scanned, Stdin


def _names(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=str), metavar="[PATH]...")
@click.option("--profile", type=click.Path(dir_okay=False), help="Report of `warpfix measure -o`: say what each cost.")
@click.option("--verbose", is_flag=True, help="With --profile: say what it refutes, and why.")
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
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    help="Leave out the known findings that this file lists; else `baseline` in [tool.warpfix].",
)
@click.option("--write-baseline", is_flag=True, help="Write all findings there as known, and end with 0.")
@click.option("--exit-zero", is_flag=True, help="End with 0 also when there are findings.")
@click.option("--statistics", is_flag=True, help="Counts and seconds by rule and stage.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep the result of the same scan of the same files.")
@click.option(
    "--warp-min", metavar="VERSION", help="Lowest Warp that the code works with; else the project's metadata."
)
def command(
    paths: tuple[str, ...],
    profile: str | None,
    verbose: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    include_tests: bool,
    form: str,
    output: Path | None,
    stdin_filename: str | None,
    diff: str | None,
    baseline: str | None,
    write_baseline: bool,
    exit_zero: bool,
    statistics: bool,
    no_cache: bool,
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
    if verbose and profile is None:
        raise WarpfixError("--verbose says what a profile refutes: it needs --profile")
    if write_baseline and profile is not None:
        raise WarpfixError("--write-baseline lists what the source shows: it and --profile exclude each other")
    if write_baseline and (diff is not None or "-" in paths or form != "text" or output is not None):
        raise WarpfixError("--write-baseline writes all findings of files: it excludes `-`, --diff, --format and -o")
    from warpfix.kept import cache_folder
    from warpfix.output.scan_result import shown_path
    from warpfix.scanning import read_profile, scan_paths

    if output is not None and not output.resolve().parent.is_dir():
        raise WarpfixError(f"can't write {output}: there is no folder {output.resolve().parent}")
    gc.disable()  # to the end of the command: what a scan makes lives as long; `main` turns it on again
    scanned, result = scan_paths(
        paths or (".",),
        stdin=_stdin(paths, stdin_filename),
        since=diff,
        with_baseline=not write_baseline,
        baseline=baseline,
        select=_names(select),
        ignore=_names(ignore),
        include_tests=include_tests,
        warp_min=warp_min,
        cache=None if no_cache or statistics else cache_folder(),
        profile=None if profile is None else read_profile(profile),
    )
    if write_baseline:
        return _write_baseline(scanned, result, baseline)
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

        rendered = text.render(result, colour=output is None and _colour(), statistics=statistics, verbose=verbose)
    if output is not None:
        try:
            output.write_text(rendered, encoding="utf-8", newline="\n")
        except OSError as error:
            raise WarpfixError(f"can't write {output}: {error.strerror or error}") from error
    else:
        _write(rendered)
    for path in dict.fromkeys(path for path, _ in result.stale):
        entries = [entry for other, entry in result.stale if other == path]
        more = f" and {len(entries) - 3} more" if len(entries) > 3 else ""
        listed = "; ".join(entries[:3]) + more
        click.echo(f"warpfix: {shown_path(path)}: no longer found: {listed} (--write-baseline takes it out)", err=True)
    if _say_problems(result):
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


def _say_problems(result: ScanResult) -> bool:
    from warpfix.output.scan_result import shown_path

    for problem in result.problems:
        where = shown_path(problem.path) + (f":{problem.line}" if problem.line else "")
        click.echo(f"warpfix: {where}: {problem.message}", err=True)
    return bool(result.problems)


def _write_baseline(scanned: list[Scanned], result: ScanResult, given: str | None) -> int:
    """Make every finding a known one; entries that this scan did not look for stay."""
    import os
    from collections import Counter

    from warpfix.baseline import key_of, read_baseline, write_baseline
    from warpfix.output.scan_result import shown_path
    from warpfix.scanning import baseline_folder, baselines, unmatched

    files = baselines(scanned, given)
    if len(files) < len(scanned):
        raise WarpfixError("--write-baseline: name the file with --baseline, or with `baseline` in [tool.warpfix]")
    if _say_problems(result):
        click.echo("warpfix: no baseline written: what could not be read may hold findings", err=True)
        return EXIT_ERROR
    for path in dict.fromkeys(files.values()):
        base = baseline_folder(path)
        some = [item for item in scanned if files[item.index.project.root] == path]
        found = Counter(
            key_of(finding, item.index.files[finding.path].text, base) for item in some for finding in item.findings
        )
        kept = read_baseline(path) if os.path.exists(path) else Counter()
        for key in (*found, *unmatched(kept - found, some, base)):
            kept.pop(key, None)
        write_baseline(path, found + kept)
        count = sum(found.values())
        also = f", and {sum(kept.values())} kept that this scan did not look for" if kept else ""
        click.echo(f"{shown_path(path)}: {count} known finding{'s' if count != 1 else ''}{also}")
    return EXIT_OK


def _colour() -> bool:
    import os

    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _write(text: str) -> None:
    """To stdout, whatever its encoding: an excerpt may hold what a terminal can't show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), nl=False)
