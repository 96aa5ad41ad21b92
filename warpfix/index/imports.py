"""Which files a file imports, and what it is called itself: by a look at import lines, before anything is parsed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from warpfix.project import module_names

if TYPE_CHECKING:
    from warpfix.index.loading import Files

_IMPORT = re.compile(
    rb"(?:^|[;:])[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)|import[ \t]+([^\n#;]+))", re.M
)
_BY_CALL = re.compile(rb"import_module\(\s*['\"]([.\w]+)['\"]")


def plain(source: bytes) -> bytes:
    """The source as regular expressions over lines expect it: no byte order mark, no old Mac line ends."""
    if source.startswith(b"\xef\xbb\xbf"):
        return source[3:]
    return source if b"\n" in source else source.replace(b"\r", b"\n")


def _import_statements(source: bytes) -> Iterator[re.Match[bytes]]:
    """What ``_IMPORT.finditer`` gives, several times faster: only lines that hold the word are tried."""
    position = 0
    while (at := source.find(b"import", position)) >= 0:
        start = max(position, source.rfind(b"\n", position, at) + 1)
        end = source.find(b"\n", at)
        end = len(source) if end < 0 else end
        match = _IMPORT.search(source, start, end)
        if match is not None:
            match = _IMPORT.match(source, match.start())  # names in parentheses may go on below
        if match is None:
            position = end
        else:
            yield match
            position = match.end()


def import_lines(source: bytes) -> list[tuple[str, tuple[str, ...]]]:
    """What a file's import lines read: (module as written, names); by regular expression, so docstrings count too."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for match in _import_statements(source):
        base, listed, plain = match.groups()
        if base is not None:
            # Both names of ``a as b``: the one finds submodules, the other decorators.
            names_ = re.findall(rb"\w+|\*", re.sub(rb"#[^\n]*", b"", listed))
            found.append((base.decode("ascii", "replace"), tuple(name.decode("ascii", "replace") for name in names_)))
        else:
            for piece in plain.split(b","):
                words = piece.split()
                if words:
                    found.append((words[0].rstrip(b";").decode("ascii", "replace"), ()))
    if b"import_module" in source:
        found.extend((match.decode("ascii", "replace"), ()) for match in _BY_CALL.findall(source))
    return found


def name_modules(index: Files, lines: Mapping[str, list[tuple[str, tuple[str, ...]]]]) -> None:
    project = index.project
    tops = frozenset(base.split(".", 1)[0] for found in lines.values() for base, _ in found if not base.startswith("."))
    index._modules = {}
    aliases: list[tuple[str, str]] = []
    for number, path in enumerate(project.files):
        dotted = module_names(path, project, tops)
        if dotted:
            index._modules[path] = dotted[0]
        prefix = next((name for name in dotted if name not in index.by_module), None)
        if prefix is None:
            stem = os.path.splitext(project.relative(path))[0].replace(".", "_").replace("/", "_")
            prefix = f"<{stem}>" if f"<{stem}>" not in index.by_module else f"<{stem}_{number}>"
        index._prefixes[path] = prefix
        index.by_module[prefix] = path
        aliases.extend((name, path) for name in dotted if name != prefix)
        folder = os.path.dirname(path)
        while os.path.exists(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
        index._roots[path] = folder
    for name, path in aliases:
        index.by_module.setdefault(name, path)


def imported_by_lines(index: Files, path: str, found: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    targets: set[str] = set()
    module = index._modules.get(path)
    package: list[str] = []
    if module is not None:
        package = module.split(".")
        if os.path.basename(path) != "__init__.py":
            package = package[:-1]
    root = index._roots[path]
    for base, listed in found:
        if base.startswith("."):
            level = len(base) - len(base.lstrip("."))
            if level - 1 > len(package):
                continue
            pieces = package[: len(package) - (level - 1)]
            rest = base.lstrip(".")
            dotted = ".".join([*pieces, rest] if rest else pieces)
        else:
            dotted = base
        for candidate in (dotted, *(f"{dotted}.{name}" for name in listed)):
            target = index._beside(root, candidate) or index.by_module.get(candidate)
            if target is not None and target != path:
                targets.add(target)
        pieces = dotted.split(".")
        for end in range(1, len(pieces)):
            target = index.by_module.get(".".join(pieces[:end]))
            if target is not None and target != path:
                targets.add(target)
    own = os.path.join(os.path.dirname(path), "__init__.py")
    if own in index._prefixes and own != path:
        targets.add(own)
    return tuple(sorted(targets))
