"""Digests of generated code: what must not change them, and what must. Over sources that real Warp generated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warpfix.generated.code import KernelCode, kernel_code

PROGRAM = """\
import sys
import warp as wp


@wp.struct
class Pair:
    a: float
    b: wp.vec3


@wp.func
def gain(x: float, k: int):
    return x * 2.0 + float(k)


@wp.func
def lift(x: float, k: int):
    return x * 2.0 - float(k)


@wp.kernel
def hoisted(x: wp.array(dtype=float), p: Pair):
    i = wp.tid()
    x[i] = gain(x[i], 3) + p.a
    x[i] = wp.sin(x[i])


def make():
    @wp.struct
    class Both:
        a: float
        b: wp.vec3

    @wp.func
    def more(x: float, k: int):
        return x * 2.0 + float(k)

    @wp.kernel
    def inner(x: wp.array(dtype=float), p: Both):
        # another comment, "with a quote" and /* more
        i = wp.tid()
        x[i] = more(x[i], 3) + p.a
        x[i] = wp.sin(x[i])

    return inner


@wp.kernel
def constant(x: wp.array(dtype=float), p: Pair):
    i = wp.tid()
    x[i] = gain(x[i], 4) + p.a
    x[i] = wp.sin(x[i])


@wp.kernel
def swapped(x: wp.array(dtype=float), p: Pair):
    i = wp.tid()
    x[i] = wp.sin(x[i])
    x[i] = gain(x[i], 3) + p.a


@wp.kernel
def other_function(x: wp.array(dtype=float), p: Pair):
    i = wp.tid()
    x[i] = lift(x[i], 3) + p.a
    x[i] = wp.sin(x[i])


@wp.kernel
def other_builtin(x: wp.array(dtype=float), p: Pair):
    i = wp.tid()
    x[i] = gain(x[i], 3) + p.a
    x[i] = wp.cos(x[i])


@wp.kernel
def other_type(x: wp.array(dtype=wp.float64), p: Pair):
    i = wp.tid()
    x[i] = wp.sin(x[i])


@wp.kernel(enable_backward=False)
def no_backward(x: wp.array(dtype=float), p: Pair):
    i = wp.tid()
    x[i] = gain(x[i], 3) + p.a
    x[i] = wp.sin(x[i])


@wp.kernel
def prints_one():
    wp.printf("one // not a comment\\n")


@wp.kernel
def prints_two():
    wp.printf("two // not a comment\\n")


inner = make()
with wp.ScopedDevice("cpu"):
    wp.launch(hoisted, dim=1, inputs=[wp.zeros(1), Pair()])

    @wp.kernel
    def alone(x: wp.array(dtype=float)):
        x[0] = gain(x[0], 3)

    # The same function in a module with other company: only the first of these kernels has an adjoint.
    wp.launch(alone, dim=1, inputs=[wp.zeros(1)])
if hasattr(wp, "compile_aot_module"):
    try:
        wp.compile_aot_module(wp.get_module(__name__), arch=80, module_dir=sys.argv[1])
    except Exception as error:
        print("no CUDA code:", error)
