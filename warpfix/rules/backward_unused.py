"""WF701 backward-unused: an application that builds the adjoint of every kernel and never differentiates."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from warpfix.codemods.insert_statement import InsertStatement
from warpfix.findings import Applicability, Finding, Fix
from warpfix.index.build import ProjectIndex
from warpfix.index.model import Construct, FileIndex, Role
from warpfix.index.scopes import is_main_guard
from warpfix.rules import Context, Rule, locate
from warpfix.rules._places import above_kernels, measures, reaches_launch, starts

# Anything that may have to do with derivatives, or that settles the question for itself. Better silent than wrong.
_DIFFERENTIATES = re.compile(
    r"\bTape\b|requires_grad|\bgrad\b|\bgradients?\b|autograd|autodiff|\.backward\b|\badj_(?:in|out)puts\b"
    r"|record_tape|enable_backward|func_grad|func_replay|custom_vjp|\bexec\(|\beval\("
)
# Packages through which Warp arrays are differentiated, or which have kernels of their own that might be.
_PACKAGES = re.compile(
    r"^[ \t]*(?:import|from)[ \t]+(?:torch|jax|paddle|flax|optax|newton|mujoco_\w+|kaolin|isaac\w*|omni"
    r"|warp[. \t]+(?:import[ \t]+)?(?:fem|sim|optim|autograd|torch|jax\w*))\b",
    re.M,
)


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """A finding for a script that starts the application, if nothing in its project differentiates."""
    if file.role is not Role.APPLICATION or not index.project.editable or measures(index, file):
        return
    speaking: dict[str, bool] | None = context.cache.get("differentiates")
    if speaking is None:
        speaking = context.cache["differentiates"] = {
            other.path: other.role is Role.APPLICATION and starts(index, other)
            for other in index.files.values()
            if _DIFFERENTIATES.search(other.text) or _PACKAGES.search(other.text)
        }
    # Another script is a program of its own, in a process of its own: what it differentiates is nothing to this one.
    if file.path in speaking or not all(speaking.values()):
        return
    if not starts(index, file) or not reaches_launch(index, file):
        return
    reached = _reached(index, file)
    if any(other.path in speaking for other in reached):
        return
    kernels = [
        (other, construct)
        for other in reached
        for construct in other.constructs
        if construct.kind == "kernel" and other.role is not Role.TEST
    ]
    if not _worth_it(kernels):
        return
    place = above_kernels(index, file)
    fix, declined = None, None
    if isinstance(place, str):
        declined = place
        node: ast.AST = next((item for item in file.tree.body if is_main_guard(item)), file.tree.body[0])
    else:
        target, name = place
        node = next(
            statement
            for statement in file.tree.body
            if isinstance(statement, (ast.Import, ast.ImportFrom)) and "warp" in ast.unparse(statement)
        )
        before = min([target.lineno, *(item.lineno for item in getattr(target, "decorator_list", ()))])
        fix = Fix(
            applicability=Applicability.ASK,
            summary=f"set `{name}.config.enable_backward = False` above line {before}, before any kernel is made",
            edits={file.path: (InsertStatement(before, f"{name}.config.enable_backward = False"),)},
            options=frozenset({"enable_backward"}),
            needs_no_adjoint=tuple(sorted({(other.path, construct.qualname) for other, construct in kernels})),
            proved=(
                "nobody imports this script, and no file of the project but other scripts mentions a Tape, "
                "requires_grad, grad, or a package that differentiates Warp arrays"
            ),
            unproved="the kernels could no longer be differentiated, which is the application's owner's to decide",
        )
    where = locate(file, node)
    where["end_line"], where["end_column"] = where["line"], where["column"] + len("import")
    yield Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **where,
        message=(
            f"{'the kernel' if len(kernels) == 1 else f'all {len(kernels)} kernels'} that this program can launch "
            f"{'is' if len(kernels) == 1 else 'are'} built with adjoint code, and nothing in the program differentiates"
        ),
        advice=(
            "if the program will never be differentiated, say so before the first kernel is made: "
            "`wp.config.enable_backward = False`; name the rule with --select to have it written"
            if fix is not None
            else f"set `wp.config.enable_backward = False` before the first kernel; no fix is offered: {declined}"
        ),
        fix=fix,
        declined=declined,
        # No source shows for sure that nothing is differentiated: a run must, too.
        data={
            "kernels": sorted([other.path, construct.qualname] for other, construct in kernels),
            "needs_profile": True,
        },
    )


_WORTH_IT = 4
"""Operations in the kernels from which on their adjoints are worth a word; below, a build is all fixed cost."""


def _worth_it(kernels: Iterable[tuple[FileIndex, Construct]]) -> bool:
    """Whether the bodies hold operations enough: arithmetic and calls, but for the thread's number."""
    count = 0  # no further than needed: each script of a project asks for all that it reaches
    for _, construct in kernels:
        for statement in construct.node.body:
            for node in ast.walk(statement):
                if isinstance(node, (ast.BinOp, ast.AugAssign)):
                    count += 1
                elif isinstance(node, ast.Call):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    count += name not in ("tid", "range", "int", "float")
            if count >= _WORTH_IT:
                return True
    return False


def _reached(index: ProjectIndex, file: FileIndex) -> list[FileIndex]:
    pending, seen = [file.path], {file.path}
    found: list[FileIndex] = []
    while pending:
        path = pending.pop()
        here = index.files.get(path)
        if here is not None:
            found.append(here)
        for target in index.imported_files(path):
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return found


RULE = Rule(
    code="WF701",
    slug="backward-unused",
    summary="An application builds adjoint code for every kernel, and never differentiates.",
    why=(
        "Warp generates the adjoint of each kernel along with it, which more than doubles the code to compile, unless "
        "`enable_backward` is off when the kernel's module is created. A program without a Tape never runs any of it."
    ),
    bad="import warp as wp\n\nimport flow_kernels   # built with adjoints that nobody launches\n",
    good="import warp as wp\n\nwp.config.enable_backward = False\n\nimport flow_kernels\n",
    limits=(
        "Only for scripts that start an application: library code can't know who differentiates. Silent if any file of "
        "the project but other such scripts, tests too, mentions a Tape, `requires_grad`, `grad`, `backward` or "
        "`enable_backward`, or imports torch, JAX, `warp.fem`, `warp.sim`, `warp.optim` or a simulator built on Warp."
    ),
    fix_safety=(
        "`ask`: one line in the starting script, above what makes the first kernel. It takes a capability away, so it "
        "is written only where the user names the rule and a measured run launches no adjoint; the verification proves "
        "that the forward code stays as it is."
    ),
    since="0.1.0",
    check=check,
)
