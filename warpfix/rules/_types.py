"""Warp's type codes (``a1v3f4``: an array of vec3f), and how a source file spells the types that they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable

_SCALARS = {
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
    "b": "bool",
}
# What Warp appends to vec3, mat33 and quat for these scalars.
_SUFFIXES = {
    "i1": "b",
    "i2": "s",
    "i4": "i",
    "i8": "l",
    "u1": "ub",
    "u2": "us",
    "u4": "ui",
    "u8": "ul",
    "f2": "h",
    "f4": "f",
    "f8": "d",
}
_FLOATS = ("f2", "f4", "f8")

_COMPOUND = re.compile(r"(?P<kind>[vmqt])(?P<shape>\d*)(?P<scalar>[iuf][1248]|b)")
_ARRAY = re.compile(r"(?P<kind>i?a)(?P<ndim>[1-4])(?P<dtype>.+)")
_STRUCT = re.compile(r"(?P<name>[A-Za-z_]\w*)_[0-9a-f]{8}")


def spell(code: str, warp: str, struct: Callable[[str], str | None] = lambda name: None) -> str | None:
    """An expression for a type, or None where there is no sure one.

    Args:
        code: Warp's code for the type, as its signatures hold it.
        warp: What the file calls Warp (``wp``).
        struct: From the name of a struct to what the file calls it; None where it has no name for it.
    """
    array = _ARRAY.fullmatch(code)
    if array is not None:
        dtype = _element(array["dtype"], warp, struct)
        if dtype is None:
            return None
        kind = {"a": "array", "ia": "indexedarray"}[array["kind"]]
        ndim = "" if array["ndim"] == "1" else f", ndim={array['ndim']}"
        return f"{warp}.{kind}(dtype={dtype}{ndim})"
    return _element(code, warp, struct)


def _element(code: str, warp: str, struct: Callable[[str], str | None]) -> str | None:
    if code in _SCALARS:
        return f"{warp}.{_SCALARS[code]}"
    compound = _COMPOUND.fullmatch(code)
    if compound is not None:
        return _vector(compound["kind"], compound["shape"], compound["scalar"], warp)
    named = _STRUCT.fullmatch(code)
    return None if named is None else struct(named["name"])


def _vector(kind: str, shape: str, scalar: str, warp: str) -> str | None:
    suffix = _SUFFIXES.get(scalar)
    floating = scalar in _FLOATS
    if kind == "q":
        return f"{warp}.quat{suffix}" if floating and not shape else None
    if kind == "t":
        return f"{warp}.transform{suffix}" if floating and not shape else None
    if kind == "v":
        if suffix is not None and shape in ("2", "3", "4"):
            return f"{warp}.vec{shape}{suffix}"
        if floating and shape == "6":
            return f"{warp}.spatial_vector{suffix}"
        return f"{warp}.types.vector(length={shape}, dtype={warp}.{_SCALARS[scalar]})" if shape else None
    if len(shape) != 2:
        return None  # 110 may be 1 x 10 or 11 x 0: two digits alone can be told
    if floating and shape in ("22", "33", "44"):
        return f"{warp}.mat{shape}{suffix}"
    if floating and shape == "66":
        return f"{warp}.spatial_matrix{suffix}"
    return f"{warp}.types.matrix(shape=({shape[0]}, {shape[1]}), dtype={warp}.{_SCALARS[scalar]})"
