"""Hoisting reads a value, or makes a kernel, at another moment than before: where that may differ, nothing moves."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER, edit, make_project


def run(value: str = "1.0", first: str = "pass", last: str = "return None") -> str:
    return f"""

def run(a):
    {first}

    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[0] = {value}

    wp.launch(scale, dim=1, inputs=[a])
    {last}
"""


def case(source: str, reason: str, id: str, **others: str) -> object:
    return pytest.param(source, {f"{name}.py": text for name, text in others.items()}, reason, id=id)


SETTINGS = "class Settings:\n    n = 1.0\n\n\ncurrent = Settings()\n"
DECLINED = [
    case("TABLE = dict(n=1.0)" + run('wp.static(TABLE["n"])'), "contents of `TABLE`", "a dict made by a call"),
    case(
        "import numpy\nARRAY = numpy.zeros(3)" + run("wp.static(float(ARRAY[0]))"),
        "contents of `ARRAY`",
        "an element of an array",
    ),
    case(
        "from tables import TABLE" + run('wp.static(TABLE["n"])'),
        "contents of `TABLE`",
        "an imported dict",
        tables='TABLE = {"n": 1.0}\n',
    ),
    case(
        "import tables" + run('wp.static(tables.TABLE["n"])'),
        "contents of `tables.TABLE`",
        "a dict of an imported module",
        tables='TABLE = {"n": 1.0}\n',
    ),
    case(
        "from settings import current" + run("wp.static(current.n)"),
        "attribute of the object `current`",
        "an attribute of an imported object",
        settings=SETTINGS,
    ),
    case(
        "class Settings:\n    n = 1.0\n\n\nALIAS = Settings" + run("wp.static(ALIAS.n)"),
        "`.n` is assigned somewhere",
        "an attribute of a class under another name",
        main="import mod\nmod.ALIAS.n = 2.0\n",
    ),
    case(
        "class Settings:\n    n = 1.0\n" + run("Settings.n"),
        "`.n` is assigned somewhere",
        "an attribute of a class that is set by a name from elsewhere",
        main="import mod\nfor name, value in mod.read():\n    setattr(mod.Settings, name, value)\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "assigns from outside",
        "a global that is set by a name from elsewhere",
        main="import mod\nfor name, value in mod.read():\n    setattr(mod, name, value)\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "assigns from outside",
        "a global of a module that is handed on to who sets attributes",
        main="import mod\n\n\ndef put(target, name, value):\n    setattr(target, name, value)\n\n\nput(mod, *mod.read())\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "assigns from outside",
        "a global of a module that is looked up by its name",
        main="import sys\n\n\ndef put(module, name, value):\n    setattr(sys.modules[module], name, value)\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "assigns from outside",
        "a global of a module that somebody gets by its name and passes on",
        main="import importlib\n\n\ndef put(module, name, value):\n    found = importlib.import_module(module)\n"
        "    change(found, name, value)\n\n\ndef change(target, name, value):\n    setattr(target, name, value)\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "assigns from outside",
        "a global of one of the modules that the names asked for may mean",
        main='import sys\n\nothers = [m for n, m in sys.modules.items() if n.startswith("mo") or m]\n\n\n'
        "def put(target, name, value):\n    setattr(target, name, value)\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "assigns from outside",
        "a global that is set through the dictionary of the module",
        main="import mod\nfor name, value in mod.read():\n    mod.__dict__[name] = value\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "assigns from outside",
        "a global that is set through vars of the module",
        main="import mod\nvars(mod).update(mod.read())\n",
    ),
    case(
        "GAIN = 1.0\n\n\ndef tune(values):\n    for name in values:\n        globals()[name] = values[name]\n"
        + run("GAIN"),
        "assigns from outside",
        "a global that the file sets by a name from elsewhere",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "assigns from outside",
        "a global that is set by a name of which a part is in the source",
        main='import mod\nfor end in mod.read():\n    setattr(mod, f"GA{end}", 2.0)\n',
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "assigns from outside",
        "a global of a module that hands on what sets attributes",
        main="import functools\nimport mod\nput = functools.partial(setattr, mod)\n",
    ),
    case(
        "import consts" + run("consts.GAIN"),
        "`.GAIN` is assigned somewhere",
        "a global of another module that is set by a name from elsewhere",
        consts="GAIN = 1.0\n",
        main="import consts\nimport mod\nfor name, value in mod.read():\n    setattr(consts, name, value)\n",
    ),
    case(
        "class Settings:\n    n = 1.0\n\n    @classmethod\n    def tune(cls, name, value):\n        setattr(cls, name, value)\n"
        + run("Settings.n"),
        "`.n` is assigned somewhere",
        "an attribute of a class that a method of the class sets",
    ),
    case(
        "class Settings:\n    n = 1.0\n\n    def tune(self, name, value):\n        setattr(type(self), name, value)\n"
        + run("Settings.n"),
        "`.n` is assigned somewhere",
        "an attribute of a class that an object of it sets for all",
    ),
    case(
        run("wp.static(2.0 if wp.config.verify_fp else 1.0)"),
        "can set at any time",
        "a setting of Warp",
    ),
    case(
        "import os" + run('wp.static(float(os.environ["GAIN"]))'),
        "can set at any time",
        "an environment variable",
    ),
    case(
        run("wp.static(2.0 if wp.get_device().is_cpu else 1.0)"),
        "would run at import",
        "the device that is current",
    ),
    case(
        "G = wp.vec3(0.0, 0.0, 1.0)" + run("G[0]"),
        "change in place",
        "a vector of module scope that is changed in place",
        main="import mod\nmod.G[0] = 2.0\n",
    ),
    case(run("axis[0]", "axis = wp.vec3(0.0); axis[0] = a"), "change in place", "a local vector changed in place"),
    case(run("axis[0]", "axis = wp.vec3(0.0)", "axis.x = 1.0"), "change in place", "a local vector changed later"),
    case(
        "def turn(v):\n    v.x = 1.0\n" + run("axis[0]", "axis = wp.vec3(0.0)", "turn(axis)"),
        "change in place",
        "a local vector that is handed on",
    ),
    case(
        "def names():\n    return [n for n, v in globals().items() if isinstance(v, wp.Kernel)]\n" + run(),
        "looks through its own names",
        "a file that lists its kernels",
    ),
    case(
        run(),
        "looks through modules",
        "another file that lists the kernels of modules",
        lists="import inspect\nimport warp as wp\n\n\ndef find(m):\n"
        "    return [n for n, v in inspect.getmembers(m) if isinstance(v, wp.Kernel)]\n",
    ),
    case(
        run("wp.newer(1.0)", "if not hasattr(wp, 'newer'):\n        return"),
        "may not build everywhere",
        "a kernel for newer Warps only",
    ),
    case(
        run(first="if wp.get_device().is_cpu:\n        raise RuntimeError"),
        "may not build everywhere",
        "a kernel for GPUs only",
    ),
    case(
        run(first="# fmt: off", last="# fmt: on"),
        "switches a formatter off",
        "a formatter switched off around it",
    ),
    case(
        "def tell(kernel):\n    return kernel.key\n" + run(last="return tell(scale)"),
        "`tell` reads `.key`",
        "a helper that reads the key",
    ),
    case(run(last="return [one.key for one in [scale]]"), "`run` reads `.key`", "the key read under another name"),
    case(run(first="global scale"), "declares `scale` `global`", "global"),
]


@pytest.mark.parametrize(("source", "others", "reason"), DECLINED)
def test_declined(tmp_path: Path, source: str, others: dict[str, str], reason: str) -> None:
    result = edit(make_project(tmp_path / "p", {"mod.py": HEADER + source, **others}))
    assert result.texts == {}
    (verdict,) = [verdict for verdict in result.verdicts if verdict.construct.name == "scale"]
    assert verdict.stable, verdict.captures
    assert verdict.declined is not None
    assert reason in verdict.declined


HOISTED = [
    case(
        "from kinds import Kind" + run("wp.static(int(Kind.FIXED))"),
        "scale",
        "a member of an enumeration, where attributes are set by names from elsewhere",
        kinds="from enum import IntEnum\n\n\nclass Kind(IntEnum):\n    FIXED = 1\n",
        main="import mod\nfor name, value in mod.read():\n    setattr(mod.current, name, value)\n",
    ),
    case(
        "class Settings:\n    n = 1.0\n\n    def __init__(self, values):\n        for name in values:\n"
        "            setattr(self, name, values[name])\n" + run("Settings.n"),
        "scale",
        "an attribute of a class whose objects set their own",
    ),
    case(
        "import consts" + run("consts.GAIN"),
        "scale",
        "a global of a module, where objects of which nothing is known get attributes by names from elsewhere",
        consts="GAIN = 1.0\n",
        main="import mod\n\n\ndef fill(model, names):\n    for name in names:\n        setattr(model, name, None)\n"
        "    model.GAIN = 2.0\n",
    ),
    case(
        "import consts" + run("consts.GAIN"),
        "scale",
        "a global of a module that is only looked at, beside modules that are passed on",
        consts="GAIN = 1.0\n",
        main="import consts\nimport json\nimport mod\n\n\ndef fill(target, name):\n    setattr(target, name, None)\n\n\n"
        "fill(json, 'x')\nassert hasattr(consts, 'GAIN')\nprint(getattr(consts, 'GAIN'))\n",
    ),
    case(
        "class Thing:\n    pass\n\n\ndef make(values):\n    thing = Thing()\n    for name in values:\n"
        "        setattr(thing, name, values[name])\n    return thing\n\n\nclass Settings:\n    n = 1.0\n"
        + run("Settings.n"),
        "scale",
        "an attribute of a class, where objects of another get theirs by names from elsewhere",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "scale",
        "a global, where what sets attributes is handed on with another object and a name",
        main="import logging\nimport mod\n\n\ndef up(case):\n    root = logging.getLogger()\n    print([mod])\n"
        "    case.addCleanup(setattr, root, 'handlers', [])\n",
    ),
    case(
        run("float(range(2)[1])"),
        "scale",
        "a builtin, where objects of which nothing is known have an attribute of its name",
        main="import mod\n\n\ndef limit(model):\n    model.range = 2\n    print([mod])\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "scale",
        "a global, where a test sets attributes of which nothing is in the source",
        test_mod="import mod\n\n\ndef test_it(model, name):\n    print([mod])\n    setattr(model, name, 1)\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "scale",
        "a global of a module whose options are asked for",
        main="import warp as wp\nimport mod\n\n\ndef put(model, name):\n    setattr(model, name, 1)\n\n\n"
        "print(wp.get_module_options(module=mod))\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "scale",
        "a global of a module that the names asked for leave out",
        main='import sys\n\nothers = [m for n, m in sys.modules.items() if n.startswith("other.") and m]\n\n\n'
        "def put(target, name, value):\n    setattr(target, name, value)\n",
    ),
    case(
        run("1.0"),
        "scale",
        "no global but an imported one, where modules are handed on to who sets attributes",
        main="import mod\n\n\ndef put(target, name, value):\n    setattr(target, name, value)\n\n\nput(mod, *mod.read())\n",
    ),
    case(
        "GAIN = 1.0" + run("GAIN"),
        "scale",
        "a global whose module gets others by names of which a part is in the source",
        main='import mod\nfor end in mod.read():\n    setattr(mod, f"{end}_made", 2.0)\n'
        'for name in ("a", "b"):\n    setattr(mod, name, 1.0)\n',
    ),
    case("import math\nHALF = math.pi / 2" + run("HALF"), "scale", "a number of module scope"),
    case("import math" + run("half", "half = math.pi / 2"), "scale", "a local number made of pi"),
    case("G = wp.vec3(0.0, 0.0, 1.0)" + run("G[0]"), "scale", "a vector that nobody changes"),
    case(run("axis[0]", "axis = wp.vec3(0.0)", "print(axis, axis[0])"), "scale", "a local vector that is only read"),
    case(run(first="if a is None:\n        return"), "scale", "left early for a reason of its own"),
    case(
        run(),
        "run_scale",
        "a name that somebody asks for",
        main="import mod\nif hasattr(mod, 'scale'):\n    print('there')\n",
    ),
    case(
        "def __getattr__(name):\n    if name == 'scale':\n        return 1.0\n    raise AttributeError(name)\n" + run(),
        "run_scale",
        "a name that the module answers for",
    ),
]


@pytest.mark.parametrize(("source", "others", "name"), HOISTED)
def test_hoisted(tmp_path: Path, source: str, others: dict[str, str], name: str) -> None:
    result = edit(make_project(tmp_path / "p", {"mod.py": HEADER + source, **others}))
    (verdict,) = [verdict for verdict in result.verdicts if verdict.construct.name == "scale"]
    assert verdict.declined is None
    assert verdict.rename is not None
    assert verdict.rename.new_qualname == name
    compile(result.texts["mod.py"], "mod.py", "exec")


# Unique kernels of which nobody proved that they are always the same: nothing is said about them.
UNPROVED = {
    "a function of two branches": """
    if n:
        @wp.func
        def h(x: float):
            return x
    else:
        @wp.func
        def h(x: float):
            return 2.0 * x
