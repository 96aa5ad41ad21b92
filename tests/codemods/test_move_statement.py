"""Moving a statement: what is declined, what moves along, and that every other line keeps its bytes."""

from __future__ import annotations

from collections import Counter

import pytest
from warpfix.codemods.compose import compose
from warpfix.codemods.move_statement import MoveStatement


def moved(text: str, line: int, before: int, noqa: tuple[int, ...] = ()) -> str:
    composed = compose(text, [MoveStatement(line, before, noqa)])
    assert composed.conflicts == ()
    return composed.text


DECLINED = [
    pytest.param("a()\nb()\n", 1, 2, "not above", id="downwards"),
    pytest.param("a()\nb()\n", 2, 2, "not above", id="to itself"),
    pytest.param("a()\nif x:\n    b()\n", 3, 1, "one block", id="out of its block"),
    pytest.param("if x:\n    a()\nb()\n", 3, 2, "one block", id="into another block"),
    pytest.param("a()\nx = 1; b()\n", 2, 1, "shares its line", id="the statement shares its line"),
    pytest.param("a(); x = 1\nb()\n", 2, 1, "shares its line", id="the target shares its line"),
    pytest.param("a()\n\nb()\n", 2, 1, "no statement", id="a blank line"),
    pytest.param("a()\nb(\n  1)\n", 3, 1, "no statement", id="the middle of a statement"),
]


@pytest.mark.parametrize(("text", "line", "before", "reason"), DECLINED)
def test_declined(text: str, line: int, before: int, reason: str) -> None:
    composed = compose(text, [MoveStatement(line, before)])
    assert composed.text == text
    assert reason in composed.conflicts[0].reason


MOVED = [
    pytest.param("a()\nb()\n", 2, 1, "b()\na()\n", id="one line"),
    pytest.param("a()\nb()", 2, 1, "b()\na()\n", id="no line end at the end of the file"),
    pytest.param("a()\nb(\n  1,\n)\nc()\n", 2, 1, "b(\n  1,\n)\na()\nc()\n", id="several lines"),
    pytest.param("a()\n# why\nb()  # now\n", 3, 1, "# why\nb()  # now\na()\n", id="comments above and behind"),
    pytest.param("# of a\na()\nb()\n", 3, 2, "b()\n# of a\na()\n", id="above the comment of the target"),
    pytest.param("a()\n\nb()\n\nc()\n", 3, 1, "b()\n\na()\n\nc()\n", id="a blank line goes along"),
    pytest.param("a()\nb()\n\nc()\n", 2, 1, "b()\na()\n\nc()\n", id="a blank line below alone stays"),
    pytest.param("a()\n# banner\n\nb()\n", 4, 1, "b()\na()\n# banner\n\n", id="a comment that stands apart stays"),
    pytest.param("a()\n# fmt: off\nb()\n", 3, 1, "b()\na()\n# fmt: off\n", id="a pragma stays"),
    pytest.param("a()\r\nb()\r\n", 2, 1, "b()\r\na()\r\n", id="CRLF"),
    pytest.param("a()\r\nb()", 2, 1, "b()\r\na()\r\n", id="CRLF without the last one"),
    pytest.param("\ufeffx = 1\na()\nb()\n", 3, 2, "\ufeffx = 1\nb()\na()\n", id="BOM"),
    pytest.param("\fa()\nb()\n", 2, 1, "b()\n\fa()\n", id="form feed"),
    pytest.param("if x:\n\ta()\n\tb()\n", 3, 2, "if x:\n\tb()\n\ta()\n", id="tabs"),
    pytest.param(
        "try:\n    pass\nfinally:\n    a()\n    b()\n",
        5,
        4,
        "try:\n    pass\nfinally:\n    b()\n    a()\n",
        id="in finally",
    ),
    pytest.param(
        "#!/usr/bin/env python\na()\nb()\n", 3, 2, "#!/usr/bin/env python\nb()\na()\n", id="shebang stays on top"
    ),
    pytest.param(
        "# coding: latin-1\na()\nb()\n", 3, 2, "# coding: latin-1\nb()\na()\n", id="the coding cookie stays on top"
    ),
    pytest.param("@d\ndef f(): pass\na()\n", 3, 1, "a()\n@d\ndef f(): pass\n", id="above a decorated definition"),
    pytest.param('a()\nb("""\n  x\n""")\n', 2, 1, 'b("""\n  x\n""")\na()\n', id="a string of several lines"),
    pytest.param(
        "a()\nb('ä', '\u2028')\n",
        2,
        1,
        "b('ä', '\u2028')\na()\n",
        id="other characters, and one that only looks like a line end",
    ),
]


@pytest.mark.parametrize(("text", "line", "before", "expected"), MOVED)
def test_moved(text: str, line: int, before: int, expected: str) -> None:
    result = moved(text, line, before)
    assert result == expected
    ends = ("\r\n", "\n")
    count = [
        Counter(part.rstrip("\r\n") for part in value.split(ends[0] if "\r" in value else ends[1]))
        for value in (text, result)
    ]
    for counter in count:
        counter.pop("", None)
    assert count[0] == count[1]


def test_noqa_is_added_once() -> None:
    text = "import a\nimport b  # noqa\nimport c  # why\nfrom d import (\n    e,\n)\nx()\n"
    assert moved(text, 7, 1, (1, 2, 3, 4)) == (
        "x()\nimport a  # noqa: E402\nimport b  # noqa\nimport c  # why  # noqa: E402\nfrom d import (  # noqa: E402\n    e,\n)\n"
    )
