"""What every codemod shares: the source, the edit, the splice, and the way to decline."""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from warpfix.codemods.trees import parent_table

if TYPE_CHECKING:
    import libcst as cst
    from libcst.metadata import CodeRange

AstDefinition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# What Python's parser takes for a line end. str.splitlines() knows more (form feeds, U+2028) and would count wrongly.
_LINE_END = re.compile(r"\r\n|\r|\n")
_DIRECTIVE = re.compile(
    r"^[ \t\f]*#\s*(?:type:|fmt:\s*(?:on|off)|yapf:|autopep8:|pylint:|ruff:|flake8:|mypy:|pyright:|isort:|pragma:)"
)
# A comment that heads what follows, or ends what went before: a ruler, a fold, a cell, the words of a licence.
_HEADING = re.compile(
    r"^[ \t\f]*#(?:\s*([-=*~#+_\u2500-\u259f])\1{2,}|.*[^\s#].*\s([-=*~#+_\u2500-\u259f])\2{2,}\s*$|\s?%%"
    r"|\s*(?:end)?region\b|\s*</?editor-fold|\s*MARK:|.*(?:\{\{\{|\}\}\})|\s*(?:Copyright\b|SPDX-|Licensed under))",
    re.IGNORECASE,
)


class Declined(Exception):
    """The codemod can't prove that its result is right; the message says why, for the reader of the source."""


@dataclass(frozen=True)
class Edit:
    """Base of all edits: data only. ``codemod`` is the registered name of the codemod that carries it out."""

    codemod: ClassVar[str] = ""


@dataclass(frozen=True, order=True)
class Splice:
    """Replace ``text[start:end]`` of the original by ``text``. Offsets are in characters of the decoded source.

    ``rank`` orders insertions at one offset: lower comes first.
    """

    start: int
    end: int
    text: str
    rank: int = 0


@dataclass(frozen=True)
class Extent:
    """Where a definition lies: whole lines, as offsets. ``text[start:end]`` holds its comments, decorators and body."""

    start: int
    """Start of the line of the first comment attached directly above, else of the first decorator."""
    decorated: int
    """Start of the line of the first decorator, else of the ``def`` itself."""
    end: int
    """Start of the line after the last one (the end of the text if there is none)."""


