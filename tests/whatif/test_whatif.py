"""Levers pulled in real programs: what they reach, what wins over them, and what the ledger says. Counts, no seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from warpfix.measure.profile import ProcessRun
from warpfix.measure.run import RunSettings, run_command

pytestmark = pytest.mark.warp

# Another Python, with another Warp, may stand in: how the older generations of Warp's API are checked by hand.
PYTHON = os.environ.get("WARPFIX_TEST_PYTHON", sys.executable)

PARTS = """
import warp as wp

wp.set_module_options({"enable_backward": True})

@wp.kernel
def insists(v: wp.array(dtype=float)):
    v[wp.tid()] += 1.0
"""
PROGRAM = """
import sys
import warp as wp

import parts

@wp.kernel
def square(v: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, v[wp.tid()] * v[wp.tid()])

@wp.kernel(module="unique")
def unrolled(v: wp.array(dtype=float)):
    for i in range(8):
        v[wp.tid()] += float(i)

@wp.kernel(module="unique", enable_backward=True)
def asked(v: wp.array(dtype=float)):
    v[wp.tid()] *= 0.5

v = wp.ones(4, dtype=float, device="cpu", requires_grad=True)
out = wp.zeros(1, dtype=float, device="cpu", requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(square, dim=4, inputs=[v, out], device="cpu")
if "--backward" in sys.argv:
    tape.backward(out)  # differentiated
for kernel in (unrolled, asked, parts.insists):
    wp.launch(kernel, dim=4, inputs=[v], device="cpu")
print(v.numpy().tolist(), out.numpy().tolist())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("levers")
    (folder / "app.py").write_text(textwrap.dedent(PROGRAM).lstrip())
    (folder / "parts.py").write_text(textwrap.dedent(PARTS).lstrip())
    return folder


def pulled(folder: Path, work: Path, levers: dict[str, Any], *arguments: str) -> ProcessRun:
    run = run_command(
        [PYTHON, "app.py", *arguments],
        cwd=folder,
        state="cold",
        workspace=work / "run",
        caches=work / "caches",
        settings=RunSettings(levers=levers),
    )
    assert run.exit_status == 0, Path(run.stderr_path).read_text()
    (process,) = run.processes
    assert process.errors == ()
    return process


def backward(process: ProcessRun) -> dict[str, bool]:
    """Kernel to whether its adjoint was generated."""
    return {
        kernel.definition.key: bool(kernel.backward_code)
        for load in process.loads
        if load.compiled
        for kernel in load.kernels
    }


def test_an_option_acts_as_an_early_line_would(folder: Path, tmp_path: Path) -> None:
    process = pulled(folder, tmp_path, {"options": {"enable_backward": False, "no_such_option": 1}})
    # What the program says later, in a decorator or for a module, wins.
    assert backward(process) == {"square": False, "unrolled": False, "asked": True, "insists": True}
    # What no option of this Warp is was not written, and is not told as if it had been.
    assert dict(process.levers) == {"enable_backward": False}
    # The program wrote one option itself; the override is not told as the program's.
    assert {(write.via, write.option) for write in process.option_writes} == {("set_module_options", "enable_backward")}
    assert Path(process.main).name == "app.py"
    assert process.warp_imported is not None
    assert (Path(process.warp_imported.path).name, process.warp_imported.line) == ("app.py", 2)
    assert process.executable


@pytest.fixture(scope="module")
def ledger(folder: Path, run_cli: Any) -> tuple[dict[str, Any], str, int]:
    """A ledger by the command line: data, text, exit status."""
    levers = [
        "enable_backward=off",
        "enable_backward=off:unrolled",
        "max_unroll=1",
        "persisted-cache",
        "module-cost",
    ]
    levers += ["enable_mathdx_gemm=off"]
    options = [part for lever in levers for part in ("--lever", lever)]
    done = run_cli(
        "whatif",
        "--samples",
        "1",
        *options,
        "-o",
        folder / "ledger.json",
        "--",
        PYTHON,
        "app.py",
        "--backward",
        cwd=folder,
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads((folder / "ledger.json").read_text()), done.stdout, done.returncode


def entry(ledger: Any, start: str) -> dict[str, Any]:
    return next(one for one in ledger[0]["levers"] if one["lever"].startswith(start))


def arms(one: dict[str, Any], name: str) -> tuple[int, int]:
    return one["measured"]["before"][name][0], one["measured"]["after"][name][0]


def test_where_an_adjoint_is_launched_the_lever_is_refused(ledger: Any, folder: Path) -> None:
    one = entry(ledger, "enable_backward=off")
    line = (folder / "app.py").read_text().splitlines().index("    tape.backward(out)  # differentiated") + 1
    assert one["status"] == "refused"
    assert [(a["kernel"], Path(a["line"]["path"]).name, a["line"]["line"]) for a in one["adjoints"]] == [
        ("square", "app.py", line)
    ]
    assert f"by the tape at app.py:{line}" in " ".join(ledger[1].split())
    assert ledger[2] == 1


def test_one_module_s_adjoint_code(ledger: Any) -> None:
    one = entry(ledger, "enable_backward=off:")
    assert one["status"] == "priced"
    assert one["equal"] is True
    assert arms(one, "entries") == (8, 7)
    before, after = arms(one, "generated_bytes")
    assert after < before
    assert one["how"] == "@wp.kernel(..., enable_backward=False)"
    assert "app.py:" in one["where"]


def test_loops_that_stay_loops(ledger: Any) -> None:
    one = entry(ledger, "max_unroll=1")
    before, after = arms(one, "generated_bytes")
    assert after < before
    assert arms(one, "builds") == (4, 4)
    # That this changes code in the right way can't be proved, and is not claimed.
    assert one["equal"] is False
    assert [check["invariant"] for check in one["checks"] if check["outcome"] == "unverified"] == ["code"]
    assert one["how"] == "wp.config.max_unroll = 1"
    assert "app.py:2, right below the import of Warp" in one["where"]


def test_a_cache_that_is_kept(ledger: Any) -> None:
    one = entry(ledger, "persisted-cache")
    assert arms(one, "builds") == (4, 0)
    assert one["effect"] == "better"


def test_the_price_of_a_module(ledger: Any) -> None:
    data = entry(ledger, "module-cost")["data"]
    assert len(data["samples"]) == 3
    assert data["modules"] == 4
    assert data["next_ms"] > 0


def test_no_link_no_lever(ledger: Any) -> None:
    one = entry(ledger, "enable_mathdx_gemm")
    assert (one["status"], one["measured"]) == ("not applicable", None)


def test_the_bound_and_the_text(ledger: Any) -> None:
    data, text, _ = ledger
    assert 1.0 <= data["overlap_bound"] <= 4.0
    assert all(len(line) <= 80 for line in text.splitlines())
    assert data["schema_version"] == 1 and data["format"] == "warpfix-ledger"


def test_preload_loads_with_the_launches_block_dim(folder: Path, tmp_path: Path) -> None:
    """Each identity is built once; those that the first launch does not need are built before it returns."""
    version = subprocess.run([PYTHON, "-c", "import warp; print(warp.config.version)"], capture_output=True, text=True)
    major, minor = (int(part) for part in version.stdout.split()[-1].split(".")[:2])
    if (major, minor) < (1, 17):
        pytest.skip("before Warp 1.17 parallel loads on the CPU race each other")
    wanted = [{"module": name, "device": "cpu", "block_dim": 1} for name in ("__main__", "parts", "gone")]
    process = pulled(folder, tmp_path, {"preload": wanted, "workers": 2})
    builds = [load for load in process.loads if load.compiled]
    assert len(builds) == 4
    assert {load.block_dim for load in builds} == {1}
    threads = {load.module: load.thread for load in builds}
    other = next(number for name, number in threads.items() if name.startswith("unrolled"))
    assert threads["__main__"] != other and threads["parts"] != other
    assert process.levers["preload"] == 2
    first = next(load for load in builds if load.module == "__main__")
    assert first.paid_by is not None and Path(first.paid_by.path).name == "app.py"


def test_mistakes(run_cli: Any) -> None:
    done = run_cli("whatif", "--lever", "enable_backwards=off", "--", "python", "x", debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "do you mean enable_backward=off" in done.stderr
    assert "after --" in run_cli("whatif", debug=False).stderr
