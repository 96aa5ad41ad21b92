"""Results of earlier scans, kept by content: a project whose every byte is as it was is not judged again.

What a result depends on is in its key: the bytes of all of the project's files, which names lie beside them, which of
them were asked for, the configuration, warpfix's own source, Python, libcst and the installed Warp. So nothing has to
be told that something changed; what nobody asks for any more goes when there is too much.

A cache must not be able to do harm: whatever is wrong with it, the scan is made as if there were none; and reading an
entry makes nothing but the plain data that is listed here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import hashlib
import importlib.metadata
import io
import os
import pickle
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from warpfix._version import __version__
from warpfix.config import Config
from warpfix.findings import Finding
from warpfix.index.model import Problem, Role
from warpfix.project import Project

_FORMAT = b"warpfix-scan-1\n"
_MOST = 256  # entries; some tens of kilobytes each
_ENDINGS = (".py", ".so", ".pyd")


@dataclass(frozen=True)
class Kept:
    """What a scan of one project found, as plain data."""

    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    roles: Mapping[str, Role]
    """The files that have to do with Warp, by path."""


def cache_folder(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path | None:
    """Where results are kept: ``WARPFIX_CACHE_DIR``, else below the user's cache folder; None if that has no place."""
    chosen = environ.get("WARPFIX_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return Path(local) / "warpfix" / "Cache" if local else None
    try:
        home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    except RuntimeError:
        return None
    if platform == "darwin":
        return home / "Library" / "Caches" / "warpfix"
    base = environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else home / ".cache") / "warpfix"


def key_of(project: Project, config: Config, sources: Mapping[str, bytes | Problem]) -> str | None:
    """The name under which the result for these sources is kept; None for what can't be told apart by its bytes.

    Args:
        project: From ``discover``.
        config: The configuration that its rules run under.
        sources: What was read of each of its files.
    """
    if project.overlay or any(isinstance(source, Problem) for source in sources.values()):
        return None
    if not any(b"warp" in source for source in sources.values() if isinstance(source, bytes)):
        return None  # judged sooner than looked up
    digest = hashlib.blake2b(digest_size=20)
    fields = (
        _environment(),
        repr(config),
        project.root,
        project.files,
        sorted(project.targets),
        sorted(project.named),
        project.editable,
        project.source_roots,
        sorted(project.entry_files),
        project.distributed,
        project.problems,
        _beside(project),
    )
    digest.update(repr(fields).encode("utf-8", "surrogateescape"))
    for path in project.files:
        source = sources.get(path, b"")
        assert isinstance(source, bytes)
        digest.update(b"%d\n" % len(source))
        digest.update(source)
    return digest.hexdigest()


@cache
def _environment() -> tuple[str, ...]:
    """What judges: warpfix to the byte of its source, Python, and the packages whose version decides something."""
    return (__version__, _own_source(), sys.version, _version("libcst"), _version("warp-lang"))


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _own_source() -> str:
    import warpfix
    from warpfix import codemods

    digest = hashlib.blake2b(digest_size=20)
    for root in dict.fromkeys([*warpfix.__path__, *codemods.__path__]):
        for path in sorted(Path(root).rglob("*.py")):
            with contextlib.suppress(OSError):
                digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _beside(project: Project) -> list[tuple[str, list[str]]]:
    """The names of modules and folders beside the project's files, and above them as far as packages go.

    They decide what a file is called when imported, also where they are no files of the project themselves.
    """
    found: dict[str, list[str]] = {}
    for path in project.files:
        folder = os.path.dirname(path)
        while folder not in found:
            names: list[str] = []
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                names = sorted(
                    entry.name
                    for entry in entries
                    if entry.name != "__pycache__" and (entry.name.endswith(_ENDINGS) or entry.is_dir())
                )
            found[folder] = names
            if "__init__.py" in names:
                folder = os.path.dirname(folder)
    return sorted(found.items())


def load(folder: Path | None, key: str | None) -> Kept | None:
    """The result that is kept under a key; None if there is none that can be read."""
    if folder is None or key is None:
        return None
    path = folder / key
    try:
        raw = path.read_bytes()
        if not raw.startswith(_FORMAT):
            return None
        packed = raw[len(_FORMAT) + 20 :]
        if hashlib.blake2b(packed, digest_size=20).digest() != raw[len(_FORMAT) : len(_FORMAT) + 20]:
            return None
        kept = _Reader(io.BytesIO(zlib.decompress(packed))).load()
    except Exception:  # whatever it is, the scan does not need it
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # in use: not the first to go
    return kept if isinstance(kept, Kept) else None


def store(folder: Path | None, key: str | None, kept: Kept) -> None:
    """Keep a result. Where that can't be, nothing happens; a reader never sees half of one."""
    if folder is None or key is None:
        return
    try:
        packed = zlib.compress(pickle.dumps(kept, protocol=4), 1)
        if _Reader(io.BytesIO(zlib.decompress(packed))).load() != kept:
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix="new-")
        try:
            with open(handle, "wb") as stream:
                stream.write(_FORMAT + hashlib.blake2b(packed, digest_size=20).digest() + packed)
            os.replace(temporary, folder / key)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _thin_out(folder)
    except (OSError, pickle.PickleError, TypeError, AttributeError, ValueError):
        return


def _thin_out(folder: Path) -> None:
    """Let the entries go that were not used for the longest time, where there are too many."""
    entries = list(_entries(folder))
    if len(entries) > _MOST:
        for _, path in sorted(entries)[: len(entries) - _MOST * 3 // 4]:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _entries(folder: Path) -> Iterator[tuple[float, str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another run let it go meanwhile
                if entry.is_file(follow_symlinks=False):
                    yield entry.stat().st_mtime, entry.path


class _Reader(pickle.Unpickler):
    """Makes dataclasses and enumerations of this package, and nothing else: an entry can run no code."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "builtins" and name in ("set", "frozenset"):
            return {"set": set, "frozenset": frozenset}[name]
        if module in ("warpfix.findings", "warpfix.index.model", __name__) or module.startswith("warpfix.codemods."):
            found = super().find_class(module, name)
            if isinstance(found, type) and (dataclasses.is_dataclass(found) or issubclass(found, enum.Enum)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a result")
