"""WF202 late-module-options: options of a Warp module that are set after it was loaded."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpfix.codemods.base import Edit
from warpfix.codemods.insert_statement import InsertStatement
from warpfix.codemods.move_statement import MoveStatement
from warpfix.codemods.remove_statement import RemoveStatement
from warpfix.findings import Applicability, Finding, Fix
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import own_module
from warpfix.index.model import FileIndex, ModuleChoice, OptionSet
from warpfix.index.scopes import Function
from warpfix.index.walk import Enclosing
from warpfix.rules import Context, Rule, locate
from warpfix.rules._flow import (
    ANY,
    Block,
    Flow,
    Load,
    binds,
    block_around,
    flow_of,
    is_literal,
    leaves,
    module_key,
    names_read,
)
from warpfix.rules._options import FORWARD_KEPT, is_default, same
from warpfix.rules._versions import MODULE_OPTIONS


@dataclass(frozen=True)
class _Event:
    """Option writes to one Warp module that happen when one statement runs."""

    file: FileIndex
    statement: ast.stmt
    enclosing: Enclosing
    module: str
    """Key of the Warp module (see :class:`Flow`)."""
    sets: tuple[OptionSet, ...]
    owner: FileIndex
    """The file in which the options are written: another one, if the statement calls a function there."""
    function: str | None = None
    """Canonical name of the function that the statement calls to set them."""
    only_options: bool = True
    """Whether setting literal options is all that the statement does."""
    depth: int = 0
    """How many calls lie between the statement and the write."""
    alone: bool = False
    """Whether the functions on the way are called from here and nowhere else."""

    @property
    def options(self) -> dict[str, ast.expr]:
        merged: dict[str, ast.expr] = {}
        for item in self.sets:
            merged.update(item.options)
        return merged

    @property
    def in_dict(self) -> bool:
        """Whether they are written into ``module.options`` itself, which tells Warp nothing."""
        return all(item.via == "options" for item in self.sets)


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the statements of one file."""
    flow = flow_of(index, context)
    findings: dict[str, list[Finding]] | None = context.cache.get("late module options")
    if findings is None:
        findings = context.cache["late module options"] = {}
        told: set[ast.stmt] = set()
        for event in _events(index, flow):
            # Through several functions it is late once: where it is seen first.
            if event.depth > 1 and any(item.node in told for item in event.sets):
                continue
            finding = _judge(index, flow, event, context)
            if finding is not None:
                told.update(item.node for item in event.sets)
                findings.setdefault(event.file.path, []).append(finding)
    yield from findings.get(file.path, [])


# ---- which statements set options


def _events(index: ProjectIndex, flow: Flow) -> Iterator[_Event]:
    by_function: dict[tuple[str, str], tuple[FileIndex, ast.FunctionDef, Enclosing, list[OptionSet]]] = {}
    for file in index.files.values():
        for item in file.option_sets:
            if item.via == "config" or item.target_module is None or item.dynamic or not item.options:
                continue
            module = flow.key(file, item.target_module)
            function = next((node for node in reversed(item.enclosing) if isinstance(node, Function)), None)
            only = _only_sets(item) and all(is_literal(value) for value in item.options.values())
            yield _Event(file, item.node, item.enclosing, module, (item,), file, only_options=only)
            if isinstance(function, ast.FunctionDef) and item.enclosing[-1] is function:
                around = item.enclosing[:-1]
                # Inside another function or a class, which calls reach it is another question.
                if not any(isinstance(node, (*Function, ast.ClassDef)) for node in around):
                    canonical = f"{index.prefix(file)}.{function.name}"
                    by_function.setdefault((canonical, module), (file, function, around, []))[3].append(item)
    pending = [
        _Way(canonical, module, owner, function, tuple(sets), _option_function(function, owner.option_sets))
        for (canonical, module), (owner, function, _, sets) in by_function.items()
        if _runs_straight(function, [item.node for item in sets])
    ]
    depth, seen = 0, {(way.canonical, way.module) for way in pending}
    while pending and depth < _DEPTH:
        depth += 1
        outer: list[_Way] = []
        for way in pending:
            for event in _calls(index, way, depth):
                yield event
                further = _through(index, way, event)
                if further is not None and (further.canonical, further.module) not in seen:
                    seen.add((further.canonical, further.module))
                    outer.append(further)
        pending = outer


_DEPTH = 4


