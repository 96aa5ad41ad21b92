"""Which attributes of modules and classes the project assigns from elsewhere: ``mod.N = 1``, ``setattr(mod, name, 1)``.

A write reaches what its object can be. An object that the source shows to be an instance is neither a module nor a
class. One of which nothing is known may be any class; it may be a module only where that module is handed about as a
value, or where the same file gets modules by their names and passes them on. That a file finds a module by a name and
another one sets its attributes, again by names from elsewhere, is not followed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from warpfix.codemods.trees import tree_nodes
from warpfix.index.model import FileIndex, Role
from warpfix.index.scopes import assigned_value, is_main_guard
from warpfix.index.walk import Enclosing

if TYPE_CHECKING:
    from warpfix.hoisting.project import Hoister

_INSTANCE = "an instance"
_SOME_CLASS = "some class"
_SOME_MODULE = "some module"
_META = frozenset({"builtins.type", "types.ModuleType", "enum.EnumMeta", "enum.EnumType", "abc.ABCMeta"})
_NO_INSTANCE = frozenset({"builtins.type", "builtins.object", "types.ModuleType", "typing.Any", "typing.Type"})
_READS = frozenset({"getattr", "hasattr", "dir", "vars", "print", "repr", "str", "id", "isinstance", "reload"})
_WRITES = frozenset({"setattr", "delattr", "object", "__setattr__", "__delattr__"})
_LOOKUPS = ("import_module", "__import__", "getmodule", "module_from_spec", "ModuleType")
_LOOKS_UP = re.compile(r"\bsys\.modules\b|\b(?:" + "|".join(_LOOKUPS) + r")\b")
_WRITER = re.compile(r"\b(?:[sg]et|del)attr\b|\b__(?:[sd]e[tl]attr)__\b|\b__dict__\b|\bvars\(|\bglobals\(|\bpatch\b")
_HANDED_ON = re.compile(r"[(,=]\s*(?:builtins\.)?(?:set|del)attr\s*[,)]")
_DEPTH = 4


@dataclass(frozen=True)
class Assignment:
    """One place that assigns an attribute."""

    file: FileIndex
    line: int
    name: str | None
    """The attribute, ``None`` where any may be meant."""
    shape: re.Pattern[str] | None
    """What the name looks like where only a part of it is in the source."""
    owner: str | None
    """Canonical name of the object, one of the three words above, or None where nothing is known of it."""

    def names(self, attribute: str) -> bool:
        """Whether it may be this attribute that is assigned."""
        if self.name is not None:
            return self.name == attribute
        return self.shape is None or self.shape.fullmatch(attribute) is not None


class Assignments:
    """Assignments of attributes over a whole project, looked up when they are asked for."""

    def __init__(self, hoister: Hoister) -> None:
        self.hoister = hoister
        self.index = hoister.index
        self._plain: dict[str, dict[str, list[Assignment]]] = {}
        self._bare: dict[str, bool] = {}
        self._found: dict[tuple[str, str], bool] = {}

    def of_module(self, file: FileIndex, name: str, literal_only: bool = False) -> str | None:
        """``file.py:12`` where a global of a file may be assigned through the module object; None if nowhere.

        Where neither the object nor the name is in the source, a name that the file binds by imports alone (``wp``) is
        not taken for the one that is meant, nor is any by a test file; one that the file does not bind at all
        (``range``) never is by such an object.

        Args:
            file: The file whose global it is.
            name: The global.
            literal_only: Pass over places where the name itself is not in the source.
        """
        module = self.index.prefix(file)
        bindings = file.bindings.get(name, ())
        imported = all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in bindings)
        for one in self._naming(name):
            blind = one.owner is None and one.name is None
            if one.name is None and (literal_only or (blind and one.file.role is Role.TEST)):
                continue
            if one.owner is None and not literal_only and (not bindings or (imported and blind)):
                continue
            if one.owner in (module, _SOME_MODULE) or (one.owner is None and self._handed_about(file, one.file)):
                return _place(one)
        return None

    def of_class(self, canonical: str, name: str) -> str | None:
        """``file.py:12`` where an attribute of a class may be assigned; None if nowhere."""
        found = self.index.definition(canonical)
        alone = found is not None and isinstance(found.node, ast.ClassDef) and not found.node.bases
        for one in self._naming(name):
            if one.owner in (None, _SOME_CLASS, canonical) or (not alone and self._is_class(one.owner)):
                return _place(one)
        return None

    def of_any(self, name: str) -> bool:
        """Whether an attribute of this name may be assigned to an object that is no module and no class by itself."""
        return any(one.owner != _INSTANCE or one.name is not None for one in self._naming(name))

    def _is_class(self, owner: str | None) -> bool:
        found = self.index.definition(owner) if owner is not None else None
        return found is not None and isinstance(found.node, ast.ClassDef)

    # ---- the places

    def _naming(self, name: str) -> Iterator[Assignment]:
        for path in self.hoister.paths_that_write(name):
            file = self.index.file(path)
            if file is not None:
                yield from self._by_name(file).get(name, ())
        for one in self._by_call:
            if one.names(name):
                yield one

    def _by_name(self, file: FileIndex) -> dict[str, list[Assignment]]:
        """``x.name = value`` of one file, by the name."""
        known = self._plain.get(file.path)
        if known is None:
            known = self._plain[file.path] = {}
            for write in self.index.writes(file):
                if isinstance(write.target, ast.Attribute):
                    owner = self._owner(file, write.target.value, write.enclosing)
                    name = write.target.attr
                    known.setdefault(name, []).append(Assignment(file, write.target.lineno, name, None, owner))
        return known

    @cached_property
    def _by_call(self) -> list[Assignment]:
        """Assignments by a call, or through the dictionary of an object, but for those of instances."""
        found: list[Assignment] = []
        for path, text in self.hoister.texts():
            if not _WRITER.search(text) or (file := self.index.file(path)) is None:
                continue
            handed = self._handed_on(file) if _HANDED_ON.search(text) is not None else ()
            for owner, key, node, enclosing in (*self._calls(file), *handed):
                name, shape = self._name(file, key, enclosing)
                of = self.index.prefix(file) if owner is None else self._owner(file, owner, enclosing)
                if of != _INSTANCE:
                    found.append(Assignment(file, getattr(node, "lineno", 0), name, shape, of))
        return found

    def _handed_on(self, file: FileIndex) -> Iterator[tuple[ast.expr | None, ast.expr | None, ast.AST, Enclosing]]:
        """The same where ``setattr`` is an argument, with its own behind it: ``partial(setattr, mod, "N")``."""
        for calls in self.index.calls(file).values():
            for call in calls:
                args = call.node.args
                for place, argument in enumerate(args):
                    if isinstance(argument, ast.Name) and argument.id in ("setattr", "delattr"):
                        after = [*args[place + 1 : place + 3], None, None][:2]
                        starred = any(isinstance(one, ast.Starred) for one in after)
                        owner = None if starred or call.node.keywords else after[0]
                        yield owner or ast.Constant(0), None if starred else after[1], call.node, call.enclosing

    def _calls(self, file: FileIndex) -> Iterator[tuple[ast.expr | None, ast.expr | None, ast.AST, Enclosing]]:
        """Object (None: the file's own module), name (None: any), and place of each such assignment of a file."""
        calls = self.index.calls(file)
        for word in ("setattr", "delattr", "__setattr__", "__delattr__"):
            for call in calls.get(word, ()):
                args = call.node.args
                function = call.node.func
                if any(isinstance(one, ast.Starred) for one in args[:2]) or not args:
                    yield ast.Constant(0), None, call.node, call.enclosing
                elif word.startswith("__") and isinstance(function, ast.Attribute) and len(args) < 3:
                    yield function.value, args[0], call.node, call.enclosing
                elif (text := _text(args[0])) is not None:  # ``monkeypatch.setattr("pkg.mod.N", 1)``
                    yield *_split(text), call.node, call.enclosing
                else:
                    yield args[0], args[1] if len(args) > 1 else None, call.node, call.enclosing
        for word in ("update", "setdefault", "pop", "clear", "popitem"):
            for call in calls.get(word, ()):
                function = call.node.func
                if isinstance(function, ast.Attribute) and (of := _dictionary_of(function.value)) is not None:
                    if word == "update" and not call.node.args and all(k.arg for k in call.node.keywords):
                        for keyword in call.node.keywords:
                            yield of[0], ast.Constant(keyword.arg), call.node, call.enclosing
                    else:
                        first = call.node.args[0] if call.node.args and word in ("setdefault", "pop") else None
                        yield of[0], first, call.node, call.enclosing
        for call in calls.get("object", ()):
            if isinstance(call.node.func, ast.Attribute) and len(call.node.args) > 1:  # ``mock.patch.object(mod, "N")``
                yield call.node.args[0], call.node.args[1], call.node, call.enclosing
        for call in calls.get("patch", ()):
            if call.node.args and (text := _text(call.node.args[0])) is not None:  # ``mock.patch("pkg.mod.N")``
                yield *_split(text), call.node, call.enclosing
        for write in self.index.writes(file):
            if isinstance(write.target, ast.Subscript) and (of := _dictionary_of(write.target.value)) is not None:
                yield of[0], write.target.slice, write.target, write.enclosing

    def _name(
        self, file: FileIndex, key: ast.expr | None, enclosing: Enclosing
    ) -> tuple[str | None, re.Pattern[str] | None]:
        """The name that an expression gives, or what all of its values look like."""
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return key.value, None
        shape = self._shape(file, key, enclosing, 0)
        return None, None if shape is None else re.compile(shape)

    def _shape(self, file: FileIndex, key: ast.expr | None, enclosing: Enclosing, depth: int) -> str | None:
        if isinstance(key, ast.Constant):
            return re.escape(str(key.value))
        if isinstance(key, ast.JoinedStr):
            inner = [one.value if isinstance(one, ast.FormattedValue) else one for one in key.values]
            shown = [self._shape(file, one, enclosing, depth + 1) for one in inner]
            return "".join(".*" if one is None else one for one in shown)
        if isinstance(key, ast.BinOp) and isinstance(key.op, ast.Add):
            both = [self._shape(file, one, enclosing, depth + 1) for one in (key.left, key.right)]
            return None if both == [None, None] else "".join(".*" if one is None else one for one in both)
        if not isinstance(key, ast.Name) or depth > _DEPTH:
            return None
        scope, around = self.index.binding_scope(key.id, enclosing)
        bindings = self.index.scope(scope).bindings[key.id] if scope is not None else file.bindings.get(key.id, [])
        inside = (*around, scope) if scope is not None else ()
        shapes: list[str] = []
        for binding in bindings:
            items: list[ast.expr | None] = [assigned_value(binding, key.id)]
            if isinstance(binding, (ast.For, ast.AsyncFor, ast.comprehension)):
                items = _items(binding.target, binding.iter, key.id)
            for item in items:
                shape = self._shape(file, item, inside, depth + 1) if item is not None else None
                if shape is None:
                    return None
                shapes.append(shape)
        return f"(?:{'|'.join(shapes)})" if shapes else None

    # ---- what an object can be

    def _owner(self, file: FileIndex, expr: ast.expr, enclosing: Enclosing) -> str | None:
        if isinstance(expr, ast.Constant):
            return None if not isinstance(expr.value, str) else self._said(self.index.follow(expr.value))
        if self._is_instance(file, expr, enclosing, 0):
            return _INSTANCE
        if isinstance(expr, ast.Attribute) and expr.attr == "__class__":
            return _SOME_CLASS
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "type":
            return _SOME_CLASS
        if isinstance(expr, ast.Name) and self._first_parameter(expr, enclosing) == "class":
            return _SOME_CLASS
        if (module := self._looked_up(file, expr, enclosing)) is not None:
            return module or _SOME_MODULE
        canonical = self.index.resolve(file, expr, enclosing)
        return None if canonical is None else self._said(canonical)

    def _said(self, canonical: str) -> str | None:
        """The canonical name of a module or a class, or of what the project does not hold; else None."""
        if self.index.module_file(canonical) is not None:
            return self.index.prefix(self.index.by_module[canonical])
        if self.index.definition(canonical) is not None:
            return canonical
        return canonical if not self._in_project(canonical) else None

    def _looked_up(self, file: FileIndex, expr: ast.expr, enclosing: Enclosing) -> str | None:
        """The module that ``sys.modules[...]`` or ``import_module(...)`` gives; "" for any; None if it is neither."""
        key: ast.expr | None
        if isinstance(expr, ast.Subscript) and self.index.resolve(file, expr.value, enclosing) == "sys.modules":
            key = expr.slice
        elif isinstance(expr, ast.Call) and _last(expr.func) in ("import_module", "__import__"):
            key = expr.args[0] if len(expr.args) == 1 else None
        else:
            return None
        return self._module_called(key, file)

    def _module_called(self, key: ast.expr | None, file: FileIndex) -> str:
        """Canonical name of the module that an expression names; "" where it may be any."""
        if isinstance(key, ast.Name) and key.id == "__name__":
            return self.index.prefix(file)
        text = _text(key) if key is not None else None
        if text is None or text.startswith(".") or text == "__main__":
            return ""
        path = self.index.by_module.get(text)
        return text if path is None else self.index.prefix(path)

    def _in_project(self, canonical: str) -> bool:
        while canonical:
            if canonical in self.index.by_module:
                return True
            canonical = canonical.rpartition(".")[0]
        return False

    def _is_instance(self, file: FileIndex, expr: ast.expr | None, enclosing: Enclosing, depth: int) -> bool:
        """Whether an object is neither a module nor a class, by what the source says of it."""
        if depth > _DEPTH or expr is None:
            return False
        if isinstance(expr, ast.Call):
            if isinstance(expr.func, ast.Name) and expr.func.id == "super":
                return True
            called = self.index.resolve(file, expr.func, enclosing) if not isinstance(expr.func, ast.Call) else None
            return called is not None and self._makes_instances(called)
        if isinstance(expr, ast.IfExp):
            return all(self._is_instance(file, one, enclosing, depth + 1) for one in (expr.body, expr.orelse))
        if isinstance(expr, (ast.Constant, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp)):
            return True
        if not isinstance(expr, ast.Name):
            return False
        if self._first_parameter(expr, enclosing) == "instance":
            return True
        scope, around = self.index.binding_scope(expr.id, enclosing)
        if scope is not None:
            bindings = self.index.scope(scope).bindings[expr.id]
        elif expr.id in file.global_writes:
            return False
        else:
            bindings = file.bindings.get(expr.id, [])
        inside: Enclosing = (*around, scope) if scope is not None else ()
        return bool(bindings) and all(
            self._annotated(file, binding, around)
            if isinstance(binding, ast.arg)
            else self._is_instance(file, assigned_value(binding, expr.id), inside, depth + 1)
            for binding in bindings
        )

    def _makes_instances(self, called: str) -> bool:
        """Whether calling this makes an object that is neither a module nor a class."""
        if called.startswith("warp."):
            return called not in ("warp.struct", "warp.kernel", "warp.func")
        if called.startswith("builtins."):
            return called.removeprefix("builtins.") in ("dict", "list", "set", "object", "tuple", "str", "int", "float")
        found = self.index.definition(called)
        return found is not None and isinstance(found.node, ast.ClassDef) and not self._is_meta(called)

    def _is_meta(self, canonical: str, depth: int = 0) -> bool:
        """Whether objects of a class may be classes or modules themselves."""
        if canonical in _META:
            return True
        found = self.index.definition(canonical)
        if found is None or not isinstance(found.node, ast.ClassDef) or depth > _DEPTH:
            return False
        bases = [self.index.resolve(found.file, base, found.enclosing) for base in found.node.bases]
        return any(base is not None and self._is_meta(base, depth + 1) for base in bases)

    def _annotated(self, file: FileIndex, argument: ast.arg, around: Enclosing) -> bool:
        """Whether a parameter is declared to be an object of a class."""
        annotation = argument.annotation
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = _expression(annotation.value)
        parts = [annotation]
        while parts and isinstance(parts[-1], ast.BinOp) and isinstance(parts[-1].op, ast.BitOr):
            union = parts.pop()
            assert isinstance(union, ast.BinOp)
            parts += [union.right, union.left]
        for part in parts:
            if isinstance(part, ast.Constant) and part.value is None:
                continue
            canonical = self.index.resolve(file, part, around) if isinstance(part, (ast.Name, ast.Attribute)) else None
            if canonical is None or canonical in _NO_INSTANCE:
                return False
            if canonical.startswith("warp."):
                continue
            found = self.index.definition(canonical)
            if found is None or not isinstance(found.node, ast.ClassDef) or self._is_meta(canonical):
                return False
            if any(
                _last(base.value if isinstance(base, ast.Subscript) else base) == "Protocol"
                for base in found.node.bases
            ):
                return False  # a module may be passed for one
        return annotation is not None

    def _first_parameter(self, name: ast.Name, enclosing: Enclosing) -> str | None:
        """``instance`` or ``class`` where a name is the first parameter of a method; else None."""
        scope, around = self.index.binding_scope(name.id, enclosing)
        if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) or not around:
            return None
        first = [*scope.args.posonlyargs, *scope.args.args][:1]
        inside = around[-1]
        if not isinstance(inside, ast.ClassDef) or not first or first[0].arg != name.id:
            return None
        if len(self.index.scope(scope).bindings[name.id]) != 1:
            return None
        decorators = {_last(one) for one in scope.decorator_list}
        if "classmethod" in decorators or scope.name in ("__init_subclass__", "__new__", "__class_getitem__"):
            return "class"
        meta = any(_last(base) in ("type", "ModuleType", "EnumMeta", "EnumType", "ABCMeta") for base in inside.bases)
        return None if meta or "staticmethod" in decorators else "instance"

    # ---- modules as values

    def _handed_about(self, file: FileIndex, where: FileIndex) -> bool:
        """Whether an object in the file ``where`` may be the module of ``file``: it is used as a value somewhere."""
        if file.path not in self._bare:
            self._bare[file.path] = self._mentioned_bare(file)
        key = (file.path, where.path)
        if key not in self._found:
            self._found[key] = self._found_by_name(file, where)
        return self._bare[file.path] or self._found[key]

    def _mentioned_bare(self, file: FileIndex) -> bool:
        references = self.index.references(self.index.prefix(file))
        return not all(self._stays(one.file, one.node) for one in references)

    def _stays(self, file: FileIndex, node: ast.AST, depth: int = 0) -> bool:
        """Whether what an expression gives is only read from where it stands: not stored, passed on or returned."""
        facts = self.hoister.facts(file)
        parent = facts.source.parents.get(node)
        if isinstance(parent, ast.Attribute):
            return parent.attr != "__dict__" or _is_counted(facts.source.parents.get(parent), parent)
        if isinstance(parent, (ast.Compare, ast.Expr)):
            return True
        if isinstance(parent, ast.keyword) and parent.arg == "module":
            call = facts.source.parents.get(parent)  # ``wp.get_module_options(module=mod)``
            called = facts.resolve(call.func) if isinstance(call, ast.Call) else None
            return called is not None and called.startswith("warp.")
        if isinstance(parent, ast.Call):
            return node in parent.args[:1] and _last(parent.func) in _READS | _WRITES
        if not isinstance(parent, (ast.Assign, ast.AnnAssign)) or parent.value is not node:
            return False
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        if len(targets) != 1:
            return False
        (target,) = targets
        if isinstance(target, ast.Subscript) and ast.unparse(target.value) == "sys.modules":
            return True  # the same module under another name
        if not isinstance(target, ast.Name) or depth > _DEPTH:
            return False
        around = facts.enclosing(node)
        scope = facts.scopes.by_node[around[-1]] if around else facts.scopes.module
        if scope.kind != "function" or target.id in scope.global_names or target.id in scope.nonlocal_names:
            resolved = self.index.resolve(file, target, around)  # an alias: its uses are references themselves
            return resolved is not None and resolved == self.index.resolve(file, node, around)
        return all(
            one.store or self._stays(file, one.node, depth + 1) for one in facts.scopes.references(scope, target.id)
        )

    def _found_by_name(self, file: FileIndex, where: FileIndex) -> bool:
        """Whether a file may get the module by its name (``sys.modules[name]``) and passes it on."""
        own = self.index.prefix(file)
        packages = own.split(".")
        above = {".".join(packages[:end]) for end in range(1, len(packages))}
        for call in self.index.calls(where).get("getattr", ()) if above else ():
            args = call.node.args
            dynamic = len(args) > 1 and not isinstance(args[1], ast.Constant)
            inside = dynamic and self.index.resolve(where, args[0], call.enclosing) in above
            if inside and not self._stays(where, call.node):
                return True
        if not _LOOKS_UP.search(where.text):
            return False
        guarded = any(is_main_guard(node) for node in file.tree.body)
        for node, module in self._lookups(where):
            if isinstance(node, ast.Subscript) and _text(node.slice) == "__main__" and not guarded:
                continue
            may_be = own.startswith(module[:-1]) if module.endswith("*") else module in ("", own)
            if may_be and not self._stays(where, node):
                return True
        return False

    def _lookups(self, file: FileIndex) -> Iterator[tuple[ast.AST, str]]:
        """Expressions that give a module by its name, and which: "" for any, ``start*`` where the start is known."""
        facts = self.hoister.facts(file)
        for word in _LOOKUPS:
            for call in self.index.calls(file).get(word, ()):
                yield call.node, self._looked_up(file, call.node, call.enclosing) or ""
        for node in tree_nodes(file.tree) if "modules" in file.text else ():
            if not isinstance(node, ast.Attribute) or node.attr != "modules" or facts.resolve(node) != "sys.modules":
                continue
            parent = facts.source.parents.get(node)
            user = facts.source.parents.get(parent) if parent is not None else None
            if isinstance(parent, ast.Subscript) and parent.value is node:
                if isinstance(parent.ctx, ast.Load):
                    yield parent, self._looked_up(file, parent, facts.enclosing(node)) or ""
            elif isinstance(parent, ast.Attribute) and parent.attr in ("get", "pop") and isinstance(user, ast.Call):
                yield user, self._module_called(user.args[0] if user.args else None, file)
            elif not isinstance(parent, ast.Compare) and getattr(parent, "attr", "") not in ("keys", "update"):
                around = facts.source.parents.get(user) if user is not None else None
                start = _start_of_names(around, user) if isinstance(around, ast.comprehension) else None
                yield around or node, "" if start is None else f"{start}*"


