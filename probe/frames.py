"""Which line of the program is responsible: the first frame outside Warp and outside the probe."""

import importlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_PROBE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_IMPORTS = os.path.dirname(os.path.abspath(importlib.__file__)) + os.sep
_skip = [_PROBE, _IMPORTS]  # type: list[str]
_programs = []  # type: list[str]


def add_internal(folder):
    # type: (str) -> None
    """Take frames of files below ``folder`` (Warp's package) for internals, but for the programs that come with it."""
    folder = os.path.join(os.path.abspath(folder), "")
    if folder not in _skip:
        _skip.append(folder)
        _programs.extend(os.path.join(folder, name, "") for name in ("examples", "tests"))


def is_internal(filename):
    # type: (str) -> bool
    """Whether a code object's file belongs to Warp, the probe or the import system."""
    if filename.startswith("<"):
        return filename.startswith("<frozen")
    if not os.path.isabs(filename):
        filename = os.path.abspath(filename)
    return filename.startswith(tuple(_skip)) and not filename.startswith(tuple(_programs))


def user_line(depth=1, outside=(), only=None):
    # type: (int, Any, Any) -> Any
    """(path, line, function) of the first user frame from ``depth`` callers up, or None.

    ``outside`` holds function names to step over once a user frame was found in them: the factory around a kernel.
    ``only`` limits that to functions of one file.
    """
    try:
        frame = sys._getframe(depth + 1)  # type: Any
    except ValueError:
        return None
    inner = None
    while frame is not None:
        code = frame.f_code
        if not is_internal(code.co_filename):
            found = (code.co_filename, frame.f_lineno, code.co_name)
            if code.co_name not in outside or (only is not None and code.co_filename != only):
                if code.co_filename.endswith(("threading.py", "thread.py")) and "python" in code.co_filename:
                    return inner
                return _absolute(found)
            if inner is None:
                inner = _absolute(found)
        frame = frame.f_back
    return inner


def _absolute(found):
    # type: (tuple[str, int, str]) -> tuple[str, int, str]
    path = found[0]
    if path and not path.startswith("<") and not os.path.isabs(path):
        path = os.path.abspath(path)
    return (path, found[1], found[2])
