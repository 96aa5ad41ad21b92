"""WF802: values that give every run another hash, told apart from those that stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import findings_of

from warpfix.findings import Finding

HEAD = """\
import functools, os, random, time, uuid
import datetime as dt
import numpy as np
import warp as wp

"""
TAIL = """
@wp.kernel
def fill(v: wp.array(dtype=float)):
    v[wp.tid()] = float(SEED)
"""


def found(tmp_path: Path, source: str, **more: str) -> list[Finding]:
    files = {f"{name}.py": text for name, text in more.items()}
    return findings_of(tmp_path, {"app.py": HEAD + source, **files}, select=("WF802",))


CONSTANTS = {
    "the clock": "SEED = int(time.time())\n",
    "a constant": "SEED = wp.constant(int(time.time_ns()))\n",
    "a process id": "SEED = os.getpid()\n",
    "a date": "SEED = dt.datetime.now().microsecond\n",
    "a random number": "SEED = random.randint(0, 100)\n",
    "numpy's random numbers": "SEED = float(np.random.rand())\n",
    "a generator without a seed": "RNG = np.random.default_rng()\nSEED = float(np.random.rand())\n",
    "a fresh id": "SEED = uuid.uuid4().int % 1000\n",
    "the hash of a text": "SEED = hash('app') % 1000\n",
    "through another name": "NOW = time.time()\nSEED = int(NOW)\n",
    "by a function": "def now():\n    return int(time.time())\n\nSEED = now()\n",
    "with a default": "SEED = int(os.environ.get('SEED', time.time()))\n",
}


@pytest.mark.parametrize("source", CONSTANTS.values(), ids=CONSTANTS)
def test_a_constant_that_changes(tmp_path: Path, source: str) -> None:
    (finding,) = found(tmp_path, source + TAIL)
    assert finding.data["kind"] == "code" and "`SEED`" in finding.message
    assert finding.fix is None and finding.declined


def test_once_however_often_it_is_read(tmp_path: Path) -> None:
    twice = "\n@wp.func\ndef g(x: float):\n    return x * SEED + SEED\n"
    assert len(found(tmp_path, "SEED = time.time()\n" + twice)) == 1


def test_a_constant_of_another_file(tmp_path: Path) -> None:
    kernel = "\n@wp.kernel\ndef fill(v: wp.array(dtype=float)):\n    v[wp.tid()] = settings.SEED\n"
    settings = "import time\nSEED = time.time()\n"
    (finding,) = found(tmp_path, "import settings\n" + kernel, settings=settings)
    assert "`settings.SEED` (`time.time()`)" in finding.message
    assert found(tmp_path / "b", "from settings import SEED\n" + TAIL, settings=settings)


def test_what_static_makes(tmp_path: Path) -> None:
    source = "\n@wp.kernel\ndef fill(v: wp.array(dtype=int)):\n    v[wp.tid()] = wp.static(os.getpid())\n"
    (finding,) = found(tmp_path, source)
    assert "`wp.static(os.getpid())` is compiled into `fill`" in finding.message


def test_what_a_closure_captures(tmp_path: Path) -> None:
    source = (
        "def make():\n    seed = time.time()\n    @wp.kernel\n    def fill(v: wp.array(dtype=float)):\n"
        "        v[wp.tid()] = seed\n    return fill\n"
    )
    (finding,) = found(tmp_path, source)
    assert "`seed` (`time.time()`)" in finding.message


@pytest.mark.parametrize(
    "argument", ["module=f'm_{uuid.uuid4().hex}'", "module=f'm_{id(object())}'", "name=str(os.getpid())"]
)
def test_a_name_that_changes(tmp_path: Path, argument: str) -> None:
    (finding,) = found(tmp_path, f"@wp.kernel({argument})\ndef k(v: wp.array(dtype=float)):\n    v[0] = 1.0\n")
    assert finding.data["kind"] == "name"


SILENT = {
    "a literal": "SEED = 42\n",
    "a flag": "import sys\nSEED = int(sys.argv[1])\n",
    "the environment": "SEED = int(os.environ['SEED'])\n",
    "a seed is set": "random.seed(7)\nSEED = random.randint(0, 100)\n",
    "a generator with a seed": "SEED = float(np.random.default_rng(7).random())\n",
    "the hash of a number": "SEED = hash(42)\n",
    "bound twice": "SEED = time.time()\nSEED = 3\n",
    "the kernel's own name": "SEED = 3\nt = time.time()\n",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source + TAIL) == []


def test_an_argument_of_that_name_is_none_of_it(tmp_path: Path) -> None:
    source = "seed = time.time()\n\n@wp.kernel\ndef k(v: wp.array(dtype=float), seed: float):\n    v[0] = seed\n"
    assert found(tmp_path, source) == []
