"""WF302 one-kernel-modules: several kernels of one file, each alone in a named Warp module."""

from __future__ import annotations

from collections.abc import Iterable

from warpfix.findings import Finding
from warpfix.hoisting import alone_in_named_modules, hoister_for, sharers
from warpfix.index.build import ProjectIndex
from warpfix.index.model import FileIndex
from warpfix.rules import Context, Rule
from warpfix.rules.unique_stable_kernel import shares_finding


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the kernels of one file that have a named module to themselves and could share one."""
    hoister = hoister_for(index, context.config)
    alone = alone_in_named_modules(hoister, file)
    company = sharers(hoister, file) if alone else {}
    for one in alone:
        if one.landing is not None and company[one.landing.module] > 1:
            message = (
                f"`{one.construct.name}` is the only kernel of Warp module `{one.construct.module_name}`: it is built "
                "alone, and so are others of this file"
            )
            yield shares_finding(RULE, file, one, message)


RULE = Rule(
    code="WF302",
    slug="one-kernel-modules",
    summary="Several kernels of one file, each alone in a named Warp module.",
    why=(
        "Each Warp module has the fixed cost of a build: its own run of the compiler, its own headers and helper "
        "functions. Kernels that are always built together, with the same options and the same block dims, cost less "
        "in one module."
    ),
    bad=(
        '@wp.kernel(module="grow")\ndef grow(v: wp.array(dtype=float)):\n    v[wp.tid()] += 1.0\n\n\n'
        '@wp.kernel(module="fade")\ndef fade(v: wp.array(dtype=float)):\n    v[wp.tid()] *= 0.5\n'
    ),
    good=(
        "@wp.kernel\ndef grow(v: wp.array(dtype=float)):\n    v[wp.tid()] += 1.0\n\n\n"
        "@wp.kernel\ndef fade(v: wp.array(dtype=float)):\n    v[wp.tid()] *= 0.5\n"
    ),
    limits=(
        "Only modules that a string in the decorator names, and that nothing else in the project mentions; a file with "
        "one of them is left alone, since somebody who names a module means something by it. Modules of several files, "
        "generic kernels, and names from expressions are not looked at."
    ),
    fix_safety=(
        "`measured`: written where the measured command builds the kernels, and builds fewer modules with them "
        "together. The shared module is the file's own, or `<file>.stable`, as for unique-stable-kernel."
    ),
    since="0.1.0",
    check=check,
)
