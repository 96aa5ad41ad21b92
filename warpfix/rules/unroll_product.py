"""WF702 unroll-product: nested loops that Warp unrolls one by one, and so all together."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import own_module
from warpfix.index.model import Construct, FileIndex
from warpfix.index.walk import Enclosing
from warpfix.rules import Context, Rule, locate
from warpfix.rules._places import literal_int
from warpfix.rules._versions import lowest

_MANY = 100
"""Copies of the innermost body from which on a nest is reported."""
_DEFAULT = 16
_CONTINUE_UNROLLED = (1, 19)


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the loops of one file's kernels and functions."""
    if "range(" not in file.text:
        return
    limit: int | None = -1
    for construct in file.constructs:
        if construct.kind not in ("kernel", "func") or isinstance(construct.node, ast.ClassDef):
            continue
        nests = list(_nests(construct.node.body))
        if not nests:
            continue
        if limit == -1:
            limit = _max_unroll(index, file)
        if limit is None or "module_options" in construct.options:
            continue
        inside = (*construct.enclosing, construct.node)
        with_continue = lowest(context.config) >= _CONTINUE_UNROLLED
        for loop in nests:
            chain = _product(index, file, loop, inside, limit, with_continue)
            if len(chain) > 1 and _size(chain) >= _MANY:
                yield _finding(file, construct, chain, limit)


def _finding(file: FileIndex, construct: Construct, chain: Sequence[tuple[ast.For, int]], limit: int) -> Finding:
    loop, counts, copies = chain[0][0], [count for _, count in chain], _size(chain)
    trips = " x ".join(str(count) for count in counts)
    at = ast.Pass(
        lineno=loop.lineno,
        col_offset=loop.col_offset,
        end_lineno=loop.iter.end_lineno,
        end_col_offset=loop.iter.end_col_offset,
    )
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **locate(file, at),
        message=(
            f"the nested loops are unrolled together: {trips} turns make {copies} copies of the innermost body in "
            f"`{construct.name}` (each loop stays within max_unroll = {limit}, their product does not)"
        ),
        advice=(
            "keep the outer loop a loop, by a bound that is no constant or `max_unroll` of the module, and measure: "
            "the build gets faster, the kernel may get slower"
        ),
        kernel=construct.qualname if construct.kind == "kernel" else None,
        declined="unrolling may be what makes the kernel fast: that is for its author to measure",
        data={"trips": counts, "copies": copies, "max_unroll": limit},
    )


def _nests(body: Iterable[ast.stmt]) -> Iterator[ast.For]:
    """Outermost ``for`` loops that hold another one."""
    pending = list(reversed(list(body)))
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.For) and any(_inner_loops(statement.body)):
            yield statement
        elif isinstance(statement, (ast.If, ast.While, ast.For, ast.With)):
            pending.extend(reversed([*statement.body, *getattr(statement, "orelse", ())]))


def _inner_loops(body: Iterable[ast.stmt]) -> Iterator[ast.For]:
    for statement in body:
        if isinstance(statement, ast.For):
            yield statement
        elif isinstance(statement, (ast.If, ast.While, ast.With)):
            yield from _inner_loops([*statement.body, *getattr(statement, "orelse", ())])


def _product(
    index: ProjectIndex, file: FileIndex, loop: ast.For, inside: Enclosing, limit: int, with_continue: bool
) -> list[tuple[ast.For, int]]:
    """The largest chain of loops, each within another, that are unrolled, with their turns; outermost first."""
    best: list[tuple[ast.For, int]] = []
    for inner in _inner_loops(loop.body):
        found = _product(index, file, inner, (*inside, loop), limit, with_continue)
        if _size(found) > _size(best):
            best = found
    trips = _trips(index, file, loop, inside)
    if trips is None or trips > limit or trips < 2 or _leaves(loop, with_continue):
        return best
    return [(loop, trips), *best]


def _size(chain: Sequence[tuple[ast.For, int]]) -> int:
    size = 1
    for _, count in chain:
        size *= count
    return size


def _trips(index: ProjectIndex, file: FileIndex, loop: ast.For, inside: Enclosing) -> int | None:
    call = loop.iter
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
        return None
    if call.keywords or not 1 <= len(call.args) <= 3:
        return None
    numbers: list[int] = []
    for argument in call.args:
        negative = isinstance(argument, ast.UnaryOp) and isinstance(argument.op, ast.USub)
        number = literal_int(index, file, argument.operand if isinstance(argument, ast.UnaryOp) else argument, inside)
        if number is None or (isinstance(argument, ast.UnaryOp) and not negative):
            return None
        numbers.append(-number if negative else number)
    try:
        return len(range(*numbers))
    except (ValueError, OverflowError):
        return None


def _leaves(loop: ast.For, with_continue: bool) -> bool:
    """Whether Warp keeps the loop because its body may leave it: ``break``, and ``continue`` before Warp 1.19."""
    pending: list[ast.stmt] = list(loop.body)
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.Break) or (isinstance(statement, ast.Continue) and not with_continue):
            return True
        if isinstance(statement, (ast.If, ast.With)):
            pending.extend([*statement.body, *getattr(statement, "orelse", ())])
    return False


def _max_unroll(index: ProjectIndex, file: FileIndex) -> int | None:
    """The module's ``max_unroll`` as the source shows it; None where it can't be read, or several are set."""
    own: list[int | None] = []
    everywhere: list[int | None] = []
    for other in index.files.values():
        for item in other.option_sets:
            if item.via == "config":
                if "max_unroll" in item.options:
                    everywhere.append(literal_int(index, other, item.options["max_unroll"], item.enclosing))
            elif item.target_module == own_module(file) and ("max_unroll" in item.options or item.dynamic):
                value = item.options.get("max_unroll")
                own.append(None if value is None else literal_int(index, other, value, item.enclosing))
    values = own or everywhere or [_DEFAULT]
    return values[0] if len(values) == 1 else None


RULE = Rule(
    code="WF702",
    slug="unroll-product",
    summary="Nested constant loops are unrolled together into very many copies.",
    why=(
        "Warp unrolls a loop of constant length up to `max_unroll` turns (16), each for itself: two nested loops of 12 "
        "make 144 copies of the body, and as many of its adjoint. The generated code and the time to compile it grow "
        "with the product."
    ),
    bad=(
        "@wp.kernel\n"
        "def gather(x: wp.array(dtype=float)):\n"
        "    s = float(0.0)\n"
        "    for i in range(12):\n"
        "        for j in range(12):\n"
        "            s += wp.sin(x[0] * float(i * j))\n"
    ),
    good=(
        'wp.set_module_options({"max_unroll": 4})\n\n\n'
        "@wp.kernel\n"
        "def gather(x: wp.array(dtype=float)):\n"
        "    s = float(0.0)\n"
        "    for i in range(12):\n"
        "        for j in range(12):\n"
        "            s += wp.sin(x[0] * float(i * j))\n"
    ),
    limits=(
        f"From {_MANY} copies on. Counts loops over `range` of integers that the source shows; loops in functions that "
        "are called from a loop are not multiplied. Silent where `max_unroll` is set to several values or can't be "
        "read, and about loops with `break` (before Warp 1.19 with `continue` too), which Warp keeps."
    ),
    fix_safety="No fix: how fast the kernel runs may depend on the unrolling, which only a measurement of it can tell.",
    since="0.1.0",
    check=check,
)
