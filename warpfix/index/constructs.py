"""What Warp sees in a file: kernels, functions, structs, option writes and launches, in every spelling."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpfix.codemods.trees import children, tree_nodes
from warpfix.index import names
from warpfix.index.model import Construct, FileIndex, Launch, ModuleChoice, OptionSet
from warpfix.index.nodes import walk_with_scopes
from warpfix.index.scopes import Function, assigned_value, parameters, qualname
from warpfix.index.walk import CallNode, Definition, Enclosing, Walk, Write

if TYPE_CHECKING:
    from warpfix.index.build import ProjectIndex

_KINDS = {names.KERNEL: "kernel", names.FUNC: "func", names.STRUCT: "struct"}
_GENERIC = frozenset({"Any", "Float", "Int", "Scalar"})


@dataclass(frozen=True)
class _Choice:
    """Where a kernel is created and with what, as read from the arguments of ``wp.kernel``."""

    module: ModuleChoice
    name: str | None
    parameter: str | None
    default: str | None
    options: Mapping[str, ast.expr]


_PLAIN = _Choice(ModuleChoice.DEFAULT, None, None, None, {})
_UNKNOWN = _Choice(ModuleChoice.UNKNOWN, None, None, None, {})


def decorated(index: ProjectIndex, file: FileIndex, definition: Definition) -> Construct | None:
    """The construct that a definition's decorators make of it; None for plain Python."""
    node, enclosing = definition.node, definition.enclosing
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        target = call.func if call is not None else decorator
        resolved = index.resolve(file, target, enclosing)
        if resolved is None:
            continue
        kind = _KINDS.get(resolved)
        via: str | None = None
        if kind is not None:
            if (kind == "struct") != isinstance(node, ast.ClassDef):
                continue
            choice = _choice(index, file, call, enclosing)
        elif resolved == PARTIAL and call is not None:
            kind = _KINDS.get(index.resolve(file, call.args[0], enclosing) or "") if call.args else None
            if kind not in ("kernel", "func"):
                continue
            choice, via = _choice(index, file, call, enclosing), resolved
        elif resolved.startswith(("builtins.", "warp.")) or isinstance(node, ast.ClassDef):
            continue
        else:
            found = _wrapper(index, resolved, file, call, enclosing)
            if found is None:
                continue
            kind, choice = found
            via = resolved
        return Construct(
            kind=kind,
            name=node.name,
            qualname=qualname(enclosing, node.name),
            node=node,
            decorator=decorator,
            enclosing=enclosing,
            module_choice=choice.module,
            module_name=choice.name,
            module_parameter=choice.parameter,
            module_default=choice.default,
            options=choice.options,
            generic=_is_generic(index, file, node),
            via_wrapper=via,
        )
    return None


_GENERIC_WORD = re.compile(r"\b(?:Any|Float|Int|Scalar)\b")


def _is_generic(
    index: ProjectIndex, file: FileIndex, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
) -> bool:
    if isinstance(node, ast.ClassDef):
        return False
    possible = index._generic.get(file.path)
    if possible is None:
        possible = index._generic[file.path] = (
            any(word in file.text for word in _GENERIC) and _GENERIC_WORD.search(file.text) is not None
        )
    if not possible:
        return False
    for parameter in parameters(node.args):
        if parameter.annotation is None:
            continue
        for part in tree_nodes(parameter.annotation):
            if isinstance(part, ast.Name) and part.id in _GENERIC:
                return True
            if isinstance(part, ast.Attribute) and part.attr in _GENERIC:
                return True
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and "Any" in part.value:
                return True
    return False


def _choice(index: ProjectIndex, file: FileIndex, call: ast.Call | None, enclosing: Enclosing) -> _Choice:
    """What the arguments of ``wp.kernel(...)`` say of the module."""
    if call is None:
        return _PLAIN
    options = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg not in (None, "module")}
    given = {name: value for name, value in options.items() if name is not None}
    if any(keyword.arg is None for keyword in call.keywords):
        return _Choice(ModuleChoice.UNKNOWN, None, None, None, given)
    module = next((keyword.value for keyword in call.keywords if keyword.arg == "module"), None)
    return _module_choice(index, file, module, enclosing, given)


