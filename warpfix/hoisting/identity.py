"""Code that tells one kernel object from another: a kernel that is made once in place of often is no equal there."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from warpfix.codemods import Declined
from warpfix.codemods.trees import tree_nodes
from warpfix.hoisting.facts import FileFacts
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import Item
from warpfix.index.captures import all_arguments

_METHODS = frozenset({"add", "discard", "remove", "index", "count", "get", "setdefault", "pop"})
"""Methods of sets, dicts and lists that look an object up, or keep one of equal ones."""
_FUNCTIONS = frozenset({"id", "hash", "set", "frozenset", "repr", "str", "print"})


def check_told_apart(ground: Ground, item: Item, node: ast.AST) -> None:
    """Raise Declined if a use of a kernel, or what becomes of it one step further on, looks at the object.

    Followed are names that it is assigned to, parameters of the project's functions that it is given for, and the calls
    of a function that returns it.
    """
    for facts, place in _ends(ground, item, node):
        if tells_apart(facts, place):
            where = f"{os.path.basename(facts.file.path)}:{getattr(place, 'lineno', '?')}"
            raise Declined(f"{where} tells one kernel object from another, and there would be one for all calls")


def tells_apart(facts: FileFacts, node: ast.AST) -> bool:
    """Whether the expression around a kernel depends on which object it is."""
    parent = facts.source.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return isinstance(parent.ctx, (ast.Store, ast.Del))  # what is written on one is on all
    if isinstance(parent, ast.Subscript):
        return parent.slice is node
    if isinstance(parent, ast.Dict):
        return node in parent.keys
    if isinstance(parent, (ast.Set, ast.Compare, ast.FormattedValue)):
        return True
    if isinstance(parent, ast.DictComp):
        return parent.key is node
    if isinstance(parent, ast.SetComp):
        return parent.elt is node
    if isinstance(parent, ast.Tuple):
        return tells_apart(facts, parent)
    if isinstance(parent, ast.Call) and node in parent.args:
        called = parent.func
        if isinstance(called, ast.Attribute):
            return called.attr in _METHODS and (facts.resolve(called) or "").partition(".")[0] != "warp"
        return isinstance(called, ast.Name) and called.id in _FUNCTIONS
    return False


def _ends(ground: Ground, item: Item, node: ast.AST) -> Iterator[tuple[FileFacts, ast.AST]]:
    facts = ground.facts
    yield facts, node
    yield from _aliases(facts, node)
    parent = facts.source.parents.get(node)
    if isinstance(parent, (ast.Call, ast.keyword)):
        yield from _parameter(ground, node, parent)
    while isinstance(parent, (ast.Tuple, ast.List, ast.Dict)):
        parent = facts.source.parents.get(parent)
    name = getattr(item.scope.node, "name", None)
    if isinstance(parent, (ast.Return, ast.Yield)) and name is not None:
        for file, call in ground.hoister.calls_by_name.get(name, ()):
            resolved = ground.index.resolve(file, call.node.func, call.enclosing)
            if resolved is not None and resolved.rpartition(".")[2] != name:
                continue  # another function under this name
            there = ground.hoister.facts(file)
            yield there, call.node
            yield from _aliases(there, call.node)


def _aliases(facts: FileFacts, node: ast.AST) -> Iterator[tuple[FileFacts, ast.AST]]:
    """Where names are read that an expression is assigned to."""
    parent = facts.source.parents.get(node)
    while isinstance(parent, ast.Tuple):
        parent = facts.source.parents.get(parent)
    if not isinstance(parent, (ast.Assign, ast.AnnAssign)):
        return
    around = facts.enclosing(node)
    scope = facts.scopes.by_node[around[-1]] if around else facts.scopes.module
    targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
    for target in targets:
        for name in tree_nodes(target):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                bound = facts.scopes.lookup(name.id, scope)
                for occurrence in facts.scopes.references(bound, name.id):
                    if not occurrence.store:
                        yield facts, occurrence.node


def _parameter(ground: Ground, node: ast.AST, parent: ast.Call | ast.keyword) -> Iterator[tuple[FileFacts, ast.AST]]:
    """Where the project's function that is given an expression reads the parameter."""
    facts = ground.facts
    call = facts.source.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Name, ast.Attribute)):
        return
    canonical = facts.resolve(call.func)
    helper = ground.index.definition(canonical) if canonical is not None else None
    if helper is None or not isinstance(helper.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    there = ground.hoister.facts(helper.file)
    names = [arg.arg for arg in all_arguments(helper.node.args)]
    if isinstance(parent, ast.keyword):
        wanted = parent.arg
    else:
        place = next((n for n, one in enumerate(call.args) if one is node), len(names))
        wanted = names[place] if place < len(names) else None
    scope = there.scopes.by_node.get(helper.node)
    if wanted is None or scope is None:
        return
    for occurrence in there.scopes.references(scope, wanted):
        if not occurrence.store:
            yield there, occurrence.node
