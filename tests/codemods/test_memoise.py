"""Memoising a factory: the decorator, and the import where there is none."""

from __future__ import annotations

import pytest
from warpfix.codemods.compose import compose
from warpfix.codemods.memoise import Memoise

F = "def make(n):\n    return n\n"


def edited(text: str, line: int) -> str:
    composed = compose(text, [Memoise(line, "make")])
    assert composed.conflicts == ()
    return composed.text


DECLINED = [
    pytest.param("@x\n" + F, 2, "decorated", id="decorated"),
    pytest.param("if x:\n    def make(n):\n        return n\n", 2, "no plain function", id="in a block"),
    pytest.param("async " + F, 1, "no plain function", id="a coroutine"),
    pytest.param("functools = 1\n" + F, 2, "something else", id="the name is taken"),
    pytest.param("def functools(): pass\n" + F, 2, "something else", id="taken by a function"),
    pytest.param(F + "import functools\n", 1, "something else", id="imported only below"),
    pytest.param("import functools\nfunctools = None\n" + F, 3, "something else", id="bound again"),
    pytest.param(F, 2, "no definition", id="no definition there"),
]


@pytest.mark.parametrize(("text", "line", "reason"), DECLINED)
def test_declined(text: str, line: int, reason: str) -> None:
    composed = compose(text, [Memoise(line, "make")])
    assert composed.text == text
    assert reason in composed.conflicts[0].reason


CACHED = "@functools.cache\n" + F
EDITED = [
    pytest.param("import functools\n" + F, "import functools\n" + CACHED, id="imported"),
    pytest.param("import functools as ft\n" + F, "import functools as ft\n@ft.cache\n" + F, id="under another name"),
    pytest.param("from functools import cache\n" + F, "from functools import cache\n@cache\n" + F, id="cache itself"),
    pytest.param(
        "from functools import cache\ncache = {}\n" + F,
        "import functools\nfrom functools import cache\ncache = {}\n" + CACHED,
        id="cache is another thing further down",
    ),
    pytest.param(
        "from functools import partial\n" + F, "import functools\nfrom functools import partial\n" + CACHED, id="else"
    ),
    pytest.param("import warp\n\n" + F, "import functools\n\nimport warp\n\n" + CACHED, id="a group of its own"),
    pytest.param(
        "import ast\nimport os\n" + F, "import ast\nimport functools\nimport os\n" + CACHED, id="in its place"
    ),
    pytest.param("\ufeffimport warp\n" + F, "\ufeffimport functools\n\nimport warp\n" + CACHED, id="BOM"),
    pytest.param("# license\nimport warp\n" + F, "# license\nimport functools\n\nimport warp\n" + CACHED, id="header"),
    pytest.param("import ast\n" + F, "import ast\nimport functools\n" + CACHED, id="at the end of the group"),
    pytest.param(
        '"""Doc."""\nfrom __future__ import annotations\n\nimport os\n' + F,
        '"""Doc."""\nfrom __future__ import annotations\n\nimport functools\nimport os\n' + CACHED,
        id="below the future",
    ),
    pytest.param("# about make\n" + F, "import functools\n\n# about make\n" + CACHED, id="no import at all"),
    pytest.param(
        "import os\r\ndef make(n):\r\n    return n\r\n",
        "import functools\r\nimport os\r\n@functools.cache\r\ndef make(n):\r\n    return n\r\n",
        id="CRLF",
    ),
]


@pytest.mark.parametrize(("text", "expected"), EDITED)
def test_edited(text: str, expected: str) -> None:
    line = next(number for number, content in enumerate(text.split("\n"), 1) if content.startswith("def make"))
    assert edited(text, line) == expected
