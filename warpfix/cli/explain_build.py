"""``warpfix explain-build``: the ingredients of a module's hashes side by side, and the one that changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from warpfix.cli.run_options import run_options
from warpfix.errors import WarpfixError


@click.command(name="explain-build", short_help="Say why a Warp module was built again: its hashes side by side.")
@click.option("-r", "--report", type=click.Path(path_type=Path), help="Take a report of `measure -o`; run nothing.")
@click.option("--all", "everything", is_flag=True, help="List what is the same in two hashes too.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@run_options
@click.argument("module")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(
    module: str, report: Path | None, everything: bool, form: str, command: tuple[str, ...], **values: Any
) -> int:
    """Say why the Warp module MODULE was built, for all of its builds in order.

    What is in the hash of a build (kernels, functions, module options, constants, static values, block_dim) is laid
    beside what was in the one before, and what changed is named. COMMAND is run cold and warm, unless a report is
    given.

    \b
    warpfix explain-build app.stages -- python -m app
    warpfix explain-build app.stages -r before.json
    """
    import json

    from warpfix.measure import builds, builds_text
    from warpfix.measure.profile import Profile
    from warpfix.measure.report import read_report

    if report is not None:
        if command:
            raise WarpfixError("give a report (-r) or a command, not both")
        read = read_report(report)
        if not isinstance(read, Profile):
            raise WarpfixError(f"{report} is a report of warp_compile_probe.py, which does not tell what is in a hash")
        profile = read
    else:
        from warpfix.cli.run_options import progress, run_settings
        from warpfix.measure.run import measure

        if not command:
            raise WarpfixError(
                "no command to measure: put it after --, as in: warpfix explain-build app.stages -- python -m app; "
                "or give a report: -r before.json"
            )
        profile = measure(command, cwd=Path.cwd(), settings=run_settings(values), progress=progress())
    name, near = builds.find_module(profile, module)
    if name is None:
        if near:
            raise WarpfixError(f"no Warp module {module} was loaded; the nearest: {', '.join(near)}")
        known = builds.modules(profile)
        if not known:
            raise WarpfixError(f"no Warp module {module} was loaded, nor any other: no kernel was launched")
        shown = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
        raise WarpfixError(f"no Warp module {module} was loaded; these were: {shown}")
    found = builds.histories(profile, name)
    if form == "json":
        click.echo(json.dumps(builds.to_dict(profile, name, found), indent=1))
    else:
        click.echo(builds_text.render(profile, name, found, everything=everything), nl=False)
    return 0
