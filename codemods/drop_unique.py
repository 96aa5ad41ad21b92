"""Take a stable kernel out of a Warp module of its own: ``@wp.kernel(module="unique")`` lands in a shared module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods._arguments import ModuleArgument, set_module
from warpfix.codemods.base import Declined, Edit, Source, Splice


@dataclass(frozen=True)
class DropUnique(Edit):
    """Change ``module=`` in the decorator of the kernel defined on ``line``; ``decorator`` counts from 0."""

    codemod: ClassVar[str] = "drop_unique"

    line: int
    name: str
    module: ModuleArgument
    decorator: int = 0


def splices(source: Source, edit: DropUnique) -> list[Splice]:
    """The change of one decorator. Raises Declined if it is not there."""
    node = source.definition(edit.line, edit.name)
    if edit.decorator >= len(node.decorator_list):
        raise Declined(f"`{edit.name}` has no decorator number {edit.decorator}")
    return set_module(source, node.decorator_list[edit.decorator], edit.module)
