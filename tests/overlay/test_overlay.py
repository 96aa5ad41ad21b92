"""The overlay: what runs, what is shown, and what is told, in every way in which Python starts code."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Overlaid

SCRIPT = """\
import sys
def where():
    return "{which}"
print(where(), __name__, __file__, __spec__, __package__, __cached__, type(__loader__).__name__, sys.path[0], sys.argv)
"""
SHOW = """\
import inspect, sys
import mod
print(mod.value(), inspect.getsource(mod.value).strip().splitlines()[-1].strip())
"""
MOD = "def value():\n    return 'old'\n"
EDITED_MOD = "# one line more\n\ndef value():\n    return 'new'\n"


def pycs(folder: Path) -> list[str]:
    return sorted(path.name.split(".")[0] for path in folder.rglob("*.pyc"))


# What must stay as it is.


def test_without_edits_nothing_is_installed(overlaid: Overlaid) -> None:
    text = "import io, sys\nprint(io.open_code.__module__, len(sys.path_hooks), sys.excepthook.__name__)\n"
    overlaid.write("a.py", text)
    with_it, without = overlaid.run("a.py"), overlaid.run("a.py", overlay=False)
    assert with_it.stdout == without.stdout
    assert overlaid.records() == {}


def test_other_files_are_not_touched(overlaid: Overlaid) -> None:
    overlaid.write("served.py", MOD, EDITED_MOD)
    overlaid.write("mod.py", MOD)
    overlaid.write("show.py", SHOW)
    assert overlaid.run("show.py").stdout == "old return 'old'\n"
    assert overlaid.records() == {}
    assert pycs(overlaid.project) == ["mod"]


def test_a_read_as_data_sees_the_disk(overlaid: Overlaid) -> None:
    path = overlaid.write("mod.py", MOD, EDITED_MOD)
    assert overlaid.run("-c", f"print(open({str(path)!r}).read(), end='')").stdout == MOD
    assert overlaid.records() == {}


def test_a_file_that_is_never_executed_is_not_recorded(overlaid: Overlaid) -> None:
    overlaid.write("mod.py", MOD, EDITED_MOD)
    code = "import linecache, py_compile; linecache.getlines('mod.py'); py_compile.compile('mod.py')"
    assert overlaid.run("-c", code).returncode == 0
    assert overlaid.records() == {}


def test_a_script_sees_the_same_world_as_without(each_python: Overlaid) -> None:
    # The edited text is equal to the original: then everything printed must be equal, too.
    text = SCRIPT.format(which="same")
    each_python.write("script.py", text, text)
    without = each_python.run("script.py", "arg", overlay=False)
    with_it = each_python.run("script.py", "arg")
    assert with_it.stdout == without.stdout
    assert (with_it.returncode, with_it.stderr) == (0, "")
    assert each_python.records() == {"script.py": ["edited"]}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def f():\n    raise ValueError('x')\nf()\n", id="exception"),
        pytest.param("import sys\nsys.exit(7)\n", id="exit status"),
        pytest.param("import sys\nsys.exit('message')\n", id="exit message"),
        pytest.param("try:\n    1/0\nexcept Exception:\n    import traceback; traceback.print_exc()\n", id="caught"),
        pytest.param("try:\n    1/0\nexcept Exception as e:\n    raise KeyError('k') from e\n", id="chained"),
        pytest.param("import mod\nmod.fail()\n", id="in an import"),
    ],
)
def test_tracebacks_and_exit_statuses_are_as_without(overlaid: Overlaid, text: str) -> None:
    overlaid.write("mod.py", "def fail():\n    raise OSError(3, 'no')\n")
    overlaid.write("script.py", text, text)
    without, with_it = overlaid.run("script.py", overlay=False), overlaid.run("script.py")
    assert (with_it.returncode, with_it.stdout, with_it.stderr) == (without.returncode, without.stdout, without.stderr)


def test_a_traceback_shows_the_lines_that_ran(each_python: Overlaid) -> None:
    each_python.write("mod.py", "def f():\n    pass\n", "# more\ndef f():\n    raise ValueError('edited')\n")
    each_python.write("script.py", "import mod\nmod.f()\n", "import mod\n\n\nmod.f()  # the call\n")
    error = each_python.run("script.py").stderr
    assert "mod.f()  # the call" in error and "raise ValueError('edited')" in error
    assert "runpy" not in error


# Every way in which code starts.


def test_a_script_runs_edited(each_python: Overlaid) -> None:
    each_python.write("script.py", SCRIPT.format(which="old"), SCRIPT.format(which="new"))
    assert each_python.run("script.py").stdout.startswith("new __main__ ")
    assert each_python.records() == {"script.py": ["edited"]}


def test_an_import_runs_edited_though_its_bytecode_is_there(each_python: Overlaid) -> None:
    each_python.write("mod.py", MOD)
    each_python.write("show.py", SHOW)
    assert each_python.run("show.py", overlay=False).stdout == "old return 'old'\n"
    assert pycs(each_python.project) == ["mod"]
    each_python.edits[str(each_python.project / "mod.py")] = EDITED_MOD.encode()
    assert each_python.run("show.py").stdout == "new return 'new'\n"
    assert each_python.records() == {"mod.py": ["edited"]}
    # And what it leaves behind is the original's: the next plain run is the old program.
    assert each_python.run("show.py", overlay=False).stdout == "old return 'old'\n"


def test_bytecode_is_never_written_for_an_edited_file(overlaid: Overlaid) -> None:
    overlaid.write("mod.py", MOD, EDITED_MOD)
    overlaid.write("show.py", SHOW)
    overlaid.run("show.py")
    assert pycs(overlaid.project) == []


def test_py_compile_writes_the_code_of_the_disk(overlaid: Overlaid) -> None:
    overlaid.write("mod.py", MOD, EDITED_MOD)
    overlaid.write("show.py", SHOW)
    overlaid.run("-m", "compileall", "-q", ".")
    overlaid.edits.clear()
    assert overlaid.run("show.py", overlay=False).stdout == "old return 'old'\n"


@pytest.mark.parametrize("args", [("-m", "pkg.mod"), ("-m", "pkg")], ids=["module", "package"])
def test_dash_m(each_python: Overlaid, args: tuple[str, ...]) -> None:
    each_python.write("pkg/__init__.py", "")
    name = "pkg/mod.py" if args[-1] == "pkg.mod" else "pkg/__main__.py"
    each_python.write(name, "print('old')", "print('new', __spec__.name, __name__)")
    stdout = each_python.run(*args).stdout
    assert stdout.startswith("new pkg.") and stdout.endswith(" __main__\n")
    assert each_python.records() == {Path(name).name: ["edited"]}


def test_runpy_and_multiprocessing(each_python: Overlaid) -> None:
    each_python.write("by_path.py", "print('old')", "print('new', __name__)")
    script = """\
