"""WF602: one module at several block dims, by the module of the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from profile_support import Built, Launched, profile, profiled
from scan_support import apply_fix, findings_of

from warpfix.findings import Applicability, Finding
from warpfix.measure.profile import Profile

HEAD = """\
import warp as wp

N = 64

@wp.kernel
def a(v: wp.array(dtype=float)):
    v[wp.tid()] = 1.0

@wp.kernel
def b(v: wp.array(dtype=float)):
    v[wp.tid()] = 2.0

@wp.kernel(module="unique")
def alone(v: wp.array(dtype=float)):
    v[wp.tid()] = 3.0

@wp.kernel(module="tiles")
def named(v: wp.array(dtype=float)):
    v[wp.tid()] = 3.0

"""


def body(*lines: str) -> str:
    return "def main(v, device, flag):\n" + "".join(f"    {line}\n" for line in lines)


def launch(kernel: str, more: str = "") -> str:
    return f"wp.launch({kernel}, dim=8, inputs=[v]{more})"


def found(tmp_path: Path, source: str, **more: str) -> list[Finding]:
    files = {name + ".py": text for name, text in more.items()}
    return findings_of(tmp_path, {"app.py": HEAD + source, **files}, select=("WF602",))


SILENT = [
    pytest.param(body(launch("a"), launch("b")), id="both with the default"),
    pytest.param(body(launch("a"), launch("b", ", block_dim=256")), id="the default in words"),
    pytest.param(body(launch("a", ", block_dim=64"), launch("b", ", block_dim=N")), id="one number, two spellings"),
    pytest.param(body(launch("a"), launch("alone", ", block_dim=64")), id="a unique kernel"),
    pytest.param(body(launch("a"), launch("named", ", block_dim=64")), id="a module of its own"),
    pytest.param(
        body(launch("a", ", device='cpu'"), launch("b", ", block_dim=64, device='cpu'")), id="the CPU has one block dim"
    ),
    pytest.param(
        body(launch("a", ", device='cpu'"), launch("b", ", block_dim=64")), id="only one of them not on the CPU"
    ),
    pytest.param(
        body("if flag:", "    " + launch("a", ", block_dim=64"), "else:", "    " + launch("a", ", block_dim=128")),
        id="exclusive branches",
    ),
    pytest.param(body(launch("a"), launch("b", ", block_dim=v.block")), id="chosen at run time"),
    pytest.param(body(launch("a"), "other.launch(b, dim=1, block_dim=64)"), id="another library"),
    pytest.param(body(launch("a"), "wp.launch(v.kernel, dim=1, block_dim=64)"), id="a kernel that can't be read"),
    pytest.param(body(launch("a"), "wp.launch(b, dim=1, **v.options)"), id="options by a star"),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


def test_launches_of_tests_do_not_count(tmp_path: Path) -> None:
    test = "import warp as wp\nimport app\n" + body(launch("app.b", ", block_dim=64"))
    assert findings_of(tmp_path, {"app.py": HEAD + body(launch("a")), "tests/test_b.py": test}, select=("WF602",)) == []


REPORTED = [
    pytest.param(body(launch("a"), launch("b", ", block_dim=64")), {"64": 1, "256": 1}, True, id="default and literal"),
    pytest.param(
        body(launch("a"), "wp.launch_tiled(b, dim=[8], inputs=[v], block_dim=N)"), {"64": 1, "256": 1}, True, id="tiled"
    ),
    pytest.param(
        body(launch("a"), launch("b"), launch("a", ", block_dim=32")), {"32": 1, "256": 2}, True, id="one kernel, two"
    ),
    pytest.param(
        "wp.config.enable_cpu_blocks = True\n"
        + body(launch("a", ", device='cpu'"), launch("b", ", block_dim=64, device='cpu'")),
        {"64": 1, "256": 1},
        True,
        id="the CPU with blocks",
    ),
    pytest.param(
        body(launch("a"), launch("b", ", block_dim=64"), launch("b", ", block_dim=v.n")),
        {"64": 1, "256": 1},
        False,
        id="and one that can't be read",
    ),
]


@pytest.mark.parametrize(("source", "dims", "read"), REPORTED)
def test_reported(tmp_path: Path, source: str, dims: dict[str, int], read: bool) -> None:
    (finding,) = found(tmp_path, source)
    assert (finding.data["block_dims"], finding.data["every_launch_read"]) == (dims, read)
    assert finding.fix is None
    assert "64" in finding.message or "32" in finding.message


def test_by_the_module_of_the_kernel(tmp_path: Path) -> None:
    one = "import warp as wp\nimport app\n" + body(launch("app.a"))
    two = "import warp as wp\nimport app\n" + body(launch("app.b", ", block_dim=64"))
    (finding,) = found(tmp_path, "", one=one, two=two)
    assert finding.path.endswith("two.py") and finding.data["module"] == "app"


# ---- the split, from a run

SPREAD = """\
import warp as wp


@wp.kernel
def a(v: wp.array(dtype=float)):
    v[wp.tid()] += 1.0


@wp.kernel
def b(v: wp.array(dtype=float)):
    v[wp.tid()] *= 2.0


@wp.kernel(enable_backward=False)
def c(v: wp.array(dtype=float)):
    v[wp.tid()] -= 1.0


def main(v, size):
    wp.launch(a, dim=128, inputs=[v], block_dim=32)
    wp.launch(b, dim=128, inputs=[v], block_dim=64)
    wp.launch(c, dim=128, inputs=[v], block_dim=64)


if __name__ == "__main__":
    main(None, 1)
