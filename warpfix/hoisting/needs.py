"""What a kernel captures: what can move along with it, and what varies."""

from __future__ import annotations

import ast

from warpfix.codemods import Declined
from warpfix.hoisting.definitions import check_definition, check_place
from warpfix.hoisting.follow import is_plain_native, registered_for
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import Capture, Item, Unproved, Varies
from warpfix.hoisting.outer_names import check_globals
from warpfix.hoisting.reached import reached_problem
from warpfix.hoisting.values import may_change, mutable, not_constant
from warpfix.index.captures import DefinitionNode, Occurrence, Scope
from warpfix.index.model import Construct, ModuleChoice


class Needs:
    """The definitions of one file that may move, each examined once."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._items: dict[tuple[int, str], Item] = {}

    def item(
        self,
        node: DefinitionNode | ast.Assign | ast.AnnAssign,
        name: str,
        construct: Construct | None,
        path: tuple[Item, ...] = (),
    ) -> Item:
        """A definition with what moves along. Raises Varies, or Declined when it can't move."""
        key = (node.lineno, name)
        if key in self._items:
            return self._items[key]
        scope = next(
            s
            for parent in [*self.ground.facts.chain(node), self.ground.file.tree]
            if (s := self.ground.scopes.by_node.get(parent)) is not None
        )
        item = Item(node, name, scope, construct)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            item.outside = [
                (occurrence, self.ground.scopes.resolve(occurrence))
                for occurrence in self.ground.scopes.within(node)
                if not occurrence.store
            ]
        else:
            item.outside = self.ground.scopes.outside_names(node)
        varies: list[Capture] = []
        problem: Declined | None = None
        seen: set[tuple[int, str]] = set()
        for occurrence, bound in item.outside:
            if bound is None or bound.kind == "module":
                continue
            if (id(bound), occurrence.name) in seen:
                continue
            seen.add((id(bound), occurrence.name))
            if bound is item.scope and occurrence.name == name:
                continue  # recursion
            if any(occurrence.name == other.name and bound is other.scope for other in path):
                continue
            if self._chooses_module(occurrence, construct):
                continue
            try:
                needed = self._captured(occurrence, bound, (*path, item))
            except Varies as error:
                varies += error.captures
            except Declined as reason:
                problem = _worse(problem, reason)
            else:
                item.needs.append(needed)
        for node_of in registered_for(self.ground, item):
            try:
                follower = self.item(node_of, node_of.name, None, (*path, item))
            except Varies as error:
                varies += error.captures
            except Declined as reason:
                problem = _worse(problem, reason)
            else:
                follower.follows = item
                item.needs.append(follower)
        if varies:
            raise Varies(list(dict.fromkeys(varies)))
        for check in (check_definition, check_place, check_globals):
            try:
                check(self.ground, item)
            except Declined as reason:
                problem = _worse(problem, reason)
        if problem is None and (read := reached_problem(self.ground, node)) is not None:
            problem = Unproved(read)
        if problem is not None:
            raise problem
        self._items[key] = item
        return item

    def _chooses_module(self, occurrence: Occurrence, construct: Construct | None) -> bool:
        """Whether the occurrence is ``module`` in ``@wp.kernel(module=module)``."""
        if construct is None or construct.module_choice is not ModuleChoice.PARAMETER:
            return False
        return isinstance(construct.decorator, ast.Call) and any(
            keyword.arg == "module" and keyword.value is occurrence.node for keyword in construct.decorator.keywords
        )

    def _captured(self, occurrence: Occurrence, bound: Scope, path: tuple[Item, ...]) -> Item:
        """The definition of a captured name, if it can move along. Raises Varies or Declined."""
        name = occurrence.name
        if occurrence.store:
            raise Unproved(f"the kernel's code rebinds `{name}` of the function around it")
        bindings = bound.bindings.get(name, [])
        stores = [o for o in self.ground.scopes.references(bound, name) if o.store]
        function = bound.node
        first = bindings[0] if bindings else None
        if bound.kind == "class":
            raise Unproved(f"it uses `{name}`, which a class body inside the function defines")
        if isinstance(first, ast.arg):
            if first.arg == "self" or (first.arg == "cls"):
                raise Varies([Capture(name, "which can be another object at every call", function)])
            raise Varies([Capture(name, f"a parameter of `{bound.name}`", function)])
        if len(stores) > 1:
            if all(isinstance(b, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for b in bindings):
                raise Unproved(f"`{bound.name}` defines `{name}` more than once")
            raise Varies([Capture(name, f"which `{bound.name}` assigns more than once")])
        if first is None:
            raise Unproved(f"it uses `{name}`, whose definition was not found")
        if isinstance(first, ast.alias):
            raise Declined(f"it uses `{name}`, which `{bound.name}` imports itself")
        statement = first if isinstance(first, ast.stmt) else self.ground.statement(first)
        if isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            companion = self.ground.facts.definitions_by_node.get(first)
            if companion is None and is_plain_native(self.ground, first):
                return self.item(first, name, None, path)
            if companion is None or companion.kind == "kernel" or companion.via_wrapper:
                raise Unproved(f"it uses `{name}`, which is neither a Warp function nor a struct that could move along")
            return self.item(first, name, companion, path)
        if isinstance(statement, (ast.For, ast.AsyncFor)) or bound.kind == "comprehension":
            raise Varies([Capture(name, "the variable of a loop")])
        if (
            isinstance(statement, (ast.Assign, ast.AnnAssign))
            and isinstance(first, ast.Name)
            and statement.value is not None
            and _targets(statement) == [first]
        ):
            if statement not in getattr(function, "body", ()):
                raise Varies([Capture(name, f"which `{bound.name}` assigns in a branch or a loop")])
            problem = not_constant(self.ground, statement.value)
            if problem is not None:
                raise Varies([Capture(name, problem)])
            if mutable(self.ground.facts, statement.value) and may_change(self.ground, bound, name):
                raise Unproved(f"it uses `{name}`, an object that `{bound.name}` may change in place")
            try:
                return self.item(statement, name, None, path)
            except Varies as error:
                source = error.captures[0]
                reason = f"which is computed from `{source.name}`, {source.reason}"
                raise Varies([Capture(name, reason)]) from None
        raise Varies([Capture(name, f"which `{bound.name}` computes")])


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def _worse(first: Declined | None, second: Declined) -> Declined:
    """The reason to give of two: the first one, unless only the other says that the kernel may not be the same."""
    if first is None or (isinstance(second, Unproved) and not isinstance(first, Unproved)):
        return second
    return first
