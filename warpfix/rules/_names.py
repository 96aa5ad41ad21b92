"""What a file calls Warp."""

from __future__ import annotations

import ast

from warpfix.index.build import ProjectIndex
from warpfix.index.model import FileIndex


def warp_name(index: ProjectIndex, file: FileIndex, line: int) -> str | None:
    """What a file calls Warp itself at module scope, by an import above a line."""
    for statement in file.tree.body:
        if statement.lineno >= line:
            break
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                name = alias.asname or alias.name
                if alias.name == "warp" and file.imports.get(name) == "warp" and len(file.bindings[name]) == 1:
                    return name
    return None
