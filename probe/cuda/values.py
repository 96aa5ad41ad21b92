"""What Warp passes to its native library, as plain numbers: ints, ctypes instances, byref() and None."""

import ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

CURRENT_STREAM = 0xFFFFFFFFFFFFFFFF
"""Warp's word for the context's current stream."""


def number(value):
    # type: (Any) -> int
    """The integer, handle or address that an argument stands for; 0 for None."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    inner = getattr(value, "_obj", None)
    if inner is not None:
        return ctypes.addressof(inner)
    if isinstance(value, (ctypes.Array, ctypes.Structure)):
        return ctypes.addressof(value)
    inner = getattr(value, "value", None)
    if isinstance(inner, int):
        return inner
    return ctypes.cast(value, ctypes.c_void_p).value or 0


def put(reference, value):
    # type: (Any, Any) -> None
    """Write a result where the caller wants it; nowhere for None."""
    if reference is not None:
        getattr(reference, "_obj", reference).value = value
