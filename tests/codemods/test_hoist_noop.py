"""Closure kernels that must stay where they are: each case with the words in which it is declined."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER, dedent, edit, make_project

KERNEL = """
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        i = wp.tid()
        a[i] = a[i] * 2.0
"""


def case(source: str, reason: str, id: str) -> object:
    return pytest.param(source, reason, id=id)


# Stable kernels, and the reason for which each is left.
DECLINED = [
    case(
        """
        def run(a):
            with wp.ScopedTimer("x"):
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = 1.0

                wp.launch(scale, dim=1, inputs=[a])
        """,
        "inside a `with`",
        "defined in a with",
    ),
    case(
        """
        def run(a):
            try:
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = 1.0
            except RuntimeError:
                return
            wp.launch(scale, dim=1, inputs=[a])
        """,
        "inside a `try`",
        "defined in a try",
    ),
    case(
        """
        def run(a, flag):
            if flag:
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = 1.0

                wp.launch(scale, dim=1, inputs=[a])
        """,
        "inside an `if`",
        "defined in an if",
    ),
    case(
        """
        def run(a):
            for _ in range(3):
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = 1.0

                wp.launch(scale, dim=1, inputs=[a])
        """,
        "inside a loop",
        "defined in a loop that it does not capture",
    ),
    case(
        """
        def run(a):
            count = 0

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            def again():
                nonlocal scale
                scale = None

            wp.launch(scale, dim=1, inputs=[a])
            again()
        """,
        "more than once",
        "rebound through nonlocal",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            wp.launch(scale, dim=1, inputs=[a])
            del scale
        """,
        "deletes",
        "deleted later",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            wp.launch(scale, dim=1, inputs=[a])

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 2.0

            wp.launch(scale, dim=1, inputs=[a])
        """,
        "more than once",
        "name defined twice",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            wp.launch(scale, dim=1, inputs=[a])
            return scale.module.name
        """,
        "looks at this very kernel object",
        "module read afterwards",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale.adj, scale.key, scale.options
        """,
        "looks at this very kernel object",
        "adj, key and options read afterwards",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale, sorted(locals())
        """,
        "calls `locals`",
        "locals() in the function",
    ),
    case(
        """
        def run(a, text):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            exec(text)
            return scale
        """,
        "calls `exec`",
        "exec in the function",
    ),
    case(
        """
        import inspect


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            print(inspect.currentframe().f_lineno)
            return scale
        """,
        "looks at its own text",
        "inspect in the function",
    ),
    case(
        """
        def run(a):
            from . import heavy

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = heavy.FACTOR

            return scale
        """,
        "imports itself",
        "late import just above the kernel",
    ),
    case(
        """
        import helpers


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = wp.static(helpers.factor())

            return scale
        """,
        "would run at import",
        "wp.static calls project code",
    ),
    case(
        """
        FACTOR = 1.0


        def set_factor(value):
            global FACTOR
            FACTOR = value


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = FACTOR

            return scale
        """,
        "rebinds (`global FACTOR`)",
        "global rebound through global",
    ),
    case(
        """
        FACTOR = 1.0
        FACTOR = 2.0


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = FACTOR

            return scale
        """,
        "binds more than once",
        "global bound twice",
    ),
    case(
        """
        FACTOR = 1.0
        FACTOR += 1.0


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = FACTOR

            return scale
        """,
        "binds more than once",
        "global augmented",
    ),
    case(
        """
        class Config:
            factor = 1.0


        def configure(value):
            Config.factor = value


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = wp.static(Config.factor)

            return scale
        """,
        "is assigned somewhere",
        "class attribute that is assigned",
    ),
    case(
        """
        SIZES = [1, 2]


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = float(wp.static(SIZES[0]))

            return scale
        """,
        "which can change",
        "wp.static reads a list",
    ),
    case(
        """
        try:
            import optional
        except ImportError:
            optional = None


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = optional.FACTOR

            return scale
        """,
        "binds more than once",
        "optional import",
    ),
    case(
        """
        if __debug__:
            FACTOR = 1.0


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = FACTOR

            return scale
        """,
        "only under a condition",
        "global bound under a condition",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = missing(1.0)

            return scale
        """,
        "does not define",
        "undefined name",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            @wp.overload
            def scale(a: wp.array(dtype=wp.float64)): ...

            return scale
        """,
        "more than once",
        "overload stub in the function",
    ),
    case(
        """
        from typing import Any


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=Any)):
                a[0] = a[0]

            wp.overload(scale, [wp.array(dtype=float)])
            return scale
        """,
        "`wp.overload` is called",
        "overload call in the function",
    ),
    case(
        """
        def run(a):
            @wp.func
            def double(x: float) -> float:
                return x * 2.0

            if GRADIENTS:
                @wp.func_grad(double)
                def adj_double(x: float, adj_ret: float):
                    wp.adjoint[x] += 2.0 * adj_ret

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = double(a[0])

            return scale
        """,
        "is an argument of the decorator of `adj_double`",
        "custom gradient under a condition",
    ),
    case(
        """
        import pytest


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            with pytest.raises(RuntimeError):
                wp.launch(scale, dim=1, inputs=[a])
        """,
        "where a failure is expected",
        "expected to fail",
    ),
    case(
        """
        def run(test, a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            @wp.kernel
            def other(a: wp.array(dtype=float)):
                a[0] = 2.0

            for kernel in (scale, other):
                with test.assertRaisesRegex(RuntimeError, "no"):
                    wp.launch(kernel, dim=1, inputs=[a])
        """,
        "expects a failure",
        "expected to fail, through a loop over kernels",
    ),
    case(
        """
        def refuses(test, kernel, a):
            with test.assertRaises(RuntimeError):
                wp.launch(kernel, dim=1, inputs=[a])


        def run(test, a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            refuses(test, scale, a)
        """,
        "`refuses` expects a failure",
        "expected to fail, in a helper",
    ),
    case(
        """
        def make():
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale


        def run(test, a):
            kernel = make()
            with test.assertRaises(RuntimeError):
                wp.launch(kernel, dim=1, inputs=[a])
        """,
        "a caller of `make` expects a failure",
        "expected to fail, by the caller",
    ),
    case(
        """
        def run(test, a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            test.assertRaises(RuntimeError, lambda: wp.launch(scale, dim=1, inputs=[a]))
        """,
        "fail",
        "expected to fail, by a lambda",
    ),
    case(
        """
        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            try:
                wp.launch(scale, dim=1, inputs=[a])
            except RuntimeError:
                pass
        """,
        "inside a `try`",
        "may fail on purpose",
    ),
    case(
        """
        def run(a):
            wp.set_module_options({"fast_math": True})

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            wp.launch(scale, dim=1, inputs=[a])
        """,
        "changes Warp's options",
        "options set around the kernel",
    ),
    case(
        """
        def run(a):
            wp.config.mode = "debug"

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            wp.launch(scale, dim=1, inputs=[a])
        """,
        "changes Warp's options",
        "config set around the kernel",
    ),
    case(
        """
        def logged(f):
            return f


        def run(a):
            @logged
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale
        """,
        "other decorators",
        "second decorator",
    ),
    case(
        """
        MODULE = wp.get_module("mine")


        def run(a):
            @wp.kernel(module=MODULE)
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale
        """,
        "made on purpose",
        "module object from an expression",
    ),
    case(
        """
        def run(a):
            @wp.func_native("return __fmul_rn(x, 2.0f);")
            def double(x: float) -> float: ...

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = double(a[0])

            return scale
        """,
        "neither a Warp function nor a struct",
        "nested native function",
    ),
    case(
        """
        @wp.func_native("return __fmul_rn(x, 2.0f);")
        def double(x: float) -> float: ...


        @wp.func
        def twice(x: float) -> float:
            return double(x)


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = twice(a[0])

            return scale
        """,
        "native code",
        "native function behind a function",
    ),
    case(
        """
        class Thing:
            def run(self, a):
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    __private = 1.0
                    a[0] = __private

                return scale
        """,
        "private name",
        "mangled name in a method",
    ),
    case(
        """
        def run(a):
            class Holder:
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = 1.0

            return Holder
        """,
        "class body",
        "class body inside a function",
    ),
    case(
        """
        def run(a):
            def helper():
                return 2.0

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = wp.static(helper())

            return scale
        """,
        "neither a Warp function nor a struct",
        "plain Python helper",
    ),
    case(
        """
        def build():
            wp.compile_aot_module(__name__)


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale
        """,
        "key is an interface",
        "built ahead of time",
    ),
    case(
        """
        def run(a):
            @wp.kernel(name="scale_it")
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale
        """,
        "has its key from `name=`",
        "key given by name",
    ),
    case(
        """
        def run(a):
            before = a

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            if scale is before:
                return None
            return scale
        """,
        "compared",
        "identity compared",
    ),
    case(
        """
        make = lambda: None


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype="Vec")):
                a[0] = 1.0

            return scale


        run(None)


        class Vec:
            pass
        """,
        "code in between may call",
        "needed name bound below a call",
    ),
]


