"""Closure kernels that move: each case with the file before and after."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER, check_invariants, check_transformed, dedent, edit, make_project, write

TOP = dedent(HEADER)


def case(before: str, after: str, id: str) -> object:
    return pytest.param(TOP + dedent(before), TOP + dedent(after), id=id)


CASES = [
    case(
        """
        def run(a):
            \"\"\"Scale.\"\"\"

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                i = wp.tid()
                a[i] = a[i] * 2.0

            wp.launch(scale, dim=a.size, inputs=[a])
        """,
        """
        @wp.kernel
        def scale(a: wp.array(dtype=float)):
            i = wp.tid()
            a[i] = a[i] * 2.0


        def run(a):
            \"\"\"Scale.\"\"\"

            wp.launch(scale, dim=a.size, inputs=[a])
        """,
        "a kernel between a docstring and its launch",
    ),
    case(
        """
        def run(factor):
            @wp.kernel
            def scale(factor: wp.array(dtype=float)):
                factor[0] = 1.0

            return scale
        """,
        """
        @wp.kernel
        def scale(factor: wp.array(dtype=float)):
            factor[0] = 1.0


        def run(factor):
            return scale
        """,
        "a parameter that shadows one of the function",
    ),
    case(
        """
        def make(n, unused=None):
            del unused

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale
        """,
        """
        @wp.kernel
        def scale(a: wp.array(dtype=float)):
            a[0] = 1.0


        def make(n, unused=None):
            del unused

            return scale
        """,
        "parameters that the kernel does not use",
    ),
    case(
        """
        import functools


        @functools.cache
        def make():
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale
        """,
        """
        import functools


        @wp.kernel
        def scale(a: wp.array(dtype=float)):
            a[0] = 1.0


        @functools.cache
        def make():
            return scale
        """,
        "a cached factory keeps its decorator",
    ),
    case(
        """
        def make():
            width = 4  # cells
            height = wp.constant(2.0)
            vec5 = wp.types.vector(length=5, dtype=wp.float32)

            @wp.struct
            class Cell:
                value: vec5

            @wp.func
            def area(cell: Cell) -> float:
                return cell.value[0] * height * float(width)

            # The kernel.
            @wp.kernel
            def scale(cells: wp.array(dtype=Cell)):
                cells[0].value[0] = area(cells[0])

            return scale, Cell, width
        """,
        """
        width = 4  # cells
        height = wp.constant(2.0)
        vec5 = wp.types.vector(length=5, dtype=wp.float32)


        @wp.struct
        class Cell:
            value: vec5


        @wp.func
        def area(cell: Cell) -> float:
            return cell.value[0] * height * float(width)


        # The kernel.
        @wp.kernel
        def scale(cells: wp.array(dtype=Cell)):
            cells[0].value[0] = area(cells[0])


        def make():
            return scale, Cell, width
        """,
        "functions, structs, constants and types move along",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(
                a: wp.array(dtype=float),  # in and out
                # a comment of its own
                b: float = 2.0,
            ):
                \"\"\"Text
                over lines.\"\"\"
                x = (
                    b
                    + 1.0
                )
                a[0] = x  # set

                # the end
            # run it
            wp.launch(scale, dim=1, inputs=[a])
        """,
        """
        @wp.kernel
        def scale(
            a: wp.array(dtype=float),  # in and out
            # a comment of its own
            b: float = 2.0,
        ):
            \"\"\"Text
                over lines.\"\"\"
            x = (
                b
                + 1.0
            )
            a[0] = x  # set

            # the end


        def run(a):
            # run it
            wp.launch(scale, dim=1, inputs=[a])
        """,
        "comments, docstrings and continuation lines",
    ),
    case(
        """
        class Solver:
            \"\"\"Solves.\"\"\"

            def step(self, a):
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = 1.0

                wp.launch(scale, dim=1, inputs=[a])
        """,
        """
        @wp.kernel
        def scale(a: wp.array(dtype=float)):
            a[0] = 1.0


        class Solver:
            \"\"\"Solves.\"\"\"

            def step(self, a):
                wp.launch(scale, dim=1, inputs=[a])
        """,
        "a method's kernel goes before the class",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float), other: "wp.array(dtype=float)"):
                a[0] = other[0]

            wp.launch(scale, dim=1, inputs=[a, a])


        def first_kernel(a):
            @wp.kernel
            def first(a: wp.array(dtype=float)):
                a[0] = 3.0

            kernels = [first]
            kernels.append(first)
            return kernels, lambda: first
        """,
        """
        @wp.kernel
        def scale(a: wp.array(dtype=float), other: "wp.array(dtype=float)"):
            a[0] = other[0]


        def run(a):
            wp.launch(scale, dim=1, inputs=[a, a])


        @wp.kernel
        def first_kernel_first(a: wp.array(dtype=float)):
            a[0] = 3.0


        def first_kernel(a):
            kernels = [first_kernel_first]
            kernels.append(first_kernel_first)
            return kernels, lambda: first_kernel_first
        """,
        "a name that module scope has already: renamed with every reference",
    ),
    case(
        """
        def total(a):
            @wp.kernel
            def sum(a: wp.array(dtype=float)):
                a[0] = 1.0

            wp.launch(sum, dim=1, inputs=[a])


        def other(values):
            return sum(values)
        """,
        """
        @wp.kernel
        def total_sum(a: wp.array(dtype=float)):
            a[0] = 1.0


        def total(a):
            wp.launch(total_sum, dim=1, inputs=[a])


        def other(values):
            return sum(values)
        """,
        "a kernel named like a builtin that the file uses",
    ),
    case(
        """
        def total(a):
            len = 3.0

            @wp.kernel
            def sum(a: wp.array(dtype=float)):
                a[0] = len

            wp.launch(sum, dim=1, inputs=[a])
        """,
        """
        total_len = 3.0


        @wp.kernel
        def total_sum(a: wp.array(dtype=float)):
            a[0] = total_len


        def total(a):
            wp.launch(total_sum, dim=1, inputs=[a])
        """,
        "names of builtins, which the file may come to use",
    ),
    case(
        """
        def one(a):
            @wp.func
            def f(x: float) -> float:
                return x + 1.0

            @wp.kernel
            def run(a: wp.array(dtype=float)):
                a[0] = f(a[0])

            wp.launch(run, dim=1, inputs=[a])


        def two(a):
            @wp.func
            def f(x: float) -> float:
                return x + 2.0

            @wp.kernel
            def run(a: wp.array(dtype=float)):
                a[0] = f(a[0])

            wp.launch(run, dim=1, inputs=[a])
        """,
        """
        @wp.func
        def f(x: float) -> float:
            return x + 1.0


        @wp.kernel
        def run(a: wp.array(dtype=float)):
            a[0] = f(a[0])


        def one(a):
            wp.launch(run, dim=1, inputs=[a])


        @wp.func
        def two_f(x: float) -> float:
            return x + 2.0


        @wp.kernel
        def two_run(a: wp.array(dtype=float)):
            a[0] = two_f(a[0])


        def two(a):
            wp.launch(two_run, dim=1, inputs=[a])
        """,
        "two functions of one name that differ, and kernels that only look equal",
    ),
    case(
        """
        def one(a):
            @wp.func
            def f(x: float) -> float:
                return x + 1.0

            @wp.kernel
            def run(a: wp.array(dtype=float)):
                a[0] = f(a[0])

            wp.launch(run, dim=1, inputs=[a])


        def two(a):
            @wp.func
            def f(x: float) -> float:
                return x + 1.0

            @wp.kernel
            def run(a: wp.array(dtype=float)):
                a[0] = f(a[0])

            wp.launch(run, dim=2, inputs=[a])
        """,
        """
        @wp.func
        def f(x: float) -> float:
            return x + 1.0


        @wp.kernel
        def run(a: wp.array(dtype=float)):
            a[0] = f(a[0])


        def one(a):
            wp.launch(run, dim=1, inputs=[a])


        def two(a):
            wp.launch(run, dim=2, inputs=[a])
        """,
        "definitions that are identical to the last comment become one",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(cells: wp.array(dtype=Cell)):
                cells[0].value = 1.0

            wp.launch(scale, dim=1, inputs=[a])


        @wp.struct
        class Cell:
            value: float


        LAST = 1
        """,
        """
        def run(a):
            wp.launch(scale, dim=1, inputs=[a])


        @wp.struct
        class Cell:
            value: float


        @wp.kernel
        def scale(cells: wp.array(dtype=Cell)):
            cells[0].value = 1.0


        LAST = 1
        """,
        "an annotation that names what is bound below",
    ),
    case(
        """
        AVAILABLE = True

        if AVAILABLE:

            def run(a):
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = 1.0

                wp.launch(scale, dim=1, inputs=[a])
        """,
        """
        AVAILABLE = True

        if AVAILABLE:

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            def run(a):
                wp.launch(scale, dim=1, inputs=[a])
        """,
        "a guard is not left",
    ),
    case(
        """
        def outer(n):
            def make():
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = 1.0

                return scale

            return make
        """,
        """
        @wp.kernel
        def scale(a: wp.array(dtype=float)):
            a[0] = 1.0


        def outer(n):
            def make():
                return scale

            return make
        """,
        "a nested factory",
    ),
    case(
        """
        def outer():
            def make():
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = 1.0

                return scale

            scale = make()
            return scale
        """,
        """
        @wp.kernel
        def make_scale(a: wp.array(dtype=float)):
            a[0] = 1.0


        def outer():
            def make():
                return make_scale

            scale = make()
            return scale
        """,
        "a function around it has the name for something else",
    ),
    case(
        """
        def run():
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0
        """,
        """
        @wp.kernel
        def scale(a: wp.array(dtype=float)):
            a[0] = 1.0


        def run():
            pass
        """,
        "a function with nothing else in it",
    ),
    case(
        """
        def run():
            values = [scale for scale in range(3)]

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                for i in range(wp.static(2 + 1)):
                    a[i] = 1.0

            return scale, values
        """,
        """
        @wp.kernel
        def scale(a: wp.array(dtype=float)):
            for i in range(wp.static(2 + 1)):
                a[i] = 1.0


        def run():
            values = [scale for scale in range(3)]

            return scale, values
        """,
        "a comprehension's variable of the same name, and wp.static over literals",
    ),
    case(
        """
        def run(a):
            for i in range(3):
                a += i

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                for i in range(3):
                    a[i] = 1.0

            return scale
        """,
        """
        @wp.kernel
        def scale(a: wp.array(dtype=float)):
            for i in range(3):
                a[i] = 1.0


        def run(a):
            for i in range(3):
                a += i

            return scale
        """,
        "a loop variable that is only shadowed",
    ),
    case(
        """
        def run(a):
            # ---- about it ----

            # type: ignore
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                # fmt: off
                a[0]  =  1.0
                # fmt: on

            # ---- banner ----

            wp.launch(scale, dim=1, inputs=[a])
        """,
        """
        @wp.kernel
        def scale(a: wp.array(dtype=float)):
            # fmt: off
            a[0]  =  1.0
            # fmt: on


        def run(a):
            # ---- about it ----

            # type: ignore
            # ---- banner ----

            wp.launch(scale, dim=1, inputs=[a])
        """,
        "formatter marks and banners",
    ),
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_hoist(tmp_path: Path, before: str, after: str) -> None:
    root = make_project(tmp_path / "p", {"mod.py": before})
    check_transformed(root, {"mod.py": after})


