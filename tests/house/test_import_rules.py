"""The rooms keep to themselves: what each folder may import (docs/architecture.md)."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
STDLIB = frozenset(sys.stdlib_module_names)

# A codemod takes text and a plan, and returns text: nothing of the outer world.
FORBIDDEN_IN_CODEMODS = frozenset(
    ["asyncio", "ctypes", "fileinput", "glob", "multiprocessing", "os", "pathlib", "runpy"]
    + ["shutil", "signal", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading", "urllib"]
)
IO_CALLS = frozenset(["open", "exec", "eval", "input", "print", "__import__", "io.open", "io.open_code", "io.FileIO"])


def room(name: str) -> list[Path]:
    files = sorted((CHECKOUT / name).rglob("*.py"))
    assert files, f"{name}/ holds no Python file"
    return files


def imports(tree: ast.AST) -> list[tuple[int, int, str]]:
    """Each import as (line, level of a relative one, dotted module)."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, 0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.lineno, node.level, node.module or ""))
    return found


def dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def probe_faults(source: str, depth: int = 0) -> list[str]:
    """What breaks the rule of probe/: standard library, Warp, and its own files, by their private name or relative.

    ``depth`` is how many folders below probe/ the file lies.
    """
    faults = []
    tree = ast.parse(source, feature_version=(3, 8))
    for line, level, module in imports(tree):
        top = module.split(".")[0]
        if level > 1 + depth:
            faults.append(f"{line}: relative import leaves probe/")
        elif level == 0 and top not in STDLIB and top not in ("warp", "_warpfix_probe"):
            faults.append(f"{line}: imports {module}")
    return faults


def codemod_faults(source: str) -> list[str]:
    """What breaks the rule of codemods/: libcst, harmless standard library, and ``warpfix.codemods``; no I/O."""
    faults = []
    tree = ast.parse(source)
    for line, level, module in imports(tree):
        top = module.split(".")[0]
        if level > 1:
            faults.append(f"{line}: relative import leaves codemods/")
        elif level == 1 or module == "warpfix.codemods" or module.startswith("warpfix.codemods."):
            continue
        elif top != "libcst" and (top not in STDLIB or top in FORBIDDEN_IN_CODEMODS):
            faults.append(f"{line}: imports {module}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in IO_CALLS:
            faults.append(f"{node.lineno}: calls {dotted(node.func)}()")
    return faults


def package_faults(source: str) -> list[str]:
    """What breaks the rule of warpfix/: it never imports Warp, nor the rooms by their folders' names."""
    return [
        f"{line}: imports {module}"
        for line, level, module in imports(ast.parse(source))
        if level == 0 and module.split(".")[0] in ("warp", "probe", "codemods")
    ]


@pytest.mark.parametrize("path", room("probe"), ids=lambda path: path.name)
def test_probe_imports_only_the_standard_library_and_warp(path: Path) -> None:
    depth = len(path.relative_to(CHECKOUT / "probe").parts) - 1
    assert probe_faults(path.read_text(encoding="utf-8"), depth) == []


@pytest.mark.parametrize("path", room("codemods"), ids=lambda path: path.name)
def test_codemods_know_nothing_of_the_world(path: Path) -> None:
    assert codemod_faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", room("warpfix"), ids=lambda path: path.relative_to(CHECKOUT).as_posix())
def test_the_package_never_imports_warp(path: Path) -> None:
    assert package_faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("check", "source", "fault"),
    [
        (probe_faults, "import numpy", "1: imports numpy"),
        (probe_faults, "from warpfix import errors", "1: imports warpfix"),
        (probe_faults, "from .. import errors", "1: relative import leaves probe/"),
        (probe_faults, "def f():\n    import click\n", "2: imports click"),
        (codemod_faults, "import os.path", "1: imports os.path"),
        (codemod_faults, "from pathlib import Path", "1: imports pathlib"),
        (codemod_faults, "from warpfix.findings import Fix", "1: imports warpfix.findings"),
        (codemod_faults, "from warpfix import codemods", "1: imports warpfix"),
        (codemod_faults, "text = open('a').read()", "1: calls open()"),
        (codemod_faults, "import io\ntext = io.open('a').read()", "2: calls io.open()"),
        (package_faults, "import warp as wp", "1: imports warp"),
        (package_faults, "from probe import events", "1: imports probe"),
    ],
)
def test_the_rules_bite(check, source: str, fault: str) -> None:
    assert check(source) == [fault]


def test_the_rules_allow_what_they_should() -> None:
    assert probe_faults("import os\nimport warp\nfrom . import log\nfrom .log import x\nimport warp._src.context") == []
    assert codemod_faults("import libcst as cst\nimport ast\nfrom warpfix.codemods.base import Edit\nimport re") == []
    assert package_faults("from warpfix.probe import x\nfrom warpfix import codemods") == []


def test_probe_parses_on_python_3_8() -> None:
    with pytest.raises(SyntaxError):
        probe_faults("match x:\n    case 1: pass\n")
