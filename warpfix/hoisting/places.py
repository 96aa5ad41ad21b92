"""Where the moved definitions go: above their function, or below what they need."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from warpfix.codemods import Declined
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.model import Item, Verdict, with_needs
from warpfix.hoisting.outer_names import early_nodes

Places = dict[ast.stmt, tuple[int, bool]]
"""Statement at module scope to the line that its definitions are put at, and whether below it."""


def find_places(ground: Ground, verdicts: Sequence[Verdict], roots: dict[int, Item]) -> Places:
    """Where each verdict's definitions go; those that have no place are declined."""
    found: Places = {}
    by_holder: dict[ast.stmt, list[Verdict]] = {}
    for verdict in verdicts:
        by_holder.setdefault(ground.outermost(roots[id(verdict)].node), []).append(verdict)
    for holder, group in by_holder.items():
        block = _block(ground, holder)
        after: ast.stmt = holder
        moved_after = False
        for verdict in group:
            try:
                needed = _last_needed(ground, roots[id(verdict)], holder, block)
                if needed is not None:
                    _check_between(ground, holder, needed, block)
            except Declined as reason:
                verdict.declined = str(reason)
                continue
            if needed is not None and (not moved_after or block.index(needed) > block.index(after)):
                after, moved_after = needed, True
        found[holder] = (ground.source.first_line(after), moved_after)
    return found


def _block(ground: Ground, statement: ast.stmt) -> list[ast.stmt]:
    parent = ground.source.parents[statement]
    for name in ("body", "orelse"):
        block: list[ast.stmt] = getattr(parent, name, [])
        if statement in block:
            return block
    raise Declined("its place at module scope was not found")


def _last_needed(ground: Ground, item: Item, holder: ast.stmt, block: list[ast.stmt]) -> ast.stmt | None:
    """The last statement below the holder (or itself) that binds what the moved code needs when it is defined."""
    last: ast.stmt | None = None
    for moved in with_needs(item):
        early = early_nodes(ground, moved)
        for occurrence, bound in moved.outside:
            if (bound is not None and bound.kind != "module") or occurrence.node not in early:
                continue
            for binding in ground.file.bindings.get(occurrence.name, ()):
                top: ast.AST = binding
                for outer in ground.facts.chain(binding):
                    if top in block:
                        break
                    top = outer
                if top not in block:
                    guards = ground.facts.chain(holder)
                    if guards and getattr(binding, "lineno", 0) > guards[-1].lineno:  # type: ignore[attr-defined]
                        raise Declined(f"it needs `{occurrence.name}`, which is bound below the guard")
                    continue
                assert isinstance(top, ast.stmt)
                if block.index(top) >= block.index(holder) and (last is None or block.index(top) > block.index(last)):
                    last = top
    return last


def _check_between(ground: Ground, holder: ast.stmt, needed: ast.stmt, block: list[ast.stmt]) -> None:
    """Nothing between the holder and the place may call what is not there yet."""
    for statement in block[block.index(holder) + 1 : block.index(needed) + 1]:
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or ground.facts.inert(statement):
            continue
        raise Declined(
            f"it needs what line {statement.lineno} or a later one binds, and code in between may call the function"
        )
