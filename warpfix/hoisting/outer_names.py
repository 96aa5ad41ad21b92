"""Whether every name of module scope that the moved code reads is there at import, and stays what it is."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from warpfix.codemods.trees import tree_nodes
from warpfix.hoisting.facts import FileFacts
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import Item, Unproved
from warpfix.hoisting.values import is_setting, mutable
from warpfix.index.captures import Occurrence, definition_time, is_builtin
from warpfix.index.scopes import assigned_value

_CONTAINER_TYPES = frozenset({"builtins.dict", "builtins.list", "builtins.set", "builtins.bytearray"})
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.IntFlag", "enum.Flag"})
# Names that Warp's kernels know without any import.
_WARP_BARE: frozenset[str] = frozenset()


def check_globals(ground: Ground, item: Item) -> None:
    """Every name of module scope that the moved code reads must be there at import, and stay what it is."""
    early = early_nodes(ground, item)
    for occurrence, bound in item.outside:
        if bound is not None and bound.kind != "module":
            continue
        if occurrence.store:
            raise Unproved(f"its code rebinds `{occurrence.name}`")
        if bound is None and ground.scopes.unseen(occurrence):
            raise Unproved(
                f"an annotation of `{item.name}` is kept as text and names `{occurrence.name}`, a local that its body "
                "does not use: Warp can't evaluate that there"
            )
        problem = _global_problem(ground, occurrence, occurrence.node in early)
        if problem is not None:
            raise Unproved(problem)


def early_nodes(ground: Ground, item: Item) -> set[ast.AST]:
    """The nodes of a definition that are evaluated when it is made, not when its kernel is built."""
    if isinstance(item.node, (ast.Assign, ast.AnnAssign)):
        return set(tree_nodes(item.node))
    return definition_time(item.node, ground.static_calls(item.node))


def _global_problem(ground: Ground, occurrence: Occurrence, early: bool) -> str | None:
    name = occurrence.name
    file = ground.file
    if name in ("__class__", "__name__", "__file__"):
        return f"it reads `{name}`"
    bindings = file.bindings.get(name, [])
    if not bindings and name not in file.global_writes:
        if file.star_imports:
            resolved = ground.index.resolve(file, ast.copy_location(ast.Name(name, ast.Load()), occurrence.node), ())
            if resolved is not None and not resolved.startswith("builtins."):
                return None
            return None if is_builtin(name) else f"it reads `{name}`, which comes from a star import, if at all"
        if is_builtin(name) or name in _WARP_BARE:
            return None
        return f"it reads `{name}`, which the file does not define"
    if name in file.global_writes:
        return f"it reads `{name}`, which a function of the file rebinds (`global {name}`)"
    if name in ground.facts.named_in_globals:
        return f"it reads `{name}`, which the file reaches through `globals()`"
    if ground.hoister.assignments.of_module(file, name) is not None:
        return f"it reads `{name}`, which other code assigns from outside (`….{name} = …`)"
    holder = _guards(ground, occurrence.node)
    places = [_binding_block(ground, binding) for binding in bindings]
    if len(bindings) > 1 and _same_import(ground, name, bindings, places):
        bindings, places = bindings[:1], [[]]
    if len(bindings) > 1 and not _exclusive(ground, bindings):
        return f"it reads `{name}`, which the file binds more than once"
    for binding, place in zip(bindings, places, strict=True):
        if len(bindings) == 1 and any(guard not in holder for guard in place):
            return f"it reads `{name}`, which is bound only under a condition (line {getattr(binding, 'lineno', '?')})"
        if isinstance(binding, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.AugAssign, ast.Delete)):
            return f"it reads `{name}`, which is no plain binding"
    return _value_problem(ground, occurrence, bindings, early)


def rebound(ground: Ground, occurrence: Occurrence) -> str | None:
    """Why a global may be another thing when the kernel is built later or earlier; None if it is not."""
    name = occurrence.name
    if name in ground.file.global_writes:
        return f"it reads `{name}`, which a function of the file rebinds (`global {name}`)"
    if name in ground.facts.named_in_globals:
        return f"it reads `{name}`, which the file reaches through `globals()`"
    if ground.hoister.assignments.of_module(ground.file, name) is not None:
        return f"it reads `{name}`, which other code assigns from outside (`….{name} = …`)"
    bindings = ground.file.bindings.get(name, [])
    if len(bindings) > 1 and _assigned_again(ground, bindings):
        return f"it reads `{name}`, which the file binds more than once"
    return _value_problem(ground, occurrence, bindings, False) if len(bindings) == 1 else None


def _assigned_again(ground: Ground, bindings: Sequence[ast.AST]) -> bool:
    """Whether one of several bindings is a value, and they are not the ways through one ``if`` or ``try``."""
    if all(isinstance(one, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)) for one in bindings):
        return False
    tops = {chain[-1] if (chain := ground.facts.chain(binding)) else binding for binding in bindings}
    return not (len(tops) == 1 and isinstance(tops.pop(), ast.Try)) and not _exclusive(ground, bindings)


def _same_import(ground: Ground, name: str, bindings: Sequence[ast.AST], places: Sequence[list[ast.AST]]) -> bool:
    """Whether a name is only ever bound by imports of one thing, at least once without a condition."""
    if not all(isinstance(binding, (ast.Import, ast.ImportFrom)) for binding in bindings) or all(places):
        return False
    return ground.index.resolve(ground.file, ast.Name(name, ast.Load()), ()) is not None


def _value_problem(ground: Ground, occurrence: Occurrence, bindings: Sequence[ast.AST], early: bool) -> str | None:
    """What is read of a global (an attribute, an item) must be as constant as the global itself."""
    name = occurrence.name
    chain: list[str] = []
    node: ast.AST = occurrence.node
    while isinstance(parent := ground.source.parents.get(node), ast.Attribute) and parent.value is node:
        chain.append(parent.attr)
        node = parent
    indexed = isinstance(parent, ast.Subscript) and parent.value is node
    early = early or _inside_static(ground, occurrence.node)
    binding = bindings[0]
    value = assigned_value(binding, name)
    if isinstance(binding, (ast.Import, ast.ImportFrom)):
        resolved = ground.facts.resolve(node) if isinstance(node, ast.expr) else None
        if resolved is not None and is_setting(resolved):
            return f"it reads `{'.'.join([name, *chain])}`, which the program can set at any time"
        if resolved is None or resolved.startswith("warp."):
            return None
        if _is_imported_member(ground, resolved):
            return None
        assigned = _assigned(ground, occurrence.node, chain)
        if assigned is not None:
            return f"it reads `{'.'.join([name, *chain])}`, and `.{assigned}` is assigned somewhere"
        if chain and (problem := _foreign_global(ground, resolved, chain)) is not None:
            return problem
        return _foreign_contents(ground, resolved, ".".join([name, *chain]), early, indexed)
    if isinstance(binding, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        if isinstance(binding, ast.ClassDef) and _is_member(ground, binding, chain):
            return None
        assigned = _assigned(ground, occurrence.node, chain)
        if assigned is not None:
            return f"it reads `{name}.{assigned}`, and `.{assigned}` is assigned somewhere in the project"
        return None
    return _contents_problem(ground, ground.facts, name, value, name, chain, early, indexed)


def _assigned(ground: Ground, node: ast.AST, chain: Sequence[str]) -> str | None:
    """The attribute of a chain that is read at ``node`` which the project may assign; None if there is none."""
    for attribute in chain:
        owner = ground.facts.resolve(node) if isinstance(node, ast.expr) else None
        if _attribute_assigned(ground, owner, attribute):
            return attribute
        node = ground.source.parents[node]
    return None


def _attribute_assigned(ground: Ground, owner: str | None, attribute: str) -> bool:
    """Whether an attribute of a module, a class or another object of the project may be assigned somewhere."""
    if owner is not None:
        module = ground.index.module_file(owner)
        if module is not None:
            return ground.hoister.assignments.of_module(module, attribute) is not None
        found = ground.index.definition(owner)
        if found is not None and isinstance(found.node, ast.ClassDef):
            return ground.hoister.assignments.of_class(owner, attribute) is not None
        if not _in_project(ground, owner):
            return False
    return ground.hoister.assignments.of_any(attribute)


def _is_member(ground: Ground, node: ast.ClassDef, chain: Sequence[str]) -> bool:
    """Whether ``Mode.A``, ``Mode.A.value`` or ``Mode.A.name`` of an enumeration: nobody can assign those."""
    if not any((ground.facts.resolve(base) or "") in _ENUMS for base in node.bases):
        return False
    members = {
        target.id
        for statement in node.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    return bool(chain) and chain[0] in members and tuple(chain[1:]) in ((), ("value",), ("name",))


def _is_imported_member(ground: Ground, resolved: str) -> bool:
    """The same of an enumeration that another file of the project defines."""
    parts = resolved.split(".")
    for end in range(len(parts) - 1, max(0, len(parts) - 3), -1):
        found = ground.index.definition(".".join(parts[:end]))
        if found is not None and isinstance(found.node, ast.ClassDef):
            return _is_member(Ground(ground.hoister, found.file), found.node, parts[end:])
    return False


def _contents_problem(
    ground: Ground,
    facts: FileFacts,
    name: str,
    value: ast.expr | None,
    shown: str,
    chain: Sequence[str],
    early: bool,
    indexed: bool,
) -> str | None:
    """What speaks against reading a value of module scope at another moment than now."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        if (facts.resolve(value) or "").startswith("warp."):
            return None
        owner = facts.resolve(value)
        for attribute in chain:
            if _attribute_assigned(ground, owner, attribute):
                return f"it reads `{shown}`, and `.{attribute}` is assigned somewhere in the project"
            owner = None if owner is None else ground.index.follow(f"{owner}.{attribute}")
        return None
    container = isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)) or (
        isinstance(value, ast.Call) and facts.resolve(value.func) in _CONTAINER_TYPES
    )
    changeable = mutable(facts, value)
    warps = isinstance(value, ast.Call) and (facts.resolve(value.func) or "").startswith("warp.")
    if (container and (chain or early)) or (changeable and indexed and early and not warps):
        return f"it reads the contents of `{shown}`, which can change"
    if changeable and ground.hoister.changes_contents(name):
        return f"it reads `{shown}`, which some code seems to change in place"
    if chain and not warps:
        return f"it reads an attribute of the object `{name}`, which can change"
    return None


