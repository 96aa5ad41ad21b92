"""From Warp's type codes to what a file can write; with Warp at hand, the spelling has the code that it came from."""

from __future__ import annotations

import pytest

from warpfix.rules._types import spell

SPELLED = {
    "f4": "wp.float32",
    "b": "wp.bool",
    "u8": "wp.uint64",
    "v3f4": "wp.vec3f",
    "v2f2": "wp.vec2h",
    "v4u1": "wp.vec4ub",
    "v6f8": "wp.spatial_vectord",
    "v5i2": "wp.types.vector(length=5, dtype=wp.int16)",
    "v3b": "wp.types.vector(length=3, dtype=wp.bool)",
    "m33f4": "wp.mat33f",
    "m66f4": "wp.spatial_matrixf",
    "m23f4": "wp.types.matrix(shape=(2, 3), dtype=wp.float32)",
    "qf8": "wp.quatd",
    "tf4": "wp.transformf",
    "a1f4": "wp.array(dtype=wp.float32)",
    "a3v3f4": "wp.array(dtype=wp.vec3f, ndim=3)",
    "ia2i4": "wp.indexedarray(dtype=wp.int32, ndim=2)",
    "Cell_0123abcd": "Cell",
    "a1Cell_0123abcd": "wp.array(dtype=Cell)",
}
NOT_SPELLED = ["", "str", "bf2", "m1010f4", "fa1f4", "ts16f4", "Hidden_0123abcd", "a5f4", "c", "v?f4", "array(float)"]


@pytest.mark.parametrize(("code", "expected"), SPELLED.items())
def test_spelled(code: str, expected: str) -> None:
    assert spell(code, "wp", {"Cell": "Cell"}.get) == expected


@pytest.mark.parametrize("code", NOT_SPELLED)
def test_not_spelled(code: str) -> None:
    assert spell(code, "wp", {"Cell": "Cell"}.get) is None


@pytest.mark.warp
def test_against_warp() -> None:
    wp = pytest.importorskip("warp")
    from warp._src.types import get_type_code

    for code, text in SPELLED.items():
        if "Cell" not in code:
            assert get_type_code(eval(text, {"wp": wp})) == code
