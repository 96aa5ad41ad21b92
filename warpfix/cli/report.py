"""``warpfix report``: a page from one report, or from two."""

from __future__ import annotations

from pathlib import Path

import click

from warpfix.cli.html_options import check_folder, no_source
from warpfix.errors import WarpfixError


@click.command(name="report", short_help="Make a page for a browser from one report, or from two.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="The page: one self-contained HTML file, readable by its owner only.",
)
@no_source
@click.option("--about", multiple=True, metavar="OPTION", help="With two: a Warp option that was changed on purpose.")
@click.argument("before", type=click.Path(path_type=Path), metavar="REPORT")
@click.argument("after", type=click.Path(path_type=Path), metavar="[AFTER]", required=False)
def command(before: Path, after: Path | None, output: Path, no_source: bool, about: tuple[str, ...]) -> int:
    """Make a page from REPORT, which `warpfix measure -o` wrote; with AFTER, before against after.

    The page asks the network for nothing. Excerpts come from the project's own files, as far as they are unchanged
    since the measurement.

    \b
    warpfix measure -o before.json -- python -m app
    warpfix report before.json -o before.html
    warpfix report before.json after.json -o change.html
    """
    from warpfix.measure.profile import Profile
    from warpfix.measure.report import read_report
    from warpfix.page import Comparison, write_page
    from warpfix.verify.reports import compare_reports

    check_folder(output)
    profiles: list[Profile] = []
    for path in (before, after):
        if path is None:
            continue
        found = read_report(path)
        if not isinstance(found, Profile):
            raise WarpfixError(
                f"{path} is a report of warp_compile_probe.py, which holds totals only: `warpfix compare` reads it; "
                "for a page, measure with `warpfix measure -o`"
            )
        profiles.append(found)
    comparison = None
    if len(profiles) == 2:
        comparison = Comparison(profiles[1], compare_reports(profiles[0], profiles[1], frozenset(about)))
    write_page(output, profiles[0], comparison, source=not no_source)
    click.echo(f"warpfix: wrote {output}", err=True)
    return 0
