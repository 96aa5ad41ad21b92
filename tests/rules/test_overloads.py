"""WF601: generic kernels with several types in the source, and all the ways in which that is no fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from profile_support import Built, Launched, profile, profiled
from scan_support import apply_fix, findings_of

from warpfix.findings import Applicability, Finding
from warpfix.measure.profile import Profile

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


# ---- from a run

GENERIC = """\
from typing import Any

import warp as wp


@wp.kernel
def scale(n: int, v: wp.array(dtype=Any), s: Any):
    v[wp.tid()] = v[wp.tid()] * s


@wp.kernel
def plain(v: wp.array(dtype=float)):
    v[wp.tid()] = 1.0


if __name__ == "__main__":
    run()
"""
FLOAT, DOUBLE = "i4a1f4f4", "i4a1f8f8"
TYPES = {FLOAT: ("i4", "a1f4", "f4"), DOUBLE: ("i4", "a1f8", "f8")}


def run_of(root: Path, *builds: list[str], launched: tuple[str, ...] = (FLOAT, DOUBLE)) -> Profile:
    """A run that built the module once for each list of instances of ``scale``."""
    loads = [Built("__main__", ["plain", *(("scale", code) for code in codes)]) for codes in builds]
    launches = [Launched("scale", 0, code, TYPES[code]) for code in launched]
    return profile(str(root / "app.py"), loads, launches)


def measured(root: Path, source: str, run: Profile, **more: str) -> list[Finding]:
    files = {name + ".py": text for name, text in more.items()}
    return profiled(root, {"app.py": source, **files}, run, select=("WF601",))


def test_what_the_run_launched_is_registered(tmp_path: Path) -> None:
    (finding,) = measured(tmp_path, GENERIC, run_of(tmp_path, [FLOAT], [FLOAT, DOUBLE]))
    assert finding.fix is not None and finding.fix.applicability is Applicability.MEASURED
    (text,) = apply_fix(finding).values()
    assert text == GENERIC.replace(
        "* s\n",
        "* s\n\n\n"
        'wp.overload(scale, {"v": wp.array(dtype=wp.float32), "s": wp.float32})\n'
        'wp.overload(scale, {"v": wp.array(dtype=wp.float64), "s": wp.float64})\n',
    )


def test_one_set_of_types_after_the_first_build(tmp_path: Path) -> None:
    (finding,) = measured(tmp_path, GENERIC, run_of(tmp_path, [], [DOUBLE], launched=(DOUBLE,)))
    (text,) = apply_fix(finding).values()
    assert text.count("wp.overload(") == 1 and "float32" not in text


def test_what_was_built_and_never_launched_is_not_registered(tmp_path: Path) -> None:
    (finding,) = measured(tmp_path, GENERIC, run_of(tmp_path, [], [FLOAT, DOUBLE], launched=(DOUBLE,)))
    (text,) = apply_fix(finding).values()
    assert "float32" not in text


@pytest.mark.parametrize(
    "builds",
    [
        pytest.param([[FLOAT, DOUBLE]], id="one build"),
        pytest.param([[FLOAT, DOUBLE], [FLOAT, DOUBLE]], id="built again for another reason"),
    ],
)
def test_nothing_late(tmp_path: Path, builds: list[list[str]]) -> None:
    found = measured(tmp_path, GENERIC, run_of(tmp_path, *builds))
    assert [one for one in found if one.fix] == []


def test_only_what_is_missing_is_added(tmp_path: Path) -> None:
    call = '\n\nwp.overload(scale, {"v": wp.array(dtype=wp.float32), "s": wp.float32})\n'
    source = GENERIC.replace("* s\n", "* s\n" + call)
    (finding,) = measured(tmp_path, source, run_of(tmp_path, [FLOAT], [FLOAT, DOUBLE]))
    (text,) = apply_fix(finding).values()
    assert text.count("wp.overload(") == 2 and text.count("float64") == 2


def test_a_library_is_asked(tmp_path: Path) -> None:
    source = GENERIC.partition("\n\nif __name__")[0] + "\n"
    (finding,) = measured(tmp_path, source, run_of(tmp_path, [FLOAT], [FLOAT, DOUBLE]))
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK
    assert "everybody who imports it" in finding.fix.unproved


REFUSED = [
    pytest.param(
        GENERIC.replace("import warp as wp", "from warp import *\nimport warp").replace("import warp\n", ""),
        "no name for Warp",
        id="star import",
    ),
    pytest.param(
        GENERIC.replace("@wp.kernel\ndef scale", "@traced\n@wp.kernel\ndef scale"), "other decorators", id="wrapped"
    ),
    pytest.param(
        GENERIC.replace("if __name__", "scale = wrap(scale)\n\nif __name__"), "more than once", id="bound again"
    ),
    pytest.param(
        GENERIC.replace("import warp as wp", "try:\n    import warp as wp\nexcept ImportError:\n    wp = None"),
        "no name for Warp",
        id="Warp may be missing",
    ),
]


@pytest.mark.parametrize(("source", "reason"), REFUSED)
def test_reported_with_the_reason(tmp_path: Path, source: str, reason: str) -> None:
    found = measured(tmp_path, source, run_of(tmp_path, [FLOAT], [FLOAT, DOUBLE]))
    assert [reason in str(one.declined) for one in found] in ([True], [])
    assert all(one.fix is None for one in found)


def test_a_struct_in_scope_has_a_name_and_another_has_none(tmp_path: Path) -> None:
    struct = "@wp.struct\nclass Cell:\n    a: float\n\n\n"
    code, types = "i4a1Cell_0123abcdf4", ("i4", "a1Cell_0123abcd", "f4")
    path = str(tmp_path / "app.py")
    loads = [Built("__main__", ["plain"]), Built("__main__", ["plain", ("scale", code)])]
    run = profile(path, loads, [Launched("scale", 1, code, types)])
    (finding,) = measured(tmp_path, GENERIC.replace("@wp.kernel\ndef scale", struct + "@wp.kernel\ndef scale"), run)
    (text,) = apply_fix(finding).values()
    assert 'wp.overload(scale, {"v": wp.array(dtype=Cell), "s": wp.float32})' in text
    (finding,) = measured(tmp_path, GENERIC.replace("if __name__", struct + "if __name__"), run)
    assert finding.fix is None and "no sure name" in str(finding.declined)


def test_a_long_call_takes_several_lines(tmp_path: Path) -> None:
    source = GENERIC.replace("s: Any", "s: Any, a_long_name_for_one: Any, another_long_name_for_one: Any")
    code, types = "x", ("i4", "a1f4", "f4", "m33f4", "v3f8")
    loads = [Built("__main__", ["plain"]), Built("__main__", ["plain", ("scale", code)])]
    run = profile(str(tmp_path / "app.py"), loads, [Launched("scale", 1, code, types)])
    (finding,) = measured(tmp_path, source, run)
    (text,) = apply_fix(finding).values()
    assert '\n        "another_long_name_for_one": wp.vec3d,\n    },\n)\n' in text
