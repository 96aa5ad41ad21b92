"""WF501 factory-in-loop: a kernel factory that runs again at every step."""

from __future__ import annotations

import ast
import re
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator

from warpfix.codemods.memoise import Memoise
from warpfix.findings import Applicability, Finding, Fix, KernelRename
from warpfix.hoisting import hoister_for, kernel_key
from warpfix.hoisting.facts import FileFacts
from warpfix.hoisting.reached import changing_read
from warpfix.hoisting.values import is_warp_type
from warpfix.index.build import CallSite, ProjectIndex
from warpfix.index.constructs import call_argument, parameter_default, value_of
from warpfix.index.model import Construct, FileIndex, ModuleChoice, OptionSet, Role
from warpfix.index.names import LAUNCHES
from warpfix.index.scopes import Comprehension, Function, is_main_guard, parameters
from warpfix.index.walk import Enclosing
from warpfix.rules import Context, Rule
from warpfix.rules._flow import binds, is_literal, names_read
from warpfix.rules._kernels import head
from warpfix.rules._places import innermost_function, loops_around
from warpfix.rules.closure_kernel import closure_finding

_DEPTH = 4


class _Declined(Exception):
    """Why the factory can't be memoised, in words."""


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """One finding for each factory of the file that runs again and again."""
    made: dict[ast.FunctionDef, list[Construct]] = {}
    for construct in file.constructs:
        if construct.kind != "kernel" or not construct.in_function:
            continue
        factory = innermost_function(construct.enclosing)
        if isinstance(factory, ast.FunctionDef):
            made.setdefault(factory, []).append(construct)
    for factory, kernels in made.items():
        around = kernels[0].enclosing[: kernels[0].enclosing.index(factory)]
        if any(isinstance(node, Function) for node in around) or _remembers(factory):
            continue
        outside = [node.name for node in around if isinstance(node, ast.ClassDef)]
        canonical = ".".join([index.prefix(file), *outside, factory.name])
        definition = index.definition(canonical)
        if definition is None or definition.node is not factory or not _returns_kernel(factory, kernels):
            continue
        sites = index.call_sites(canonical)
        repeated = next(((site, how) for site in sites if (how := _per_step(index, site)) is not None), None)
        if repeated is None or _hoistable(index, context, file, kernels):
            continue
        yield _finding(index, context, file, canonical, factory, around, kernels, sites, *repeated)


def _hoistable(index: ProjectIndex, context: Context, file: FileIndex, kernels: list[Construct]) -> bool:
    """Whether another rule takes the kernels out of the factory, which ends the matter."""
    nodes = {construct.node for construct in kernels}
    hoister = hoister_for(index, context.config)
    mine = [verdict for verdict in hoister.verdicts(file) if verdict.construct.node in nodes]
    return bool(mine) and all(verdict.edits and closure_finding(hoister, verdict) is not None for verdict in mine)


def _returns_kernel(factory: ast.FunctionDef, kernels: list[Construct]) -> bool:
    names = {construct.name for construct in kernels}
    for statement in _own(factory.body):
        if isinstance(statement, ast.Return) and statement.value is not None and names & names_read(statement.value):
            return True
    return False


def _remembers(factory: ast.FunctionDef) -> bool:
    """Whether it keeps what it made: by a decorator (any, to be safe), or by looking into something first."""
    if any(not _is_plain_decorator(decorator) for decorator in factory.decorator_list):
        return True
    own = binds(factory.body)
    for statement in _own(factory.body):
        if isinstance(statement, (ast.Try, ast.Global, ast.Nonlocal)):
            return True
        if isinstance(statement, ast.If) and _looks_up(statement.test):
            return True
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                # Something of its own, such as a dict of options, is filled in each call.
                if isinstance(target, (ast.Subscript, ast.Attribute)) and not names_read(target.value) & own:
                    return True
    return False


