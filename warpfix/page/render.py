"""Fills the template. Styles and script stand in the page itself, and its policy lets nothing else act."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

from warpfix.measure.profile import Profile
from warpfix.measure.report import write_private
from warpfix.page.view import Comparison, view

__all__ = ["Comparison", "page", "write_page"]


def page(
    profile: Profile,
    comparison: Comparison | None = None,
    *,
    source: bool = True,
    ledger: dict[str, Any] | None = None,
) -> str:
    """The page as HTML; see ``view`` for the arguments."""
    # Jinja2 is imported only by who makes a page.
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    style, script = _file("page.css"), _file("page.js")
    template = environment.from_string(_file("page.html"))
    # Our own two files are the only text that is not escaped; the policy names them by their digests, so that nothing
    # that a measured program is called could run, even if it got through.
    return template.render(
        **view(profile, comparison, source=source, ledger=ledger),
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'",
    )


def write_page(
    path: Path,
    profile: Profile,
    comparison: Comparison | None = None,
    *,
    source: bool = True,
    ledger: dict[str, Any] | None = None,
) -> None:
    """Write the page: whole or not at all, readable by its owner only.

    Raises:
        WarpfixError: The file can't be written.
    """
    write_private(path, page(profile, comparison, source=source, ledger=ledger))


def _file(name: str) -> str:
    return resources.files("warpfix.page").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
