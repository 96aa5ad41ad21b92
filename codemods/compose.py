"""Turn the edits of one file into its new text: find each edit's codemod, collect splices, apply them in one pass.

A codemod is a module in this folder with a function ``splices(source, edit) -> list[Splice]``, which may raise
``Declined``; edits name it by ``Edit.codemod``. A codemod whose edits depend on each other (moved code that mentions
other moved code) has ``splices_together(source, edits) -> list[list[Splice] | Declined]`` instead, one entry per edit.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import NamedTuple

import warpfix.codemods
from warpfix.codemods.base import Declined, Edit, Source, Splice

_NOT_CODEMODS = {"base", "compose"}


@dataclass(frozen=True)
class Conflict:
    """An edit that was left out, and why, in words."""

    edit: Edit
    reason: str


class Composed(NamedTuple):
    """The new text and the edits that are not in it."""

    text: str
    conflicts: tuple[Conflict, ...]


@cache
def registry() -> dict[str, ModuleType]:
    """Name to module of every codemod in the package."""
    found = {}
    for info in pkgutil.iter_modules(warpfix.codemods.__path__):
        if info.name in _NOT_CODEMODS or info.name.startswith("_"):
            continue
        found[info.name] = importlib.import_module(f"warpfix.codemods.{info.name}")
    return found


def compose(text: str, edits: Sequence[Edit], path: str = "<string>") -> Composed:
    """Apply edits to a file's text, all against the original positions. Equal edits count once.

    Of two edits that touch the same characters the later one is left out, whole, and reported; so is one whose codemod
    declines. If what remains does not compile, everything is left out and reported.

    Args:
        text: The decoded source, with its own line ends.
        edits: In order of precedence.
        path: Used in messages only.
    """
    source = Source(text, path)
    kept = list(dict.fromkeys(edits))
    conflicts: list[Conflict] = []
    while True:
        planned, problems = _splices(source, kept)
        problems = problems or _overlaps(planned)
        if not problems:
            break
        conflicts += problems
        dropped = {id(problem.edit) for problem in problems}
        kept = [edit for edit in kept if id(edit) not in dropped]
    result = apply_splices(text, [splice for _, splices in planned for splice in splices])
    if result != text:
        problem = compile_error(result, path)
        if problem is not None:
            # A fault of a codemod: the file is left as it was rather than mended by guesswork.
            reason = f"the edited file would not compile ({problem})"
            return Composed(text, tuple(conflicts) + tuple(Conflict(edit, reason) for edit in kept))
        lost = lost_comment(text, result) if all(_keeps_comments(edit) for edit in kept) else None
        if lost is not None:
            reason = f"a comment would be lost ({lost})"
            return Composed(text, tuple(conflicts) + tuple(Conflict(edit, reason) for edit in kept))
    return Composed(result, tuple(conflicts))


def apply_splices(text: str, splices: Sequence[Splice]) -> str:
    """Apply splices that do not overlap. Insertions at one offset are ordered by rank, then as given."""
    pieces = []
    position = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end, splice.rank)):
        pieces += [text[position : splice.start], splice.text]
        position = splice.end
    return "".join([*pieces, text[position:]])


def compile_error(text: str, path: str = "<string>") -> str | None:
    """Why Python would refuse the text, or None."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text.removeprefix("\ufeff"), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return None


def _keeps_comments(edit: Edit) -> bool:
    """Whether an edit takes no comment away on purpose, as a removal does, or twins that merge into one definition."""
    return edit.codemod in _MOVERS and getattr(edit, "anchor", 0) is not None


_MOVERS = {
    "drop_unique",
    "hoist",
    "insert_below",
    "insert_statement",
    "isolate",
    "memoise",
    "move_statement",
    "replace_statement",
    "set_argument",
}


def lost_comment(before: str, after: str) -> str | None:
    """A comment of the text before that the text after does not hold, as libcst's lossless tree has them."""
    import libcst as cst

    class Comments(cst.CSTVisitor):
        def __init__(self) -> None:
            self.found: Counter[str] = Counter()

        def visit_Comment(self, node: cst.Comment) -> None:
            self.found[node.value] += 1

    counts = []
    for text in (before, after):
        comments = Comments()
        try:
            cst.parse_module(text.removeprefix("\ufeff")).visit(comments)
        except (cst.ParserSyntaxError, RecursionError):
            return None  # syntax that libcst does not know: there is nothing to compare
        counts.append(comments.found)
    # A comment may grow (``# noqa: E402`` is put in front of what stood there), not vanish.
    old, new = counts
    for comment in old:
        words = comment.lstrip("#: ")
        if sum(new[one] for one in new if words in one) < sum(old[one] for one in old if words in one):
            return comment
    return None


def _splices(source: Source, edits: Sequence[Edit]) -> tuple[list[tuple[Edit, list[Splice]]], list[Conflict]]:
    outcome: dict[int, list[Splice] | Declined] = {}
    by_codemod: dict[str, list[Edit]] = {}
    for edit in edits:
        by_codemod.setdefault(edit.codemod, []).append(edit)
    for name, group in by_codemod.items():
        module = registry().get(name)
        if module is None:
            raise LookupError(f"no codemod is called {name!r}")
        if hasattr(module, "splices_together"):
            results = module.splices_together(source, group)
            outcome.update((id(edit), result) for edit, result in zip(group, results, strict=True))
            continue
        for edit in group:
            try:
                outcome[id(edit)] = module.splices(source, edit)
            except Declined as reason:
                outcome[id(edit)] = reason
    planned: list[tuple[Edit, list[Splice]]] = []
    problems = []
    for edit in edits:
        result = outcome[id(edit)]
        if isinstance(result, Declined):
            problems.append(Conflict(edit, str(result)))
        else:
            planned.append((edit, result))
    return planned, problems


def _overlaps(planned: Sequence[tuple[Edit, list[Splice]]]) -> list[Conflict]:
    taken: list[Splice] = []
    problems = []
    for edit, splices in planned:
        if any(_overlap(one, other) for one in splices for other in taken):
            problems.append(Conflict(edit, "another edit changes the same lines"))
        else:
            taken += splices
    return problems


def _overlap(one: Splice, other: Splice) -> bool:
    # Insertions at the edge of a replaced stretch, and several at one offset, do not touch each other.
    if one.start == one.end or other.start == other.end:
        return one.start < other.end and other.start < one.end
    return one.start < other.end and other.start < one.end
