"""Replacing a statement: what changes, and that everything around it keeps its bytes."""

from __future__ import annotations

import pytest
from warpfix.codemods.compose import compose
from warpfix.codemods.replace_statement import ReplaceStatement

# With ``a.b = True`` on a line, in place of which ``a.c = 1`` is written.
REPLACED = [
    pytest.param("x\na.b = True\ny\n", 2, "x\na.c = 1\ny\n", id="a line"),
    pytest.param("a.b = True", 1, "a.c = 1", id="no last line end"),
    pytest.param("a.b = True  # why\n", 1, "a.c = 1  # why\n", id="a comment behind"),
    pytest.param("# why\na.b = True\n", 2, "# why\na.c = 1\n", id="a comment above"),
    pytest.param("a . b=(True)\n", 1, "a.c = 1\n", id="spelled otherwise"),
    pytest.param("a.b = (\n    True\n)\ny\n", 1, "a.c = 1\ny\n", id="over several lines"),
    pytest.param("a.b = \\\n    True\ny\n", 1, "a.c = 1\ny\n", id="with a backslash"),
    pytest.param("x; a.b = True; y\n", 1, "x; a.c = 1; y\n", id="between others"),
    pytest.param("if x: a.b = True\n", 1, "if x: a.c = 1\n", id="on the line of an if"),
    pytest.param("def f():\n\ta.b = True\n", 2, "def f():\n\ta.c = 1\n", id="in a function, tabs"),
    pytest.param("a.b = True\r\ny\r\n", 1, "a.c = 1\r\ny\r\n", id="CRLF"),
    pytest.param("\ufeffa.b = True\n", 1, "\ufeffa.c = 1\n", id="BOM"),
    pytest.param("\fa.b = True\n", 1, "\fa.c = 1\n", id="form feed"),
    pytest.param("é = 'é'; a.b = True  # é\n", 1, "é = 'é'; a.c = 1  # é\n", id="other characters"),
]


@pytest.mark.parametrize(("text", "line", "expected"), REPLACED)
def test_replaced(text: str, line: int, expected: str) -> None:
    edit = ReplaceStatement(line, "a.b = True", "a.c = 1")
    composed = compose(text, [edit])
    assert (composed.text, composed.conflicts) == (expected, ())
    assert compose(expected, [edit]).text == expected


def test_an_expression() -> None:
    text = "wp.force_load(\n    device='cpu',  # all\n)\n"
    composed = compose(text, [ReplaceStatement(1, "wp.force_load(device='cpu')", "wp.load(x)")])
    assert composed.text == text and "comment" in composed.conflicts[0].reason
    text = text.replace("  # all", "")
    assert compose(text, [ReplaceStatement(1, "wp.force_load(device='cpu')", "wp.load(x)")]).text == "wp.load(x)\n"


LEFT = [
    pytest.param("a.b = True\n", 2, id="another line"),
    pytest.param("a.b = False\n", 1, id="another value"),
    pytest.param("c = a.b = True\n", 1, id="one target of two"),
    pytest.param("a.b: bool = True\n", 1, id="with an annotation"),
    pytest.param("a.b += True\n", 1, id="added to"),
    pytest.param("'a.b = True'\n", 1, id="in a string"),
    pytest.param("# a.b = True\n", 1, id="in a comment"),
    pytest.param("f(a.b == True)\n", 1, id="compared"),
    pytest.param("x = (\n    1,\n)\na.b = True\n", 2, id="in the middle of another"),
]


@pytest.mark.parametrize(("text", "line"), LEFT)
def test_left(text: str, line: int) -> None:
    composed = compose(text, [ReplaceStatement(line, "a.b = True", "a.c = 1")])
    assert composed.text == text
    assert "does not hold" in composed.conflicts[0].reason


def test_what_would_not_compile_is_left() -> None:
    composed = compose("if x:\n    a.b = True\n", [ReplaceStatement(2, "a.b = True", "a.c = = 1")])
    assert composed.text == "if x:\n    a.b = True\n"
    assert "would not compile" in composed.conflicts[0].reason
