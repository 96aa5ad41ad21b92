"""``warpfix try``: the judgement of ``apply --verify`` for anybody's patch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from warpfix.cli.html_options import check_folder, html_options
from warpfix.cli.run_options import verify_options
from warpfix.errors import EXIT_FINDINGS, EXIT_OK, WarpfixError


@click.command(name="try", short_help="Let warpfix prove anybody's patch on a real command.")
@html_options
@verify_options
@click.option("--about", multiple=True, metavar="OPTION", help="A Warp option that the patch changes on purpose.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("patch", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(
    patch: Path,
    command: tuple[str, ...],
    about: tuple[str, ...],
    form: str,
    html: Path | None,
    no_source: bool,
    **values: Any,
) -> int:
    """Judge PATCH, a unified diff, by running COMMAND before and after it. Nothing is written.

    PATCH is a file, or - for stdin. Exit status 0: every invariant holds and the patch pays. 1: it does not; the
    report names the first invariant that is broken.

    \b
    git diff > fix.diff; git stash
    warpfix try fix.diff -- python -m app
    """
    from warpfix.cli.run_options import progress, verify_settings
    from warpfix.verify.engine import try_patch
    from warpfix.verify.patch import apply_patch
    from warpfix.verify.text import tried_lines

    check_folder(html)
    if str(patch) == "-":
        data = sys.stdin.buffer.read()
    else:
        try:
            data = patch.read_bytes()
        except OSError as error:
            raise WarpfixError(f"can't read {patch}: {error.strerror or error}") from error
    options = verify_settings(values, command)
    patched = apply_patch(data, str(Path.cwd()), "the patch" if str(patch) == "-" else str(patch))
    result = try_patch(patched, options, cwd=str(Path.cwd()), about=frozenset(about), say=progress())
    if html is not None:
        from warpfix.page import write_page
        from warpfix.page.verified import tried_arms

        write_page(html, *tried_arms(result), source=not no_source)
    if form == "json":
        import json

        click.echo(json.dumps(result.to_dict(), indent=1, default=str))
    else:
        click.echo("\n".join(tried_lines(result)))
    return EXIT_OK if result.good else EXIT_FINDINGS
