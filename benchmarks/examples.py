"""The examples that come with Warp, with the probe and without: is what they print, write and return the same?

    python benchmarks/examples.py [--target sm_90] [--caches FOLDER] [NAME...]

For each example one cold run under the probe and two plain runs over the cache that it left. An example counts as
unchanged when exit status, both streams (but for times) and the files it wrote are those of the plain runs. What
the two plain runs do not agree on (random numbers) is no evidence, and said: numbers are then left out, or the
stream is. Examples that fail without the probe as well (no display, a package that is missing, no GPU) don't count.
With ``--caches`` all examples share one folder of compiled modules: quicker, and not cold from the second on.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from warpfix.errors import WarpfixError
from warpfix.measure.run import RunSettings, run_command

SMALL = {
    "num_frames": "2",
    "train_iters": "2",
    "num_steps": "2",
    "num_iters": "2",
    "max_evals": "2",
    "spin_up_steps": "2",
    "lead_steps": "2",
    "sim_substeps": "2",
    "pressure_iterations": "2",
    "num_samples": "4",
    "resolution": "8",
    "height": "32",
    "width": "32",
    "slices": "4",
    "itermax": "2",
    "device": "cpu",
    "stage_path": "None",
}
"""Arguments that make an example short, where it has them."""
FIXED = {
    "core.example_fdtd_3d": ["--resolution=48"],
    "fem.example_apic_fluid": ["--voxel-size=1.0"],
    "tile.example_tile_mcgp": ["--sphere-resolution=8"],
}
TIMEOUT = float(os.environ.get("LIMIT", "600"))
_OWN = re.compile(r"^(Warp [\d.]+ initialized|   (CUDA|Git|Devices|Kernel cache|  )|\s*Module .* load on device)")
_TIME = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)? ?(?:(?:s|ms|us|seconds)\b|[\w-]+/s\b)")
_NUMBER = re.compile(r"\d+(\.\d+)?([eE][-+]?\d+)?")


def arguments(path: Path, name: str, target: str) -> list[str]:
    """The arguments that keep an example short, headless and on one device, as far as it knows them."""
    known = {
        argument.value.lstrip("-").replace("-", "_")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    values = {**SMALL, "device": "cpu" if target == "native" else "cuda:0"}
    given = [f"--{key.replace('_', '-')}={value}" for key, value in values.items() if key in known]
    return given + (["--headless"] if "headless" in known else []) + FIXED.get(name, [])


def lines(data: bytes) -> list[str]:
    """The lines of a stream, with times masked, but for those that Warp prints about its modules and itself."""
    return [_TIME.sub("# s", line) for line in data.decode("utf-8", "replace").splitlines() if not _OWN.match(line)]


def written(folder: Path) -> dict[str, str]:
    """Digest of each file below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def without_numbers(text: list[str]) -> list[str]:
    """The lines with every number masked."""
    return [_NUMBER.sub("#", line) for line in text]


def compare(probed: list[str], first: list[str], second: list[str]) -> str:
    """``equal``, ``equal but for numbers`` (which differ between plain runs too), ``no evidence``, or ``DIFFERS``."""
    if first == second:
        return "equal" if probed == first else "DIFFERS"
    if without_numbers(first) == without_numbers(second):
        return "equal but for numbers" if without_numbers(probed) == without_numbers(first) else "DIFFERS"
    return "no evidence"


def examine(name: str, path: Path, target: str, shared: Path | None) -> tuple[str, str]:
    """(``unchanged``, ``DIFFERS`` or ``not run``, a few words) of one example."""
    command = [sys.executable, "-m", f"warp.examples.{name}", *arguments(path, name, target)]
    with tempfile.TemporaryDirectory(prefix="warpfix-example-") as root:
        folder, caches = Path(root, "probed"), shared or Path(root, "caches")
        folder.mkdir()
        settings = RunSettings(timeout=TIMEOUT, target=target)
        try:
            run = run_command(
                command,
                cwd=folder,
                state="cold",
                workspace=Path(root, "run"),
                caches=caches,
                settings=settings,
            )
        except WarpfixError as error:
            return "not run", str(error).splitlines()[0]
        streams = [Path(run.stdout_path).read_bytes(), Path(run.stderr_path).read_bytes()]
        faults = [fault for process in run.processes for fault in process.errors]
        if target != "native":
            deviations = sorted({one.kind for process in run.processes for one in process.deviations})
            state = "ran" if run.exit_status == 0 else "FAILED"
            words = lines(streams[1])[-1:] if run.exit_status else []
            return state, "; ".join([f"{len(run.builds)} builds", *deviations, *faults, *words])
        plain = []
        for number in range(2):
            place = Path(root, f"plain-{number}")
            place.mkdir()
            done = subprocess.run(
                command,
                cwd=place,
                env={**os.environ, "WARP_CACHE_PATH": str(caches / "default")},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT,
            )
            plain.append((done.returncode, lines(done.stdout), lines(done.stderr), written(place)))
        verdicts = [
            compare(lines(streams[0]), plain[0][1], plain[1][1]),
            compare(lines(streams[1]), plain[0][2], plain[1][2]),
            "equal" if written(folder) == plain[0][3] else ("DIFFERS" if plain[0][3] == plain[1][3] else "no evidence"),
        ]
        if plain[0][0] != run.exit_status:
            return "DIFFERS", f"exit status {run.exit_status}, {plain[0][0]} without the probe"
        said = f"stdout {verdicts[0]}, stderr {verdicts[1]}, {len(plain[0][3])} files {verdicts[2]}"
        if run.exit_status:
            last = (plain[0][2] or [""])[-1][:100]
            state = "DIFFERS" if "DIFFERS" in verdicts else "not run"
            return state, f"fails without the probe too: {last}" if state == "not run" else said
        state = "DIFFERS" if "DIFFERS" in verdicts or faults else "unchanged"
        return state, "; ".join([said, f"{len(run.builds)} builds", f"{run.wall:.0f} s cold", *faults])


def main() -> None:
    """Print one line for each example and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="native")
    parser.add_argument("--caches", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    spec = find_spec("warp")
    assert spec is not None and spec.origin is not None, "Warp is not installed"
    root = Path(spec.origin).parent / "examples"
    found = {
        ".".join(path.relative_to(root).with_suffix("").parts): path for path in sorted(root.rglob("example_*.py"))
    }
    counts: dict[str, int] = {}
    for name in options.names or found:
        state, words = examine(name, found[name], options.target, options.caches)
        counts[state] = counts.get(state, 0) + 1
        print(f"{state:<10} {name}: {words}", flush=True)
    print(", ".join(f"{count} {state}" for state, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