@dataclass(frozen=True)
class _Way:
    """A function at module scope that comes to option writes whenever it is called."""

    canonical: str
    module: str
    owner: FileIndex
    """The file that holds the writes."""
    function: ast.FunctionDef
    sets: tuple[OptionSet, ...]
    only: bool
    """Whether it does nothing else."""
    alone: bool = True


def _calls(index: ProjectIndex, way: _Way, depth: int) -> Iterator[_Event]:
    """The statements that are calls of the function."""
    if index.definition(way.canonical) is None or way.function.decorator_list:
        return
    sites = list(index.call_sites(way.canonical))
    alone = way.alone and len(sites) == 1 and len(list(index.references(way.canonical))) <= 1
    for site in sites:
        if site.file.path not in index.files or not isinstance(site.statement, ast.Expr):
            continue
        if site.statement.value is not site.node:
            continue
        literal = all(is_literal(item) for item in site.node.args) and all(
            keyword.arg is not None and is_literal(keyword.value) for keyword in site.node.keywords
        )
        yield _Event(
            site.file,
            site.statement,
            site.enclosing,
            way.module,
            way.sets,
            way.owner,
            way.canonical,
            way.only and literal,
            depth,
            alone,
        )


def _through(index: ProjectIndex, way: _Way, event: _Event) -> _Way | None:
    """The function around a call, where every call of it comes to that one."""
    if len(event.enclosing) != 1 or not isinstance(event.enclosing[0], ast.FunctionDef):
        return None
    function = event.enclosing[0]
    if event.statement not in function.body or not _runs_straight(function, [event.statement]):
        return None
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    only = event.only_options and body == [event.statement]
    canonical = f"{index.prefix(event.file)}.{function.name}"
    return _Way(canonical, way.module, way.owner, function, way.sets, only, event.alone)


