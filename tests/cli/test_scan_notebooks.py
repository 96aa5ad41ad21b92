"""Notebooks: cells in order in one namespace, magics neutralised, reported by cell, never edited."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from scan_support import write_files

from warpfix.cells import in_words
from warpfix.index.notebook import plain_python, read_notebook

RunCli = Callable[..., object]

CELLS = [
    ("markdown", "# import warp is only told of here"),
    ("code", "%matplotlib inline\n!pip install \\\n  warp-lang\nimport warp as wp\nfiles = !ls"),
    ("code", "@wp.kernel\ndef k(v: int):\n    pass\n\nwp?"),
    ("code", "for i in range(3):\n    %time i\n    wp.launch(k, dim=1)"),
    ("code", "%%bash\nls ("),
    ("code", "%%time\n\nwp.set_module_options({'max_unroll': 1})"),
]


def notebook(cells: list[tuple[str, str]], **metadata: object) -> str:
    listed = [
        {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True), "outputs": []}
        for kind, source in cells
    ]
    return json.dumps({"cells": listed, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_files(tmp_path_factory.mktemp("books"), {"plain.py": "x = 1\n"})
    (root / "a book.ipynb").write_text(notebook(CELLS))
    (root / ".ipynb_checkpoints").mkdir()
    (root / ".ipynb_checkpoints/a book.ipynb").write_text(notebook(CELLS))
    return root


def test_text(run_cli: RunCli, project: Path) -> None:
    done = run_cli("scan", cwd=project)
    assert (done.returncode, done.stderr) == (1, "")
    first, excerpt, carets, *rest = done.stdout.splitlines()
    assert first.startswith("a book.ipynb:cell 6:3:1 WF202 late-module-options: ")
    assert "cell 4, line 3" in first and "line 1" not in first
    assert excerpt == "  3 | wp.set_module_options({'max_unroll': 1})"
    assert carets == "    | " + "^" * 40
    assert "1 finding in 1 file; none with a fix" in rest


def test_json_sarif_github(run_cli: RunCli, project: Path) -> None:
    (finding,) = json.loads(run_cli("scan", "--format", "json", cwd=project).stdout)["findings"]
    place = finding["path"], finding["cell"], finding["line"], finding["column"], finding["end_line"]
    assert place == ("a book.ipynb", 6, 3, 1, 3)
    assert (finding["fix"], finding["declined"]) == (None, "notebooks are reported, never edited")
    (result,) = json.loads(run_cli("scan", "--format", "sarif", cwd=project).stdout)["runs"][0]["results"]
    assert result["locations"] == [
        {
            "physicalLocation": {"artifactLocation": {"uri": "a%20book.ipynb", "uriBaseId": "SRCROOT"}},
            "logicalLocations": [{"name": "cell 6", "kind": "cell"}],
        }
    ]
    assert result["message"]["text"].startswith("Cell 6, line 3: ")
    done = run_cli("scan", "--format", "github", cwd=project)
    assert done.stdout.startswith("::warning file=a book.ipynb,title=WF202 late-module-options::cell 6, line 3: ")


def test_never_edited(run_cli: RunCli, project: Path) -> None:
    before = (project / "a book.ipynb").read_bytes()
    done = run_cli("apply", "--unsafe-fixes", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "nothing to change",
        "",
        "left:",
        "  notebooks are reported, never edited",
        "    a book.ipynb:cell 6:3 (WF202)",
    ]
    assert (project / "a book.ipynb").read_bytes() == before


def test_one_namespace_called_main(run_cli: RunCli, tmp_path: Path) -> None:
    cells = [
        ("code", "import warp as wp\n\n@wp.kernel\ndef k(v: int):\n    pass"),
        ("code", "wp.launch(k, dim=1)"),
        ("code", "wp.set_module_options({'max_unroll': 1}, module='__main__')  # warpfix: ignore[WF202] for now"),
        ("code", "wp.set_module_options({'enable_backward': False}, module=__name__)"),
    ]
    write_files(tmp_path, {"book.ipynb": notebook(cells)})
    done = run_cli("scan", "--select", "WF2", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)["findings"]
    assert [(item["code"], item["cell"], item["line"]) for item in found] == [("WF202", 4, 1)]


@pytest.mark.parametrize(
    ("text", "own", "told"),
    [
        ("set on line 4, above line 1", True, "set on cell 3, line 1, above cell 1, line 1"),
        ("see line 2 of sub/a.ipynb", False, "see cell 1, line 2 of sub/a.ipynb"),
        ("differs at a.ipynb:5 and lib.py:5", False, "differs at a.ipynb:cell 3:2 and lib.py:5"),
        (
            "line 4 of lib.py, line 4 of `make`, line 4",
            True,
            "line 4 of lib.py, cell 3, line 1 of `make`, cell 3, line 1",
        ),
        ("line 4 of other.ipynb, other.ipynb:4, line 4", False, "line 4 of other.ipynb, other.ipynb:4, line 4"),
    ],
)
def test_lines_in_messages(text: str, own: bool, told: str) -> None:
    book = read_notebook(notebook([("code", "a\nb\nc"), ("markdown", "m"), ("code", "d\ne")]).encode())
    assert in_words(text, book if own else None, {"/project/sub/a.ipynb": book}) == told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ warp", "not a notebook: "),
        ('{"warp": 1}', "not a notebook: it has no list of cells"),
        (notebook([("code", "import warp as wp"), ("code", "\nx = (")]), "cell 2, line 2: not parsed: "),
    ],
)
@pytest.mark.parametrize("path", [".", "book.ipynb"])
def test_broken(run_cli: RunCli, tmp_path: Path, text: str, message: str, path: str) -> None:
    write_files(tmp_path, {"book.ipynb": text})
    done = run_cli("scan", path, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"warpfix: book.ipynb: {message}") and done.stderr.count("\n") == 1


def test_no_python_file(run_cli: RunCli, tmp_path: Path) -> None:
    write_files(tmp_path, {"notes.txt": "Some notes.\n", "other.ipynb": "no Warp in it"})
    done = run_cli("scan", "notes.txt", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "warpfix: notes.txt: not a Python file or notebook\n")
    assert run_cli("scan", cwd=tmp_path).returncode == 0


def test_other_languages_are_passed_over() -> None:
    text = notebook([("code", "x <- warp(")], language_info={"name": "R"})
    assert read_notebook(text.encode()).cells == ()


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("x = (1\n     % 2)\n", "x = (1\n     % 2)\n"),
        ("%pip install x\ns = '''\n%not this\n# \"\n'''\n", "pass\ns = '''\n%not this\n# \"\n'''\n"),
        ("if x:\n    %time f()\n    !ls \\\n  y\n", "if x:\n    pass\n    pass\n\n"),
        ("x = %run a.py\na, b = !ls\n", "x = None\na, b = None\n"),
        ("?wp.launch\nwp.launch??\n!echo it's (\ny = 1\n", "pass\npass\npass\ny = 1\n"),
        ("s = 'a # b' # don't\n%ls\n", "s = 'a # b' # don't\npass\n"),
        ('d = """a # b"""\n%ls', 'd = """a # b"""\npass'),
        ("%%writefile a.py\nimport (\n", "\n\n"),
        ("%%timeit -n 1\nf(1\n % 2)\n%ls\n", "\nf(1\n % 2)\npass\n"),
        ("f(a,\n  b?\n", "f(a,\n  b?\n"),
    ],
)
def test_magics(source: str, plain: str) -> None:
    assert plain_python(source) == plain
    assert plain_python(source).count("\n") == source.count("\n")
    if "b?" not in source:
        ast.parse(plain)
