"""From bytes to text and tree, one file at a time; what goes wrong with one file is a Problem of that file."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from warpfix.index.model import Problem
from warpfix.index.notebook import SUFFIX, read_notebook

if TYPE_CHECKING:
    from warpfix.project import Project


def decode(source: bytes) -> str:
    """The text of a Python file by its BOM or coding cookie (PEP 263), line endings kept, without the BOM.

    Raises:
        SyntaxError: unknown encoding, or a cookie that contradicts the BOM.
        UnicodeDecodeError: bytes that the encoding does not have.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return source.decode(encoding)


def parse(path: str, source: bytes) -> tuple[str, ast.Module] | Problem:
    """Text and tree of a file, or why there are none."""
    try:
        text = decode(source)
        with warnings.catch_warnings():
            # An invalid escape in somebody's docstring is none of our business.
            warnings.simplefilter("ignore")
            return text, ast.parse(text, path)
    except SyntaxError as error:
        return Problem(path, error.lineno, f"not parsed: {error.msg}")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        return Problem(path, line, f"not decoded: {error.reason} ({error.encoding})")
    except LookupError as error:
        return Problem(path, 1, f"not decoded: {error}")
    except ValueError as error:
        return Problem(path, None, f"not parsed: {error}")
    except (RecursionError, MemoryError):
        return Problem(path, None, "not parsed: nested too deeply for Python's own parser")


def read(path: str, overlay: Mapping[str, bytes] = MappingProxyType({})) -> bytes | Problem:
    """The bytes of a file, or why there are none; those of ``overlay`` stand in for what is on disk.

    Of a notebook it is the code of its cells; nothing of one that does not mention Warp: they may hold many pictures.
    """
    raw = read_raw(path, overlay)
    if not path.endswith(SUFFIX) or isinstance(raw, Problem):
        return raw
    if b"warp" not in raw:
        return b""
    try:
        return read_notebook(raw).text.encode("utf-8", "replace")
    except ValueError as error:
        return Problem(path, None, str(error))


def read_all(project: Project) -> dict[str, bytes | Problem]:
    """What :func:`read` gives of each file of a project, in their order."""
    return {path: read(path, project.overlay) for path in project.files}


def read_raw(path: str, overlay: Mapping[str, bytes] = MappingProxyType({})) -> bytes | Problem:
    """The bytes of a file as it is, or why there are none."""
    if path in overlay:
        return overlay[path]
    try:
        return Path(path).read_bytes()
    except OSError as error:
        return Problem(path, None, f"can't be read: {error.strerror or error}")


def check_named(path: str, overlay: Mapping[str, bytes] = MappingProxyType({})) -> Problem | None:
    """What is wrong with a file that was named, whether it has to do with Warp or not."""
    raw = read_raw(path, overlay)
    if isinstance(raw, Problem):
        return raw
    if path.endswith(SUFFIX):
        try:
            raw = read_notebook(raw).text.encode("utf-8", "replace")
        except ValueError as error:
            return Problem(path, None, str(error))
    parsed = parse(path, raw)
    if not isinstance(parsed, Problem):
        return None
    if path not in overlay and Path(path).suffix not in ("", ".py", ".pyw", ".pyi", SUFFIX):
        return Problem(path, None, "not a Python file or notebook")
    return parsed
