"""Serves edited source under the original path, so that a program can be run as if its files had been edited.

Everything in Python that turns a file into code or shows its source gets the edited bytes: the import system (which
then neither reads nor writes bytecode for these files), ``python script.py``, ``-m``, ``runpy``, ``multiprocessing``,
pytest's assertion rewriter, ``linecache``, ``inspect``, ``tokenize.open`` and ``io.open_code``. Reads of the file as
data (``open``) see the disk.

An audit hook watches what is executed under an overlaid name, so that a file served by halves (text from one version,
code from the other) can't pass for the edited one.
"""

import hashlib
import io
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import Any  # noqa: F401 - in type comments

from . import importing

ORIGINAL = "original"
"""What ``record`` gets in place of a digest when code of an overlaid file ran that does not come from the overlay."""


class _Overlay:
    """The files, and what is known of the code that came from them."""

    def __init__(self, files, record):
        # type: (dict[str, bytes], object) -> None
        self.report = record
        self.by_real = {}  # type: dict[str, tuple[str, bytes, str]]
        for path, data in files.items():
            real = os.path.normcase(os.path.realpath(path))
            self.by_real[real] = (path, data, hashlib.sha256(data).hexdigest())
        self.basenames = {os.path.basename(real) for real in self.by_real}
        self.codes = []  # type: list[object]
        self.compiled = {}  # type: dict[str, str]
        self.unmarshalled = False
        self.told = set()  # type: set[tuple[str, str]]
        self.main_code = None  # type: object
        self.main_loader = None  # type: object
        self.main_runs = False

    def find(self, path):
        # type: (object) -> tuple[str, bytes, str] | None
        """The entry that serves ``path``, through symlinks, hard links and relative spellings."""
        try:
            text = os.fsdecode(path)  # type: ignore[arg-type]
            if not text or text[0] == "<":
                return None
            if os.path.normcase(os.path.basename(text)) not in self.basenames and not os.path.islink(text):
                return None
            real = os.path.normcase(os.path.realpath(text))
        except (TypeError, ValueError, OSError):
            return None
        entry = self.by_real.get(real)
        if entry is not None or os.path.basename(real) not in self.basenames:
            return entry
        # An editable install of the strict kind may be a tree of hard links.
        for other, entry in self.by_real.items():
            if os.path.basename(other) == os.path.basename(real):
                try:
                    if os.path.samefile(other, real):
                        return entry
                except OSError:
                    pass
        return None

    def tell(self, path, digest):
        # type: (str, str) -> None
        if (path, ORIGINAL) in self.told or (path, digest) in self.told:
            return
        self.told.add((path, digest))
        self.report(path, digest)  # type: ignore[operator]

    def served(self, code):
        # type: (object) -> object
        """Remember that ``code`` was compiled from the overlay; what runs is recorded when it runs."""
        self.codes.append(code)
        return code

    def audit(self, event, args):
        # type: (str, tuple[object, ...]) -> None
        if event == "exec":
            code = args[0]
            if getattr(code, "co_name", "") != "<module>":
                return
            unmarshalled, self.unmarshalled = self.unmarshalled, False
            if code is self.main_code:
                self.main_code, self.main_runs = None, True
                self.become_main()
            entry = self.find(getattr(code, "co_filename", ""))
            if entry is None:
                return
            compiled = self.compiled.pop(entry[0], None)
            if any(code is known for known in self.codes):
                self.tell(entry[0], entry[2])
            elif compiled is not None:
                self.tell(entry[0], compiled)
            elif unmarshalled:
                self.tell(entry[0], ORIGINAL)
            # Else it was compiled from a syntax tree: where that came from can't be seen here.
        elif event == "marshal.loads":
            self.unmarshalled = True
        elif event == "compile":
            source, name = args
            entry = self.find(name) if name else None
            if entry is not None and source is not None:
                same = source in (entry[1], _decoded(entry[1]), _decoded(entry[1]).encode())
                self.compiled[entry[0]] = entry[2] if same else ORIGINAL

    def become_main(self):
        # type: () -> None
        """Give ``__main__`` what it has when C, not runpy, runs a script; called right before its first statement."""
        names = sys.modules["__main__"].__dict__
        names["__spec__"] = None
        names["__package__"] = None
        names["__cached__"] = None


