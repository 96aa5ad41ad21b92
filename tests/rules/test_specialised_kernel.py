"""WF102: closure kernels that vary and share a module; not unique ones, stable ones, or those made at import."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER
from scan_support import findings_of

from warpfix.findings import Applicability, Finding

FACTORY = """
def make(n):
    LOCAL
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[wp.tid()] = VALUE

    return scale
"""


def factory(value: str = "n", local: str = "pass") -> str:
    return FACTORY.replace("VALUE", value).replace("LOCAL", local)


def found(tmp_path: Path, source: str, **others: str) -> list[Finding]:
    files = {"app.py": HEADER + source, **{f"{name}.py": text for name, text in others.items()}}
    return findings_of(tmp_path, files, select=("WF102",), warp_min="1.12")


SILENT = [
    pytest.param(factory("2.0"), id="captures nothing"),
    pytest.param(factory("k", "k = 2.0"), id="captures a constant"),
    pytest.param(factory("h(1.0)", "h = wp.sin"), id="captures a function of Warp"),
    pytest.param(factory().replace("@wp.kernel", '@wp.kernel(module="unique")'), id="unique"),
    pytest.param(
        factory().replace("(n)", '(n, module="unique")').replace("@wp.kernel", "@wp.kernel(module=module)"),
        id="unique by default",
    ),
    pytest.param(
        factory().replace("(n)", "(n, module)").replace("@wp.kernel", "@wp.kernel(module=module)"),
        id="the caller says where",
    ),
    pytest.param(
        factory().replace("@wp.kernel", "@wp.kernel(module=wp.get_module(n))"), id="a module from an expression"
    ),
    pytest.param(factory() + "\nSCALE = make(2.0)\n", id="made at import"),
    pytest.param(factory() + "\nALL = {d: make(d) for d in (1.0, 2.0)}\n", id="made at import, in a table"),
    pytest.param(factory() + "\nALL = list(map(make, (1.0, 2.0)))\n", id="made at import, by map"),
    pytest.param(factory().replace("@wp.kernel", "@wp.func"), id="a function"),
    pytest.param("n = 2.0\n\n\ndef make():\n" + factory().split("\n", 3)[3], id="captures a global"),
    pytest.param(factory().replace("(a: wp", "(n: float, a: wp"), id="its own parameter of that name"),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


FOUND = [
    pytest.param(
        factory() + "\n\ndef more():\n    return list(map(make, (1.0, 2.0)))\n", "`n`", id="map in a function"
    ),
    pytest.param(factory(), "`n`, a parameter of `make`", id="a parameter"),
    pytest.param(factory("wp.static(n * 2.0)"), "`n`, a parameter", id="a parameter in wp.static"),
    pytest.param(factory("1.0").replace("dtype=float", "dtype=n"), "`n`, a parameter", id="only in an annotation"),
    pytest.param(factory("k", "k = 2.0 * n"), "`n`, a parameter", id="computed from a parameter"),
    pytest.param(factory("k", "k = float(input())"), "`k`", id="from a call"),
    pytest.param(factory("k", "k = 1.0; k = 2.0"), "assigns more than once", id="assigned twice"),
    pytest.param(
        factory().replace("(n)", "(self)").replace("VALUE", "n").replace("= n", "= self.n"), "`self`", id="self"
    ),
    pytest.param(
        factory() + "\nSCALE = make(2.0)\n\ndef later():\n    return make(3.0)\n",
        "differs between calls",
        id="made again later",
    ),
    pytest.param(
        factory().replace("(n)", "(n, module=None)").replace("@wp.kernel", "@wp.kernel(module=module)"),
        "`n`",
        id="shared by default",
    ),
]


@pytest.mark.parametrize(("source", "words"), FOUND)
def test_found(tmp_path: Path, source: str, words: str) -> None:
    (finding,) = found(tmp_path, source)
    assert words in finding.message
    assert (finding.fix is None) == (finding.declined is not None)
    assert finding.data["captures"]


def test_a_generic_kernel_is_told_its_overloads_first(tmp_path: Path) -> None:
    """Alone in its module it would still be built for each new type: `module="unique"` is what a run must prove."""
    generic = factory().replace("dtype=float", "dtype=Any")
    (finding,) = found(tmp_path, "from typing import Any\n" + generic)
    assert finding.fix is not None and finding.fix.applicability is not Applicability.SAFE
    assert finding.advice.startswith("register its overloads with `wp.overload`")
