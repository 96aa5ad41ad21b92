"""Digests of the code that Warp generated, per kernel, from the saved copies of its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from warpfix.verify.code import KernelCode, kernel_code

_HASH = re.compile(r"^(?P<key>.+)_(?P<hash>[0-9a-f]{8})$")


def digests(paths: Iterable[str]) -> Mapping[tuple[str, str], KernelCode]:
    """(kernel key, first eight characters of its hash) to the digests of its code; the hash may be empty."""
    found: dict[tuple[str, str], KernelCode] = {}
    for path in paths:
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for name, code in _kernel_code(text).items():
            match = _HASH.match(name)
            found[(match["key"], match["hash"]) if match else (name, "")] = code
    return found


@lru_cache(maxsize=256)
def _kernel_code(text: str) -> Mapping[str, KernelCode]:
    """Both arms of a comparison, and cold and warm runs, meet the same sources again."""
    return kernel_code(text)
