"""A Jupyter notebook as one Python text: its code cells in order, as they run one after another in one namespace.

What only IPython understands (``%magic``, ``!command``, ``name?``) is replaced by ``pass``, line by line, so that a
line of the text is a line of its cell. Text in, data out; nothing is run.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SUFFIX = ".ipynb"


@dataclass(frozen=True)
class Cell:
    """A code cell. ``number`` counts all cells of the notebook from 1; ``first`` is its first line in the text."""

    number: int
    first: int
    source: str


@dataclass(frozen=True)
class Notebook:
    """The text, and which lines of it are which cell's."""

    text: str
    cells: tuple[Cell, ...]

    def place(self, line: int) -> tuple[Cell, int]:
        """The cell that a line of the text is in, and the line's number in that cell."""
        cell = self.cells[max(0, bisect_right([cell.first for cell in self.cells], line) - 1)]
        return cell, line - cell.first + 1


def read_notebook(raw: bytes) -> Notebook:
    """The code of a notebook; empty for one in another language than Python.

    Raises:
        ValueError: it is no notebook; the message says why.
    """
    try:
        document = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a notebook: {error}") from error
    listed = _cells(document)
    if listed is None:
        raise ValueError("not a notebook: it has no list of cells")
    if not _is_python(document):
        return Notebook("", ())
    cells: list[Cell] = []
    lines: list[str] = []
    for number, item in enumerate(listed, 1):
        if not (isinstance(item, Mapping) and item.get("cell_type") == "code"):
            continue
        source = item.get("source", item.get("input", ""))
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        if not isinstance(source, str):
            raise ValueError(f"not a notebook: cell {number} has no text")
        source = source.replace("\r\n", "\n").replace("\r", "\n")
        cells.append(Cell(number, len(lines) + 1, source))
        lines.extend(plain_python(source).split("\n"))
    return Notebook("\n".join(lines) + "\n", tuple(cells))


def _cells(document: Any) -> list[Any] | None:
    if not isinstance(document, Mapping):
        return None
    cells = document.get("cells")
    if cells is None and isinstance(document.get("worksheets"), list):  # format 3
        sheets = [sheet for sheet in document["worksheets"] if isinstance(sheet, Mapping)]
        cells = [cell for sheet in sheets for cell in sheet.get("cells", ())]
    return cells if isinstance(cells, list) else None


def _is_python(document: Mapping[str, Any]) -> bool:
    metadata = document.get("metadata")
    for key, field in (("language_info", "name"), ("kernelspec", "language")):
        about = metadata.get(key) if isinstance(metadata, Mapping) else None
        if isinstance(about, Mapping) and isinstance(about.get(field), str):
            return str(about[field]).lower() in ("python", "ipython")
    return True


# Cell magics whose body is Python that runs in the notebook's namespace.
_PYTHON_CELLS = frozenset({"time", "timeit", "capture", "prun", "debug", "memit", "mprun", "lprun"})
_ASSIGNED = re.compile(r"(\s*[A-Za-z_][\w., ]*=\s*)(?:!|%\w)")


def plain_python(source: str) -> str:
    """A cell's source with what is no Python replaced, each line by a line."""
    if _parses(source):
        return source
    lines = source.split("\n")
    start = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[start].startswith("%%"):
        name = re.match(r"%%(\w*)", lines[start])
        if name is None or name.group(1) not in _PYTHON_CELLS:
            return "\n" * (len(lines) - 1)
        lines[start] = ""
        return plain_python("\n".join(lines))
    for first, last in _statements(lines):
        text = lines[first].strip()
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        assigned = _ASSIGNED.match(lines[first])
        if text[:1] in ("%", "!", "?") or _is_help(text):
            replaced = indent + "pass"
        elif assigned is not None:
            replaced = assigned.group(1) + "None"
        else:
            continue
        lines[first] = replaced
        if text.endswith("\\"):
            for number in range(first + 1, last + 1):
                lines[number] = ""
    return "\n".join(lines)


def _is_help(text: str) -> bool:
    return re.fullmatch(r"[\w.*\[\]'\"]+\?{1,2}", text) is not None


def _parses(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


_PIECE = re.compile(r"#|\"\"\"|'''|\\.|[\"'()\[\]{}]")


def _statements(lines: list[str]) -> Iterator[tuple[int, int]]:
    """First and last line of each logical line, counted from 0. A line of IPython's own ends where it ends."""
    number = 0
    while number < len(lines):
        first = number
        own = lines[first].lstrip()[:1] in ("%", "!", "?") or _ASSIGNED.match(lines[first]) is not None
        depth, quote = 0, ""
        while True:
            if not own:
                depth, quote = _after(lines[number], depth, quote)
            number += 1
            goes_on = depth > 0 or bool(quote) or lines[number - 1].endswith("\\")
            if not goes_on or number == len(lines):
                break
        yield first, number - 1


def _after(line: str, depth: int, quote: str) -> tuple[int, str]:
    """Depth of brackets and the open string's quotes after a line."""
    for piece in _PIECE.finditer(line):
        text = piece.group()
        if quote:
            if text == quote or (len(quote) == 1 and text in ('"""', "'''") and text[0] == quote):
                quote = ""
        elif text == "#":
            break
        elif text in ('"""', "'''", '"', "'"):
            quote = text
        elif text in "([{":
            depth += 1
        elif text in ")]}":
            depth = max(0, depth - 1)
    # A plain string does not go on on the next line, unless a backslash ends this one.
    return depth, "" if len(quote) == 1 and not line.endswith("\\") else quote
