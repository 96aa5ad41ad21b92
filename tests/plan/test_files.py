"""Bytes in, bytes out: what is read is what is written, but for the edit; all files or none."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from warpfix import files
from warpfix.files import CannotWrite, Change, changes, project_lock, read_source, unified_diff, write_all

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
    assert (tmp_path / ".warpfix" / "before-0").read_bytes() == b"old\n"
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
    assert sorted(path.name for path in tmp_path.glob(".warpfix-*")) == []


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


def test_one_writer(tmp_path: Path) -> None:
    planned = make(tmp_path, "a.py")
    with project_lock(str(tmp_path)), pytest.raises(CannotWrite, match="another warpfix"):
        write_all(planned, str(tmp_path))
    write_all(planned, str(tmp_path))
