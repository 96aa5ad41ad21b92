"""Warp's own CUDA tests, and its examples, on the emulated device: how many of how many.

    python benchmarks/target.py tests [NAME...]
    python benchmarks/target.py examples [NAME...]

One line for each module of tests, or example: passed, failed, skipped; what failed, and the deviations met. Takes an
hour or more on two cores; give names for a part.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from warpfix.errors import WarpfixError
from warpfix.measure.run import RunSettings, run_command

TARGET = os.environ.get("TARGET", "sm_90")
LIMIT = float(os.environ.get("LIMIT", "600"))

TESTS = [
    "test_block_dim_dispatch",
    "test_copy",
    "test_generics",
    "test_graph",
    "test_launch",
    "test_module_hashing",
    "test_tape",
    "test_utils",
    "test_array_reduce",
    "test_runlength_encode",
    "test_map",
    "test_module_variants",
    "test_unique_module",
    "cuda.test_async",
    "cuda.test_streams",
    "cuda.test_conditional_captures",
    "cuda.test_array_fill_capture",
    "cuda.test_capture_mode",
    "cuda.test_capture_release",
    "cuda.test_pinned",
    "cuda.test_mempool",
    "cuda.test_occupancy",
    "cuda.test_kernel_attributes",
    "cuda.test_ipc",
    "cuda.test_sync_errors",
    "cuda.test_unified_memory",
    "cuda.test_peer",
    "geometry.test_bvh",
    "geometry.test_hash_grid",
    "geometry.test_mesh",
    "geometry.test_volume",
    "tile.test_tile",
    "tile.test_tile_load",
    "tile.test_tile_reduce",
    "tile.test_tile_sort",
    "tile.test_tile_view",
    "tile.test_tile_matmul_no_mathdx",
    "tile.test_tile_shared_memory",
    "tile.test_tile_block_dim_mismatch",
]

SPINNING = ("alloc_free_preserves_merged_frontier",)
"""Tests that keep a device busy for seconds, to show that it runs beside the host: hours on a CPU, and no news."""

RUNNER = """
import json, sys, unittest
name, spinning = sys.argv[1], sys.argv[2].split(",")

def tests(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests(one)
        else:
            yield one

found = [t for t in tests(unittest.defaultTestLoader.loadTestsFromName("warp.tests." + name))]
found = [t for t in found if not t.id().endswith("_cpu")]
left = [t for t in found if any(word in t.id() for word in spinning)]
suite = unittest.TestSuite(t for t in found if t not in left)
result = unittest.TextTestRunner(verbosity=2, stream=sys.stderr).run(suite)
bad = [(t.id().rpartition(".")[2], text.strip().splitlines()[-1][:200]) for t, text in result.failures + result.errors]
passed = result.testsRun - len(bad) - len(result.skipped)
print("RESULT " + json.dumps({"passed": passed, "bad": bad, "skipped": len(result.skipped) + len(left)}))
"""


def main(kind: str, names: list[str]) -> None:
    """Run and print."""
    totals: Counter[str] = Counter()
    for name in names or (TESTS if kind == "tests" else _examples()):
        with tempfile.TemporaryDirectory(prefix="warpfix-target-") as folder:
            _one(kind, name, Path(folder), totals)
    print(dict(totals))


def _one(kind: str, name: str, folder: Path, totals: Counter[str]) -> None:
    if kind == "tests":
        command = [sys.executable, "-c", RUNNER, name, ",".join(SPINNING)]
    else:
        command = [sys.executable, "-m", f"warp.examples.{name}", *_arguments(name)]
    settings = RunSettings(target=TARGET, timeout=LIMIT)
    try:
        run = run_command(
            command, cwd=folder, state="cold", workspace=folder / "w", caches=folder / "c", settings=settings
        )
    except WarpfixError as error:
        totals["not ended"] += 1
        print(f"{name}: {str(error).splitlines()[0]}", flush=True)
        return
    processes = run.processes
    launches = sum(process.launches.total for process in processes)
    deviations: Counter[str] = Counter()
    for deviation in (one for process in processes for one in process.deviations):
        deviations[f"{deviation.kind} {deviation.what}"] += deviation.count
    faults = [error for process in processes for error in process.errors]
    builds = sum(load.target != "cpu" for load in run.builds)
    said = f"{builds} CUDA builds, {launches} launches"
    if kind == "tests":
        lines = [line for line in Path(run.stdout_path).read_text("utf-8", "replace").splitlines() if "RESULT " in line]
        crashed = {"passed": 0, "bad": [["all of them", "the process did not end as it should"]], "skipped": 0}
        result = json.loads(lines[-1].partition("RESULT ")[2]) if lines else crashed
        passed, failed, skipped = result["passed"], len(result["bad"]), result["skipped"]
        totals.update(passed=passed, failed=failed, skipped=skipped)
        print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped; {said}")
        for test, text in result["bad"]:
            print(f"    {test}: {text}")
    else:
        last = Path(run.stderr_path).read_text("utf-8", "replace").strip().splitlines()[-1:] or [""]
        totals["passed" if run.exit_status == 0 else "failed"] += 1
        print(f"{name}: status {run.exit_status}; {said}" + (f"; {last[0][:200]}" if run.exit_status else ""))
    for text, count in sorted(deviations.items())[:12]:
        print(f"    deviation: {text} x {count}")
    for text in faults[:3]:
        print(f"    fault: {text[:200]}")
    sys.stdout.flush()


def _examples() -> list[str]:
    import importlib.util

    spec = importlib.util.find_spec("warp")
    assert spec is not None and spec.origin is not None
    root = Path(spec.origin).parent / "examples"
    found = [
        path for folder in ("core", "fem", "optim", "tile") for path in sorted((root / folder).glob("example_*.py"))
    ]
    return [f"{path.parent.name}.{path.stem}" for path in found]


def _arguments(name: str) -> list[str]:
    """Without a window and short, where the example has words for it."""
    import importlib.util

    spec = importlib.util.find_spec("warp")
    assert spec is not None and spec.origin is not None
    text = (Path(spec.origin).parent / "examples" / (name.replace(".", "/") + ".py")).read_text()
    words = []
    for flag, value in (("--headless", ""), ("--num-frames", "2"), ("--num_frames", "2"), ("--train_iters", "1")):
        if f'"{flag}"' in text:
            words += [flag, value] if value else [flag]
    if "--stage_path" in text or "--stage-path" in text:
        words += ["--stage-path" if "--stage-path" in text else "--stage_path", "None"]
    return words


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
