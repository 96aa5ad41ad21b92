"""WF601: generic kernels with several types in the source, and all the ways in which that is no fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import findings_of

from warpfix.findings import Finding

HEAD = """\
from typing import Any

import warp as wp

@wp.kernel
def scale(v: wp.array(dtype=Any), s: Any):
    v[wp.tid()] = v[wp.tid()] * s

@wp.kernel
def plain(v: wp.array(dtype=float)):
    v[wp.tid()] = 1.0

"""


def body(*lines: str) -> str:
    return "def main(n, other):\n" + "".join(f"    {line}\n" for line in lines)


F32 = "wp.launch(scale, dim=4, inputs=[wp.ones(4, dtype=wp.float32), wp.float32(2.0)])"
F64 = "wp.launch(scale, dim=4, inputs=[wp.ones(4, dtype=wp.float64), wp.float64(2.0)])"
LOOP = "for t in (wp.float32, wp.float64):"


def found(tmp_path: Path, source: str, **more: str) -> list[Finding]:
    files = {name + ".py": text for name, text in more.items()}
    return findings_of(tmp_path, {"app.py": HEAD + source, **files}, select=("WF601",))


SILENT = [
    pytest.param(body(F32), id="one type"),
    pytest.param(body(F32, F32), id="one type twice"),
    pytest.param(body(F32, "wp.launch(scale, dim=4, inputs=[other, n])"), id="the other one can't be read"),
    pytest.param(body("if n:", "    " + F32, "else:", "    " + F64), id="exclusive branches"),
    pytest.param(body(F32) + body(F64).replace("main", "never"), id="two functions, which may not both run"),
    pytest.param("wp.overload(scale, [wp.array(dtype=wp.float64), wp.float64])\n" + body(F32, F64), id="registered"),
    pytest.param(
        LOOP + "\n    wp.overload(scale, [wp.array(dtype=t), t])\n" + body(F32, F64), id="in a loop over types"
    ),
    pytest.param(
        "for k in ALL:\n    wp.overload(k, [wp.array(dtype=float), float])\n" + body(F32, F64),
        id="by a loop over kernels",
    ),
    pytest.param("wp.overload(TABLE['scale'], [float])\n" + body(F32, F64), id="by a table"),
    pytest.param(
        "class R:\n    def go(self):\n        wp.overload(self.kernel, [float])\n" + body(F32, F64), id="by a class"
    ),
    pytest.param(
        "@wp.overload\ndef scale(v: wp.array(dtype=wp.float64), s: wp.float64): ...\n" + body(F32, F64), id="a stub"
    ),
    pytest.param(body("wp.launch(plain, dim=4, inputs=[wp.ones(4)])", F32), id="a kernel that is not generic"),
    pytest.param(body("other.launch(scale, dim=4, inputs=[1.0, 2.0])", F32), id="another library"),
    pytest.param(body(F32, "wp.launch(scale, dim=4, inputs=[*other])"), id="a star"),
    pytest.param(body(F32, "wp.launch(scale, dim=4, inputs=other)"), id="a list that can't be read"),
    pytest.param(
        body("for t in other:", "    v = wp.ones(4, dtype=t)", "    wp.launch(scale, dim=4, inputs=[v, n])"),
        id="types from outside",
    ),
    pytest.param(
        body("k = wp.launch", F32, "wp.launch(scale, dim=4, inputs=[wp.ones(4), 2.0])"), id="float32 in two spellings"
    ),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


REPORTED = [
    pytest.param(body(F32, F64), 2, id="two launches"),
    pytest.param("if __name__ == '__main__':\n    " + F32 + "\n    " + F64 + "\n", 2, id="in the main block"),
    pytest.param(
        body("v = wp.zeros(4, dtype=wp.vec3)", F32, "wp.launch(scale, dim=4, inputs=[v, 2.0])"),
        2,
        id="a vector, by a name",
    ),
    pytest.param(body(F32, "wp.launch(scale, dim=4, inputs=[wp.ones(4, dtype=int), 2])"), 2, id="int"),
    pytest.param(
        body(LOOP, "    v = wp.ones(4, dtype=t)", "    wp.launch(scale, dim=4, inputs=[v, 2.0])"),
        2,
        id="a loop over types",
    ),
    pytest.param(
        body(
            "for t, s in ((wp.float32, wp.float32(2)), (wp.float64, wp.float64(2)), (wp.int32, wp.int32(2))):",
            "    v = wp.ones(4, dtype=t)",
            "    wp.launch(scale, dim=4, inputs=[v, s])",
        ),
        3,
        id="a loop over pairs",
    ),
    pytest.param(body(F32, "wp.launch(scale, 4, [wp.ones(4, wp.float64)], [wp.float64(1)])"), 2, id="by position"),
]


@pytest.mark.parametrize(("source", "count"), REPORTED)
def test_reported(tmp_path: Path, source: str, count: int) -> None:
    (finding,) = found(tmp_path, source)
    assert len(finding.data["signatures"]) == count
    assert finding.kernel == "scale" and finding.fix is None and finding.declined


def test_launched_from_another_file(tmp_path: Path) -> None:
    user = "import warp as wp\nfrom app import scale\n" + body(F32, F64)
    (finding,) = found(tmp_path, "", user=user)
    assert finding.path.endswith("app.py") and "user.py:" in finding.message
