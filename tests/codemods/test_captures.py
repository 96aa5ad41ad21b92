"""Scopes, name by name, against Python's own symtable, and what it does not tell."""

from __future__ import annotations

import ast
import subprocess
import symtable
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import pytest
from edit_support import dedent

import warpfix
from warpfix.index.captures import Occurrence, Scope, Scopes, definition_time

TRICKY = dedent(
    """
    from __future__ import annotations

    import os.path as p, sys
    from x import *

    G = 1


    class C:
        a = 1
        b = [a for a in range(3)]
        c = [d for d in (a, b)]

        def method(self, x=a, *args: G, y: "C" = 2, **kwargs) -> C:
            def inner():
                nonlocal x
                x = self.a + y
                return __class__, (lambda z: z + x)(1)

            with open(x) as f, open(y) as (g, h):
                pass
            for i, (j, *k) in args:
                del i
            try:
                import json.decoder
            except OSError as e:
                raise
            if (n := len(args)) and [m := q for q in args]:
                global late
                late = {key: value for key, value in kwargs.items() if key not in k for _ in value}
            match x:
                case {"a": aa, **rest}:
                    return aa, rest
                case [bb, *cc] | (bb, *cc):
                    return bb, cc
                case C(a=dd) as ee:
                    return dd, ee
            return inner


    async def co(x):
        async with x as y:
            return [z async for z in y]
    """
)


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from tables(child)


def check_against_symtable(text: str) -> int:
    scopes = Scopes(ast.parse(text))
    functions = [scope for scope in scopes.by_node.values() if scope.kind == "function"]
    checked = 0
    for table in tables(symtable.symtable(text, "<string>", "exec")):
        name = table.get_name()
        if table.get_type() not in ("function",) or name in ("lambda", "listcomp", "genexpr", "setcomp", "dictcomp"):
            continue
        here = [s for s in functions if s.name == name and _first(s) <= table.get_lineno() <= s.node.lineno]  # type: ignore[attr-defined]
        assert len(here) == 1
        (scope,) = here
        bound = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_local()}
        free = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_free()} - {"__class__"}
        if hasattr(symtable.SymbolTable, "has_import_star"):
            bound -= {"."}
        # Names of comprehensions are folded into the function from Python 3.12 on.
        inner = {
            n for s in scopes.by_node.values() if s.kind == "comprehension" for n in s.bindings if scope in s.chain()
        }
        assert bound - inner == {n for n in scope.bindings if n not in scope.nonlocal_names} - inner, name
        assert free - inner == _free(scopes, scope) - inner, name
        checked += 1
    return checked


def _first(scope: Scope) -> int:
    node = scope.node
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _free(scopes: Scopes, scope: Scope) -> set[str]:
    found = set()
    for occurrence in scopes.occurrences:
        if occurrence.quoted or scope not in occurrence.scope.chain():
            continue
        bound = scopes.resolve(occurrence)
        if bound is not None and bound.kind != "module" and scope not in bound.chain():
            found.add(occurrence.name)
    return found


def test_tricky_code() -> None:
    assert check_against_symtable(TRICKY) == 3


@pytest.mark.parametrize("path", sorted(Path(warpfix.__file__).parent.rglob("*.py"))[::3], ids=lambda path: path.name)
def test_our_own_code(path: Path) -> None:
    check_against_symtable(path.read_text(encoding="utf-8"))


def outside(text: str, name: str) -> dict[str, str | None]:
    scopes = Scopes(ast.parse(dedent(text)))
    (node,) = [n for n in scopes.by_node if getattr(n, "name", "") == name]
    assert isinstance(node, (ast.FunctionDef, ast.ClassDef))
    found = scopes.outside_names(node)
    return {occurrence.name: None if scope is None else scope.name for occurrence, scope in found}


def test_outside_names() -> None:
    text = """
    import deco

    def make(size, dtype, default):
        @deco.kernel(size)
        def k(a: array(dtype=dtype), b=default, *, c: "Vec[G]" = None):
            size = a + b
            return helper(size)

        G = 1
        return k
    """
    assert outside(text, "k") == {
        "deco": "<module>",
        "size": "make",
        "array": None,
        "dtype": "make",
        "default": "make",
        "Vec": None,
        "G": None,  # of the local that its body does not use, text that Warp evaluates sees nothing
        "helper": None,
    }


FUTURE = "from __future__ import annotations\n"

