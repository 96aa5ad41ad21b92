"""Kinds of use that only look dangerous, and those beside them that are: keys built ahead of time, ``globals()``,
enumerations, kernels that fail on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER, dedent, edit, make_project

from warpfix.index.model import ModuleChoice

SCALE = """

def run(a):
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[0] = VALUE

    wp.launch(scale, dim=1, inputs=[a])
"""
AHEAD = """

def build(a):
    @wp.kernel(MODULE)
    def shipped(a: wp.array(dtype=float)):
        a[0] = 1.0

    wp.compile_aot_module(shipped.module)
"""


def case(source: str, id: str, **others: str) -> object:
    return pytest.param(source, {f"{name}.py": text for name, text in others.items()}, id=id)


def scale(value: str = "1.0") -> str:
    return SCALE.replace("VALUE", value)


def ahead(module: str = "", call: str = "wp.compile_aot_module(shipped.module)") -> str:
    return AHEAD.replace("MODULE", module).replace("wp.compile_aot_module(shipped.module)", call)


def refuses(decorator: str = "@wp.kernel") -> str:
    return dedent(
        f"""

        def test_refused(test, n):
            {decorator}
            def refused(a: wp.array(dtype=float)):
                a[0] = n.no

            with test.assertRaises(AttributeError):
                wp.launch(refused, dim=1, inputs=[None])
        """
    )


DECLINED = [
    case(
        scale().replace("@wp.kernel", '@wp.kernel(enable_backward=False, entry_point_abi="external_constant_params")'),
        "an option that only builds for CUDA",
    ),
    case(scale().replace("@wp.kernel", "@wp.kernel(cluster_dim=2)"), "an option that only builds for some GPUs"),
    case(scale().replace("@wp.kernel", "@wp.kernel(some_new_option=2)"), "an option that nobody knows"),
    case(ahead() + scale(), "built ahead of time: a kernel of the file's own Warp module"),
    case(
        ahead('module="unique"', "wp.compile_aot_module(module=shipped.module, arch=80)\n    shipped = a.kernel")
        + scale(),
        "the name is bound twice",
    ),
    case(
        ahead('module="unique"', "wp.compile_aot_module(a.kernel.module)") + scale(),
        "built ahead of time: an unknown kernel",
    ),
    case(ahead('module="unique"', "wp.compile_aot_module(*a)") + scale(), "built ahead of time: unknown arguments"),
    case(ahead(call="wp.compile_aot_module(__name__)") + scale(), "built ahead of time: this module by its name"),
    case(
        scale(),
        "built ahead of time by a file that imports it",
        build="import warp as wp\nimport mod\n\nwp.compile_aot_module(mod)\n",
    ),
    case("def keep(names):\n    names.update(globals())\n" + scale(), "all names handed on"),
    case("def keep(name):\n    return globals()[name]\n" + scale(), "a name that is computed"),
    case("def keep(add):\n    add(globals().pop, *add)\n" + scale(), "a name that is handed on starred"),
    case(
        'VALUE = 1.0\n\n\ndef change():\n    globals()["VALUE"] = 2.0\n' + scale("VALUE"),
        "a value written through globals",
    ),
    case(
        "class Mode:\n    value = 1\n\n\ndef change(x):\n    x.value = 2\n" + scale("float(Mode.value)"),
        "a class that is no enumeration",
    ),
    case(
        "import enum\n\n\nclass Mode(enum.IntEnum):\n    A = 1\n\n\ndef change(x):\n    x.limit = 2\n"
        + scale("float(Mode.limit)"),
        "no member of the enumeration",
    ),
    case(scale() + refuses(), "a specialised kernel of the same module fails on purpose"),
    case(scale() + refuses().replace("n.no", "1.0"), "a stable kernel of the same module fails on purpose"),
    case(
        scale()
        + dedent(
            """

            def make(n):
                @wp.kernel
                def refused(a: wp.array(dtype=float)):
                    a[0] = n.no

                return refused


            def test_refused(test):
                refused = make(1)
                with test.assertRaises(AttributeError):
                    wp.launch(refused, dim=1, inputs=[None])
            """
        ),
        "a kernel of the same module fails in another function",
    ),
    case(
        scale()
        + dedent(
            """

            def first_that_builds(n):
                @wp.kernel
                def fancy(a: wp.array(dtype=float)):
                    a[0] = n.maybe

                try:
                    wp.launch(fancy, dim=1, inputs=[None])
                except Exception:
                    return False
                return True
            """
        ),
        "a kernel of the same module is tried",
    ),
]


@pytest.mark.parametrize(("source", "others"), DECLINED)
def test_declined(tmp_path: Path, source: str, others: dict[str, str]) -> None:
    result = edit(make_project(tmp_path / "p", {"mod.py": HEADER + source, **others}))
    assert result.texts == {}
    (verdict,) = [verdict for verdict in result.verdicts if verdict.construct.name == "scale"]
    assert verdict.stable, verdict.captures
    assert verdict.declined is not None


ENUM = "import enum\n\n\nclass Mode(enum.IntEnum):\n    A = 1\n\n\ndef change(x):\n    x.value = 2\n"
HOISTED = [
    case(
        scale().replace("@wp.kernel", "@wp.kernel(enable_backward=False, launch_bounds=64)"),
        "options that build everywhere",
    ),
    case(
        "SIZE = wp.constant(4)\n" + scale("float(size)").replace("    @wp", "    size = SIZE\n\n    @wp"),
        "a constant under a local name",
    ),
    case(
        "SIZE = 4\n" + scale("float(size)").replace("    @wp", "    size = 2 * SIZE\n\n    @wp"),
        "computed from a constant",
    ),
    case(
        scale("function(2.0)").replace("    @wp", "    function = wp.sin\n\n    @wp"),
        "a function of Warp under a local name",
    ),
    case(ahead('module="unique"') + scale(), "built ahead of time: one kernel in a module of its own"),
    case(
        scale(),
        "built ahead of time: another file's own kernel",
        build=HEADER + "import mod\n" + ahead('module="unique"'),
    ),
    case('def add(x):\n    globals()["other"] = x\n' + scale(), "one other name written through globals"),
    case('def add(test):\n    test.addCleanup(globals().pop, "other", None)\n' + scale(), "one other name handed on"),
    case(ENUM + scale("float(Mode.A.value)"), "the value of an enumeration's member"),
    case(ENUM + scale("float(int(Mode.A))"), "an enumeration's member"),
    case(scale() + refuses('@wp.kernel(module="unique")'), "what fails has a module of its own"),
    case(scale() + refuses('@wp.kernel(module="other")'), "what fails is in another named module"),
]


VARIES = {
    "a constant that a function rebinds": "SIZE = 4\n\n\ndef change():\n    global SIZE\n    SIZE = 5\n",
    "a name bound twice": "SIZE = 4\nSIZE = 5\n",
    "names that mean each other": "SIZE = 4 if wp else OTHER\nOTHER = SIZE\n",
    "a value of a call": "SIZE = int(input())\n",
    "a value that others make": "BASE = int(input())\nSIZE = BASE\n",
    "a list": "SIZE = [4]\n",
    "a vector": "SIZE = wp.vec3(4.0)\n",
}


@pytest.mark.parametrize("before", VARIES.values(), ids=VARIES)
def test_local_name_for_a_global_that_may_vary(tmp_path: Path, before: str) -> None:
    source = before + scale("float(size)").replace("    @wp", "    size = SIZE\n\n    @wp")
    result = edit(make_project(tmp_path / "p", {"mod.py": HEADER + source}))
    assert result.texts == {}


def test_local_name_for_a_constant_assigned_from_outside(tmp_path: Path) -> None:
    source = "SIZE = 4\n" + scale("float(size)").replace("    @wp", "    size = SIZE\n\n    @wp")
    files = {"mod.py": HEADER + source, "other.py": "import mod\n\nmod.SIZE = 8\n"}
    assert edit(make_project(tmp_path / "p", files)).texts == {}


@pytest.mark.parametrize(("source", "others"), HOISTED)
def test_hoisted(tmp_path: Path, source: str, others: dict[str, str]) -> None:
    result = edit(make_project(tmp_path / "p", {"mod.py": HEADER + source, **others}))
    (verdict,) = [verdict for verdict in result.verdicts if verdict.construct.name == "scale"]
    assert verdict.declined is None
    assert "\n\ndef run(a):\n    wp.launch(scale" in result.texts["mod.py"]
    compile(result.texts["mod.py"], "mod.py", "exec")


def test_no_name_that_globals_is_asked_for(tmp_path: Path) -> None:
    source = 'def there():\n    return globals().get("scale")\n' + scale()
    result = edit(make_project(tmp_path / "p", {"mod.py": HEADER + source}))
    (verdict,) = result.verdicts
    assert verdict.construct.module_choice is ModuleChoice.DEFAULT
    assert verdict.rename is not None
    assert verdict.rename.new_qualname == "run_scale"
