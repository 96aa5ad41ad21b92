"""Levers and baking on an emulated CUDA device."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.warp

PROGRAM = """
import warp as wp

wp.config.use_precompiled_headers = False

@wp.kernel
def scale(v: wp.array(dtype=float)):
    v[wp.tid()] = v[wp.tid()] * 2.0

v = wp.ones(4, dtype=float, device="cuda:0")
wp.launch(scale, dim=4, inputs=[v], device="cuda:0", block_dim=64)
print(v.numpy().tolist())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("on-target")
    (folder / "app.py").write_text(PROGRAM.lstrip())
    return folder


def test_machine_code_is_compared(folder: Path, run_cli: Any) -> None:
    arguments = ["--target", "sm_90", "--samples", "1", "--lever", "enable_backward=off", "-o", "ledger.json"]
    done = run_cli("whatif", *arguments, "--", sys.executable, "app.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    (one,) = json.loads((folder / "ledger.json").read_text())["levers"]
    assert (one["status"], one["equal"]) == ("priced", True)
    assert (one["measured"]["before"]["entries"], one["measured"]["after"]["entries"]) == ([2], [1])
    assert "machine code" in next(check["message"] for check in one["checks"] if check["invariant"] == "code")
    assert "generated code, machine code and output are equal" in " ".join(done.stdout.split())


def test_a_baked_folder_holds_what_the_device_takes_alone(folder: Path, run_cli: Any) -> None:
    arguments = ["--target", "sm_80,sm_90", "-o", "cache", "--format", "json"]
    done = run_cli("bake", *arguments, "--", sys.executable, "app.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert [one["target"] for one in data["targets"]] == ["sm_80", "sm_90"]
    assert [[(i["target"], i["block_dim"]) for i in one["identities"]] for one in data["targets"]] == [
        [("sm_80", 64)],
        [("sm_90", 64)],
    ]
    names = sorted(path.suffixes[-2:] for path in (folder / "cache").rglob("*.cubin"))
    assert names == [[".sm80", ".cubin"], [".sm90", ".cubin"]]
    # What executed the launches on the CPU is not part of it.
    assert not list((folder / "cache").rglob("*.o"))
    assert any("emulated device" in note for note in data["notes"])
