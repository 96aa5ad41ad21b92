"""A kernel reads what the functions read that it calls: where that is rebound, each new kernel is built with the new
value, and one that is kept, moved or found again would not be."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import findings_of

from warpfix.findings import Applicability

HEAD = "import warp as wp\n\nSCALE = 1.0\n\n\n@wp.func\ndef grow(x: float):\n    return x * SCALE\n\n\n"
KERNEL = "    @wp.kernel\n    def scale(v: wp.array(dtype=float)):\n        v[wp.tid()] = {value}\n"
STABLE = HEAD + "def step(v, m):\n" + KERNEL + "    wp.launch(scale, dim=4, inputs=[v])\n"
SPECIAL = (
    HEAD
    + "def step(v, m, n):\n"
    + KERNEL
    + "    wp.launch(scale, dim=4, inputs=[v])\n\n\nif __name__ == '__main__':\n    step(V, 1.0, 2.0)\n"
)
FACTORY = (
    HEAD
    + "def make(n):\n"
    + KERNEL
    + "    return scale\n\n\ndef main(v):\n    for m in (1, 2):\n        set_scale(m)\n"
    + "        wp.launch(make(3), dim=4, inputs=[v])\n\n\nif __name__ == '__main__':\n    main(V)\n"
)
GLOBAL = "\n\ndef set_scale(m):\n    global SCALE\n    SCALE = m\n"
AGAIN = "\n\nSCALE = 2.0\n"
TWICE = "\n\n@wp.func\ndef twice(x: float):\n    return grow(grow(x))\n"


@pytest.mark.parametrize(
    ("program", "value", "code"),
    [
        pytest.param(STABLE, "{f}(v[0])", "WF101", id="hoist"),
        pytest.param(SPECIAL, "{f}(v[0]) * wp.static(n)", "WF102", id="isolate"),
        pytest.param(FACTORY, "{f}(v[0]) * wp.static(n)", "WF501", id="memoise"),
    ],
)
@pytest.mark.parametrize(
    ("rest", "called", "reason"),
    [
        pytest.param("", "grow", "", id="never"),
        pytest.param(GLOBAL, "grow", "`global SCALE`", id="global"),
        pytest.param(AGAIN, "grow", "more than once", id="again"),
        pytest.param(TWICE + GLOBAL, "twice", "`global SCALE`", id="through another"),
    ],
)
def test_what_a_called_function_reads(
    tmp_path: Path, program: str, value: str, code: str, rest: str, called: str, reason: str
) -> None:
    source = program.replace("{value}", value.replace("{f}", called)) + rest
    (finding,) = findings_of(tmp_path, {"app.py": source}, select=(code,), warp_min="1.19")
    if reason:
        assert finding.fix is None
        assert finding.declined is not None and "it calls `grow`" in finding.declined and reason in finding.declined
    else:
        assert finding.fix is not None, finding.declined


def test_of_another_file(tmp_path: Path) -> None:
    source = "import helpers\n" + STABLE.replace(HEAD, "import warp as wp\nfrom helpers import grow\n\n\n")
    source = source.replace("{value}", "grow(v[0])")
    rest = "\n\ndef set_scale(m):\n    helpers.SCALE = m\n"
    files = {"helpers.py": HEAD, "app.py": source}
    (finding,) = findings_of(tmp_path / "a", files, select=("WF101",), warp_min="1.19")
    assert finding.fix is not None, finding.declined
    (finding,) = findings_of(tmp_path / "b", {**files, "app.py": source + rest}, select=("WF101",), warp_min="1.19")
    assert finding.fix is None and finding.declined is not None and "from outside" in finding.declined


LOCAL = """\
import warp as wp


def step(v, m):
    @wp.func
    def grow(x: float):
        return x * k

    @wp.kernel
    def scale(v: wp.array(dtype=float)):
        v[wp.tid()] = grow(v[wp.tid()])

    {below}
    wp.launch(scale, dim=4, inputs=[v])


if __name__ == "__main__":
    step(V, 1.0)
"""


def test_a_local_function_reads_what_is_assigned_below_the_kernel(tmp_path: Path) -> None:
    (finding,) = findings_of(
        tmp_path, {"app.py": LOCAL.replace("{below}", "k = m")}, select=("WF102",), warp_min="1.19"
    )
    assert finding.fix is None and finding.declined is not None and "assigned below the kernel" in finding.declined
    above = LOCAL.replace("    {below}\n", "").replace("    @wp.func", "    k = m\n\n    @wp.func")
    (finding,) = findings_of(tmp_path / "above", {"app.py": above}, select=("WF102",), warp_min="1.19")
    assert finding.fix is not None, finding.declined


@pytest.mark.parametrize(("rest", "fixed"), [("", True), (GLOBAL, False)])
def test_a_function_that_is_handed_over(tmp_path: Path, rest: str, fixed: bool) -> None:
    source = SPECIAL.replace("{value}", "n(v[0])").replace("step(V, 1.0, 2.0)", "step(V, 1.0, grow)") + rest
    (finding,) = findings_of(tmp_path, {"app.py": source}, select=("WF102",), warp_min="1.19")
    assert (finding.fix is not None) == fixed, finding.declined


OWN = (
    "import warp as wp\n\n\n@wp.kernel\ndef base(v: wp.array(dtype=float)):\n    v[0] = 1.0\n\n\ndef step(v):\n"
    + KERNEL.replace("{value}", "2.0")
    + "    wp.launch(scale, dim=4, inputs=[v])\n"
)
DIRECT = 'wp.get_module(__name__).options["fast_math"] = True\n'


@pytest.mark.parametrize(
    ("rest", "safe"),
    [
        pytest.param("\n\nstep(V)\nstep(V)\n", True, id="no option"),
        pytest.param(f"\n\n{DIRECT}step(V)\nstep(V)\n", True, id="before all launches"),
        pytest.param(f"\n\nstep(V)\n{DIRECT}step(V)\n", False, id="between two calls"),
        pytest.param(f"\n\nfor v in V:\n    {DIRECT}    step(v)\n", False, id="in the loop that calls"),
        pytest.param(f"\n\ndef main():\n    step(V)\n    {DIRECT}    step(V)\n", False, id="in a function"),
        pytest.param("\n\nstep(V)\nwp.config.verify_fp = True\nstep(V)\n", False, id="a setting between two calls"),
    ],
)
def test_what_a_new_kernel_makes_warp_read_again(tmp_path: Path, rest: str, safe: bool) -> None:
    """An option in a module's own dictionary marks nothing as modified: a kernel that is made anew does."""
    (finding,) = findings_of(tmp_path, {"app.py": OWN + rest}, select=("WF101",), warp_min="1.19")
    assert finding.fix is not None, finding.declined
    assert (finding.fix.applicability is Applicability.SAFE) == safe, finding.fix.unproved
