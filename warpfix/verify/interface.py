"""Invariant 6, from the text: whoever imports the edited files finds every name, callable as before, and nothing new.

Static, so it also holds for names that the measured command never touches. Names that code makes up at run time
(``globals()[name] = ...``, ``setattr``) are not seen.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warpfix.verify.verdict import Check, Outcome

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class _Names:
    """What a module offers: names with the signature where it is a function, and its ``__all__``."""

    signatures: dict[str, set[str]] = field(default_factory=dict)
    exported: frozenset[str] | None = None

    def star(self) -> set[str]:
        """What ``from m import *`` brings."""
        if self.exported is not None:
            return set(self.exported)
        return {name for name in self.signatures if not name.startswith("_") and "." not in name}


def check_interface(
    old: Mapping[str, str], new: Mapping[str, str], star_importers: Iterable[tuple[str, str]] = ()
) -> Check:
    """Compare what the files offer to importers, before and after.

    Args:
        old: Path to text before, of every edited file.
        new: The same paths to the text after.
        star_importers: (path, text) of files that may hold ``from m import *``; which ``m`` is looked at here.
    """
    importers = list(star_importers)
    for path in sorted(new):
        before, after = _names(ast.parse(old[path])), _names(ast.parse(new[path]))
        name = Path(path).name
        lost = sorted(before.signatures.keys() - after.signatures.keys())
        if lost:
            return Check("interface", Outcome.BROKEN, f"{name} has lost the name {lost[0]}")
        if before.exported is not None and after.exported != before.exported:
            return Check("interface", Outcome.BROKEN, f"__all__ of {name} is another")
        for function, signatures in before.signatures.items():
            changed = after.signatures[function]
            if signatures and changed != signatures:
                message = f"{function} of {name} took ({_one(signatures)}), and takes ({_one(changed)})"
                return Check("interface", Outcome.BROKEN, message)
        added = after.star() - before.star()
        for importer, text in importers if added else ():
            taken = _shadowed(path, importer, text, added)
            if taken:
                message = (
                    f"{Path(importer).name} star-imports {name} and would get its new name {taken} in place of its own"
                )
                return Check("interface", Outcome.BROKEN, message)
    return Check("interface", Outcome.HELD, "every name is there, with the same parameters (from the text)")


def _one(signatures: set[str]) -> str:
    return sorted(signatures)[0] if signatures else "no call"


def _names(tree: ast.Module) -> _Names:
    result = _Names()
    _collect(tree.body, "", result)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            for name in node.names:
                result.signatures.setdefault(name, set())
    return result


def _collect(body: list[ast.stmt], prefix: str, result: _Names) -> None:
    for statement in body:
        if isinstance(statement, _Function):
            result.signatures.setdefault(prefix + statement.name, set()).add(_signature(statement.args))
        elif isinstance(statement, ast.ClassDef):
            result.signatures.setdefault(prefix + statement.name, set())
            _collect(statement.body, f"{prefix}{statement.name}.", result)
        else:
            for name in _bound(statement):
                result.signatures.setdefault(prefix + name, set())
            for block in _blocks(statement):
                _collect(block, prefix, result)
            if not prefix:
                _exports(statement, result)


def _exports(statement: ast.stmt, result: _Names) -> None:
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
        words = [node.value for node in ast.walk(statement) if isinstance(node, ast.Constant)]
        names = frozenset(word for word in words if isinstance(word, str))
        result.exported = (result.exported or frozenset()) | names


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement binds in its own scope, those of its blocks apart."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield (alias.asname or alias.name).split(".")[0]
        return
    heads: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement) if not isinstance(child, (ast.stmt, ast.ExceptHandler))
    ]
    for head in heads:
        for node in _outside_functions(head):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.Lambda, ast.comprehension)):
            yield from _outside_functions(child)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def _signature(args: ast.arguments) -> str:
    """Parameters with their kinds, and which of them may be left out; what a default is does not matter here."""
    positional = [*args.posonlyargs, *args.args]
    required = len(positional) - len(args.defaults)
    parts = [arg.arg + ("" if number < required else "=...") for number, arg in enumerate(positional)]
    if args.posonlyargs:
        parts.insert(len(args.posonlyargs), "/")
    if args.vararg:
        parts.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        parts.append("*")
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        parts.append(arg.arg + ("" if default is None else "=..."))
    if args.kwarg:
        parts.append(f"**{args.kwarg.arg}")
    return ", ".join(parts)


def _shadowed(path: str, importer: str, text: str, added: set[str]) -> str | None:
    """A new name that the importer binds, uses or takes from Python itself, if it star-imports ``path``."""
    if "*" not in text:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    file = Path(path)
    last = file.parent.name if file.name == "__init__.py" else file.stem
    stars = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    # By the last part of the name: rather one importer too many than one too few.
    if not any((node.module or Path(importer).parent.name).rpartition(".")[2] == last for node in stars):
        return None
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {node.name for node in ast.walk(tree) if isinstance(node, (*_Function, ast.ClassDef))}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            used |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return next((name for name in sorted(added) if name in used or hasattr(builtins, name)), None)
