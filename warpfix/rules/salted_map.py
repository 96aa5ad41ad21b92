"""WF801 salted-map: ``wp.map`` with a lambda, whose kernel has another name in every process."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import call_argument, value_of
from warpfix.index.model import FileIndex
from warpfix.rules import Context, Rule, locate
from warpfix.rules._places import asks_for
from warpfix.rules._versions import lowest, words

_FIRST = (1, 8)
_MENDED = (1, 17)


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the calls of ``wp.map`` in one file, where the Warp in use salts their keys."""
    warp = lowest(context.config)
    if not _FIRST <= warp < _MENDED:
        return
    for launch in file.launches:
        if launch.via != "map" or asks_for(launch.enclosing, "version"):
            continue
        function = call_argument(launch.node, 0, "func")
        if function is None or not isinstance(value_of(index, file, function, launch.enclosing), ast.Lambda):
            continue
        yield Finding(
            code=RULE.code,
            rule=RULE.slug,
            path=file.path,
            **locate(file, launch.node),
            message=(
                f"`wp.map` with a lambda: before Warp {words(_MENDED)} the kernel's name holds a hash that Python "
                f"salts anew in every process, so each run builds it again (the project works with Warp {words(warp)})"
            ),
            advice=f"give it a `@wp.func` with a name, or ask for Warp {words(_MENDED)}",
            declined="a function needs a name and types for its arguments, which a lambda does not have",
            data={"mended": words(_MENDED)},
        )


RULE = Rule(
    code="WF801",
    slug="salted-map",
    summary="`wp.map` with a lambda builds in every process, before Warp 1.17.",
    why=(
        "From Warp 1.8 to 1.16 the kernel that `wp.map` makes of a lambda is named by a hash which Python salts with "
        "another number in every process. The kernel is never found in the cache."
    ),
    bad="out = wp.map(lambda a: a * 2.0 + 1.0, values)\n",
    good="@wp.func\ndef affine(a: float):\n    return a * 2.0 + 1.0\n\n\nout = wp.map(affine, values)\n",
    limits=(
        "Only where the lowest Warp that the project allows (or else the installed one) is 1.8 to 1.16: Warp 1.17 "
        "names such kernels by their content. Silent with functions that have a name, and behind a look at the version."
    ),
    fix_safety="No fix: a `@wp.func` needs a name and argument types.",
    since="0.1.0",
    check=check,
)