@pytest.mark.parametrize(("source", "reason"), DECLINED)
def test_declined(tmp_path: Path, source: str, reason: str) -> None:
    root = make_project(tmp_path / "p", {"mod.py": HEADER + dedent(source)})
    result = edit(root)
    assert result.texts == {}
    (verdict,) = [verdict for verdict in result.verdicts if verdict.construct.name == "scale"][:1]
    assert verdict.stable, verdict.captures
    assert verdict.declined is not None
    assert reason in verdict.declined


# Specialised kernels: what is captured, and the words for it.
SPECIALISED = [
    case(
        """
        def make(factor):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = a[0] * factor

            return scale
        """,
        "`factor`, a parameter of `make`",
        "parameter",
    ),
    case(
        """
        def make(dtype):
            @wp.kernel
            def scale(a: wp.array(dtype=dtype)):
                a[0] = a[0]

            return scale
        """,
        "`dtype`, a parameter of `make`",
        "parameter in an annotation only",
    ),
    case(
        """
        def make(flag):
            @wp.kernel(enable_backward=flag)
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0

            return scale
        """,
        "`flag`, a parameter of `make`",
        "parameter in the decorator only",
    ),
    case(
        """
        def make(dtype):
            @wp.kernel
            def scale(a: "wp.array(dtype=dtype)"):
                a[0] = dtype(1.0)

            return scale
        """,
        "`dtype`, a parameter of `make`",
        "parameter in a string annotation",
    ),
    case(
        """
        class Solver:
            def make(self):
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = self.factor

                return scale
        """,
        "`self`",
        "self",
    ),
    case(
        """
        def make(n):
            size = n * 2

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = float(wp.static(size))

            return scale
        """,
        "`size`, which is computed from `n`",
        "computed local",
    ),
    case(
        """
        import os


        def make():
            size = int(os.environ["SIZE"])

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = float(size)

            return scale
        """,
        "`size`, which comes from a call",
        "local that looks constant",
    ),
    case(
        """
        def make():
            kernels = []
            for factor in range(3):
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = float(factor)

                kernels.append(scale)
            return kernels
        """,
        "`factor`, the variable of a loop",
        "loop variable",
    ),
    case(
        """
        def make(f):
            @wp.func
            def twice(x: float) -> float:
                return f(f(x))

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = twice(a[0])

            return scale
        """,
        "`f`, a parameter of `make`",
        "function-valued parameter behind a nested function",
    ),
    case(
        """
        def make():
            factor = 1.0
            factor = 2.0

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = factor

            return scale
        """,
        "`factor`, which `make` assigns more than once",
        "local assigned twice",
    ),
    case(
        """
        def make():
            factor = 1.0

            def change():
                nonlocal factor
                factor = 2.0

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = factor

            return scale, change
        """,
        "more than once",
        "local rebound through nonlocal",
    ),
    case(
        """
        def outer(factor):
            def make():
                @wp.kernel
                def scale(a: wp.array(dtype=float)):
                    a[0] = factor

                return scale

            return make
        """,
        "`factor`, a parameter of `outer`",
        "parameter of a function further out",
    ),
    case(
        """
        def make(values):
            return [wrap(value) for value in values]


        def wrap(value):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = value

            return scale
        """,
        "`value`, a parameter of `wrap`",
        "value of a comprehension",
    ),
]


