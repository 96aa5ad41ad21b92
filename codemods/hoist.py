"""Move a definition out of a function to module scope, with its comments, and make the function use it from there.

The edit says what moves, where to and under which name; whether that is right was proved before (``warpfix.hoisting``).
The moved text is the original's, line by line, less its indentation: lines inside multi-line strings stay as they are.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from warpfix.codemods._arguments import ModuleArgument, quoted, set_keyword, set_module
from warpfix.codemods.base import AstDefinition, Declined, Edit, Source, Splice

Statement = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Hoist(Edit):
    """Move one definition, or one assignment of a constant, from a function's body to module scope.

    ``line`` is that of the ``def``, ``class`` or assignment. ``anchor`` is the first line (decorators included) of the
    statement before which, or with ``after`` behind which, it goes; None takes it away without putting it anywhere,
    because another edit puts the same definition there. ``names`` lists every name to be rewritten, in and out of
    moved code: line, column (UTF-8 bytes), new name. ``parameter`` is the parameter of the function that chose the
    kernel's module, ``default`` the source of its default: another value, given by a caller, keeps its meaning.
    """

    codemod: ClassVar[str] = "hoist"

    line: int
    name: str
    anchor: int | None
    after: bool = False
    new_name: str = ""
    names: tuple[tuple[int, int, str], ...] = ()
    decorator: int | None = None
    """Which decorator is Warp's, counted from 0: for ``module`` and ``key``."""
    module: ModuleArgument | None = None
    key: str | None = None
    parameter: str | None = None
    default: str | None = None


def splices_together(source: Source, edits: Sequence[Hoist]) -> list[list[Splice] | Declined]:
    """The splices of all hoists of one file, one list per edit, or the reason why one is left."""
    outcome: dict[Hoist, list[Splice] | Declined] = {}
    moves: dict[Hoist, _Move] = {}
    for edit in edits:
        try:
            moves[edit] = _Move(source, edit)
        except Declined as reason:
            outcome[edit] = reason
    for edit, error in _wrong_anchors(source, moves).items():
        outcome[edit] = error
        del moves[edit]
    rewrites = {source.offset(line, column): (name, edit) for edit in moves for line, column, name in edit.names}
    for edit in moves:
        outcome[edit] = []
    _rewrite_names(source, moves, rewrites, outcome)
    _remove(source, moves, outcome)
    _insert(source, moves, rewrites, outcome)
    for edit, move in moves.items():
        result = outcome[edit]
        if edit.parameter is not None and isinstance(result, list):
            try:
                branch = _keep_parameter(source, move)
                inside = [one for one in result if branch.start <= one.start and one.end <= branch.end]
                outcome[edit] = [*(one for one in result if one not in inside), branch]
            except Declined as reason:
                outcome[edit] = reason
    return [outcome[edit] for edit in edits]


class _Move:
    """One edit with its node, the block that holds it, and the whole lines that go."""

    def __init__(self, source: Source, edit: Hoist) -> None:
        self.edit = edit
        self.node = _find(source, edit)
        parent = source.parents[self.node]
        if not isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) or self.node not in parent.body:
            raise Declined(f"`{edit.name}` is not defined directly in a function")
        self.function = parent
        self.extent = source.extent(self.node)
        self.start = self.extent.start
        self.end = _with_trailing_comments(source, self.node)
        self.indent = source.indent_of(source.first_line(self.node))

    @property
    def is_constant(self) -> bool:
        return isinstance(self.node, (ast.Assign, ast.AnnAssign))


def _find(source: Source, edit: Hoist) -> Statement:
    for node in source.statements_on(edit.line):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == edit.name:
                return node
    return source.definition(edit.line, edit.name)


def _with_trailing_comments(source: Source, node: ast.stmt) -> int:
    """End of a definition with the comments that follow its last statement inside its block."""
    assert node.end_lineno is not None
    line = last = node.end_lineno
    if not hasattr(node, "body"):
        return source.line_start(last + 1)
    outer = len(source.indent_of(node.lineno).expandtabs())
    while line < source.line_count:
        text = source.line(line + 1)
        if text.strip() and not text.lstrip().startswith("#"):
            break
        if text.strip() and len(source.indent_of(line + 1).expandtabs()) <= outer:
            break
        line += 1
        if text.strip():
            last = line
    return source.line_start(last + 1)


def _wrong_anchors(source: Source, moves: dict[Hoist, _Move]) -> dict[Hoist, Declined]:
    firsts = {source.first_line(node) for node in _blocks(source.tree)}
    return {
        edit: Declined(f"no statement begins on line {edit.anchor}")
        for edit in moves
        if edit.anchor is not None and edit.anchor not in firsts
    }