def _place(one: Assignment) -> str:
    return f"{os.path.basename(one.file.path)}:{one.line}"


def _dictionary_of(expr: ast.expr) -> tuple[ast.expr | None] | None:
    """The object whose dictionary ``x.__dict__``, ``vars(x)`` or ``globals()`` is; (None,) for the file's module."""
    if isinstance(expr, ast.Attribute) and expr.attr == "__dict__":
        return (expr.value,)
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name):
        if expr.func.id == "globals" and not expr.args:
            return (None,)
        if expr.func.id == "vars" and len(expr.args) == 1:
            return (expr.args[0],)
    return None


def _start_of_names(loop: ast.comprehension, items: ast.AST | None) -> str | None:
    """``pkg.`` in ``for name, module in sys.modules.items() if name.startswith("pkg.")``: which modules are meant."""
    if (
        loop.iter is not items
        or not isinstance(loop.target, ast.Tuple)
        or not isinstance(loop.target.elts[0], ast.Name)
    ):
        return None
    for test in [
        part
        for one in loop.ifs
        for part in (one.values if isinstance(one, ast.BoolOp) and isinstance(one.op, ast.And) else [one])
    ]:
        called = test.func if isinstance(test, ast.Call) else None
        if not isinstance(called, ast.Attribute) or called.attr != "startswith" or not isinstance(test, ast.Call):
            continue
        if isinstance(called.value, ast.Name) and called.value.id == loop.target.elts[0].id and len(test.args) == 1:
            return _text(test.args[0])
    return None


