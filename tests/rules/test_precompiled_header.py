"""WF803: only where it is named, only from a run, and only by the number of modules for each header."""

from __future__ import annotations

from pathlib import Path

import pytest
from profile_support import Built, profile, profiled
from scan_support import apply_fix, findings_of

from warpfix.findings import Applicability, Finding

APP = """\
import warp as wp


@wp.kernel
def step(v: wp.array(dtype=float)):
    v[wp.tid()] = 1.0


if __name__ == "__main__":
    wp.launch(step, dim=4, inputs=[wp.zeros(4)])
"""
OFF = APP.replace("as wp\n", "as wp\n\nwp.config.use_precompiled_headers = False\n", 1)
PROJECT = '[project]\nname = "p"\nversion = "1"\ndependencies = ["warp-lang>={}"]\n'


def found(
    root: Path, source: str, *loads: Built, select: tuple[str, ...] = ("WF803",), warp: str = "1.13"
) -> list[Finding]:
    files = {"app.py": source, "pyproject.toml": PROJECT.format(warp)}
    return profiled(root, files, profile(str(root / "app.py"), loads), select=select)


def built(*modules: str, block_dim: int = 1, target: str = "cpu") -> list[Built]:
    return [Built(name, ["step"], block_dim, target) for name in modules]


SILENT = [
    pytest.param(APP, built("a", "b"), id="two modules on the CPU"),
    pytest.param(APP, built("a", "b", "c", target="sm_90", block_dim=256), id="three for CUDA"),
    pytest.param(APP, [], id="nothing was built"),
    pytest.param(OFF, built("a"), id="off, and rightly"),
    pytest.param(OFF.replace("= False", "= FLAG"), built("a", "b"), id="a value that can't be read"),
    pytest.param(APP.replace("__main__", "other"), built("a"), id="a library"),
]


@pytest.mark.parametrize(("source", "loads"), SILENT)
def test_silent(tmp_path: Path, source: str, loads: list[Built]) -> None:
    assert found(tmp_path, source, *loads) == []


def test_silent_unless_it_is_named(tmp_path: Path) -> None:
    assert [one for one in found(tmp_path, APP, *built("a"), select=()) if one.code == "WF803"] == []
    assert findings_of(tmp_path, {"app.py": APP}, select=("WF803",)) == []


def test_silent_where_warp_builds_no_header(tmp_path: Path) -> None:
    assert found(tmp_path, APP, *built("a"), warp="1.12") == []
    assert found(tmp_path, APP, *built("a", target="sm_90", block_dim=256), warp="1.12") != []


REPORTED = [
    pytest.param(built("a"), id="one module on the CPU"),
    pytest.param(built("a", "b", target="sm_90", block_dim=256), id="two for CUDA"),
    pytest.param(built("a") + built("b", block_dim=64), id="two block dims, one module each"),
]


@pytest.mark.parametrize("loads", REPORTED)
def test_switched_off_above_the_kernels(tmp_path: Path, loads: list[Built]) -> None:
    (finding,) = found(tmp_path, APP, *loads)
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK
    assert finding.fix.options == {"use_precompiled_headers"} and finding.data["needs_profile"]
    (text,) = apply_fix(finding).values()
    assert text == APP.replace("as wp\n\n\n", "as wp\n\n\nwp.config.use_precompiled_headers = False\n\n\n", 1)


def test_restored_where_many_modules_would_share_it(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, OFF, *built("a", "b", "c"))
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK
    (text,) = apply_fix(finding).values()
    assert text == APP
