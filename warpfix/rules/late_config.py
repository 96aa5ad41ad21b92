"""WF201 late-config: ``wp.config.X = v`` after the moment at which Warp reads it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpfix.codemods.base import Edit
from warpfix.codemods.insert_statement import InsertStatement
from warpfix.codemods.move_statement import MoveStatement
from warpfix.codemods.remove_statement import RemoveStatement
from warpfix.findings import Applicability, Finding, Fix
from warpfix.index.build import CallSite, ProjectIndex
from warpfix.index.constructs import own_module
from warpfix.index.model import Construct, FileIndex, ModuleChoice, OptionSet, Role
from warpfix.index.scopes import Function, is_main_guard
from warpfix.index.walk import Enclosing
from warpfix.rules import Context, Rule, locate
from warpfix.rules._flow import ANY, binds, block_around, flow_of, is_literal, leaves, names_read
from warpfix.rules._names import warp_name
from warpfix.rules._options import CREATION_TIME, HASH_TIME, is_default, same


@dataclass(frozen=True)
class _Missed:
    """A file whose Warp module exists already, and what made it: an import, or a definition above."""

    file: FileIndex
    cause: ast.stmt
    """The statement (of the file with the assignment) that makes it."""


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the assignments of one file."""
    for item in file.option_sets:
        if item.via != "config" or item.dynamic or len(item.options) != 1:
            continue
        name, value = next(iter(item.options.items()))
        if name in CREATION_TIME:
            finding = _creation_time(index, file, context, item, name, value)
        elif name in HASH_TIME:
            finding = _hash_time(index, file, context, item, name, value)
        else:
            continue
        if finding is not None:
            yield finding


# ---- options that are copied when a module is created


def _creation_time(
    index: ProjectIndex, file: FileIndex, context: Context, item: OptionSet, name: str, value: ast.expr
) -> Finding | None:
    if _deliberate(index, file, item, name) or _changes_nothing(index, file, item, name, value):
        return None
    above = _statements_before(index, file, item)
    if above is None:
        return None
    causes = _missed_by(index, context, file, above, name)
    call: CallSite | None = None
    if not causes:
        call, causes = _missed_by_callers(index, context, file, item, name)
    if not causes:
        return None
    first = min(causes, key=lambda entry: entry.cause.lineno)
    line = f"line {first.cause.lineno}"
    if call is not None:
        line += f" of {index.project.relative(call.file.path)}"
    kernels = sorted(
        {
            (entry.file.path, construct.qualname)
            for entry in causes
            for construct in entry.file.constructs
            if construct.kind == "kernel" and construct.module_choice is not ModuleChoice.NAMED
        }
    )
    listed = _listing(index, file, causes)
    message = (
        f"`wp.config.{name} = {ast.unparse(value)}` comes too late for {listed}: Warp copies this option when it "
        f"creates a module, which {line} has made it do"
        f"{'' if call is None else f' above the call on line {call.node.lineno}'}, and "
        f"{'that module' if len(causes) == 1 else 'those modules'} will never look at it again"
    )
    if call is None:
        fix, declined = _creation_fix(index, file, item, name, value, first, len(causes))
    else:
        fix, declined = None, "it acts where another file calls for it, and that call would have to move"
    if fix is not None:
        advice = (
            f"move it above line {first.cause.lineno}; as it never acted on "
            f"{'this module' if len(causes) == 1 else 'these modules'}, that is a decision: name the rule with "
            "--select to have it made"
        )
    else:
        advice = f"set it before {line} runs; no fix is offered: {declined}"
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **locate(file, item.node),
        message=message,
        advice=advice,
        fix=fix,
        declined=declined if fix is None else None,
        data={
            "option": name,
            "value": ast.unparse(value),
            "deadline": "module creation",
            "missed": sorted(own_module(entry.file) for entry in causes),
            "kernels": [list(pair) for pair in kernels],
        },
    )


def _missed_by(
    index: ProjectIndex, context: Context, file: FileIndex, above: Iterable[ast.stmt], name: str
) -> list[_Missed]:
    """What exists already where these statements of the file have run, and would have taken the option."""
    missed: dict[str, _Missed] = {}
    for statement in above:
        for created in _created_by(index, context, file, statement):
            if created.path not in missed and _matters(index, created, name):
                missed[created.path] = _Missed(created, statement)
    return list(missed.values())


