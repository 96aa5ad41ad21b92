"""What the rules about kernel definitions share."""

from __future__ import annotations

import ast
from typing import Any

from warpfix.index.model import FileIndex
from warpfix.rules import locate


def head(file: FileIndex, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> dict[str, Any]:
    """Position of a definition's head: from its first decorator to the end of the line of its ``def``."""
    where = locate(file, node)
    first = min([(node.lineno, node.col_offset), *((d.lineno, max(0, d.col_offset - 1)) for d in node.decorator_list)])
    line, column = first
    begin = ast.Pass(lineno=line, col_offset=column, end_lineno=node.lineno, end_col_offset=node.col_offset)
    start = locate(file, begin)
    return {
        "line": start["line"],
        "column": start["column"],
        "end_line": where["line"],
        "end_column": where["column"] + len("def ") + len(node.name),
    }
