"""Invariant 6: what importers find."""

from __future__ import annotations

import pytest

from warpfix.verify.interface import check_interface
from warpfix.verify.verdict import Check, Outcome

BEFORE = "import os\n\ndef f(a, b=1, *, c): ...\n\nclass C:\n    x = 1\n    def m(self): ...\n"


def check(before: str, after: str, importer: str | None = None) -> Check:
    importers = [("/p/importer.py", importer)] if importer is not None else []
    return check_interface({"/p/m.py": before}, {"/p/m.py": after}, importers)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(BEFORE, BEFORE + "\ndef g(): ...\n", id="a new name"),
        pytest.param(BEFORE, BEFORE.replace("b=1", "b=2"), id="another default"),
        pytest.param("def f(): ...\n", "@cache\ndef f() -> int:\n    'doc'\n", id="decorator, annotation, docstring"),
        pytest.param(
            "if A:\n    x = 1\nelse:\n    y = 2\n", "if A:\n    x = 1\n    z = 3\nelse:\n    y = 2\n", id="branches"
        ),
        pytest.param("try:\n    import a\nexcept E:\n    a = None\n", "a = None\n", id="try"),
        pytest.param("for i, (j, k) in x: ...\nwith a as b: ...\n", "i = j = k = b = 1\n", id="loops and with"),
        pytest.param("x: int = 1\n", "x = 1\n", id="annotated"),
        pytest.param("[y for y in x]\n", "pass\n", id="comprehension variables are no names"),
        pytest.param("def f():\n    def g(): ...\n", "def f(): ...\n", id="inner functions are no names"),
        pytest.param("if (n := f()): ...\n", "n = 1\n", id="walrus"),
        pytest.param("import a.b.c\n", "import a\n", id="dotted import binds the first part"),
        pytest.param("from m import *\n", "from m import *\n", id="star import"),
        pytest.param(
            "if A:\n    def f(a): ...\nelse:\n    def f(b): ...\n",
            "if A:\n    def f(a): ...\nelse:\n    def f(b): ...\n\ndef g(): ...\n",
            id="defined twice",
        ),
    ],
)
def test_held(before: str, after: str) -> None:
    assert check(before, after).outcome is Outcome.HELD


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param(BEFORE, BEFORE.replace("def f", "def _f"), "lost the name f", id="function"),
        pytest.param(BEFORE, BEFORE.replace("import os\n", ""), "lost the name os", id="import"),
        pytest.param(BEFORE, BEFORE.replace("    x = 1\n", ""), "lost the name C.x", id="class attribute"),
        pytest.param(BEFORE, BEFORE.replace("def m", "def n"), "lost the name C.m", id="method"),
        pytest.param("if A:\n    x = 1\n", "if A:\n    pass\n", "lost the name x", id="in a branch"),
        pytest.param("def f():\n    global g\n    g = 1\n", "def f(): ...\n", "lost the name g", id="global"),
        pytest.param(
            BEFORE,
            BEFORE.replace("(a, b=1", "(a, b"),
            "took (a, b=..., *, c), and takes (a, b, *, c)",
            id="default lost",
        ),
        pytest.param("def f(a): ...", "def f(b): ...", "took (a), and takes (b)", id="renamed parameter"),
        pytest.param("def f(a, /): ...", "def f(a): ...", "took (a, /)", id="positional only"),
        pytest.param("def f(*a, **k): ...", "def f(*a): ...", "took (*a, **k)", id="keywords"),
        pytest.param(
            "class C:\n    def m(self, a): ...", "class C:\n    def m(self): ...", "C.m", id="method parameters"
        ),
        pytest.param("__all__ = ['a']\na = 1\n", "__all__ = ['a', 'b']\na = b = 1\n", "__all__", id="__all__"),
        pytest.param("def f(): ...", "f = 1", "takes (no call)", id="no function any more"),
    ],
)
def test_broken(before: str, after: str, words: str) -> None:
    found = check(before, after)
    assert found.outcome is Outcome.BROKEN and words in found.message


@pytest.mark.parametrize(
    ("after", "importer", "outcome"),
    [
        pytest.param("scale = 1\n", "from m import *\nscale = 2\n", Outcome.BROKEN, id="binds it"),
        pytest.param("scale = 1\n", "from p.m import *\nprint(scale)\n", Outcome.BROKEN, id="uses it"),
        pytest.param("scale = 1\n", "from .m import *\ndef scale(): ...\n", Outcome.BROKEN, id="defines it"),
        pytest.param("scale = 1\n", "from .m import *\nimport scale\n", Outcome.BROKEN, id="imports it"),
        pytest.param("sum = 1\n", "from .m import *\n", Outcome.BROKEN, id="a builtin"),
        pytest.param("scale = 1\n", "from .m import *\nprint(x)\n", Outcome.HELD, id="no use of it"),
        pytest.param("_scale = 1\n", "from .m import *\n_scale = 2\n", Outcome.HELD, id="underscored"),
        pytest.param("__all__ = []\nscale = 1\n", "from m import *\nscale = 2\n", Outcome.BROKEN, id="a new __all__"),
        pytest.param("scale = 1\n", "from other import *\nscale = 2\n", Outcome.HELD, id="another module"),
        pytest.param("scale = 1\n", "from m import x\nscale = 2\n", Outcome.HELD, id="no star"),
        pytest.param("scale = 1\n", "from m import *\nscale = (\n", Outcome.HELD, id="importer can't be parsed"),
    ],
)
def test_star_importers(after: str, importer: str, outcome: Outcome) -> None:
    before = "x = 1\n"
    if "__all__" in after:
        before = "__all__ = ['x']\nx = 1\n"
        after = after.replace("[]", "['x', 'scale']")
    assert check(before, before.replace("__all__ = ['x']\n", "") + after, importer).outcome is outcome
