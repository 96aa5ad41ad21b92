"""What small calls of warpfix take, each against the target that the project sets itself.

    python benchmarks/small_calls.py [--rounds 5]

``warpfix --help``; scan of ten files (of ``warp/examples``), of one large file (the core of Warp, 17,000 lines), and of
a tree without Warp (Python's own library, 1,800 files); ``apply --dry-run`` of a file of 300 lines with a dozen kernels
to move. Each is a process of its own, interpreter start included; scans without and with a cache from the run before.
The calls take turns, the fastest round counts. Needs Warp installed, which is not imported.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# A kernel that moves to module scope, in two dozen lines.
PART = '''

def relax_{number}(field, steps, device=None):
    """Relax a field towards its neighbours, step by step."""
    rate = 0.25
    size = field.shape[0]
    other = wp.zeros_like(field)

    @wp.kernel
    def relax(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        left = x[wp.max(i - 1, 0)]
        right = x[i]
        out[i] = 0.5 * (left + right) + {number}.0

    for step in range(steps):
        wp.launch(relax, dim=size, inputs=[field, other], device=device)
        field, other = other, field
        if step % 10 == 0:
            total = float(field.numpy().sum())
            print(step, rate, total)
            if total == 0.0:
                break
    return field
'''


@dataclass(frozen=True)
class Call:
    """One row: what is called where, and the seconds it may take."""

    name: str
    arguments: tuple[str, ...]
    folder: Path
    target: float
    warm: bool = False


def project(root: Path, name: str) -> Path:
    """An empty project."""
    folder = root / name
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    return folder


def calls(root: Path) -> list[Call]:
    """Lay out the trees, and say what is called in each."""
    spec = importlib.util.find_spec("warp")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("Warp is not installed")
    warp = Path(next(iter(spec.submodule_search_locations)))
    ten = project(root, "ten")
    for path in sorted((warp / "examples" / "core").glob("*.py"))[:10]:
        shutil.copyfile(path, ten / path.name)
    large = project(root, "large")
    largest = warp / "_src" / "context.py"
    shutil.copyfile(largest, large / largest.name)
    plain = project(root, "plain")
    shutil.copytree(
        sysconfig.get_path("stdlib"),
        plain / "library",
        ignore=lambda folder, names: [
            name
            for name in names
            if name in ("site-packages", "__pycache__")
            or not (name.endswith(".py") or os.path.isdir(os.path.join(folder, name)))
        ],
    )
    edited = project(root, "edited")
    module = "import warp as wp\n\n\n@wp.kernel\ndef first(x: wp.array(dtype=float)):\n    x[wp.tid()] = 1.0\n"
    (edited / "relaxed.py").write_text(module + "".join(PART.format(number=number) for number in range(12)))
    rows = [Call("--help", ("--help",), root, 0.1)]
    for name, folder, target in (("ten files", ten, 0.3), (f"{largest.name}", large, 1.0), ("no Warp", plain, 0.5)):
        amount = list(folder.rglob("*.py"))
        lines = sum(path.read_bytes().count(b"\n") for path in amount)
        what = f"scan: {name} ({len(amount)} files, {lines / 1000:.1f} kLOC)"
        rows.append(Call(f"{what}, cold", ("scan",), folder, target))
        rows.append(Call(f"{what}, warm", ("scan",), folder, target, warm=True))
    lines = (edited / "relaxed.py").read_text().count("\n")
    rows.append(Call(f"apply --dry-run: {lines} lines, 12 kernels moved", ("apply", "--dry-run"), edited, 0.8))
    return rows


def run(call: Call, cache: Path) -> tuple[float, float, float]:
    """CPU seconds, elapsed seconds and peak megabytes."""
    command = [sys.executable, "-m", "warpfix", *call.arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WARPFIX_")}
    environment["WARPFIX_CACHE_DIR"] = str(cache)
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=call.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode()
    if process.returncode not in (0, 1):
        sys.exit(f"{call.name}: status {process.returncode}\n{text[-2000:]}")
    if call.arguments[0] == "apply" and text.count("\n-    @wp.kernel") != 12:
        sys.exit(f"{call.name}: not 12 kernels were moved\n{text[-2000:]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return used.ru_utime + used.ru_stime, elapsed, used.ru_maxrss * unit / 1e6


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warpfix-calls-") as root:
        rows = calls(Path(root))
        taken: dict[str, list[tuple[float, float, float]]] = {row.name: [] for row in rows}
        for number in range(options.rounds):
            for place, row in enumerate(rows):
                cache = Path(root, f"cache-{place}-{number}")
                if row.warm:
                    run(row, cache)
                taken[row.name].append(run(row, cache))
                shutil.rmtree(cache, ignore_errors=True)
        print(f"Python {platform.python_version()}; the fastest of {options.rounds} rounds\n")
        print("| call | CPU s | elapsed s | peak MB | target s |\n| --- | --- | --- | --- | --- |")
        for row in rows:
            cpu, elapsed, peak = (min(values) for values in zip(*taken[row.name], strict=True))
            print(f"| {row.name} | {cpu:.2f} | {elapsed:.2f} | {peak:.0f} | {row.target} |")


if __name__ == "__main__":
    main()
