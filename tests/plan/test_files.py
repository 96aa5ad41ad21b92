"""Bytes in, bytes out: what is read is what is written, but for the edit; all files or none."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warpfix import files
from warpfix.files import CannotWrite, Change, changes, project_lock, read_source, undo, unified_diff, write_all

CHECKOUT = Path(__file__).resolve().parents[2]

TEXTS = {
    "plain": b"x = 1\n",
    "empty": b"",
    "crlf": b"x = 1\r\ny = 2\r\n",
    "lone cr": b"x = 1\ry = 2\r",
    "mixed": b"x = 1\r\ny = 2\nz = 3",
    "no last newline": b"x = 1",
    "bom": b"\xef\xbb\xbfx = 1\n",
    "bom and cookie": b"\xef\xbb\xbf# coding: utf-8\nx = 1\r\n",
    "latin-1": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
    "cp1252": b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\r\n",
    "utf-8": "x = 'é𝄞\u2028'\n".encode(),
    "form feed": b"x = 1\n\x0c\ny = 2\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_round_trip(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mod.py"
    path.write_bytes(TEXTS[name])
    source = read_source(str(path))
    assert not source.text.startswith("\ufeff")
    assert source.encode(source.text) == TEXTS[name]
    assert changes({str(path): source}, {str(path): source.text}) == []


@pytest.mark.parametrize("name", TEXTS)
def test_diff_is_accepted_by_git(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "ein ordner"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    path = folder / "mod.py"
    path.write_bytes(TEXTS[name])
    source = read_source(str(path))
    new = (
        source.text + "last = 1"
        if "newline" in name
        else "first = 1" + ("\r\n" if "\r\n" in source.text else "\n") + source.text
    )
    planned = changes({str(path): source}, {str(path): new})
    (tmp_path / "x.diff").write_bytes(unified_diff(planned, str(tmp_path)))
    subprocess.run(["git", "-c", "core.autocrlf=false", "apply", "x.diff"], cwd=tmp_path, check=True)
    assert path.read_bytes() == planned[0].after


def test_encoding_that_can_t_hold_the_text(tmp_path: Path) -> None:
    path = tmp_path / "mod.py"
    path.write_bytes(TEXTS["latin-1"])
    with pytest.raises(CannotWrite, match="can't hold"):
        read_source(str(path)).encode("€")


def make(tmp_path: Path, *names: str) -> list[Change]:
    planned = []
    for name in names:
        path = tmp_path / name
        path.write_bytes(b"old\n")
        planned.append(Change(str(path), b"old\n", b"new\n"))
    return planned


def test_write(tmp_path: Path) -> None:
    planned = make(tmp_path, "a.py", "b.py")
    (tmp_path / "a.py").chmod(0o750)
    write_all(planned, str(tmp_path))
    assert (tmp_path / "a.py").read_bytes() == (tmp_path / "b.py").read_bytes() == b"new\n"
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == 0o750
    assert [path.read_bytes() for path in sorted(tmp_path.glob(".warpfix/before-*/*"))] == [b"old\n"] * 2
    assert (tmp_path / ".warpfix" / ".gitignore").read_text() == "*\n"
    assert [path.name for path in tmp_path.iterdir() if "tmp" in path.name] == []


def test_changed_since_it_was_read(tmp_path: Path) -> None:
    planned = make(tmp_path, "a.py", "b.py")
    (tmp_path / "b.py").write_bytes(b"other\n")
    with pytest.raises(CannotWrite, match="changed since"):
        write_all(planned, str(tmp_path))
    assert (tmp_path / "a.py").read_bytes() == b"old\n"


def test_read_only(tmp_path: Path) -> None:
    planned = make(tmp_path, "a.py", "b.py")
    (tmp_path / "b.py").chmod(0o444)
    with pytest.raises(CannotWrite, match="read-only"):
        write_all(planned, str(tmp_path))
    assert (tmp_path / "a.py").read_bytes() == b"old\n"
    assert not (tmp_path / ".warpfix").exists()


def test_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = make(tmp_path, "a.py", "b.py", "c.py")
    replace = os.replace
    calls = []

    def failing(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 3:
            raise OSError(28, "No space left on device", target)
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", failing)
    with pytest.raises(CannotWrite, match="nothing was changed"):
        write_all(planned, str(tmp_path))
    assert [(tmp_path / name).read_bytes() for name in ("a.py", "b.py", "c.py")] == [b"old\n"] * 3
    assert sorted(path.name for path in tmp_path.glob(".warpfix*")) == []


def test_what_could_not_be_put_back_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = make(tmp_path, "a.py", "b.py", "c.py")
    replace = os.replace
    calls = []

    def full(source: str, target: str) -> None:
        calls.append(target)
        # The record and the first two files are written; then nothing is, but for one of those two.
        if len(calls) > 3 and not (target.endswith("a.py")):
            raise OSError(28, "No space left on device", target)
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", full)
        with pytest.raises(CannotWrite, match="warpfix undo"):
            write_all(planned, str(tmp_path))
    assert [(tmp_path / name).read_bytes() for name in ("a.py", "b.py", "c.py")] == [b"old\n", b"new\n", b"old\n"]
    assert undo(str(tmp_path)) == [str(tmp_path / "b.py")]
    assert [(tmp_path / name).read_bytes() for name in ("a.py", "b.py", "c.py")] == [b"old\n"] * 3


@pytest.mark.parametrize("at", range(1, 5))
def test_an_interrupt_restores_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    planned = make(tmp_path, "a.py", "b.py", "c.py")
    replace = os.replace
    calls = []

    def interrupted(source: str, target: str) -> None:
        calls.append(target)
        replace(source, target)
        if len(calls) == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_all(planned, str(tmp_path))
    assert [(tmp_path / name).read_bytes() for name in ("a.py", "b.py", "c.py")] == [b"old\n"] * 3
    assert undo(str(tmp_path)) == []


# ---- undo


def test_undo_restores_and_is_done_once(tmp_path: Path) -> None:
    planned = make(tmp_path, "a.py", "b.py")
    (tmp_path / "a.py").chmod(0o750)
    write_all(planned, str(tmp_path))
    assert undo(str(tmp_path)) == [str(tmp_path / "a.py"), str(tmp_path / "b.py")]
    assert (tmp_path / "a.py").read_bytes() == (tmp_path / "b.py").read_bytes() == b"old\n"
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == 0o750
    assert undo(str(tmp_path)) == []


def test_undo_where_nothing_was_written(tmp_path: Path) -> None:
    assert undo(str(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_undo_is_of_the_last_write_alone(tmp_path: Path) -> None:
    (first,) = make(tmp_path, "a.py")
    write_all([first], str(tmp_path))
    write_all([Change(first.path, b"new\n", b"newer\n")], str(tmp_path))
    undo(str(tmp_path))
    assert (tmp_path / "a.py").read_bytes() == b"new\n"
    assert undo(str(tmp_path)) == []


def test_a_write_that_failed_is_not_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = make(tmp_path, "a.py")
    write_all([first], str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(files, "_replace", lambda *given: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(CannotWrite, match="No space left"):
            write_all([Change(first.path, b"new\n", b"newer\n")], str(tmp_path))
    undo(str(tmp_path))
    assert (tmp_path / "a.py").read_bytes() == b"old\n"


def edited(path: Path) -> None:
    path.write_bytes(b"mine\n")


def removed(path: Path) -> None:
    path.unlink()


def protected(path: Path) -> None:
    path.chmod(0o444)


@pytest.mark.parametrize("change", [edited, removed, protected])
def test_undo_refuses_what_is_not_as_the_write_left_it(tmp_path: Path, change) -> None:
    write_all(make(tmp_path, "a.py", "b.py"), str(tmp_path))
    change(tmp_path / "b.py")
    with pytest.raises(CannotWrite, match=r"b\.py"):
        undo(str(tmp_path))
    assert (tmp_path / "a.py").read_bytes() == b"new\n"


def test_undo_with_a_damaged_record(tmp_path: Path) -> None:
    write_all(make(tmp_path, "a.py"), str(tmp_path))
    (kept,) = tmp_path.glob(".warpfix/before-*/*")
    kept.write_bytes(b"damaged\n")
    with pytest.raises(CannotWrite, match="damaged"):
        undo(str(tmp_path))
    (tmp_path / ".warpfix" / "last-write.json").write_text("{}")
    with pytest.raises(CannotWrite, match="can't be read"):
        undo(str(tmp_path))
    assert (tmp_path / "a.py").read_bytes() == b"new\n"


WRITER = """\
import sys
from warpfix.files import Change, undo, write_all

