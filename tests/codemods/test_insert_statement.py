"""Inserting a statement at module scope: where it lands, and that every other line keeps its bytes."""

from __future__ import annotations

import pytest
from warpfix.codemods.compose import compose
from warpfix.codemods.insert_statement import InsertStatement

DECLINED = [
    pytest.param("a()\n\nb()\n", 2, id="a blank line"),
    pytest.param("if x: a()\n", 2, id="nothing there"),
    pytest.param("x.y = 1\na()\n", 2, id="there already"),
    pytest.param("a(); b()\n", 1, id="a shared line"),
]


@pytest.mark.parametrize(("text", "line"), DECLINED)
def test_declined(text: str, line: int) -> None:
    composed = compose(text, [InsertStatement(line, "x.y = 1")])
    assert composed.text == text and composed.conflicts


INSERTED = [
    pytest.param("a()\nb()\n", 2, "a()\nx.y = 1\n\nb()\n", id="below a line"),
    pytest.param("a()\n\n\nb()\n", 4, "a()\n\n\nx.y = 1\n\n\nb()\n", id="as far apart"),
    pytest.param("a()\n# of b\nb()\n", 3, "a()\nx.y = 1\n\n# of b\nb()\n", id="above a comment"),
    pytest.param("a()\n@d\ndef f(): pass\n", 2, "a()\nx.y = 1\n\n@d\ndef f(): pass\n", id="above a decorator"),
    pytest.param("a()\r\nb()\r\n", 2, "a()\r\nx.y = 1\r\n\r\nb()\r\n", id="CRLF"),
    pytest.param("if x:\n\ta()\n", 2, "if x:\n\tx.y = 1\n\ta()\n", id="in a block"),
    pytest.param(
        "def f():\n    # c\n    a()\n", 3, "def f():\n    x.y = 1\n    # c\n    a()\n", id="above its comment"
    ),
    pytest.param("\ufeffa()\n", 1, "\ufeffx.y = 1\n\na()\n", id="BOM"),
]


@pytest.mark.parametrize(("text", "line", "expected"), INSERTED)
def test_inserted(text: str, line: int, expected: str) -> None:
    composed = compose(text, [InsertStatement(line, "x.y = 1")])
    assert (composed.text, composed.conflicts) == (expected, ())


def test_imports_below_are_marked() -> None:
    composed = compose("import a\nimport b\nimport c  # noqa\n", [InsertStatement(2, "a.x = 1", (2, 3))])
    assert composed.text == "import a\na.x = 1\n\nimport b  # noqa: E402\nimport c  # noqa\n"