@pytest.mark.parametrize(("source", "words"), SPECIALISED)
def test_specialised(tmp_path: Path, source: str, words: str) -> None:
    root = make_project(tmp_path / "p", {"mod.py": HEADER + dedent(source)})
    result = edit(root)
    assert result.texts == {}
    (verdict,) = result.verdicts
    assert not verdict.stable
    (finding,) = result.findings
    assert finding.code == "WF102"
    assert words in finding.message


# Nothing to say at all.
SILENT = [
    pytest.param(
        {"mod.py": "def kernel(f):\n    return f\n\n\ndef run():\n    @kernel\n    def scale(a): ...\n"}, id="no Warp"
    ),
    pytest.param(
        {
            "mod.py": HEADER
            + dedent(
                """
                def make(n):
                    @wp.kernel
                    def scale(a: wp.array(dtype=float)):
                        a[0] = 1.0

                    return scale


                KERNELS = {n: make(n) for n in (1, 2)}
                """
            )
        },
        id="only called at import",
    ),
    pytest.param(
        {
            "mod.py": HEADER
            + dedent(
                """
                def kernel(f):
                    return wp.kernel(f, module=wp.get_module(f.__name__))


                def run():
                    @kernel
                    def scale(a: wp.array(dtype=float)):
                        a[0] = 1.0

                    return scale
                """
            )
        },
        id="wrapper decorator",
    ),
    pytest.param(
        {
            "mod.py": HEADER
            + dedent(
                """
                OPTIONS = {"module": "unique"}


                def run():
                    @wp.kernel(**OPTIONS)
                    def scale(a: wp.array(dtype=float)):
                        a[0] = 1.0

                    return scale
                """
            )
        },
        id="options hidden in a dict",
    ),
    pytest.param(
        {
            "mod.py": HEADER
            + dedent(
                """
                class Holder:
                    @staticmethod
                    @wp.kernel
                    def scale(a: wp.array(dtype=float)):
                        a[0] = 1.0
                """
            )
        },
        id="kernel in a class body at module scope",
    ),
    pytest.param(
        {
            "mod.py": HEADER
            + dedent(
                """
                def make(factor):
                    @wp.kernel(module="unique")
                    def scale(a: wp.array(dtype=float)):
                        a[0] = factor

                    return scale
                """
            )
        },
        id="specialised and unique",
    ),
]


