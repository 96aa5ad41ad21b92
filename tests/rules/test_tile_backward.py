"""WF703: kernels that link device code, and what their module says."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import findings_of

from warpfix.findings import Finding

KERNEL = """\
import warp as wp

TOP
@wp.kernel(ARGS)
def gemm(a: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    x = wp.tile_load(a, shape=(16, 16))
    s = wp.tile_zeros(shape=(16, 16), dtype=float)
    BODY
    wp.tile_store(c, s)
"""


def program(args: str = "enable_backward=False", body: str = "wp.tile_matmul(x, x, s)", top: str = "") -> str:
    return KERNEL.replace("TOP", top).replace("ARGS", args).replace("BODY", body)


def found(tmp_path: Path, source: str) -> list[Finding]:
    return findings_of(tmp_path, {"app.py": source}, select=("WF703",))


SILENT = [
    pytest.param(program(""), id="backward is on"),
    pytest.param(program("enable_backward=True"), id="on, in words"),
    pytest.param(program("enable_backward=FLAG"), id="by a name"),
    pytest.param(program(body="s = wp.tile_map(wp.sin, x)"), id="tiles without links"),
    pytest.param(program(body="other.tile_matmul(x, x, s)"), id="another library"),
    pytest.param(program(body="s = wp.tile_reduce(wp.add, x)"), id="a reduction"),
    pytest.param(program(top='wp.set_module_options({"enable_backward": False})'), id="the module says it"),
    pytest.param(program(top='wp.set_module_options({"enable_mathdx_gemm": False})'), id="nothing is linked"),
    pytest.param(program(top="wp.config.enable_backward = False"), id="the configuration says it"),
    pytest.param(program(top="wp.set_module_options(OPTIONS)"), id="options that can't be read"),
    pytest.param(program('enable_backward=False, module="tiles"'), id="a named module"),
    pytest.param(
        program('enable_backward=False, module="unique", module_options={"enable_backward": False}'),
        id="its own options",
    ),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


REPORTED = [
    pytest.param(program(), "set_module_options", id="a product"),
    pytest.param(program(body="s = wp.tile_cholesky(x)"), "set_module_options", id="a factorisation"),
    pytest.param(program(body="if a[0, 0] > 0.0:\n        wp.tile_matmul(x, x, s)"), "set_module", id="in a block"),
    pytest.param(program('enable_backward=False, module="unique"'), "module_options=", id="a unique kernel"),
    pytest.param(program(top='wp.set_module_options({"fast_math": True})'), "set_module_options", id="another option"),
]


@pytest.mark.parametrize(("source", "advice"), REPORTED)
def test_reported(tmp_path: Path, source: str, advice: str) -> None:
    (finding,) = found(tmp_path, source)
    assert advice in finding.advice
    assert finding.kernel == "gemm" and finding.fix is None
