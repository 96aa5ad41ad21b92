"""What runs before what, as far as straight-line source shows it: loads of Warp modules, and option writes.

Two questions are asked of a statement. *Does it load a module for sure?* Then a finding may rest on it; anything that
depends on a condition does not count. *May it load one?* Then an option must not be moved past it without saying so;
whatever can't be read counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from warpfix.codemods.trees import children, tree_nodes
from warpfix.index import names
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import call_argument, kernel_target, module_expression, own_module, value_of
from warpfix.index.model import Construct, FileIndex, ModuleChoice
from warpfix.index.scopes import Comprehension, Function, raw_bindings
from warpfix.index.walk import Enclosing
from warpfix.rules import Context

ANY = "*"
"""In place of a module's name: whatever it is, known or not."""

_DEPTH = 6
Block = Sequence[ast.stmt]


@dataclass(frozen=True)
class Load:
    """A call that loads Warp modules for sure."""

    file: FileIndex
    node: ast.Call
    module: str | None
    """The Warp module; None for a call that loads every one (``wp.force_load()``)."""
    kernel: str | None
    """Canonical name of the kernel launched."""


def flow_of(index: ProjectIndex, context: Context) -> Flow:
    """The one Flow of a run."""
    flow: Flow | None = context.cache.get("flow")
    if flow is None:
        flow = context.cache["flow"] = Flow(index)
    return flow


def module_key(index: ProjectIndex, file: FileIndex, name: str) -> str:
    """Key of the Warp module that code in ``file`` means by a name (see :class:`Flow`)."""
    if name == own_module(file) or name == "__main__":
        return index.prefix(file)
    path = index.by_module.get(name)
    return name if path is None else index.prefix(path)


