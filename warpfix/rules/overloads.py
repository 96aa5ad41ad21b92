"""WF601 overloads: a generic kernel that is launched with several types, each of which rebuilds its module."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warpfix.codemods.insert_below import InsertBelow
from warpfix.findings import Applicability, Finding, Fix
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import call_argument, value_of
from warpfix.index.model import Construct, FileIndex, Launch, Role
from warpfix.index.scopes import Function, parameters
from warpfix.index.walk import Enclosing
from warpfix.measure.profile import Profile
from warpfix.rules import Context, Rule
from warpfix.rules._kernels import head
from warpfix.rules._names import warp_name
from warpfix.rules._places import calls_of, innermost_function, joined, stands_alone, under_condition
from warpfix.rules._types import spell

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
        seen = late_instances(context, file, construct)
        if seen:
            yield _measured(index, file, context, construct, seen, canonical)
            continue
        launches = by_kernel.get(canonical, [])
        named, unread = _registered(index, context)
        if not launches or unread or canonical in named:
            continue
        signatures = _together(index, construct, launches)
        if len(signatures) > 1:
            yield _finding(file, construct, signatures)


def _registered(index: ProjectIndex, context: Context) -> tuple[set[str], bool]:
    """The kernels whose overloads the project registers, and whether it registers some of kernels that can't be read
    (from a loop, a table)."""
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
    return known


# ---- what a run showed


def late_instances(context: Context, file: FileIndex, construct: Construct) -> Mapping[str, Instance]:
    """Signatures of the kernel's instances that a run launched, where some came only after a build of their module.

    Empty where there is no profile, and where every build had all that a later build of the same module had.
    """
    if context.profile is None:
        return {}
    known: dict[tuple[str, str], dict[str, Instance]] | None = context.cache.get("late instances")
    if known is None:
        known = context.cache["late instances"] = _late_instances(context.profile)
    return known.get((os.path.realpath(file.path), construct.qualname), {})


@dataclass(frozen=True)
class Instance:
    """One instance of a generic kernel, as a run launched it."""

    types: tuple[str, ...]
    """Warp's type code of each parameter."""
    late: bool
    """Whether its module had been built without it before."""


def _late_instances(profile: Profile) -> dict[tuple[str, str], dict[str, Instance]]:
    launched: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    late: dict[tuple[str, str], set[str]] = {}
    for run in profile.cold:
        for process in run.processes:
            for signature in process.launches.signatures:
                if signature.overload:
                    key = (os.path.realpath(signature.kernel.path), signature.kernel.qualname)
                    launched.setdefault(key, {})[signature.overload] = signature.dtypes
            built: dict[tuple[str, str, int], set[tuple[str, str, str]]] = {}
            for load in process.loads:
                if not load.compiled:
                    continue
                here = {
                    (os.path.realpath(kernel.definition.path), kernel.definition.qualname, kernel.overload)
                    for kernel in load.kernels
                }
                before = built.setdefault((load.module, load.target, load.block_dim), set())
                if before:
                    for path, qualname, overload in here - before:
                        if overload:
                            late.setdefault((path, qualname), set()).add(overload)
                before |= here
    return {
        key: {code: Instance(types, code in late[key]) for code, types in launched[key].items()}
        for key in late
        if late[key] & launched.get(key, {}).keys()
    }


def _measured(
    index: ProjectIndex,
    file: FileIndex,
    context: Context,
    construct: Construct,
    seen: Mapping[str, Instance],
    canonical: str,
) -> Finding:
    named, _ = _registered(index, context)
    # What the project registers by itself stands in the first build; the rest is what came too late.
    wanted = [one for one in seen.values() if one.late or canonical not in named]
    late = sum(one.late for one in seen.values())
    warp = warp_name(index, file, construct.node.lineno)
    names: list[str] = []
    rows: list[list[str]] = []
    declined = _cannot_register(index, file, construct, warp)
    if declined is None:
        assert warp is not None
        names, rows, declined = _rows(index, file, construct, wanted, warp)
    listed = joined(f"({', '.join(row)})" for row in rows[:4]) + (", ..." if len(rows) > 4 else "") if rows else ""
    fix = None
    if declined is None:
        library = file.role is not Role.APPLICATION
        lines = [line for row in rows for line in _call(warp or "", construct.name, names, row)]
        fix = Fix(
            applicability=Applicability.ASK if library else Applicability.MEASURED,
            summary=(
                f"register the {len(rows)} set{'s' if len(rows) > 1 else ''} of types that the run launched "
                f"`{construct.name}` with, right below it"
            ),
            edits={file.path: (InsertBelow(construct.node.lineno, construct.name, tuple(lines)),)},
            proved="every set of types was launched in the measured command, so that each is known to compile",
            unproved=(
                "this is library code: everybody who imports it would build these instances with its module, whether "
                "they launch them or not"
                if library
                else "which types a program launches is for a measured run to show"
            ),
        )
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **head(file, construct.node),
        message=(
            f"generic kernel `{construct.name}` got {late} of its {len(seen)} set{'s' if len(seen) > 1 else ''} of "
            "types only after its module had been built, which was built again with all of its kernels for "
            f"{'it' if late == 1 else 'each first launch'}"
        ),
        advice=(
            f"register what the run launched: {listed}, and no more than that"
            if fix is not None
            else f"register what is launched right below the kernel, with `wp.overload`; no fix is offered: {declined}"
        ),
        kernel=construct.qualname,
        fix=fix,
        declined=declined,
        data={"signatures": [list(one.types) for one in seen.values()], "late": late},
    )


