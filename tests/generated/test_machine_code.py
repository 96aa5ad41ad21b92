"""Machine code out of real cubins and PTX: what moves or is renamed is equal, what is another is not."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from support import clean_environment

from warpfix.generated.cubin import NotACubin, cubin_code
from warpfix.generated.ptx import ptx_code

KERNELS = '''\
import warp as wp


@wp.func_native("""
    printf("x is %f", x);
""")
def show(x: float): ...


@wp.func(inline=False)
def slow(x: float, n: int):
    s = float(0.0)
    for i in range(n):
        s += wp.sin(x * float(i))
    return s


@wp.kernel
def trigonometry(x: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = wp.pow(wp.sin(x[i]), wp.float64(1.7))


@wp.kernel(enable_backward=False)
def printing(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    show(x[i])
    x[i] = x[n] * 2.0


@wp.kernel(enable_backward=False, launch_bounds=128)
def calling(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = slow(x[i], n) + slow(x[i + 1], n + 2)
    wp.printf("%d\\n", i)
'''
MORE = """

@wp.kernel(enable_backward=False)
def another_that_prints(x: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = wp.cos(x[i])
    wp.printf("another %d of %d\\n", i, 7)
    assert x[i] > wp.float64(0.0)
"""
MOVED = KERNELS.replace("def trigonometry", "# in other words\ndef sine_and_power").replace(
    "i = wp.tid()", "i  =  wp.tid()"
)
VARIANTS = {
    "one": KERNELS,
    "with_more": KERNELS + MORE,
    "a_longer_module_name": MOVED,
    "constant": KERNELS.replace("1.7", "1.8"),
    "text": KERNELS.replace("x is", "x was"),
    "called": KERNELS.replace("float(0.0)", "float(0.5)"),
    "bounds": KERNELS.replace("launch_bounds=128", "launch_bounds=512"),
}
BUILD = """\
import importlib, json, sys
import warp as wp
for name, arch, ptx, options in json.loads(sys.argv[1]):
    module = wp.get_module(importlib.import_module(name).__name__)
    module.options.update(options)
    module.mark_modified()
    wp.compile_aot_module(module, arch=arch, module_dir=f"{name}-{arch}-{ptx}-{len(options)}", use_ptx=ptx)
"""


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Variant, architecture and kind to kernel key to its entries' digests, from real NVRTC without a GPU."""
    folder = tmp_path_factory.mktemp("machine")
    jobs: list[tuple[str, int, bool, dict[str, object]]] = []
    for name, text in VARIANTS.items():
        (folder / f"{name}.py").write_text(text)
        jobs.append((name, 90, False, {}))
    jobs += [(name, arch, False, {}) for name in ("one", "with_more") for arch in (75, 100)]
    jobs += [(name, 90, True, {}) for name in ("one", "with_more", "a_longer_module_name", "constant", "text")]
    jobs += [("one", 90, False, {"fast_math": True}), ("one", 90, False, {"lineinfo": True, "fast_math": False})]
    jobs += [("one", 90, True, {"lineinfo": True})]
    environment = clean_environment(WARP_CACHE_PATH=str(folder / "cache"), PYTHONPATH=str(folder))
    command = [sys.executable, "-c", BUILD, json.dumps(jobs)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {}
    for name, arch, ptx, options in jobs:
        place = folder / f"{name}-{arch}-{ptx}-{len(options)}"
        (file,) = place.glob("*.ptx" if ptx else "*.cubin")
        data = file.read_bytes()
        kernels = ptx_code(data.decode("utf-8", "replace")) if ptx else cubin_code(data)
        key = f"{name} {'ptx' if ptx else arch}" + "".join(f" {option}" for option in list(options)[:1])
        found[key] = {kernel.rpartition("_")[0]: entries for kernel, entries in kernels.items()}
    return found


pytestmark = pytest.mark.warp


def test_entries(codes: Mapping[str, Mapping[str, Mapping[str, str]]]) -> None:
    for name in ("one 90", "one ptx"):
        assert set(codes[name]) == {"trigonometry", "printing", "calling"}
        assert set(codes[name]["trigonometry"]) == {"forward", "backward"}
        assert set(codes[name]["printing"]) == {"forward"}
        digests = [digest for entries in codes[name].values() for digest in entries.values()]
        assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("kind", ["90", "75", "100", "ptx"])
def test_other_kernels_of_the_module_change_nothing(
    codes: Mapping[str, Mapping[str, Mapping[str, str]]], kind: str
) -> None:
    """Strings and tables that the module shares stand elsewhere, and are the same."""
    one, more = codes[f"one {kind}"], codes[f"with_more {kind}"]
    assert {name: more[name] for name in one} == one


@pytest.mark.parametrize("kind", ["90", "ptx"])
def test_another_name_and_another_module_change_nothing(
    codes: Mapping[str, Mapping[str, Mapping[str, str]]], kind: str
) -> None:
    one, moved = codes[f"one {kind}"], codes[f"a_longer_module_name {kind}"]
    assert moved["sine_and_power"] == one["trigonometry"]
    assert moved["printing"] == one["printing"]
    assert moved["calling"] == one["calling"]


@pytest.mark.parametrize(
    ("variant", "kernel"),
    [("constant", "trigonometry"), ("text", "printing"), ("called", "calling"), ("bounds", "calling")],
)
def test_what_is_another_differs(
    codes: Mapping[str, Mapping[str, Mapping[str, str]]], variant: str, kernel: str
) -> None:
    one, other = codes["one 90"], codes[f"{variant} 90"]
    assert {name for name in one if one[name]["forward"] != other[name]["forward"]} == {kernel}


@pytest.mark.parametrize(("variant", "kernel"), [("constant", "trigonometry"), ("text", "printing")])
def test_what_is_another_differs_in_ptx(
    codes: Mapping[str, Mapping[str, Mapping[str, str]]], variant: str, kernel: str
) -> None:
    one, other = codes["one ptx"], codes[f"{variant} ptx"]
    assert {name for name in one if one[name]["forward"] != other[name]["forward"]} == {kernel}


def test_options(codes: Mapping[str, Mapping[str, Mapping[str, str]]]) -> None:
    """Line numbers are no code; fast_math is."""
    assert codes["one 90 lineinfo"] == codes["one 90"]
    assert codes["one ptx lineinfo"] == codes["one ptx"]
    assert codes["one 90 fast_math"]["calling"] != codes["one 90"]["calling"]


@pytest.mark.parametrize("data", [b"", b"not an ELF file", b"\x7fELF\x02" + bytes(60), b"\x7fELF\x01" + bytes(80)])
def test_no_cubin(data: bytes) -> None:
    with pytest.raises(NotACubin):
        cubin_code(data)


def test_a_cubin_that_was_cut(tmp_path: Path) -> None:
    header = bytearray(64)
    header[:5] = b"\x7fELF\x02"
    struct.pack_into("<Q", header, 0x28, 4096)
    struct.pack_into("<HHH", header, 0x3A, 64, 3, 1)
    with pytest.raises(NotACubin):
        cubin_code(bytes(header))