class Flow:
    """Answers for one index; memory of what functions may do."""

    def __init__(self, index: ProjectIndex) -> None:
        self.index = index
        self._may: dict[tuple[ast.AST, str], bool] = {}
        self._kernels: dict[str, list[tuple[FileIndex, Construct]]] | None = None
        self._methods: dict[str, list[tuple[FileIndex, ast.AST, Enclosing]]] | None = None
        self._modules: dict[str, str | None] = {}

    # ---- kernels and modules
    #
    # Warp modules are told apart by a key: the canonical prefix of the file that they belong to (two scripts of one
    # project may both be called ``app``), or their name where they belong to no file.

    def key(self, file: FileIndex, name: str) -> str:
        """Key of the Warp module that code in ``file`` means by a name."""
        return module_key(self.index, file, name)

    def kernels_of(self, key: str) -> list[tuple[FileIndex, Construct]]:
        """Kernels that are created in a Warp module."""
        if self._kernels is None:
            self._kernels = {}
            for file in self.index.files.values():
                for construct in file.constructs:
                    if construct.kind == "kernel" and (name := self._module_of(file, construct)) is not None:
                        self._kernels.setdefault(name, []).append((file, construct))
        return self._kernels.get(key, [])

    def _module_of(self, file: FileIndex, construct: Construct) -> str | None:
        if construct.module_choice is ModuleChoice.DEFAULT:
            return self.index.prefix(file)
        if construct.module_choice is ModuleChoice.NAMED and construct.module_name is not None:
            return self.key(file, construct.module_name)
        return None

    def module_of_kernel(self, canonical: str | None) -> str | None:
        """Key of the Warp module that a kernel is created in; None where that can't be said.

        A unique kernel's module is given as ``unique:`` and its canonical name: equal to no module of a file.
        """
        if canonical is None:
            return None
        if canonical not in self._modules:
            found = self.index.constructs.get(canonical)
            name: str | None = None
            if found is not None and found[1].kind == "kernel":
                file, construct = found
                name = self._module_of(file, construct)
                if construct.module_choice is ModuleChoice.UNIQUE:
                    name = f"unique:{canonical}"
            self._modules[canonical] = name
        return self._modules[canonical]

    # ---- for sure

    def sure_load(
        self, file: FileIndex, statement: ast.stmt, enclosing: Enclosing, module: str, depth: int = 0
    ) -> Load | None:
        """The first call in the statement that loads ``module`` (``ANY``: no matter which) whenever the statement runs.

        Bodies of loops count as run: a loop that makes no turn is nobody's program.
        """
        if depth > _DEPTH or isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return None
        for expression in _head(statement):
            found = self._sure_expression(file, expression, enclosing, module, depth)
            if found is not None:
                return found
        inside = (*enclosing, statement)
        if isinstance(statement, ast.If):
            both = [self.sure_block(file, block, inside, module, depth) for block in (statement.body, statement.orelse)]
            return both[0] if all(both) else None
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)):
            return self.sure_block(file, statement.body, inside, module, depth)
        if isinstance(statement, ast.Try):
            found = self.sure_block(file, statement.body, inside, module, depth)
            return found or self.sure_block(file, statement.finalbody, inside, module, depth)
        return None

    def sure_block(self, file: FileIndex, block: Block, enclosing: Enclosing, module: str, depth: int) -> Load | None:
        """The first sure load of a block, looked for only as far as nothing may leave the block before it."""
        for statement in block:
            found = self.sure_load(file, statement, enclosing, module, depth)
            if found is not None:
                return found
            if leaves(statement):
                return None
        return None

    def _sure_expression(
        self, file: FileIndex, expression: ast.expr, enclosing: Enclosing, module: str, depth: int
    ) -> Load | None:
        for call in _sure_calls(expression):
            found = self._sure_call(file, call, enclosing, module, depth)
            if found is not None:
                return found
        return None

    def _sure_call(self, file: FileIndex, call: ast.Call, enclosing: Enclosing, module: str, depth: int) -> Load | None:
        resolved = self.index.resolve(file, call.func, enclosing)
        if resolved in names.LAUNCHES:
            dim = call_argument(call, 1, "dim")
            if isinstance(dim, ast.Constant) and dim.value == 0:
                return None  # a launch over nothing loads nothing
            kernel = call_argument(call, 0, "kernel")
            target = kernel_target(self.index, file, kernel, enclosing) if kernel is not None else None
            name = self.module_of_kernel(target)
            if module == ANY or (name is not None and name == module):
                return Load(file, call, name, target)
            return None
        if resolved == "warp.force_load":
            everything = call_argument(call, 1, "modules") is None and not any(
                keyword.arg is None for keyword in call.keywords
            )
            return Load(file, call, None, None) if everything else None
        if resolved == "warp.load_module":
            argument = call_argument(call, 0, "module")
            name = self._loaded_by(file, argument, enclosing)
            if module == ANY or (name is not None and name == module):
                return Load(file, call, name, None)
            return None
        body = self._body(file, call, enclosing, resolved)
        if body is None:
            return None
        owner, node, around = body
        return self.sure_block(owner, node.body, (*around, node), module, depth + 1)

    def _loaded_by(self, file: FileIndex, argument: ast.expr | None, enclosing: Enclosing) -> str | None:
        """Key of the module that ``wp.load_module(argument)`` loads."""
        name = own_module(file) if argument is None else module_expression(self.index, file, argument, enclosing)
        return None if name is None else self.key(file, name)

    def _body(
        self, file: FileIndex, call: ast.Call, enclosing: Enclosing, resolved: str | None
    ) -> tuple[FileIndex, ast.FunctionDef, Enclosing] | None:
        """The project function that a call runs at once, where there is exactly one."""
        if resolved is None and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            # ``solver = Solver(); solver.step()``
            made = value_of(self.index, file, call.func.value, enclosing)
            if isinstance(made, ast.Call):
                owner = self.index.resolve(file, made.func, enclosing)
                definition = self.index.definition(owner) if owner is not None else None
                if definition is not None and isinstance(definition.node, ast.ClassDef):
                    resolved = f"{owner}.{call.func.attr}"
        if resolved is None or resolved.startswith(("warp.", "builtins.")):
            return None
        found = self.index.definition(resolved)
        if found is not None and isinstance(found.node, ast.ClassDef):
            found = self.index.definition(resolved + ".__init__")
        if found is None or not isinstance(found.node, ast.FunctionDef) or not _plain(found.node):
            return None
        return found.file, found.node, found.enclosing

    # ---- possibly

    def may_load(self, file: FileIndex, node: ast.AST, enclosing: Enclosing, module: str) -> bool:
        """Whether running the node may load the module: anything that can't be read says yes."""
        return any(self._call_may_load(file, call, enclosing, module) for call in _all_calls(node))

    def _call_may_load(self, file: FileIndex, call: ast.Call, enclosing: Enclosing, module: str) -> bool:
        resolved = self.index.resolve(file, call.func, enclosing)
        if resolved in names.LAUNCHES | names.QUERIES:
            kernel = call_argument(call, 0, "kernel")
            target = kernel_target(self.index, file, kernel, enclosing) if kernel is not None else None
            return self.module_of_kernel(target) in (None, module)
        if resolved == "warp.load_module":
            argument = call_argument(call, 0, "module")
            return self._loaded_by(file, argument, enclosing) in (None, module)
        if resolved in names.LOADING:
            return True
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(argument, (ast.Name, ast.Attribute)):
                passed = self.index.resolve(file, argument, enclosing)
                if passed is not None and self._function_may_load(passed, module):
                    return True
        if resolved is not None:
            if resolved.startswith("warp."):
                return resolved.split(".")[1] in ("ScopedCapture", "capture_launch") or self._function_may_load(
                    resolved, module
                )
            if resolved in ("builtins.exec", "builtins.eval"):
                return True
            return self._function_may_load(resolved, module)
        if isinstance(call.func, ast.Attribute):
            return any(
                self._node_may_load(owner, node, around, module)
                for owner, node, around in self._methods_called(call.func.attr)
            )
        return isinstance(call.func, (ast.Name, ast.Call, ast.Subscript))

    def _function_may_load(self, canonical: str, module: str) -> bool:
        definition = self.index.definition(canonical)
        if definition is None:
            return False
        if isinstance(definition.node, ast.ClassDef):
            made = self.index.definition(canonical + ".__init__")
            return made is not None and self._node_may_load(made.file, made.node, made.enclosing, module)
        if definition.node.decorator_list and canonical in self.index.constructs:
            return False  # a kernel or Warp function as a value
        return self._node_may_load(definition.file, definition.node, definition.enclosing, module)

    def _node_may_load(self, file: FileIndex, node: ast.AST, enclosing: Enclosing, module: str) -> bool:
        key = (node, module)
        known = self._may.get(key)
        if known is None:
            self._may[key] = False  # a function that calls itself
            inside = (*enclosing, node)
            known = any(self.may_load(file, statement, inside, module) for statement in getattr(node, "body", ()))
            self._may[key] = known
        return known

    def _methods_called(self, name: str) -> list[tuple[FileIndex, ast.AST, Enclosing]]:
        if self._methods is None:
            self._methods = {}
            for file in self.index.files.values():
                for found in self.index.definitions(file).values():
                    for definition in found:
                        if definition.enclosing and isinstance(definition.enclosing[-1], ast.ClassDef):
                            self._methods.setdefault(definition.node.name, []).append(
                                (file, definition.node, definition.enclosing)
                            )
        return self._methods.get(name, [])


