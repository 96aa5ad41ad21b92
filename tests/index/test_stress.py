"""Trees that nobody writes by hand: odd bytes, odd folders, every syntax, great size. No file costs the others theirs."""

from __future__ import annotations

import ast
import errno
import os
import sys
import textwrap
import time
from pathlib import Path

import pytest

from warpfix.cli import main
from warpfix.output.scan_result import ScanResult
from warpfix.project import discover
from warpfix.scanning import scan_paths

# A kernel that is the same at every call, made in a function: one finding wherever it can be read.
FAULT = """\
import warp as wp


@wp.kernel
def first(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0


def run(x):
    @wp.kernel
    def again(y: wp.array(dtype=float)):
        y[wp.tid()] = 2.0

    wp.launch(again, dim=x.shape[0], inputs=[x])
"""


def scan(*paths: Path) -> ScanResult:
    return scan_paths(paths, select=["WF101"])[1]


def put(root: Path, name: str, source: str | bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


# ---- bytes

BYTES = {
    "byte order mark": b"\xef\xbb\xbf" + FAULT.encode(),
    "Windows line ends": FAULT.replace("\n", "\r\n").encode(),
    "old Mac line ends": FAULT.replace("\n", "\r").encode(),
    "Latin-1 by its cookie": b"# -*- coding: latin-1 -*-\n# \xe9\xe8\n" + FAULT.encode(),
    "form feeds": FAULT.replace("\n\n\n", "\n\x0c\n\n").encode(),
    "no line end at the end": FAULT.rstrip().encode(),
    "one line of a megabyte": FAULT.encode() + b"t = [" + b"1, " * 350_000 + b"]\n",
    "a name that is no ASCII": FAULT.replace("first", "fürst").encode(),
}


@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in BYTES.items()])
def test_bytes_that_python_reads_are_read(root: Path, source: bytes) -> None:
    put(root, "mod.py", source)
    result = scan(root)
    assert result.problems == ()
    assert [finding.kernel for finding in result.findings] == ["run.<locals>.again"]


BROKEN = {
    "syntax error": FAULT + "def (:\n",
    "NUL byte": FAULT.encode() + b"\x00\n",
    "bytes that UTF-8 does not have": FAULT.encode() + b"# \xe9\n",
    "unknown encoding": b"# coding: nobodys\n" + FAULT.encode(),
    "deeper than Python's parser": FAULT + "x = " + "(" * 3000 + "1" + ")" * 3000 + "\n",
}


@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in BROKEN.items()])
def test_broken_file_costs_only_itself(root: Path, source: str | bytes) -> None:
    put(root, "bad.py", source)
    put(root, "good.py", FAULT)
    result = scan(root)
    assert [Path(problem.path).name for problem in result.problems] == ["bad.py"]
    assert [Path(finding.path).name for finding in result.findings] == ["good.py"]


@pytest.mark.parametrize(
    "deep",
    [
        pytest.param("total = " + " + ".join(["1"] * 900), id="a long sum"),
        pytest.param("total = " + ".f()".join(["x"] * 300), id="a long chain of calls"),
        pytest.param("if x:\n    pass\n" + "elif x:\n    pass\n" * 900, id="a long elif"),
        pytest.param(
            "\n".join("    " * depth + f"def f{depth}():" for depth in range(90)) + "\n" + "    " * 90 + "pass",
            id="functions in functions",
        ),
    ],
)
def test_deep_nesting_is_analysed_or_reported(root: Path, deep: str) -> None:
    put(root, "deep.py", FAULT + "\n\n" + deep + "\n")
    put(root, "good.py", FAULT)
    result = scan(root)
    assert "good.py" in [Path(finding.path).name for finding in result.findings]
    read = {Path(item.path).name for item in (*result.findings, *result.problems)}
    assert read == {"deep.py", "good.py"}


@pytest.mark.parametrize("source", [b"", b"\n", b"\xef\xbb\xbf", b"# nothing\n"])
def test_empty_file(root: Path, source: bytes) -> None:
    put(root, "empty.py", source)
    result = scan(root)
    assert (result.findings, result.problems) == ((), ())


# ---- folders


