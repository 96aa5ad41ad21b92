"""Unified diffs: applied exactly, or refused with the reason."""

from __future__ import annotations

import difflib
import shutil
import subprocess
from pathlib import Path

import pytest

from warpfix.errors import WarpfixError
from warpfix.verify.patch import apply_patch, infer_renames, kernel_key

OLD = "".join(f"line {number}\n" for number in range(1, 21))


def diff(old: str, new: str, name: str = "a.py", context: int = 3) -> bytes:
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/{name}", f"b/{name}", n=context)
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    ).encode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(OLD, OLD.replace("line 3\n", "three\n"), id="change"),
        pytest.param(OLD, OLD.replace("line 3\n", ""), id="removal"),
        pytest.param(OLD, OLD.replace("line 3\n", "line 3\nmore\n"), id="addition"),
        pytest.param(OLD, OLD.replace("line 3\n", "x\n").replace("line 17\n", "y\nz\n"), id="two hunks"),
        pytest.param(OLD, "first\n" + OLD, id="at the start"),
        pytest.param(OLD, OLD + "last\n", id="at the end"),
        pytest.param(OLD, OLD[:-1], id="newline lost"),
        pytest.param(OLD[:-1], OLD, id="newline got"),
        pytest.param(OLD[:-1], OLD[:-1].replace("line 20", "x"), id="no newline on both sides"),
        pytest.param("a\r\nb\r\n", "a\r\nc\r\n", id="CRLF"),
        pytest.param("a\n\nb\n", "a\n\nc\n", id="empty context line"),
        pytest.param("a\n", "", id="emptied"),
    ],
)
@pytest.mark.parametrize("context", [0, 3])
def test_applied(tmp_path: Path, old: str, new: str, context: int) -> None:
    (tmp_path / "a.py").write_bytes(old.encode())
    patched = apply_patch(diff(old, new, context=context), str(tmp_path))
    assert patched.after == {str(tmp_path / "a.py"): new.encode()}
    assert patched.before == {str(tmp_path / "a.py"): old.encode()}
    assert (tmp_path / "a.py").read_bytes() == old.encode()


def test_latin_1_and_empty_context_without_its_blank(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"# \xe9\n\nx\n")
    patch = b"--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n # \xe9\n\n-x\n+y\n"
    assert next(iter(apply_patch(patch, str(tmp_path)).after.values())) == b"# \xe9\n\ny\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_git_prints_in_a_subfolder(tmp_path: Path) -> None:
    def git(*args: str) -> bytes:
        return subprocess.run(["git", *args], cwd=tmp_path, check=True, capture_output=True).stdout

    git("init", "-q")
    for name in ("pkg/\u00e9t\u00e9.py", "pkg/b c.py", "top.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(OLD)
    git("add", "-A")
    for name in ("pkg/\u00e9t\u00e9.py", "pkg/b c.py", "top.py"):
        (tmp_path / name).write_text(OLD.replace("line 9", "nine"))
    patch = git("diff")
    git("checkout", "-q", ".")
    patched = apply_patch(patch, str(tmp_path / "pkg"))
    assert {Path(path).name for path in patched.after} == {"\u00e9t\u00e9.py", "b c.py", "top.py"}
    assert all(b"nine" in data for data in patched.after.values())


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        pytest.param(b"", "holds no unified diff", id="empty"),
        pytest.param(b"hello\n", "holds no unified diff", id="no diff"),
        pytest.param(diff(OLD, OLD.replace("line 3", "x"), name="b.py"), "no such file", id="no such file"),
        pytest.param(diff(OLD.replace("line 3", "else"), OLD), "line 3 is 'line 3', not 'else'", id="other text"),
        pytest.param(diff("line 0\n" + OLD, "line 0\nx\n" + OLD), "does not apply", id="shifted"),
        pytest.param(diff(OLD, OLD.replace("line 3\n", "x\n"))[:-8], "the hunk is cut short", id="cut"),
        pytest.param(b"--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+x\n", "creates a file", id="new file"),
        pytest.param(b"--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "deletes a file", id="deleted file"),
        pytest.param(b"diff --git a/a.py b/b.py\nrename from a.py\nrename to b.py\n", "renames a file", id="rename"),
        pytest.param(b"Binary files a/x and b/x differ\n", "binary", id="binary"),
        pytest.param(diff("x\n", "y\n", name="data.txt"), "only changes of Python files", id="no Python file"),
        pytest.param(b"--- a/a.py\n+++ b/a.py\n@@ nonsense\n", "not the head of a hunk", id="bad hunk"),
        pytest.param(b"--- a/a.py\n+++ b/a.py\n", "changes nothing", id="no hunk"),
    ],
)
def test_refused(tmp_path: Path, patch: bytes, words: str) -> None:
    (tmp_path / "a.py").write_text(OLD)
    (tmp_path / "data.txt").write_text("x\n")
    with pytest.raises(WarpfixError, match=words):
        apply_patch(patch, str(tmp_path))


INNER = "def make():\n    @wp.kernel\n    def scale(x: int):\n        x = 1\n    return scale\n"
HOISTED = "@wp.kernel\ndef scale(x: int):\n    x = 1\n\ndef make():\n    return scale\n"


@pytest.mark.parametrize(
    ("before", "after", "renames"),
    [
        pytest.param(INNER, HOISTED, [("make.<locals>.scale", "scale")], id="hoisted"),
        pytest.param(INNER, HOISTED.replace("x = 1", "x = 2"), [("make.<locals>.scale", "scale")], id="other body"),
        pytest.param(INNER, HOISTED.replace("x: int", "y: int"), [], id="other parameters"),
        pytest.param(INNER, HOISTED.replace("scale", "scaled"), [], id="other name"),
        pytest.param(INNER, INNER, [], id="nothing moved"),
        pytest.param(
            INNER + INNER.replace("make", "also"),
            HOISTED + "\ndef also():\n    return scale\n",
            [],
            id="two became one",
        ),
        pytest.param(
            INNER + INNER.replace("make", "also").replace("x = 1", "x = 2"),
            "class A:\n    def scale(x: int):\n        x = 1\nclass B:\n    def scale(x: int):\n        x = 2\n",
            [("make.<locals>.scale", "A.scale"), ("also.<locals>.scale", "B.scale")],
            id="told apart by their bodies",
        ),
    ],
)
def test_renames_are_inferred(before: str, after: str, renames: list[tuple[str, str]]) -> None:
    found = infer_renames({"a.py": before}, {"a.py": after})
    assert [(one.old_qualname, one.new_qualname) for one in found] == renames


def test_kernel_keys() -> None:
    assert kernel_key("Rod.heat.<locals>.add_spot") == "Rod__heat__locals__add_spot"
