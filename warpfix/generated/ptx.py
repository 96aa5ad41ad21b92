"""Normal form of PTX, which is text: one digest for each kernel entry.

As in ``code``: an entry, and every function and variable that it reaches, in order of first use; without comments,
line numbers and debug sections, and with the names of what the file itself defines replaced by numbers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from warpfix.generated.cubin import ENTRY

_TOKEN = re.compile(
    r"""
      (?P<skip>  \s+ | //[^\n]* | /\*.*?\*/ | \.(?:file|loc)\b[^\n]* )
    | (?P<head>  ^\.(?:version|target|address_size)\b[^\n]* )
    | (?P<text>  "(?:\\.|[^"\\\n])*" )
    | (?P<name>  [A-Za-z_$%.][\w$%.]* )
    | (?P<number> \d[\w.]* )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# Numbers of functions within the file, in names that belong to one function.
_LOCAL = re.compile(r"(__local_depot|\$L__BB)\d+")
_DEBUG_LABEL = re.compile(r"\$L__(?:tmp|func_)")
_PARAMETER = re.compile(r"(.+)(_param_\d+)\Z")


def ptx_code(text: str) -> dict[str, dict[str, str]]:
    """Digest every kernel entry of a PTX file.

    Args:
        text: What NVRTC wrote.

    Returns:
        Warp's mangled kernel name to ``forward`` and ``backward``, each to a digest.
    """
    head: list[str] = []
    items: dict[str, list[str]] = {}
    for name, tokens in _items(_tokens(text, head)):
        # A declaration says nothing where there is a definition.
        if name not in items or "{" in tokens:
            items[name] = tokens
    found: dict[str, dict[str, str]] = {}
    for name in items:
        match = ENTRY.match(name)
        if match:
            form = "\n".join([*head, *_normal_form(name, items)])
            digest = hashlib.sha256(form.encode()).hexdigest()[:32]
            found.setdefault(match["kernel"], {})[match["part"]] = digest
    return found


def _tokens(text: str, head: list[str]) -> Iterable[str]:
    for match in _TOKEN.finditer(text.rstrip("\0")):
        if match.lastgroup == "head":
            head.append(" ".join(match.group().split()))
        elif match.lastgroup != "skip":
            yield match.group()


def _items(tokens: Iterable[str]) -> Iterable[tuple[str, list[str]]]:
    """What stands at the top level: (name, tokens)."""
    item: list[str] = []
    depth = 0
    for token in tokens:
        item.append(token)
        depth += token in ("{", "(")
        depth -= token in ("}", ")")
        is_function = ".func" in item[:4] or ".entry" in item[:4] or item[0] == ".section"
        if depth == 0 and (token == ";" or (token == "}" and is_function)):
            name = _name(item)
            if name:
                yield name, item
            item = []


def _name(item: list[str]) -> str:
    if item[0] == ".section":
        return ""
    depth = 0
    for token in item:
        depth += token == "("
        depth -= token == ")"
        if depth == 0 and (token[0].isalpha() or token[0] in "_$"):
            return token
    return ""


def _normal_form(root: str, items: dict[str, list[str]]) -> list[str]:
    renamed = {root: "@0"}
    queue = [root]
    lines = []
    for name in queue:
        out = []
        for token in items[name]:
            if token in items:
                if token not in renamed:
                    renamed[token] = f"@{len(renamed)}"
                    queue.append(token)
                out.append(renamed[token])
                continue
            parameter = _PARAMETER.match(token)
            if parameter and parameter[1] in renamed:
                out.append(renamed[parameter[1]] + parameter[2])
            else:
                out.append(_LOCAL.sub(r"\1", token))
        lines.append(" ".join(token for token in _without_debug_labels(out)))
    return lines


def _without_debug_labels(tokens: list[str]) -> list[str]:
    kept: list[str] = []
    for token in tokens:
        if token == ":" and kept and _DEBUG_LABEL.match(kept[-1]):
            kept.pop()
        else:
            kept.append(token)
    return kept
