"""Normal forms of the C++ and CUDA that Warp generates: one digest per kernel entry.

Two kernels with equal digests compile to the same code. What a digest covers: the entry, and every function and struct
of the generated file that it reaches, in the order of first use. What it leaves out: comments, ``#line``, and how the
names of the generated file's own functions and structs are spelled, because these carry Warp's key and hash of a
definition and so change when the definition moves. Names of arguments, variables and fields, constants, types, calls
of Warp's library and the order of statements all count.

The preprocessor lines at the head of a file belong to the module's options and block_dim, which are compared apart.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r"""
      (?P<skip>  \s+ | //[^\n]* | /\*.*?\*/ )
    | (?P<text>  "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
    | (?P<name>  [A-Za-z_]\w* )
    | (?P<number> \.?\d(?:[eEpP][+-]|[\w.])* )
    | (?P<hash>  \#(?:\\\n|[^\n])* )
    | (?P<other> :: | -> | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ENTRY = re.compile(r"(?P<kernel>.+?)_(?:cpu|cuda_kernel)_(?P<part>forward|backward)\Z")
# Functions end in the number of their overload; what belongs to a kernel names the target.
_OWN_NAME = re.compile(r"_\d+\Z|_cpu_|_cuda_")
_MEMBER = ("::", ".", "->")


@dataclass(frozen=True)
class KernelCode:
    """Digests of one kernel's generated code; the empty string where there is no such entry."""

    forward: str = ""
    backward: str = ""
    forward_bytes: int = field(default=0, compare=False)
    """Length of the normal form: all code that the entry reaches, without comments and layout, names shortened."""
    backward_bytes: int = field(default=0, compare=False)
    forward_functions: int = field(default=0, compare=False)
    """Functions that the entry reaches, itself among them."""
    backward_functions: int = field(default=0, compare=False)


@dataclass(frozen=True)
class _Definition:
    name: str
    tokens: tuple[str, ...]
    is_struct: bool


def kernel_code(source: str) -> dict[str, KernelCode]:
    """Digest the code of every kernel in a source that Warp generated.

    Args:
        source: Text of a ``.cpp`` or ``.cu`` file from a kernel cache, of Warp 1.7 or newer.

    Returns:
        Warp's mangled kernel name (``scale_4532749a``: the generated entry without ``_cpu_forward`` or
        ``_cuda_kernel_forward``) to the digests of its forward and backward code.
    """
    return {kernel: KernelCode(**parts) for kernel, parts in _digests(source).items()}


def _digests(source: str) -> dict[str, dict[str, Any]]:
    by_name: dict[str, list[_Definition]] = {}
    found = list(_definitions(_tokens(source)))
    structs = {definition.name for definition in found if definition.is_struct}
    for definition in found:
        # What Warp writes beside a struct under names of its own library (add, adj_atomic_add) follows from its fields.
        if _OWN_NAME.search(definition.name) or definition.name.removeprefix("adj_") in structs:
            by_name.setdefault(definition.name, []).append(definition)
    result: dict[str, dict[str, Any]] = {}
    for name in by_name:
        match = _ENTRY.match(name)
        if match is None:
            continue
        text, functions = _normal_form(name, by_name)
        part, data = match["part"], text.encode()
        parts = result.setdefault(match["kernel"], {})
        parts[part] = hashlib.sha256(data).hexdigest()[:32]
        parts[f"{part}_bytes"], parts[f"{part}_functions"] = len(data), functions
    return result


def _tokens(source: str) -> Iterable[str]:
    for match in _TOKEN.finditer(source):
        kind = match.lastgroup
        if kind == "skip" or (kind == "hash" and match.group().lstrip("# \t").startswith("line")):
            continue
        yield match.group().strip() if kind == "hash" else match.group()


def _definitions(tokens: Iterable[str]) -> Iterable[_Definition]:
    """Cut the file at its top level; the blocks of ``extern "C" { }`` count as top level."""
    part: list[str] = []
    braces = parens = 0
    for token in tokens:
        if braces == 0 and token.startswith("#"):
            continue
        if token == "{" and braces == 0 and part == ["extern", '"C"']:
            part = []
            continue
        if token == "}" and braces == 0:
            part = []
            continue
        part.append(token)
        if token == "(":
            parens += 1
        elif token == ")":
            parens -= 1
        elif token == "{":
            braces += 1
        elif token == "}":
            braces -= 1
        if braces or parens:
            continue
        if token == ";" or (token == "}" and part[0] != "struct"):
            definition = _named(part)
            if definition is not None:
                yield definition
            part = []


def _named(part: list[str]) -> _Definition | None:
    if "{" not in part:
        return None  # a declaration
    head: list[str] = []
    name = ""
    depth = 0
    for token in part:
        if token == "{" and depth == 0:
            break
        if token == "(":
            if depth == 0 and head:
                # The last group before the body: attributes such as __launch_bounds__(256) come first.
                name = head[-1]
            depth += 1
        elif token == ")":
            depth -= 1
        head.append(token)
    if part[0] == "struct":
        names = [token for token in head if token[0].isalpha() or token[0] == "_"]
        return _Definition(names[-1], tuple(part), True)
    return _Definition(name, tuple(part), False) if name else None


def _normal_form(root: str, by_name: dict[str, list[_Definition]]) -> tuple[str, int]:
    """The code that an entry reaches in its normal form, and how many functions that are."""
    renamed = {root: "@0"}
    queue = [root]
    lines: list[str] = []
    for name in queue:
        for definition in by_name[name]:
            before = ""
            out: list[str] = []
            for token in definition.tokens:
                own = token in by_name and before not in _MEMBER
                if own and token not in renamed:
                    renamed[token] = f"@{len(renamed)}"
                    queue.append(token)
                out.append(renamed[token] if own else token)
                before = token
            lines.append(" ".join(out))
    functions = sum(not definition.is_struct for name in queue for definition in by_name[name])
    return "\n".join(lines), functions
