"""WF101: stable kernels in functions that run late; not those that vary, run at import, or whose module is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER
from scan_support import findings_of

from warpfix.findings import Applicability, Finding

STABLE = """
def run(a):
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[wp.tid()] = 2.0

    wp.launch(scale, dim=1, inputs=[a])
"""
FACTORY = """
def make(n):
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[wp.tid()] = 2.0

    return scale
"""


def found(tmp_path: Path, source: str, **others: str) -> list[Finding]:
    files = {"app.py": HEADER + source, **{f"{name}.py": text for name, text in others.items()}}
    return findings_of(tmp_path, files, select=("WF101",), warp_min="1.12")


SILENT = [
    pytest.param("@wp.kernel\ndef scale(a: wp.array(dtype=float)):\n    a[0] = 2.0\n", id="module scope"),
    pytest.param(
        "class Solver:\n    @wp.kernel\n    def scale(a: wp.array(dtype=float)):\n        a[0] = 2.0\n", id="class body"
    ),
    pytest.param(FACTORY.replace("2.0", "n"), id="captures a parameter"),
    pytest.param(FACTORY.replace("2.0", "wp.static(n)"), id="captures a parameter in wp.static"),
    pytest.param(FACTORY.replace("dtype=float", "dtype=n"), id="a parameter in an annotation"),
    pytest.param(FACTORY + "\nSCALE = make(1)\n", id="factory called at module scope"),
    pytest.param(FACTORY + "\nALL = {n: make(n) for n in (1, 2, 3)}\n", id="factory called in a table at module scope"),
    pytest.param(
        FACTORY + "\ndef fill():\n    return [make(1)]\n\nALL = fill()\n", id="through a function run at import"
    ),
    pytest.param(
        FACTORY + "\nSCALE = make(1)\n\ndef main():\n    wp.launch(SCALE, dim=1)\n\nmain()\n",
        id="factory called before the function that launches",
    ),
    pytest.param(STABLE.replace("@wp.kernel", "@plain"), id="another decorator"),
    pytest.param(STABLE.replace("@wp.kernel", "@wp.func"), id="a function"),
    pytest.param(
        "def kernel(name):\n    return wp.kernel(module=wp.get_module(name))\n"
        + STABLE.replace("@wp.kernel", '@kernel("x")'),
        id="a wrapper that hides the module",
    ),
    pytest.param(
        "def one():\n    @wp.kernel(module='unique', module_options={'fast_math': True})\n"
        "    def scale(a: wp.array(dtype=float)):\n        a[0] = 2.0\n\n    return scale\n",
        id="unique with options of its own",
    ),
    pytest.param(
        STABLE.replace("a[wp.tid()]", "a[0]").replace("@wp.kernel", "@wp.kernel(module=wp.get_module(a))"),
        id="module from a value",
    ),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


FOUND = [
    pytest.param(STABLE, id="defined where it is launched"),
    pytest.param(FACTORY, id="factory that nobody calls"),
    pytest.param(FACTORY + "\ndef main():\n    make(1)\n", id="factory called in a function"),
    pytest.param(FACTORY + "\nif __name__ == '__main__':\n    make(1)\n", id="factory called by the script"),
    pytest.param(FACTORY + "\nwp.launch(first, dim=1)\nSCALE = make(1)\n", id="factory called after a launch"),
    pytest.param(FACTORY + "\nSCALE = make(1)\n\ndef again():\n    return make(2)\n", id="called at import and later"),
    pytest.param(STABLE + "\nrun(None)\n", id="a function that launches, called at module scope without a guard"),
    pytest.param(
        FACTORY + "\ndef main():\n    wp.launch(first, dim=1)\n\nmain()\nSCALE = make(1)\n",
        id="factory called after a function that launches",
    ),
    pytest.param(STABLE.replace("@wp.kernel", "@wp.kernel()"), id="decorator with brackets"),
    pytest.param(STABLE.replace("def run(a)", "async def run(a)"), id="in a coroutine"),
    pytest.param(
        FACTORY.replace("2.0", "float(n)").replace("(a: wp", "(n: int, a: wp"), id="its own parameter of that name"
    ),
]


@pytest.mark.parametrize("source", FOUND)
def test_found(tmp_path: Path, source: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.kernel is not None and finding.kernel.endswith(".<locals>.scale")
    assert "the whole module is built again" in finding.message
    assert (finding.fix is None) is (finding.declined is not None)


@pytest.mark.parametrize(
    ("main", "late"),
    [
        ("import warp as wp\nimport app\n\napp.start(None)\napp.run(None)\n", 1),
        ("import warp as wp\nimport app\n\napp.run(None)\n", 1),
        ("import warp as wp\nimport app\n\nSCALE = app.make(1)\napp.start(None)\n", 0),
    ],
    ids=["a launch by a function of that file above", "it launches what it makes", "made before any launch"],
)
def test_a_script_whose_work_is_done_by_functions_of_another_file(tmp_path: Path, main: str, late: int) -> None:
    start = "\ndef start(a):\n    wp.launch(first, dim=1, inputs=[a])\n"
    source = (FACTORY if "make" in main else STABLE) + start
    assert len(found(tmp_path, source, main=main)) == late


def test_the_fix_of_a_plain_one_is_safe(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, STABLE, main="import app\n\napp.run(None)\n")
    assert finding.fix is not None
    assert finding.fix.applicability in (Applicability.SAFE, Applicability.MEASURED)
    assert finding.data["moves_along"] == []


def test_two_unique_ones_share(tmp_path: Path) -> None:
    one = STABLE.replace("@wp.kernel", '@wp.kernel(module="unique")')
    source = "import warp as wp\n\n" + one
    assert findings_of(tmp_path / "a", {"app.py": source}, select=("WF101",)) == []
    two = one.replace("scale", "shift").replace("run", "other")
    results = findings_of(tmp_path / "b", {"app.py": source + two}, select=("WF101",))
    assert [finding.kernel for finding in results] == ["run.<locals>.scale", "other.<locals>.shift"]
    assert all(finding.fix and finding.fix.applicability is not Applicability.SAFE for finding in results)