def _module_choice(
    index: ProjectIndex, file: FileIndex, module: ast.expr | None, enclosing: Enclosing, options: Mapping[str, ast.expr]
) -> _Choice:
    if module is None or (isinstance(module, ast.Constant) and module.value is None):
        return _Choice(ModuleChoice.DEFAULT, None, None, None, options)
    text = literal_string(index, file, module, enclosing)
    if text is not None:
        if text == "unique":
            return _Choice(ModuleChoice.UNIQUE, None, None, None, options)
        return _Choice(ModuleChoice.NAMED, text, None, None, options)
    if isinstance(module, ast.Name):
        scope, _ = index.binding_scope(module.id, enclosing)
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound = index.scope(scope).bindings[module.id]
            default = parameter_default(scope, module.id)
            if len(bound) == 1 and isinstance(bound[0], ast.arg):
                value = default.value if isinstance(default, ast.Constant) else None
                return _Choice(
                    ModuleChoice.PARAMETER, None, module.id, value if isinstance(value, str) else None, options
                )
    name = module_expression(index, file, module, enclosing)
    if name is not None:
        if name == file.module:
            return _Choice(ModuleChoice.DEFAULT, name, None, None, options)
        return _Choice(ModuleChoice.NAMED, name, None, None, options)
    return _Choice(ModuleChoice.UNKNOWN, None, None, None, options)


def parameter_default(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> ast.expr | None:
    """The default expression of a parameter, if it has one."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    offset = len(positional) - len(arguments.defaults)
    for position, parameter in enumerate(positional):
        if parameter.arg == name:
            return arguments.defaults[position - offset] if position >= offset else None
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if parameter.arg == name:
            return default
    return None


def value_of(index: ProjectIndex, file: FileIndex, expr: ast.expr, enclosing: Enclosing) -> ast.expr:
    """The expression that a name stands for, where it is bound exactly once; else the expression itself."""
    for _ in range(4):
        if not isinstance(expr, ast.Name):
            return expr
        scope, around = index.binding_scope(expr.id, enclosing)
        if scope is None:
            bound = file.bindings.get(expr.id, [])
            if expr.id in file.global_writes:
                return expr
            inside: Enclosing = ()
        else:
            bound = index.scope(scope).bindings[expr.id]
            inside = (*around, scope)
        value = assigned_value(bound[0], expr.id) if len(bound) == 1 else None
        if value is None:
            return expr
        expr, enclosing = value, inside
    return expr


def literal_string(index: ProjectIndex, file: FileIndex, expr: ast.expr, enclosing: Enclosing) -> str | None:
    """A string that the source shows: a literal, ``__name__``, or a name that is bound once to one."""
    value = value_of(index, file, expr, enclosing)
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.Name) and value.id == "__name__" and "__name__" not in file.bindings:
        return own_module(file)
    return None


def own_module(file: FileIndex) -> str:
    """Name of the Warp module of a file's default-module kernels; a script that has no import name is ``__main__``."""
    return file.module if file.module is not None else "__main__"


def module_expression(index: ProjectIndex, file: FileIndex, expr: ast.expr, enclosing: Enclosing) -> str | None:
    """Name of the Warp module that an expression is: ``wp.get_module("x")``, a Python module, ``kernel.module``."""
    value = value_of(index, file, expr, enclosing)
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.Name) and value.id == "__name__":
        return own_module(file)
    if isinstance(value, ast.Call):
        target = index.resolve(file, value.func, enclosing)
        if target == names.GET_MODULE:
            argument = call_argument(value, 0, "name")
            return None if argument is None else literal_string(index, file, argument, enclosing)
        return None
    if isinstance(value, ast.Subscript) and index.resolve(file, value.value, enclosing) == "sys.modules":
        return literal_string(index, file, value.slice, enclosing)
    if isinstance(value, ast.Attribute) and value.attr == "module":
        kernel = index.resolve(file, value.value, enclosing)
        found = _construct_by_name(index, kernel)
        if found is not None:
            owner, construct = found
            if construct.module_choice is ModuleChoice.DEFAULT:
                return own_module(owner)
            return construct.module_name
        return None
    resolved = index.resolve(file, value, enclosing)
    if resolved is not None and (target_file := index.module_file(resolved)) is not None:
        return own_module(target_file)
    return None