def _is_counted(parent: ast.AST | None, dictionary: ast.AST) -> bool:
    """Whether the dictionary of a module is used where an assignment of its own is counted, or only looked at."""
    if isinstance(parent, (ast.Subscript, ast.Attribute)):
        return parent.value is dictionary
    return isinstance(parent, ast.Compare)


def _items(target: ast.expr, values: ast.expr, name: str) -> list[ast.expr | None]:
    """What a loop's variable is in each turn, where the loop goes over a literal; [None] where nobody knows."""
    if not isinstance(values, (ast.Tuple, ast.List, ast.Set)):
        return [None]
    if isinstance(target, ast.Name):
        return [None if isinstance(item, ast.Starred) else item for item in values.elts]
    if not isinstance(target, (ast.Tuple, ast.List)):
        return [None]
    place = next((n for n, one in enumerate(target.elts) if isinstance(one, ast.Name) and one.id == name), None)
    found: list[ast.expr | None] = []
    for item in values.elts:
        whole = isinstance(item, (ast.Tuple, ast.List)) and len(item.elts) == len(target.elts)
        found.append(item.elts[place] if whole and place is not None else None)  # type: ignore[attr-defined]
    return found


def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return ast.Constant(0)


def _split(dotted: str) -> tuple[ast.expr, ast.expr]:
    """The object and the attribute that a dotted name in a string means."""
    owner, _, name = dotted.rpartition(".")
    return ast.Constant(owner), ast.Constant(name)


def _text(expr: ast.expr) -> str | None:
    return expr.value if isinstance(expr, ast.Constant) and isinstance(expr.value, str) else None


def _last(expr: ast.expr) -> str:
    return expr.attr if isinstance(expr, ast.Attribute) else getattr(expr, "id", "")