import multiprocessing, runpy
WORD = "{which}"
def child(queue):
    queue.put(WORD)
if __name__ == "__main__":
    runpy.run_path("by_path.py", run_name="given")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get(timeout=60))
    process.join()
"""
    each_python.write("script.py", script.format(which="old"), script.format(which="new"))
    done = each_python.run("script.py")
    assert (done.stdout, done.stderr) == ("new given\nnew\n", "")
    # Twice: the parent and the child.
    assert each_python.records() == {"by_path.py": ["edited"], "script.py": ["edited", "edited"]}


def test_a_symlinked_script_and_a_symlinked_folder(each_python: Overlaid, tmp_path: Path) -> None:
    each_python.write("src/mod.py", MOD, EDITED_MOD)
    script = "import mod, sys; print('{}', mod.value(), sys.path[0], __file__)"
    each_python.write("src/script.py", script.format("old"), script.format("new"))
    (each_python.project / "link.py").symlink_to("src/script.py")
    (each_python.project / "folder").symlink_to("src")
    src = os.path.realpath(each_python.project / "src")
    for name in ("link.py", "folder/script.py"):
        # __file__ is relative before Python 3.9.
        word, value, first, file = each_python.run(name).stdout.split()
        assert (word, value, first) == ("new", "new", src)
        assert file.endswith(name)


def test_a_script_with_its_own_encoding_and_line_endings(overlaid: Overlaid) -> None:
    lines = ["# -*- coding: latin-1 -*-", "import inspect", "def f():", "    return '\xe9{}'"]
    text = "\r\n".join([*lines, "print(ascii(f()), ascii(inspect.getsource(f)))", ""])
    overlaid.write("script.py", text.format("old").encode("latin-1"), text.format("new").encode("latin-1"))
    without_bom = overlaid.run("script.py").stdout
    assert without_bom == "'\\xe9new' \"def f():\\n    return '\\xe9new'\\n\"\n"
    overlaid.write("bom.py", b"print('old')", b"\xef\xbb\xbfprint('new')\n")
    assert overlaid.run("bom.py").stdout == "new\n"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="-P came with Python 3.11")
def test_safe_path_keeps_the_folder_of_the_script_off_the_path(overlaid: Overlaid) -> None:
    text = "import sys, os; print(os.path.dirname(__file__) in sys.path, __file__ in sys.path)"
    overlaid.write("script.py", "", text)
    assert overlaid.run("-P", "script.py").stdout == "False False\n"


def test_a_script_that_is_not_overlaid_runs_as_ever(overlaid: Overlaid) -> None:
    overlaid.write("mod.py", MOD, EDITED_MOD)
    overlaid.write("script.py", "import mod, sys; print(mod.value(), sys.path[0], __spec__)")
    assert overlaid.run("script.py").stdout == f"new {os.path.realpath(overlaid.project)} None\n"


def test_a_change_of_folder_does_not_bring_back_the_original(overlaid: Overlaid) -> None:
    overlaid.write("mod.py", MOD, EDITED_MOD)
    overlaid.write("elsewhere/mod.py", "x = 1\n")
    code = "import mod, inspect, os, linecache; os.chdir('elsewhere'); linecache.clearcache()\n"
    code += "print(inspect.getsource(mod.value).splitlines()[-1])"
    assert overlaid.run("-c", code).stdout == "    return 'new'\n"


def test_linecache_keeps_the_edited_text(each_python: Overlaid) -> None:
    each_python.write("mod.py", MOD, EDITED_MOD)
    code = """\
