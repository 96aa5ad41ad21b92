"""WF601 overloads: a generic kernel that is launched with several types, each of which rebuilds its module."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Mapping

from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import call_argument, value_of
from warpfix.index.model import Construct, FileIndex, Launch, Role
from warpfix.index.scopes import Function, parameters
from warpfix.index.walk import Enclosing
from warpfix.rules import Context, Rule
from warpfix.rules._kernels import head
from warpfix.rules._places import calls_of, innermost_function, joined, under_condition

_MAKERS = frozenset({"zeros", "ones", "empty", "full", "array", "from_numpy", "zeros_like", "ones_like", "empty_like"})
_DTYPE_AT = {"zeros": 1, "ones": 1, "empty": 1, "full": 2, "array": 1, "from_numpy": 1}
_BUILTIN = {"builtins.float": "float32", "builtins.int": "int32", "builtins.bool": "bool"}

_TYPE = re.compile(r"(?:u?int|float)(?:8|16|32|64)|(?:vec|mat|quat|transform|spatial_)\w*")

Types = Mapping[str, str]
"""What a loop's targets are in one turn: name to type."""


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the generic kernels of one file."""
    generic = [
        construct
        for construct in file.constructs
        if construct.kind == "kernel" and construct.generic and construct.decorator is not None
    ]
    if not generic:
        return
    by_kernel: dict[str, list[tuple[FileIndex, Launch]]] | None = context.cache.get("launches by kernel")
    if by_kernel is None:
        by_kernel = context.cache["launches by kernel"] = {}
        for other in index.files.values():
            if other.role not in (Role.TEST, Role.VENDORED):
                for launch in other.launches:
                    if launch.kernel_target is not None and launch.via in ("launch", "launch_tiled"):
                        by_kernel.setdefault(launch.kernel_target, []).append((other, launch))
    for construct in generic:
        if construct.in_function:
            continue
        canonical = index.canonical(file, construct)
        launches = by_kernel.get(canonical, [])
        if not launches or _has_overloads(index, context, canonical):
            continue
        signatures = _together(index, construct, launches)
        if len(signatures) > 1:
            yield _finding(file, construct, signatures)


def _has_overloads(index: ProjectIndex, context: Context, canonical: str) -> bool:
    """Whether something registers overloads: of this kernel, or of kernels that can't be read (a loop, a table)."""
    known: tuple[set[str], bool] | None = context.cache.get("overloads")
    if known is None:
        named: set[str] = set()
        unread = False
        for file in index.files.values():
            if "overload" not in file.text:
                continue
            for site in calls_of(index, file, "overload"):
                kernel = call_argument(site.node, 0, "kernel")
                resolved = index.resolve(file, kernel, site.enclosing) if kernel is not None else None
                if resolved is None or resolved not in index.constructs:
                    unread = True
                else:
                    named.add(resolved)
            if "@" in file.text:
                for definitions in index.definitions(file).values():
                    for definition in definitions:
                        for decorator in definition.node.decorator_list:
                            if index.resolve(file, decorator, definition.enclosing) == "warp.overload":
                                named.add(f"{index.prefix(file)}.{definition.node.name}")
        known = context.cache["overloads"] = (named, unread)
    return known[1] or canonical in known[0]


# ---- types


def _together(
    index: ProjectIndex, construct: Construct, launches: list[tuple[FileIndex, Launch]]
) -> dict[tuple[str, ...], tuple[FileIndex, int]]:
    """Signatures that one function (or one file's body) launches for sure, the most of any; to the first place."""
    best: dict[tuple[str, ...], tuple[FileIndex, int]] = {}
    groups: dict[tuple[str, ast.AST | None], list[tuple[FileIndex, Launch]]] = {}
    for file, launch in launches:
        if not under_condition(launch.enclosing):
            groups.setdefault((file.path, innermost_function(launch.enclosing)), []).append((file, launch))
    for group in groups.values():
        found: dict[tuple[str, ...], tuple[FileIndex, int]] = {}
        for file, launch in group:
            for turn in _turns(index, file, launch.enclosing):
                signature = _signature(index, file, construct, launch, turn)
                if signature is not None:
                    found.setdefault(signature, (file, launch.node.lineno))
        if len(found) > len(best):
            best = found
    return best


