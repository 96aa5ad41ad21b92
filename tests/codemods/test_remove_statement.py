"""Removing and replacing a statement: what is declined, and that every other line keeps its bytes."""

from __future__ import annotations

import pytest
from warpfix.codemods.base import Edit
from warpfix.codemods.compose import compose
from warpfix.codemods.remove_statement import RemoveStatement
from warpfix.codemods.replace_statement import ReplaceStatement

DECLINED: list[object] = [
    pytest.param("a()\n", RemoveStatement(2, "a()"), id="another line"),
    pytest.param("a()\n", RemoveStatement(1, "b()"), id="another statement"),
    pytest.param("a(); b()\n", RemoveStatement(1, "a()"), id="a shared line"),
    pytest.param("x = a()\n", RemoveStatement(1, "a()"), id="part of a statement"),
    pytest.param("x = 1\n", ReplaceStatement(1, "x = 2", "x = 3"), id="replace another"),
    pytest.param("x = 1\n", ReplaceStatement(2, "x = 1", "x = 3"), id="replace elsewhere"),
]


@pytest.mark.parametrize(("text", "edit"), DECLINED)
def test_declined(text: str, edit: Edit) -> None:
    composed = compose(text, [edit])
    assert composed.text == text and composed.conflicts


EDITED = [
    pytest.param("x\na()\ny\n", 2, "x\ny\n", id="a line"),
    pytest.param("x\na()", 2, "x\n", id="the last line"),
    pytest.param("x\na(  )  # why\ny\n", 2, "x\ny\n", id="spelled otherwise, with a comment behind"),
    pytest.param("x\n# above\na()\ny\n", 3, "x\n# above\ny\n", id="a comment above stays"),
    pytest.param("x\n\na()\n\ny\n", 3, "x\n\ny\n", id="one gap of two"),
    pytest.param("x\n\n\na()\n\n\ny\n", 4, "x\n\n\ny\n", id="one wide gap of two"),
    pytest.param("x\r\na()\r\ny\r\n", 2, "x\r\ny\r\n", id="CRLF"),
    pytest.param("if x:\n    a()\ny\n", 2, "if x:\n    pass\ny\n", id="alone in a block"),
    pytest.param("if x:\n    a()\n    b()\n", 2, "if x:\n    b()\n", id="first of a block"),
    pytest.param("\ufeffa()\nb\n", 1, "\ufeffb\n", id="BOM"),
]


@pytest.mark.parametrize(("text", "line", "expected"), EDITED)
def test_removed(text: str, line: int, expected: str) -> None:
    composed = compose(text, [RemoveStatement(line, "a()")])
    assert (composed.text, composed.conflicts) == (expected, ())


WITH_COMMENTS = [
    pytest.param("x\n# why\n# so\na()\n\ny\n", 4, "x\n\ny\n", id="about it alone"),
    pytest.param("x\n\n# why\na()\n\ny\n", 4, "x\n\ny\n", id="one gap of two"),
    pytest.param("x\n# both\na()\ny\n", 3, "x\n# both\ny\n", id="about the next line too"),
    pytest.param("def f():\n    x\n    # why\n    a()\n\n\ny\n", 4, "def f():\n    x\n\n\ny\n", id="last of a block"),
    pytest.param("# Copyright\na()\n\ny\n", 2, "# Copyright\n\ny\n", id="the head of the file"),
    pytest.param("x\n# ---- cache\na()\n\ny\n", 3, "x\n# ---- cache\n\ny\n", id="a heading"),
    pytest.param("x\n# fmt: off\na()\n\ny\n", 3, "x\n# fmt: off\n\ny\n", id="a word to a tool"),
    pytest.param("x\n# why\na()", 3, "x\n", id="the last line"),
]


@pytest.mark.parametrize(("text", "line", "expected"), WITH_COMMENTS)
def test_removed_with_its_comments(text: str, line: int, expected: str) -> None:
    composed = compose(text, [RemoveStatement(line, "a()", with_comments=True)])
    assert (composed.text, composed.conflicts) == (expected, ())


REPLACED = [
    pytest.param("a.b = True  # now\n", "a.c = 1  # now\n", id="with a comment"),
    pytest.param("a . b = (\n  True)\n", "a.c = 1\n", id="over two lines"),
    pytest.param("x; a.b = True; y\n", "x; a.c = 1; y\n", id="between others"),
]


@pytest.mark.parametrize(("text", "expected"), REPLACED)
def test_replaced(text: str, expected: str) -> None:
    composed = compose(text, [ReplaceStatement(1, "a.b = True", "a.c = 1")])
    assert (composed.text, composed.conflicts) == (expected, ())
