"""``warpfix scan --diff``: only findings on lines that differ from a revision of git."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from scan_support import write_files

from warpfix.changed_lines import parse_patch

RunCli = Callable[..., object]


def late(name: str, option: str = "max_unroll") -> str:
    return (
        f"def {name}():\n    @wp.kernel\n    def k(v: int):\n        pass\n\n"
        f"    wp.launch(k, dim=1)\n    wp.set_module_options({{'{option}': 1}})\n\n\n"
    )


HEAD = "import warp as wp\n\n\n"


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = write_files(tmp_path / "repo", {"app.py": HEAD + late("one"), "sub/other name.py": HEAD + late("two")})
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def found(run_cli: RunCli, cwd: Path, *arguments: str) -> list[tuple[str, int]]:
    done = run_cli("scan", *arguments, "--select", "WF202", "--format", "json", cwd=cwd)
    assert done.returncode in (0, 1), done.stderr
    return [(item["path"], item["line"]) for item in json.loads(done.stdout)["findings"]]


def test_only_changed_lines(run_cli: RunCli, repository: Path) -> None:
    assert found(run_cli, repository) == [("app.py", 10), ("sub/other name.py", 10)]
    assert found(run_cli, repository, "--diff") == []
    # Staged, and not staged; what stood there before is left out though it has moved down.
    (repository / "app.py").write_text(HEAD + late("new") + late("one"))
    git(repository, "add", ".")
    (repository / "sub/other name.py").write_text(HEAD + late("two") + late("more"))
    assert found(run_cli, repository, ".", "--diff") == [("app.py", 10), ("sub/other name.py", 19)]
    assert found(run_cli, repository / "sub", "--diff", "HEAD") == [("other name.py", 19)]
    git(repository, "commit", "-q", "-a", "-m", "second")
    assert found(run_cli, repository, "--diff") == []
    done = run_cli("scan", "--diff", cwd=repository)
    assert done.stdout == "nothing found on lines that differ from HEAD, in 2 files that use Warp\n"
    assert found(run_cli, repository, "--diff", "HEAD~1") == [("app.py", 10), ("sub/other name.py", 19)]


def test_renamed_and_untracked(run_cli: RunCli, repository: Path) -> None:
    git(repository, "mv", "app.py", 'gr\u00fcn "x".py')
    (repository / "new.py").write_text(HEAD + late("new"))
    assert found(run_cli, repository, "--diff") == [("new.py", 10)]
    with open(repository / 'grün "x".py', "a", encoding="utf-8") as stream:
        stream.write(late("more"))
    assert found(run_cli, repository, "--diff") == [('grün "x".py', 19), ("new.py", 10)]


def test_in_a_worktree(run_cli: RunCli, repository: Path) -> None:
    tree = repository.parent / "tree"
    git(repository, "worktree", "add", "-q", str(tree), "HEAD")
    (tree / "app.py").write_text(HEAD + late("one") + late("more"))
    assert found(run_cli, tree, "--diff") == [("app.py", 19)]
    assert found(run_cli, repository, "--diff") == []


def test_in_a_notebook_the_lines_of_cells_count(run_cli: RunCli, repository: Path) -> None:
    def write(name: str, *cells: str) -> None:
        listed = [{"cell_type": "code", "source": cell.splitlines(True), "outputs": []} for cell in cells]
        text = json.dumps({"cells": listed, "metadata": {}, "nbformat": 4}, indent=1)
        (repository / name).write_text(text)

    write("book.ipynb", HEAD, late("one"))
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "book")
    write("book.ipynb", "x = 1", HEAD, late("one"))
    assert found(run_cli, repository, "--diff") == []
    git(repository, "mv", "book.ipynb", "other.ipynb")
    write("other.ipynb", "x = 1", HEAD, late("one"), late("two"))
    assert found(run_cli, repository, "--diff") == [("other.ipynb", 7)]
    write("new.ipynb", HEAD, late("one"))
    assert found(run_cli, repository, "--diff") == [("new.ipynb", 7), ("other.ipynb", 7)]


def test_before_the_first_commit(run_cli: RunCli, tmp_path: Path) -> None:
    root = write_files(tmp_path, {"app.py": HEAD + late("one")})
    git(root, "init", "-q")
    assert found(run_cli, root, "--diff") == [("app.py", 10)]
    git(root, "add", ".")
    assert found(run_cli, root, "--diff") == [("app.py", 10)]


def test_whatever_git_is_configured_to_print(run_cli: RunCli, repository: Path) -> None:
    for key, value in [("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("color.ui", "always")]:
        git(repository, "config", key, value)
    (repository / "app.py").write_text(HEAD + late("one") + late("more"))
    assert found(run_cli, repository, "--diff") == [("app.py", 19)]


def test_content_that_looks_like_a_header() -> None:
    patch = b"""\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,3 @@
--- a/x.py
-@@ -1 +9,9 @@
+++ b/x.py
+@@ -1 +9,9 @@
+last
@@ -9 +10,0 @@
-gone
@@ -12,0 +14 @@
+one
\\ No newline at end of file
diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
"""
    assert parse_patch(patch) == {"a.py": ((1, 3), (14, 14))}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--diff", "nothing"], "git knows no revision 'nothing'"),
        (["--diff", "app.py"], "a PATH goes before --diff"),
        (["-", "--diff"], "exclude each other"),
    ],
)
def test_a_wrong_call(run_cli: RunCli, repository: Path, arguments: list[str], message: str) -> None:
    done = run_cli("scan", *arguments, cwd=repository, debug=False, input="")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_no_repository_and_no_git(run_cli: RunCli, tmp_path: Path) -> None:
    root = write_files(tmp_path, {"app.py": HEAD + late("one")})
    done = run_cli("scan", "--diff", cwd=root, debug=False, env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("is not in a git repository\n") and done.stderr.count("\n") == 1
    done = run_cli("scan", "--diff", cwd=root, debug=False, env={"PATH": os.devnull})
    assert (done.returncode, done.stdout) == (2, "")
    assert "--diff needs git" in done.stderr and done.stderr.count("\n") == 1
