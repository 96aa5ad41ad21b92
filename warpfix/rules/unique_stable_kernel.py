"""WF301 unique-stable-kernel: ``module="unique"`` on a kernel that is always the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from warpfix.codemods.drop_unique import DropUnique
from warpfix.findings import Applicability, Finding, Fix, KernelRename
from warpfix.hoisting import Hoister, UniqueKernel, hoister_for, kernel_key, sharers, unique_at_module_scope
from warpfix.hoisting.dims import fits_own_module
from warpfix.hoisting.facts import functions_around
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import own_module
from warpfix.index.model import Construct, FileIndex, ModuleChoice
from warpfix.rules import Context, Rule, selects
from warpfix.rules._kernels import head
from warpfix.rules._places import joined
from warpfix.rules.closure_kernel import RULE as CLOSURE
from warpfix.rules.closure_kernel import closure_finding, in_unique_module


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the unique kernels of one file."""
    hoister = hoister_for(index, context.config)
    stable = unique_at_module_scope(hoister, file)
    verdicts = [verdict for verdict in hoister.verdicts(file) if in_unique_module(verdict)]
    company = sharers(hoister, file)
    for one in stable:
        shares = one.landing is not None and company[one.landing.module] > 1
        if shares or (one.declined is not None and one.same and len(stable) > 1 and not _on_purpose(one.construct)):
            yield _finding(hoister, file, one)
        elif one.landing is not None and (finding := _passed_by(hoister, file, one.construct)) is not None:
            yield finding
    closures = selects(context.config.select, CLOSURE) if context.config.select else True
    closures = closures and not selects(context.config.ignore, CLOSURE)
    for verdict in verdicts:
        if not verdict.stable or verdict.silent:
            continue
        if verdict.edits and not closures:
            finding = closure_finding(hoister, verdict)
            if finding is not None:
                yield replace(finding, code=RULE.code, rule=RULE.slug)
        elif verdict.declined is not None and verdict.same and not _on_purpose(verdict.construct):
            construct = verdict.construct
            yield Finding(
                code=RULE.code,
                rule=RULE.slug,
                path=file.path,
                **head(file, construct.node),
                message=f"`{construct.name}` is always the same kernel, yet it gets a Warp module of its own",
                advice=f"let it share a module, by hand; no fix is offered: {verdict.declined}",
                kernel=construct.qualname,
                declined=verdict.declined,
            )


def _on_purpose(construct: Construct) -> bool:
    """Whether a unique module is the only way to have what the kernel needs."""
    return construct.generic or "module_options" in construct.options


def _passed_by(hoister: Hoister, file: FileIndex, construct: Construct) -> Finding | None:
    """A unique kernel that would be at home among the file's plain kernels, but for options that pass it by."""
    mates = [one for one in file.constructs if one.kind == "kernel" and one.module_choice is ModuleChoice.DEFAULT]
    if not mates or any(one.generic or one.in_function for one in mates) or _said_why(file, construct):
        return None
    if not fits_own_module(hoister, file, construct):
        return None
    options: dict[str, int] = {}
    for write in file.option_sets:
        if write.via == "config" or write.target_module != own_module(file) or functions_around(write.enclosing):
            continue
        options.update({f"{name}={ast.unparse(value)}": write.node.lineno for name, value in write.options.items()})
    message = f"`{construct.name}` is always the same kernel, yet it gets a Warp module of its own, built alone"
    if options:
        missed = {text: line for text, line in options.items() if text.partition("=")[0] not in construct.options}
        if missed:
            line = next(iter(missed.values()))
            message += f", and {joined(f'`{text}`' for text in missed)} of line {line} does not reach it there"
        declined = (
            f"the file's module has {joined(f'`{text}`' for text in options)}, which a unique module does not see, and "
            "whether the kernel is meant to be built with that is a decision"
        )
    else:
        setter = hoister.option_setter(file)
        if setter is None:
            return None
        declined = f"{setter} sets options of a Warp module that may be this file's, which a unique module does not see"
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **head(file, construct.node),
        message=message,
        advice=f'drop `module="unique"`, by hand; no fix is offered: {declined}',
        kernel=construct.qualname,
        declined=declined,
        data={"landing": own_module(file), "options": sorted(options)},
    )