""",
    "native code from a parameter": """
    @wp.func_native(n)
    def h(x: float): ...
""",
    "a Python function that sees a parameter": """
    def h(x):
        return n
""",
}


@pytest.mark.parametrize("inner", UNPROVED.values(), ids=UNPROVED)
def test_not_said_to_be_the_same(tmp_path: Path, inner: str) -> None:
    body = f"\ndef make(n):{inner}\n    @wp.kernel(MODULE)\n    def scale(a: wp.array(dtype=float)):\n        a[0] = h(1.0)\n\n"
    for module in ('module="unique"', ""):
        source = HEADER + body.replace("MODULE", module) + "    return scale\n"
        result = edit(make_project(tmp_path / f"p{len(module)}", {"mod.py": source}))
        assert result.texts == {}
        said = [finding.message for finding in result.findings if finding.code in ("WF101", "WF301")]
        assert not any("same" in message or "nothing that varies" in message for message in said)
        assert bool(said) is not bool(module)


def test_unique_kernel_that_reads_what_is_rebound(tmp_path: Path) -> None:
    source = HEADER + (
        "SCALE = wp.constant(1.0)\n\n\ndef set_scale(x):\n    global SCALE\n    SCALE = x\n\n\n"
        '@wp.kernel(module="unique")\ndef one(a: wp.array(dtype=float)):\n    a[0] = SCALE\n\n\n'
        '@wp.kernel(module="unique")\ndef two(a: wp.array(dtype=float)):\n    a[0] = 1.0\n'
    )
    result = edit(make_project(tmp_path / "p", {"mod.py": source}))
    assert [finding.kernel for finding in result.findings if finding.code == "WF301"] == ["two"]


def test_unique_kernels_whose_options_are_set_through_them(tmp_path: Path) -> None:
    source = HEADER + (
        '@wp.kernel(module="unique")\ndef one(a: wp.array(dtype=float)):\n    a[0] = 2.0\n\n\n'
        '@wp.kernel(module="unique")\ndef two(a: wp.array(dtype=float)):\n    a[0] = 1.0\n\n\n'
        'for kernel in (one, two):\n    kernel.module.options["fast_math"] = True\n'
    )
    result = edit(make_project(tmp_path / "p", {"mod.py": source}))
    assert result.texts == {}


def test_factory_called_at_import_before_the_first_launch(tmp_path: Path) -> None:
    factory = "def make():\n    @wp.kernel\n    def scale(a: wp.array(dtype=float)):\n        a[0] = 2.0\n\n    return scale\n"
    launch = "wp.launch(first, dim=1, inputs=[None])\n"
    early = f"\n\nKERNEL = make()\nif __name__ == '__main__':\n    {launch}"
    late = f"\n\n{launch}KERNEL = make()\n"
    turns = f"\n\nfor turn in range(2):\n    KERNEL = make()\n    {launch}"
    for number, (rest, codes) in enumerate([(early, []), (late, ["WF101"]), (turns, ["WF101"])]):
        result = edit(make_project(tmp_path / f"p{number}", {"mod.py": HEADER + factory + rest}))
        assert [finding.code for finding in result.findings if finding.code == "WF101"] == codes