def _turns(index: ProjectIndex, file: FileIndex, enclosing: Enclosing) -> list[Types]:
    """One entry for each turn of the innermost loop over types that are written out; else one that knows nothing."""
    for node in reversed(enclosing):
        if isinstance(node, Function):
            break
        if not isinstance(node, ast.For):
            continue
        rows = value_of(index, file, node.iter, enclosing)
        if not isinstance(rows, (ast.Tuple, ast.List)):
            continue
        turns: list[Types] = []
        for row in rows.elts:
            types: dict[str, str] = {}
            targets, values = [node.target], [row]
            if isinstance(node.target, ast.Tuple) and isinstance(row, (ast.Tuple, ast.List)):
                targets, values = node.target.elts, row.elts
            for target, value in zip(targets, values, strict=False):
                kind = _type(index, file, value, enclosing) or _scalar(index, file, value, enclosing)
                if isinstance(target, ast.Name) and kind is not None:
                    types[target.id] = kind
            turns.append(types)
        if any(turns):
            return turns
    return [{}]


def _type(index: ProjectIndex, file: FileIndex, node: ast.expr, enclosing: Enclosing) -> str | None:
    """A type, by Warp's name for it."""
    resolved = index.resolve(file, node, enclosing)
    if resolved is None:
        return None
    if resolved in _BUILTIN:
        return _BUILTIN[resolved]
    if resolved.startswith("warp.") and resolved.count(".") == 1:
        name = resolved.removeprefix("warp.")
        if name == "bool" or _TYPE.fullmatch(name):
            return {"vec2": "vec2f", "vec3": "vec3f", "vec4": "vec4f"}.get(name, name)
    return None


def _scalar(index: ProjectIndex, file: FileIndex, node: ast.expr, enclosing: Enclosing) -> str | None:
    """The type of a scalar argument: a literal, or ``wp.float64(2.0)``."""
    if isinstance(node, ast.Constant):
        kind = type(node.value).__name__
        return {"float": "float32", "int": "int32", "bool": "bool"}.get(kind)
    if isinstance(node, ast.Call):
        return _type(index, file, node.func, enclosing)
    return None


def _signature(
    index: ProjectIndex, file: FileIndex, construct: Construct, launch: Launch, turn: Types
) -> tuple[str, ...] | None:
    """Types of the generic parameters in a launch, by the parameters' order; None unless all are in the source."""
    assert not isinstance(construct.node, ast.ClassDef)
    given = call_argument(launch.node, 2, "inputs")
    outputs = call_argument(launch.node, 3, "outputs")
    values: list[ast.expr] = []
    for listed in (given, outputs):
        if listed is None:
            continue
        value = value_of(index, file, listed, launch.enclosing)
        if not isinstance(value, (ast.List, ast.Tuple)) or any(isinstance(item, ast.Starred) for item in value.elts):
            return None
        values.extend(value.elts)
    signature: list[str] = []
    for parameter, argument in zip(parameters(construct.node.args), values, strict=False):
        if parameter.annotation is None or not _is_generic(parameter.annotation):
            continue
        kind = _argument(index, file, argument, launch.enclosing, turn, 0)
        if kind is None:
            return None
        signature.append(kind)
    return tuple(signature) or None


def _is_generic(annotation: ast.expr) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in ("Any", "Float", "Int", "Scalar"))
        or (isinstance(node, ast.Attribute) and node.attr in ("Any", "Float", "Int", "Scalar"))
        for node in ast.walk(annotation)
    )


