"""The probe in real Warp programs: caches, block dimensions, stop conditions, capture, preloading. Few and small: each
is a cold module."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpfix.measure.profile import Profile
from warpfix.measure.run import RunSettings, measure

from .conftest import Probed, stdout

pytestmark = pytest.mark.warp

HEAD = """
import warp as wp

wp.config.use_precompiled_headers = False  # a single small module is quicker without

@wp.kernel(enable_backward=False)
def bump(v: wp.array(dtype=float)):
    v[wp.tid()] += 1.0

@wp.kernel(enable_backward=False)
def halve(v: wp.array(dtype=float)):
    v[wp.tid()] *= 0.5
"""


def measured(tmp_path: Path, body: str, head: str = HEAD, settings: RunSettings | None = None) -> Profile:
    import sys

    (tmp_path / "app.py").write_text(head + body)
    return measure([sys.executable, "app.py"], cwd=tmp_path, settings=settings or RunSettings(timeout=120))


def builds(profile: Profile) -> tuple[int, int]:
    return len(profile.cold[0].builds), len(profile.warm[0].builds)


def test_a_temporary_cache_is_cold_each_time_and_the_users_own_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own-cache"
    (own / "wp_marker").mkdir(parents=True)
    monkeypatch.setenv("WARP_CACHE_PATH", str(own))
    profile = measured(
        tmp_path,
        """
import os, tempfile
wp.config.kernel_cache_dir = tempfile.mkdtemp(dir=".")
assert os.path.isdir(wp.config.kernel_cache_dir)
wp.launch(bump, dim=4, inputs=[wp.zeros(4, dtype=float, device="cpu")], device="cpu")
assert any(name.startswith("wp_") for name in os.listdir(wp.config.kernel_cache_dir)) or \\
    any(os.scandir(wp.config.kernel_cache_dir))
wp.clear_kernel_cache()
""",
    )
    assert builds(profile) == (1, 1)
    chosen = [path for path in tmp_path.iterdir() if path.name.startswith("tmp")]
    assert len(chosen) == 2 and not any(any(path.iterdir()) for path in chosen)
    assert [path.name for path in own.iterdir()] == ["wp_marker"]


def test_the_cache_cleared_at_the_start_is_a_private_one(tmp_path: Path) -> None:
    profile = measured(
        tmp_path,
        """
wp.init()
wp.clear_kernel_cache()
wp.launch(bump, dim=4, inputs=[wp.zeros(4, dtype=float, device="cpu")], device="cpu")
""",
    )
    assert builds(profile) == (1, 1)
    assert profile.warm[0].builds[0].identity == profile.cold[0].builds[0].identity


def test_block_dims_on_the_cpu(tmp_path: Path) -> None:
    if not hasattr(pytest.importorskip("warp").config, "enable_cpu_blocks"):
        pytest.skip("this Warp has no cooperative CPU blocks")
    profile = measured(
        tmp_path,
        """
wp.config.enable_cpu_blocks = True
v = wp.zeros(128, dtype=float, device="cpu")
wp.launch(bump, dim=128, inputs=[v], device="cpu", block_dim=32)
wp.launch(halve, dim=128, inputs=[v], device="cpu", block_dim=64)
wp.launch(bump, dim=128, inputs=[v], device="cpu", block_dim=32)
""",
    )
    first, second = profile.cold[0].builds
    assert (first.cause.kind, second.cause.kind) == ("first-load", "block-dim")
    assert (first.block_dim, second.block_dim) == (32, 64)
    assert second.paid_by is not None and second.paid_by.line == 17
    launches = profile.cold[0].processes[0].launches
    assert [launches.signatures[number].block_dim for number in launches.sequence] == [32, 64, 32]


def test_a_program_without_end_stops_after_launches(probed: Probed) -> None:
    run = probed(
        HEAD
        + """
v = wp.zeros(4, dtype=float, device="cpu")
print("up")
while True:
    wp.launch(bump, dim=4, inputs=[v], device="cpu")
    wp.launch(halve, dim=4, inputs=[v], device="cpu")
""",
        settings=RunSettings(stop_after_launches=5, timeout=120),
    )
    assert run.exit_status == 0
    assert run.stopped_by == "stop-after-launches"
    assert "up" in stdout(run)
    (process,) = run.processes
    names = [process.launches.signatures[number].kernel.key for number in process.launches.sequence]
    assert names == ["bump", "halve", "bump", "halve", "bump"]
    assert process.stopped_by == "stop-after-launches"


def test_killed_forked_and_preloaded(probed: Probed) -> None:
    """One program, to share the build: a preload by threads, a forked child that launches, then a kill."""
    run = probed(
        HEAD
        + """
import os, signal, sys

@wp.kernel(enable_backward=False, module="unique")
def alone(v: wp.array(dtype=float)):
    v[wp.tid()] -= 1.0

v = wp.zeros(4, dtype=float, device="cpu")
modules = [bump.module, alone.module]
wp.force_load(device="cpu", modules=modules)
wp.launch(bump, dim=4, inputs=[v], device="cpu")
child = os.fork()
if child == 0:
    wp.launch(halve, dim=2, inputs=[v], device="cpu")
    os._exit(0)
os.waitpid(child, 0)
wp.launch(alone, dim=3, inputs=[v], device="cpu")
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
""",
    )
    assert run.exit_status == -9
    parent, child = run.processes
    assert not parent.ended and child.ended
    assert [parent.launches.signatures[number].kernel.key for number in parent.launches.sequence] == ["bump", "alone"]
    assert [child.launches.signatures[number].kernel.key for number in child.launches.sequence] == ["halve"]
    assert {load.outcome for load in child.loads} == {"inherited"}
    ran = next(load for load in child.loads if load.id == child.launches.signatures[0].load)
    assert ran.module == "__main__"
    assert not child.errors and not parent.errors
    preloads = [load for load in parent.loads if load.paid_by and load.paid_by.line == 21]
    assert len(preloads) == 2