def _construct_by_name(index: ProjectIndex, name: str | None) -> tuple[FileIndex, Construct] | None:
    if name is None:
        return None
    definition = index.definition(name)
    if definition is None:
        return None
    found = decorated(index, definition.file, Definition(definition.node, definition.enclosing))
    return None if found is None else (definition.file, found)


def call_argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument by position or keyword; None when it is absent or hidden behind a star."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position < len(call.args) and not any(isinstance(item, ast.Starred) for item in call.args[: position + 1]):
        return call.args[position]
    return None


# ---- wrapper decorators


def _wrapper(
    index: ProjectIndex, canonical: str, file: FileIndex, call: ast.Call | None, enclosing: Enclosing
) -> tuple[str, _Choice] | None:
    """What a project's own decorator makes, looked through one level; None if it has nothing to do with Warp."""
    definition = index.definition(canonical)
    if definition is None:
        return _partial(index, canonical)
    if not isinstance(definition.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    owner, node = definition.file, definition.node
    made = index._wrappers.get(canonical)
    if made is None:
        made = index._wrappers[canonical] = _made_by(index, owner, node, definition.enclosing)
    if not made:
        return None
    kinds = {kind for kind, _, _ in made}
    if len(kinds) != 1:
        return None
    kind, inner_call, around = made[0]
    if len(made) > 1 or _renames(node):
        return kind, _UNKNOWN
    choice = _choice(index, owner, inner_call, around)
    if choice.module is ModuleChoice.PARAMETER and choice.parameter is not None:
        if call is None:
            given: ast.expr | None = None
        elif any(keyword.arg is None for keyword in call.keywords):
            return kind, _UNKNOWN
        else:
            given = _argument_for(node, call, choice.parameter)
        if given is not None:
            return kind, _module_choice(index, file, given, enclosing, choice.options)
        if choice.default == "unique":
            return kind, _Choice(ModuleChoice.UNIQUE, None, None, None, choice.options)
        default = parameter_default(node, choice.parameter)
        if isinstance(default, ast.Constant) and default.value is None:
            return kind, _Choice(ModuleChoice.DEFAULT, None, None, None, choice.options)
        return kind, _UNKNOWN
    return kind, choice


def _made_by(
    index: ProjectIndex, owner: FileIndex, node: ast.FunctionDef | ast.AsyncFunctionDef, enclosing: Enclosing
) -> list[tuple[str, ast.Call, Enclosing]]:
    """Calls of ``wp.kernel`` or ``wp.func`` in a function; none for a factory, which defines its own kernel."""
    made: list[tuple[str, ast.Call, Enclosing]] = []
    inside = (*enclosing, node)
    for statement in node.body:
        for inner, around in walk_with_scopes(statement, inside):
            if isinstance(inner, ast.Call):
                kind = _KINDS.get(index.resolve(owner, inner.func, around) or "")
                if kind in ("kernel", "func"):
                    made.append((kind, inner, around))
            elif isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in inner.decorator_list:
                    target = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if index.resolve(owner, target, around) in _KINDS:
                        return []
    return made


def _argument_for(node: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, name: str) -> ast.expr | None:
    positional = [*node.args.posonlyargs, *node.args.args]
    position = next((number for number, item in enumerate(positional) if item.arg == name), 1 << 20)
    return call_argument(call, position, name)


def _renames(node: ast.AST) -> bool:
    """Whether a wrapper changes what decides the module or the key: ``f.__module__ = ...``, ``f.__name__ = ...``."""
    for inner in tree_nodes(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and inner.attr.startswith("__"):
            return True
        if isinstance(inner, ast.Constant) and inner.value in ("__module__", "__name__", "__qualname__"):
            return True
    return False


PARTIAL = "functools.partial"


def by_partial(index: ProjectIndex, construct: Construct) -> bool:
    """Whether a kernel is made by ``wp.kernel`` with arguments that are given beforehand, and by nothing else."""
    via = construct.via_wrapper
    return via is not None and (via == PARTIAL or (index.definition(via) is None and _partial(index, via) is not None))


def _partial(index: ProjectIndex, canonical: str) -> tuple[str, _Choice] | None:
    """``kernel = functools.partial(wp.kernel, module="unique")`` or ``kernel = wp.kernel(enable_backward=False)``."""
    prefix, _, name = canonical.rpartition(".")
    file = index.module_file(prefix)
    if file is None:
        return None
    bound = file.bindings.get(name, [])
    value = assigned_value(bound[0], name) if len(bound) == 1 else None
    if not isinstance(value, ast.Call):
        return None
    target = index.resolve(file, value.func)
    if target == PARTIAL and value.args:
        kind = _KINDS.get(index.resolve(file, value.args[0]) or "")
        if kind in ("kernel", "func"):
            return kind, _choice(index, file, value, ())
    if target == names.KERNEL and not value.args:
        return "kernel", _choice(index, file, value, ())
    return None


# ---- calls


def harvest_calls(index: ProjectIndex, file: FileIndex, walk: Walk) -> None:
    """Kernels made by calls, option calls and launches of a file."""
    for name in _interesting(index, file, walk):
        for call in walk.calls.get(name, ()):
            resolved = index.resolve(file, call.node.func, call.enclosing)
            if resolved is None:
                continue
            if resolved in names.LOADING:
                _launch(index, file, call, resolved)
            elif resolved == names.SET_MODULE_OPTIONS:
                file.option_sets.append(_set_module_options(index, file, call))
            elif resolved in (names.KERNEL, names.KERNEL_CLASS):
                _kernel_call(index, file, call, call.node)
    for call in walk.calls.get("", ()):
        outer = call.node.func
        if isinstance(outer, ast.Call) and index.resolve(file, outer.func, call.enclosing) == names.KERNEL:
            _kernel_call(index, file, call, outer)
    for name, handler in (("update", _options_update), ("setattr", _config_setattr), ("setdefault", _options_update)):
        for call in walk.calls.get(name, ()):
            found = handler(index, file, call)
            if found is not None:
                file.option_sets.append(found)


_CALLED = frozenset(
    name.removeprefix("warp.") for name in (*names.LOADING, names.SET_MODULE_OPTIONS, names.KERNEL, names.KERNEL_CLASS)
)


def _interesting(index: ProjectIndex, file: FileIndex, walk: Walk) -> list[str]:
    """Last names of calls that may be Warp's: its own names, and what this file calls them."""
    found = set(_CALLED)
    for old, new in index.renames(file).items():
        if old in _CALLED:
            found.update(new)
    return sorted(name for name in found if name in walk.calls)


def _launch(index: ProjectIndex, file: FileIndex, call: CallNode, resolved: str) -> None:
    via = resolved.removeprefix("warp.")
    kernel = call_argument(call.node, 0, "kernel") if resolved in names.LAUNCHES | names.QUERIES else None
    target = None if kernel is None else kernel_target(index, file, kernel, call.enclosing)
    file.launches.append(Launch(via, kernel, target, call.node, call.enclosing))


def kernel_target(
    index: ProjectIndex, file: FileIndex, expr: ast.expr, enclosing: Enclosing, depth: int = 0
) -> str | None:
    """Canonical name of the kernel that an expression is: a name, a factory's result, ``wp.kernel(f)``."""
    if depth > 4:
        return None
    if isinstance(expr, (ast.Name, ast.Attribute)):
        resolved = index.resolve(file, expr, enclosing)
        if resolved is not None and index.definition(resolved) is not None:
            return resolved
        value = value_of(index, file, expr, enclosing)
        if value is not expr:
            around = enclosing
            if isinstance(expr, ast.Name):
                scope, outside = index.binding_scope(expr.id, enclosing)
                around = () if scope is None else (*outside, scope)
            found = kernel_target(index, file, value, around, depth + 1)
            if found is not None:
                return found
        if resolved is not None and "." in resolved:
            prefix, _, name = resolved.rpartition(".")
            owner = index.module_file(prefix)
            if owner is not None and owner is not file:
                bound = owner.bindings.get(name, [])
                made = assigned_value(bound[0], name) if len(bound) == 1 else None
                if made is not None:
                    found = kernel_target(index, owner, made, (), depth + 1)
                    if found is not None:
                        return found
            if owner is not None:
                return None  # a variable of the project that may be any kernel
        return resolved
    if isinstance(expr, ast.Call):
        function = index.resolve(file, expr.func, enclosing) if not isinstance(expr.func, ast.Call) else None
        if isinstance(expr.func, ast.Call) and index.resolve(file, expr.func.func, enclosing) == names.KERNEL:
            function = names.KERNEL
        if function in (names.KERNEL, names.KERNEL_CLASS) and expr.args:
            return kernel_target(index, file, expr.args[0], enclosing, depth + 1)
        if function is not None:
            return factory_result(index, function, depth)
    return None


def factory_result(index: ProjectIndex, canonical: str, depth: int = 0) -> str | None:
    """The kernel that a project function returns, where each of its returns gives the same one."""
    definition = index.definition(canonical)
    if definition is None or not isinstance(definition.node, ast.FunctionDef):
        return None
    inside = (*definition.enclosing, definition.node)
    results: set[str | None] = set()
    for statement in own_returns(definition.node):
        if statement.value is None:
            return None
        results.add(kernel_target(index, definition.file, statement.value, inside, depth + 1))
    return next(iter(results)) if len(results) == 1 else None


def own_returns(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Return]:
    """Return statements of a function, those of nested functions left out."""
    pending: list[ast.AST] = list(node.body)
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.Return):
            yield statement
        elif not isinstance(statement, (*Function, ast.ClassDef)):
            pending.extend(child for child in children(statement) if not isinstance(child, ast.expr))


def _kernel_call(index: ProjectIndex, file: FileIndex, call: CallNode, options: ast.Call) -> None:
    """``wp.kernel(f, ...)``, ``wp.kernel(...)(f)`` and ``wp.Kernel(f, ...)``."""
    if call.node is options and not call.node.args and not any(keyword.arg == "func" for keyword in options.keywords):
        return  # the decorator's own call, or the inner one of ``wp.kernel(...)(f)``
    if call.node in _decorator_calls(call.statement):
        return
    made = call.node.args[0] if call.node.args else call_argument(options, 0, "func")
    target = index.resolve(file, made, call.enclosing) if made is not None else None
    definition = index.definition(target) if target is not None else None
    if definition is None or not isinstance(definition.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        from warpfix.index.build import KernelCall

        index.kernel_calls.append(KernelCall(file, call.node, call.enclosing))
        return
    choice = _choice(index, file, options, call.enclosing)
    own = definition.file is file
    file.constructs.append(
        Construct(
            kind="kernel",
            name=definition.node.name,
            qualname=qualname(definition.enclosing, definition.node.name),
            node=definition.node,
            decorator=None,
            enclosing=call.enclosing,
            module_choice=choice.module if own or choice.module is not ModuleChoice.DEFAULT else ModuleChoice.UNKNOWN,
            module_name=choice.name,
            module_parameter=choice.parameter,
            module_default=choice.default,
            options={name: value for name, value in choice.options.items() if name not in ("f", "func")},
            generic=_is_generic(index, definition.file, definition.node),
        )
    )


def _decorator_calls(statement: ast.stmt) -> list[ast.expr]:
    return getattr(statement, "decorator_list", [])


# ---- options


def _set_module_options(index: ProjectIndex, file: FileIndex, call: CallNode) -> OptionSet:
    given = call_argument(call.node, 0, "options")
    options, dynamic = dictionary(index, file, given, call.enclosing)
    module = call_argument(call.node, 1, "module")
    if any(keyword.arg is None for keyword in call.node.keywords) or any(
        isinstance(item, ast.Starred) for item in call.node.args
    ):
        dynamic = True
        target = None
    elif module is None or (isinstance(module, ast.Constant) and module.value is None):
        target = own_module(file)
    else:
        target = module_expression(index, file, module, call.enclosing)
    return OptionSet("set_module_options", options, call.statement, call.enclosing, target, dynamic or target is None)


def dictionary(
    index: ProjectIndex, file: FileIndex, expr: ast.expr | None, enclosing: Enclosing
) -> tuple[dict[str, ast.expr], bool]:
    """Option names and values of a dict expression, and whether it holds more than can be read."""
    if expr is None:
        return {}, True
    value = value_of(index, file, expr, enclosing)
    found: dict[str, ast.expr] = {}
    dynamic = False
    if isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found[key.value] = item
            else:
                dynamic = True
        return found, dynamic
    if isinstance(value, ast.Call) and index.resolve(file, value.func, enclosing) == "builtins.dict" and not value.args:
        for keyword in value.keywords:
            if keyword.arg is None:
                dynamic = True
            else:
                found[keyword.arg] = keyword.value
        return found, dynamic
    return {}, True


def _options_of(index: ProjectIndex, file: FileIndex, expr: ast.expr, enclosing: Enclosing) -> tuple[bool, str | None]:
    """Whether an expression is the options dict of a Warp module, and of which."""
    if isinstance(expr, ast.Name):
        possible = index._with_options.get(file.path)
        if possible is None:
            possible = index._with_options[file.path] = ".options" in file.text or "module_options" in file.text
        if not possible:
            return False, None  # a name is followed within its file only
    elif not (isinstance(expr, ast.Call) or (isinstance(expr, ast.Attribute) and expr.attr == "options")):
        return False, None
    value = value_of(index, file, expr, enclosing)
    if isinstance(value, ast.Call) and not isinstance(value.func, ast.Call):
        if index.resolve(file, value.func, enclosing) != names.GET_MODULE_OPTIONS:
            return False, None
        module = call_argument(value, 0, "module")
        if module is None or (isinstance(module, ast.Constant) and module.value is None):
            return True, own_module(file)
        return True, module_expression(index, file, module, enclosing)
    if not (isinstance(value, ast.Attribute) and value.attr == "options"):
        return False, None
    owner = value_of(index, file, value.value, enclosing)
    if isinstance(owner, ast.Call):
        if index.resolve(file, owner.func, enclosing) != names.GET_MODULE:
            return False, None
        return True, module_expression(index, file, owner, enclosing)
    if isinstance(owner, ast.Attribute) and owner.attr == "module":
        name = module_expression(index, file, owner, enclosing)
        return (name is not None), name
    return False, None


def _options_update(index: ProjectIndex, file: FileIndex, call: CallNode) -> OptionSet | None:
    function = call.node.func
    if not isinstance(function, ast.Attribute):
        return None
    ours, target = _options_of(index, file, function.value, call.enclosing)
    if not ours:
        return None
    if function.attr == "setdefault":
        return OptionSet("options", {}, call.statement, call.enclosing, target, True)
    options: dict[str, ast.expr] = {}
    dynamic = False
    if call.node.args:
        options, dynamic = dictionary(index, file, call.node.args[0], call.enclosing)
    for keyword in call.node.keywords:
        if keyword.arg is None:
            dynamic = True
        else:
            options[keyword.arg] = keyword.value
    return OptionSet("options", options, call.statement, call.enclosing, target, dynamic or target is None)


def _config_setattr(index: ProjectIndex, file: FileIndex, call: CallNode) -> OptionSet | None:
    if len(call.node.args) != 3 or index.resolve(file, call.node.func, call.enclosing) != "builtins.setattr":
        return None
    if index.resolve(file, call.node.args[0], call.enclosing) != names.CONFIG:
        return None
    name = literal_string(index, file, call.node.args[1], call.enclosing)
    options = {} if name is None else {name: call.node.args[2]}
    return OptionSet("config", options, call.statement, call.enclosing, None, name is None)


def option_write(index: ProjectIndex, file: FileIndex, write: Write) -> OptionSet | None:
    """``wp.config.x = v`` or ``wp.get_module(n).options[k] = v``; None for other assignments."""
    target = write.target
    value = write.value if write.value is not None else ast.Constant(value=...)
    dynamic = write.value is None
    if isinstance(target, ast.Attribute):
        owner = target.value
        last = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        if last not in index.config_names(file) or index.resolve(file, target.value, write.enclosing) != names.CONFIG:
            return None
        return OptionSet("config", {target.attr: value}, write.statement, write.enclosing, None, dynamic)
    ours, module = _options_of(index, file, target.value, write.enclosing)
    if not ours:
        return None
    name = literal_string(index, file, target.slice, write.enclosing)
    options = {} if name is None else {name: value}
    return OptionSet(
        "options", options, write.statement, write.enclosing, module, dynamic or name is None or module is None
    )
