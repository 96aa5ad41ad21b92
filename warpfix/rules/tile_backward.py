"""WF703 tile-backward: ``enable_backward=False`` on a tile kernel, where it does not reach the linked device code."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex, walk_with_scopes
from warpfix.index.constructs import own_module
from warpfix.index.model import Construct, FileIndex, ModuleChoice
from warpfix.rules import Context, Rule
from warpfix.rules._kernels import head
from warpfix.rules._places import joined

_LINKED = {
    "warp.tile_matmul": "enable_mathdx_gemm",
    "warp.tile_cholesky": "enable_mathdx_solver",
    "warp.tile_cholesky_inplace": "enable_mathdx_solver",
    "warp.tile_cholesky_solve": "enable_mathdx_solver",
    "warp.tile_cholesky_solve_inplace": "enable_mathdx_solver",
    "warp.tile_lower_solve": "enable_mathdx_solver",
    "warp.tile_lower_solve_inplace": "enable_mathdx_solver",
    "warp.tile_upper_solve": "enable_mathdx_solver",
    "warp.tile_upper_solve_inplace": "enable_mathdx_solver",
}
"""Functions that link code of MathDx, and the option that switches the library off for them."""


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the tile kernels of one file."""
    if "enable_backward" not in file.text or "tile_" not in file.text:
        return
    for construct in file.constructs:
        if construct.kind != "kernel" or construct.decorator is None or isinstance(construct.node, ast.ClassDef):
            continue
        given = construct.options.get("enable_backward")
        if not (isinstance(given, ast.Constant) and given.value is False):
            continue
        used = _linked(index, file, construct)
        if not used or _module_says(index, file, construct, set(used.values())):
            continue
        listed = joined(f"`wp.{name.removeprefix('warp.')}`" for name in used)
        unique = construct.module_choice is ModuleChoice.UNIQUE
        where = (
            '`module_options={"enable_backward": False}` beside `module="unique"`'
            if unique
            else '`wp.set_module_options({"enable_backward": False})` before the kernels of the module, if none is '
            "differentiated"
        )
        yield Finding(
            code=RULE.code,
            rule=RULE.slug,
            path=file.path,
            **head(file, construct.node),
            message=(
                f"`{construct.name}` says `enable_backward=False` for itself, which does not reach the code that "
                f"{listed} links on CUDA: the parts for its adjoint are built all the same, in seconds each"
            ),
            advice=f"say it for the module: {where}",
            kernel=construct.qualname,
            declined="the option of the module would reach its other kernels too",
            data={"functions": sorted(used)},
        )


def _linked(index: ProjectIndex, file: FileIndex, construct: Construct) -> dict[str, str]:
    found: dict[str, str] = {}
    inside = (*construct.enclosing, construct.node)
    for statement in construct.node.body:
        for node, enclosing in walk_with_scopes(statement, inside):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
                last = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                if last.startswith("tile_") and (resolved := index.resolve(file, node.func, enclosing)) in _LINKED:
                    assert resolved is not None
                    found[resolved] = _LINKED[resolved]
    return found


def _module_says(index: ProjectIndex, file: FileIndex, construct: Construct, libraries: set[str]) -> bool:
    """Whether the kernel's module has the option already, does not link, or can't be told."""
    if (
        construct.module_choice not in (ModuleChoice.DEFAULT, ModuleChoice.UNIQUE)
        or "module_options" in construct.options
    ):
        return True
    wanted = {"enable_backward", *libraries}
    for other in index.files.values():
        for item in other.option_sets:
            mine = item.via == "config" or (
                construct.module_choice is ModuleChoice.DEFAULT and item.target_module == own_module(file)
            )
            if mine and (item.dynamic or wanted & item.options.keys()):
                return True
    return False


RULE = Rule(
    code="WF703",
    slug="tile-backward",
    summary="`enable_backward=False` on a tile kernel does not reach the code that it links.",
    why=(
        "On CUDA, `wp.tile_matmul` and the tile solvers link device code of MathDx, seconds for each variant. Whether "
        "the variants for the adjoint are linked is decided by the option of the module; the kernel's own argument "
        "leaves them in (three links for one matrix product, of which two are never used)."
    ),
    bad="@wp.kernel(enable_backward=False)\ndef gemm(a: wp.array2d(dtype=float)):\n    wp.tile_matmul(x, y, s)\n",
    good=(
        'wp.set_module_options({"enable_backward": False})\n\n\n'
        "@wp.kernel\ndef gemm(a: wp.array2d(dtype=float)):\n    wp.tile_matmul(x, y, s)\n"
    ),
    limits=(
        "Sees calls in the kernel's own body. Silent where the module (or `wp.config`) says anything about the option "
        "or switches MathDx off, about named modules, and about `module_options=`. Costs nothing on the CPU."
    ),
    fix_safety="No fix: the module's option reaches all of its kernels, some of which may be differentiated.",
    since="0.1.0",
    check=check,
)