def _missed_by_callers(
    index: ProjectIndex, context: Context, file: FileIndex, item: OptionSet, name: str
) -> tuple[CallSite | None, list[_Missed]]:
    """The same for a function that sets the option for other files: only where every call of it comes too late."""
    if not item.enclosing or not isinstance(item.enclosing[0], ast.FunctionDef):
        return None, []
    late: list[tuple[CallSite, list[_Missed]]] = []
    for site in index.call_sites(f"{index.prefix(file)}.{item.enclosing[0].name}"):
        if site.file.role is Role.TEST:
            continue
        above = _statements_before(index, site.file, replace(item, node=site.statement, enclosing=site.enclosing))
        causes = _missed_by(index, context, site.file, above or (), name)
        if site.file is file or not causes:
            return None, []
        late.append((site, causes))
    return late[0] if late else (None, [])


def _listing(index: ProjectIndex, file: FileIndex, causes: Sequence[_Missed]) -> str:
    names = []
    for entry in causes[:3]:
        if entry.file is file:
            names.append("the kernels above it in this file")
        else:
            names.append(f"the kernels of {index.project.relative(entry.file.path)}")
    text = " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and {names[2]}"
    more = len(causes) - 3
    return text if more <= 0 else f"{', '.join(names)} and {more} more {'file' if more == 1 else 'files'}"