# Name and text of what `make` defines, with a local `T`; whether an annotation that names `T` means it.
ANNOTATIONS = {
    "eager": ("", "def k(a: wp.array(dtype=T)):\n    pass", True),
    "text, and the body uses it": (FUTURE, "def k(a: wp.array(dtype=T)):\n    T()", True),
    "text, and a function of the body uses it": (FUTURE, "def k(a: T):\n    def g():\n        return T()", True),
    "text, and its default uses it": (FUTURE, "def k(a: T, b: int = T):\n    pass", False),
    "text, and its decorator uses it": (FUTURE, "@wp.kernel(x=T)\ndef k(a: T):\n    pass", False),
    "text": (FUTURE, "def k(a: T):\n    pass", False),
    "text in Annotated": (FUTURE, "def k(a: Annotated[T, 1]):\n    pass", False),
    "text of a result": (FUTURE, "def k(a: int) -> T:\n    pass", False),
    "text of a result, and the body uses it": (FUTURE, "def k(a: int) -> T:\n    return T()", True),
    "text, and a parameter of that name": (FUTURE, "def k(T: T):\n    T()", False),
    "a string": ("", 'def k(a: "T"):\n    pass', False),
    "a string, and the body uses it": ("", 'def k(a: "T"):\n    T()', True),
    "a field": ("", "class k:\n    x: T", True),
    "text of a field": (FUTURE, "class k:\n    x: T", False),
    "text of a field, and another uses it": (FUTURE, "class k:\n    x: T = T()", False),
    "a string of a field": ("", 'class k:\n    x: "T"', False),
}


@pytest.mark.parametrize(("head", "text", "means"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_annotations_that_are_text(head: str, text: str, means: bool) -> None:
    for module, elsewhere in (("", None), ("T = wp.vec4\n", "<module>")):
        scopes = Scopes(ast.parse(f"{head}{module}def make():\n    T = wp.vec3\n{indent(text, '    ')}\n"))
        (node,) = [n for n in scopes.by_node if getattr(n, "name", "") == "k"]
        assert isinstance(node, (ast.FunctionDef, ast.ClassDef))
        roots = definition_time(node) - {i for d in node.decorator_list for i in ast.walk(d)}
        found = []
        for occurrence in scopes.occurrences:
            if occurrence.name == "T" and occurrence.node in roots and (not head or occurrence.text_of is node):
                bound = scopes.resolve(occurrence)
                found.append((None if bound is None else bound.name, scopes.unseen(occurrence)))
        assert set(found) == {("make", False) if means else (elsewhere, True)}


@pytest.mark.warp
def test_annotations_are_evaluated_so_by_warp(tmp_path: Path) -> None:
    """What the table says, asked of Warp: a name that is not seen is an error, or that of module scope."""
    lines = ["import warp as wp"]
    wanted = {}
    for number, (head, text, means) in enumerate(ANNOTATIONS.values()):
        if "= T()" in text or "(T: T)" in text or "(x=" in text or "def g" in text or "Annotated" in text:
            continue  # no code for Warp
        for module in ("", "T = wp.vec4\n"):
            name = f"m{number}_{bool(module):d}"
            wanted[name] = "made" if means or module else "error"
            maker = "@wp.struct\n" if text.startswith("class") else "@wp.func\n"
            source = f"{head}import warp as wp\n{module}def make():\n    T = wp.vec3\n"
            source += indent(maker + text, "    ") + "\n    return k\n"
            (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
            lines += [f"import {name}", "try:", f"    {name}.make()", f"    print('{name} made')"]
            lines += ["except NameError:", f"    print('{name} error')"]
    (tmp_path / "run.py").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run([sys.executable, tmp_path / "run.py"], capture_output=True, text=True, check=True)
    assert dict(line.split() for line in done.stdout.splitlines() if line.startswith("m")) == wanted


def test_class_names_are_not_seen_from_methods() -> None:
    text = """
    n = 1

    class C:
        n = 2
        m = n

        def k(self):
            return n
    """
    assert outside(text, "k") == {"n": "<module>"}


def test_references_follow_the_binding() -> None:
    text = dedent(
        """
        def a():
            x = 1
            return [x for _ in (x,)], lambda x: x

        def b(x):
            return x
        """
    )
    scopes = Scopes(ast.parse(text))
    (scope,) = [s for s in scopes.by_node.values() if s.name == "a"]
    found: list[Occurrence] = scopes.references(scope, "x")
    assert [(o.store, o.node.lineno) for o in found] == [(True, 2), (False, 3), (False, 3)]  # type: ignore[attr-defined]


def test_definition_time() -> None:
    (node,) = ast.parse("@d(one)\ndef f(a: two = three) -> four:\n    five").body
    assert isinstance(node, ast.FunctionDef)
    names = {inner.id for inner in definition_time(node) if isinstance(inner, ast.Name)}
    assert names == {"d", "one", "two", "three", "four"}
    (klass,) = ast.parse("class C(one):\n    a: two\n    def f(self, x: three):\n        four\n").body
    assert isinstance(klass, ast.ClassDef)
    names = {inner.id for inner in definition_time(klass) if isinstance(inner, ast.Name)}
    assert {"one", "two", "three"} <= names
    assert "four" not in names


def test_functions_that_look_at_local_names() -> None:
    scopes = Scopes(
        ast.parse("def f():\n    def g():\n        return locals()\n\ndef h(locals):\n    return locals()\n")
    )
    found = {s.name: scopes.reads_scopes(s) is not None for s in scopes.by_node.values() if s.kind == "function"}
    assert found == {"f": True, "g": True, "h": False}
