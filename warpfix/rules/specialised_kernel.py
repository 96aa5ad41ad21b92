"""WF102 specialised-kernel: a closure kernel that captures what varies rebuilds the module that it shares."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable

from warpfix.codemods import Declined
from warpfix.findings import Applicability, Finding, Fix, KernelRename
from warpfix.hoisting import Capture, Hoister, Verdict, hoister_for, kernel_key
from warpfix.hoisting.isolation import isolation
from warpfix.index.build import CallSite, ProjectIndex
from warpfix.index.constructs import own_module, parameter_default
from warpfix.index.model import FileIndex, ModuleChoice, Role
from warpfix.rules import Context, Rule
from warpfix.rules._kernels import head


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the specialised closure kernels of one file."""
    hoister = hoister_for(index, context.config)
    for verdict in hoister.verdicts(file):
        if verdict.stable or verdict.silent or verdict.at_import_only or not _in_shared_module(verdict):
            continue
        construct = verdict.construct
        words, data = _captures(hoister, verdict)
        fix, declined = None, None
        try:
            fix = isolating_fix(hoister, verdict)
            data["isolates"] = own_module(file)
        except Declined as reason:
            declined = str(reason)
        yield Finding(
            code=RULE.code,
            rule=RULE.slug,
            path=file.path,
            **head(file, construct.node),
            message=(
                f"`{construct.name}` captures {words}: every new variant of it builds Warp module "
                f"`{own_module(file)}` again, with all of its other kernels"
            ),
            advice=_advice(construct.generic, declined),
            kernel=construct.qualname,
            fix=fix,
            declined=declined,
            data=data,
        )


_ADVICE = (
    'give it `module="unique"`, so that a new variant builds alone (a unique module does not see the file\'s '
    "`wp.set_module_options`), or pass the value as a kernel argument"
)

# Alone in its module, a generic kernel is still built again with each new argument type: that is better mended first.
_GENERIC_ADVICE = (
    'register its overloads with `wp.overload` as soon as it is made; then `module="unique"` lets a new variant build '
    "alone; or pass the value as a kernel argument"
)


def _advice(generic: bool, declined: str | None) -> str:
    advice = _GENERIC_ADVICE if generic else _ADVICE
    return advice if declined is None else f"{advice}; no fix is offered: {declined}"


def isolating_fix(hoister: Hoister, verdict: Verdict) -> Fix:
    """The kernel in a Warp module of its own. Raises Declined."""
    construct, file = verdict.construct, verdict.file
    edit = isolation(hoister, file, construct)
    key = kernel_key(construct.qualname)
    carried = f" and the file's options ({', '.join(name for name, _ in edit.options)})" if edit.options else ""
    asks = file.role is Role.LIBRARY
    return Fix(
        applicability=Applicability.ASK if asks else Applicability.MEASURED,
        summary=f"give `{construct.name}` a Warp module of its own{carried}: a new variant is then built alone",
        edits={file.path: (edit,)},
        renames=(KernelRename(file.path, construct.qualname, construct.qualname, key, key),),
        proved=(
            "what it captures is the same when it is made and when it is built; nothing looks at its module; the "
            "options that reach it are those of the shared module"
        ),
        unproved="a Warp module of its own copies `wp.config` when the kernel is made, the shared one did when it was "
        "imported"
        if asks
        else "only a measurement can say whether it pays",
    )


def _in_shared_module(verdict: Verdict) -> bool:
    construct = verdict.construct
    if construct.module_choice is ModuleChoice.DEFAULT:
        return True
    if construct.module_choice is not ModuleChoice.PARAMETER or construct.module_parameter is None:
        return False
    for node in reversed(construct.enclosing):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            default = parameter_default(node, construct.module_parameter)
            if default is not None:
                return isinstance(default, ast.Constant) and default.value is None
    return False


def _captures(hoister: Hoister, verdict: Verdict) -> tuple[str, dict[str, object]]:
    """What is captured, in words, and for machines."""
    pieces = []
    listed = []
    for capture in verdict.captures:
        reason = _where_it_differs(hoister, verdict, capture) or capture.reason
        pieces.append(f"`{capture.name}`, {reason}")
        listed.append({"name": capture.name, "reason": reason})
    shown = pieces[:3] + ([f"and {len(pieces) - 3} more"] if len(pieces) > 3 else [])
    return "; ".join(shown), {"captures": listed}


def _where_it_differs(hoister: Hoister, verdict: Verdict, capture: Capture) -> str | None:
    """Two calls that give a captured parameter different values, if the source shows them."""
    function = capture.function
    if (
        not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        or function is not verdict.construct.enclosing[0]
    ):
        return None
    sites = hoister.index.call_sites(f"{hoister.index.prefix(verdict.file)}.{function.name}")
    values: dict[str, CallSite] = {}
    for site in sites:
        value = _given(function, site.node, capture.name)
        if value is not None:
            values.setdefault(ast.dump(value), site)
    if len(values) < 2:
        return None
    first, second = list(values.values())[:2]
    return f"which differs between calls at {_place(first)} and {_place(second)}"


def _given(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, name: str) -> ast.expr | None:
    """The expression that a call gives a parameter; its default where the call gives none; None if it is hidden."""
    if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    positional = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
    if name in positional and positional.index(name) < len(call.args):
        return call.args[positional.index(name)]
    return parameter_default(function, name)


def _place(site: CallSite) -> str:
    return f"{os.path.basename(site.file.path)}:{site.node.lineno}"


RULE = Rule(
    code="WF102",
    slug="specialised-kernel",
    summary="A closure kernel that captures what varies shares a Warp module with other kernels.",
    why=(
        "Every new variant of the kernel changes the hash of the module that holds it, and so builds all of that "
        "module's kernels again. In a module of its own a new variant is built alone, and an old one is found again."
    ),
    bad=(
        "def make_scale(factor):\n"
        "    @wp.kernel\n"
        "    def scale(v: wp.array(dtype=float)):\n"
        "        v[wp.tid()] *= wp.static(factor)\n"
        "\n"
        "    return scale\n"
    ),
    good=(
        "@functools.cache\n"
        "def make_scale(factor):\n"
        '    @wp.kernel(module="unique")\n'
        "    def scale(v: wp.array(dtype=float)):\n"
        "        v[wp.tid()] *= wp.static(factor)\n"
        "\n"
        "    return scale\n"
    ),
    limits=(
        "Silent about kernels that are unique already, about functions that only run at import, and where the Warp "
        "module can't be read from the source. Whether the variants really differ is for a measurement to say."
    ),
    fix_safety=(
        '`measured`: `module="unique"`, written only where a measured command shows that the kernel has its module '
        "built again, and that with it apart no more modules are built than now (kernels that are all made before the "
        "first launch are left: together they are one build). Options that the file sets for its Warp module are "
        "carried over with `module_options=`, from Warp 1.13 on. Declined where the module is chosen by a caller, what "
        "is captured changes between the kernel's definition and its launch, `wp.config` is set late, or, before Warp "
        "1.10, where nothing keeps the kernel or it is generic. In a library `ask`."
    ),
    since="0.1.0",
    check=check,
)
