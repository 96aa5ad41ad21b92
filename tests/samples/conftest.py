"""Observe a program from the outside, with nothing of warpfix in it: what Warp says it built, and what was launched."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import clean_environment

LOADED = re.compile(r"Module (\S+) ([0-9a-f]{7}) load on device 'cpu'.* took [\d.]+ ms\s+\((\w+)\)")

# Runs before the program: counts its launches by kernel, dim and types.
RECORDER = """
import atexit, json, os
import warp as wp

seen, plain_launch = [], wp.launch

def launch(kernel, dim, inputs=(), *args, **kwargs):
    types = [str(getattr(value, "dtype", type(value))) for value in inputs]
    seen.append([kernel.key.split("__locals__")[-1], dim, types])
    return plain_launch(kernel, dim, inputs, *args, **kwargs)

wp.launch = launch
atexit.register(lambda: json.dump(seen, open(os.environ["RECORDED_LAUNCHES"], "w")))
"""


@dataclass(frozen=True)
class Observation:
    """A cold run of a program, and a warm one after it."""

    output: tuple[str, ...]
    builds: Counter[str]
    """Warp module to number of builds of the cold run."""
    identities: frozenset[tuple[str, str]]
    """(module, hash) that the cold run built."""
    launches: list[list[object]]
    warm_builds: int
    generated_bytes: int


@pytest.fixture(scope="session")
def observe(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Observation]:
    """``observe(folder, arguments, python=...)``: run ``python *arguments`` in the folder, cold and then warm."""

    def run(folder: Path, arguments: Sequence[str], python: str = sys.executable) -> Observation:
        scratch = tmp_path_factory.mktemp("observe")
        (scratch / "sitecustomize.py").write_text(RECORDER, encoding="utf-8")
        outputs = []
        for state in ("cold", "warm"):
            result = subprocess.run(
                [python, *arguments],
                cwd=folder,
                env=clean_environment(
                    PYTHONPATH=str(scratch),
                    RECORDED_LAUNCHES=str(scratch / f"{state}.json"),
                    WARP_CACHE_PATH=str(scratch / "cache"),
                    CUDA_CACHE_PATH=str(scratch / "cuda"),
                ),
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert result.returncode == 0, result.stdout + result.stderr
            outputs.append(result.stdout)
        cold, warm = ([match.groups() for match in LOADED.finditer(output)] for output in outputs)
        built = [(module, hash_) for module, hash_, how in cold if how == "compiled"]
        return Observation(
            # The program's lines stand below Warp's own, and carry a number with a unit.
            output=tuple(line for line in outputs[0].splitlines() if not line.startswith(("Warp ", "Module ", "   "))),
            builds=Counter(module for module, _ in built),
            identities=frozenset(built),
            launches=json.loads((scratch / "cold.json").read_text()),
            warm_builds=sum(how == "compiled" for _, _, how in warm),
            generated_bytes=sum(path.stat().st_size for path in (scratch / "cache").rglob("*.cpp")),
        )

    return run
