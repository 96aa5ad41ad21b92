"""Unified diffs, applied in memory and strictly: every line of context must stand where the diff says it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warpfix.errors import WarpfixError
from warpfix.findings import KernelRename

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_REFUSED = {
    b"new file mode": "creates a file",
    b"deleted file mode": "deletes a file",
    b"rename from": "renames a file",
    b"copy from": "copies a file",
    b"GIT binary patch": "changes a binary file",
    b"Binary files": "changes a binary file",
}


@dataclass
class _FilePatch:
    name: str
    hunks: list[tuple[int, list[bytes]]] = field(default_factory=list)


@dataclass(frozen=True)
class Patched:
    """The files that a patch changes: absolute path to the bytes before and after."""

    before: Mapping[str, bytes]
    after: Mapping[str, bytes]


def apply_patch(data: bytes, folder: str, shown: str = "the patch") -> Patched:
    """Apply a unified diff (``git diff``, ``diff -u``) to the files below ``folder`` in memory.

    Names in the diff are relative to ``folder`` or to the git checkout around it, with or without ``a/`` and ``b/``.

    Raises:
        WarpfixError: It is no diff, does not apply exactly, or does more than change existing Python files.
    """
    patches = _parse(data, shown)
    if not patches:
        raise WarpfixError(f"{shown} holds no unified diff (expected what `git diff` prints)")
    before: dict[str, bytes] = {}
    after: dict[str, bytes] = {}
    for patch in patches:
        path = _locate(patch.name, folder, shown)
        if not path.endswith((".py", ".pyw")):
            raise WarpfixError(f"{shown} changes {patch.name}: only changes of Python files can be tried")
        if path not in before:
            before[path] = Path(path).read_bytes()
        after[path] = _apply(after.get(path, before[path]), patch, shown)
    changed = [path for path in after if after[path] != before[path]]
    if not changed:
        raise WarpfixError(f"{shown} changes nothing")
    return Patched({path: before[path] for path in changed}, {path: after[path] for path in changed})


def _parse(data: bytes, shown: str) -> list[_FilePatch]:
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    patches: list[_FilePatch] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        for start, words in _REFUSED.items():
            if line.startswith(start):
                raise WarpfixError(f"{shown} {words} (line {number + 1}): only changes of existing files can be tried")
        following = lines[number + 1] if number + 1 < len(lines) else b""
        if line.startswith(b"--- ") and following.startswith(b"+++ "):
            old, new = _name(line[4:]), _name(following[4:])
            if "/dev/null" in (old, new):
                words = "creates" if old == "/dev/null" else "deletes"
                raise WarpfixError(f"{shown} {words} a file: only changes of existing files can be tried")
            patches.append(_FilePatch(new))
            number += 2
        elif line.startswith(b"@@ ") and patches:
            number = _hunk(lines, number, patches[-1], shown)
        else:
            number += 1
    return patches


def _name(raw: bytes) -> str:
    # Behind a tab, diff writes the time; git quotes names with unusual characters as C strings.
    text = raw.split(b"\t")[0].strip(b"\r")
    if text.startswith(b'"') and text.endswith(b'"'):
        text = text[1:-1].decode("unicode_escape").encode("latin-1")
    return text.decode("utf-8", "surrogateescape")


def _hunk(lines: list[bytes], number: int, patch: _FilePatch, shown: str) -> int:
    match = _HUNK.match(lines[number])
    if match is None:
        raise WarpfixError(f"{shown}, line {number + 1}: not the head of a hunk")
    start = int(match[1])
    old, new = int(match[2] or 1), int(match[4] or 1)
    body: list[bytes] = []
    position = number + 1
    while (old > 0 or new > 0) and position < len(lines):
        # Mailers strip the blank of an empty line of context.
        line = lines[position] or b" "
        kind = line[:1]
        if kind not in b" +-\\":
            break
        old -= kind in b" -"
        new -= kind in b" +"
        body.append(line)
        position += 1
    if position < len(lines) and lines[position].startswith(b"\\"):
        body.append(lines[position])
        position += 1
    if old or new:
        raise WarpfixError(f"{shown}, line {number + 1}: the hunk is cut short")
    # A hunk that only adds names the line before it.
    patch.hunks.append((start - 1 if int(match[2] or 1) else start, body))
    return position


def _locate(name: str, folder: str, shown: str) -> str:
    top = next((p for p in (Path(folder), *Path(folder).parents) if (p / ".git").exists()), Path(folder))
    names = [name.split("/", 1)[1], name] if name.startswith(("a/", "b/")) else [name]
    for candidate in names:
        for base in (Path(folder), top):
            path = base / candidate
            if path.is_file():
                return str(path.absolute())
    raise WarpfixError(f"{shown} changes {name}: no such file below {folder}")


def _apply(data: bytes, patch: _FilePatch, shown: str) -> bytes:
    lines = data.split(b"\n")
    result: list[bytes] = []
    position = 0
    for start, body in patch.hunks:
        if start < position:
            raise WarpfixError(f"{shown} does not apply: its hunks for {patch.name} overlap")
        result += lines[position:start]
        position = start
        no_newline_old = no_newline_new = False
        last = b""
        for line in body:
            kind, text = line[:1], line[1:]
            if kind == b"\\":
                no_newline_old |= last in b" -"
                no_newline_new |= last in b" +"
                continue
            last = kind
            if kind in b" -":
                found = lines[position] if position < len(lines) else None
                if found != text:
                    has = "the end of the file" if found is None else repr(found.decode("utf-8", "replace"))
                    wanted = repr(text.decode("utf-8", "replace"))
                    raise WarpfixError(
                        f"{shown} does not apply: {patch.name} line {position + 1} is {has}, not {wanted}"
                    )
                position += 1
            if kind in b" +":
                result.append(text)
        if no_newline_old and not no_newline_new:
            # The last line gets the newline that it lacked; split() left nothing behind it.
            result.append(b"")
        if no_newline_new and not no_newline_old:
            position += 1  # the empty piece behind the last newline goes
    result += lines[position:]
    return b"\n".join(result)


# Renames: what a patch does not say, guessed from the definitions.


def infer_renames(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[KernelRename, ...]:
    """Definitions that moved within their file: one disappeared, one of the same name and parameters appeared.

    Where several could be meant, their bodies must be equal, too. It is a guess that costs nothing: the code that Warp
    generates for both is compared afterwards.
    """
    renames = []
    for path in sorted(after):
        old, new = _functions(before[path]), _functions(after[path])
        gone = [one for one in old if one not in new]
        come = [one for one in new if one not in old]
        for parts in (1, 2):

            def key(functions: Mapping[str, tuple[str, str]], name: str, parts: int = parts) -> tuple[str, ...]:
                return (name.rpartition(".")[2], *functions[name][:parts])

            for one in list(gone):
                same = [two for two in come if key(new, two) == key(old, one)]
                rivals = [two for two in gone if key(old, two) == key(old, one)]
                if len(same) == 1 and len(rivals) == 1:
                    renames.append(KernelRename(path, one, same[0], kernel_key(one), kernel_key(same[0])))
                    gone.remove(one)
                    come.remove(same[0])
    return tuple(renames)


def kernel_key(qualname: str) -> str:
    """Warp's key of a kernel with that qualname: ``make.<locals>.scale`` has ``make__locals__scale``."""
    return re.sub("[^0-9a-zA-Z_]+", "", qualname.replace(".", "__"))


def _functions(text: str) -> dict[str, tuple[str, str]]:
    """Qualname to (parameters, body), as text that does not depend on layout; left out where it is bound twice."""
    found: dict[str, tuple[str, str] | None] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = prefix + child.name
                body = ast.dump(ast.Module(body=child.body, type_ignores=[]))
                found[name] = None if name in found else (ast.dump(child.args), body)
                walk(child, f"{name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                walk(child, f"{prefix}{child.name}.")
            else:
                walk(child, prefix)

    walk(ast.parse(text), "")
    return {name: value for name, value in found.items() if value is not None}
