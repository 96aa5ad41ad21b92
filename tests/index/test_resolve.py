"""Which names are Warp's: every spelling, and what merely looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import index_of

from warpfix.index.imports import _IMPORT, _import_statements
from warpfix.index.model import ModuleChoice

KERNEL = "def k(v: int):\n    pass\n"


def kernels(tmp_path: Path, sources: dict[str, str], name: str = "app.py") -> list[str]:
    """Qualnames of the kernels that the index sees in one file."""
    index = index_of(tmp_path, sources)
    file = index.files.get(str(tmp_path / name))
    return [] if file is None else [item.qualname for item in file.constructs if item.kind == "kernel"]


NOT_WARP = [
    pytest.param(
        "import numba as wp\nimport warp\n\n@wp.kernel\n" + KERNEL, id="another library with the same attribute"
    ),
    pytest.param("import warp as wp\n\nwp = object()\n\n@wp.kernel\n" + KERNEL, id="name rebound at module scope"),
    pytest.param(
        "import warp as wp\n\ndef f(wp):\n    @wp.kernel\n    def k(v: int):\n        pass\n",
        id="parameter shadows the import",
    ),
    pytest.param(
        "import warp as wp\n\ndef f():\n    wp = make()\n    @wp.kernel\n    def k(v: int):\n        pass\n",
        id="local shadows the import",
    ),
    pytest.param(
        "import warp as wp\n\ndef f():\n    @wp.kernel\n    def k(v: int):\n        pass\n    for wp in range(3):\n        pass\n",
        id="local bound below its use is still local",
    ),
    pytest.param("import warp\nfrom other import kernel\n\n@kernel\n" + KERNEL, id="kernel from another library"),
    pytest.param(
        "import warp as wp\n\nclass C:\n    from warp import kernel\n    def f(self):\n        @kernel\n        def k(v: int):\n            pass\n",
        id="class scope is not seen from a method",
    ),
    pytest.param("import warp.utils as wp\n\n@wp.nothing\n" + KERNEL, id="an attribute that is no kernel"),
    pytest.param(
        "from warpcore import kernel\nimport warp\n@kernel\n" + KERNEL, id="a package whose name begins with warp"
    ),
    pytest.param("import warp as wp\n\n@wp.func\n" + KERNEL, id="a function is no kernel"),
    pytest.param("'''\nimport warp as wp\n@wp.kernel\ndef k(): pass\n'''\n", id="inside a docstring"),
    pytest.param("import warp as wp\n@wp.kernel\nclass k: pass\n", id="a class is no kernel"),
    pytest.param(
        "import warp as wp\ntry:\n    import jax as wp\nexcept KeyError:\n    pass\n@wp.kernel\n" + KERNEL,
        id="two libraries under one name",
    ),
    pytest.param("import warp as wp\nf = lambda wp: [wp.kernel(g) for g in ()]\n", id="lambda parameter"),
    pytest.param("import warp as wp\ndef g(): pass\nx = [wp.kernel(g) for wp in ()]\n", id="comprehension target"),
    pytest.param("import warp as wp\ndel wp\n@wp.kernel\n" + KERNEL, id="deleted name"),
]

WARP = [
    pytest.param("import warp\n\n@warp.kernel\n" + KERNEL, id="import warp"),
    pytest.param("import warp as wp\n\n@wp.kernel\n" + KERNEL, id="import warp as wp"),
    pytest.param("from warp import kernel\n\n@kernel\n" + KERNEL, id="from warp import kernel"),
    pytest.param(
        "from warp import kernel as k_\n\n@k_(enable_backward=False)\n" + KERNEL, id="from warp import kernel as"
    ),
    pytest.param("from warp import *\n\n@kernel\n" + KERNEL, id="from warp import *"),
    pytest.param("import warp as wp\n\n@wp.kernel()\n" + KERNEL, id="called without arguments"),
    pytest.param("import warp.context\n\n@warp.context.kernel\n" + KERNEL, id="warp.context"),
    pytest.param("import warp.context as ctx\n\n@ctx.kernel\n" + KERNEL, id="warp.context as"),
    pytest.param("from warp.context import kernel\n\n@kernel\n" + KERNEL, id="from warp.context"),
    pytest.param("from warp._src.context import kernel\n\n@kernel\n" + KERNEL, id="from warp._src.context"),
    pytest.param("import warp as wp\nkernel = wp.kernel\n\n@kernel\n" + KERNEL, id="assigned alias"),
    pytest.param(
        "try:\n    import warp as wp\nexcept ImportError:\n    wp = None\n\n@wp.kernel\n" + KERNEL, id="guarded import"
    ),
    pytest.param(
        "try:\n    import warp as wp\nexcept ImportError:\n    class wp:\n        kernel = staticmethod(lambda f: f)\n\n@wp.kernel\n"
        + KERNEL,
        id="stand-in where the import fails",
    ),
    pytest.param(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import warp as wp\nelse:\n    wp = lazy('warp')\n\n@wp.kernel\n"
        + KERNEL,
        id="TYPE_CHECKING with a lazy module",
    ),
    pytest.param("import importlib\nwp = importlib.import_module('warp')\n\n@wp.kernel\n" + KERNEL, id="import_module"),
    pytest.param("import warp as wp\n\n@wp.kernel\n@other\n" + KERNEL, id="among other decorators"),
    pytest.param("import warp as wp\n@wp . kernel\n" + KERNEL, id="blanks around the dot"),
    pytest.param("import os; import warp as wp\n\n@wp.kernel\n" + KERNEL, id="second import of a line"),
    pytest.param("import warp as wp\ndef k(v: int): pass\nk2 = wp.kernel(k)\n", id="wp.kernel(f)"),
    pytest.param(
        "import warp as wp\ndef k(v: int): pass\nk2 = wp.kernel(enable_backward=False)(k)\n", id="wp.kernel(...)(f)"
    ),
    pytest.param("import warp as wp\ndef k(v: int): pass\nk2 = wp.Kernel(k, key='x')\n", id="wp.Kernel(f)"),
    pytest.param(
        "import warp as wp\nclass C:\n    @staticmethod\n    @wp.kernel\n    def k(v: int): pass\n",
        id="in a class body",
    ),
    pytest.param("if True:\n    import warp as wp\n    @wp.kernel\n    def k(v: int): pass\n", id="under a condition"),
]


@pytest.mark.parametrize("source", NOT_WARP)
def test_not_warp(tmp_path: Path, source: str) -> None:
    assert kernels(tmp_path, {"app.py": source}) == []


@pytest.mark.parametrize("source", WARP)
def test_warp(tmp_path: Path, source: str) -> None:
    assert [name.rpartition(".")[2] for name in kernels(tmp_path, {"app.py": source})] == ["k"]


THROUGH_THE_PROJECT = [
    pytest.param(
        {"common.py": "import warp as wp\n", "app.py": "from common import *\n@wp.kernel\n" + KERNEL}, id="star"
    ),
    pytest.param(
        {"common.py": "import warp as wp\n", "app.py": "from common import wp\n@wp.kernel\n" + KERNEL}, id="re-export"
    ),
    pytest.param(
        {"common.py": "import warp as wp\n", "app.py": "import common as c\n@c.wp.kernel\n" + KERNEL},
        id="attribute of a module",
    ),
    pytest.param(
        {
            "p/__init__.py": "",
            "p/a.py": "from warp import kernel as jit\n",
            "p/b.py": "from .a import jit as made\n",
            "app.py": "from p.b import made\n@made\n" + KERNEL,
        },
        id="two modules on the way, renamed in each",
    ),
    pytest.param(
        {
            "p/__init__.py": "from .c import *\n",
            "p/c.py": "import warp as wp\n",
            "app.py": "from p import wp\n@wp.kernel\n" + KERNEL,
        },
        id="star in a package, then a name",
    ),
    pytest.param(
        {"c.py": "from app import *\nimport warp as wp\n", "app.py": "from c import *\n@wp.kernel\n" + KERNEL},
        id="stars in a circle",
    ),
]


@pytest.mark.parametrize("sources", THROUGH_THE_PROJECT)
def test_warp_through_the_project(tmp_path: Path, sources: dict[str, str]) -> None:
    assert kernels(tmp_path, sources) == ["k"]


NOT_THROUGH = [
    pytest.param(
        {"common.py": "import warp as wp\n__all__ = ['x']\n", "app.py": "from common import *\n@wp.kernel\n" + KERNEL},
        id="__all__ leaves it out",
    ),
    pytest.param(
        {"common.py": "import warp as _wp\n", "app.py": "from common import *\n@_wp.kernel\n" + KERNEL},
        id="a star brings no underscored name",
    ),
    pytest.param(
        {"common.py": "import warp as wp\nwp = wp.fem\n", "app.py": "from common import wp\n@wp.kernel\n" + KERNEL},
        id="rebound where it comes from",
    ),
]


@pytest.mark.parametrize("sources", NOT_THROUGH)
def test_not_warp_through_the_project(tmp_path: Path, sources: dict[str, str]) -> None:
    assert kernels(tmp_path, sources) == []


WRAPPERS = [
    pytest.param(
        "def deco(f):\n    return wp.kernel(f)\n",
        "@deco",
        ModuleChoice.DEFAULT,
        id="plain wrapper: the module of the function",
    ),
    pytest.param(
        "def deco(f):\n    return wp.kernel(f, module='unique')\n", "@deco", ModuleChoice.UNIQUE, id="unique inside"
    ),
    pytest.param(
        "def deco(name):\n    def inner(f):\n        f.__name__ = name\n        return wp.kernel(f, module='unique')\n    return inner\n",
        "@deco('x')",
        ModuleChoice.UNKNOWN,
        id="renamed function",
    ),
    pytest.param(
        "def deco(f, **kw):\n    return wp.kernel(f, **kw)\n",
        "@deco",
        ModuleChoice.UNKNOWN,
        id="options hidden in stars",
    ),
    pytest.param(
        "def deco(module='unique'):\n    return lambda f: wp.kernel(f, module=module)\n",
        "@deco()",
        ModuleChoice.UNIQUE,
        id="default of the wrapper's parameter",
    ),
    pytest.param(
        "def deco(module='unique'):\n    return lambda f: wp.kernel(f, module=module)\n",
        "@deco(module='shared')",
        ModuleChoice.NAMED,
        id="argument of the wrapper's parameter",
    ),
    pytest.param(
        "def deco(f):\n    if DEBUG:\n        return wp.kernel(f)\n    return wp.kernel(f, module='unique')\n",
        "@deco",
        ModuleChoice.UNKNOWN,
        id="two ways to make it",
    ),
    pytest.param(
        "import functools\ndeco = functools.partial(wp.kernel, module='unique')\n",
        "@deco",
        ModuleChoice.UNIQUE,
        id="partial",
    ),
]


@pytest.mark.parametrize(("wrapper", "use", "choice"), WRAPPERS)
def test_wrapper_decorators(tmp_path: Path, wrapper: str, use: str, choice: ModuleChoice) -> None:
    index = index_of(
        tmp_path,
        {"w.py": "import warp as wp\nDEBUG = 0\n" + wrapper, "app.py": f"from w import deco\n{use}\n" + KERNEL},
    )
    (construct,) = index.files[str(tmp_path / "app.py")].constructs
    assert (construct.module_choice, construct.via_wrapper) == (choice, "w.deco")


MODULES = [
    pytest.param("@wp.kernel", ModuleChoice.DEFAULT, None, id="no argument"),
    pytest.param("@wp.kernel(module=None)", ModuleChoice.DEFAULT, None, id="None"),
    pytest.param("@wp.kernel(module='unique')", ModuleChoice.UNIQUE, None, id="unique"),
    pytest.param("@wp.kernel(module='shared')", ModuleChoice.NAMED, "shared", id="a name"),
    pytest.param("@wp.kernel(module=WHERE)", ModuleChoice.NAMED, "elsewhere", id="a constant"),
    pytest.param("@wp.kernel(module=wp.get_module('shared'))", ModuleChoice.NAMED, "shared", id="get_module"),
    pytest.param("@wp.kernel(module=f'x{1}')", ModuleChoice.UNKNOWN, None, id="an f-string"),
    pytest.param("@wp.kernel(module=choose())", ModuleChoice.UNKNOWN, None, id="a call"),
    pytest.param("@wp.kernel(**OPTIONS)", ModuleChoice.UNKNOWN, None, id="options in stars"),
    pytest.param("@wp.kernel(enable_backward=False)", ModuleChoice.DEFAULT, None, id="other options"),
]


@pytest.mark.parametrize(("decorator", "choice", "name"), MODULES)
def test_module_choice(tmp_path: Path, decorator: str, choice: ModuleChoice, name: str | None) -> None:
    source = f"import warp as wp\nWHERE = 'elsewhere'\nOPTIONS = {{}}\n{decorator}\n{KERNEL}"
    (construct,) = index_of(tmp_path, {"app.py": source}).files[str(tmp_path / "app.py")].constructs
    assert (construct.module_choice, construct.module_name) == (choice, name)


def test_module_from_a_parameter_of_the_factory(tmp_path: Path) -> None:
    source = """
        import warp as wp
        def make(module="unique"):
            @wp.kernel(module=module)
            def k(v: int):
                pass
            return k
    """
    (construct,) = index_of(tmp_path, {"app.py": source}).files[str(tmp_path / "app.py")].constructs
    assert construct.module_choice is ModuleChoice.PARAMETER
    assert (construct.module_parameter, construct.module_default) == ("module", "unique")
    assert (construct.qualname, construct.in_function) == ("make.<locals>.k", True)


def test_generic_kernels_are_told(tmp_path: Path) -> None:
    source = """
        from typing import Any
        import warp as wp
        @wp.kernel
        def one(v: wp.array(dtype=Any)): pass
        @wp.kernel
        def two(v: wp.array(dtype=float)): pass
        @wp.kernel
        def three(v: "wp.array(dtype=Any)"): pass
    """
    file = index_of(tmp_path, {"app.py": source}).files[str(tmp_path / "app.py")]
    assert [item.generic for item in file.constructs] == [True, False, True]


LAUNCHES = [
    pytest.param("wp.launch(k, dim=1)", "app.k", id="a kernel"),
    pytest.param("wp.launch(kernel=k, dim=1)", "app.k", id="by keyword"),
    pytest.param("wp.launch_tiled(k, dim=1, block_dim=64)", "app.k", id="tiled"),
    pytest.param("wp.launch(lib.k2, dim=1)", "lib.k2", id="of another module"),
    pytest.param("wp.launch(lib.make(), dim=1)", "lib.make.<locals>.inner", id="a factory's result"),
    pytest.param("x = lib.make()\nwp.launch(x, dim=1)", "lib.make.<locals>.inner", id="a factory's result by name"),
    pytest.param("go = wp.launch\ngo(k, dim=1)", "app.k", id="launch under another name"),
    pytest.param("for x in (k,):\n    wp.launch(x, dim=1)", None, id="a loop variable"),
    pytest.param("wp.launch(*args)", None, id="a star"),
]


@pytest.mark.parametrize(("code", "target"), LAUNCHES)
def test_launch_targets(tmp_path: Path, code: str, target: str | None) -> None:
    library = "import warp as wp\n@wp.kernel\ndef k2(): pass\ndef make():\n    @wp.kernel\n    def inner(): pass\n    return inner\n"
    source = f"import warp as wp\nimport lib\nargs = ()\n@wp.kernel\ndef k(): pass\n{code}\n"
    index = index_of(tmp_path, {"app.py": source, "lib.py": library})
    (launch,) = index.files[str(tmp_path / "app.py")].launches
    assert launch.kernel_target == target


OPTIONS = [
    pytest.param("wp.config.enable_backward = False", ("config", ["enable_backward"], None, False), id="config"),
    pytest.param(
        "from warp import config as c\nc.lineinfo = True", ("config", ["lineinfo"], None, False), id="config renamed"
    ),
    pytest.param("setattr(wp.config, 'mode', 'debug')", ("config", ["mode"], None, False), id="setattr"),
    pytest.param("setattr(wp.config, name, 1)", ("config", [], None, True), id="setattr of something"),
    pytest.param("wp.set_module_options({'a': 1})", ("set_module_options", ["a"], "app", False), id="own module"),
    pytest.param("wp.set_module_options(dict(a=1))", ("set_module_options", ["a"], "app", False), id="dict call"),
    pytest.param("wp.set_module_options(options={'a': 1})", ("set_module_options", ["a"], "app", False), id="keyword"),
    pytest.param(
        "wp.set_module_options({'a': 1}, module='m')", ("set_module_options", ["a"], "m", False), id="by name"
    ),
    pytest.param(
        "wp.set_module_options({'a': 1}, lib)", ("set_module_options", ["a"], "lib", False), id="a Python module"
    ),
    pytest.param(
        "wp.set_module_options({'a': 1}, f())", ("set_module_options", ["a"], None, True), id="unknown module"
    ),
    pytest.param("wp.set_module_options(OPTS)", ("set_module_options", ["b"], "app", False), id="a constant dict"),
    pytest.param(
        "wp.set_module_options({**x})", ("set_module_options", [], "app", True), id="a dict that can't be read"
    ),
    pytest.param("wp.get_module('m').options['a'] = 1", ("options", ["a"], "m", False), id="item of options"),
    pytest.param("wp.get_module(__name__).options['a'] = 1", ("options", ["a"], "app", False), id="own name"),
    pytest.param("wp.get_module('m').options.update({'a': 1})", ("options", ["a"], "m", False), id="update"),
    pytest.param("wp.get_module('m').options.update(a=1)", ("options", ["a"], "m", False), id="update by keyword"),
    pytest.param(
        "m = wp.get_module('m')\nm.options['a'] = 1", ("options", ["a"], "m", False), id="module in a variable"
    ),
    pytest.param("o = wp.get_module('m').options\no['a'] = 1", ("options", ["a"], "m", False), id="dict in a variable"),
    pytest.param("k.module.options['a'] = 1", ("options", ["a"], "app", False), id="module of a kernel"),
]


@pytest.mark.parametrize(("code", "expected"), OPTIONS)
def test_option_writes(tmp_path: Path, code: str, expected: tuple[str, list[str], str | None, bool]) -> None:
    source = (
        f"import warp as wp\nimport lib\nOPTS = {{'b': 2}}\nname = x = input()\n@wp.kernel\ndef k(): pass\n{code}\n"
    )
    index = index_of(tmp_path, {"app.py": source, "lib.py": "import warp\n"})
    (found,) = index.files[str(tmp_path / "app.py")].option_sets
    assert (found.via, list(found.options), found.target_module, found.dynamic) == expected


NO_OPTIONS = [
    pytest.param("pyglet.options['debug'] = False", id="another library's options"),
    pytest.param("self = x\nself.options.update(a=1)", id="an object's options"),
    pytest.param("config.mode = 'debug'", id="another config"),
    pytest.param("y = wp.config.mode", id="a read"),
    pytest.param("wp.configuration.mode = 1", id="another attribute"),
]


@pytest.mark.parametrize("code", NO_OPTIONS)
def test_no_option_writes(tmp_path: Path, code: str) -> None:
    source = f"import warp as wp\nimport pyglet, config\nx = object()\n{code}\n"
    assert index_of(tmp_path, {"app.py": source}).files[str(tmp_path / "app.py")].option_sets == []


def test_call_sites_in_every_file(tmp_path: Path) -> None:
    index = index_of(
        tmp_path,
        {
            "lib.py": "import warp as wp\ndef make(n=1):\n    return n\ndef other():\n    make(2)\n",
            "app.py": "import lib\nlib.make(3)\nfrom lib import make as m\nm()\n",
            "far.py": "def make(): pass\nmake()\n",
            "in_kernel.py": "import warp as wp\nfrom lib import make\n@wp.kernel\ndef k():\n    x = wp.static(make(4))\n",
        },
    )
    sites = index.call_sites("lib.make")
    assert [(Path(site.file.path).name, site.node.lineno) for site in sites] == [
        ("app.py", 2),
        ("app.py", 4),
        ("in_kernel.py", 5),
        ("lib.py", 5),
    ]
    assert str(tmp_path / "app.py") not in index.files  # it has nothing to do with Warp itself


def test_references_in_every_file(tmp_path: Path) -> None:
    index = index_of(
        tmp_path,
        {
            "lib.py": "import warp as wp\nSIZE = 3\ndef f(SIZE):\n    return SIZE\ndef g():\n    global SIZE\n    SIZE = 4\n",
            "app.py": "import warp\nimport lib\nprint(lib.SIZE)\nfrom lib import SIZE as s\nprint(s)\n",
        },
    )
    found = [
        (Path(item.file.path).name, item.node.lineno, type(item.node.ctx).__name__)
        for item in index.references("lib.SIZE")
    ]
    assert found == [("app.py", 3, "Load"), ("app.py", 5, "Load"), ("lib.py", 2, "Store"), ("lib.py", 7, "Store")]
    assert index.files[str(tmp_path / "lib.py")].global_writes == {"SIZE"}


def test_two_scripts_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    script = "import warp as wp\n@wp.kernel\ndef k(): pass\nwp.launch(k, dim=1)\n"
    index = index_of(tmp_path, {"a/app.py": script, "b/app.py": script})
    first, second = (index.files[str(tmp_path / name / "app.py")] for name in "ab")
    assert index.prefix(first) != index.prefix(second)
    assert first.launches[0].kernel_target == f"{index.prefix(first)}.k"
    assert second.launches[0].kernel_target == f"{index.prefix(second)}.k"
    assert (first.module, second.module) == ("app", "app")


def test_names_that_configuration_is_handed_on_under(tmp_path: Path) -> None:
    index = index_of(
        tmp_path,
        {
            "first.py": "import warp as wp\nfrom warp import config as one\n\ntwo: object = one\n",
            "second.py": "import warp as wp\nfrom first import two as three\n\ndef f():\n    four = three\n    four.verify_fp = True\n",
            "third.py": "import warp as wp\n\nprint(five := wp.config)\nsix, x = five, 1\nsix.mode = 'debug'\n",
            "fourth.py": "import warp as wp\nimport third\n\nthird.six.verbose = True\n",
            "none.py": "import warp as wp\n\ndef f(model):\n    config = model.config\n    state = config\n    state.x = 1\n",
            "other.py": "import warp as wp\n\nstate = object()\nstate.verbose = True\n",
        },
    )
    written = {
        Path(path).name: [name for item in file.option_sets for name in item.options]
        for path, file in index.files.items()
    }
    assert written == {
        "first.py": [],
        "second.py": ["verify_fp"],
        "third.py": ["mode"],
        "fourth.py": ["verbose"],
        "none.py": [],
        "other.py": [],
    }
    # What a function calls something is no name for other files: one `x = config` would spread to all that is called x.
    assert "state" in index.config_names(index.files[str(tmp_path / "none.py")])
    assert "state" not in index.config_names(index.files[str(tmp_path / "other.py")])


@pytest.mark.parametrize(
    "source",
    [
        "import a\nfrom b import c, d as e  # f\n",
        "import a; import b as c; from d import e\nx = 1; import f\n",
        "try: import a\nexcept ImportError: import b\n",
        "from a import (\n    b,  # import c\n    d,\n)\nimport e",
        "from . import (a, b); import c\nfrom .. d import e\nfrom ..f import *\n",
        "'''\nimport a\n''' ; import b\nimportant = 1\nx = {'k': import_module('a')}\n",
        "reimport a\n  import b\n\timport c, d\nimport\nfrom x importy\nfrom x import\n",
        "# import a\nx = 'import b'\nlambda: import_c\n",
    ],
)
def test_import_lines_are_found_by_the_word_as_by_the_whole_pattern(source: str) -> None:
    raw = source.encode()
    assert [match.span() for match in _import_statements(raw)] == [match.span() for match in _IMPORT.finditer(raw)]