def _foreign_contents(ground: Ground, resolved: str, shown: str, early: bool, indexed: bool) -> str | None:
    """The same of a value that another module of the project holds."""
    prefix = resolved.rpartition(".")[0]
    while prefix and (other := ground.index.module_file(prefix)) is None:
        prefix = prefix.rpartition(".")[0]
    if not prefix or other is None:
        return None
    name, *attributes = resolved[len(prefix) + 1 :].split(".")
    found = other.bindings.get(name, [])
    if not found or not isinstance(found[0], (ast.Assign, ast.AnnAssign, ast.Name)):
        return None
    value = assigned_value(found[0], name)
    return _contents_problem(ground, ground.hoister.facts(other), name, value, shown, attributes, early, indexed)


def _foreign_global(ground: Ground, resolved: str, chain: Sequence[str]) -> str | None:
    """A global of another project module, read through that module."""
    prefix, _, last = resolved.rpartition(".")
    other = ground.index.module_file(prefix)
    if other is None:
        return None
    if last in other.global_writes:
        return f"it reads `{resolved}`, which a function of that module rebinds"
    if len(other.bindings.get(last, [])) > 1:
        return f"it reads `{resolved}`, which that module binds more than once"
    return None


def _in_project(ground: Ground, resolved: str) -> bool:
    prefix = resolved
    while prefix:
        if prefix in ground.index.by_module:
            return True
        prefix = prefix.rpartition(".")[0]
    return False