def simple(newline: str = "\n", body: str = "") -> str:
    text = (
        TOP
        + "def run(a):\n    @wp.kernel\n    def scale(a: wp.array(dtype=float)):\n        a[0] = 1.0\n\n    return scale\n"
        + body
    )
    return text.replace("\n", newline)


def test_crlf_and_missing_last_newline(tmp_path: Path) -> None:
    text = simple("\r\n").removesuffix("\r\n")
    root = make_project(tmp_path / "p", {"mod.py": text.encode()})
    result = edit(root).texts["mod.py"]
    assert "\n" not in result.replace("\r\n", "")
    assert result.endswith("    return scale")
    check_invariants(text, result)


def test_definition_at_the_very_end(tmp_path: Path) -> None:
    text = (
        TOP + "def run(a):\n    x = 1\n\n    @wp.kernel\n    def scale(a: wp.array(dtype=float)):\n        a[0] = 1.0"
    )
    root = make_project(tmp_path / "p", {"mod.py": text.encode()})
    result = edit(root).texts["mod.py"]
    assert result.endswith("def run(a):\n    x = 1\n")
    check_invariants(text, result)


def test_tabs_and_form_feed(tmp_path: Path) -> None:
    text = (
        TOP
        + "\f\ndef run(a):\n\t@wp.kernel\n\tdef scale(a: wp.array(dtype=float)):\n\t\ta[0] = 1.0\n\n\treturn scale\n"
    )
    root = make_project(tmp_path / "p", {"mod.py": text.encode()})
    result = edit(root).texts["mod.py"]
    assert "@wp.kernel\ndef scale(a: wp.array(dtype=float)):\n\ta[0] = 1.0\n" in result
    assert "def run(a):\n\treturn scale\n" in result
    check_invariants(text, result)


