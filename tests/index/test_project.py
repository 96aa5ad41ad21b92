"""Which files belong to a project, what they are called, who runs them first; and that one bad file loses no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from scan_support import index_of, write_files

from warpfix.config import Config, load_config, lowest_warp, matches
from warpfix.errors import WarpfixError
from warpfix.index.build import build_index
from warpfix.index.model import Role
from warpfix.project import discover, find_root

WARP = "import warp as wp\n@wp.kernel\ndef k(): pass\n"
MAIN = WARP + 'if __name__ == "__main__":\n    wp.launch(k, dim=1)\n'


def names(root: Path, sources: dict[str, str]) -> list[str]:
    (project,) = discover([write_files(root, sources)])
    return [project.relative(path) for path in project.files]


SKIPPED = [
    ".git/hooks/a.py",
    ".venv/lib/a.py",
    "env/pyvenv.cfg",
    "site-packages/a.py",
    "build/lib/a.py",
    "__pycache__/a.py",
    "node_modules/a.py",
    ".tox/py/a.py",
    "a.egg-info/a.py",
    "notes.txt",
    "script",
]


@pytest.mark.parametrize("name", SKIPPED)
def test_skipped(tmp_path: Path, name: str) -> None:
    extra = {"env/x.py": WARP} if name == "env/pyvenv.cfg" else {}
    assert names(tmp_path, {"app.py": WARP, name: WARP, **extra}) == ["app.py"]


def test_a_nested_repository_is_another_project(tmp_path: Path) -> None:
    assert names(tmp_path, {"app.py": WARP, "sub/.git": "gitdir: ../x\n", "sub/a.py": WARP}) == ["app.py"]


def test_git_ignored_files_are_skipped(tmp_path: Path) -> None:
    write_files(
        tmp_path, {".gitignore": "generated/\nlocal.py\n", "app.py": WARP, "generated/a.py": WARP, "local.py": WARP}
    )
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (project,) = discover([tmp_path])
    assert [project.relative(path) for path in project.files] == ["app.py"]


def test_excluded_by_configuration(tmp_path: Path) -> None:
    sources = {"pyproject.toml": '[tool.warpfix]\nexclude = ["gen", "x/*.py", "deep/er"]\n'}
    sources |= dict.fromkeys(("app.py", "gen/a.py", "sub/gen/b.py", "x/c.py", "deep/er/d.py", "deep/e.py"), WARP)
    assert names(tmp_path, sources) == ["app.py", "deep/e.py"]


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_links_in_a_circle(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/app.py": WARP})
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    (project,) = discover([tmp_path])
    assert [project.relative(path) for path in project.files] == ["a/app.py"]


def test_the_nearest_marker_is_the_root(tmp_path: Path) -> None:
    write_files(tmp_path, {"pyproject.toml": "", "inner/setup.cfg": "", "inner/src/app.py": WARP, "outer/app.py": WARP})
    assert find_root(tmp_path / "inner" / "src" / "app.py") == str(tmp_path / "inner")
    assert find_root(tmp_path / "outer") == str(tmp_path)
    both = discover([tmp_path / "inner" / "src" / "app.py", tmp_path / "outer"])
    assert [project.root for project in both] == [str(tmp_path / "inner"), str(tmp_path)]


def test_only_what_was_named_is_a_target_but_the_project_is_in_view(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": WARP, "b.py": WARP})
    (project,) = discover([tmp_path / "a.py"])
    assert {project.relative(path) for path in project.files} == {"a.py", "b.py"}
    assert {project.relative(path) for path in project.targets} == {"a.py"}


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(WarpfixError, match="no such file or folder"):
        discover([tmp_path / "nowhere"])


def test_installed_code_is_scanned_when_it_is_named_and_not_editable(tmp_path: Path) -> None:
    site = write_files(
        tmp_path / "venv" / "lib" / "site-packages", {"pkg/__init__.py": "", "pkg/a.py": WARP, "other/b.py": WARP}
    )
    (project,) = discover([site / "pkg"])
    assert [project.relative(path) for path in project.files] == ["pkg/__init__.py", "pkg/a.py"]
    assert not project.editable
    index = build_index(project)
    assert [file.module for file in index.files.values()] == ["pkg.a"]


MODULES = [
    pytest.param({"app.py": WARP}, "app.py", "app", id="a script at the root"),
    pytest.param({"pkg/__init__.py": "", "pkg/a.py": WARP}, "pkg/a.py", "pkg.a", id="a package"),
    pytest.param({"pkg/__init__.py": WARP}, "pkg/__init__.py", "pkg", id="the package itself"),
    pytest.param({"src/pkg/__init__.py": "", "src/pkg/a.py": WARP}, "src/pkg/a.py", "pkg.a", id="src layout"),
    pytest.param(
        {"src/ns/pkg/__init__.py": "", "src/ns/pkg/a.py": WARP}, "src/ns/pkg/a.py", "ns.pkg.a", id="namespace in src"
    ),
    pytest.param({"src/ns/a.py": WARP}, "src/ns/a.py", "ns.a", id="a module in a namespace in src"),
    pytest.param(
        {"ns/a.py": WARP, "app.py": "import warp\nfrom ns.a import k\n"},
        "ns/a.py",
        "ns.a",
        id="namespace by its import",
    ),
    pytest.param(
        {"examples/a.py": WARP, "examples/b.py": "import warp\nimport a\n"},
        "examples/a.py",
        "a",
        id="scripts in a folder",
    ),
    pytest.param({"my-script.py": WARP}, "my-script.py", None, id="no name of a module"),
    pytest.param(
        {
            "pyproject.toml": '[tool.setuptools.package-dir]\n"" = "lib"\n',
            "lib/pkg/__init__.py": "",
            "lib/pkg/a.py": WARP,
        },
        "lib/pkg/a.py",
        "pkg.a",
        id="package-dir",
    ),
]


@pytest.mark.parametrize(("sources", "name", "module"), MODULES)
def test_module_names(tmp_path: Path, sources: dict[str, str], name: str, module: str | None) -> None:
    assert index_of(tmp_path, sources).files[str(tmp_path / name)].module == module


DISTRIBUTION = "[project]\nname = 'x'\nversion = '1'\n"
ROLES = [
    pytest.param({"app.py": MAIN}, "app.py", Role.APPLICATION, id="a script with a main guard"),
    pytest.param({"app.py": WARP + "wp.launch(k, dim=1)\n"}, "app.py", Role.APPLICATION, id="a script without one"),
    pytest.param({"app.py": "import warp\nimport lib\nlib.f()\n", "lib.py": WARP}, "lib.py", Role.APPLICATION, id="what only a script imports"),
    pytest.param({"lib.py": WARP}, "lib.py", Role.LIBRARY, id="a module that nobody runs"),
    pytest.param({"pkg/__init__.py": "", "pkg/__main__.py": MAIN, "pkg/a.py": WARP}, "pkg/a.py", Role.LIBRARY, id="in a package, imported by nobody"),
    pytest.param(
        {"pkg/__init__.py": "", "pkg/__main__.py": "import warp\nfrom pkg import a\n", "pkg/a.py": WARP}, "pkg/a.py", Role.APPLICATION, id="python -m pkg"
    ),
    pytest.param(
        {"pyproject.toml": DISTRIBUTION, "pkg/__init__.py": "", "pkg/a.py": WARP, "run.py": "import warp\nimport pkg.a\npkg.a.f()\n"},
        "pkg/a.py",
        Role.LIBRARY,
        id="an installable package is for others too",
    ),
    pytest.param(
        {"pyproject.toml": DISTRIBUTION + "[project.scripts]\ngo = 'pkg.cli:main'\n", "pkg/__init__.py": "", "pkg/cli.py": "import warp\nfrom pkg import a\n", "pkg/a.py": WARP},
        "pkg/a.py",
        Role.APPLICATION,
        id="an installable application",
    ),
    pytest.param(
        {"pyproject.toml": '[tool.warpfix]\nentry-points = ["tool/start.py"]\n', "tool/start.py": WARP}, "tool/start.py", Role.APPLICATION, id="a configured entry point"
    ),
    pytest.param({"tests/helper.py": WARP}, "tests/helper.py", Role.TEST, id="in a test folder"),
    pytest.param({"test_a.py": MAIN}, "test_a.py", Role.TEST, id="a test by its name"),
    pytest.param({"pkg/_vendor/a.py": WARP}, "pkg/_vendor/a.py", Role.VENDORED, id="vendored"),
    pytest.param({"app.py": MAIN + "import lib\n", "lib.py": WARP, "other.py": "import warp\nimport lib\nx = 1\n"}, "lib.py", Role.LIBRARY, id="shared with a module that nobody runs"),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "name", "role"), ROLES)
def test_roles(tmp_path: Path, sources: dict[str, str], name: str, role: Role) -> None:
    assert index_of(tmp_path, sources).files[str(tmp_path / name)].role is role


BAD_FILES = [
    pytest.param(b"import warp as wp\ndef f(:\n", "not parsed", 2, id="a syntax error"),
    pytest.param(b"import warp\nx = '\0'\n", "not parsed", None, id="a NUL"),
    pytest.param(b"# coding: nonsense\nimport warp\n", "not parsed", None, id="an unknown encoding"),
    pytest.param(b"import warp\nx = '\xff'\n", "decode", None, id="not UTF-8"),
    pytest.param(b"\xef\xbb\xbf# coding: latin-1\nimport warp\n", "not parsed", None, id="a BOM against a cookie"),
    pytest.param(b"import warp\nx = " + b"(" * 400 + b")" * 400 + b"\n", "not parsed", None, id="nested too deeply"),
    pytest.param(
        b"import warp\nx = " + b"+".join([b"1"] * 20000) + b"\n",
        "too deeply|not parsed",
        None,
        id="a sum of 20,000 terms",
        marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="the parser of 3.10 reads it"),
    ),
    pytest.param(b"import warp\n\tx = 1\n", "not parsed", 2, id="an unexpected indent"),
]


@pytest.mark.parametrize(("source", "message", "line"), BAD_FILES)
def test_a_bad_file_is_a_problem_and_the_others_are_indexed(
    tmp_path: Path, source: bytes, message: str, line: int | None
) -> None:
    write_files(tmp_path, {"good.py": WARP, "bad.py": source})
    index = build_index(discover([tmp_path])[0])
    assert [Path(path).name for path in index.files] == ["good.py"]
    (problem,) = index.problems
    assert Path(problem.path).name == "bad.py"
    assert pytest.importorskip("re").search(message, problem.message)
    if line is not None:
        assert problem.line == line


def test_a_long_elif_chain_and_deep_expressions_are_walked(tmp_path: Path) -> None:
    chain = "if x == 0:\n    pass\n" + "".join(f"elif x == {n}:\n    y = {n}\n" for n in range(300))
    index = index_of(
        tmp_path,
        {"app.py": "import warp as wp\nx = 1\n" + chain + "z = " + "-" * 90 + "1\n" + "@wp.kernel\ndef k(): pass\n"},
    )
    assert index.problems == []
    assert len(index.files[str(tmp_path / "app.py")].constructs) == 1


ODD_FILES = [
    pytest.param("\ufeffimport warp as wp\n@wp.kernel\ndef k(): pass\n".encode(), id="BOM"),
    pytest.param(b"import warp as wp\r\n@wp.kernel\r\ndef k(): pass\r\n", id="CRLF"),
    pytest.param(b"import warp as wp\r@wp.kernel\rdef k(): pass\r", id="CR"),
    pytest.param(
        b"# -*- coding: latin-1 -*-\nimport warp as wp\nx = '\xe4'\n@wp.kernel\ndef k(): pass\n", id="Latin-1 cookie"
    ),
    pytest.param(b"import warp as wp\n\x0c\n@wp.kernel\ndef k(): pass\n", id="form feed"),
    pytest.param(b"import warp as wp\n@wp.kernel\ndef k(): pass", id="no last line end"),
    pytest.param(b"import warp as wp\nx = '\\d'\n@wp.kernel\ndef k(): pass\n", id="an invalid escape"),
    pytest.param(b"#!/usr/bin/env python\nimport warp as wp\n@wp.kernel\ndef k(): pass\n", id="shebang"),
]


@pytest.mark.parametrize("source", ODD_FILES)
def test_odd_but_right_files(tmp_path: Path, source: bytes) -> None:
    write_files(tmp_path, {"app.py": source})
    index = build_index(discover([tmp_path])[0])
    assert index.problems == []
    assert [item.name for item in index.files[str(tmp_path / "app.py")].constructs] == ["k"]


def test_a_project_without_warp_parses_nothing(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"a.py": "import numpy\n", "b.py": "def f(:\n"})
    assert index.files == {}
    assert index.problems == []


# ---- configuration


WRONG = [
    pytest.param("[tool.warpfix]\nselekt = []\n", "unknown key 'selekt'", id="unknown key"),
    pytest.param("[tool.warpfix]\nselect = 'WF1'\n", "list of strings", id="a string for a list"),
    pytest.param("[tool.warpfix]\ninclude-tests = 1\n", "true or false", id="a number for a truth value"),
    pytest.param("[tool.warpfix]\nwarp-min = 'new'\n", "not a version", id="no version"),
    pytest.param("[tool.warpfix]\nper-file-ignores = ['x']\n", "table", id="a list for a table"),
    pytest.param("tool.warpfix = 3\n", "must be a table", id="no table"),
    pytest.param("[tool.warpfix\n", "not valid TOML", id="no TOML"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_configuration(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(WarpfixError, match=message) as caught:
        load_config(tmp_path)
    assert "\n" not in str(caught.value).replace("\\n", "") or "TOML" in str(caught.value)


LOWEST = [
    pytest.param({"pyproject.toml": "[project]\nname='x'\ndependencies = ['warp-lang>=1.12,<2']\n"}, "1.12", id="dependencies"),
    pytest.param({"pyproject.toml": "[project]\nname='x'\ndependencies = ['Warp_Lang[extra]~=1.8.1; python_version > \"3\"']\n"}, "1.8.1", id="normalised name"),
    pytest.param({"pyproject.toml": "[project]\nname='x'\n[project.optional-dependencies]\ngpu = ['warp-lang==1.9.*']\n"}, "1.9", id="optional"),
    pytest.param({"setup.cfg": "[options]\ninstall_requires =\n    numpy\n    warp-lang >= 1.7\n"}, "1.7", id="setup.cfg"),
    pytest.param({"requirements.txt": "# all\nwarp-lang==1.15.0  # pinned\n"}, "1.15.0", id="requirements"),
    pytest.param({"pyproject.toml": "[tool.poetry.dependencies]\nwarp-lang = '^1.10'\n"}, "1.10", id="poetry"),
    pytest.param({"pyproject.toml": "[tool.warpfix]\nwarp-min = '1.13'\n[project]\nname='x'\ndependencies=['warp-lang>=1.7']\n"}, "1.13", id="said outright"),
    pytest.param({"pyproject.toml": "[project]\nname='x'\ndependencies = ['warp-lang']\n"}, None, id="no bound"),
    pytest.param({"pyproject.toml": "[project]\nname='x'\ndependencies = ['warp-lang<1.9']\n"}, None, id="only an upper bound"),
    pytest.param({"pyproject.toml": "[project]\nname='x'\ndependencies = ['warp>=3', 'warp-drive>=2']\n"}, None, id="other projects"),
    pytest.param({"requirements.txt": "-r other.txt\n--hash x\nwarp lang ===\n"}, None, id="lines that are no requirement"),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "lowest"), LOWEST)
def test_lowest_warp(tmp_path: Path, sources: dict[str, str], lowest: str | None) -> None:
    assert load_config(write_files(tmp_path, sources)).warp_min == lowest


def test_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    assert lowest_warp(tmp_path) == (None, "")
    config = Config(select=("WF1",), ignore=("WF101",)).override(select=("WF2",), ignore=("WF202",), warp_min="1.8")
    assert (config.select, config.ignore, config.warp_min, config.warp_min_source) == (
        ("WF2",),
        ("WF101", "WF202"),
        "1.8",
        "--warp-min",
    )
    with pytest.raises(WarpfixError, match="not a version"):
        Config().override(warp_min="latest")


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("a/b.py", "a", True),
        ("a/b.py", "./a/", True),
        ("a/b.py", "*.py", True),
        ("a/b.py", "b", False),
        ("x/a/b.py", "a/b.py", False),
        ("x/a/b.py", "x/a", True),
        ("ab/c.py", "a", False),
    ],
)
def test_patterns(path: str, pattern: str, expected: bool) -> None:
    assert matches(path, pattern) is expected
