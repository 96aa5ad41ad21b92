"""The cache of ``warpfix scan``: an answer from it is the answer that a scan would give, or there is none."""

from __future__ import annotations

import io
import json
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from scan_support import write_files

from warpfix import kept, scanning
from warpfix.cli import main

LATE = """\
import warp as wp

@wp.kernel
def k(v: int):
    pass

def main():
    wp.launch(k, dim=1)
    wp.set_module_options({"enable_backward": False})
"""
CLOSURE = """\
import warp as wp
from helper import SIZE

def run(x):
    @wp.kernel
    def scale(x: wp.array(dtype=float)):
        x[wp.tid()] = 2.0

    wp.launch(scale, dim=SIZE, inputs=[x])
"""
Scan = Callable[..., tuple[int, str, str]]


class Builds(list[str]):
    """The roots of the projects that were indexed: nothing is added where the cache answered."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(
        tmp_path / "project", {"app.py": LATE, "fast.py": CLOSURE, "helper.py": "SIZE = 3\n", "pyproject.toml": ""}
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WARPFIX_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    counted = Builds()
    build = scanning.build_index

    def count(project, *more):  # type: ignore[no-untyped-def]
        counted.append(project.root)
        return build(project, *more)

    monkeypatch.setattr(scanning, "build_index", count)
    return counted


@pytest.fixture
def scan(capsys: pytest.CaptureFixture[str]) -> Scan:
    def run(*args: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["scan", *map(str, args)])
        captured = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, captured.out, captured.err

    return run


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_same_sources_are_judged_once(root: Path, folder: Path, builds: Builds, scan: Scan, form: str) -> None:
    first = scan(root, "--format", form)
    assert first[0] == 1
    assert scan(root, "--format", form) == first
    assert builds == [str(root)]
    assert scan(root, "--format", form, "--no-cache") == first


CHANGES = {
    "a file": lambda root: (root / "app.py").write_text(LATE + "\n# more\n"),
    "a file without Warp": lambda root: (root / "helper.py").write_text("SIZE = 4\n"),
    "a file more": lambda root: (root / "new.py").write_text("x = 1\n"),
    "a file less": lambda root: (root / "helper.py").unlink(),
    "a file renamed": lambda root: (root / "helper.py").rename(root / "helper2.py"),
    "a module beside them that is no source": lambda root: (root / "scale.so").touch(),
    "the configuration": lambda root: (root / "pyproject.toml").write_text('[tool.warpfix]\nignore = ["WF101"]\n'),
    "the lowest Warp": lambda root: (root / "requirements.txt").write_text("warp-lang>=1.9\n"),
    "a package above": lambda root: (root.parent / "__init__.py").touch() or (root / "__init__.py").touch(),
}


@pytest.mark.parametrize("change", [pytest.param(change, id=what) for what, change in CHANGES.items()])
def test_changed_project_is_judged_again(
    root: Path, folder: Path, builds: Builds, scan: Scan, change: Callable[[Path], object]
) -> None:
    scan(root, "--format", "json")
    change(root)
    again = scan(root, "--format", "json")
    assert len(builds) == 2
    assert again == scan(root, "--format", "json", "--no-cache")


@pytest.mark.parametrize(
    "options", [["--select", "WF1"], ["--ignore", "WF101"], ["--include-tests"], ["--warp-min", "1.9"]], ids=" ".join
)
def test_other_options_are_other_results(
    root: Path, folder: Path, builds: Builds, scan: Scan, options: list[str]
) -> None:
    scan(root, "--format", "json")
    assert scan(root, "--format", "json", *options) == scan(root, "--format", "json", *options, "--no-cache")
    assert len(builds) == 3


def test_part_of_a_project_is_another_result(root: Path, folder: Path, builds: Builds, scan: Scan) -> None:
    whole = json.loads(scan(root, "--format", "json")[1])["findings"]
    part = json.loads(scan(root / "app.py", "--format", "json")[1])["findings"]
    assert [finding for finding in whole if finding["path"].endswith("app.py")] == part
    assert 0 < len(part) < len(whole)


def test_changed_warpfix_judges_again(
    root: Path, folder: Path, builds: Builds, scan: Scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan(root)
    before = kept._environment()
    for place in range(len(before)):
        monkeypatch.setattr(kept, "_environment", lambda place=place: (*before[:place], "other", *before[place + 1 :]))
        scan(root)
    assert len(builds) == 1 + len(before)


def test_own_source_is_told_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import warpfix

    write_files(tmp_path / "copy", {"rules/one.py": "x = 1\n"})
    monkeypatch.setattr(warpfix, "__path__", [str(tmp_path / "copy")])
    before = kept._own_source()
    assert before == kept._own_source()
    (tmp_path / "copy/rules/one.py").write_text("x = 2\n")
    assert before != kept._own_source()


class Runs:
    """What an entry would be that runs something when it is read."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("exit 3",)


def entry_of(value: object) -> bytes:
    """An entry that is whole, with a value that no scan has put there."""
    packed = kept.zlib.compress(pickle.dumps(value))
    return kept._FORMAT + kept.hashlib.blake2b(packed, digest_size=20).digest() + packed


DAMAGE = {
    "empty": lambda raw: b"",
    "half of it": lambda raw: raw[: len(raw) // 2],
    "a byte turned": lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]),
    "another format": lambda raw: b"warpfix-scan-0\n" + raw[15:],
    "a value of another kind": lambda raw: entry_of({"findings": ()}),
    "something that would run": lambda raw: entry_of(Runs()),
}