def _argument(
    index: ProjectIndex, file: FileIndex, node: ast.expr, enclosing: Enclosing, turn: Types, depth: int
) -> str | None:
    if depth > 3:
        return None
    if isinstance(node, ast.Name) and node.id in turn:
        return turn[node.id]
    value = value_of(index, file, node, enclosing)
    if isinstance(value, ast.Constant):
        return _scalar(index, file, value, enclosing)
    if not isinstance(value, ast.Call):
        return None
    resolved = index.resolve(file, value.func, enclosing) or ""
    name = resolved.removeprefix("warp.")
    if not resolved.startswith("warp.") or name not in _MAKERS:
        return _scalar(index, file, value, enclosing)
    if name.endswith("_like"):
        return _argument(index, file, value.args[0], enclosing, turn, depth + 1) if value.args else None
    dtype = call_argument(value, _DTYPE_AT[name], "dtype")
    if dtype is None:
        return "float32" if name in ("zeros", "ones", "empty") and _plain(value) else None
    if isinstance(dtype, ast.Name) and dtype.id in turn:
        return turn[dtype.id]
    return _type(index, file, value_of(index, file, dtype, enclosing), enclosing)


def _plain(call: ast.Call) -> bool:
    return not any(keyword.arg is None for keyword in call.keywords)


# ---- the finding


def _finding(
    file: FileIndex, construct: Construct, signatures: Mapping[tuple[str, ...], tuple[FileIndex, int]]
) -> Finding:
    listed = sorted(signatures)
    spelled = [", ".join(signature) for signature in listed]
    places = sorted({f"{os.path.basename(where.path)}:{line}" for where, line in signatures.values()})
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **head(file, construct.node),
        message=(
            f"generic kernel `{construct.name}` is launched with {len(listed)} sets of types "
            f"({joined(f'({text})' for text in spelled)}; {', '.join(places[:3])}), and nothing registers them: each "
            "first launch with another one builds its whole module again"
        ),
        advice=(
            f"register what is launched, right below the kernel: `wp.overload({construct.name}, [...])` for each of "
            f"{joined(f'({text})' for text in spelled)}, and no more than that"
        ),
        kernel=construct.qualname,
        declined=(
            "a type for which the kernel does not compile breaks its whole module, so only types seen in a run may be "
            "registered"
        ),
        data={"signatures": [list(signature) for signature in listed]},
    )


RULE = Rule(
    code="WF601",
    slug="overloads",
    summary="A generic kernel is launched with several types, none of them registered early.",
    why=(
        "Warp makes an instance of a generic kernel when it meets a new set of argument types, and adds it to the "
        "module, which is then built again, with all of its kernels. Three types are three builds; registered with "
        "`wp.overload` before the first launch, they are one."
    ),
    bad=(
        "@wp.kernel\n"
        "def scale(v: wp.array(dtype=Any), s: Any):\n"
        "    v[wp.tid()] = v[wp.tid()] * s\n"
        "\n\n"
        "wp.launch(scale, dim=n, inputs=[wp.ones(n, dtype=wp.float32), wp.float32(2.0)])\n"
        "wp.launch(scale, dim=n, inputs=[wp.ones(n, dtype=wp.float64), wp.float64(2.0)])\n"
    ),
    good=(
        "@wp.kernel\n"
        "def scale(v: wp.array(dtype=Any), s: Any):\n"
        "    v[wp.tid()] = v[wp.tid()] * s\n"
        "\n\n"
        "for dtype in (wp.float32, wp.float64):\n"
        "    wp.overload(scale, [wp.array(dtype=dtype), dtype])\n"
    ),
    limits=(
        "Reported where one function, or the body of one file, launches the kernel with several sets of types that the "
        "source shows, under no condition. Silent where the project registers overloads of it, or of kernels that come "
        "from a loop, a table or a class; and about types that depend on data."
    ),
    fix_safety=(
        "No fix: one instance that does not compile breaks every kernel of the module; only a run shows what is used."
    ),
    since="0.1.0",
    check=check,
)