def _only_sets(item: OptionSet) -> bool:
    """Whether the statement is the option write and nothing else."""
    if item.via == "set_module_options" or isinstance(item.node, ast.Expr):
        call = item.node.value if isinstance(item.node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            return False
        return all(not isinstance(inner, ast.Call) or _harmless(inner) for inner in ast.walk(call) if inner is not call)
    return isinstance(item.node, ast.Assign) and len(item.node.targets) == 1


def _harmless(call: ast.Call) -> bool:
    """``wp.get_module("x")`` or ``dict(...)`` inside an option write."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in ("get_module", "dict")


def _runs_straight(function: ast.FunctionDef, statements: Sequence[ast.stmt]) -> bool:
    """Whether a call of the function always comes to these statements of its body."""
    last = max(function.body.index(statement) for statement in statements)
    return not any(leaves(statement) for statement in function.body[:last])


def _option_function(function: ast.FunctionDef, sets: Sequence[OptionSet]) -> bool:
    """Whether a function's body is nothing but module-option writes with literal values."""
    writes = {item.node: item for item in sets}
    for place, statement in enumerate(function.body):
        if place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        item = writes.get(statement)
        if item is None or item.via == "config" or item.dynamic or not _only_sets(item):
            return False
        if not all(is_literal(value) for value in item.options.values()):
            return False
    return True


# ---- judgement


def _judge(index: ProjectIndex, flow: Flow, event: _Event, context: Context) -> Finding | None:
    if _deliberate(index, event):
        return None
    found = block_around(event.file, event.statement, event.enclosing)
    if found is None:
        return None
    block, place = found
    before = block[:place]
    kernels = flow.kernels_of(event.module)
    load = _load_before(flow, event, before, event.module if kernels else ANY)
    options = event.options
    if not options.keys() <= MODULE_OPTIONS.keys():
        return None  # a name that Warp does not know is unknown-option's, and to be mended first
    if not kernels:
        return _never_acts(index, flow, event, load)
    if load is None:
        return None
    known = _known_before(index, flow, event, before)
    changed: dict[str, ast.expr] = {}
    for name, value in options.items():
        earlier = known.get(name)
        if earlier is None:
            if not (is_default(name, value) and not _config_written(index, name)):
                changed[name] = value
        elif same(earlier.value, value):
            continue
        elif earlier.in_block:
            return None  # switched between launches on purpose
        else:
            changed[name] = value
    if not changed:
        return None
    return _late(index, flow, event, load, block, place, changed, known)


def _deliberate(index: ProjectIndex, event: _Event) -> bool:
    """Whether the write is part of a pattern that sets options for a while, or only where they differ."""
    for node in event.enclosing:
        if isinstance(node, (ast.Try, ast.ExceptHandler)):
            return True
        if isinstance(node, (ast.AsyncFunctionDef, ast.Lambda)):
            return True
    function = next((node for node in reversed(event.enclosing) if isinstance(node, Function)), None)
    if function is None:
        return False
    if getattr(function, "name", "") in ("__enter__", "__exit__", "__aenter__", "__aexit__", "setUp", "tearDown"):
        return True
    own = event.function or ""
    for inner in ast.walk(function):
        if isinstance(inner, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(inner, ast.Call):
            name = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
            if name == "get_module_options" and not any(inner is one for one in ast.walk(event.statement)):
                return True
            if own and inner is not getattr(event.statement, "value", None) and name == own.rpartition(".")[2]:
                continue
        if (
            isinstance(inner, ast.Subscript)
            and isinstance(inner.ctx, ast.Load)
            and isinstance(inner.value, ast.Attribute)
            and inner.value.attr == "options"
        ):
            return True  # reads what is set: to put it back, or to compare
    # Set again further down for the same module: for a while only.
    for item in event.file.option_sets:
        if (
            item.node is not event.statement
            and _targets(index, event.file, item, event.module)
            and function in item.enclosing
            and item.node.lineno > event.statement.lineno
            and set(item.options) & set(event.options)
        ):
            return True
    return False


def _load_before(flow: Flow, event: _Event, before: Block, module: str) -> Load | None:
    for statement in before:
        found = flow.sure_load(event.file, statement, event.enclosing, module)
        if found is not None:
            return found
        if leaves(statement):
            # What follows runs on some ways only; that a load below comes first is still sure.
            continue
    return None


def _targets(index: ProjectIndex, file: FileIndex, item: OptionSet, module: str) -> bool:
    """Whether an option write in a file reaches a module, given by its key."""
    return (
        item.via != "config"
        and item.target_module is not None
        and module_key(index, file, item.target_module) == module
    )


@dataclass(frozen=True)
class _Known:
    value: ast.expr
    in_block: bool
    path: str
    line: int


def _known_before(index: ProjectIndex, flow: Flow, event: _Event, before: Block) -> Mapping[str, _Known]:
    """What the options were set to earlier: when files are imported, or above in the same block."""
    known: dict[str, _Known] = {}
    option_functions: dict[str, list[OptionSet]] = {}
    for file in index.files.values():
        for item in file.option_sets:
            if not _targets(index, file, item, event.module):
                continue
            function = next((node for node in item.enclosing if isinstance(node, Function)), None)
            if function is None and item.node is not event.statement:
                if item.enclosing:
                    continue  # under a condition
                if file is event.file and item.node in before:
                    continue
                if file is event.file and not event.enclosing and item.node.lineno > event.statement.lineno:
                    continue
                for name, value in item.options.items():
                    known[name] = _Known(value, False, file.path, item.node.lineno)
            elif isinstance(function, ast.FunctionDef) and item.enclosing == (function,):
                if item.node is event.statement:
                    continue  # an unguarded ``main()`` does not set it any earlier than it does
                option_functions.setdefault(f"{index.prefix(file)}.{function.name}", []).append(item)
    for file in index.files.values():
        for statement in file.tree.body:
            if statement is event.statement or (file is event.file and statement in before):
                continue
            if file is event.file and not event.enclosing and statement.lineno > event.statement.lineno:
                continue
            for item in _called_sets(index, file, statement, (), option_functions):
                for name, value in item.options.items():
                    known[name] = _Known(value, False, file.path, statement.lineno)
    written = {item.node: item for item in event.file.option_sets if _targets(index, event.file, item, event.module)}
    loaded = False
    for statement in before:
        items = [written[statement]] if statement in written else []
        if loaded:
            items = [item for item in items if item.via != "options"]  # Warp did not look at it then, but will now
        loaded = loaded or flow.sure_load(event.file, statement, event.enclosing, event.module) is not None
        items += _called_sets(index, event.file, statement, event.enclosing, option_functions)
        for item in items:
            for name, value in item.options.items():
                known[name] = _Known(value, True, event.file.path, statement.lineno)
    return known


def _called_sets(
    index: ProjectIndex,
    file: FileIndex,
    statement: ast.stmt,
    enclosing: Enclosing,
    functions: Mapping[str, list[OptionSet]],
) -> list[OptionSet]:
    if not functions or not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return []
    resolved = index.resolve(file, statement.value.func, enclosing)
    return functions.get(resolved or "", [])


def _config_written(index: ProjectIndex, name: str) -> bool:
    return any(
        item.via == "config" and (name in item.options or item.dynamic)
        for file in index.files.values()
        for item in file.option_sets
    )


# ---- findings


def _late(
    index: ProjectIndex,
    flow: Flow,
    event: _Event,
    load: Load,
    block: Block,
    place: int,
    changed: Mapping[str, ast.expr],
    known: Mapping[str, _Known],
) -> Finding:
    kernels = flow.kernels_of(event.module)
    what = _what(event)
    cause = _cause(event, load)
    listed = ", ".join(f"`{name}`" for name in changed)
    if event.in_dict:
        message = (
            f"{what} {cause}: Warp has hashed the module by then and does not look at its options again, so {listed} "
            f"{'does' if len(changed) == 1 else 'do'} nothing"
        )
        reason = (
            "it never acted, and making it act is a decision about what the program computes or can do: to decide for "
            "it, move the line above the first launch by hand"
        )
        return _finding(flow, event, message, reason, None, reason, load, changed)
    message = f"{what} {cause}: the next launch of {_some(len(kernels))} builds the whole module again"
    fix, declined = _fix(index, flow, event, load, block, place, changed, known)
    if fix is not None:
        target = next(iter(fix.edits.values()))[0]
        assert isinstance(target, (MoveStatement, InsertStatement))
        advice = f"move it above line {target.before}, before the first statement here that can load the module"
    else:
        advice = f"no fix is offered: {declined}"
    return _finding(flow, event, message, advice, fix, declined, load, changed)


def _fix(
    index: ProjectIndex,
    flow: Flow,
    event: _Event,
    load: Load,
    block: Block,
    place: int,
    changed: Mapping[str, ast.expr],
    known: Mapping[str, _Known],
) -> tuple[Fix | None, str | None]:
    if not all(is_literal(value) for value in event.options.values()):
        return None, "the value is not written out as a literal, and what it depends on may be made in between"
    source = _to_be_written(event) if not event.only_options else None
    if not event.only_options and source is None:
        where = f"`{event.function.rpartition('.')[2]}` does" if event.function else "the statement does"
        return None, f"{where} more than set options"
    for name in changed:
        if name in known:
            other = known[name]
            return None, (
                f"`{name}` is also set to another value on line {other.line} of {index.project.relative(other.path)}, "
                "and which launches are meant to see which is not in the source"
            )
    others = _other_writes(index, event, changed)
    if others is not None:
        return None, (
            f"`{others[1]}` of this module is also set on line {others[2]} of {index.project.relative(others[0])}, and "
            "which launches are meant to see which is not in the source"
        )
    target = None
    for position in range(place):
        if flow.may_load(event.file, block[position], event.enclosing, event.module):
            target = position
            break
    if target is None:
        return None, "no statement above it in its block was found to load the module"
    needed = names_read(source or event.statement)
    between = block[target:place]
    rebound = sorted(needed & binds(between))
    if rebound:
        return None, f"`{rebound[0]}`, which it uses, is bound between the launch and here"
    if any(leaves(statement) for statement in between):
        return None, "the code between the launch and here may leave the block, and then the options would not be set"
    if any(_reads_options(index, event.file, statement, event.enclosing) for statement in between):
        return None, "the code between the launch and here reads module options or `wp.config`"
    if _shares_line(event.file, event.statement) or _shares_line(event.file, block[target]):
        return None, "it shares a line with another statement"
    if source is not None and (set(event.options) - FORWARD_KEPT or _rebound_here(event, names_read(source))):
        return None, f"`{(event.function or '').rpartition('.')[2]}` does more than set options"
    ask = sorted(set(event.options) - FORWARD_KEPT)
    kernels = tuple(sorted({(file.path, construct.qualname) for file, construct in flow.kernels_of(event.module)}))
    line = _first_line(event.statement)
    before = _first_line(block[target])
    listed = ", ".join(f"`{name}`" for name in changed)
    if ask:
        applicability = Applicability.ASK
        unproved = (
            f"launches between line {before} and here would then run with {', '.join(f'`{name}`' for name in ask)} "
            "set, which may change their results or their speed"
        )
    else:
        applicability = Applicability.MEASURED
        unproved = (
            "that none of these kernels is launched for its adjoint, and that nothing else loads the module "
            "earlier; both are for a measured run to show"
        )
    fix = Fix(
        applicability=applicability,
        summary=f"set {listed} of the module before its first launch (line "
        f"{line if source is None else source.lineno} moves above line {before})",
        edits={event.file.path: _edits(event, source, line, before)},
        options=frozenset(event.options),
        needs_no_adjoint=kernels,
        proved=(
            f"the values are literals, nothing between line {before} and line {line} binds a name that the statement "
            f"uses, reads options or leaves the block" + ("" if ask else f"; {listed} can't change forward results")
        ),
        unproved=unproved,
    )
    return fix, None


def _to_be_written(event: _Event) -> ast.stmt | None:
    """The one write inside a function that only this statement calls, in this file: it may stand here as well."""
    if len(event.sets) != 1 or not event.alone or event.owner is not event.file or event.function is None:
        return None
    (item,) = event.sets
    if item.via != "set_module_options" or not isinstance(item.node, ast.Expr) or not _only_sets(item):
        return None
    if item.node.lineno != item.node.end_lineno or _shares_line(event.owner, item.node):
        return None
    return item.node


def _rebound_here(event: _Event, needed: Collection[str]) -> bool:
    """Whether a name that the write uses means something else where it would stand."""
    function = next((node for node in reversed(event.enclosing) if isinstance(node, Function)), None)
    if function is None:
        return False
    own = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    bound = binds(function.body) if isinstance(function, ast.FunctionDef) else set()
    return bool(set(needed) & (own | set(bound)))


def _edits(event: _Event, source: ast.stmt | None, line: int, before: int) -> tuple[Edit, ...]:
    if source is None:
        return (MoveStatement(line, before),)
    text = ast.get_source_segment(event.file.text, source) or ast.unparse(source)
    return (InsertStatement(before, text), RemoveStatement(source.lineno, ast.unparse(source)))


def _other_writes(index: ProjectIndex, event: _Event, changed: Mapping[str, ast.expr]) -> tuple[str, str, int] | None:
    mine = {item.node for item in event.sets}
    for file in index.files.values():
        for item in file.option_sets:
            if item.node in mine or not _targets(index, file, item, event.module):
                continue
            for name in changed:
                if item.dynamic and not item.options:
                    return file.path, name, item.node.lineno
                if name in item.options and not same(item.options[name], changed[name]):
                    return file.path, name, item.node.lineno
    return None


def _reads_options(index: ProjectIndex, file: FileIndex, statement: ast.stmt, enclosing: Enclosing) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in ("options", "config"):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            last = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if last in ("get_module_options", "set_module_options", "get_module"):
                return True
    return False


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _shares_line(file: FileIndex, statement: ast.stmt) -> bool:
    from warpfix.codemods.base import Declined, Source

    try:
        Source(file.text, file.path).extent(statement)
    except Declined:
        return True
    return False


def _never_acts(index: ProjectIndex, flow: Flow, event: _Event, load: Load | None) -> Finding | None:
    owner = index.module_file(event.module)
    if load is None and (event.depth > 0 or owner is None or not _bare(index, owner)):
        return None
    if owner is None:
        tops = {name.split(".", 1)[0] for name in index.by_module}
        if event.module.split(".", 1)[0] not in tops:
            return None  # another package's module: what it holds is not for us to say
        holds = f"no file of this project creates a kernel in `{event.module}`"
    else:
        uncertain = [
            construct
            for construct in owner.constructs
            if construct.kind == "kernel"
            and (
                construct.module_choice is ModuleChoice.UNKNOWN
                or (construct.module_choice is ModuleChoice.PARAMETER and construct.module_default != "unique")
            )
        ]
        if uncertain or any(call.file is owner for call in index.kernel_calls):
            return None
        made = sum(construct.kind == "kernel" for construct in owner.constructs)
        holds = (
            f"every kernel of {index.project.relative(owner.path)} is created in a Warp module of its own, which "
            "starts from `wp.config` and never sees options of the file"
            if made
            else f"{index.project.relative(owner.path)} creates no kernel"
        )
    listed = ", ".join(f"`{name}`" for name in event.options)
    message = (
        f"{_what(event)}{' after launches' if load else ''} and reaches no kernel: {holds}, so {listed} "
        f"{'does' if len(event.options) == 1 else 'do'} nothing"
    )
    reason = (
        "it never acted, and making it act is a decision about what the program computes: remove it, or set the option "
        "where the kernels are made"
    )
    return _finding(flow, event, message, reason, None, reason, load, event.options)


def _bare(index: ProjectIndex, file: FileIndex) -> bool:
    """Whether nothing in a file can come to own or read options of its Warp module, though the project has kernels.

    Integrands of ``warp.fem`` start from the options of their file, decorators of other packages may make kernels, and
    a kernel whose module is not known may land here.
    """
    kernels = [one for other in index.files.values() for one in other.constructs if one.kind == "kernel"]
    if not kernels or any(one.module_choice is ModuleChoice.UNKNOWN for one in kernels):
        return False
    if any(word in file.text for word in ("fem", "integrand", "get_module_options", "exec(", ".options")):
        return False
    made = {construct.node for construct in file.constructs}
    return not any(
        node.decorator_list and node not in made for node in ast.walk(file.tree) if isinstance(node, ast.FunctionDef)
    )


def _finding(
    flow: Flow,
    event: _Event,
    message: str,
    advice: str,
    fix: Fix | None,
    declined: str | None,
    load: Load | None,
    changed: Mapping[str, ast.expr],
) -> Finding:
    kernels = sorted({(file.path, construct.qualname) for file, construct in flow.kernels_of(event.module)})
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=event.file.path,
        **locate(event.file, event.statement),
        message=message,
        advice=advice,
        fix=fix,
        declined=declined if fix is None else None,
        data={
            "module": own_module(event.owner) if event.module == flow.index.prefix(event.owner) else event.module,
            "options": {name: ast.unparse(value) for name, value in changed.items()},
            "option_lines": [[event.owner.path, item.node.lineno] for item in event.sets],
            "loaded_by": [load.file.path, load.node.lineno] if load is not None else None,
            "kernels": [list(item) for item in kernels],
        },
    )


def _what(event: _Event) -> str:
    options = ", ".join(f"`{name} = {ast.unparse(value)}`" for name, value in event.options.items())
    if event.function is not None:
        name = event.function.rpartition(".")[2]
        return f"`{name}()` sets {options}"
    if event.in_dict:
        return f"{options} is written into the options of `{event.module}`"
    return f"`wp.set_module_options` sets {options}"


def _cause(event: _Event, load: Load) -> str:
    where = f"line {load.node.lineno}" if load.file is event.file else f"a call that comes to line {load.node.lineno}"
    if load.file is not event.file:
        where += f" of {load.file.path.replace(chr(92), '/').rpartition('/')[2]}"
    if load.kernel is not None:
        return f"after {where} has launched `{load.kernel.rpartition('.')[2]}` and so loaded the module"
    return f"after {where} has loaded the module"


def _some(kernels: int) -> str:
    return "its kernel" if kernels == 1 else f"one of its {kernels} kernels"


RULE = Rule(
    code="WF202",
    slug="late-module-options",
    summary="Options of a Warp module are set after it was loaded.",
    why=(
        "Warp hashes a module's options together with its kernels. `wp.set_module_options` after the first launch "
        "marks the module as modified, and the next launch builds all of its kernels again: the first build was for "
        "nothing. A write into `wp.get_module(name).options` after the first hash is worse: it does nothing, without a "
        "sign."
    ),
    bad=(
        "wp.launch(spread, dim=n, inputs=[angle])\n"
        'wp.set_module_options({"enable_backward": False})   # the next launch builds the module again\n'
        "wp.launch(swing, dim=n, inputs=[angle])\n"
    ),
    good=(
        'wp.set_module_options({"enable_backward": False})\n'
        "wp.launch(spread, dim=n, inputs=[angle])\n"
        "wp.launch(swing, dim=n, inputs=[angle])\n"
    ),
    limits=(
        "Reported only where the source shows that a launch of the module's kernels comes first: in the same block, "
        "straight line, through calls of project functions. Silent where it looks deliberate (try/finally, context "
        "managers, options that are read and put back, or switched between launches), where the value is the one "
        "that the module has already, in functions that are called from elsewhere, and for options whose target can't "
        "be read. Options that reach no kernel are reported in a file that creates none and has no decorated function, "
        "in a project whose kernels all name their Warp module."
    ),
    fix_safety=(
        "The statement moves up within its block, above the first one that can load the module. `measured` for options "
        "that can't change forward results (enable_backward, lineinfo, compile_time_trace): dropped if an adjoint of "
        "the module's kernels is launched. `ask` for all others. An option that never acted is only reported."
    ),
    since="0.1.0",
    check=check,
)
