"""WF802 changing-value: what is compiled into a kernel, or names its Warp module, is another value in every run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex
from warpfix.index.model import Construct, FileIndex, Role
from warpfix.rules import Context, Rule, locate
from warpfix.rules._changing import changing, may_change
from warpfix.rules._places import measures

_NAMING = ("module", "name")


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the kernels and functions of one file."""
    if measures(index, file) or file.role is Role.TEST:
        return
    sources: frozenset[str] | None = context.cache.get("changing")
    if sources is None:
        sources = context.cache["changing"] = may_change(index)
    if file.path not in sources and not sources & set(index.imported_files(file.path)):
        return
    for construct in file.constructs:
        if construct.kind == "struct":
            continue
        yield from _in_name(index, file, construct)
        yield from _in_code(index, file, construct, context.cache.setdefault("changing at module scope", {}))


def _in_code(
    index: ProjectIndex, file: FileIndex, construct: Construct, known: dict[tuple[str, str], str | None]
) -> Iterator[Finding]:
    """Constants and ``wp.static`` of the body, each once; ``known`` is for what kernels of a file have in common."""
    asked: set[str] = set()
    assert not isinstance(construct.node, ast.ClassDef)
    around = (*construct.enclosing, construct.node)
    own = index.scope(construct.node).bindings
    alone = not construct.in_function
    for statement in construct.node.body:
        for node in _parts(statement):
            root = _root(node)
            text = root if isinstance(node, ast.Name) and root is not None else ast.unparse(node)
            if text in asked or root in own:
                continue  # a variable of the kernel: what it is made of is among the parts itself
            asked.add(text)
            key = (file.path, text)
            if not alone or isinstance(node, ast.Call):
                source = changing(index, file, node, around)
            elif key in known:
                source = known[key]
            else:
                source = known[key] = changing(index, file, node, around)
            if source is None:
                continue
            what = f"`{text}`" + ("" if text == source or source in text else f" (`{source}`)")
            yield Finding(
                code=RULE.code,
                rule=RULE.slug,
                path=file.path,
                **locate(file, node),
                message=(
                    f"{what} is compiled into `{construct.name}` and has another value in every process: the hash of "
                    "its Warp module is never the same twice, so every run builds the module again"
                ),
                advice=(
                    "pass the value as an argument of the kernel; no fix is offered: that changes its signature and "
                    "every launch"
                ),
                declined="passing the value as an argument changes the kernel's signature and every launch",
                data={"kind": "code", "source": source},
            )


def _parts(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a kernel's statement that may stand for a value known at compile time, outermost first."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Call) and _is_static(node):
            yield node
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _root(node) is not None:
            yield node
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node
            continue
        pending += ast.iter_child_nodes(node)


def _root(node: ast.expr) -> str | None:
    """The name that a dotted name starts with; None for any other expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_static(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name == "static"


def _in_name(index: ProjectIndex, file: FileIndex, construct: Construct) -> Iterator[Finding]:
    """``module=`` and ``name=`` of the decorator."""
    if construct.kind != "kernel" or not isinstance(construct.decorator, ast.Call):
        return
    for keyword in construct.decorator.keywords:
        if keyword.arg not in _NAMING:
            continue
        source = changing(index, file, keyword.value, construct.enclosing)
        if source is None:
            continue
        thing = "Warp module" if keyword.arg == "module" else "kernel"
        yield Finding(
            code=RULE.code,
            rule=RULE.slug,
            path=file.path,
            **locate(file, keyword.value),
            message=(
                f"the {thing} of `{construct.name}` gets another name in every process (`{source}`): what one run "
                "builds is never found by the next"
            ),
            advice=(
                'give it a name that depends only on what the kernel is made of, or `module="unique"`, which does so; '
                "no fix is offered: why the name changes is not in the source"
            ),
            declined="why the name changes, and what else goes by it, is not in the source",
            data={"kind": "name", "source": source},
        )


RULE = Rule(
    code="WF802",
    slug="changing-value",
    summary="A value that differs in every process is compiled into a kernel, or names its Warp module.",
    why=(
        "Constants and results of `wp.static` are part of a module's hash, by which Warp finds what it has built "
        "before. The clock, a process id, a random number without a seed or a fresh id among them gives every run "
        "another hash, and so a whole build. A random module name has the same effect: the cache's folder carries it."
    ),
    bad=(
        "SEED = wp.constant(int(time.time()))\n\n\n@wp.kernel\ndef jitter(v: wp.array(dtype=float)):\n"
        "    i = wp.tid()\n    v[i] = wp.randf(wp.rand_init(SEED, i))\n"
    ),
    good=(
        "@wp.kernel\ndef jitter(v: wp.array(dtype=float), seed: int):\n"
        "    i = wp.tid()\n    v[i] = wp.randf(wp.rand_init(seed, i))\n"
    ),
    limits=(
        "Silent in tests and benchmarks, about random numbers where anything in the project sets a seed, about names "
        "that are bound more than once, and about values that come from a flag, a file or the environment. What a run "
        "shows of it stands in `warpfix measure`: warm builds."
    ),
    fix_safety="No fix: an argument changes the kernel's signature and every launch.",
    since="0.1.0",
    check=check,
)