def test_linked_folders_and_pipes_do_not_hang_a_scan(root: Path) -> None:
    put(root, "pkg/mod.py", FAULT)
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    (root / "pkg" / "again").symlink_to(root, target_is_directory=True)
    (root / "pkg" / "gone.py").symlink_to(root / "nowhere.py")
    (root / "pkg" / "itself.py").symlink_to(root / "pkg" / "itself.py")
    (root / "pkg" / "self").symlink_to(root / "pkg" / "self", target_is_directory=True)
    os.mkfifo(root / "pkg" / "pipe.py")
    result = scan(root)
    assert result.problems == ()
    assert len(result.findings) == 1


def test_folder_that_may_not_be_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "mod.py", FAULT)
    closed = root / "closed"
    closed.mkdir()
    closed.chmod(0)
    if os.access(closed, os.R_OK):
        # A user who may read everything: what the system says to others is said in its stead.
        plain = os.scandir

        def refuse(path: str) -> object:
            if Path(path) == closed:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return plain(path)

        monkeypatch.setattr(os, "scandir", refuse)
    try:
        result = scan(root)
    finally:
        closed.chmod(0o700)
    assert [problem.path for problem in result.problems] == [str(closed)]
    assert len(result.findings) == 1


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no file here that even its owner can't read")
def test_file_that_can_not_be_read(root: Path) -> None:
    put(root, "mod.py", FAULT)
    (root / "closed.py").symlink_to("/proc/self/mem")
    result = scan(root)
    assert [Path(problem.path).name for problem in result.problems] == ["closed.py"]
    assert len(result.findings) == 1


def test_pyproject_below_the_named_folder_is_a_project_of_its_own(root: Path) -> None:
    put(root, "outer.py", FAULT)
    put(root, "inner/pyproject.toml", '[tool.warpfix]\nignore = ["WF101"]\n')
    put(root, "inner/mod.py", FAULT)
    put(root, "inner/deeper/pyproject.toml", "")
    put(root, "inner/deeper/mod.py", FAULT)
    projects = discover([root])
    assert [Path(project.root) for project in projects] == [root, root / "inner", root / "inner/deeper"]
    assert [len(project.files) for project in projects] == [1, 1, 1]
    found = [Path(finding.path) for finding in scan(root).findings]
    assert found == [root / "outer.py", root / "inner/deeper/mod.py"]


def test_order_of_the_paths_changes_nothing(root: Path) -> None:
    paths = [put(root, f"pkg/m{number}.py", FAULT) for number in range(6)]
    forwards, backwards = scan(*paths), scan(*reversed(paths))
    assert len(forwards.findings) == 6
    assert forwards.findings == backwards.findings == scan(root).findings


# ---- a file that was named


