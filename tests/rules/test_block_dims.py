"""WF602: one module at several block dims, by the module of the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import findings_of

from warpfix.findings import Finding

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
