"""``warpfix compare``: judge two reports, before against after."""

from __future__ import annotations

from pathlib import Path

import click

from warpfix.errors import EXIT_FINDINGS, EXIT_OK


@click.command(
    name="compare", short_help="Judge two reports: builds, launches, options and code, before against after."
)
@click.option("--about", multiple=True, metavar="OPTION", help="A Warp option that was changed on purpose.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
def command(before: Path, after: Path, about: tuple[str, ...], form: str) -> int:
    """Judge the report AFTER against the report BEFORE.

    Both come from `warpfix measure -o FILE`, or from NVIDIA's warp_compile_probe.py; then only what both hold is
    compared. Exit status 0: every invariant holds and something got better. 1: not so. Use --samples 2 or more in the
    measurement of BEFORE, so that it can be compared with itself.

    \b
    warpfix measure --samples 2 -o before.json -- python -m app
    warpfix measure --samples 2 -o after.json -- python -m app
    warpfix compare before.json after.json
    """
    from warpfix.measure.report import read_report
    from warpfix.verify.reports import compare_reports
    from warpfix.verify.text import verdict_lines

    verdict = compare_reports(read_report(before), read_report(after), frozenset(about))
    if form == "json":
        import json

        click.echo(json.dumps(verdict.to_dict(), indent=1))
    else:
        click.echo("\n".join(verdict_lines(verdict)))
    return EXIT_OK if verdict.good else EXIT_FINDINGS
