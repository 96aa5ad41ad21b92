"""WF101 closure-kernel: a kernel that is the same at every call is defined inside a function."""

from __future__ import annotations

from collections.abc import Iterable

from warpfix.codemods import Declined
from warpfix.findings import Finding, Fix
from warpfix.hoisting import Hoister, Verdict, hoister_for, sharers
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import own_module
from warpfix.index.model import FileIndex, ModuleChoice
from warpfix.rules import Context, Rule
from warpfix.rules._kernels import head
from warpfix.rules.specialised_kernel import isolating_fix


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the closure kernels of one file."""
    hoister = hoister_for(index, context.config)
    for verdict in hoister.verdicts(file):
        finding = closure_finding(hoister, verdict)
        if finding is not None:
            yield finding


def closure_finding(hoister: Hoister, verdict: Verdict) -> Finding | None:
    """The finding for a stable closure kernel; None where hoisting would change nothing, or nobody can say."""
    construct = verdict.construct
    if not verdict.stable or verdict.silent:
        return None
    unique = in_unique_module(verdict)
    if verdict.declined is not None and unique:
        return None  # in a module of its own it is never late; unique-stable-kernel says what there is to say
    if not unique and verdict.at_import_only:
        return None
    file = verdict.file
    if unique and verdict.landing is not None and sharers(hoister, file)[verdict.landing.module] < 2:
        return None  # alone in a shared module it is built as often as alone in its own
    function = next(node for node in reversed(construct.enclosing) if hasattr(node, "decorator_list"))
    around = getattr(function, "name", "")
    qualname = construct.qualname
    fix, data, declined = hoist_fix(verdict), _data(verdict), verdict.declined
    if declined is not None and not unique:
        try:
            fix = isolating_fix(hoister, verdict)
            data = {"isolates": construct.module_name or own_module(file), "not_hoisted": declined}
        except Declined:
            pass  # the first reason is the one that a reader wants
    if unique:
        message = (
            f"`{construct.name}` is the same kernel at every call of `{around}`, yet it gets a Warp module of its own, "
            "which is built alone"
        )
    else:
        module = construct.module_name or own_module(file)
        proved = ", though it captures nothing that varies" if verdict.same else ""
        message = (
            f"`{construct.name}` is defined in `{around}`{proved}: when it first appears after Warp module `{module}` "
            "was loaded, the whole module is built again"
        )
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **head(file, construct.node),
        message=message,
        advice=_advice(verdict, isolated="not_hoisted" in data),
        kernel=qualname,
        fix=fix,
        declined=None if fix is not None else declined,
        data=data,
    )


def in_unique_module(verdict: Verdict) -> bool:
    """Whether the kernel gets a Warp module of its own unless a caller says otherwise."""
    construct = verdict.construct
    if construct.module_choice is ModuleChoice.UNIQUE:
        return True
    return construct.module_choice is ModuleChoice.PARAMETER and construct.module_default == "unique"


def hoist_fix(verdict: Verdict) -> Fix | None:
    """The fix of a verdict that has edits."""
    if not verdict.edits or verdict.rename is None or verdict.landing is None:
        return None
    construct = verdict.construct
    along = f" with {', '.join(f'`{name}`' for name in verdict.moved)}" if verdict.moved else ""
    renamed = "" if verdict.rename.new_qualname == construct.name else f" as `{verdict.rename.new_qualname}`"
    into = f", in the shared Warp module `{verdict.landing.module}`" if verdict.landing.shared else ""
    return Fix(
        applicability=verdict.applicability,
        summary=f"move `{construct.name}`{along} to module scope{renamed}{into}",
        edits={verdict.file.path: verdict.edits},
        renames=(verdict.rename,),
        proved="captures nothing that varies; every name that it reads is bound once, before its new place",
        unproved=verdict.unproved,
    )


def _advice(verdict: Verdict, isolated: bool) -> str:
    if isolated:
        return (
            f"it stays in its function: {verdict.declined}; in a Warp module of its own it would not have the others "
            "built again"
        )
    if verdict.declined is not None and not verdict.same:
        return f"whether it is the same at every call was not proved, and no fix is offered: {verdict.declined}"
    if verdict.declined is not None:
        return f"define it at module scope, by hand; no fix is offered: {verdict.declined}"
    assert verdict.rename is not None
    text = "move it to module scope, where it is part of its module from the start"
    if verdict.landing is not None and verdict.landing.shared:
        module = verdict.landing.module
        text = f"move it to module scope, in one Warp module (`{module}`) with the file's other stable kernels"
    if verdict.rename.old_key != verdict.rename.new_key:
        text += f"; its key changes from `{verdict.rename.old_key}` to `{verdict.rename.new_key}`"
    return text


def _data(verdict: Verdict) -> dict[str, object]:
    data: dict[str, object] = {}
    if verdict.rename is not None and verdict.landing is not None:
        data["landing"] = verdict.landing.module
        data["keeps_module"] = not verdict.landing.shared
        data["default_module"] = verdict.landing.module == own_module(verdict.file)
        data["old_key"], data["new_key"] = verdict.rename.old_key, verdict.rename.new_key
        data["moves_along"] = list(verdict.moved)
    return data


RULE = Rule(
    code="WF101",
    slug="closure-kernel",
    summary="A kernel that captures nothing that varies is defined inside a function.",
    why=(
        "Warp compiles modules, not kernels. A kernel that first appears when its module has been loaded changes the "
        "module's hash, and the next launch of any of its kernels builds the whole module again: one build for every "
        'such function. In a module of its own (`module="unique"`) it is built alone, with all that a build costs.'
    ),
    bad=(
        "def smooth(values):\n"
        "    @wp.kernel\n"
        "    def damp(v: wp.array(dtype=float)):\n"
        "        v[wp.tid()] *= 0.5\n"
        "\n"
        "    wp.launch(damp, dim=values.size, inputs=[values])\n"
    ),
    good=(
        "@wp.kernel\n"
        "def damp(v: wp.array(dtype=float)):\n"
        "    v[wp.tid()] *= 0.5\n"
        "\n"
        "\n"
        "def smooth(values):\n"
        "    wp.launch(damp, dim=values.size, inputs=[values])\n"
    ),
    limits=(
        "Silent where every known call of the function runs at import, since nothing is late then; about a file's only "
        "kernel with a module of its own, since sharing needs company; about kernels whose Warp module can't be read "
        "from the source (wrapper decorators, `module=` from an expression). A kernel that captures a parameter, "
        "`self` or a computed local is another rule's (specialised-kernel)."
    ),
    fix_safety=(
        "The kernel moves to module scope with the functions, structs and constants that it needs. `safe` only where "
        "importing the file creates its Warp module already; where hoisting moves that moment, or a kernel leaves a "
        "unique module for a shared one, `measured`; in a library, moving that moment is `ask`. Where it can't move, "
        "it may get a Warp module of its own, as for specialised-kernel."
    ),
    since="0.1.0",
    check=check,
)