# ---- statements and blocks


def block_around(file: FileIndex, statement: ast.stmt, enclosing: Enclosing) -> tuple[Block, int] | None:
    """The block that a statement stands in, and its place there."""
    parent: ast.AST = enclosing[-1] if enclosing else file.tree
    blocks: list[Block] = [getattr(parent, name, ()) for name in ("body", "orelse", "finalbody")]
    if isinstance(parent, ast.Match):
        blocks = [case.body for case in parent.cases]
    for block in blocks:
        for place, candidate in enumerate(block):
            if candidate is statement:
                return block, place
    return None


def leaves(statement: ast.stmt) -> bool:
    """Whether a statement may end its block early: a return, break or continue of its own, or a yield."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(node, (*Function, ast.ClassDef)):
            continue
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
            # A break inside ends that loop only.
            pending.extend(
                child for child in tree_nodes(node) if isinstance(child, (ast.Return, ast.Yield, ast.YieldFrom))
            )
            continue
        pending.extend(children(node))
    return False


def binds(statements: Iterable[ast.stmt]) -> set[str]:
    """Names that the statements bind, delete or declare."""
    body = list(statements)
    found = set(raw_bindings(ast.Module(body=body, type_ignores=[])))
    for statement in body:
        if isinstance(statement, (ast.Global, ast.Nonlocal)):
            found.update(statement.names)
    return found


def names_read(node: ast.AST) -> set[str]:
    """Names that a node mentions."""
    return {item.id for item in tree_nodes(node) if isinstance(item, ast.Name)}


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is written out: no call, no name but a dotted one such as ``wp.DeterministicMode.X``."""
    if isinstance(node, ast.Constant):
        return node.value is not ...
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(is_literal(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return all(key is not None and is_literal(key) for key in node.keys) and all(
            is_literal(item) for item in node.values
        )
    if isinstance(node, ast.UnaryOp):
        return is_literal(node.operand)
    return False


def _plain(node: ast.FunctionDef) -> bool:
    """Whether a call runs the body at once: no decorator that might not, no generator."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if name not in ("staticmethod", "classmethod", "cache", "lru_cache"):
            return False
    return not any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in tree_nodes(node))


def _head(statement: ast.stmt) -> Iterator[ast.expr]:
    """Expressions of a statement that run when it does, blocks left out."""
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            yield item.context_expr
        return
    for field, value in ast.iter_fields(statement):
        if field in ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list"):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.expr):
                yield item


def _sure_calls(expression: ast.AST) -> Iterator[ast.Call]:
    """Calls that happen whenever the expression is evaluated, inner ones first."""
    if isinstance(expression, ast.Lambda):
        return
    if isinstance(expression, Comprehension):
        yield from _sure_calls(expression.generators[0].iter)
        return
    if isinstance(expression, ast.IfExp):
        yield from _sure_calls(expression.test)
        return
    if isinstance(expression, ast.BoolOp):
        yield from _sure_calls(expression.values[0])
        return
    for child in children(expression):
        yield from _sure_calls(child)
    if isinstance(expression, ast.Call):
        yield expression


def _all_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Calls that may happen when the node runs; bodies of definitions run elsewhere."""
    pending: list[ast.AST] = [node]
    while pending:
        inner = pending.pop()
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(inner, ast.Call):
            yield inner
        pending.extend(children(inner))
