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
import shutil
import stat
import tempfile
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpfix.errors import WarpfixError

FOLDER = ".warpfix"
"""Name of the folder at a project's root that holds the lock and the record of the last write; git ignores it."""

_LAST = "last-write.json"
_PREFIX, _SUFFIX = ".warpfix-", ".tmp"


class CannotWrite(WarpfixError):
    """A file can't be written as planned; nothing was written."""


def private_folder(prefix: str = "warpfix-") -> Path:
    """A new temporary folder, readable by its owner only.

    Raises:
        WarpfixError: There is no place for one.
    """
    try:
        return Path(tempfile.mkdtemp(prefix=prefix))
    except OSError as error:
        reason = error.strerror or str(error)
        raise WarpfixError(f"can't make a temporary folder: {reason} (TMPDIR chooses another place)") from error


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


def check_writable(planned: Iterable[Change], root: str) -> None:
    """Refuse what could not be written, before anything is made.

    Raises:
        CannotWrite: a file has changed since it was planned, is read-only, leads out of the project, or has hard links.
    """
    for change in planned:
        _target(change, root)


def write_all(planned: Sequence[Change], root: str) -> None:
    """Write every change, or none. One writer per project at a time.

    What is replaced is kept first, so that ``undo`` can restore it whenever the process ends; an error or an interrupt
    in between restores every file. A process that is killed leaves each file old or new.

    Args:
        planned: The changes; each is refused if its file is no longer what it was planned from.
        root: The project's folder. Files outside of it, also behind a link, are refused.

    Raises:
        CannotWrite: nothing was written; the message says which file and why. Where files could not be put back, it
            says so, and ``undo`` restores them.
    """
    if not planned:
        return
    check_writable(planned, root)
    with project_lock(root) as folder:
        targets = [_target(change, root) for change in planned]
        _sweep(targets)
        record = _Record(folder)
        try:
            record.keep(planned, root)
            _replace_all(targets, planned)
        except BaseException as error:
            if not _all_as_before(targets, planned):
                # What was replaced is in the record still, and nowhere else.
                raise CannotWrite(
                    f"{error}: some files are written, and could not all be put back; `warpfix undo` restores them"
                ) from error
            record.take_back()
            if not isinstance(error, OSError):
                raise
            raise CannotWrite(f"{error.filename or ''}: {error.strerror or error}; nothing was changed") from error
        record.close()


def undo(root: str) -> list[str]:
    """Restore what the last write replaced; return the paths, or nothing where there is no write to undo.

    A file that the write did not come to, because the process was killed, is as it was and stays so.

    Raises:
        CannotWrite: nothing was changed; a file is not as the write left it, or can't be written.
    """
    if not os.path.exists(os.path.join(root, FOLDER, _LAST)):
        return []
    with project_lock(root) as folder:
        record = _Record(folder)
        planned = record.reversed(root)
        targets = [_target(change, root) for change in planned]
        _sweep(targets)
        try:
            _replace_all(targets, planned)
        except OSError as error:
            state = "nothing was changed" if _all_as_before(targets, planned) else "some files are restored: undo again"
            raise CannotWrite(f"{error.filename or ''}: {error.strerror or error}; {state}") from error
        record.forget()
    return [change.path for change in planned]


def _replace_all(targets: Sequence[str], planned: Sequence[Change]) -> None:
    """Write all; put back what was written where that does not come to its end."""
    done: list[tuple[str, Change]] = []
    try:
        for target, change in zip(targets, planned, strict=True):
            done.append((target, change))
            _replace(target, change.after)
    except BaseException:
        for target, change in reversed(done):
            # The last one may be old or new: an interrupt can come right after the rename. One that can't be put back
            # is no reason to leave the others.
            with contextlib.suppress(OSError):
                if Path(target).read_bytes() != change.before:
                    _replace(target, change.before)
        raise


def _all_as_before(targets: Sequence[str], planned: Sequence[Change]) -> bool:
    """Whether every file is what it was planned from."""
    try:
        return all(Path(target).read_bytes() == one.before for target, one in zip(targets, planned, strict=True))
    except OSError:
        return False