root, names = sys.argv[1], sys.argv[2:]
changes = [Change(f"{root}/{name}", b"old\\n" * 5000, b"new\\n" * 5000) for name in names]
print("ready", flush=True)
while True:
    write_all(changes, root)
    undo(root)
"""


@pytest.mark.skipif(os.name == "nt", reason="kills by signal")
def test_killed_at_any_moment_each_file_is_old_or_new_and_undo_gives_the_old(tmp_path: Path) -> None:
    names = [f"f{number}.py" for number in range(4)]
    seen = set()
    for number in range(25):
        for name in names:
            (tmp_path / name).write_bytes(b"old\n" * 5000)
        (tmp_path / ".warpfix" / "last-write.json").unlink(missing_ok=True)
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), *names], stdout=subprocess.PIPE, cwd=CHECKOUT
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.0017 * number)
            writer.kill()
        contents = [(tmp_path / name).read_bytes() for name in names]
        assert set(contents) <= {b"old\n" * 5000, b"new\n" * 5000}
        seen.add(tuple(contents))
        undo(str(tmp_path))
        assert {(tmp_path / name).read_bytes() for name in names} == {b"old\n" * 5000}
    assert len(seen) > 1, "no kill came in the middle of anything"


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (change,) = make(tmp_path, "outside.py")
    (project / "link.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(CannotWrite, match="out of the project"):
        write_all([Change(str(project / "link.py"), change.before, change.after)], str(project))
    make(project, "real.py")
    (project / "inner.py").symlink_to(project / "real.py")
    write_all([Change(str(project / "inner.py"), b"old\n", b"new\n")], str(project))
    assert (project / "inner.py").is_symlink()
    assert (project / "real.py").read_bytes() == b"new\n"
    (hard,) = make(project, "hard.py")
    os.link(project / "hard.py", project / "other.py")
    with pytest.raises(CannotWrite, match="hard links"):
        write_all([hard], str(project))


def test_on_another_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (change,) = make(tmp_path, "a.py")

    def of_windows(paths: list[str]) -> str:
        raise ValueError("Paths don't have the same drive")

    with monkeypatch.context() as patch:
        patch.setattr(os.path, "commonpath", of_windows)
        with pytest.raises(CannotWrite, match="out of the project"):
            write_all([change], str(tmp_path))
    assert (tmp_path / "a.py").read_bytes() == b"old\n"


def test_one_writer(tmp_path: Path) -> None:
    planned = make(tmp_path, "a.py")
    with project_lock(str(tmp_path)), pytest.raises(CannotWrite, match="another warpfix"):
        write_all(planned, str(tmp_path))
    write_all(planned, str(tmp_path))