def _decoded(data):
    # type: (bytes) -> str
    import importlib.util

    try:
        return importlib.util.decode_source(data)
    except (SyntaxError, UnicodeDecodeError):
        return ""


def install(files, record):
    # type: (dict[str, bytes], object) -> None
    """Serve ``files`` in this process from now on.

    Args:
        files: Absolute path to the bytes that stand for the file.
        record: Called with (path as given in ``files``, SHA-256 of the bytes that ran) when a version of a file starts
            to run for the first time; with ``ORIGINAL`` for the digest when it was not the overlay's, and from then on
            nothing more for that path.
    """
    if not files:
        return
    overlay = _Overlay(files, record)
    _serve_imports(overlay)
    _serve_readers(overlay)
    _serve_runpy(overlay)
    _serve_script(overlay)
    _serve_tracebacks(overlay)
    importing.when_executed(("_pytest.assertion.rewrite",), lambda module: _serve_pytest(overlay, module))

    def hook(event, args):
        # type: (str, tuple[object, ...]) -> None
        if event == "exec" or event == "compile" or event == "marshal.loads":
            try:  # noqa: SIM105
                overlay.audit(event, args)
            except Exception:
                pass  # what an audit hook raises would stop the program

    sys.addaudithook(hook)


def _serve_imports(overlay):
    # type: (_Overlay) -> None
    get_data, get_code = SourceFileLoader.get_data, SourceFileLoader.get_code

    def overlaid_get_data(self, path):
        # type: (SourceFileLoader, str) -> bytes
        entry = overlay.find(path)
        # py_compile would put our code into a .pyc that claims to belong to the file on disk.
        if entry is None or sys._getframe(1).f_globals.get("__name__") == "py_compile":
            return get_data(self, path)
        return entry[1]

    def overlaid_get_code(self, fullname):
        # type: (SourceFileLoader, str) -> object
        path = self.get_filename(fullname)
        entry = overlay.find(path)
        if entry is None:
            return get_code(self, fullname)
        code = overlay.served(self.source_to_code(entry[1], path))
        if self is overlay.main_loader:
            overlay.main_code = code
        return code

    overlaid_get_data.__name__ = "get_data"
    overlaid_get_code.__name__ = "get_code"
    SourceFileLoader.get_data = overlaid_get_data  # type: ignore[method-assign,assignment]
    SourceFileLoader.get_code = overlaid_get_code  # type: ignore[method-assign,assignment]


def _serve_readers(overlay):
    # type: (_Overlay) -> None
    import linecache
    import tokenize

    open_code, open_source = io.open_code, tokenize.open

    def overlaid_open_code(path):
        # type: (str) -> object
        entry = overlay.find(path)
        return open_code(path) if entry is None else io.BytesIO(entry[1])

    def overlaid_open_source(filename):
        # type: (Any) -> Any
        entry = overlay.find(filename)
        if entry is None:
            return open_source(filename)
        buffer = io.BytesIO(entry[1])
        encoding, _ = tokenize.detect_encoding(buffer.readline)
        buffer.seek(0)
        text = io.TextIOWrapper(buffer, encoding, line_buffering=True)  # type: Any
        text.mode = "r"
        return text

    io.open_code = overlaid_open_code  # type: ignore[assignment]
    # linecache reads files through it, and so do inspect and traceback.
    tokenize.open = overlaid_open_source
    for name in [name for name in linecache.cache if overlay.find(name) is not None]:
        del linecache.cache[name]


def _serve_runpy(overlay):
    # type: (_Overlay) -> None
    """``runpy.run_path``, which also starts the children of ``multiprocessing``."""

    def patch(module):
        # type: (Any) -> bool
        original = getattr(module, "_get_code_from_file", None)
        if original is None:
            return True

        def get_code_from_file(*args):
            # type: (Any) -> object
            # (run_name, fname) -> (code, fname) up to 3.11, (fname) -> code since.
            fname = args[-1]
            entry = overlay.find(fname)
            if entry is None:
                return original(*args)
            code = overlay.served(compile(entry[1], os.fsdecode(fname), "exec", dont_inherit=True))
            return (code, fname) if returns_pair else code

        returns_pair = original.__code__.co_argcount == 2
        module._get_code_from_file = get_code_from_file
        return True

    importing.when_executed(("runpy",), patch)