class Source:
    """One file's decoded text, parsed at most once by ``ast`` and once by libcst, with positions of both.

    Lines count from 1, columns are those of ``ast`` (UTF-8 bytes from 0), offsets are characters of ``text``.
    """

    def __init__(self, text: str, path: str = "<string>") -> None:
        self.text = text
        self.path = path

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @property
    def line_count(self) -> int:
        """Number of lines; a text that ends with a line end has an empty last one."""
        return len(self._starts)

    def line_start(self, line: int) -> int:
        """Offset of the first character of a line; the end of the text for the line after the last."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def line(self, line: int) -> str:
        """Text of a line without its line end."""
        return self.text[self.line_start(line) : self.line_start(line + 1)].rstrip("\r\n")

    def offset(self, line: int, column: int) -> int:
        """Offset of a position given as ``ast`` does: line from 1, column in UTF-8 bytes."""
        start = self.line_start(line)
        # The byte order mark is part of the text but not of what ast counts.
        if line == 1 and self.text.startswith("\ufeff"):
            start += 1
        if column == 0:
            return start
        prefix = self.text[start : start + column]
        if prefix.isascii():
            return start + column
        return start + len(self.text[start : self.line_start(line + 1)].encode("utf-8")[:column].decode("utf-8"))

    def line_of(self, offset: int) -> int:
        """Number of the line that holds an offset."""
        return bisect.bisect_right(self._starts, offset)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end offset of an ``ast`` node that has a position."""
        assert isinstance(node, (ast.stmt, ast.expr, ast.arg, ast.keyword, ast.alias, ast.excepthandler))
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    @cached_property
    def newline(self) -> str:
        """The line end of the file: that of its first line, ``\\n`` if it has none."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    @cached_property
    def indent(self) -> str:
        """One level of indentation, taken from the first indented block; four spaces if there is none."""
        for node in ast.walk(self.tree):
            body = getattr(node, "body", None)
            if isinstance(node, ast.Module) or not isinstance(node, ast.stmt) or not isinstance(body, list):
                continue
            outer, inner = self.indent_of(node.lineno), self.indent_of(body[0].lineno)
            if body[0].lineno != node.lineno and inner.startswith(outer) and inner != outer:
                return inner[len(outer) :]
        return "    "

    def indent_of(self, line: int) -> str:
        """Leading white space of a line."""
        text = self.line(line)
        return text[: len(text) - len(text.lstrip(" \t\f"))].lstrip("\f\ufeff")

    @cached_property
    def tree(self) -> ast.Module:
        """The ``ast`` of the text. Raises what ``ast.parse`` raises."""
        return ast.parse(self.text.removeprefix("\ufeff"))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Child to parent, for every node of ``tree``."""
        return parent_table(self.tree)

    @cached_property
    def _cst(self) -> tuple[cst.Module, dict[tuple[int, str], cst.CSTNode], Mapping[cst.CSTNode, CodeRange]]:
        import libcst as cst
        from libcst.metadata import MetadataWrapper, PositionProvider

        wrapper = MetadataWrapper(cst.parse_module(self.text.removeprefix("\ufeff")), unsafe_skip_copy=True)
        positions = wrapper.resolve(PositionProvider)
        by_line: dict[tuple[int, str], cst.CSTNode] = {}
        for node, position in positions.items():
            if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                # libcst's position of a def begins at its first decorator; ast's line is that of the keyword.
                by_line[(positions[node.name].start.line, node.name.value)] = node
            elif isinstance(node, cst.SimpleStatementLine):
                by_line[(position.start.line, "")] = node
        return wrapper.module, by_line, positions

    @property
    def cst_module(self) -> cst.Module:
        """The text parsed by libcst, with positions (see :meth:`cst_position`)."""
        return self._cst[0]

    def cst_position(self, node: cst.CSTNode) -> tuple[int, int]:
        """Line (from 1) and column (characters from 0) at which a libcst node starts."""
        start = self._cst[2][node].start
        return start.line, start.column

    def cst_definition(self, line: int, name: str) -> cst.CSTNode:
        """The libcst node of a definition, by the line of its ``def`` or ``class`` (as ``ast`` gives it) and its name.

        With an empty name: the simple statement line that begins there. Raises Declined if there is none.
        """
        node = self._cst[1].get((line, name))
        if node is None:
            raise Declined(f"line {line} holds no definition of {name!r}" if name else f"line {line} starts nothing")
        return node

    def definition(self, line: int, name: str) -> AstDefinition:
        """The ``ast`` node of a definition, by the line of its ``def`` or ``class`` and its name.

        Raises Declined if there is none.
        """
        for node in self.statements_on(line):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
                return node
        raise Declined(f"line {line} holds no definition of {name!r}")

    @cached_property
    def _statements(self) -> dict[int, list[ast.stmt]]:
        found: dict[int, list[ast.stmt]] = {}
        for node in self.parents:
            if isinstance(node, ast.stmt):
                found.setdefault(node.lineno, []).append(node)
        return found

    def statements_on(self, line: int) -> list[ast.stmt]:
        """The statements whose ``ast`` line is this one (that of the ``def``, not of its decorators)."""
        return self._statements.get(line, [])

    def first_line(self, node: ast.stmt) -> int:
        """Line on which a statement begins, its decorators included."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        return min([node.lineno, *(decorator.lineno for decorator in decorators)])

    def comments_above(self, line: int) -> int:
        """First line of the comments attached directly above a line: of its own indentation, with no blank between.

        A comment that stands apart by a blank line is not attached, nor is one that heads a section (``# ---- x ----``,
        ``# region``) with what stands above it, nor a line that a type checker or a formatter reads (``# type:``).
        """
        first = self.comment_block_above(line)
        for number in range(line - 1, first - 1, -1):
            if _HEADING.match(self.line(number)):
                return number + 1
        return first

    def comment_block_above(self, line: int) -> int:
        """As :meth:`comments_above`, with the headings: first line of the comments that what is inserted goes above."""
        indent = self.indent_of(line)
        first = line
        while first > 1:
            text = self.line(first - 1)
            if not text.lstrip().startswith("#") or self.indent_of(first - 1) != indent:
                break
            if _DIRECTIVE.match(text):
                break  # it speaks to a tool about the place, not about the statement
            if first - 1 == 1 and text.lstrip("\ufeff").startswith("#!"):
                break
            first -= 1
        # A coding cookie belongs to the file, not to what stands below it.
        while first <= 2 and first < line and re.match(r"^[ \t\f]*#.*?coding[:=]", self.line(first)):
            first += 1
        return first

    def place_above(self, node: ast.stmt) -> int:
        """Offset at which a statement goes that is to stand above another, and above the section that this one heads.

        Comments on the first lines of a file, above its imports, are the file's own. Raises Declined as :meth:`extent`.
        """
        extent = self.extent(node)
        line = self.first_line(node)
        first = self.comment_block_above(line)
        above = self.text[: self.line_start(first)].removeprefix("\ufeff").strip()
        head = all(text.startswith("#") for text in above.splitlines())
        if head and (isinstance(node, (ast.Import, ast.ImportFrom)) or first < self.line_of(extent.start)):
            start = extent.decorated
        else:
            start = self.line_start(first)
        return 1 if start == 0 and self.text.startswith("\ufeff") else start

    def extent(self, node: ast.stmt) -> Extent:
        """The whole lines of a statement, with its decorators and the comments attached directly above.

        Raises Declined if it shares a line with something else (``a = 1; b = 2``, ``if x: y = 1``).
        """
        assert node.end_lineno is not None
        first = self.first_line(node)
        start, end = self.line_start(first), self.line_start(node.end_lineno + 1)
        _, stop = self.span(node)
        tail = self.text[stop : self.line_start(node.end_lineno + 1)].strip()
        column = node.col_offset if first == node.lineno else len(self.indent_of(first).encode())
        head = self.text[start : self.offset(first, column)].strip(" \t\f\ufeff")
        if head or (tail and not tail.startswith("#")):
            raise Declined(f"the statement on line {node.lineno} shares its line with another")
        return Extent(self.line_start(self.comments_above(first)), start, end)
