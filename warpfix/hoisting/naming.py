"""The names that moved definitions get: free ones, and one for twins."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence

from warpfix.codemods import Declined
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import Item, Verdict, with_needs
from warpfix.hoisting.places import Places
from warpfix.index.captures import is_builtin


class Names:
    """The names of all definitions of one file that move together."""

    def __init__(self, ground: Ground, places: Places) -> None:
        self.ground = ground
        self.places = places
        self.taken: dict[str, tuple[int, str]] = {}
        self.merged: dict[tuple[int, str], Item] = {}
        """Definition to its twin, which moves for both."""

    def give(self, verdicts: Sequence[Verdict], roots: dict[int, Item]) -> None:
        """Set ``new_name`` of everything that moves."""
        texts: dict[object, Item] = {}
        moving = {item.key: item for verdict in verdicts for item in with_needs(roots[id(verdict)])}
        for key in sorted(moving):
            item = moving[key]
            signature = self._signature(item)
            twin = texts.get(signature)
            if twin is not None and self._can_merge(twin, item):
                item.new_name = twin.new_name
                self.merged[key] = twin
                continue
            item.new_name = self._free_name(item)
            self.taken[item.new_name] = key
            if signature is not None:
                texts.setdefault(signature, item)

    def _signature(self, item: Item) -> object:
        """Equal for definitions that are the same to the last comment and mean the same by every name."""
        try:
            extent = self.ground.source.extent(item.node)
        except Declined:
            return None
        text = self.ground.source.text[extent.start : extent.end]
        indent = self.ground.source.indent_of(self.ground.source.first_line(item.node))
        plain = "\n".join(line.removeprefix(indent) for line in text.splitlines())
        choice = (item.construct.module_choice, item.construct.module_name) if item.construct else None
        return (
            item.name,
            plain,
            choice,
            tuple(self._signature(need) for need in sorted(item.needs, key=lambda n: n.key)),
            item.follows and self.merged.get(item.follows.key, item.follows).key,
        )

    def _can_merge(self, twin: Item, item: Item) -> bool:
        first, second = self.ground.outermost(twin.node), self.ground.outermost(item.node)
        if self.ground.facts.chain(first) or self.ground.facts.chain(second) or self.places[first][1]:
            return False
        if first is second and isinstance(first, ast.ClassDef):
            return not _visible_elsewhere(self.ground, twin.new_name, item)
        return not _visible_elsewhere(self.ground, twin.new_name, item)

    def _free_name(self, item: Item) -> str:
        function = next(
            n.name for n in self.ground.facts.chain(item.node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
        )
        underscore = self._exported_by_star()
        for candidate in _candidates(function, item.name):
            name = candidate
            if underscore and not name.startswith("_"):
                name = f"_{name}"
            if self._is_free(name, item):
                return name
        raise AssertionError("unreachable: the candidates do not end")

    def _exported_by_star(self) -> bool:
        if self.ground.facts.exported is not None:
            return False
        if not hasattr(self, "_star"):
            self._star = bool(self.ground.hoister.star_importers(self.ground.file))
        return self._star

    def _is_free(self, name: str, item: Item) -> bool:
        file = self.ground.file
        if name in file.bindings or name in file.global_writes or name in self.taken:
            return False
        if is_builtin(name):
            return False  # whoever adds a line to this file, or imports everything from it, means Python's own
        if name.startswith("test") or (
            name.startswith("__") and any(isinstance(n, ast.ClassDef) for n in self.ground.facts.chain(item.node))
        ):
            # pytest would take a module-scope ``test_…`` for a test.
            return False
        if self.ground.facts.exported is not None and name in self.ground.facts.exported:
            return False
        if name in self.ground.facts.named_in_globals:
            return False
        if name in self.ground.hoister.asked_names:
            return False  # somebody asks at run time whether the module has it
        if "__getattr__" in file.bindings and (f'"{name}"' in file.text or f"'{name}'" in file.text):
            return False
        if self.ground.scopes.references(None, name) or self.ground.scopes.references(self.ground.scopes.module, name):
            return False
        if self.ground.hoister.assignments.of_module(file, name, literal_only=True) is not None:
            return False
        for star in file.star_imports:
            if star == "warp":
                continue
            other = self.ground.index.module_file(star)
            if other is None:
                return name != item.name
            if name in other.bindings or other.star_imports:
                return False
        if self._imported_elsewhere(name):
            return False
        return not _visible_elsewhere(self.ground, name, item)

    def _imported_elsewhere(self, name: str) -> bool:
        """Whether this file is a package whose submodule has that name."""
        if os.path.basename(self.ground.file.path) != "__init__.py":
            return False
        folder = os.path.dirname(self.ground.file.path)
        return any(
            os.path.exists(os.path.join(folder, name + ending)) for ending in (".py", os.sep + "__init__.py", ".so")
        )


def _visible_elsewhere(ground: Ground, name: str, item: Item) -> bool:
    """Whether a scope between a use of the item and module scope binds the name to something else."""
    for occurrence in ground.scopes.references(item.scope, item.name):
        for scope in occurrence.scope.chain():
            if scope.kind == "module":
                break
            if scope is item.scope and name == item.name:
                continue
            if name in scope.bindings or name in scope.nonlocal_names or name in scope.global_names:
                return True
    return False


def _candidates(function: str, name: str) -> Iterator[str]:
    yield name
    short = re.sub(r"^(test_|_+)+", "", function) or function
    own = re.sub(r"^(test_)+", "", name.strip("_")) or name
    base = f"{short}_{own}" if own != short else f"{own}_kernel"
    if base.startswith("test"):
        base = f"kernel_{base}"
    yield base
    number = 2
    while True:
        yield f"{base}_{number}"
        number += 1