@pytest.mark.parametrize("damage", [pytest.param(damage, id=what) for what, damage in DAMAGE.items()])
def test_damaged_entry_is_none(
    root: Path, folder: Path, builds: Builds, scan: Scan, damage: Callable[[bytes], bytes]
) -> None:
    first = scan(root)
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert scan(root) == first
    assert len(builds) == 2
    assert entry.read_bytes() == whole  # and it is mended


@pytest.mark.parametrize(
    "name", ["os.system", "builtins.eval", "warpfix.kept.load", "warpfix.codemods.compose.compose"]
)
def test_entry_makes_plain_data_only(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    with pytest.raises(pickle.UnpicklingError):
        kept._Reader(io.BytesIO(b"")).find_class(module, attribute)


def test_folder_that_can_not_be_written(
    root: Path, tmp_path: Path, scan: Scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = scan(root, "--no-cache")
    (tmp_path / "file").touch()
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    for chosen in (tmp_path / "file", tmp_path / "file" / "below", closed, Path("\0")):
        if "\0" not in str(chosen):
            monkeypatch.setenv("WARPFIX_CACHE_DIR", str(chosen))
        else:
            monkeypatch.setattr(kept, "cache_folder", lambda: None)
        assert scan(root) == plain == scan(root)
    closed.chmod(0o700)


def test_two_scans_at_once(root: Path, folder: Path, run_cli: Callable[..., object]) -> None:
    results = []

    def run() -> None:
        results.append(run_cli("scan", root, "--format", "json", env={"WARPFIX_CACHE_DIR": str(folder)}))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run()
    assert {(done.returncode, done.stderr) for done in results} == {(1, "")}
    assert len({done.stdout for done in results}) == 1
    assert len(entries(folder)) == 1


@pytest.mark.parametrize("option", ["--no-cache", "--statistics"])
def test_asked_for_a_scan_nothing_is_kept(root: Path, folder: Path, builds: Builds, scan: Scan, option: str) -> None:
    scan(root, option)
    scan(root, option)
    assert len(builds) == 2
    assert not folder.exists()


def test_broken_file_is_told_again(root: Path, folder: Path, builds: Builds, scan: Scan) -> None:
    (root / "bad.py").write_text("import warp as wp\ndef (:\n")
    first = scan(root)
    assert first[0] == 2
    assert "bad.py:2: not parsed" in first[2]
    assert scan(root) == first
    assert len(builds) == 1


def test_what_is_left_out_afterwards_is_left_out_of_a_kept_result(
    root: Path, folder: Path, builds: Builds, scan: Scan, tmp_path: Path
) -> None:
    book = {"cells": [{"cell_type": "code", "source": CLOSURE.replace("from helper import SIZE", "SIZE = 3")}]}
    (root / "book.ipynb").write_text(json.dumps({**book, "nbformat": 4, "metadata": {}}))
    known = tmp_path / "known.json"
    for options in ((), ("--baseline", known), ("--baseline", known, "--write-baseline"), ("--baseline", known)):
        if options[1:2] and not known.exists():
            known.write_text('{"schema": "warpfix-baseline", "version": 1, "findings": []}')
        form = () if "--write-baseline" in options else ("--format", "json")
        plain = scan(root, *options, *form, "--no-cache")
        assert scan(root, *options, *form) == plain
        assert scan(root, *options, *form) == plain
    assert json.loads(scan(root, "--baseline", known, "--format", "json")[1])["summary"]["known"] > 1
    assert len(builds) == 4 + 1


def test_tree_without_warp_is_not_kept(tmp_path: Path, folder: Path, scan: Scan) -> None:
    write_files(tmp_path / "plain", {"app.py": "x = 1\n"})
    assert scan(tmp_path / "plain")[0] == 0
    assert not folder.exists()


def test_what_was_not_used_for_long_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST", 8)
    nothing = kept.Kept((), (), {})
    for number in range(9):
        kept.store(tmp_path, f"{number}", nothing)
        if (tmp_path / f"{number}").exists():
            os.utime(tmp_path / f"{number}", (number, number))
        kept.load(tmp_path, "0")
    assert {path.name for path in tmp_path.iterdir()} == {"0", "4", "5", "6", "7", "8"}


@pytest.mark.parametrize(
    "environ, platform, expected",
    [
        ({"HOME": "/home/u"}, "linux", "/home/u/.cache/warpfix"),
        ({"HOME": "/home/u", "XDG_CACHE_HOME": "/c"}, "linux", "/c/warpfix"),
        ({"HOME": "/home/u", "XDG_CACHE_HOME": "relative"}, "linux", "/home/u/.cache/warpfix"),
        ({"HOME": "/home/u"}, "darwin", "/home/u/Library/Caches/warpfix"),
        ({"LOCALAPPDATA": "/l"}, "win32", "/l/warpfix/Cache"),
        ({}, "win32", None),
        ({"WARPFIX_CACHE_DIR": "/w", "HOME": "/home/u"}, "linux", "/w"),
    ],
)
def test_cache_folder(environ: dict[str, str], platform: str, expected: str | None) -> None:
    found = kept.cache_folder(environ, platform)
    assert (None if found is None else found.as_posix()) == expected