def test_named_file_that_can_not_be_parsed_is_said_even_without_warp(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(root, "plain.py", "def (:\n")
    with pytest.raises(SystemExit) as ended:
        main(["scan", str(path)])
    assert ended.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "plain.py:1: not parsed" in lines[0]


def test_folder_with_a_broken_file_without_warp_is_silent(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(root, "plain.py", "def (:\n")
    with pytest.raises(SystemExit) as ended:
        main(["scan", str(root)])
    assert ended.value.code == 0
    assert capsys.readouterr().err == ""


# ---- syntax

SYNTAX = [
    (
        (3, 10),
        "match",
        "match 1:\n    case {'a': 1, **rest} if rest: pass\n    case [1, *more]: pass\n    case _: pass",
    ),
    ((3, 10), "walrus", "def f(a):\n    return [y := a, *(z for z in a if (w := z))]"),
    ((3, 10), "positional only", "def f(a, /, b, *, c=1, **d): return lambda x, /, *y: (a, b, c, d, x, y)"),
    ((3, 10), "async comprehension", "async def f(a):\n    return [x async for x in a if await x]"),
    ((3, 10), "parenthesised with", "def f(a):\n    with (open(a) as b, open(a) as c):\n        return b, c"),
    ((3, 11), "except star", "try:\n    pass\nexcept* (ValueError, OSError) as group:\n    print(group)"),
    ((3, 11), "star in a subscript", "def f(*args: *tuple[int, ...]): return args[*args]"),
    (
        (3, 12),
        "type parameters",
        "def f[T: int, *Ts, **P](x: T) -> T: return x\nclass C[T]:\n    def m(self) -> T: ...",
    ),
    ((3, 12), "type statement", "type Pair[T] = tuple[T, T]"),
    ((3, 12), "f-strings in f-strings", "name = 'x'\nt = f'{f'{name!r:>{len(name)}}'}'"),
    ((3, 13), "type parameter with a default", "class C[T = int]: ..."),
]


@pytest.mark.parametrize("since, code", [pytest.param(since, code, id=name) for since, name, code in SYNTAX])
def test_syntax_is_read(root: Path, since: tuple[int, int], code: str) -> None:
    if sys.version_info < since:
        pytest.skip(f"Python {since[0]}.{since[1]} has it")
    # Once at module scope, once around the kernel: both walks, that over statements and that over names, meet it.
    inside = FAULT.replace(
        "    @wp.kernel\n    def again", textwrap.indent(code, "    ") + "\n\n    @wp.kernel\n    def again"
    )
    put(root, "outside.py", FAULT + "\n\n" + code + "\n")
    put(root, "inside.py", inside)
    result = scan(root)
    assert result.problems == ()
    assert sorted(Path(finding.path).name for finding in result.findings) == ["inside.py", "outside.py"]


# ---- size


def make_tree(root: Path, files: int, functions: int = 3) -> list[Path]:
    """A package of modules that import Warp, each other, and do what programs do."""
    paths = []
    for number in range(files):
        body = [f"import warp as wp\n\nfrom pkg import m{(number + 1) % files} as other\n\nSIZE = {number}\n"]
        for place in range(functions):
            body.append(
                f"\n\n@wp.kernel\ndef k{place}(x: wp.array(dtype=float), s: float):\n    i = wp.tid()\n"
                f"    x[i] = x[i] * s + float(i) * {place}.0\n\n\nclass C{place}:\n    def __init__(self, n, device=None):\n"
                f"        self.n = n\n        self.x = wp.zeros(n, dtype=float, device=device)\n\n    def step(self, dt):\n"
                f"        for i in range(self.n):\n            if i % 2 == 0 and dt > 0.0:\n"
                f"                wp.launch(k{place}, dim=self.n, inputs=[self.x, dt], device=self.x.device)\n"
                f"            else:\n                other.helper(self.x, scale=[a + b for a, b in zip(range(3), [i, 1, 2])])\n"
            )
        body.append("\n\ndef helper(x, scale):\n    return x\n")
        paths.append(put(root, f"pkg/m{number}.py", "".join(body)))
    put(root, "pkg/__init__.py", "")
    return paths


def test_scan_takes_a_small_multiple_of_parsing(root: Path) -> None:
    """Cost as a ratio to ``ast.parse`` of the same files in the same process, so that no machine is too slow for it.

    The benchmarks hold the scan to half of this bound; this one is here to catch what grows out of all proportion.
    """
    sources = [path.read_text() for path in make_tree(root, 300)]
    ratios = []
    for _ in range(2):
        started = time.process_time()
        for source in sources:
            ast.parse(source)
        parsed = time.process_time()
        result = scan_paths([root])[1]
        ratios.append((time.process_time() - parsed) / (parsed - started))
        assert result.projects[0].warp_files >= 300
    assert min(ratios) < 5.0, ratios


@pytest.mark.corpus
def test_ten_thousand_files(root: Path) -> None:
    paths = make_tree(root, 10_000, functions=2)
    paths[5000].write_text(FAULT)
    result = scan(root)
    assert result.problems == ()
    assert [finding.path for finding in result.findings] == [str(paths[5000])]


@pytest.mark.corpus
def test_fifty_thousand_lines_in_one_file(root: Path) -> None:
    more = "".join(
        f"\n\ndef g{number}(x):\n    y = x + {number}\n    return wp.zeros(y, dtype=float)\n" for number in range(9_000)
    )
    path = put(root, "big.py", FAULT + more)
    assert path.read_text().count("\n") > 45_000
    result = scan(root)
    assert result.problems == ()
    assert len(result.findings) == 1