def _rewrite_names(
    source: Source,
    moves: dict[Hoist, _Move],
    rewrites: dict[int, tuple[str, Hoist]],
    outcome: dict[Hoist, list[Splice] | Declined],
) -> None:
    """Rewrite the references that stay where they are."""
    for offset, (name, edit) in rewrites.items():
        if any(move.start <= offset < move.end for move in moves.values()):
            continue
        result = outcome[edit]
        if isinstance(result, list):
            result.append(Splice(offset, offset + len(edit.name), name))


def _remove(source: Source, moves: dict[Hoist, _Move], outcome: dict[Hoist, list[Splice] | Declined]) -> None:
    """Take the moved lines out, with the blank lines before what follows; at a block's end, with those above."""
    gone = {move.node for move in moves.values()}
    end_of_last = 0
    for move in sorted(moves.values(), key=lambda move: move.start):
        result = outcome[move.edit]
        assert isinstance(result, list)
        body = move.function.body
        index = body.index(move.node)
        start, end = move.start, move.end
        if any(node not in gone for node in body[index + 1 :]) or _comment_follows(source, move):
            end = _skip_blank(source, end)
        else:
            start = max(_skip_blank_backwards(source, start), end_of_last)
        text = ""
        if all(node in gone for node in body) and index == 0:
            text = move.indent + "pass" + source.newline
        result.append(Splice(start, end, text))
        end_of_last = end


def _comment_follows(source: Source, move: _Move) -> bool:
    """Whether the next thing after the moved lines is a comment of the function's own body."""
    line = source.line_of(_skip_blank(source, move.end)) if move.end < len(source.text) else source.line_count
    return source.line(line).lstrip().startswith("#") and source.indent_of(line) == move.indent


def _skip_blank(source: Source, offset: int) -> int:
    while offset < len(source.text):
        line = source.line_of(offset)
        following = source.line_start(line + 1)
        if source.line(line).strip() or following == offset:
            break
        offset = following
    return offset


def _skip_blank_backwards(source: Source, offset: int) -> int:
    line = source.line_of(offset)
    while line > 1 and not source.line(line - 1).strip():
        line -= 1
    return source.line_start(line)


def _insert(
    source: Source,
    moves: dict[Hoist, _Move],
    rewrites: dict[int, tuple[str, Hoist]],
    outcome: dict[Hoist, list[Splice] | Declined],
) -> None:
    strings = _string_lines(source)
    places: dict[tuple[int, bool], list[_Move]] = {}
    for move in moves.values():
        if move.edit.anchor is not None:
            places.setdefault((move.edit.anchor, move.edit.after), []).append(move)
    statements = {source.first_line(node): node for node in _blocks(source.tree)}
    for (anchor, after), group in places.items():
        node = statements.get(anchor)
        extent = None
        if node is not None:
            try:
                extent = source.extent(node)
            except Declined:
                extent = None
        if extent is None or node is None:
            for move in group:
                outcome[move.edit] = Declined(f"there is no place for it at line {anchor}")
            continue
        indent = source.indent_of(anchor)
        offset = _with_trailing_comments(source, node) if after else extent.start
        blank = source.newline * (1 if indent else 2)
        group.sort(key=lambda move: move.start)
        for index, move in enumerate(group):
            following = group[index + 1] if index + 1 < len(group) else None
            try:
                text = _moved_text(source, move, rewrites, strings, indent)
            except Declined as reason:
                outcome[move.edit] = reason
                continue
            if after:
                if index == 0 and not source.text[:offset].endswith(("\n", "\r")):
                    text = source.newline + blank + text
                else:
                    close = index > 0 and move.is_constant and group[index - 1].is_constant
                    text = ("" if close else blank) + text
                if following is None and source.line(source.line_of(offset)).strip() and offset < len(source.text):
                    text += blank
            else:
                if index == 0:
                    text = _missing_blank(source, offset, indent) + text
                close = following is not None and move.is_constant and following.is_constant
                text += "" if close else blank
            result = outcome[move.edit]
            assert isinstance(result, list)
            result.append(Splice(offset, offset, text, rank=move.start))


def _blocks(tree: ast.Module) -> list[ast.stmt]:
    """Statements at module scope, those inside ``if`` blocks included."""
    found = []
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        found.append(node)
        if isinstance(node, ast.If):
            todo += node.body + node.orelse
    return found


def _missing_blank(source: Source, offset: int, indent: str) -> str:
    """Line ends that are missing for the blank lines above a definition."""
    line = source.line_of(offset)
    before = line - 1
    while before >= 1 and not source.line(before).strip():
        before -= 1
    if before < 1 or (indent and source.indent_of(before) != indent and source.line(before).rstrip().endswith(":")):
        return ""
    have = line - 1 - before
    return source.newline * max(0, (1 if indent else 2) - have)


