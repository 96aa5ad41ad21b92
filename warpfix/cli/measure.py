"""``warpfix measure``: run a command cold and warm, and say what was built, why, and by which line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from warpfix.cli.html_options import check_folder, html_options
from warpfix.cli.run_options import data_option, run_options
from warpfix.errors import WarpfixError

if TYPE_CHECKING:
    from warpfix.measure.profile import Profile


@click.command(context_settings={"ignore_unknown_options": False})
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="Pairs of cold and warm runs.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the JSON report too.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@html_options
@run_options
@data_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(
    samples: int,
    output: Path | None,
    form: str,
    html: Path | None,
    no_source: bool,
    command: tuple[str, ...],
    **values: Any,
) -> int:
    """Run COMMAND cold and warm, and say what was built, why, and by which line.

    \b
    warpfix measure -- python -m app
    warpfix measure -o before.json -- pytest tests/test_solver.py
    """
    from warpfix.cli.run_options import progress, run_settings
    from warpfix.measure.report import to_dict, write_report
    from warpfix.measure.run import measure
    from warpfix.measure.steps import step_lines
    from warpfix.measure.text import render

    if not command:
        raise WarpfixError("no command to measure: put it after --, as in: warpfix measure -- python -m app")
    check_folder(output)
    check_folder(html)

    def write(profile: Profile) -> None:
        if output is not None:
            write_report(profile, output)
        if html is not None:
            from warpfix.page import write_page

            write_page(html, profile, source=not no_source)

    def partial(profile: Profile) -> None:
        """The command failed, or went on for too long: what was seen until then is worth having."""
        click.echo(render(profile), nl=False, err=True)
        try:
            write(profile)
        except WarpfixError as error:
            # Said besides: what ends the command is why the program failed.
            click.echo(f"warpfix: {error}", err=True)

    profile = measure(
        command,
        cwd=Path.cwd(),
        samples=samples,
        settings=run_settings(values),
        progress=progress(),
        partial=partial,
    )
    if form == "json":
        import json

        click.echo(json.dumps(to_dict(profile), indent=1, default=str))
    else:
        click.echo("\n".join([render(profile).rstrip("\n"), *step_lines(profile)]))
    # What was measured is told first: a report that can't be written must not take it along.
    write(profile)
    return 0
