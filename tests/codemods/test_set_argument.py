"""Setting one argument of a call: where it is given, where it is not, and what is left alone."""

from __future__ import annotations

import pytest
from warpfix.codemods.compose import compose
from warpfix.codemods.set_argument import SetArgument

DECLINED = [
    pytest.param("f(a)\n", "f(b)", id="another call"),
    pytest.param("x = f(a)\n", "f(a)", id="another column"),
    pytest.param("f(*a)\n", "f(*a)", id="a star"),
    pytest.param("f(**a)\n", "f(**a)", id="two stars"),
]


@pytest.mark.parametrize(("text", "call"), DECLINED)
def test_declined(text: str, call: str) -> None:
    composed = compose(text, [SetArgument(1, 0, call, "m", 1, "[1]")])
    assert composed.text == text and composed.conflicts


CHANGED = [
    pytest.param("f()  # c\n", "f()", "f(m=[1])  # c\n", id="no arguments"),
    pytest.param("f(a)\n", "f(a)", "f(a, m=[1])\n", id="one"),
    pytest.param("f(a, None)\n", "f(a, None)", "f(a, [1])\n", id="given by position"),
    pytest.param("f(m=None, x = 2)\n", "f(m=None, x=2)", "f(m=[1], x = 2)\n", id="given by name"),
    pytest.param("f(\n    a,  # c\n)\n", "f(a)", "f(\n    a, m=[1],  # c\n)\n", id="several lines"),
    pytest.param("f(a).g(b)\n", "f(a).g(b)", "f(a).g(b, m=[1])\n", id="the outer of two calls at one place"),
    pytest.param("f(a).g(b)\n", "f(a)", "f(a, m=[1]).g(b)\n", id="the inner"),
]


@pytest.mark.parametrize(("text", "call", "expected"), CHANGED)
def test_changed(text: str, call: str, expected: str) -> None:
    composed = compose(text, [SetArgument(1, 0, call, "m", 1, "[1]")])
    assert (composed.text, composed.conflicts) == (expected, ())