def test_star_importers_get_no_new_name(tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "from .mod import *\n", "pkg/mod.py": simple()}
    root = make_project(tmp_path / "p", files)
    assert "def _scale(" in edit(root).texts["pkg/mod.py"]


def test_all_keeps_star_importers_out(tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "from .mod import *\n", "pkg/mod.py": simple(body='\n\n__all__ = ["run"]\n')}
    root = make_project(tmp_path / "p", files)
    assert "\ndef scale(" in edit(root).texts["pkg/mod.py"]


def test_name_that_a_star_import_brings(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/tools.py": "def scale():\n    pass\n",
        "pkg/mod.py": "from .tools import *\n" + simple(),
    }
    root = make_project(tmp_path / "p", files)
    assert "\ndef run_scale(" in edit(root).texts["pkg/mod.py"]


def test_name_bound_later_or_exported(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p", {"mod.py": simple(body="\n\ndef scale():\n    pass\n")})
    assert "\ndef run_scale(" in edit(root).texts["mod.py"]
    root = make_project(tmp_path / "q", {"mod.py": simple(body='\n\n__all__ = ["run", "scale"]\n')})
    assert "\ndef run_scale(" in edit(root).texts["mod.py"]


def test_no_name_that_pytest_would_collect(tmp_path: Path) -> None:
    text = simple().replace("def run(", "def test_run(").replace("scale", "test_scale")
    root = make_project(tmp_path / "p", {"tests/test_mod.py": text})
    result = edit(root, include_tests=True).texts["tests/test_mod.py"]
    assert "\ndef run_scale(" in result


def test_many_kernels_of_one_name(tmp_path: Path) -> None:
    functions = "".join(
        f"\n\ndef run{i}(a):\n    @wp.kernel\n    def kernel(a: wp.array(dtype=float)):\n        a[0] = {i}.0\n\n    return kernel\n"
        for i in range(12)
    )
    root = make_project(tmp_path / "p", {"mod.py": TOP.rstrip("\n") + "\n" + functions})
    result = edit(root)
    names = [rename.new_qualname for rename in result.plan.renames]
    assert len(set(names)) == 12
    write(root, result.texts)
    assert edit(root).texts == {}


def test_warp_under_other_names(tmp_path: Path) -> None:
    for header, decorator in [
        ("from warp import kernel as k\nimport warp\n", "k"),
        ("import warp\n", "warp.kernel"),
        ("import warp as w\n", "w.kernel()"),
    ]:
        text = (
            header
            + f"\n\n@{decorator}\ndef first(): ...\n\n\ndef run():\n    @{decorator}\n    def scale(): ...\n\n    return scale\n"
        )
        root = make_project(tmp_path / decorator.replace(".", "_"), {"mod.py": text})
        assert f"@{decorator}\ndef scale(): ...\n" in edit(root).texts["mod.py"]


def test_warp_from_a_star_import_of_the_project(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/common.py": "import warp as wp\n",
        "pkg/mod.py": "from .common import *\n" + simple().replace("import warp as wp\n", ""),
    }
    root = make_project(tmp_path / "p", files)
    assert "\ndef scale(" in edit(root).texts["pkg/mod.py"]


def test_warp_that_may_be_missing_is_not_needed_at_import(tmp_path: Path) -> None:
    text = "try:\n    import warp as wp\nexcept ImportError:\n    wp = None\n\n\n" + simple().split("\n\n\n", 2)[2]
    root = make_project(tmp_path / "p", {"mod.py": text})
    result = edit(root)
    assert result.texts == {}
    assert result.verdicts[0].declined is not None


def test_keep_keys(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p", {"mod.py": simple()}, warp=">=1.17")
    result = edit(root, keep_keys=True)
    assert '@wp.kernel(name="run__locals__scale")\ndef scale(' in result.texts["mod.py"]
    (rename,) = result.plan.renames
    assert rename.old_key == rename.new_key == "run__locals__scale"
    old = make_project(tmp_path / "q", {"mod.py": simple()}, warp=">=1.16")
    assert "name=" not in edit(old, keep_keys=True).texts["mod.py"]


def test_renames_tell_old_and_new(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p", {"mod.py": simple().replace("scale", "first")})
    (rename,) = edit(root).plan.renames
    assert (rename.old_qualname, rename.new_qualname) == ("run.<locals>.first", "run_first")
    assert (rename.old_key, rename.new_key) == ("run__locals__first", "run_first")
    assert rename.path == str((root / "mod.py").resolve())
