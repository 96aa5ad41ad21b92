"""What the functions read that a kernel calls: Warp reads it whenever it hashes the kernel's module."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warpfix.codemods.trees import tree_nodes
from warpfix.hoisting.follow import registered_for
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import Item
from warpfix.hoisting.outer_names import rebound
from warpfix.index.captures import Scope, all_arguments
from warpfix.index.model import FileIndex

if TYPE_CHECKING:
    from warpfix.hoisting.project import Hoister

DefinedFunction = ast.FunctionDef | ast.AsyncFunctionDef


def reached_problem(ground: Ground, node: ast.AST) -> str | None:
    """Why a Warp function of the project that the code below ``node`` calls may be another when it is built later or
    earlier: it, or one that it calls in turn, reads a global that is rebound. None if there is none such.
    """
    todo = [(ground, node)]
    seen: set[ast.AST] = {node}
    while todo:
        here, code = todo.pop()
        for call in tree_nodes(code):
            if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Name, ast.Attribute)):
                continue
            canonical = here.facts.resolve(call.func)
            if canonical is None or canonical.startswith(("warp.", "builtins.")):
                continue
            found = ground.index.definition(canonical)
            if found is None or found.node in seen or not isinstance(found.node, DefinedFunction):
                continue
            there = ground if found.file is ground.file else Ground(ground.hoister, found.file)
            if found.node not in there.facts.definitions_by_node:
                continue  # plain Python
            scope = there.scope_of(found.node)
            for one in (found.node, *registered(there, scope, found.node.name)):
                seen.add(one)
                problem = _problem_of(there, one)
                if problem is not None:
                    return f"it calls `{found.node.name}`: {problem}"
                todo.append((there, one))
    return None


def registered(ground: Ground, scope: Scope, name: str) -> list[ast.FunctionDef]:
    """The custom gradient and replay of a function, where they stand beside it."""
    nodes = [binding for binding in scope.bindings.get(name, ()) if isinstance(binding, ast.FunctionDef)]
    found = []
    for node in nodes[:1]:
        found += registered_for(ground, Item(node, name, scope, ground.facts.definitions_by_node.get(node)))
    return found


def _problem_of(ground: Ground, node: DefinedFunction) -> str | None:
    hoister = ground.hoister
    if node not in hoister.read_problems:
        hoister.read_problems[node] = next(
            (
                problem
                for occurrence, bound in ground.scopes.outside_names(node)
                if (bound is None or bound.kind == "module") and not occurrence.store
                if (problem := rebound(ground, occurrence)) is not None
            ),
            None,
        )
    return hoister.read_problems[node]


def changing_read(hoister: Hoister, file: FileIndex, function: DefinedFunction) -> str | None:
    """Why kernels that a function makes may be others at another time, though it is given the same; None if they can't.

    Where it calls what it is given, any Warp function of the project may be meant.
    """
    ground = Ground(hoister, file)
    problem = _problem_of(ground, function) or reached_problem(ground, function)
    if problem is not None:
        return problem
    given = {argument.arg for argument in all_arguments(function.args)}
    if not any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in given
        for call in tree_nodes(function)
    ):
        return None
    return passed_problem(hoister)


def passed_problem(hoister: Hoister) -> str | None:
    """Why some Warp function at module scope may mean something else at another time: it may be handed to a factory."""
    for other in hoister.index.files.values():
        ground = Ground(hoister, other)
        for one in other.constructs:
            if one.kind == "func" and not one.in_function and isinstance(one.node, DefinedFunction):
                problem = _problem_of(ground, one.node)
                if problem is not None:
                    return f"it may be given `{one.node.name}`: {problem}"
    return None
