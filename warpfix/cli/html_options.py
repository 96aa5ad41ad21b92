"""``--html FILE`` and ``--no-source``, which several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from warpfix.errors import WarpfixError

Function = TypeVar("Function", bound=Callable[..., Any])


def html_options(function: Function) -> Function:
    """Decorate a click command with the options of a page; they arrive as ``html`` and ``no_source``."""
    function = no_source(function)
    option = click.option(
        "--html",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write a page too: one self-contained file for a browser.",
    )
    return option(function)


def no_source(function: Function) -> Function:
    """Decorate a click command with ``--no-source``."""
    return click.option("--no-source", is_flag=True, help="No excerpts of source files in the page.")(function)


def check_folder(path: Path | None) -> None:
    """Refuse, before anything runs, a file whose folder is not there.

    Raises:
        WarpfixError: There is no such folder.
    """
    if path is not None and not path.resolve().parent.is_dir():
        raise WarpfixError(f"can't write {path}: there is no folder {path.resolve().parent}")