def _deliberate(index: ProjectIndex, file: FileIndex, item: OptionSet, name: str) -> bool:
    """Part of a pattern that sets the option for a while, or puts it back; or a place that can't be judged."""
    for node in item.enclosing:
        if isinstance(node, (ast.Try, ast.ExceptHandler, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef)):
            return True
    function = next((node for node in item.enclosing if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        # Set for some of the imports or kernels, and set otherwise for the rest.
        return any(
            other.via == "config"
            and other is not item
            and name in other.options
            and not other.enclosing
            and not item.enclosing
            and ast.dump(other.options[name]) != ast.dump(item.options[name])
            for other in file.option_sets
        )
    if sum(isinstance(node, Function) for node in item.enclosing) > 1:
        return True
    for inner in ast.walk(function):
        if isinstance(inner, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(inner, ast.Attribute) and inner.attr == name and isinstance(inner.ctx, ast.Load):
            return True  # read too: to compare, or to put it back
    return any(
        other.via == "config" and other is not item and name in other.options and function in other.enclosing
        for other in file.option_sets
    )


def _changes_nothing(index: ProjectIndex, file: FileIndex, item: OptionSet, name: str, value: ast.expr) -> bool:
    """Whether the option has the value already, as far as the source shows."""
    others = [
        (other, owner)
        for owner in index.files.values()
        for other in owner.option_sets
        if other.via == "config" and other is not item and (name in other.options or other.dynamic)
    ]
    if not others:
        return is_default(name, value)
    earlier = [
        other
        for other, owner in others
        if owner is file and not other.enclosing and other.node.lineno < item.node.lineno
    ]
    return (
        bool(earlier) and is_literal(value) and name in earlier[-1].options and same(earlier[-1].options[name], value)
    )


def _statements_before(index: ProjectIndex, file: FileIndex, item: OptionSet) -> list[ast.stmt] | None:
    """Statements that have run when the assignment runs, as far as this file shows; None if it may run at import."""
    if not item.enclosing:
        return [statement for statement in file.tree.body if statement.lineno < item.node.lineno]
    outermost = item.enclosing[0]
    function = next((node for node in item.enclosing if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        # In a block at module scope, ``if __name__ == "__main__":`` mostly.
        return [statement for statement in file.tree.body if statement.lineno < getattr(outermost, "lineno", 0)]
    if function is not outermost:
        return None
    canonical = f"{index.prefix(file)}.{function.name}"
    if _called_at_import(index, canonical, set()):
        return None
    # A script calls it at module scope: what stands below that call has not run yet.
    called = [
        site.statement.lineno
        for site in index.call_sites(canonical)
        if site.file is file and not any(isinstance(node, Function) or is_main_guard(node) for node in site.enclosing)
    ]
    limit = min(called, default=None)
    found = block_around(file, item.node, item.enclosing)
    inside = list(found[0][: found[1]]) if found is not None else []
    above = [
        statement
        for statement in file.tree.body
        if not is_main_guard(statement) and (limit is None or statement.lineno < limit)
    ]
    return above + inside


def _called_at_import(index: ProjectIndex, canonical: str, seen: set[str]) -> bool:
    """Whether some file calls the function while it is imported, also through other functions."""
    if canonical in seen or len(seen) > 20:
        return False
    seen.add(canonical)
    for site in index.call_sites(canonical):
        if any(is_main_guard(node) for node in site.enclosing):
            continue
        function = next((node for node in site.enclosing if isinstance(node, Function)), None)
        if function is None:
            if _is_script(index, site.file):
                continue  # the program itself, which runs after what it imports
            return True
        if (
            isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
            and site.enclosing[0] is function
            and _called_at_import(index, f"{index.prefix(site.file)}.{function.name}", seen)
        ):
            return True
    # Passed on as a value at module scope: a decorator or a registry may call it.
    return any(
        not any(isinstance(node, Function) or is_main_guard(node) for node in reference.enclosing)
        and isinstance(reference.node.ctx, ast.Load)
        and not _is_script(index, reference.file)
        for reference in index.references(canonical)
    )


def _is_script(index: ProjectIndex, file: FileIndex) -> bool:
    """Whether the file starts the application and nobody imports it."""
    if file.role is not Role.APPLICATION:
        return False
    return not any(file.path in index.imported_files(other) for other in index.project.files)


def _created_by(index: ProjectIndex, context: Context, file: FileIndex, statement: ast.stmt) -> Iterator[FileIndex]:
    """Files whose Warp modules exist once the statement has run: imported ones, and this one by a definition."""
    for inner in _import_time(statement):
        if isinstance(inner, (ast.Import, ast.ImportFrom)):
            for path in index.imported_paths(file, inner):
                for reached in _closure(index, context, path):
                    imported = index.files.get(reached)
                    if imported is not None and index.prefix(imported).split(".", 1)[0] == "warp":
                        continue  # Warp's own kernels: nobody can set an option before `import warp`
                    if imported is not None and _creates(index, context, imported):
                        yield imported
        elif any(construct.node is inner for construct in file.constructs):
            yield file


def _import_time(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and those in its blocks that run with it, but for what only type checkers or the main program run."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, Function) or is_main_guard(node):
            continue
        if isinstance(node, ast.If):
            test = node.test
            last = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
            if last == "TYPE_CHECKING":
                pending.extend(node.orelse)
                continue
        for field in ("body", "handlers", "orelse", "finalbody"):
            pending.extend(getattr(node, field, ()))


def _closure(index: ProjectIndex, context: Context, path: str) -> tuple[str, ...]:
    """A file and all project files that importing it imports in turn."""
    cache: dict[str, tuple[str, ...]] = context.cache.setdefault("import closures", {})
    known = cache.get(path)
    if known is not None:
        return known
    seen: dict[str, None] = {}
    pending = [path]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen[current] = None
        pending.extend(_direct(index, context, current))
    cache[path] = tuple(seen)
    return cache[path]


def _direct(index: ProjectIndex, context: Context, path: str) -> tuple[str, ...]:
    cache: dict[str, tuple[str, ...]] = context.cache.setdefault("imports at import", {})
    known = cache.get(path)
    if known is None:
        file = index.file(path)
        found: dict[str, None] = {}
        if file is not None:
            for statement in file.tree.body:
                for inner in _import_time(statement):
                    if isinstance(inner, (ast.Import, ast.ImportFrom)):
                        found.update(dict.fromkeys(index.imported_paths(file, inner)))
        known = cache[path] = tuple(found)
    return known


def _creates(index: ProjectIndex, context: Context, file: FileIndex) -> bool:
    """Whether importing the file creates its Warp module: by a definition or an option call that runs at import."""
    cache: dict[str, bool] = context.cache.setdefault("creates at import", {})
    known = cache.get(file.path)
    if known is None:
        known = cache[file.path] = any(_at_import(construct.enclosing) for construct in file.constructs) or any(
            item.via != "config" and item.target_module == own_module(file) and _at_import(item.enclosing)
            for item in file.option_sets
        )
    return known


def _at_import(enclosing: Enclosing) -> bool:
    return not any(isinstance(node, Function) or is_main_guard(node) for node in enclosing)


def _matters(index: ProjectIndex, file: FileIndex, name: str) -> bool:
    """Whether the file has kernels that would have taken the option from ``wp.config``."""
    for item in file.option_sets:
        if (
            item.via == "set_module_options"
            and item.target_module == own_module(file)
            and _at_import(item.enclosing)
            and (name in item.options or item.dynamic)
        ):
            return False  # it says itself what it wants
    return any(
        construct.kind == "kernel" and name not in construct.options and _copies(construct)
        for construct in file.constructs
    )


def _copies(construct: Construct) -> bool:
    if construct.module_choice is ModuleChoice.DEFAULT:
        return True  # also one that is defined later: the module is there already
    return construct.module_choice is ModuleChoice.UNIQUE and _at_import(construct.enclosing)


def _creation_fix(
    index: ProjectIndex, file: FileIndex, item: OptionSet, name: str, value: ast.expr, first: _Missed, missed: int
) -> tuple[Fix | None, str | None]:
    if file.role is not Role.APPLICATION:
        return None, "this is library code, where the option would change for everybody who imports it"
    if not _starts(index, file):
        return None, "other files import this one, so where it comes first is not for this file to say"
    if not _is_plain_value(value):
        return None, "its value is not written out as a literal"
    body = file.tree.body
    outermost = item.enclosing[0] if item.enclosing else item.node
    place = next(position for position, statement in enumerate(body) if statement is outermost)
    target = next(position for position, statement in enumerate(body) if statement is first.cause)
    between = body[target:place]
    trouble = _between(between, name)
    if trouble is not None:
        return None, trouble
    if _shares(file, item.node) or _shares(file, body[target]):
        return None, "it shares a line with another statement"
    line, before = item.node.lineno, _first_line(body[target])
    noqa: tuple[int, ...] = ()
    if _lints_import_order(Path(index.project.root)):
        noqa = tuple(statement.lineno for statement in between if isinstance(statement, (ast.Import, ast.ImportFrom)))
    rebound = names_read(item.node) & binds(between)
    plain = isinstance(item.node, ast.Assign) and len(item.node.targets) == 1
    if plain and not item.enclosing and not rebound:
        edits: tuple[Edit, ...] = (MoveStatement(line, before, noqa),)
    else:
        # It can't move as it stands: it is written anew above the import, by Warp's own name.
        reason = _stays(index, file, item, value, rebound)
        warp = warp_name(index, file, before)
        if reason is None and warp is None:
            reason = f"Warp is imported only below line {before}"
        if reason is not None:
            return None, reason
        text = f"{warp}.config.{name} = {ast.unparse(value)}"
        edits = (InsertStatement(before, text, noqa), RemoveStatement(line, ast.unparse(item.node)))
    fix = Fix(
        applicability=Applicability.ASK,
        summary=f"set `wp.config.{name}` before {'the module' if missed == 1 else 'the modules'} that it misses "
        f"(line {line} moves above line {before})",
        edits={file.path: edits},
        options=frozenset({name}),
        needs_no_adjoint=tuple(
            sorted(
                (found.path, construct.qualname)
                for found in index.files.values()
                for construct in found.constructs
                if construct.kind == "kernel"
            )
        )
        if name == "enable_backward" and isinstance(value, ast.Constant) and value.value is False
        else (),
        proved=(
            f"the file starts the program and nobody imports it; nothing between line {before} and line {line} reads "
            "or sets the option, or binds a name that the assignment uses"
        ),
        unproved="the option never acted on these kernels; whether the program is right with it is its author's to say",
    )
    return fix, None


def _stays(
    index: ProjectIndex, file: FileIndex, item: OptionSet, value: ast.expr, rebound: Collection[str]
) -> str | None:
    """Why an assignment can't be written anew at module scope, in words."""
    if not is_literal(value):
        name = min(rebound, default=None)
        return f"`{name}`, which it uses, is bound only further down" if name else "its value depends on a name"
    whole = (isinstance(item.node, ast.Assign) and len(item.node.targets) == 1) or (
        isinstance(item.node, ast.Expr) and isinstance(item.node.value, ast.Call)
    )
    if not whole:
        return "it is not a plain assignment"
    for node in item.enclosing:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            return f"`{node.name}` is decorated, and when it is called is not in the source"
        if not (is_main_guard(node) or isinstance(node, ast.FunctionDef)):
            return "it stands under a condition, and what that depends on is not known at the imports"
    function = next((node for node in item.enclosing if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        return None
    if item.node not in function.body or any(
        leaves(statement) for statement in function.body[: function.body.index(item.node)]
    ):
        return "the function that sets it may be left before"
    if not _runs_at_start(index, file, function.name):
        return f"`{function.name}` is not called at every start for sure, and then it would not be set"
    return None


def _runs_at_start(index: ProjectIndex, file: FileIndex, name: str, depth: int = 0) -> bool:
    """Whether a function of the starting script is called whenever it starts, on no condition."""
    for site in index.call_sites(f"{index.prefix(file)}.{name}"):
        if site.file is not file or not isinstance(site.statement, (ast.Expr, ast.Assign, ast.Raise)):
            continue
        around = [node for node in site.enclosing if not is_main_guard(node)]
        if not around:
            return True
        if len(around) == 1 and isinstance(around[0], ast.FunctionDef) and site.statement in around[0].body:
            before = around[0].body[: around[0].body.index(site.statement)]
            if depth < 4 and not any(leaves(one) for one in before):
                return _runs_at_start(index, file, around[0].name, depth + 1)
    return False


def _is_plain_value(value: ast.expr) -> bool:
    """A literal, or a dotted name such as ``wp.DeterministicMode.RUN_TO_RUN``."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) or is_literal(value)


def _between(statements: Sequence[ast.stmt], name: str) -> str | None:
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and node.attr == name:
                return f"line {node.lineno} in between reads or sets the same option"
            if isinstance(node, ast.Name) and node.id in ("exit", "quit"):
                return f"line {node.lineno} in between may end the program"
            if isinstance(node, ast.Attribute) and node.attr in ("exit", "_exit", "reload"):
                return f"line {node.lineno} in between may end the program or load modules again"
    return None


def _starts(index: ProjectIndex, file: FileIndex) -> bool:
    importers = [other for other in index.project.files if file.path in index.imported_files(other)]
    return not importers


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _shares(file: FileIndex, statement: ast.stmt) -> bool:
    from warpfix.codemods.base import Declined, Source

    try:
        Source(file.text, file.path).extent(statement)
    except Declined:
        return True
    return False


def _lints_import_order(root: Path) -> bool:
    """Whether the project is checked by ruff or flake8, whose E402 wants imports above all code."""
    texts = []
    for name in ("pyproject.toml", "ruff.toml", ".ruff.toml", ".flake8", "setup.cfg", "tox.ini"):
        try:
            texts.append((name, (root / name).read_text(encoding="utf-8", errors="replace")))
        except OSError:
            continue
    if any("E402" in text for _, text in texts):
        return False  # it is ignored, somewhere
    return any(
        name in ("ruff.toml", ".ruff.toml", ".flake8") or "[tool.ruff" in text or "[flake8]" in text
        for name, text in texts
    )


# ---- options that are read at the first hash


def _hash_time(
    index: ProjectIndex, file: FileIndex, context: Context, item: OptionSet, name: str, value: ast.expr
) -> Finding | None:
    if _deliberate(index, file, item, name) or _changes_nothing(index, file, item, name, value):
        return None
    found = block_around(file, item.node, item.enclosing)
    if found is None:
        return None
    block, place = found
    flow = flow_of(index, context)
    load = None
    for statement in block[:place]:
        load = flow.sure_load(file, statement, item.enclosing, ANY)
        if load is not None:
            break
    if load is None:
        return None
    if any(
        other.via == "config" and name in other.options and other.node in block[:place] for other in file.option_sets
    ):
        return None  # switched between launches on purpose
    target = next(
        (
            position
            for position in range(place)
            if (load.module is not None and flow.may_load(file, block[position], item.enclosing, load.module))
            or flow.sure_load(file, block[position], item.enclosing, ANY) is not None
        ),
        None,
    )
    fix: Fix | None = None
    declined: str | None = None
    line = _first_line(item.node)
    between = block[target:place] if target is not None else []
    if file.role is not Role.APPLICATION:
        declined = "this is library code, where the option would change for everybody who imports it"
    elif target is None:
        declined = "no statement above it in its block was found to load a module"
    elif not _is_plain_value(value) or not isinstance(item.node, ast.Assign) or len(item.node.targets) != 1:
        declined = "its value is not written out as a literal"
    elif rebound := sorted(names_read(item.node) & binds(between)):
        declined = f"`{rebound[0]}`, which it uses, is bound between the launch and here"
    elif any(leaves(statement) for statement in between):
        declined = "the code between the launch and here may leave the block"
    elif (trouble := _between(between, name)) is not None:
        declined = trouble
    elif _shares(file, item.node) or _shares(file, block[target]):
        declined = "it shares a line with another statement"
    else:
        before = place = _first_line(block[target])
        fix = Fix(
            applicability=Applicability.ASK,
            summary=f"set `wp.config.{name}` before the first launch (line {line} moves above line {before})",
            edits={file.path: (MoveStatement(line, before),)},
            options=frozenset({name}),
            proved=f"nothing between line {before} and line {line} reads or sets the option, or leaves the block",
            unproved="the option did not act on the modules that were loaded by then; making it act may change results",
        )
    where = (
        f"line {load.node.lineno}"
        if load.file is file
        else f"a call that comes to line {load.node.lineno} of {Path(load.file.path).name}"
    )
    what = f"has launched `{load.kernel.rpartition('.')[2]}`" if load.kernel else "has loaded a module"
    advice = (
        f"move it above line {place}; as it did not act so far, that is a decision: name the "
        "rule with --select to have it made"
        if fix is not None
        else f"set it before the first launch; no fix is offered: {declined}"
    )
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **locate(file, item.node),
        message=(
            f"`wp.config.{name} = {ast.unparse(value)}` comes after {where} {what}: Warp reads this option when it "
            "hashes a module for the first time, so modules loaded by then ignore it, until something else marks one "
            "as modified and it is built again"
        ),
        advice=advice,
        fix=fix,
        declined=declined,
        data={
            "option": name,
            "value": ast.unparse(value),
            "deadline": "first hash",
            "loaded_by": [load.file.path, load.node.lineno],
            "kernels": [
                [found.path, construct.qualname]
                for found, construct in (flow.kernels_of(load.module) if load.module else [])
            ],
        },
    )


RULE = Rule(
    code="WF201",
    slug="late-config",
    summary="A `wp.config` option is set after Warp has read it.",
    why=(
        "Six options (enable_backward, max_unroll, lineinfo, compile_time_trace, deterministic, "
        "deterministic_max_records) are copied when a Warp module is created: by the first kernel, function, struct or "
        "option call in it, that is when the file is imported. Others (mode, optimization_level, verify_fp, "
        "use_precompiled_headers, ...) are read at the first hash of a module, that is at its first launch. An "
        "assignment after that does nothing, without a sign: the program pays for what its author has switched off."
    ),
    bad=(
        "import warp as wp\n"
        "import flow_kernels                     # creates its Warp module: the option is copied here\n"
        "\n"
        "wp.config.enable_backward = False       # too late for flow_kernels\n"
    ),
    good=("import warp as wp\n\nwp.config.enable_backward = False\n\nimport flow_kernels  # noqa: E402\n"),
    limits=(
        "Sees what the project's own files create when imported, not what installed packages do. Silent on functions "
        "that are called while a file is imported, methods, try/finally, options that are read and put back, values "
        "that are the default, logging and path settings, and names that are no option of Warp."
    ),
    fix_safety=(
        "`ask`, in the application's starting script only: the assignment moves above the first import (or definition) "
        "that it misses; one inside `main()`, under the main guard, through `setattr` or a short name is written anew "
        "there, if it is a literal that is set at every start. Where the project is linted for E402, the imports that "
        "then stand below get `# noqa: E402`: the order is meant. The option never acted, so making it act is the "
        "author's decision. Never in library code."
    ),
    since="0.1.0",
    check=check,
)
