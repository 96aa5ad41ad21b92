"""Digests of each kernel's code, from the saved copies of what Warp generated and of the binaries made from it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from warpfix.generated.code import KernelCode, kernel_code
from warpfix.generated.cubin import NotACubin, cubin_code
from warpfix.generated.ptx import ptx_code

_HASH = re.compile(r"^(?P<key>.+)_(?P<hash>[0-9a-f]{8})$")


def digests(paths: Iterable[str]) -> Mapping[tuple[str, str], KernelCode]:
    """(kernel key, first eight characters of its hash) to the digests of its code; the hash may be empty."""
    found: dict[tuple[str, str], KernelCode] = {}
    for path in paths:
        if path.endswith(BINARIES):
            continue
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for name, code in _kernel_code(text).items():
            found[_key(name)] = code
    return found


def machine_digests(paths: Iterable[str]) -> Mapping[tuple[str, str], Mapping[str, str]]:
    """The same keys to the digests of machine code (of PTX, where a build ends in that): forward, backward."""
    found: dict[tuple[str, str], Mapping[str, str]] = {}
    for path in paths:
        if not path.endswith(BINARIES):
            continue
        try:
            kernels = _machine_code(Path(path).read_bytes())
        except (OSError, NotACubin):
            continue
        found.update((_key(name), entries) for name, entries in kernels.items())
    return found


BINARIES = (".cubin", ".ptx")


def _key(name: str) -> tuple[str, str]:
    match = _HASH.match(name)
    return (match["key"], match["hash"]) if match else (name, "")


_known: dict[bytes, Mapping[str, Mapping[str, str]]] = {}
"""SHA-256 of binaries that were read to their digests: binaries are large, and runs meet the same ones again."""


def _machine_code(data: bytes) -> Mapping[str, Mapping[str, str]]:
    name = hashlib.sha256(data).digest()
    if name not in _known:
        is_elf = data.startswith(b"\x7fELF")
        _known[name] = cubin_code(data) if is_elf else ptx_code(data.decode("utf-8", "replace"))
    return _known[name]


@lru_cache(maxsize=256)
def _kernel_code(text: str) -> Mapping[str, KernelCode]:
    """Both arms of a comparison, and cold and warm runs, meet the same sources again."""
    return kernel_code(text)
