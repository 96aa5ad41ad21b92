"""Definitions that are registered for others, or hold native code: custom gradients, replays, snippets."""

from __future__ import annotations

import ast
import re

from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import Item
from warpfix.index.constructs import value_of

_REGISTERS = frozenset({"warp.func_grad", "warp.func_replay"})

# C++ that means the same on every device: keywords and types, and what Warp gives every snippet.
_WORDS = frozenset(
    re.findall(
        r"\w+",
        "auto bool break const continue do double else false float for if int int32 int64 return true uint32 uint64 "
        "unsigned void while wp float32 float64 min max abs sqrt",
    )
)
_TYPES = r"(?:auto|bool|double|float|int|unsigned|float32|float64|int32|int64|uint32|uint64)"
_DECLARED = re.compile(rf"\b{_TYPES}\b(?:\s+const)?\s+(\w+)")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def registered_for(ground: Ground, item: Item) -> list[ast.FunctionDef]:
    """The custom gradient and replay of a function, where they stand beside it: they belong to it, and move along."""
    if item.construct is None or item.construct.kind != "func":
        return []
    found = []
    for statement in getattr(item.scope.node, "body", ()):
        if not isinstance(statement, ast.FunctionDef) or len(statement.decorator_list) != 1:
            continue
        decorator = statement.decorator_list[0]
        if (
            isinstance(decorator, ast.Call)
            and len(decorator.args) == 1
            and not decorator.keywords
            and isinstance(decorator.args[0], ast.Name)
            and decorator.args[0].id == item.name
            and ground.facts.resolve(decorator.func) in _REGISTERS
        ):
            found.append(statement)
    return found


def is_plain_native(ground: Ground, node: ast.AST) -> bool:
    """Whether a function is a snippet of C++ that builds on every device: parameters, own variables, arithmetic.

    Snippets in a variable count where it is bound once to a literal.
    """
    if not isinstance(node, ast.FunctionDef) or len(node.decorator_list) != 1:
        return False
    if not isinstance(node.decorator_list[0], ast.Call):
        return False
    decorator = node.decorator_list[0]
    if ground.facts.resolve(decorator.func) != "warp.func_native":
        return False
    names = {arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    given = [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
    if not given or any(isinstance(one, ast.Starred) for one in decorator.args):
        return False
    for one in given:
        value = value_of(ground.index, ground.file, one, ground.facts.enclosing(decorator))
        if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            return False
        if not _is_plain(value.value, names | {f"adj_{name}" for name in names} | {"adj_ret"}):
            return False
    return True


def _is_plain(snippet: str, names: set[str]) -> bool:
    text = _COMMENT.sub(" ", snippet)
    if any(sign in text for sign in ("#", "\\", '"', "'", "asm", "__")):
        return False
    known = names | _WORDS | set(_DECLARED.findall(text))
    return all(word in known for word in _NAME.findall(text))
