"""What gives another value in every process: the clock, random numbers without a seed, process ids, fresh names."""

from __future__ import annotations

import ast
import re

from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import value_of
from warpfix.index.model import FileIndex
from warpfix.index.scopes import Function
from warpfix.index.walk import Enclosing

# ``tempfile.gettempdir()`` does not change.
_CALLS = frozenset(
    {
        "tempfile.mkdtemp",
        "tempfile.mktemp",
        "tempfile.mkstemp",
        "tempfile.TemporaryDirectory",
        "tempfile.NamedTemporaryFile",
        "uuid.uuid1",
        "uuid.uuid4",
        "time.time",
        "time.time_ns",
        "time.monotonic",
        "time.monotonic_ns",
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.strftime",
        "os.getpid",
        "os.urandom",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "secrets.randbelow",
        "secrets.randbits",
        "secrets.token_hex",
        "secrets.token_urlsafe",
        "builtins.id",
    }
)
# The same numbers again where somebody sets a seed.
_SEEDED = ("random.", "numpy.random.")
_GENERATORS = frozenset(
    {"random.Random", "numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator"}
)
_SEEDING = frozenset({"random.seed", "numpy.random.seed"})
_DEPTH = 4
_HINT = re.compile(
    r"\b(?:mkdtemp|mktemp|mkstemp|TemporaryDirectory|NamedTemporaryFile|uuid[14]|time|time_ns|monotonic|monotonic_ns"
    r"|perf_counter|perf_counter_ns|strftime|getpid|urandom|now|utcnow|today|randbelow|randbits|token_hex|token_urlsafe"
    r"|id|hash|Random|RandomState|default_rng)\(|\brandom\b"
)


def may_change(index: ProjectIndex) -> frozenset[str]:
    """Paths of the files whose text holds a word of one of these sources: others need no looking at."""
    return frozenset(path for path, file in index.files.items() if _HINT.search(file.text))


def changing(index: ProjectIndex, file: FileIndex, node: ast.AST, enclosing: Enclosing, depth: int = 0) -> str | None:
    """The call that makes an expression another one in every process, as written; None if none is seen.

    Names are followed to where they are bound, once; ``settings.NAME`` to a file of the project; calls of the project's
    functions to what they return.
    """
    if depth > _DEPTH:
        return None
    pending: list[ast.AST] = [node]
    while pending:
        inner = pending.pop()
        found = None
        if isinstance(inner, ast.Call):
            if _changes(index, file, inner, enclosing):
                return ast.unparse(inner)
            found = _returned(index, file, inner, enclosing, depth)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            made = _bound_by_with(enclosing, inner.id)
            if made is None:
                known = value_of(index, file, inner, enclosing)
                made = known if known is not inner else None
            if made is not None:
                found = changing(index, file, made, _outside(enclosing, made), depth + 1)
            else:
                found = _elsewhere(index, file, inner, enclosing, depth)
        elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Load):
            found = _elsewhere(index, file, inner, enclosing, depth)
        if found is not None:
            return found
        pending += reversed(list(ast.iter_child_nodes(inner)))
    return None


def _outside(enclosing: Enclosing, made: ast.expr) -> Enclosing:
    """The nodes around the binding of a name, among those around its use: it may stand in an outer scope."""
    held = [
        place
        for place, node in enumerate(enclosing)
        if isinstance(node, Function) and node.lineno <= made.lineno <= (node.end_lineno or node.lineno)
    ]
    return enclosing[: held[-1] + 1] if held else ()


def _changes(index: ProjectIndex, file: FileIndex, call: ast.Call, enclosing: Enclosing) -> bool:
    resolved = index.resolve(file, call.func, enclosing)
    if resolved is None and isinstance(call.func, ast.Name) and call.func.id in ("id", "hash"):
        resolved = f"builtins.{call.func.id}" if call.func.id not in file.bindings else None
    if resolved is None:
        return False
    if resolved == "builtins.hash":
        # Python salts the hash of text in every process, and of nothing else that a constant is made of.
        return len(call.args) == 1 and _is_text(call.args[0])
    if resolved in _CALLS:
        return True
    if resolved in _SEEDING or not resolved.startswith(_SEEDED):
        return False
    if resolved in _GENERATORS:
        return not call.args and not call.keywords
    return not any("seed(" in other.text for other in index.files.values())


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)))


def _returned(index: ProjectIndex, file: FileIndex, call: ast.Call, enclosing: Enclosing, depth: int) -> str | None:
    """What a function of the project returns, where the source shows that it changes."""
    resolved = index.resolve(file, call.func, enclosing)
    made = index.definition(resolved) if resolved is not None and "." in resolved else None
    if made is None or not isinstance(made.node, ast.FunctionDef) or made.node.decorator_list:
        return None
    returns = [inner for inner in ast.walk(made.node) if isinstance(inner, ast.Return)]
    if len(returns) != 1 or returns[0].value is None:
        return None
    return changing(index, made.file, returns[0].value, (*made.enclosing, made.node), depth + 1)


def _elsewhere(
    index: ProjectIndex, file: FileIndex, node: ast.Name | ast.Attribute, enclosing: Enclosing, depth: int
) -> str | None:
    """A name of another file of the project, to the value that it is bound to there."""
    resolved = index.resolve(file, node, enclosing)
    if resolved is None or "." not in resolved:
        return None
    prefix, _, name = resolved.rpartition(".")
    owner = index.module_file(prefix)
    if owner is None or owner is file or name not in owner.bindings:
        return None
    return changing(index, owner, ast.Name(id=name, ctx=ast.Load()), (), depth + 1)


def _bound_by_with(enclosing: Enclosing, name: str) -> ast.expr | None:
    for node in enclosing:
        if isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name:
                    return item.context_expr
    return None