def _inside_static(ground: Ground, node: ast.AST) -> bool:
    for outer in ground.facts.chain(node):
        if (
            isinstance(outer, ast.Call)
            and isinstance(outer.func, (ast.Name, ast.Attribute))
            and ground.facts.resolve(outer.func) == "warp.static"
        ):
            return True
    return False


def _guards(ground: Ground, node: ast.AST) -> list[ast.AST]:
    """``if`` blocks at module scope around a node."""
    outermost = ground.outermost(node)
    return [outer for outer in ground.facts.chain(outermost) if isinstance(outer, ast.If)]


def _binding_block(ground: Ground, binding: ast.AST) -> list[ast.AST]:
    return [
        outer
        for outer in ground.facts.chain(binding)
        if isinstance(outer, (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.Match))
    ]


def _exclusive(ground: Ground, bindings: Sequence[ast.AST]) -> bool:
    """Whether several bindings are the branches of one ``if``/``else`` at module scope, one in each."""
    tops = {ground.facts.chain(binding)[-1] if ground.facts.chain(binding) else binding for binding in bindings}
    if len(tops) != 1:
        return False
    (top,) = tops
    return isinstance(top, ast.If) and _one_in_each_branch(top, set(bindings))


def _one_in_each_branch(node: ast.If, bindings: set[ast.AST]) -> bool:
    if not node.orelse:
        return False
    for branch in (node.body, node.orelse):
        direct = [statement for statement in branch if statement in bindings]
        if len(direct) == 1:
            continue
        nested = [s for s in branch if isinstance(s, ast.If) and _one_in_each_branch(s, bindings)]
        if direct or len(nested) != 1:
            return False
    return True