_WHY = re.compile(r"#.*\b(?:unique|modules?|options?|isolat\w*|separate\w*|own|adjoint|backward)\b", re.I)


def _said_why(file: FileIndex, construct: Construct) -> bool:
    """Whether a comment at the kernel's head speaks of its module: somebody has decided."""
    first = min([construct.node.lineno, *(one.lineno for one in construct.node.decorator_list)])
    lines = file.text.splitlines()[max(first - 4, 0) : construct.node.lineno]
    return any(_WHY.search(line) for line in lines)


def _finding(hoister: Hoister, file: FileIndex, one: UniqueKernel) -> Finding:
    return shares_finding(
        RULE,
        file,
        one,
        f"`{one.construct.name}` is always the same kernel, yet it gets a Warp module of its own, built alone",
    )


def shares_finding(rule: Rule, file: FileIndex, one: UniqueKernel, message: str) -> Finding:
    """The finding for a kernel at module scope with a Warp module to itself, which could share one."""
    construct, landing = one.construct, one.landing
    fix = None
    data: dict[str, object] = {}
    advice = f"let it share a module, by hand; no fix is offered: {one.declined}"
    if landing is not None and landing.argument is not None:
        key = kernel_key(construct.qualname)
        number = [ast.dump(d) for d in construct.node.decorator_list].index(ast.dump(_decorator(construct)))
        edit = DropUnique(construct.node.lineno, construct.name, landing.argument, number)
        fix = Fix(
            applicability=Applicability.MEASURED,
            summary=f"let `{construct.name}` share the Warp module `{landing.module}`",
            edits={file.path: (edit,)},
            renames=(KernelRename(file.path, construct.qualname, construct.qualname, key, key),),
            proved=(
                "no module option reaches the shared module that did not reach the kernel before, and its launches "
                "have the block dims of the other kernels"
            ),
            unproved="sharing a Warp module pays only where its kernels are built together",
        )
        advice = f"let it share the Warp module `{landing.module}` with the file's other kernels"
        data = {"landing": landing.module, "keeps_module": False, "default_module": landing.module == own_module(file)}
    return Finding(
        code=rule.code,
        rule=rule.slug,
        path=file.path,
        **head(file, construct.node),
        message=message,
        advice=advice,
        kernel=construct.qualname,
        fix=fix,
        declined=one.declined,
        data=data,
    )


def _decorator(construct: Construct) -> ast.expr:
    assert construct.decorator is not None
    return construct.decorator


RULE = Rule(
    code="WF301",
    slug="unique-stable-kernel",
    summary='`module="unique"` on a kernel that is always the same.',
    why=(
        "A unique kernel is compiled in a Warp module of its own. For kernels that differ from call to call that is "
        "right; for kernels that never change it turns one build into as many as there are kernels, each with the "
        "fixed cost of a build."
    ),
    bad='@wp.kernel(module="unique")\ndef step(v: wp.array(dtype=float)):\n    v[wp.tid()] += 1.0\n',
    good="@wp.kernel\ndef step(v: wp.array(dtype=float)):\n    v[wp.tid()] += 1.0\n",
    limits=(
        "Silent about generic kernels, which rebuild a shared module with each new argument type, and about "
        "`module_options=`, which only a unique module can carry; about a file's only kernel; about kernels made by "
        "wrapper decorators or from text. A kernel inside a function is closure-kernel's where it can be hoisted."
    ),
    fix_safety=(
        "`measured`: builds fall only where the kernels of one file are built together. The shared module is the "
        "file's own unless options are set for it, other kernels make it rebuild, or it is launched with other block "
        "dims; then a module of its own for the file, named `<file>.stable`, which needs Warp 1.10. One kernel alone "
        "that the file's options pass by is reported without a fix: joining would make them act on it."
    ),
    since="0.1.0",
    check=check,
)
