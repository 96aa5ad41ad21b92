"""What moves along with a function: its custom gradient and replay, and snippets of plain C++."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER, check_transformed, dedent, edit, make_project

from warpfix.hoisting.follow import _is_plain

GRADIENT = """
def run(x, y):
    @wp.func
    def sq(x: float):
        return x * x

    # Three times as steep.
    @wp.func_grad(sq)
    def adj_sq(x: float, adj_ret: float):
        wp.adjoint[x] += FACTOR * x * adj_ret

    @wp.kernel
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = sq(x[0])

    wp.launch(square, dim=1, inputs=[x, y])
"""
MOVED = """\
@wp.func
def sq(x: float):
    return x * x


# Three times as steep.
@wp.func_grad(sq)
def adj_sq(x: float, adj_ret: float):
    wp.adjoint[x] += 6.0 * x * adj_ret


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[0] = sq(x[0])


def run(x, y):
    wp.launch(square, dim=1, inputs=[x, y])
"""


def gradient(factor: str = "6.0", name: str = "run") -> str:
    return GRADIENT.replace("FACTOR", factor).replace("def run", f"def {name}")


def test_a_gradient_moves_with_its_function(tmp_path: Path) -> None:
    source = HEADER.rstrip("\n") + "\n\n" + gradient()
    root = make_project(tmp_path / "p", {"mod.py": source})
    check_transformed(root, {"mod.py": HEADER + MOVED})


def test_equal_functions_with_other_gradients_stay_two(tmp_path: Path) -> None:
    source = HEADER + gradient() + "\n" + gradient("7.0", "other")
    text = edit(make_project(tmp_path / "p", {"mod.py": source})).texts["mod.py"]
    assert "@wp.func_grad(sq)\ndef adj_sq(" in text and "6.0 * x" in text
    assert "@wp.func_grad(other_sq)\ndef other_adj_sq(" in text
    assert "y[0] = other_sq(x[0])" in text


def test_equal_functions_with_equal_gradients_keep_them_apart(tmp_path: Path) -> None:
    """A gradient that is registered twice for one function would be no fault; a lost one would be."""
    source = HEADER + gradient() + "\n" + gradient(name="other")
    text = edit(make_project(tmp_path / "p", {"mod.py": source})).texts["mod.py"]
    assert text.count("@wp.func_grad(") == text.count("return x * x\n")


def test_a_replay_moves_too(tmp_path: Path) -> None:
    source = HEADER + gradient().replace("func_grad", "func_replay").replace(", adj_ret", "").replace(" * adj_ret", "")
    source = source.replace("adj_ret: float", "").replace("wp.adjoint[x] +=", "return")
    source = source.replace("(x: float: float)", "(x: float)")
    text = edit(make_project(tmp_path / "p", {"mod.py": source})).texts["mod.py"]
    assert "\n@wp.func_replay(sq)\n" in text


def test_a_gradient_that_varies_makes_its_kernel_vary(tmp_path: Path) -> None:
    source = HEADER + gradient("wp.static(n)").replace("(x, y):\n    @", "(x, y, n):\n    @", 1)
    result = edit(make_project(tmp_path / "p", {"mod.py": source}))
    assert result.texts == {}
    assert [verdict.stable for verdict in result.verdicts] == [False]


NATIVE = """
def run(v):
    @wp.func_native(SNIPPET)
    def double(y: wp.array(dtype=float), n: int): ...

    @wp.kernel
    def scale(v: wp.array(dtype=float)):
        double(v, 2)

    wp.launch(scale, dim=1, inputs=[v])
"""


@pytest.mark.parametrize(
    ("snippet", "moved"),
    [
        ('"y[n] = 2.0f * y[n];"', True),
        ('"""\n    float sum = 0.0f;\n    for (int i = 0; i < n; ++i) sum += y[i];\n    y[0] = sum;\n    """', True),
        ('snippet="y[n] = 2.0f;", adj_snippet="adj_y[n] += 1.0f;"', True),
        ('"y[threadIdx.x] = 2.0f;"', False),
        ('"__syncthreads();"', False),
        ('"atomicAdd(y, 1.0f);"', False),
        ("SNIPPETS[0]", False),
    ],
)
def test_snippets(tmp_path: Path, snippet: str, moved: bool) -> None:
    source = HEADER + dedent(NATIVE).replace("SNIPPET)", snippet + ")")
    result = edit(make_project(tmp_path / "p", {"mod.py": source}))
    assert bool(result.texts) is moved, result.reasons()
    if moved:
        assert "\n@wp.func_native(" in result.texts["mod.py"]


def test_a_snippet_in_a_variable(tmp_path: Path) -> None:
    source = HEADER + NATIVE.replace("    @wp.func_native(SN", '    code = "y[n] = 2.0f;"\n\n    @wp.func_native(SN')
    text = edit(make_project(tmp_path / "p", {"mod.py": source.replace("SNIPPET", "code")})).texts["mod.py"]
    assert '\ncode = "y[n] = 2.0f;"\n\n\n@wp.func_native(code)\ndef double' in text


@pytest.mark.parametrize(
    ("snippet", "plain"),
    [
        ("y = x * 2.0f; // threadIdx is only told of", True),
        ("const float a = x; y = a + 1e-3f;", True),
        ("#ifdef __CUDA_ARCH__\ny = x;\n#endif", False),
        ("asm(\"mov\");", False),
        ("printf(x);", False),
        ("y = x\\\n;", False),
    ],
)  # fmt: skip
def test_plain(snippet: str, plain: bool) -> None:
    assert _is_plain(snippet, {"x", "y"}) is plain