def _cannot_register(index: ProjectIndex, file: FileIndex, construct: Construct, warp: str | None) -> str | None:
    """Why nothing can be written below the kernel, in words."""
    name = construct.name
    if warp is None:
        return "the file has no name for Warp itself above the kernel"
    if any(isinstance(node, ast.ClassDef) for node in construct.enclosing):
        return f"`{name}` stands in a class"
    if len(file.bindings.get(name, ())) != 1 or name in file.global_writes:
        return f"`{name}` is bound more than once"
    if construct.via_wrapper is not None or construct.node.decorator_list[:1] != [construct.decorator]:
        return f"what `{name}` is after its other decorators is not for Warp to say"
    if not stands_alone(file, construct.node):
        return "it shares a line with another statement"
    return None


def _rows(
    index: ProjectIndex, file: FileIndex, construct: Construct, wanted: Sequence[Instance], warp: str
) -> tuple[list[str], list[list[str]], str | None]:
    """Generic parameters, the spelled types of each instance for them, and why there are none, if so."""
    assert not isinstance(construct.node, ast.ClassDef)
    arguments = list(parameters(construct.node.args))
    places = [
        place
        for place, one in enumerate(arguments)
        if one.annotation is not None and _is_generic(_annotation(index, file, one.annotation))
    ]
    names = [arguments[place].arg for place in places]
    rows = []
    for instance in wanted:
        if len(instance.types) != len(arguments):
            return names, [], "its parameters are not those of the measured kernel"
        row = []
        for place in places:
            code = instance.types[place]
            spelled = spell(code, warp, lambda name: _struct(index, file, construct, name))
            if spelled is None:
                return names, [], f"the type of `{arguments[place].arg}` ({code}) has no sure name in this file"
            row.append(spelled)
        if row not in rows:
            rows.append(row)
    return names, rows, None if names else "which of its parameters are generic is not in the source"


def _annotation(index: ProjectIndex, file: FileIndex, annotation: ast.expr) -> ast.expr:
    """An annotation with quotes taken off, and a name of the file followed to its value."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return annotation
    return value_of(index, file, annotation, ())


def _struct(index: ProjectIndex, file: FileIndex, construct: Construct, name: str) -> str | None:
    """The file's name for a struct of the project, if it is bound above the kernel."""
    bound = file.bindings.get(name, ())
    if len(bound) != 1 or getattr(bound[0], "lineno", construct.node.lineno) >= construct.node.lineno:
        return None
    resolved = index.resolve(file, ast.Name(id=name, ctx=ast.Load()))
    found = index.constructs.get(resolved or "")
    return name if found is not None and found[1].kind == "struct" else None


_WIDTH = 100


def _call(warp: str, name: str, names: Sequence[str], row: Sequence[str]) -> list[str]:
    """The lines of one registration."""
    pairs = [f'"{parameter}": {spelled}' for parameter, spelled in zip(names, row, strict=True)]
    line = f"{warp}.overload({name}, {{{', '.join(pairs)}}})"
    if len(line) <= _WIDTH:
        return [line]
    return [f"{warp}.overload(", f"    {name},", "    {", *(f"        {pair}," for pair in pairs), "    },", ")"]


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
        "From the source alone: reported where one function, or the body of one file, launches the kernel with several "
        "sets of types that the source shows, under no condition; silent where the project registers overloads of it, "
        "or of kernels that come from a loop, a table or a class. With a profile: wherever an instance came after a "
        "build of its module. Kernels inside functions and classes are not registered, nor types that have no sure "
        "name in the kernel's file (structs of other files, textures, tiles)."
    ),
    fix_safety=(
        "`measured`, from a profile only (`apply --verify`, `--profile`): exactly the sets of types that the run "
        "launched are registered, right below the kernel. Never one that was not seen: an instance that does not "
        "compile breaks every kernel of its module. `ask` in library code, where each consumer would build them."
    ),
    since="0.1.0",
    check=check,
    more_with_profile=True,
)
