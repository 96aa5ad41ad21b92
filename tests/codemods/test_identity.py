"""Kernels that something tells apart: made once in place of at every call, they would be one object where many were."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER, edit, make_project

KERNEL = "    @wp.kernel\n    def k(v: wp.array(dtype=float)):\n        v[0] = 1.0\n\n"
TABLE = "SEEN = set()\nCOUNT = {}\nLAST = None\nALL = []\n\n\n"


def function(end: str, rest: str = "") -> str:
    return HEADER + TABLE + "def run(v):\n" + KERNEL + "".join(f"    {line}\n" for line in end.split("\n")) + rest


HELPER = "\n\ndef note(kernel, weight=1):\n    BODY\n"
CALLER = "\n\ndef main(v):\n    BODY\n"

APART = [
    pytest.param(function("SEEN.add(k)"), id="put into a set"),
    pytest.param(function("COUNT[k] = 1"), id="a key"),
    pytest.param(function("return {k: 1}"), id="a key of a new dict"),
    pytest.param(function("COUNT.setdefault(k, 0)"), id="setdefault"),
    pytest.param(function("return {k, None}"), id="a set"),
    pytest.param(function("SEEN.add((k, 1))"), id="in a tuple"),
    pytest.param(function("if k not in ALL:\n    ALL.append(k)"), id="looked for in a list"),
    pytest.param(function("other = k\nSEEN.add(other)"), id="under another name"),
    pytest.param(function("note(k)", HELPER.replace("BODY", "SEEN.add(kernel)")), id="by a helper"),
    pytest.param(function("note(weight=2, kernel=k)", HELPER.replace("BODY", "COUNT[kernel] = weight")), id="by name"),
    pytest.param(function("return k", CALLER.replace("BODY", "SEEN.add(run(v))")), id="by a caller"),
    pytest.param(function("return k", CALLER.replace("BODY", "a = run(v)\n    return {a: 1}")), id="by its alias"),
    pytest.param(function("return k, 1", CALLER.replace("BODY", "a, n = run(v)\n    COUNT[a] = n")), id="of a pair"),
    pytest.param(function("return k", CALLER.replace("BODY", "return run(v) is LAST")), id="is"),
    pytest.param(function("print(k)"), id="printed"),
    pytest.param(function("return f'{k}'"), id="in a string"),
]


@pytest.mark.parametrize("source", APART)
def test_left(tmp_path: Path, source: str) -> None:
    result = edit(make_project(tmp_path / "p", {"mod.py": source}))
    assert result.texts == {}
    assert any("tells one kernel object from another" in r or "compared" in r for r in result.reasons())


NOT_APART = [
    pytest.param(function("ALL.append(k)"), id="put into a list"),
    pytest.param(function("COUNT['k'] = k"), id="a value"),
    pytest.param(function("return {'k': k}"), id="a value of a new dict"),
    pytest.param(function("ALL[0](k)"), id="given to what a list holds"),
    pytest.param(function("note(k)", HELPER.replace("BODY", "ALL.append(kernel)")), id="a helper that keeps it"),
    pytest.param(function("return k", CALLER.replace("BODY", "SEEN.add(v)\n    return run(v)")), id="something else"),
    pytest.param(function("wp.launch(k, dim=1, inputs=[v])\nSEEN.add(v)"), id="launched"),
]


@pytest.mark.parametrize("source", NOT_APART)
def test_moved(tmp_path: Path, source: str) -> None:
    result = edit(make_project(tmp_path / "p", {"mod.py": source}))
    assert list(result.texts) == ["mod.py"], result.reasons()


def test_the_key_of_a_function_that_would_move_along(tmp_path: Path) -> None:
    source = HEADER + (
        "def run(v):\n    @wp.func\n    def f(x: float):\n        return x + 1.0\n\n    print(f.key)\n\n"
        "    @wp.kernel\n    def k(v: wp.array(dtype=float)):\n        v[0] = f(v[0])\n\n    return k\n"
    )
    result = edit(make_project(tmp_path / "p", {"mod.py": source}))
    assert result.texts == {}
    assert any("reads `f.key`" in reason for reason in result.reasons())
