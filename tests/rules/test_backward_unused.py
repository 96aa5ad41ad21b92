"""WF701: applications without a derivative in sight, and everything that keeps the rule silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import apply_fix, findings_of

from warpfix.findings import Applicability, Finding

APP = """\
import os

import warp as wp
MORE
@wp.kernel
def turn(q: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i] = wp.normalize(wp.quat_rotate(q[i], v[i]) + wp.cross(v[i], v[i]))

def main(v):
    wp.launch(turn, dim=4, inputs=[v, v])

if __name__ == "__main__":
    main(wp.zeros(4, dtype=wp.vec3))
"""


def found(tmp_path: Path, more: str = "", **files: str) -> list[Finding]:
    sources = {name.replace("__", "/") + ".py": text for name, text in files.items()}
    return findings_of(tmp_path, {"app.py": APP.replace("MORE", more), **sources}, select=("WF701",))


SILENT = [
    pytest.param("\nTAPE = wp.Tape()\n", id="a tape"),
    pytest.param("\nX = wp.zeros(3, requires_grad=True)\n", id="requires_grad"),
    pytest.param("\ndef g(x):\n    return x.grad\n", id="a gradient"),
    pytest.param("\ndef g(x):\n    return wp.grad(x)\n", id="wp.grad"),
    pytest.param("\nimport torch\n", id="torch"),
    pytest.param("\nimport jax.numpy as jnp\n", id="JAX"),
    pytest.param("\nimport warp.optim\n", id="an optimiser"),
    pytest.param("\nfrom warp import fem\n", id="finite elements"),
    pytest.param("\nimport newton\n", id="a simulator on Warp"),
    pytest.param("\nwp.config.enable_backward = False\n", id="off already"),
    pytest.param("\nwp.set_module_options({'enable_backward': True})\n", id="on, on purpose"),
    pytest.param("\n# the adjoint is tested: loss.backward()\n", id="mentioned"),
    pytest.param("\nexec(open('user.py').read())\n", id="code from outside"),
]


@pytest.mark.parametrize("more", SILENT)
def test_silent(tmp_path: Path, more: str) -> None:
    assert found(tmp_path, more) == []


def test_silent_if_a_test_differentiates(tmp_path: Path) -> None:
    assert found(tmp_path, tests__test_app="import warp as wp\nimport app\ntape = wp.Tape()\n") == []


SCRIPT = "import warp as wp\nif __name__ == '__main__':\n    tape = wp.Tape()\n"
SETTLED = "import warp as wp\nwp.config.enable_backward = False\nif __name__ == '__main__':\n    print(wp.config)\n"


@pytest.mark.parametrize("other", [SCRIPT, SETTLED], ids=["differentiates", "has settled it for itself"])
def test_another_script_is_another_program(tmp_path: Path, other: str) -> None:
    assert [Path(item.path).name for item in found(tmp_path, other=other)] == ["app.py"]


def test_a_script_that_it_imports_is_not(tmp_path: Path) -> None:
    assert found(tmp_path, "\nimport other\n", other=SCRIPT) == []


def test_nor_a_file_that_nobody_starts(tmp_path: Path) -> None:
    plugin = "import warp as wp\n\ndef go():\n    return wp.Tape()\n"
    assert found(tmp_path, plugin=plugin) == []


def test_silent_in_a_library(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "[project]\nname='lib'\n",
        "lib/__init__.py": "from lib.app import main\n",
        "lib/app.py": APP.replace("MORE", ""),
    }
    assert findings_of(tmp_path, files, select=("WF701",)) == []


def test_silent_for_a_file_that_others_import(tmp_path: Path) -> None:
    findings = found(tmp_path, run="import warp as wp\nimport app\nif __name__ == '__main__':\n    app.main(1)\n")
    assert [Path(item.path).name for item in findings] == ["run.py"]


def test_silent_in_a_benchmark(tmp_path: Path) -> None:
    assert findings_of(tmp_path, {"bench_turn.py": APP.replace("MORE", "")}, select=("WF701",)) == []


def test_silent_where_kernels_do_next_to_nothing(tmp_path: Path) -> None:
    small = APP.replace("MORE", "").replace("wp.normalize(wp.quat_rotate(q[i], v[i]) + wp.cross(v[i], v[i]))", "v[i]")
    assert findings_of(tmp_path, {"app.py": small}, select=("WF701",)) == []


def test_silent_without_a_launch(tmp_path: Path) -> None:
    source = APP.replace("MORE", "").replace("wp.launch(turn, dim=4, inputs=[v, v])", "pass")
    assert findings_of(tmp_path, {"app.py": source}, select=("WF701",)) == []


def test_reported_and_written_if_asked(tmp_path: Path) -> None:
    (finding,) = found(tmp_path)
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK
    assert finding.fix.options == {"enable_backward"}
    assert [name for _, name in finding.fix.needs_no_adjoint] == ["turn"]
    (text,) = apply_fix(finding).values()
    assert "import warp as wp\n\nwp.config.enable_backward = False\n\n@wp.kernel\n" in text
    assert findings_of(tmp_path / "again", {"app.py": text}, select=("WF701",)) == []


def test_above_the_import_of_the_kernels(tmp_path: Path) -> None:
    run = "import warp as wp\n\nimport app\n\nif __name__ == '__main__':\n    app.main(1)\n"
    (finding,) = found(tmp_path, run=run)
    (text,) = apply_fix(finding).values()
    assert text == run.replace("import app", "wp.config.enable_backward = False\n\nimport app")


def test_declined_where_warp_comes_after_the_kernels(tmp_path: Path) -> None:
    run = "import app\nimport warp as wp\nif __name__ == '__main__':\n    app.main(1)\n"
    (finding,) = found(tmp_path, run=run)
    assert finding.fix is None and "below" in (finding.declined or "")
