"""What the analysis says of one closure kernel, and how it declines. Plain data."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from warpfix.codemods import Declined
from warpfix.codemods._arguments import ModuleArgument
from warpfix.codemods.hoist import Hoist
from warpfix.findings import Applicability, KernelRename
from warpfix.index.captures import (
    DefinitionNode,
    Occurrence,
    Scope,
)
from warpfix.index.model import Construct, FileIndex

# Options that Warp copies from warp.config when it creates a module.
SNAPSHOT_OPTIONS = frozenset(
    {
        "enable_backward",
        "max_unroll",
        "lineinfo",
        "compile_time_trace",
        "deterministic",
        "deterministic_max_records",
    }
)


@dataclass(frozen=True)
class Capture:
    """A name of an enclosing function that a kernel uses and that is not the same at every call."""

    name: str
    reason: str
    """What it is, in words that continue "captures `name`, ..."."""
    function: ast.AST | None = None
    """The function whose parameter it is, if it is one."""


@dataclass(frozen=True)
class Landing:
    """The Warp module that a kernel is in after the fix."""

    argument: ModuleArgument | None
    """The change of the decorator; None keeps it."""
    module: str
    """Name of the Warp module."""
    shared: bool = False
    """Whether the kernel leaves a unique module for a shared one."""


@dataclass
class Verdict:
    """What was found out about one closure kernel."""

    file: FileIndex
    construct: Construct
    captures: tuple[Capture, ...] = ()
    """Why it is specialised; empty for a stable one."""
    declined: str | None = None
    edits: tuple[Hoist, ...] = ()
    rename: KernelRename | None = None
    landing: Landing | None = None
    applicability: Applicability = Applicability.SAFE
    unproved: str = ""
    at_import_only: bool = False
    """Whether every known call of its function runs when the file is imported: nothing is late then."""
    moved: tuple[str, ...] = ()
    """Names of the other definitions that move along."""
    silent: bool = False
    """Whether there is nothing that a reader could do about it."""
    same: bool = True
    """Whether it is proved that every call makes the same kernel; a declined one may be another each time."""

    @property
    def stable(self) -> bool:
        """Whether nothing that it captures varies."""
        return not self.captures


class AsItShouldBe(Declined):
    """There is nothing that a reader could do."""


class Unproved(Declined):
    """It is not even proved that the kernel is the same at every call."""


class Varies(Exception):
    def __init__(self, captures: Sequence[Capture]) -> None:
        self.captures = tuple(captures)


@dataclass
class Item:
    """A definition that may move: the kernel itself or something that it needs."""

    node: DefinitionNode | ast.Assign | ast.AnnAssign
    name: str
    scope: Scope
    """The function scope that binds it."""
    construct: Construct | None
    needs: list[Item] = field(default_factory=list)
    outside: list[tuple[Occurrence, Scope | None]] = field(default_factory=list)
    new_name: str = ""
    follows: Item | None = None
    """The function that this one is registered for: its gradient, or what it replays."""

    @property
    def key(self) -> tuple[int, str]:
        return (self.node.lineno, self.name)


def with_needs(item: Item) -> list[Item]:
    """An item and everything that it needs, each once, in source order."""
    found: dict[tuple[int, str], Item] = {}
    todo = [item]
    while todo:
        current = todo.pop()
        if current.key not in found:
            found[current.key] = current
            todo += current.needs
    return [found[key] for key in sorted(found)]
