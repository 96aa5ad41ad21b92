"""``warpfix bake``: a cache folder for an image or an artefact, proved by a run that builds nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from warpfix.cli.run_options import command_options
from warpfix.errors import EXIT_FINDINGS, EXIT_OK, WarpfixError

if TYPE_CHECKING:
    from warpfix.bake import Bake


@click.command(short_help="Make a kernel cache for an image or a CI artefact, and prove it.")
@click.option(
    "--target",
    default="native",
    show_default=True,
    help="native, the devices Warp finds, or architectures: sm_80,sm_90 (docs/target.md).",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("warp-cache"), show_default=True, help="The folder."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@command_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(target: str, output: Path, form: str, command: tuple[str, ...], **values: Any) -> int:
    """Turn what COMMAND builds into a kernel cache that goes into a container image or a CI artefact.

    COMMAND runs once per target over an empty cache, and once more over a fresh copy of what it left, in another place
    and with another hash seed. The folder is written only if the second run built nothing; otherwise exit status 1, and
    the reason.

    \b
    warpfix bake -- python -m app
    warpfix bake --target sm_80,sm_90 -o warp-cache -- python -m app
    """
    import json

    from warpfix.bake import bake, to_dict
    from warpfix.cli.run_options import progress, run_settings
    from warpfix.measure.target import parse_target

    targets = [parse_target(part.strip()) for part in target.split(",") if part.strip()]
    if not targets:
        raise WarpfixError("--target names nothing")
    if not command:
        raise WarpfixError("no command to run: put it after --, as in: warpfix bake -- python -m app")
    settings = run_settings({**values, "target": targets[0]})
    result = bake(command, cwd=Path.cwd(), targets=targets, output=output, settings=settings, say=progress())
    if form == "json":
        click.echo(json.dumps(to_dict(result), indent=1))
    else:
        click.echo("\n".join(_lines(result, output)))
    return EXIT_OK if result.proved else EXIT_FINDINGS


def _lines(result: Bake, output: Path) -> list[str]:
    from warpfix.measure.words import count, short_name, size, wrap

    if result.chosen is not None:
        event = result.chosen
        at = f" at {_path(event.line.path)}:{event.line.line}" if event.line else ""
        return [
            *wrap("Not baked: the program chooses its own cache, and WARP_CACHE_PATH would not reach it:", ""),
            *wrap(f"{event.via}{at}: {event.choice}", "  "),
            *wrap("Take that out, or fill that folder in the image by running the command there once.", ""),
        ]
    if not result.proved:
        lines = ["Not baked: a second run over the folder builds all the same."]
        for baked in result.targets:
            for again in baked.again[:8]:
                head = f"{baked.target}, {short_name(again.load.module)}, block_dim {again.load.block_dim}: "
                lines += wrap(head + again.reason.replace(os.getcwd() + os.sep, ""), "    ", "  ")
            if len(baked.again) > 8:
                lines.append(f"  {baked.target}: {count(len(baked.again) - 8, 'more build')}")
        return [
            *lines,
            *wrap("What varies from run to run can't be cached: `warpfix explain-build` shows all of it.", ""),
        ]
    lines = wrap(f"{output}: {count(result.files, 'file')}, {size(result.size)}, for Warp {result.warp}", "  ", "")
    for baked in result.targets:
        identities = len(baked.identities)
        noun = "1 identity" if identities == 1 else f"{identities} identities"
        lines += wrap(f"{baked.target}: {noun}; a second run over a copy of the folder built nothing", "    ", "  ")
    name = output.resolve().name
    lines += ["", "Set where the program runs, before Warp is initialised:", f"  WARP_CACHE_PATH={output.resolve()}"]
    lines += ["In an image:", f"  COPY {name} /opt/{name}", f"  ENV WARP_CACHE_PATH=/opt/{name}", ""]
    for note in result.notes():
        lines += wrap(note, "")
    return lines


def _path(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
