"""Whether a value is the same thing at every call, and whether the object behind a name may be changed in place."""

from __future__ import annotations

import ast
import re

from warpfix.codemods.trees import tree_nodes
from warpfix.hoisting.facts import FileFacts
from warpfix.hoisting.ground import Ground
from warpfix.index.captures import Scope
from warpfix.index.scopes import assigned_value

_MATH = re.compile(r"^(?:math|numpy)\.(?:pi|e|tau|inf|nan)$")
_SCALAR = re.compile(r"^warp\.(?:types\.)?(?:u?int(?:8|16|32|64)|bfloat16|float(?:16|32|64)|bool)$")
BUILTIN_TYPES = frozenset({"builtins.int", "builtins.float", "builtins.bool"})
_TYPE_MAKERS = frozenset(
    {
        "warp.types.vector",
        "warp.types.matrix",
        "warp.types.quaternion",
        "warp.types.transformation",
        "warp._src.types.vector",
        "warp._src.types.matrix",
    }
)
_WARP_TYPE = re.compile(
    r"^warp\.(?:types\.)?(?:(?:vec|mat|quat|transform|spatial_vector|spatial_matrix)\w*|u?int(?:8|16|32|64)|"
    r"bfloat16|float(?:16|32|64)|bool|vector|matrix)$"
)
_WARP_FUNCTION = re.compile(r"^warp\.(?!config$)[a-z]\w*$")
_SETTINGS = ("warp.config.", "os.environ.", "sys.argv.")
_ASKS_WARP = re.compile(
    r"^warp\.(?:(?:get|is|has|set|from|load|launch|rand|init|synchronize|capture)(?:_|$)|zeros|ones|empty|full|clone|Scoped)"
)


def is_setting(resolved: str) -> bool:
    """Whether a canonical name is of what the process can set otherwise at any time."""
    return f"{resolved}.".startswith(_SETTINGS)


def asks_warp(resolved: str) -> bool:
    """Whether a canonical name is of a function whose answer depends on devices, modules or memory."""
    return _ASKS_WARP.match(resolved) is not None


def mutable(facts: FileFacts, value: ast.expr | None) -> bool:
    """Whether a value is an object that can be changed in place: a container, a vector, the result of a call."""
    if isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)):
        return True
    if not isinstance(value, ast.Call):
        return False
    resolved = facts.resolve(value.func) or ""
    if resolved == "warp.constant":
        return any(mutable(facts, argument) for argument in value.args)
    if resolved in BUILTIN_TYPES or resolved in _TYPE_MAKERS:
        return False
    return not (is_warp_type(resolved) and _SCALAR.match(resolved))


def may_change(ground: Ground, scope: Scope, name: str) -> bool:
    """Whether Python code may change the object behind a local name: it stores into it or hands it on."""
    for occurrence in ground.scopes.references(scope, name):
        node = occurrence.node
        if occurrence.store or any(outer in ground.facts.definitions_by_node for outer in ground.facts.chain(node)):
            continue
        parent = ground.source.parents.get(node)
        if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue)):
            continue
        if isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node:
            user = ground.source.parents.get(parent)
            if not isinstance(parent.ctx, ast.Load) or (isinstance(user, ast.Call) and user.func is parent):
                return True
            continue
        holder = parent
        while isinstance(holder, (ast.List, ast.Tuple, ast.keyword)):
            holder = ground.source.parents.get(holder)
        called = holder.func if isinstance(holder, ast.Call) else None
        if not isinstance(called, (ast.Name, ast.Attribute)):
            return True
        if not (ground.facts.resolve(called) or "").startswith(("warp.", "builtins.print")):
            return True
    return False


def not_constant(ground: Ground, value: ast.expr) -> str | None:
    """Why a value is not the same, immutable thing at every call; None if it is."""
    if isinstance(value, ast.Constant):
        return None
    if isinstance(value, ast.UnaryOp):
        return not_constant(ground, value.operand)
    if isinstance(value, ast.BinOp):
        return not_constant(ground, value.left) or not_constant(ground, value.right)
    if isinstance(value, ast.Tuple):
        return next((problem for item in value.elts if (problem := not_constant(ground, item))), None)
    if isinstance(value, ast.Name):
        scope = ground.scopes.lookup(value.id, ground.scope_of(value))
        if scope is not None and scope.kind != "module":
            return None  # followed as a capture of its own
        resolved = ground.facts.resolve(value)
        if resolved is not None and (is_warp_type(resolved) or resolved in BUILTIN_TYPES):
            return None
        if _constant_of_module(ground, value.id):
            return None
        return f"which is computed from `{value.id}`"
    if isinstance(value, ast.Attribute):
        resolved = ground.facts.resolve(value)
        if resolved is not None and (is_warp_type(resolved) or _MATH.match(resolved) or _WARP_FUNCTION.match(resolved)):
            return None
        return f"which is computed from `{ast.unparse(value)}`"
    if isinstance(value, ast.Call):
        resolved = ground.facts.resolve(value.func)
        known = resolved is not None and (
            resolved == "warp.constant" or resolved in _TYPE_MAKERS or is_warp_type(resolved)
        )
        if known:
            parts = [*value.args, *(keyword.value for keyword in value.keywords)]
            return next((problem for item in parts if (problem := not_constant(ground, item))), None)
        return f"which comes from a call of `{ast.unparse(value.func)}`"
    return "which is computed at every call"


def _constant_of_module(ground: Ground, name: str) -> bool:
    """Whether a name of module scope is bound once, to a value made of literals and Warp's names alone."""
    bindings = ground.file.bindings.get(name, [])
    value = assigned_value(bindings[0], name) if len(bindings) == 1 else None
    if value is None or name in ground.file.global_writes or mutable(ground.facts, value):
        return False
    plain = all(
        isinstance(binding, (ast.Import, ast.ImportFrom))
        for inner in tree_nodes(value)
        if isinstance(inner, ast.Name)
        for binding in ground.file.bindings.get(inner.id, ())
    )
    return plain and not_constant(ground, value) is None


def is_warp_type(resolved: str) -> bool:
    """Whether a canonical name is a type of Warp."""
    return _WARP_TYPE.match(resolved) is not None