def _sweep(targets: Iterable[str]) -> None:
    """Remove temporary files that a killed writer left beside the targets; the lock says that none is at work."""
    for parent in {os.path.dirname(target) for target in targets}:
        for stale in Path(parent).glob(f"{_PREFIX}*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                stale.unlink()


def _target(change: Change, root: str) -> str:
    """The resolved path to write to, after all checks."""
    target = os.path.realpath(change.path)
    top = os.path.realpath(root)
    if not _is_below(target, top):
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


def _is_below(target: str, top: str) -> bool:
    try:
        return os.path.commonpath([top, target]) == top
    except ValueError:  # on two drives
        return False


def _replace(target: str, data: bytes) -> None:
    mode = stat.S_IMODE(os.stat(target).st_mode)
    _write_new(target, data, mode)


def _write_new(target: str, data: bytes, mode: int = 0o644) -> None:
    """Give a path new content at once: beside it first, on disk, then under its name."""
    handle, temporary = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=os.path.dirname(target))
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
def project_lock(root: str) -> Iterator[str]:
    """Hold the project's lock, which is the operating system's, so that it ends with the process; give the folder.

    Raises:
        CannotWrite: another process holds it, or the folder can't be made.
    """
    folder = _folder(root)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(open(os.path.join(folder, "lock"), "a+b"))
        except OSError as error:
            raise CannotWrite(f"{folder}: {error.strerror or error}") from error
        try:
            _lock(stream.fileno())
        except OSError as error:
            raise CannotWrite(f"{root}: another warpfix is writing to this project") from error
        yield folder


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


class _Record:
    """What the last write replaced, in the project's folder: a file that names the old contents, and their folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._last = os.path.join(folder, _LAST)
        self._kept = ""
        self._earlier: bytes | None = None

    def keep(self, planned: Sequence[Change], root: str) -> None:
        """Note what is about to be written, before it is."""
        with contextlib.suppress(FileNotFoundError):
            self._earlier = Path(self._last).read_bytes()
        self._kept = tempfile.mkdtemp(prefix="before-", dir=self._folder)
        entries = []
        for number, change in enumerate(planned):
            name = os.path.join(self._kept, str(number))
            Path(name).write_bytes(change.before)
            entries.append(
                {
                    "path": os.path.relpath(change.path, root).replace(os.sep, "/"),
                    "before": os.path.relpath(name, self._folder).replace(os.sep, "/"),
                    "before_sha256": _digest(change.before),
                    "after_sha256": _digest(change.after),
                }
            )
        _write_new(self._last, json.dumps({"version": 1, "files": entries}, indent=1).encode())

    def take_back(self) -> None:
        """Nothing was written: the record is what it was."""
        with contextlib.suppress(OSError):
            if self._earlier is not None:
                _write_new(self._last, self._earlier)
            else:
                os.unlink(self._last)
        shutil.rmtree(self._kept, ignore_errors=True)
        if self._earlier is None:
            self._remove_folder()

    def close(self) -> None:
        """Everything was written: what earlier writes replaced is no longer needed."""
        for stale in Path(self._folder).glob("before-*"):
            if str(stale) != self._kept:
                shutil.rmtree(stale, ignore_errors=True)

    def reversed(self, root: str) -> list[Change]:
        """The changes that restore what was there.

        Raises:
            CannotWrite: the record can't be read, or a file is neither as it was before nor as it was written.
        """
        found = []
        try:
            for entry in json.loads(Path(self._last).read_text(encoding="utf-8"))["files"]:
                path = os.path.join(root, *str(entry["path"]).split("/"))
                before = Path(self._folder, *str(entry["before"]).split("/")).read_bytes()
                if _digest(before) != entry["before_sha256"]:
                    raise CannotWrite(f"{self._folder}: what {path} was before is damaged; nothing was undone")
                try:
                    now = Path(path).read_bytes()
                except OSError as error:
                    raise CannotWrite(f"{path}: {error.strerror or error}; nothing was undone") from error
                if _digest(now) == entry["after_sha256"]:
                    found.append(Change(path, now, before))
                elif _digest(now) != entry["before_sha256"]:
                    raise CannotWrite(f"{path}: changed since warpfix wrote it; nothing was undone")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CannotWrite(f"{self._last}: can't be read: {error}; nothing was undone") from error
        return found

    def forget(self) -> None:
        """What was written last is gone again: there is nothing to undo any more."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._last)
        for stale in Path(self._folder).glob("before-*"):
            shutil.rmtree(stale, ignore_errors=True)

    def _remove_folder(self) -> None:
        """Leave nothing behind where nothing was written and nothing was there."""
        for name in (".gitignore", "lock"):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, name))
        with contextlib.suppress(OSError):
            os.rmdir(self._folder)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
