"""Inserting below a definition: where it lands, at which distance, and that every other line keeps its bytes."""

from __future__ import annotations

import pytest
from warpfix.codemods.compose import compose
from warpfix.codemods.insert_below import InsertBelow

DECLINED = [
    pytest.param("a()\n\n\ndef f(): pass\n", 1, id="no definition there"),
    pytest.param("def g(): pass\n", 1, id="another name"),
    pytest.param("def f(): pass; g()\n\n\nx.y(1)\n", 1, id="there already"),
    pytest.param("x = 1; y = 2\n", 1, id="a statement"),
]


@pytest.mark.parametrize(("text", "line"), DECLINED)
def test_declined(text: str, line: int) -> None:
    composed = compose(text, [InsertBelow(line, "f", ("x.y(1)",))])
    assert composed.text == text and composed.conflicts


INSERTED = [
    pytest.param("def f(): pass\n", 1, "def f(): pass\n\n\nx.y(1)\n", id="at the end"),
    pytest.param("def f(): pass", 1, "def f(): pass\n\n\nx.y(1)", id="no last line end"),
    pytest.param("@d\ndef f(): pass\n\n\na()\n", 2, "@d\ndef f(): pass\n\n\nx.y(1)\n\n\na()\n", id="two blanks below"),
    pytest.param("def f(): pass\n\na()\n", 1, "def f(): pass\n\n\nx.y(1)\n\na()\n", id="one blank below"),
    pytest.param("def f(): pass\na()\n", 1, "def f(): pass\n\n\nx.y(1)\n\n\na()\n", id="none below"),
    pytest.param(
        "def f(): pass  # c\n\n# of a\na()\n", 1, "def f(): pass  # c\n\n\nx.y(1)\n\n# of a\na()\n", id="comment"
    ),
    pytest.param("if c:\n\tdef f(): pass\n\n\ta()\n", 2, "if c:\n\tdef f(): pass\n\n\tx.y(1)\n\n\ta()\n", id="a block"),
    pytest.param("def f(): pass\r\n", 1, "def f(): pass\r\n\r\n\r\nx.y(1)\r\n", id="CRLF"),
    pytest.param("\ufeffdef f(): pass\n", 1, "\ufeffdef f(): pass\n\n\nx.y(1)\n", id="BOM"),
]


@pytest.mark.parametrize(("text", "line", "expected"), INSERTED)
def test_inserted(text: str, line: int, expected: str) -> None:
    edit = InsertBelow(line, "f", ("x.y(1)",))
    composed = compose(text, [edit])
    assert (composed.text, composed.conflicts) == (expected, ())
    assert compose(expected, [edit]).text == expected


def test_lines_that_continue_keep_their_own_indentation() -> None:
    composed = compose("if c:\n    def f(): pass\n", [InsertBelow(2, "f", ("x(", "    1,", ")"))])
    assert composed.text == "if c:\n    def f(): pass\n\n    x(\n        1,\n    )\n"