def _is_plain_decorator(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod")


def _looks_up(test: ast.expr) -> bool:
    """``key in cache``, ``kernel is None``, ``not kernel``, ``hasattr(...)``: the usual signs of something kept."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            for operator, right in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, (ast.In, ast.NotIn)) and not isinstance(right, (ast.Tuple, ast.List, ast.Set)):
                    return True
                if isinstance(operator, (ast.Is, ast.IsNot)):
                    return True
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            if isinstance(node.operand, (ast.Name, ast.Attribute)):
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr":
            return True
    return False


# ---- how often


def _per_step(index: ProjectIndex, site: CallSite) -> str | None:
    """How the call comes to run again and again, in words; None where the source does not show it."""
    if site.file.role is Role.TEST or not _used_at_once(site):
        return None
    function = innermost_function(site.enclosing)
    guards = site.enclosing[site.enclosing.index(function) :] if function is not None else site.enclosing
    kept = isinstance(site.statement, ast.Assign)
    for node in guards:
        if isinstance(node, (ast.Try, ast.ExceptHandler)):
            return None
        if kept and isinstance(node, ast.If) and _looks_up(node.test):
            return None
    for loop in loops_around(site.enclosing):
        if not _depends_on(site.node, loop):
            return f"in the loop on line {loop.lineno}"  # type: ignore[attr-defined]
    if not isinstance(function, ast.FunctionDef):
        return None
    how = _called_again(index, site.file, function, site.enclosing, site.node, 0)
    if how is not None:
        return how
    if _launched_directly(index, site) and _may_be_called_often(index, site.file, function, site.enclosing):
        return f"in every call of `{function.name}`, where it stands in the launch itself"
    return None


def _used_at_once(site: CallSite) -> bool:
    """Not kept in an attribute or a table, and not handed on to a caller."""
    statement = site.statement
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Name) for target in statement.targets)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        kept = isinstance(function, ast.Attribute) and function.attr in (
            "append",
            "add",
            "setdefault",
            "extend",
            "insert",
        )
        return not kept
    return False


def _depends_on(call: ast.Call, loop: ast.AST) -> bool:
    """Whether the arguments change with the turns of a loop, so that each turn wants another kernel."""
    if isinstance(loop, Comprehension):
        return True  # a table of kernels
    body = list(getattr(loop, "body", ()))
    changing = binds(body) - _same_each_turn(body)
    target = getattr(loop, "target", None)
    if target is not None:
        changing |= names_read(target)
    read: set[str] = set()
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        read |= names_read(argument)
    return bool(read & changing)


def _same_each_turn(body: list[ast.stmt]) -> set[str]:
    """Names that only a loop inside binds, over things that are written out: each turn goes through the same again."""
    bound: Counter[str] = Counter()
    fixed: set[str] = set()
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound[node.id] += 1
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and _written_out(node.iter):
            fixed.add(node.target.id)
    return {name for name in fixed if bound[name] == 1}


def _written_out(iterated: ast.expr) -> bool:
    if isinstance(iterated, ast.Call):
        named = isinstance(iterated.func, ast.Name) and iterated.func.id == "range"
        return named and not iterated.keywords and all(map(is_literal, iterated.args))
    return is_literal(iterated)


def _called_again(
    index: ProjectIndex, file: FileIndex, function: ast.FunctionDef, enclosing: Enclosing, call: ast.Call, depth: int
) -> str | None:
    """A loop that calls the function, with arguments that do not change what the factory is given."""
    place = enclosing.index(function)
    around = enclosing[:place]
    if depth > _DEPTH or any(isinstance(node, Function) for node in around) or _cached(function):
        return None
    passed = names_read_by(call)
    mine = {parameter.arg for parameter in parameters(function.args)}
    if binds(function.body) & passed:
        return None  # what it gives is computed here: it may be another one each time
    owner = next((node for node in reversed(around) if isinstance(node, ast.ClassDef)), None)
    if owner is None:
        sites = index.call_sites(f"{index.prefix(file)}.{function.name}")
    elif _methods(index, function.name) == 1:
        sites = list(_method_calls(index, function.name))
    else:
        return None  # ``solver.step()``: whose step it is can only be said where there is one of that name
    for site in sites:
        if site.file.role is Role.TEST:
            continue
        given = _given(function, site.node, passed & mine, owner is not None)
        if given is None:
            continue
        wanted = ast.Call(func=ast.Name(id=function.name, ctx=ast.Load()), args=given, keywords=[])
        for loop in loops_around(site.enclosing):
            if not _depends_on(wanted, loop):
                where = index.project.relative(site.file.path)
                line = getattr(loop, "lineno", site.node.lineno)
                return f"in `{function.name}`, which the loop on line {line} of {where} calls"
        outer = innermost_function(site.enclosing)
        if isinstance(outer, ast.FunctionDef) and outer is not function:
            how = _called_again(index, site.file, outer, site.enclosing, wanted, depth + 1)
            if how is not None:
                return how
    return None


def names_read_by(call: ast.Call) -> set[str]:
    """Names in the arguments of a call."""
    found: set[str] = set()
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        found |= names_read(argument)
    return found


def _given(function: ast.FunctionDef, call: ast.Call, wanted: set[str], method: bool) -> list[ast.expr] | None:
    """What a call gives for some parameters; None where a star hides it."""
    if any(isinstance(item, ast.Starred) for item in call.args) or any(item.arg is None for item in call.keywords):
        return None
    found: list[ast.expr] = []
    positional = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
    if method and positional:
        positional = positional[1:]
    for name in wanted - {"self", "cls"}:
        place = positional.index(name) if name in positional else 1 << 20
        value = call_argument(call, place, name)
        if value is not None:
            found.append(value)
    return found


_METHODS: weakref.WeakKeyDictionary[ProjectIndex, Counter[str]] = weakref.WeakKeyDictionary()


def _methods(index: ProjectIndex, name: str) -> int:
    """How many classes of the project have a method of this name."""
    found = _METHODS.get(index)
    if found is None:
        found = _METHODS[index] = Counter(
            definition.node.name
            for file in index.files.values()
            for definitions in index.definitions(file).values()
            for definition in definitions
            if definition.enclosing and isinstance(definition.enclosing[-1], ast.ClassDef)
        )
    return found[name]


def _method_calls(index: ProjectIndex, name: str) -> Iterator[CallSite]:
    for file in index.files.values():
        for call in index.calls(file).get(name, ()):
            function = call.node.func
            if isinstance(function, ast.Attribute) and not isinstance(function.value, ast.Call):
                yield CallSite(file, call.node, call.statement, call.enclosing)


def _cached(function: ast.FunctionDef) -> bool:
    return any(
        "cache" in ast.unparse(decorator) or "memo" in ast.unparse(decorator) for decorator in function.decorator_list
    )


def _launched_directly(index: ProjectIndex, site: CallSite) -> bool:
    statement = site.statement
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    call = statement.value
    return (
        index.resolve(site.file, call.func, site.enclosing) in LAUNCHES
        and call_argument(call, 0, "kernel") is site.node
    )


def _may_be_called_often(
    index: ProjectIndex, file: FileIndex, function: ast.FunctionDef, enclosing: Enclosing, depth: int = 0
) -> bool:
    """Whether the function is one of a library's, for others to call; not a set-up, and not a script's own."""
    if (
        file.role is not Role.LIBRARY
        or function.name in ("__init__", "__new__", "main", "setup", "build", "run")
        or _cached(function)
    ):
        return False
    around = enclosing[: enclosing.index(function)]
    if any(isinstance(node, Function) for node in around) or depth > _DEPTH:
        return False
    private = function.name.startswith("_")
    if any(isinstance(node, ast.ClassDef) for node in around):
        return not private
    sites = index.call_sites(f"{index.prefix(file)}.{function.name}")
    if not private:
        return not sites or any(innermost_function(site.enclosing) is not None for site in sites)
    for site in sites:
        caller = innermost_function(site.enclosing)
        if isinstance(caller, ast.FunctionDef) and _may_be_called_often(
            index, site.file, caller, site.enclosing, depth + 1
        ):
            return True
    return False


# ---- the fix


def _finding(
    index: ProjectIndex,
    context: Context,
    file: FileIndex,
    canonical: str,
    factory: ast.FunctionDef,
    around: Enclosing,
    kernels: list[Construct],
    sites: list[CallSite],
    site: CallSite,
    how: str,
) -> Finding:
    names = ", ".join(f"`{construct.name}`" for construct in kernels)
    where = (
        f"line {site.node.lineno}"
        if site.file is file
        else f"{index.project.relative(site.file.path)}:{site.node.lineno}"
    )
    fix, declined = None, None
    try:
        _check_factory(index, context, file, factory, around)
        _check_uses(index, canonical, sites)
        _check_arguments(index, factory, sites, all(one.module_choice is ModuleChoice.UNIQUE for one in kernels))
        for one in sites:
            _check_result(index, context, one)
    except _Declined as reason:
        declined = str(reason)
    else:
        public = file.role is Role.LIBRARY and not factory.name.startswith("_")
        fix = Fix(
            applicability=Applicability.ASK if public else Applicability.MEASURED,
            summary=f"memoise `{factory.name}` with `functools.cache`: equal arguments give the kernel that is there",
            edits={file.path: (Memoise(factory.lineno, factory.name),)},
            renames=tuple(_stays(file, construct) for construct in kernels),
            proved=(
                f"`{factory.name}` does nothing but make the kernel; all arguments in the project are hashable, of one "
                "type each and compared by value; no Warp option is set in between"
            ),
            unproved="others may call it with arguments that can't be hashed"
            if public
            else "that it is called more than once with equal arguments is for a measured run to show",
        )
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **head(file, factory),
        message=(
            f"`{factory.name}` makes {names} again {how} ({where}): no build follows where nothing has changed, but "
            "each new kernel costs its declaration, and makes Warp hash its module again"
        ),
        advice=f"keep the kernel; no fix is offered: {declined}"
        if fix is None
        else "memoise the factory with `functools.cache`",
        kernel=kernels[0].qualname,
        fix=fix,
        declined=declined,
        data={
            "factory": factory.name,
            "called": [site.file.path, site.node.lineno],
            "made_at": [file.path, head(file, kernels[0].node)["line"], kernels[0].node.lineno],
        },
    )


def _stays(file: FileIndex, construct: Construct) -> KernelRename:
    """The kernel that a fix is about; neither its definition nor its key moves."""
    key = kernel_key(construct.qualname)
    return KernelRename(file.path, construct.qualname, construct.qualname, key, key)


def _check_factory(
    index: ProjectIndex, context: Context, file: FileIndex, factory: ast.FunctionDef, around: Enclosing
) -> None:
    if around or factory.decorator_list:
        raise _Declined(f"`{factory.name}` is a method, decorated, or stands in a block")
    if factory.args.vararg or factory.args.kwarg:
        raise _Declined(f"`{factory.name}` takes any number of arguments")
    for default in (*factory.args.defaults, *factory.args.kw_defaults):
        if default is not None:
            _kind(index, file, default, (), 0, True)
    for statement in factory.body:
        _check_statement(index, file, factory, statement)
    _check_state(index, file, factory)
    read = names_read(factory)
    for name in sorted(read & set(file.bindings)):
        bound = file.bindings[name]
        if name in file.global_writes or (len(bound) > 1 and not all(isinstance(node, ast.Import) for node in bound)):
            raise _Declined(
                f"`{name}`, which it reads, is assigned more than once: a kept kernel would not see the change"
            )
    if (problem := changing_read(hoister_for(index, context.config), file, factory)) is not None:
        raise _Declined(f"{problem}: a kept kernel would not see the change")
    for other in index.files.values():
        for item in other.option_sets:
            if item.via == "config" and set(item.options) <= _NOT_HASHED and not item.dynamic:
                continue
            where = f"line {item.node.lineno} of {index.project.relative(other.path)}"
            if innermost_function(item.enclosing) is not None:
                raise _Declined(f"{where} sets options in a function: a kept kernel keeps those that it was made with")
            if not _set_first(index, context, other, item):
                raise _Declined(
                    f"{where} sets options when the factory may have run: a kept kernel keeps those that it was made "
                    "with"
                )


def _set_first(index: ProjectIndex, context: Context, file: FileIndex, write: OptionSet) -> bool:
    """Whether nothing but imports and definitions stands above a write of options, so that nothing was made before."""
    facts = hoister_for(index, context.config).facts(file)
    writes = {item.node for item in file.option_sets}
    body: list[ast.stmt] = file.tree.body
    for guard in (*write.enclosing, write.node):
        for statement in body:
            if statement is guard:
                break
            if statement not in writes and not isinstance(statement, _QUIET) and not facts.inert(statement):
                return False
        else:
            return False
        if guard is not write.node and not is_main_guard(guard):
            return False
        body = getattr(guard, "body", [])
    return True


_QUIET = (ast.Import, ast.ImportFrom, ast.Global)


_NOT_HASHED = frozenset(
    {"verbose", "quiet", "log_level", "verbose_warnings", "print_launches", "kernel_cache_dir", "cache_kernels"}
)


def _check_statement(index: ProjectIndex, file: FileIndex, factory: ast.FunctionDef, statement: ast.stmt) -> None:
    inside: Enclosing = (factory,)
    if isinstance(
        statement, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass, ast.Raise, ast.Assert)
    ):
        return
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    if isinstance(statement, ast.If):
        _check_calls(index, file, factory, statement.test, inside)
        for inner in (*statement.body, *statement.orelse):
            _check_statement(index, file, factory, inner)
        return
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if all(isinstance(target, ast.Name) for target in targets) and statement.value is not None:
            _check_calls(index, file, factory, statement.value, inside)
            return
    if isinstance(statement, ast.Return) and statement.value is not None:
        _check_calls(index, file, factory, statement.value, inside)
        return
    raise _Declined(f"line {statement.lineno} of `{factory.name}` does more than make the kernel")


# Calls that give the same for the same, whatever device, setting or memory is current: no array, no question to Warp.
_PURE = re.compile(
    r"math\.\w+\Z|warp\.(?:constant|static|kernel|func|struct|overload|Kernel|func_grad|func_replay|func_native)\Z"
    r"|warp\.types\.\w+\Z"
    r"|builtins\.(?!open\b|input\b|id\b|hash\b|globals\b|locals\b|vars\b|dir\b|eval\b|exec\b|next\b|__import__\b)"
)
_STATE = ("warp.config.", "os.environ", "sys.")


def _check_state(index: ProjectIndex, file: FileIndex, factory: ast.FunctionDef) -> None:
    """What is read of settings may be another at the next call."""
    for node in ast.walk(factory):
        if isinstance(node, ast.Attribute):
            resolved = index.resolve(file, node, (factory,)) or ""
            if f"{resolved}.".startswith(_STATE):
                raise _Declined(f"`{ast.unparse(node)}` on line {node.lineno} may be something else each time")


def _check_calls(
    index: ProjectIndex, file: FileIndex, factory: ast.FunctionDef, expression: ast.expr, inside: Enclosing
) -> None:
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            resolved = index.resolve(file, node.func, inside) or ""
            if not _PURE.match(resolved) and not is_warp_type(resolved):
                raise _Declined(f"`{ast.unparse(node.func)}` on line {node.lineno} may give something else each time")
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
            raise _Declined(f"line {node.lineno} of `{factory.name}` does more than make the kernel")


def _check_uses(index: ProjectIndex, canonical: str, sites: list[CallSite]) -> None:
    called = {id(site.node.func) for site in sites}
    for reference in index.references(canonical):
        if id(reference.node) not in called:
            raise _Declined(
                f"line {reference.node.lineno} of {index.project.relative(reference.file.path)} passes the factory on: "
                "what it is called with there is not in the source"
            )


def _check_result(index: ProjectIndex, context: Context, site: CallSite) -> None:
    """One kernel where there were many is no difference to a launch; to what tells objects apart it is."""
    facts = hoister_for(index, context.config).facts(site.file)
    parent = facts.source.parents.get(site.node)
    if isinstance(parent, ast.Assign) and all(isinstance(target, ast.Name) for target in parent.targets):
        around = facts.enclosing(site.node)
        scope = facts.scopes.by_node[around[-1]] if around else facts.scopes.module
        for target in parent.targets:
            bound = facts.scopes.lookup(target.id, scope)  # type: ignore[attr-defined]
            for occurrence in facts.scopes.references(bound, target.id):  # type: ignore[attr-defined]
                node = occurrence.node
                if not occurrence.store and isinstance(node, ast.expr) and not _only_launched(facts, node):
                    raise _Declined(f"line {node.lineno} does more with the kernel than launch it")
    elif not _only_launched(facts, site.node):
        raise _Declined(f"line {site.node.lineno} does more with the kernel than launch it")


def _only_launched(facts: FileFacts, node: ast.expr) -> bool:
    """Whether a kernel is launched, returned, dropped, or put somewhere to be launched later."""
    parent = facts.source.parents.get(node)
    if isinstance(parent, ast.keyword):
        launch = facts.source.parents.get(parent)
        return parent.arg == "kernel" and isinstance(launch, ast.Call) and _launches(facts, launch)
    if isinstance(parent, ast.Call):
        return parent.args[:1] == [node] and _launches(facts, parent)
    return isinstance(parent, (ast.Return, ast.Assign, ast.Expr))


def _launches(facts: FileFacts, call: ast.Call) -> bool:
    return isinstance(call.func, (ast.Name, ast.Attribute)) and facts.resolve(call.func) in LAUNCHES


def _check_arguments(index: ProjectIndex, factory: ast.FunctionDef, sites: list[CallSite], several: bool) -> None:
    kinds: dict[str, dict[str, int]] = {}
    positional = [item.arg for item in (*factory.args.posonlyargs, *factory.args.args)]
    for site in sites:
        if any(isinstance(item, ast.Starred) for item in site.node.args) or any(
            keyword.arg is None for keyword in site.node.keywords
        ):
            raise _Declined(f"line {site.node.lineno} gives its arguments by a star")
        given = [*zip(positional, site.node.args, strict=False)]
        given += [(keyword.arg, keyword.value) for keyword in site.node.keywords if keyword.arg is not None]
        for name, value in given:
            kind = _kind(index, site.file, value, site.enclosing, 0, several)
            kinds.setdefault(name, {}).setdefault(kind, site.node.lineno)
    for name, found in kinds.items():
        numbers = {"int", "float", "bool"} & found.keys()
        if len(numbers) > 1 or ("number" in found and len(found) > 1):
            raise _Declined(f"`{name}` is given numbers of several types, which are equal as keys and differ as code")


def _kind(
    index: ProjectIndex, file: FileIndex, expression: ast.expr, enclosing: Enclosing, depth: int, several: bool
) -> str:
    """What an argument is, as far as equality and hashing go. Raises _Declined where the source does not say."""
    if isinstance(expression, ast.Constant):
        return type(expression.value).__name__
    if isinstance(expression, ast.UnaryOp):
        return (
            "bool"
            if isinstance(expression.op, ast.Not)
            else _kind(index, file, expression.operand, enclosing, depth, several)
        )
    if isinstance(expression, ast.JoinedStr):
        return "str"
    if isinstance(expression, ast.Compare):
        return "bool"
    if isinstance(expression, ast.BinOp):
        sides = {_kind(index, file, side, enclosing, depth, several) for side in (expression.left, expression.right)}
        if sides == {"int"} and not isinstance(expression.op, (ast.Div, ast.Pow)):
            return "int"
    if isinstance(expression, ast.Tuple):
        return "tuple of " + ", ".join(_kind(index, file, item, enclosing, depth, several) for item in expression.elts)
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
        resolved = index.resolve(file, expression.func, enclosing)
        if resolved in ("builtins.int", "builtins.len"):
            return "int"
        if resolved in ("builtins.str", "builtins.bool", "builtins.float"):
            return resolved.rpartition(".")[2]
    if isinstance(expression, ast.Name) and depth <= _DEPTH:
        scope, around = index.binding_scope(expression.id, enclosing)
        if isinstance(scope, ast.FunctionDef):
            bound = index.scope(scope).bindings[expression.id]
            if len(bound) == 1 and isinstance(bound[0], ast.arg):
                return _parameter_kind(index, file, scope, around, bound[0], depth, several)
        else:
            bound = [] if expression.id in file.global_writes else file.bindings.get(expression.id, [])
        if len(bound) == 1 and isinstance(bound[0], ast.For) and isinstance(bound[0].target, ast.Name):
            if not several:
                raise _Declined(
                    f"`{expression.id}` on line {expression.lineno} takes several values, and the kernels share a Warp "
                    "module, where those that are kept would all be built again with each new one"
                )
            kind = _element_kind(index, file, bound[0].iter, enclosing, depth, several)
            if kind is not None:
                return kind
    if isinstance(expression, (ast.Name, ast.Attribute)):
        value = value_of(index, file, expression, enclosing)
        if value is not expression:
            return _kind(index, file, value, enclosing, depth + 1, several)
        resolved = index.resolve(file, expression, enclosing)
        if resolved is not None:
            if resolved.startswith("warp.") and not resolved.startswith("warp.config"):
                return "type"
            if resolved.startswith("builtins."):
                return "type"
            if ".<locals>." not in resolved and index.definition(resolved) is not None:
                return "type"
    raise _Declined(
        f"what `{ast.unparse(expression)}` on line {expression.lineno} is, and how it compares, is not in the source"
    )


def _element_kind(
    index: ProjectIndex, file: FileIndex, iterated: ast.expr, enclosing: Enclosing, depth: int, several: bool
) -> str | None:
    """What a loop goes through, one at a time; None where it is not written out, or of several kinds."""
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name):
        return "int" if index.resolve(file, iterated.func, enclosing) == "builtins.range" else None
    if isinstance(iterated, (ast.Tuple, ast.List)) and iterated.elts:
        kinds = {_kind(index, file, item, enclosing, depth + 1, several) for item in iterated.elts}
        return kinds.pop() if len(kinds) == 1 else None
    return None


def _parameter_kind(
    index: ProjectIndex,
    file: FileIndex,
    function: ast.FunctionDef,
    around: Enclosing,
    parameter: ast.arg,
    depth: int,
    several: bool,
) -> str:
    annotation = parameter.annotation
    text = annotation.id if isinstance(annotation, ast.Name) else ""
    if text in ("int", "str", "bool"):
        return text
    sites = [] if around else index.call_sites(f"{index.prefix(file)}.{function.name}")
    if not sites:
        raise _Declined(f"what `{function.name}` is given for `{parameter.arg}` is not in the source")
    kinds: set[str] = set()
    for site in sites:
        given = _given(function, site.node, {parameter.arg}, method=False)
        value = given[0] if given else parameter_default(function, parameter.arg)
        if given is None or value is None:
            raise _Declined(f"what line {site.node.lineno} gives for `{parameter.arg}` can't be read")
        kinds.add(_kind(index, site.file, value, site.enclosing if given else (), depth + 1, several))
    return kinds.pop() if len(kinds) == 1 else "number" if kinds & {"int", "float", "bool"} else "type"


def _own(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a function and of its blocks, those of nested definitions left out."""
    pending = list(body)
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, (*Function, ast.ClassDef)) or is_main_guard(statement):
            continue
        for field in ("body", "orelse", "finalbody"):
            pending.extend(getattr(statement, field, ()))