"""


def by_name(paths: list[Path]) -> list[dict[str, KernelCode]]:
    sources = [kernel_code(path.read_text()) for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns)]
    return [{name.rpartition("_")[0]: code for name, code in source.items()} for source in sources]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, KernelCode]]]:
    folder = tmp_path_factory.mktemp("generated")
    (folder / "program.py").write_text(PROGRAM)
    environment = dict(os.environ, WARP_CACHE_PATH=str(folder / "cache"), CUDA_CACHE_PATH=str(folder / "cuda"))
    subprocess.run([sys.executable, "program.py", str(folder / "aot")], cwd=folder, env=environment, check=True)
    return {
        "cpu": by_name(list((folder / "cache").rglob("*.cpp"))),
        "cuda": by_name(list((folder / "aot").rglob("*.cu"))),
    }


@pytest.fixture(params=["cpu", "cuda"])
def codes(request: pytest.FixtureRequest, generated: dict[str, list[dict[str, KernelCode]]]) -> dict[str, KernelCode]:
    if not generated[request.param]:
        pytest.skip("this Warp generates no CUDA code without a driver")
    return generated[request.param][0]


@pytest.mark.warp
class TestGenerated:
    """Over one program, for the CPU and for CUDA."""

    def test_every_kernel_has_its_code(self, codes: dict[str, KernelCode]) -> None:
        assert len(codes) >= 10
        assert all(code.forward for code in codes.values())
        assert {name for name, code in codes.items() if not code.backward} == {"no_backward"}

    def test_a_closure_equals_what_it_is_hoisted_to(self, codes: dict[str, KernelCode]) -> None:
        assert codes["make__locals__inner"] == codes["hoisted"]

    @pytest.mark.parametrize("name", ["constant", "swapped", "other_function", "other_builtin", "other_type"])
    def test_another_kernel_is_told(self, codes: dict[str, KernelCode], name: str) -> None:
        assert codes[name].forward != codes["hoisted"].forward
        assert codes[name].backward != codes["hoisted"].backward

    def test_strings_count(self, codes: dict[str, KernelCode]) -> None:
        assert codes["prints_one"].forward != codes["prints_two"].forward

    def test_without_backward_the_forward_code_is_the_same(self, codes: dict[str, KernelCode]) -> None:
        assert codes["no_backward"] == KernelCode(codes["hoisted"].forward, "")

    def test_other_kernels_of_the_module_do_not_matter(self, generated: dict[str, list[dict[str, KernelCode]]]) -> None:
        first, second = generated["cpu"]
        assert "alone" in second and "alone" not in first
        assert {name: second[name] for name in first} == first


# Without Warp.

KERNEL = """\
static wp::float32 {function}(wp::float32 var_x) {{ return wp::mul(var_x, {constant}); }}
struct wp_args_{name}_12345678 {{ wp::array_t<wp::float32> x; }};
static void {name}_12345678_cpu_kernel_forward(wp_args_{name}_12345678 *a) {{
{line}    {comment}
    var_0 = {function}(a->x);
}}
extern "C" {{
WP_API void {name}_12345678_cpu_forward(wp_args_{name}_12345678 *a) {{ {name}_12345678_cpu_kernel_forward(a); }}
}} // extern C
"""
DEFAULTS = {"name": "scale", "function": "twice_0", "constant": "2.0", "comment": "", "line": ""}


def forward(**changes: str) -> str:
    source = KERNEL.format(**{**DEFAULTS, **changes})
    return next(iter(kernel_code(source).values())).forward


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"name": "make__locals__scale"}, id="key"),
        pytest.param({"function": "make__locals__twice_0"}, id="function"),
        pytest.param({"comment": "// x = 3;"}, id="line comment"),
        pytest.param({"comment": "/* x\n * = 3; */"}, id="block comment"),
        pytest.param({"line": '#line 12 "a.py"\n'}, id="#line"),
        pytest.param({"comment": "\t\n\n"}, id="blanks"),
    ],
)
def test_what_does_not_count(changes: dict[str, str]) -> None:
    assert forward(**changes) == forward()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"constant": "2.5"}, id="constant"),
        pytest.param({"constant": "2.0f"}, id="suffix"),
        pytest.param({"constant": "1e-3"}, id="exponent"),
        pytest.param({"comment": "var_1 = 3;"}, id="statement"),
        pytest.param({"line": "#if X\n"}, id="preprocessor inside a function"),
    ],
)
def test_what_counts(changes: dict[str, str]) -> None:
    assert forward(**changes) != forward()


def test_a_source_without_kernels() -> None:
    assert kernel_code("") == {}
    assert kernel_code("#define A 1\nstruct S { int x; };\n") == {}


def test_a_cut_source_does_not_raise() -> None:
    whole = KERNEL.format(**DEFAULTS)
    for end in range(0, len(whole), 7):
        kernel_code(whole[:end])