def _string_lines(source: Source) -> set[int]:
    """Lines that begin inside a string literal."""
    lines: set[int] = set()
    depth: list[int] = []
    text = source.text.removeprefix("\ufeff")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            name = tokenize.tok_name[token.type]
            if name == "STRING":
                lines.update(range(token.start[0] + 1, token.end[0] + 1))
            elif name in ("FSTRING_START", "TSTRING_START"):
                depth.append(token.start[0])
            elif name in ("FSTRING_END", "TSTRING_END"):
                lines.update(range(depth.pop() + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError, IndexError) as error:
        raise Declined(f"the file can't be split into tokens ({error})") from None
    return lines


def _moved_text(
    source: Source, move: _Move, rewrites: dict[int, tuple[str, Hoist]], strings: set[int], indent: str
) -> str:
    plain = _dedent(source, move, [], strings, indent)
    if _dump(plain, indent) != ast.dump(move.node):
        raise Declined(f"`{move.edit.name}` can't be indented anew without changing it")
    inner = [
        Splice(offset, offset + len(edit.name), name)
        for offset, (name, edit) in rewrites.items()
        if move.start <= offset < move.end
    ]
    edit = move.edit
    if edit.decorator is not None and isinstance(move.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        decorator = move.node.decorator_list[edit.decorator]
        if edit.module is not None and edit.key is not None:
            inner += _module_and_key(source, decorator, edit.module, edit.key)
        elif edit.module is not None:
            inner += set_module(source, decorator, edit.module)
        elif edit.key is not None:
            inner += set_keyword(source, decorator, "name", quoted(edit.key))
    return _dedent(source, move, inner, strings, indent)


def _module_and_key(source: Source, decorator: ast.expr, module: ModuleArgument, key: str) -> list[Splice]:
    """Replace ``module=`` by ``name=``, or have both."""
    assert isinstance(decorator, ast.Call)
    if module.value is None:
        keyword = next(keyword for keyword in decorator.keywords if keyword.arg == "module")
        return [Splice(*source.span(keyword), f"name={quoted(key)}")]
    (splice,) = set_module(source, decorator, module)
    return [Splice(splice.start, splice.end, f"{splice.text}, name={quoted(key)}")]


def _dump(text: str, indent: str) -> str:
    try:
        tree = ast.parse("if 1:\n" + text if indent else text)
    except SyntaxError:
        return ""
    body = tree.body
    if indent and isinstance(body[0], ast.If):
        body = body[0].body
    return ast.dump(body[0]) if len(body) == 1 else ""


def _dedent(source: Source, move: _Move, inner: list[Splice], strings: set[int], indent: str) -> str:
    """The lines of a move with ``inner`` applied and the block's indentation replaced."""
    changes = list(inner)
    first, last = source.line_of(move.start), source.line_of(move.end - 1)
    for line in range(first, last + 1):
        if line in strings:
            continue
        start = source.line_start(line)
        text = source.line(line)
        if not text.strip():
            # White space on a blank line is as it was; it has no meaning, and the file's owner may want it.
            continue
        white = len(text) - len(text.lstrip(" \t"))
        cut = len(move.indent) if text.startswith(move.indent) else white
        changes.append(Splice(start, start + cut, indent))
    pieces = []
    position = move.start
    for splice in sorted(changes):
        pieces += [source.text[position : splice.start], splice.text]
        position = splice.end
    text = "".join([*pieces, source.text[position : move.end]])
    return text if text.endswith(("\n", "\r")) else text + source.newline


def _keep_parameter(source: Source, move: _Move) -> Splice:
    """Give the function's ``return`` a branch for a module that a caller names."""
    edit = move.edit
    name = edit.new_name or edit.name
    last = move.function.body[-1]
    if not (isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id == edit.name):
        raise Declined(f"`{move.function.name}` does more with `{edit.name}` than return it")
    assert edit.decorator is not None and isinstance(move.node, (ast.FunctionDef, ast.AsyncFunctionDef))
    decorator = move.node.decorator_list[edit.decorator]
    assert isinstance(decorator, ast.Call)
    text = source.text
    arguments = [text[slice(*source.span(keyword))] for keyword in decorator.keywords]
    if any("\n" in argument or "#" in argument for argument in arguments):
        raise Declined("an argument of the decorator spans several lines")
    function = text[slice(*source.span(decorator.func))]
    indent = source.indent_of(last.lineno)
    newline = source.newline
    operator = "is" if edit.default == "None" else "=="
    call = ", ".join([f"{name}.func", *arguments])
    start, end = source.span(last)
    return Splice(
        start,
        end,
        f"if {edit.parameter} {operator} {edit.default}:{newline}"
        f"{indent}{_one_level(source, move.function)}return {name}{newline}"
        f"{indent}return {function}({call})",
    )


def _one_level(source: Source, function: AstDefinition) -> str:
    outer, inner = source.indent_of(function.lineno), source.indent_of(function.body[-1].lineno)
    return inner[len(outer) :] if inner.startswith(outer) and inner != outer else source.indent