def _serve_script(overlay):
    # type: (_Overlay) -> None
    """``python script.py``: C asks ``sys.path_hooks`` about the script before it would open the file itself."""

    class Script:
        """Finds ``__main__`` in what is now ``sys.path[0]``: the script itself."""

        def __init__(self, path):
            # type: (str) -> None
            self.path = path

        def find_spec(self, name, target=None):
            # type: (str, object) -> ModuleSpec | None
            if name != "__main__":
                return None
            self.leave_no_trace()
            overlay.main_loader = SourceFileLoader("__main__", self.path)
            return ModuleSpec("__main__", overlay.main_loader, origin=self.path)

        def leave_no_trace(self):
            # type: () -> None
            sys.path_importer_cache.pop(self.path, None)
            if sys.path and sys.path[0] == self.path:
                if getattr(sys.flags, "safe_path", False):
                    del sys.path[0]
                else:
                    sys.path[0] = os.path.dirname(os.path.realpath(self.path))

    def hook(path):
        # type: (str) -> Script
        # No Python frame below: C asks, before it runs the script. runpy.run_path, say, is served elsewhere.
        if sys._getframe().f_back is None and overlay.find(path) is not None:
            sys.path_hooks.remove(hook)
            return Script(path)
        raise ImportError("not a script of the overlay", path=path)

    sys.path_hooks.insert(0, hook)


def _serve_tracebacks(overlay):
    # type: (_Overlay) -> None
    """The traceback that ends a program: the lines that ran, and no frame of runpy below a script."""
    import traceback

    original = sys.excepthook

    def overlaid_excepthook(kind, value, trace):
        # type: (Any, Any, Any) -> None
        try:
            if overlay.main_loader is not None:
                while trace is not None and (not overlay.main_runs or _name_of(trace) == "runpy"):
                    trace = trace.tb_next
                value.__traceback__ = trace
            # Up to 3.12, C shows a traceback and reads the file itself.
            if sys.version_info < (3, 13):
                traceback.print_exception(kind, value, trace)
                return
        except Exception:
            pass  # the original hook shows it then
        original(kind, value, trace)

    sys.excepthook = sys.__excepthook__ = overlaid_excepthook


def _name_of(trace):
    # type: (Any) -> object
    return trace.tb_frame.f_globals.get("__name__")


def _serve_pytest(overlay, module):
    # type: (_Overlay, Any) -> bool
    """pytest reads, rewrites and caches test modules itself: give it our bytes, and neither stale nor new bytecode."""
    import ast

    try:
        rewrite_test, read_pyc, write_pyc = module._rewrite_test, module._read_pyc, module._write_pyc
    except AttributeError:
        return True  # a version that we don't know: the audit hook tells if code of the disk runs

    def overlaid_rewrite_test(fn, config):
        # type: (Any, Any) -> object
        entry = overlay.find(fn)
        if entry is None:
            return rewrite_test(fn, config)
        path = os.fspath(fn)
        tree = ast.parse(entry[1], filename=path)
        module.rewrite_asserts(tree, entry[1], path, config)
        return os.stat(path), overlay.served(compile(tree, path, "exec", dont_inherit=True))

    def overlaid_read_pyc(source, *rest, **named):
        # type: (object, object, object) -> object
        return read_pyc(source, *rest, **named) if overlay.find(source) is None else None

    def overlaid_write_pyc(state, co, *rest, **named):
        # type: (Any, Any, Any, Any) -> object
        return write_pyc(state, co, *rest, **named) if overlay.find(co.co_filename) is None else False

    module._rewrite_test = overlaid_rewrite_test
    module._read_pyc = overlaid_read_pyc
    module._write_pyc = overlaid_write_pyc
    return True
