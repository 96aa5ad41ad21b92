"""``warpfix whatif``: price the levers that a program has not taken, without touching its source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from warpfix.cli.html_options import check_folder, html_options
from warpfix.cli.run_options import run_options
from warpfix.errors import EXIT_FINDINGS, EXIT_OK, WarpfixError


@click.command(short_help="Price levers not taken, by overriding them in the process: the ledger.")
@click.option("--lever", "names", multiple=True, metavar="LEVER", help="Price this one; may be repeated.")
@click.option("--samples", type=click.IntRange(1), default=3, show_default=True, help="Cold runs under each lever.")
@click.option("--max-time", type=click.FloatRange(0, min_open=True), default=1800.0, show_default=True, help="Seconds.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the JSON ledger too.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@html_options
@run_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(
    names: tuple[str, ...],
    samples: int,
    max_time: float,
    output: Path | None,
    form: str,
    html: Path | None,
    no_source: bool,
    command: tuple[str, ...],
    **values: Any,
) -> int:
    """Price what could be done about COMMAND's start, by overriding it inside the process. No source is touched.

    Without --lever, every lever that can matter for this command is priced. Exit status 1: a lever that was named is
    refused, since an adjoint is launched, or the program fails under it.

    \b
    Levers:
      enable_backward=off[:MODULE,...] no adjoint code, in all or these
      max_unroll=N                     loops of more turns stay loops
      use_precompiled_headers=off      no precompiled header
      optimization_level=N             0 to 3, of the native compiler
      enable_mathdx_gemm=off           likewise _solver, _fft: no device-code link
      preload[=THREADS]                what is loaded, in parallel and up front
      persisted-cache                  a kernel cache that is kept
      module-cost                      what one more module costs here

    \b
    warpfix whatif -- python -m app
    warpfix whatif --lever enable_backward=off -- python -m app
    warpfix whatif --target sm_90 -o ledger.json -- python -m app
    """
    import json

    from warpfix.cli.run_options import progress, run_settings
    from warpfix.measure.report import write_private
    from warpfix.whatif.ledger import to_dict
    from warpfix.whatif.levers import parse
    from warpfix.whatif.run import price
    from warpfix.whatif.text import render

    levers = [parse(name) for name in names]
    if not command:
        raise WarpfixError("no command to price: put it after --, as in: warpfix whatif -- python -m app")
    check_folder(output)
    check_folder(html)
    ledger = price(
        command,
        cwd=Path.cwd(),
        levers=levers,
        samples=samples,
        settings=run_settings(values),
        max_time=max_time,
        say=progress(),
    )
    text = json.dumps(to_dict(ledger), indent=1)
    if output is not None:
        write_private(output, text + "\n")
    if html is not None:
        from warpfix.page import write_page
        from warpfix.page.ledger import ledger_view

        write_page(html, ledger.profile, source=not no_source, ledger=ledger_view(ledger))
    click.echo(text if form == "json" else render(ledger), nl=form == "json")
    return EXIT_FINDINGS if levers and ledger.refused() else EXIT_OK
