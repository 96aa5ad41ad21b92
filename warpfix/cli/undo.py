"""``warpfix undo``: restore what the last ``apply`` wrote."""

from __future__ import annotations

import click

from warpfix.errors import EXIT_OK


@click.command(short_help="Restore what the last apply wrote.")
@click.argument("path", default=".", type=click.Path(exists=True, path_type=str))
def command(path: str) -> int:
    """Restore the files that the last `warpfix apply` wrote in the project that holds PATH, `.` by default.

    All of them, or none: where one is no longer as it was written, nothing is changed. What was undone can't be undone
    again.

    \b
    warpfix undo

    Exit status 0: done, or nothing to undo. 2: a file has changed since, or can't be written.
    """
    import os

    from warpfix.files import undo
    from warpfix.output.scan_result import shown_path
    from warpfix.project import find_root

    path = os.path.realpath(path)
    root = find_root(path) or (path if os.path.isdir(path) else os.path.dirname(path))
    restored = undo(root)
    for name in restored:
        click.echo(f"restored {shown_path(name)}")
    if not restored:
        click.echo("nothing to undo")
    return EXIT_OK
