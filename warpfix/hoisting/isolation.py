"""What it takes to give a specialised kernel a Warp module of its own: what it reads, and which options it had."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence

from warpfix.codemods import Declined
from warpfix.codemods.isolate import Isolate
from warpfix.codemods.trees import tree_nodes
from warpfix.hoisting.facts import functions_around
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import Item
from warpfix.hoisting.outer_names import rebound
from warpfix.hoisting.project import Hoister
from warpfix.hoisting.reached import passed_problem, reached_problem, registered
from warpfix.hoisting.uses import check_uses
from warpfix.index.captures import DefinitionNode, Occurrence, Scope
from warpfix.index.constructs import own_module
from warpfix.index.model import Construct, FileIndex, ModuleChoice, OptionSet
from warpfix.index.names import LAUNCHES

_REUSED = (1, 10)
"""From 1.10.1 on equal unique kernels are one object: 1.10 is taken for its last release."""
_CARRIED = (1, 13)
"""Since when ``@wp.kernel(module_options=...)`` exists."""
_OPTIONS = frozenset(
    {
        "max_unroll",
        "enable_backward",
        "fast_math",
        "fuse_fp",
        "lineinfo",
        "cuda_output",
        "mode",
        "block_dim",
        "compile_time_trace",
        "optimization_level",
        "enable_mathdx_gemm",
        "cpu_compiler_flags",
    }
)
"""Module options that Warp 1.13 knows: ``module_options=`` refuses others."""


def isolation(hoister: Hoister, file: FileIndex, construct: Construct) -> Isolate:
    """The edit that isolates a kernel made in a function.

    Raises:
        Declined: it is not proved that the kernel is the same in a module of its own.
    """
    what = f"`{construct.name}`"
    if construct.module_choice is not ModuleChoice.DEFAULT or construct.decorator is None or construct.via_wrapper:
        raise Declined(f"{what} gets its Warp module from a caller or a wrapper")
    if len(construct.node.decorator_list) != 1:
        raise Declined(f"{what} has other decorators as well")
    if construct.generic and hoister.warp_min < _REUSED:
        raise Declined(
            f"{what} is generic: before Warp 1.10 those that capture different values get one name of module, and "
            "their launches fail"
        )
    ground = Ground(hoister, file)
    if hoister.module_touched is not None:
        raise Declined(f"{hoister.module_touched} changes options through a kernel's module")
    if hoister.warp_min < _REUSED and not _kept(construct):
        raise Declined(
            f"each call would make another Warp module of its own before Warp 1.10, and the lowest that the code "
            f"works with is {hoister.warp_min[0]}.{hoister.warp_min[1]}; keep the kernel (`functools.cache`) or raise "
            "that"
        )
    item = Item(construct.node, construct.name, _scope_of(ground, construct), construct)
    check_uses(ground, item)
    _check_reads(ground, item)
    _check_config(hoister, file)
    options = _options_of(hoister, file, construct)
    if options and hoister.warp_min < _CARRIED:
        raise Declined(
            f"the file sets options of its Warp module ({', '.join(options)}), which reach no module of its own; "
            "`module_options=` needs Warp 1.13"
        )
    return Isolate(construct.node.lineno, construct.name, tuple(options.items()))


def _check_reads(ground: Ground, item: Item) -> None:
    """All that the kernel reads, itself and through the functions that it calls, wherever those are defined."""
    todo: list[DefinitionNode] = [item.node]  # type: ignore[list-item]
    seen: set[ast.AST] = set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        called = {c.func.id for c in tree_nodes(node) if isinstance(c, ast.Call) and isinstance(c.func, ast.Name)}
        if (problem := reached_problem(ground, node)) is not None:
            raise Declined(problem)
        for occurrence, bound in ground.scopes.outside_names(node):
            if bound is None or bound.kind == "module":
                if bound is not None and (problem := rebound(ground, occurrence)) is not None:
                    raise Declined(problem)
            elif not (bound is item.scope and occurrence.name == item.name):
                _check_captured(ground, item, occurrence, bound)
                given = not all(isinstance(one, ast.FunctionDef) for one in bound.bindings.get(occurrence.name, ()))
                if given and occurrence.name in called and (problem := passed_problem(ground.hoister)) is not None:
                    raise Declined(problem)
                todo += [one for one in bound.bindings.get(occurrence.name, ()) if isinstance(one, ast.FunctionDef)]
                todo += registered(ground, bound, occurrence.name)


def _scope_of(ground: Ground, construct: Construct) -> Scope:
    for parent in ground.facts.chain(construct.node):
        scope = ground.scopes.by_node.get(parent)
        if scope is not None:
            return scope
    raise Declined(f"`{construct.name}` is not made in a function")


def _kept(construct: Construct) -> bool:
    """Whether a function around the kernel keeps what it made."""
    return any(
        "cache" in ast.unparse(decorator)
        for node in functions_around(construct.enclosing)
        for decorator in getattr(node, "decorator_list", ())
    )


def _check_captured(ground: Ground, item: Item, occurrence: Occurrence, bound: Scope) -> None:
    """A captured name must mean the same when the kernel is made and when it is built.

    A unique module is hashed when the kernel is made, a shared one at the first launch after that.
    """
    name = occurrence.name
    if occurrence.store:
        raise Declined(f"the kernel's code rebinds `{name}` of the function around it")
    _check_contents(ground, item, occurrence)
    stores = [one for one in ground.scopes.references(bound, name) if one.store]
    if any(one.scope is not bound for one in stores):
        raise Declined(f"`{name}` is assigned from another function (`nonlocal`)")
    loops = [
        node
        for node in ground.facts.chain(item.node)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and ground.scope_of(node) is bound
    ]
    changing = False
    for store in stores:
        place = store.node if hasattr(store.node, "lineno") else None
        line = getattr(place, "lineno", 0)
        if line > item.node.lineno:
            raise Declined(f"`{name}` is assigned below the kernel (line {line}), which reads it when it is built")
        changing |= any(_holds(loop, store.node) for loop in loops)
    if changing and not _launched_at_once(ground, item, loops[0]):
        raise Declined(
            f"`{name}` changes from turn to turn of the loop around the kernel, which reads it when it is built: that "
            "it is launched in its own turn is not in the source"
        )


def _check_contents(ground: Ground, item: Item, occurrence: Occurrence) -> None:
    """What is read of a captured object outside ``wp.static``, which is evaluated when the kernel is made."""
    node = occurrence.node
    parent = ground.source.parents.get(node)
    if any(_holds(call, node) for call in ground.static_calls(item.node)):
        return
    if isinstance(parent, ast.Subscript) and parent.value is node and ground.hoister.changes_contents(occurrence.name):
        raise Declined(f"it reads `{ast.unparse(parent)}`, and what `{occurrence.name}` holds is changed somewhere")
    read = parent.attr if isinstance(parent, ast.Attribute) and parent.value is node else ""
    if ground.hoister.attribute_written(read) and not _set_by_init_only(ground, item, read):
        raise Declined(f"it reads `{occurrence.name}.{read}`, and `.{read}` is assigned somewhere")


def _set_by_init_only(ground: Ground, item: Item, attribute: str) -> bool:
    """Whether an attribute is only assigned where objects are made, and the kernel is made later."""
    if any(getattr(node, "name", "") == "__init__" for node in ground.facts.chain(item.node)):
        return False
    for file in ground.index.files.values():
        if attribute not in file.text:
            continue
        facts = ground.hoister.facts(file)
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Attribute) and node.attr == attribute and not isinstance(node.ctx, ast.Load):
                around = functions_around(facts.chain(node))
                if getattr(around[0] if around else None, "name", "") != "__init__":
                    return False
    return f'"{attribute}"' not in "".join(file.text for file in ground.index.files.values() if "setattr" in file.text)


def _holds(outer: ast.AST, node: ast.AST) -> bool:
    return any(inner is node for inner in tree_nodes(outer))


def _launched_at_once(ground: Ground, item: Item, loop: ast.AST) -> bool:
    """Whether the kernel is used for nothing but launches in the turn that makes it."""
    for occurrence in ground.scopes.references(item.scope, item.name):
        node = occurrence.node
        if node is item.node:
            continue
        parent = ground.source.parents.get(node)
        launched = (
            isinstance(parent, ast.Call)
            and parent.args[:1] == [node]
            and isinstance(parent.func, (ast.Name, ast.Attribute))
            and ground.facts.resolve(parent.func) in LAUNCHES
        )
        if not launched or not _holds(loop, node) or occurrence.scope is not item.scope:
            return False
    return True


# ---- options


def _check_config(hoister: Hoister, file: FileIndex) -> None:
    """A setting of ``wp.config`` must be there before the shared module is, or the two modules copy different ones."""
    for other, write in hoister.config_writes:
        if functions_around(write.enclosing) or write.enclosing or not _leads(hoister, other, write):
            where = f"{os.path.basename(other.path)}:{write.node.lineno}"
            names = ", ".join(sorted(write.options)) or "something"
            raise Declined(
                f"{where} sets `wp.config.{names}` when the file's Warp module may exist already: a module that is "
                "made later would see it, and this one did not"
            )


def _leads(hoister: Hoister, file: FileIndex, write: OptionSet) -> bool:
    """Whether a write at module scope stands above everything that can make a Warp module."""
    if any(construct.node.lineno < write.node.lineno for construct in file.constructs if not construct.in_function):
        return False
    for statement in file.tree.body:
        if statement.lineno >= write.node.lineno:
            return True
        if isinstance(statement, ast.ImportFrom):
            base = "." if statement.level else statement.module or ""
            names = [base, *(f"{base}.{alias.name}" for alias in statement.names)]
        elif isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        else:
            continue
        if any(name.startswith(".") or _of_project(hoister, name) for name in names):
            return False
    return True


def _of_project(hoister: Hoister, name: str) -> bool:
    parts = name.split(".")
    return any(hoister.index.module_file(".".join(parts[: end + 1])) is not None for end in range(len(parts)))


def _options_of(hoister: Hoister, file: FileIndex, construct: Construct) -> dict[str, str]:
    """The options that the project sets on the file's Warp module: name to source text."""
    mine = {own_module(file), hoister.index.prefix(file), "__main__"} | ({file.module} if file.module else set())
    found: dict[str, str] = {}
    outermost = next(node for node in construct.enclosing if hasattr(node, "lineno"))
    for other in hoister.index.files.values():
        for write in other.option_sets:
            if write.via == "config":
                continue
            where = f"{os.path.basename(other.path)}:{write.node.lineno}"
            if write.target_module is None:
                raise Declined(f"{where} sets options of a Warp module that can't be told from the source")
            if write.target_module not in mine or (write.target_module == "__main__" and other is not file):
                continue
            early = other is file and not write.enclosing and write.node.lineno < _first_line(outermost)
            if write.dynamic or not early:
                raise Declined(f"{where} sets options of the file's Warp module in a way that can't be carried over")
            for name, value in write.options.items():
                if name not in _OPTIONS or not _plain(value):
                    raise Declined(f"{where} sets `{name}` of the file's Warp module, which can't be carried over")
                found[name] = ast.unparse(value)
    return found


def _first_line(node: ast.AST) -> int:
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    return int(min([node.lineno, *(decorator.lineno for decorator in decorators)]))  # type: ignore[attr-defined]


def _plain(value: ast.expr) -> bool:
    try:
        return isinstance(ast.literal_eval(value), (bool, int, str, type(None)))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