import inspect, linecache, mod
def lazy():
    linecache.lazycache(mod.__file__, vars(mod))
for step in (lambda: None, linecache.clearcache, linecache.checkcache, lazy):
    step()
    print(inspect.getsource(mod.value).split()[-1], linecache.getline(mod.__file__, 1).strip())
"""
    each_python.write("script.py", code)
    assert each_python.run("script.py").stdout == "'new' # one line more\n" * 4


def test_cprofile_reads_the_script_through_open_code(overlaid: Overlaid) -> None:
    overlaid.write("script.py", "print('old')", "print('new')")
    assert overlaid.run("-m", "cProfile", "script.py").stdout.startswith("new\n")
    assert overlaid.records() == {"script.py": ["edited"]}


def test_reload_and_a_loader_of_ones_own(overlaid: Overlaid) -> None:
    overlaid.write("mod.py", MOD, EDITED_MOD)
    code = """\
import importlib, importlib.util, mod
from importlib.machinery import SourceFileLoader
importlib.reload(mod)
class Mine(SourceFileLoader):
    def source_to_code(self, data, path, **rest):
        return super().source_to_code(data.replace(b"new", b"mine"), path, **rest)
spec = importlib.util.spec_from_loader("other", Mine("other", mod.__file__))
other = importlib.util.module_from_spec(spec); spec.loader.exec_module(other)
print(mod.value(), other.value())
"""
    overlaid.write("script.py", code)
    assert overlaid.run("script.py").stdout == "new mine\n"


# A file served by halves is told.


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("exec(compile(open('mod.py').read(), 'mod.py', 'exec'), {})", id="compiled from the disk"),
        pytest.param(
            "import marshal; exec(marshal.loads(open('mod.bin', 'rb').read()[16:]), {})", id="bytecode of its own"
        ),
        pytest.param(
            "import importlib, mod\nexec(compile(open('mod.py').read(), mod.__file__, 'exec'), {}); importlib.reload(mod)",
            id="both",
        ),
    ],
)
def test_the_original_is_told_when_it_runs(overlaid: Overlaid, code: str) -> None:
    path = overlaid.write("mod.py", MOD)
    py_compile.compile(str(path), cfile=str(overlaid.project / "mod.bin"), dfile=str(path))
    overlaid.edits[str(path)] = EDITED_MOD.encode()
    assert overlaid.run("-c", code).returncode == 0
    assert overlaid.records()["mod.py"][-1] == "original"


def test_code_made_from_a_syntax_tree_is_not_taken_for_the_original(overlaid: Overlaid) -> None:
    overlaid.write("mod.py", MOD, EDITED_MOD)
    code = "import ast, mod; exec(compile(ast.parse('x = 1'), mod.__file__, 'exec'), {})"
    assert overlaid.run("-c", code).returncode == 0
    assert overlaid.records() == {"mod.py": ["edited"]}


# Installs and pytest.


def test_a_tree_of_hard_links(overlaid: Overlaid) -> None:
    """As a strict editable install may make it."""
    path = overlaid.write("src/mod.py", MOD, EDITED_MOD)
    links = overlaid.project / "links"
    links.mkdir()
    try:
        os.link(path, links / "mod.py")
    except OSError:
        pytest.skip("no hard links here")
    overlaid.write("links/show.py", SHOW)
    assert overlaid.run("links/show.py").stdout == "new return 'new'\n"


PYPROJECT = """\
[project]
name = "editable-sample"
version = "1"
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[tool.setuptools.packages.find]
where = ["src"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_an_editable_install(overlaid: Overlaid, tmp_path: Path, mode: str) -> None:
    overlaid.write("pyproject.toml", PYPROJECT)
    overlaid.write("src/editable_sample/__init__.py", "")
    overlaid.write("src/editable_sample/mod.py", MOD, EDITED_MOD)
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target)]
    install += ["--config-settings", f"editable_mode={mode}", "-e", "."]
    done = subprocess.run(install, cwd=overlaid.project, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no editable install here: " + done.stderr.strip().splitlines()[-1])
    code = f"import site; site.addsitedir({str(target)!r})\nimport inspect, editable_sample.mod as mod\n"
    code += "print(mod.value(), inspect.getsource(mod.value).split()[-1])"
    assert overlaid.run("-c", code).stdout == "new 'new'\n"


TEST_FILE = """\
import helper
def test_value():
    value = helper.value()
    assert value == "{expected}"
"""


@pytest.mark.parametrize("options", [(), ("-n", "2"), ("--import-mode=importlib",), ("--assert=plain",)], ids=str)
def test_pytest(overlaid: Overlaid, options: tuple[str, ...]) -> None:
    if "-n" in options:
        pytest.importorskip("xdist")
    overlaid.write("pytest.ini", "[pytest]\npythonpath = .\n")
    overlaid.write("helper.py", "def value():\n    return 'old'\n")
    overlaid.write("test_it.py", TEST_FILE.format(expected="old"))
    run = ("-m", "pytest", "-q", "-p", "no:randomly", *options)
    # Leaves rewritten bytecode behind, that must not be read afterwards.
    assert overlaid.run(*run, overlay=False).returncode == 0
    before = {path: path.read_bytes() for path in overlaid.project.rglob("*.pyc")}
    overlaid.edits[str(overlaid.project / "helper.py")] = b"# a line\ndef value():\n    return 'new'\n"
    overlaid.edits[str(overlaid.project / "test_it.py")] = TEST_FILE.format(expected="other").encode()
    done = overlaid.run(*run)
    assert done.returncode == 1, done.stdout + done.stderr
    if "--assert=plain" not in options:
        assert "AssertionError: assert 'new' == 'other'" in done.stdout
    assert '>       assert value == "other"' in done.stdout
    assert set(overlaid.records()) == {"helper.py", "test_it.py"}
    assert all(digest == "edited" for digests in overlaid.records().values() for digest in digests)
    # No rewritten bytecode of the edited text was left either.
    assert {path: path.read_bytes() for path in overlaid.project.rglob("*.pyc")} == before
    assert overlaid.run(*run, overlay=False).returncode == 0


def test_a_console_script(overlaid: Overlaid, tmp_path: Path) -> None:
    overlaid.write("mod.py", "def main():\n    print('old')\n", "def main():\n    print('new')\n")
    tool = tmp_path / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text("import sys\nfrom mod import main\nsys.exit(main())\n")
    assert overlaid.run(tool, overlay=False).returncode == 1
    shutil.copy(overlaid.project / "mod.py", tool.parent / "mod.py")
    overlaid.edits[str(tool.parent / "mod.py")] = overlaid.edits.pop(str(overlaid.project / "mod.py"))
    assert overlaid.run(tool).stdout == "new\n"
