"""From bytes to text and tree, one file at a time; what goes wrong with one file is a Problem of that file."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from warpfix.index.model import Problem


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
    """The bytes of a file, or why there are none; those of ``overlay`` stand in for what is on disk."""
    if path in overlay:
        return overlay[path]
    try:
        return Path(path).read_bytes()
    except OSError as error:
        return Problem(path, None, f"can't be read: {error.strerror or error}")
