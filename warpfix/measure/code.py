"""Digests of the code that Warp generated, per kernel, from the saved copies of its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_HASH = re.compile(r"^(?P<key>.+)_(?P<hash>[0-9a-f]{8})$")


@dataclass(frozen=True)
class Digests:
    """Normalised code of one kernel entry, as digests."""

    forward: str
    backward: str


def digests(paths: Iterable[str]) -> Mapping[tuple[str, str], Digests]:
    """(kernel key, first eight characters of its hash) to the digests of its code; the hash may be empty."""
    try:
        from warpfix.verify.code import kernel_code
    except ImportError:
        return {}
    found: dict[tuple[str, str], Digests] = {}
    for path in paths:
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for name, code in kernel_code(text).items():
            match = _HASH.match(name)
            key = (match["key"], match["hash"]) if match else (name, "")
            found[key] = Digests(code.forward, code.backward)
    return found