@pytest.mark.parametrize("files", SILENT)
def test_silent(tmp_path: Path, files: dict[str, str]) -> None:
    result = edit(make_project(tmp_path / "p", files))
    assert (result.texts, result.findings) == ({}, ())


FUTURE = "from __future__ import annotations\n\n"

# With annotations kept as text: what Warp can't evaluate raises where the function is called, and goes on doing so.
UNSEEN = {
    "a parameter's type": """
        def make():
            Vec = wp.constant(3)

            @wp.kernel
            def scale(a: wp.array(dtype=Vec)):
                a[0] = 2.0

            return scale
        """,
    "a struct of the function": """
        def make():
            @wp.struct
            class Pair:
                x: float

            @wp.kernel
            def scale(a: wp.array(dtype=Pair)):
                a[0].x = 2.0

            return scale
        """,
    "the result of a function": """
        def make():
            @wp.struct
            class Pair:
                x: float

            @wp.func
            def half(x: float) -> Pair:
                return x * 0.5

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = half(a[0])

            return scale
        """,
    "a field of a struct": """
        def make():
            @wp.struct
            class Inner:
                x: float

            @wp.struct
            class Pair:
                x: Inner

            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                pair = Pair()
                a[0] = pair.x.x

            return scale
        """,
}


@pytest.mark.parametrize("source", UNSEEN.values(), ids=UNSEEN)
def test_annotation_that_warp_can_t_evaluate(tmp_path: Path, source: str) -> None:
    result = edit(make_project(tmp_path / "p", {"mod.py": FUTURE + HEADER + dedent(source)}))
    (verdict,) = result.verdicts
    assert (result.texts, verdict.edits) == ({}, ())
    assert verdict.declined is not None and "Warp can't evaluate that" in verdict.declined