"""


def spread_of(root: Path, launched: dict[str, tuple[int, ...]], target: str = "sm_90") -> Profile:
    """A run that built the module with all of its kernels for each block_dim of its launches."""
    dims = sorted({dim for some in launched.values() for dim in some})
    loads = [Built("__main__", ["a", "b", "c"], block_dim=dim, target=target) for dim in dims]
    launches = [Launched(name, dims.index(dim), block_dim=dim) for name, some in launched.items() for dim in some]
    return profile(str(root / "app.py"), loads, launches)


def split(root: Path, source: str, run: Profile, **more: str) -> Finding:
    files = {name + ".py": text for name, text in more.items()}
    (finding,) = profiled(root, {"app.py": source, **files}, run, select=("WF602",), warp_min="1.19")
    return finding


USUAL = {"a": (32,), "b": (64,), "c": (64,)}


def test_the_fewer_get_a_module_of_their_own(tmp_path: Path) -> None:
    finding = split(tmp_path, SPREAD, spread_of(tmp_path, USUAL))
    assert finding.fix is not None and finding.fix.applicability is Applicability.MEASURED
    (text,) = apply_fix(finding).values()
    assert text == SPREAD.replace("@wp.kernel\ndef a", '@wp.kernel(module="app.block32")\ndef a')


def test_kernels_with_a_run_time_block_dim_keep_the_module(tmp_path: Path) -> None:
    source = SPREAD.replace("inputs=[v], block_dim=32", "inputs=[v], block_dim=size")
    source = source.replace("wp.launch(c, dim=128, inputs=[v], block_dim=64)", "wp.launch(c, dim=128, inputs=[v])")
    finding = split(tmp_path, source, spread_of(tmp_path, {"a": (32,), "b": (64,), "c": (256,)}))
    (text,) = apply_fix(finding).values()
    assert '@wp.kernel(module="app.block64")\ndef b' in text
    assert '@wp.kernel(enable_backward=False, module="app.block256")\ndef c' in text
    assert "@wp.kernel\ndef a" in text


def test_on_cuda_no_block_dim_is_256(tmp_path: Path) -> None:
    source = SPREAD.replace("block_dim=32", "block_dim=256").replace(
        "wp.launch(c, dim=128, inputs=[v], block_dim=64)", "wp.launch(c, dim=128, inputs=[v])"
    )
    finding = split(tmp_path, source, spread_of(tmp_path, {"a": (256,), "b": (64,), "c": (256,)}))
    (text,) = apply_fix(finding).values()
    assert text.count("module=") == 1 and '@wp.kernel(module="app.block64")\ndef b' in text


def test_library_code_is_asked(tmp_path: Path) -> None:
    source = SPREAD.partition("\n\nif __name__")[0] + "\n"
    finding = split(tmp_path, source, spread_of(tmp_path, USUAL))
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK


UNSPLIT = [
    pytest.param(SPREAD, {"a": (1,), "b": (1,), "c": (1,)}, "for one block dim only", id="one build, as on the CPU"),
    pytest.param(
        SPREAD.replace("as wp\n", 'as wp\n\nwp.set_module_options({"fast_math": True})\n'),
        USUAL,
        "module options are set",
        id="options of the module",
    ),
    pytest.param(
        SPREAD.replace("\n\n@wp.kernel\ndef b", "\n\nwp.config.max_unroll = 4\n\n\n@wp.kernel\ndef b"),
        USUAL,
        "between the kernels",
        id="an option between the kernels",
    ),
    pytest.param(
        SPREAD.replace("@wp.kernel\ndef a", "@traced\n@wp.kernel\ndef a"),
        USUAL,
        "other decorators",
        id="other decorators",
    ),
    pytest.param(
        SPREAD.replace(
            "def main(v, size):\n", "def main(v, size):\n    wp.launch(b, dim=1, inputs=[v], block_dim=32)\n"
        ),
        {"a": (32,), "b": (32, 64), "c": (64,)},
        "would build 4 modules instead of 2",
        id="one kernel at two block dims",
    ),
]


@pytest.mark.parametrize(("source", "launched", "reason"), UNSPLIT)
def test_not_split(tmp_path: Path, source: str, launched: dict[str, tuple[int, ...]], reason: str) -> None:
    finding = split(tmp_path, source, spread_of(tmp_path, launched))
    assert finding.fix is None and reason in str(finding.declined)


def test_a_kernel_that_is_handed_on_may_be_launched_with_any_block_dim(tmp_path: Path) -> None:
    source = SPREAD.replace("def main(v, size):\n", "def main(v, size):\n    register(a)\n")
    finding = split(tmp_path, source, spread_of(tmp_path, USUAL))
    (text,) = apply_fix(finding).values()
    # It keeps the file's own module to itself.
    assert "@wp.kernel\ndef a" in text and text.count('module="app.block64"') == 2


def test_what_the_run_contradicts_is_not_stable(tmp_path: Path) -> None:
    finding = split(tmp_path, SPREAD, spread_of(tmp_path, {"a": (32,), "b": (64, 128), "c": (64,)}))
    assert finding.fix is None and "some kernels take several block dims" in str(finding.declined)


def test_an_old_warp_has_no_named_modules(tmp_path: Path) -> None:
    files = {"app.py": SPREAD, "requirements.txt": "warp-lang>=1.8\n"}
    (finding,) = profiled(tmp_path, files, spread_of(tmp_path, USUAL), select=("WF602",))
    assert finding.fix is None and "needs Warp 1.10" in str(finding.declined)
