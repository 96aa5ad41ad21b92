"""What the index knows of a project. Plain data over ``ast``; built in one walk per file, no Warp imported.

Positions are those of ``ast``: lines from 1, columns in UTF-8 bytes from 0. Qualnames are Python's
(``make.<locals>.scale``, ``Solver.step``). Canonical names are dotted: what ``from warp import kernel as k`` binds
``k`` to is ``warp.kernel``; what a project module re-exports is followed to where it was defined.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Role(str, enum.Enum):
    """Who may run a file's code first."""

    APPLICATION = "application"
    """Reachable only from ``__main__``, scripts or configured entry points."""
    LIBRARY = "library"
    TEST = "test"
    VENDORED = "vendored"


class ModuleChoice(str, enum.Enum):
    """Which Warp module a kernel is created in."""

    DEFAULT = "default"
    """That of its Python module."""
    UNIQUE = "unique"
    NAMED = "named"
    PARAMETER = "parameter"
    """The value of a parameter of an enclosing function; ``Construct.module_default`` is its default, if literal."""
    UNKNOWN = "unknown"
    """An expression, ``**options``, or a wrapper that could not be resolved: never taken for the default."""


@dataclass(frozen=True)
class Construct:
    """A kernel, function or struct definition that Warp sees."""

    kind: str
    """``kernel``, ``func`` or ``struct``."""
    name: str
    qualname: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    decorator: ast.expr | None
    """The Warp decorator itself; None for a call such as ``wp.kernel(f)``."""
    enclosing: tuple[ast.AST, ...]
    """Nodes around the definition, outermost first: functions, classes, ``if``, ``try``, ``with``, loops."""
    module_choice: ModuleChoice
    module_name: str | None = None
    module_parameter: str | None = None
    module_default: str | None = None
    options: Mapping[str, ast.expr] = field(default_factory=dict)
    """Keyword arguments of the decorator other than ``module``."""
    generic: bool = False
    via_wrapper: str | None = None
    """Canonical name of the project's own decorator that wraps ``wp.kernel``, if one was resolved."""

    @property
    def in_function(self) -> bool:
        """Whether it is defined inside a function: a closure kernel."""
        return any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) for node in self.enclosing)


@dataclass(frozen=True)
class OptionSet:
    """A write of Warp options in the source."""

    via: str
    """``config`` (``wp.config.x = v``), ``set_module_options``, ``options`` (``get_module(n).options[k] = v``)."""
    options: Mapping[str, ast.expr]
    """Option name to value expression; empty with ``dynamic`` when the names can't be read."""
    node: ast.stmt
    enclosing: tuple[ast.AST, ...]
    target_module: str | None
    """Warp module name that it reaches; None for ``config`` and for what can't be read."""
    dynamic: bool = False


@dataclass(frozen=True)
class Launch:
    """A ``wp.launch``, ``launch_tiled``, ``force_load`` and the like, that makes modules load."""

    via: str
    kernel: ast.expr | None
    kernel_target: str | None
    """Canonical name of the kernel (``pkg.mod.scale``, ``pkg.mod.make.<locals>.scale``) when it could be resolved."""
    node: ast.Call
    enclosing: tuple[ast.AST, ...]


@dataclass
class FileIndex:
    """One parsed file."""

    path: str
    module: str | None
    """Dotted import name, if the file is importable."""
    text: str
    tree: ast.Module
    role: Role
    imports: dict[str, str] = field(default_factory=dict)
    """Module-scope binding to canonical dotted name."""
    star_imports: list[str] = field(default_factory=list)
    bindings: dict[str, list[ast.AST]] = field(default_factory=dict)
    """Every module-scope binding (any statement that binds the name, in any block at module scope), in order."""
    global_writes: set[str] = field(default_factory=set)
    """Names that some function of the file rebinds through ``global``."""
    constructs: list[Construct] = field(default_factory=list)
    option_sets: list[OptionSet] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)


@dataclass(frozen=True)
class Problem:
    """A file that could not be read or parsed: reported, the run goes on and ends with status 2."""

    path: str
    line: int | None
    message: str