RULE = Rule(
    code="WF501",
    slug="factory-in-loop",
    summary="A kernel factory runs again at every step.",
    why=(
        "A kernel that is made again with equal content is not built again, so the log shows nothing. But each new one "
        "costs about a millisecond to declare, and marks its module as modified, so that the next launch hashes the "
        "module again: with a factory in the hot loop, most of a step can be that."
    ),
    bad=(
        "def make_smooth(order):\n"
        "    @wp.kernel\n"
        "    def smooth(v: wp.array(dtype=float)):\n"
        "        for j in range(wp.static(order)):\n"
        "            v[wp.tid()] *= 0.5\n"
        "    return smooth\n"
        "\n"
        "for _ in range(steps):\n"
        "    wp.launch(make_smooth(3), dim=n, inputs=[v])\n"
    ),
    good=(
        "@functools.cache\n"
        "def make_smooth(order):\n"
        "    @wp.kernel\n"
        "    def smooth(v: wp.array(dtype=float)):\n"
        "        for j in range(wp.static(order)):\n"
        "            v[wp.tid()] *= 0.5\n"
        "    return smooth\n"
        "\n"
        "for _ in range(steps):\n"
        "    wp.launch(make_smooth(3), dim=n, inputs=[v])\n"
    ),
    limits=(
        "Reported where a loop calls the factory, or calls a function that does, with arguments that do not change "
        "from turn to turn; and where a library's public function or method has the call in the launch itself. Silent "
        "about factories that are decorated or look something up first, results that are kept in an attribute or a "
        "table, tables of kernels, and kernels that can be hoisted, which is another rule."
    ),
    fix_safety=(
        "`measured`: `@functools.cache`, if the factory does nothing but make the kernel, every argument in the "
        "project is hashable and compared by value, numbers are of one type, no option is set where the factory may "
        "have run before, and its kernels are launched or kept, not told apart. With `--verify` it earns its place by "
        "the kernels that are no longer made. `ask` for a library's public factory, which others may call with what "
        "can't be hashed."
    ),
    since="0.1.0",
    check=check,
)