def test_what_one_hoist_brings_to_module_scope_mends_no_annotation_of_another(tmp_path: Path) -> None:
    """``Pair`` moves for ``good``; ``bad``, which raises today, would find it under its own name."""
    source = (
        FUTURE
        + HEADER
        + dedent(
            """
        def make():
            @wp.struct
            class Pair:
                x: float

            @wp.kernel
            def good(a: wp.array(dtype=Pair)):
                pair = Pair()
                a[0] = pair

            return good


        def other():
            @wp.struct
            class Pair:
                x: float

            @wp.kernel
            def bad(a: wp.array(dtype=Pair)):
                a[0].x = 2.0

            return bad
        """
        )
    )
    result = edit(make_project(tmp_path / "p", {"mod.py": source}))
    new = result.texts["mod.py"]
    assert "class make_Pair:" in new and "def good(a: wp.array(dtype=make_Pair)):\n    pair = make_Pair()" in new
    assert new[new.index("def other()") :] == source[source.index("def other()") :]


def test_annotation_that_means_module_scope(tmp_path: Path) -> None:
    """The local of that name is another thing: it is neither taken along nor written in its place."""
    source = (
        FUTURE
        + HEADER
        + dedent(
            """
        Vec = wp.vec3


        def make():
            Vec = 4.0

            @wp.kernel
            def scale(a: wp.array(dtype=Vec)):
                a[0] = a[0] * 2.0

            return scale
        """
        )
    )
    result = edit(make_project(tmp_path / "p", {"mod.py": source}))
    assert "@wp.kernel\ndef scale(a: wp.array(dtype=Vec)):" in result.texts["mod.py"]
    assert "    Vec = 4.0\n" in result.texts["mod.py"]


def test_tests_are_left_by_default(tmp_path: Path) -> None:
    files = {"tests/test_mod.py": HEADER + "def run():" + KERNEL + "\n    return scale\n"}
    root = make_project(tmp_path / "p", files)
    assert edit(root).texts == {}
    assert set(edit(root, include_tests=True).texts) == {"tests/test_mod.py"}


def test_global_assigned_from_another_file(tmp_path: Path) -> None:
    source = HEADER + dedent(
        """
        FACTOR = 1.0


        def run(a):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = FACTOR

            return scale
        """
    )
    other = "import pkg.mod\n\n\ndef configure():\n    pkg.mod.FACTOR = 2.0\n"
    root = make_project(tmp_path / "p", {"pkg/__init__.py": "", "pkg/mod.py": source, "pkg/other.py": other})
    (verdict,) = edit(root).verdicts
    assert verdict.declined is not None
    assert "assigns from outside" in verdict.declined


def test_message_names_two_calls_that_differ(tmp_path: Path) -> None:
    source = HEADER + dedent(
        """
        def make(factor):
            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = factor

            return scale
        """
    )
    caller = "from mod import make\n\n\ndef main():\n    make(2.0)\n    make(factor=3.0)\n"
    root = make_project(tmp_path / "p", {"mod.py": source, "app.py": "import warp\n" + caller})
    (finding,) = edit(root).findings
    assert "`scale` captures `factor`, which differs between calls at app.py:6 and app.py:7" in finding.message
