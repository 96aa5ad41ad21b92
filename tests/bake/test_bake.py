"""``warpfix bake``: a folder is written only if a second run over a copy of it builds nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from support import clean_environment

from warpfix.bake import MANIFEST, Bake, Baked

# Another Python, with another Warp, may stand in: how the older generations of Warp's API are checked by hand.
PYTHON = os.environ.get("WARPFIX_TEST_PYTHON", sys.executable)

HEAD = """
import os
import warp as wp

wp.config.use_precompiled_headers = False
wp.config.enable_backward = False
"""
STEADY = """
@wp.kernel(module="unique")
def steady(v: wp.array(dtype=float)):
    v[wp.tid()] += 1.0

v = wp.zeros(4, dtype=float, device="cpu")
wp.launch(steady, dim=4, inputs=[v], device="cpu")
print(v.numpy().tolist())
"""
VARYING = """
wp.clear_kernel_cache()  # start afresh
SEED = wp.constant(os.getpid())

@wp.kernel
def varying(v: wp.array(dtype=float)):
    v[wp.tid()] += float(SEED)
"""
LAUNCHED = """
wp.launch(varying, dim=4, inputs=[v], device="cpu")
"""
CHOOSES = """
wp.config.kernel_cache_dir = os.path.join(os.getcwd(), "my-cache")  # chosen
"""


def program(folder: Path, *parts: str) -> Path:
    (folder / "app.py").write_text(textwrap.dedent("".join(parts)).lstrip())
    return folder


@pytest.mark.warp
def test_a_baked_folder_serves_the_program_elsewhere(run_cli: Any, tmp_path: Path) -> None:
    program(tmp_path, HEAD, STEADY)
    done = run_cli("bake", "-o", "cache", "--format", "json", "--", PYTHON, "app.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["proved"] is True
    ((identity,),) = [one["identities"] for one in data["targets"]]
    assert (identity["target"], identity["block_dim"]) == ("cpu", 1)
    cache = tmp_path / "cache"
    assert json.loads((cache / MANIFEST).read_text())["targets"] == data["targets"]
    files = [path for path in cache.rglob("*") if path.is_file() and path.name != MANIFEST]
    assert (len(files), sum(path.stat().st_size for path in files)) == (data["files"], data["bytes"])
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in files)
    # Without warpfix, in another place: Warp itself says where it took the module from.
    shutil.move(cache, tmp_path / "moved")
    alone = subprocess.run(
        [PYTHON, "app.py"],
        cwd=tmp_path,
        env=clean_environment(WARP_CACHE_PATH=str(tmp_path / "moved"), PYTHONHASHSEED="77"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "(cached)" in alone.stdout and "(compiled)" not in alone.stdout
    # What holds other files is left alone; nothing is run for that.
    done = run_cli("bake", "-o", ".", "--", PYTHON, "app.py", cwd=tmp_path, debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "holds other files" in done.stderr


@pytest.mark.warp
def test_what_varies_or_is_thrown_away_is_refused_by_name(run_cli: Any, tmp_path: Path) -> None:
    program(tmp_path, HEAD, VARYING, STEADY, LAUNCHED)
    done = run_cli("bake", "--", PYTHON, "app.py", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    words = " ".join(done.stdout.split())
    assert words.startswith("Not baked: a second run over the folder builds all the same.")
    assert "constant SEED of varying was" in words
    line = (tmp_path / "app.py").read_text().splitlines().index("wp.clear_kernel_cache()  # start afresh") + 1
    assert f"app.py:{line}" in words and "clear_kernel_cache" in words
    assert all(len(text) <= 80 for text in done.stdout.splitlines())
    assert not (tmp_path / "warp-cache").exists()


@pytest.mark.warp
def test_a_cache_of_the_program_s_own_is_no_matter_of_variables(run_cli: Any, tmp_path: Path) -> None:
    program(tmp_path, HEAD, CHOOSES, STEADY)
    done = run_cli("bake", "--", PYTHON, "app.py", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    line = (tmp_path / "app.py").read_text().splitlines().index(CHOOSES.strip()) + 1
    assert f"kernel_cache_dir at app.py:{line}: " in " ".join(done.stdout.split())
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".pyc") == ["app.py"]


def made(warp: str, target: str, device: str) -> Bake:
    baked = Baked(target, (("app", "1" * 8, device, 1),), ())
    return Bake(Path("cache"), ("python",), warp, (baked,), 1, 1)


@pytest.mark.parametrize(
    ("result", "said", "unsaid"),
    [
        pytest.param(made("1.19.0", "native", "cpu"), "builds again where they are others", "emulated", id="named"),
        pytest.param(made("1.12.1", "native", "cpu"), "the same kind of processor only", "emulated", id="not named"),
        pytest.param(made("1.19.0", "sm_90", "sm_90"), "emulated device", "processor", id="CUDA"),
    ],
)
def test_what_is_said_of_a_folder(result: Bake, said: str, unsaid: str) -> None:
    text = " ".join(result.notes())
    assert said in text
    assert unsaid not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "after --", id="no command"),
        pytest.param(["--target", "sm_90a", "--", "x"], "name sm_90", id="target"),
        pytest.param(["--target", ",", "--", "x"], "names nothing", id="no target"),
        pytest.param(["-o", "no/such", "--", "x"], "there is no folder", id="no folder"),
    ],
)
def test_mistakes(arguments: list[str], message: str, run_cli: Any) -> None:
    done = run_cli("bake", *arguments, debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
