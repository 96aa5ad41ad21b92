"""WF702: nests of loops whose product is large, and those that Warp does not unroll."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import findings_of

from warpfix.findings import Finding

HEAD = "import warp as wp\n\nN = 12\nM = wp.constant(10)\n\n"


def kernel(*lines: str, decorator: str = "@wp.kernel") -> str:
    head = f"{decorator}\ndef k(x: wp.array(dtype=float), n: int):\n    s = float(0.0)\n"
    return head + "".join(f"    {line}\n" for line in lines)


def nest(outer: str, inner: str, body: str = "s += x[0]") -> tuple[str, ...]:
    return (f"for i in {outer}:", f"    for j in {inner}:", f"        {body}")


def found(tmp_path: Path, source: str, warp_min: str = "1.19") -> list[Finding]:
    return findings_of(tmp_path, {"app.py": HEAD + source}, select=("WF702",), warp_min=warp_min)


SILENT = [
    pytest.param(kernel("for i in range(16):", "    s += x[i]"), id="one loop"),
    pytest.param(kernel(*nest("range(9)", "range(9)")), id="a small product"),
    pytest.param(kernel(*nest("range(17)", "range(17)")), id="too long to be unrolled"),
    pytest.param(kernel(*nest("range(100)", "range(12)")), id="only the inner one"),
    pytest.param(kernel(*nest("range(12)", "range(n)")), id="a length that is not known"),
    pytest.param(kernel(*nest("range(n)", "range(12)")), id="an outer length that is not known"),
    pytest.param(kernel(*nest("range(12)", "range(12)", "break")), id="a break"),
    pytest.param(
        kernel("for i in range(12):", "    s += x[i]", "for j in range(12):", "    s += x[j]"), id="one after the other"
    ),
    pytest.param("wp.set_module_options({'max_unroll': 4})\n" + kernel(*nest("range(12)", "range(12)")), id="limited"),
    pytest.param("wp.config.max_unroll = 0\n" + kernel(*nest("range(12)", "range(12)")), id="switched off"),
    pytest.param("wp.set_module_options({'max_unroll': X})\n" + kernel(*nest("range(12)", "range(12)")), id="unknown"),
    pytest.param(kernel(*nest("range(12)", "range(12)"), decorator="@other.kernel"), id="another library"),
    pytest.param(kernel(*nest("range(12)", "range(12)"), decorator="@cached"), id="plain Python"),
    pytest.param(kernel(*nest("other(12)", "other(12)")), id="another range"),
    pytest.param(
        kernel(*nest("range(12)", "range(12)"), decorator="@wp.kernel(module='unique', module_options=OPTIONS)"),
        id="options of its own",
    ),
    pytest.param(kernel("while n > 0:", "    for i in range(12):", "        s += x[i]"), id="a while"),
    pytest.param(kernel(*nest("range(1)", "range(16)")), id="one turn is no loop"),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


REPORTED = [
    pytest.param(kernel(*nest("range(12)", "range(12)")), 144, 9, id="twelve by twelve"),
    pytest.param(kernel(*nest("range(N)", "range(M)")), 120, 9, id="constants"),
    pytest.param(kernel(*nest("range(0, 16)", "range(-4, 12, 2)")), 128, 9, id="start and step"),
    pytest.param(kernel(*nest("range(wp.static(N))", "range(12)")), 144, 9, id="wp.static"),
    pytest.param(kernel(*nest("range(12)", "range(12)"), decorator="@wp.func"), 144, 9, id="a function"),
    pytest.param(
        kernel("for i in range(n):", *(f"    {line}" for line in nest("range(12)", "range(12)"))),
        144,
        10,
        id="in a loop that stays",
    ),
    pytest.param(
        kernel("if n > 0:", *(f"    {line}" for line in nest("range(12)", "range(12)"))), 144, 10, id="in a block"
    ),
    pytest.param(
        kernel("for i in range(6):", "    if i < n:", *(f"        {line}" for line in nest("range(6)", "range(6)"))),
        216,
        9,
        id="three deep, with a condition",
    ),
    pytest.param(
        "wp.set_module_options({'max_unroll': 32})\n" + kernel(*nest("range(20)", "range(20)")),
        400,
        10,
        id="a higher limit",
    ),
]


@pytest.mark.parametrize(("source", "copies", "line"), REPORTED)
def test_reported(tmp_path: Path, source: str, copies: int, line: int) -> None:
    (finding,) = found(tmp_path, source)
    assert (finding.data["copies"], finding.line) == (copies, line)
    assert f"{copies} copies" in finding.message and finding.fix is None


def test_loops_with_continue_are_unrolled_from_119_on(tmp_path: Path) -> None:
    source = kernel(*nest("range(12)", "range(12)", "continue"))
    assert found(tmp_path / "old", source, "1.18") == []
    assert len(found(tmp_path / "new", source, "1.19")) == 1
