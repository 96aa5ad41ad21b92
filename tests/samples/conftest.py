"""Observe a program from the outside, with nothing of warpfix in it: what Warp says it built, and what was launched."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import clean_environment

from warpfix.cli import demo

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


def seen(outputs: Sequence[str], launches: list[list[object]], generated_bytes: int) -> Observation:
    """An observation of what the cold run printed and the warm one, of the cold one's launches and its cache."""
    cold, warm = ([match.groups() for match in LOADED.finditer(output)] for output in outputs)
    built = [(module, hash_) for module, hash_, how in cold if how == "compiled"]
    return Observation(
        # The program's lines stand below Warp's own, and carry a number with a unit.
        output=tuple(line for line in outputs[0].splitlines() if not line.startswith(("Warp ", "Module ", "   "))),
        builds=Counter(module for module, _ in built),
        identities=frozenset(built),
        launches=launches,
        warm_builds=sum(how == "compiled" for _, _, how in warm),
        generated_bytes=generated_bytes,
    )


def run_twice(scratch: Path, folder: Path, arguments: Sequence[str], python: str) -> tuple[Any, ...]:
    """Run ``python *arguments`` in the folder, cold and then warm; what ``seen`` takes, fit for JSON."""
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
    launches = json.loads((scratch / "cold.json").read_text())
    return outputs, launches, sum(path.stat().st_size for path in (scratch / "cache").rglob("*.cpp"))


@pytest.fixture(scope="session")
def observe(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Observation]:
    """``observe(folder, arguments, python=...)``: run ``python *arguments`` in the folder, cold and then warm."""

    def run(folder: Path, arguments: Sequence[str], python: str = sys.executable) -> Observation:
        return seen(*run_twice(tmp_path_factory.mktemp("observe"), folder, arguments, python))

    return run


@pytest.fixture(scope="session")
def observe_original(tmp_path_factory: pytest.TempPathFactory, copy_sample) -> Callable[[str], Observation]:
    """``observe_original(name)``: observe a sample as it comes, once for all workers."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def run(name: str) -> Observation:
        with (shared / f"original-{name}.json").open("a+", encoding="utf-8") as kept:
            fcntl.flock(kept, fcntl.LOCK_EX)
            kept.seek(0)
            text = kept.read()
            if not text:
                scratch = tmp_path_factory.mktemp("observe")
                text = json.dumps(run_twice(scratch, copy_sample(name), demo.SAMPLES[name].command, sys.executable))
                kept.write(text)
            return seen(*json.loads(text))

    return run
