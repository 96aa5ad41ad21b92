"""The rim between bytes on disk and text in memory: what was read is what is written, but for the edit.

Reading keeps the byte order mark, the encoding (PEP 263), every line end and a missing last one. Writing is atomic for
each file and all-or-none for several: a temporary file beside the target, flushed to disk, then renamed over it.
"""

from __future__ import annotations

import codecs
import contextlib
import difflib
import hashlib
import io
import json
import os
import stat
import tempfile
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpfix.errors import WarpfixError

FOLDER = ".warpfix"
"""Name of the folder at a project's root that holds the lock and the record of the last write; git ignores it."""


class CannotWrite(WarpfixError):
    """A file can't be written as planned; nothing was written."""


@dataclass(frozen=True)
class SourceFile:
    """One file as it was read. ``text`` has no byte order mark and its own line ends."""

    path: str
    data: bytes
    text: str
    encoding: str
    """Codec name; ``bom`` says whether a UTF-8 byte order mark stands before the text."""
    bom: bool

    def encode(self, text: str) -> bytes:
        """The bytes of a new text in this file's encoding.

        Raises:
            CannotWrite: the encoding has no place for a character of it.
        """
        try:
            data = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise CannotWrite(f"{self.path}: {self.encoding} can't hold {error.object[error.start]!r}") from error
        return codecs.BOM_UTF8 + data if self.bom else data


@dataclass(frozen=True)
class Change:
    """New bytes for a file, and those that they were planned from."""

    path: str
    before: bytes
    after: bytes


def read_source(path: str) -> SourceFile:
    """Read a Python file.

    Raises:
        OSError: it can't be read.
        SyntaxError: its encoding is unknown, or contradicts its byte order mark.
        UnicodeDecodeError: its bytes are not of that encoding.
    """
    data = Path(path).read_bytes()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    bom = data.startswith(codecs.BOM_UTF8)
    if encoding == "utf-8-sig":
        encoding = "utf-8"
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    source = SourceFile(path, data, body.decode(encoding), encoding, bom)
    if source.encode(source.text) != data:
        raise CannotWrite(f"{path}: {encoding} does not give its bytes back")
    return source


def changes(sources: Mapping[str, SourceFile], texts: Mapping[str, str]) -> list[Change]:
    """The changes that give each path its new text; files whose text stays are left out.

    Raises:
        CannotWrite: an encoding has no place for the new text.
    """
    found = []
    for path in sorted(texts):
        source = sources[path]
        if texts[path] != source.text:
            found.append(Change(path, source.data, source.encode(texts[path])))
    return found


def unified_diff(planned: Iterable[Change], root: str) -> bytes:
    """One unified diff, with paths relative to ``root``, that ``git apply`` accepts there.

    It is built from bytes, so that any encoding, line end and a missing last line end come through.
    """
    pieces: list[str] = []
    for change in planned:
        name = os.path.relpath(change.path, root).replace(os.sep, "/")
        before, after = _lines(change.before), _lines(change.after)
        old, new = _quoted(f"a/{name}"), _quoted(f"b/{name}")
        for line in difflib.unified_diff(before, after, old, new, lineterm="\n"):
            pieces.append(line)
            if not line.endswith("\n"):
                pieces.append("\n\\ No newline at end of file\n")
    return "".join(pieces).encode("latin-1")


def _lines(data: bytes) -> list[str]:
    # Latin-1 maps each byte to one character and back; git ends lines at line feeds only.
    text = data.decode("latin-1")
    return [line + "\n" for line in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if text[-1:] not in ("", "\n") else []
    )


def _quoted(name: str) -> str:
    """A path as git writes it in a diff's header, as Latin-1 characters that stand for UTF-8 bytes."""
    raw = name.encode("utf-8").decode("latin-1")
    if any(character in '"\\' or ord(character) < 32 for character in raw):
        escaped = raw.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
        return f'"{escaped}"'
    return raw + "\t" if " " in raw else raw


def write_all(planned: Sequence[Change], root: str) -> None:
    """Write every change, or none. One writer per project at a time.

    Args:
        planned: The changes; each is refused if its file is no longer what it was planned from.
        root: The project's folder. Files outside of it, also behind a link, are refused.

    Raises:
        CannotWrite: nothing was written; the message says which file and why.
    """
    if not planned:
        return
    with project_lock(root):
        targets = [_target(change, root) for change in planned]
        done: list[tuple[str, Change]] = []
        try:
            for target, change in zip(targets, planned, strict=True):
                _replace(target, change.after)
                done.append((target, change))
        except OSError as error:
            for target, change in reversed(done):
                _replace(target, change.before)
            raise CannotWrite(f"{error.filename or ''}: {error.strerror or error}; nothing was changed") from error
        _record(planned, root)


def _target(change: Change, root: str) -> str:
    """The resolved path to write to, after all checks."""
    target = os.path.realpath(change.path)
    top = os.path.realpath(root)
    if os.path.commonpath([top, target]) != top:
        raise CannotWrite(f"{change.path}: leads out of the project")
    try:
        status = os.stat(target)
        current = Path(target).read_bytes()
    except OSError as error:
        raise CannotWrite(f"{change.path}: {error.strerror or error}") from error
    if current != change.before:
        raise CannotWrite(f"{change.path}: changed since it was read; run again")
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
        raise CannotWrite(f"{change.path}: is read-only")
    if status.st_nlink > 1:
        raise CannotWrite(f"{change.path}: has {status.st_nlink} hard links; the others would keep the old text")
    return target


def _replace(target: str, data: bytes) -> None:
    mode = stat.S_IMODE(os.stat(target).st_mode)
    handle, temporary = tempfile.mkstemp(prefix=".warpfix-", suffix=".tmp", dir=os.path.dirname(target))
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def project_lock(root: str) -> Iterator[None]:
    """Hold the project's lock; it is the operating system's, so that it ends with the process.

    Raises:
        CannotWrite: another process holds it, or the folder can't be made.
    """
    folder = _folder(root)
    with open(os.path.join(folder, "lock"), "a+b") as stream:
        try:
            _lock(stream.fileno())
        except OSError as error:
            raise CannotWrite(f"{root}: another warpfix is writing to this project") from error
        yield


def _folder(root: str) -> str:
    folder = os.path.join(root, FOLDER)
    try:
        os.makedirs(folder, exist_ok=True)
        ignore = os.path.join(folder, ".gitignore")
        if not os.path.exists(ignore):
            Path(ignore).write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise CannotWrite(f"{folder}: {error.strerror or error}") from error
    return folder


def _lock(handle: int) -> None:
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _record(planned: Sequence[Change], root: str) -> None:
    """Keep what the last write replaced: the old bytes, and the digest that the new ones must still have."""
    folder = _folder(root)
    entries = []
    for number, change in enumerate(planned):
        name = f"before-{number}"
        Path(folder, name).write_bytes(change.before)
        entries.append(
            {
                "path": os.path.relpath(change.path, root).replace(os.sep, "/"),
                "before": name,
                "after_sha256": hashlib.sha256(change.after).hexdigest(),
            }
        )
    for stale in Path(folder).glob("before-*"):
        if stale.name not in {entry["before"] for entry in entries}:
            stale.unlink()
    Path(folder, "last-write.json").write_text(json.dumps({"version": 1, "files": entries}, indent=1), encoding="utf-8")
