"""Each sample through the whole loop, with real Warp: ``apply --verify``, judged from the outside.

The counts are those of each EXPECT.md. What the program built and launched is taken from Warp's own words and from a
recorder of ours around ``wp.launch``, not from warpfix's probe: the tool does not testify for itself.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from warpfix.cli import demo

pytestmark = [pytest.mark.warp, pytest.mark.slow]


def texts(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.py"))}


class Loop:
    """A copy of a sample, and what happens to it."""

    def __init__(self, name: str, folder: Path, observe, observe_original, run_cli) -> None:
        self.name, self.folder = name, folder
        self.command = demo.SAMPLES[name].command
        self._observe, self._observe_original, self._run_cli = observe, observe_original, run_cli
        self.original = texts(folder)

    def before(self):
        return self._observe_original(self.name)

    def observe(self):
        return self._observe(self.folder, self.command)

    def verify(self, *options: str):
        """Run ``apply --verify`` in the folder; return the process and the files whose bytes it changed."""
        before = texts(self.folder)
        result = self._run_cli("apply", "--verify", *options, "--", sys.executable, *self.command, cwd=self.folder)
        assert result.returncode in (0, 1), result.stdout + result.stderr
        after = texts(self.folder)
        assert before.keys() == after.keys()
        return result, sorted(name for name in after if after[name] != before[name])


@pytest.fixture
def loop(observe, observe_original, run_cli, copy_sample) -> Callable[[str], Loop]:
    return lambda name: Loop(name, copy_sample(name), observe, observe_original, run_cli)


def same_behaviour(before, after) -> None:
    assert after.output == before.output
    assert after.launches == before.launches
    assert after.warm_builds == 0
    # A build for each identity: nothing is built and thrown away.
    assert len(after.identities) == sum(after.builds.values())


def test_particle_stages(loop) -> None:
    sample = loop("particle_stages")
    before = sample.before()
    _, changed = sample.verify()
    assert changed == ["particle_stages/stages.py"]

    after = sample.observe()
    same_behaviour(before, after)
    assert (sum(before.builds.values()), sum(after.builds.values())) == (10, 4)
    # The plugins' modules, and the one that a caller names, are built exactly as before.
    kept = {identity for identity in before.identities if identity[0].startswith("plugin_force_")}
    assert len(kept) == 2 and kept <= after.identities
    assert after.builds["particle_stages.monitor"] == 1
    # One more, built once: the late fast_math reached the stages neither before nor after.
    (stable,) = set(after.builds) - {name for name, _ in kept} - {"particle_stages.monitor"}
    assert after.builds[stable] == 1

    _, changed = sample.verify()
    assert changed == []


def test_kernels_between_launches(loop) -> None:
    sample = loop("kernels_between_launches")
    before = sample.before()
    assert before.builds == {"heat.solver": 3, "__main__": 2}
    _, changed = sample.verify()
    assert changed == ["heat/solver.py", "run.py"]

    after = sample.observe()
    same_behaviour(before, after)
    assert after.builds == {"heat.solver": 1, "__main__": 1}

    _, changed = sample.verify()
    assert changed == []


def test_kernels_between_launches_static(loop, run_cli) -> None:
    """Without a measurement only what is safe is written: the file that creates its Warp module on import anyway."""
    sample = loop("kernels_between_launches")
    result = run_cli("apply", cwd=sample.folder)
    assert result.returncode in (0, 1), result.stderr
    edited = texts(sample.folder)
    assert [name for name in edited if edited[name] != sample.original[name]] == ["heat/solver.py"]
    assert sample.observe().builds == {"heat.solver": 1, "__main__": 2}

    run_cli("apply", cwd=sample.folder)
    assert texts(sample.folder) == edited


def test_late_module_options(loop) -> None:
    sample = loop("late_module_options")
    before = sample.before()
    assert before.builds == {"__main__": 2}
    _, changed = sample.verify()
    assert changed == ["pendulums.py"]

    after = sample.observe()
    same_behaviour(before, after)
    assert after.builds == {"__main__": 1}

    _, changed = sample.verify()
    assert changed == []


def test_late_config_is_reported_and_left(loop) -> None:
    sample = loop("late_config")
    result, changed = sample.verify()
    assert changed == []
    assert "run.py:9" in result.stdout and "late-config" in result.stdout


def test_late_config_moves_when_asked(loop) -> None:
    sample = loop("late_config")
    before = sample.before()
    _, changed = sample.verify("--select", "late-config")
    assert changed == ["run.py"]

    after = sample.observe()
    same_behaviour(before, after)
    assert before.builds == after.builds == {"channel.kernels": 1}
    assert after.generated_bytes < before.generated_bytes / 2
    lines = (sample.folder / "run.py").read_text(encoding="utf-8").splitlines()
    moved = lines.index("wp.config.enable_backward = False")
    assert lines.index("import warp as wp") < moved < lines.index("from channel import kernels")

    _, changed = sample.verify("--select", "late-config")
    assert changed == []


def test_lost_cache(loop) -> None:
    sample = loop("lost_cache")
    before = sample.before()
    assert (before.builds, before.warm_builds) == ({"__main__": 1}, 1)
    _, changed = sample.verify()
    assert changed == ["orbits.py"]
    assert "clear_kernel_cache" not in (sample.folder / "orbits.py").read_text(encoding="utf-8")

    after = sample.observe()
    same_behaviour(before, after)
    assert (after.builds, after.identities) == (before.builds, before.identities)

    _, changed = sample.verify()
    assert changed == []


def test_lost_cache_static(loop, run_cli) -> None:
    """The removed flag is mended from the source; the lost cache is for a measurement to show."""
    sample = loop("lost_cache")
    result = run_cli("apply", cwd=sample.folder)
    assert result.returncode == 0, result.stderr
    old = sample.original["orbits.py"].decode()
    new = old.replace("wp.config.quiet = True", "wp.config.log_level = wp.LOG_WARNING")
    assert texts(sample.folder)["orbits.py"].decode() == new


def test_factory_per_step(loop) -> None:
    sample = loop("factory_per_step")
    before = sample.before()
    _, changed = sample.verify("--select", "backward-unused")
    assert changed == ["smooth.py"]
    after = sample.observe()
    same_behaviour(before, after)
    assert 2 * after.generated_bytes < before.generated_bytes


def test_factory_per_step_memoised(loop) -> None:
    """No build is saved, and nothing of what is generated: 200 kernels made become two."""
    sample = loop("factory_per_step")
    before = sample.before()
    result, changed = sample.verify()
    assert changed == ["smooth.py"]
    made = re.search(r"kernels made (\d+) -> (\d+)", result.stdout)
    assert made is not None and int(made[1]) - int(made[2]) == 198
    old = sample.original["smooth.py"].decode()
    new = old.replace("import numpy", "import functools\n\nimport numpy").replace(
        "def make", "@functools.cache\ndef make"
    )
    assert texts(sample.folder)["smooth.py"].decode() == new
    after = sample.observe()
    same_behaviour(before, after)
    assert after.identities == before.identities


def test_variants_in_a_shared_module(loop) -> None:
    sample = loop("variants_in_a_shared_module")
    before = sample.before()
    result, changed = sample.verify("--ignore", "backward-unused")
    assert changed == ["pond.py"]
    assert "forward and backward kernels built 15 -> 6" in " ".join(result.stdout.split())
    old = sample.original["pond.py"].decode()
    options = '{"enable_backward": False, "max_unroll": 4}'
    new = old.replace("    @wp.kernel\n", f'    @wp.kernel(module="unique", module_options={options})\n')
    assert texts(sample.folder)["pond.py"].decode() == new
    after = sample.observe()
    same_behaviour(before, after)
    assert before.builds == {"__main__": 4}
    assert after.builds["__main__"] == 1 and sum(after.builds.values()) == 4
    assert 3 * after.generated_bytes < 2 * before.generated_bytes


def test_one_kernel_modules(loop) -> None:
    sample = loop("one_kernel_modules")
    before = sample.before()
    _, changed = sample.verify("--ignore", "backward-unused")
    assert changed == ["orchard.py"]
    old = sample.original["orchard.py"].decode()
    assert texts(sample.folder)["orchard.py"].decode() == re.sub(
        r'@wp.kernel\(module="orchard_(spring|summer|autumn)"\)', "@wp.kernel", old
    )
    after = sample.observe()
    same_behaviour(before, after)
    assert after.builds == {"__main__": 1, "orchard_map": 1}


def test_clean(loop) -> None:
    sample = loop("clean")
    result, changed = sample.verify()
    assert (result.returncode, changed) == (0, [])
    assert sum(sample.before().builds.values()) == 3


def test_types_one_by_one(loop) -> None:
    sample = loop("types_one_by_one")
    before = sample.before()
    assert before.builds == {"__main__": 4}
    _, changed = sample.verify()
    assert changed == ["loom.py"]
    assert (sample.folder / "loom.py").read_text(encoding="utf-8").count("\nwp.overload(\n    blend,\n") == 3

    after = sample.observe()
    same_behaviour(before, after)
    assert after.builds == {"__main__": 1}

    _, changed = sample.verify()
    assert changed == []


def test_two_block_dims(loop) -> None:
    sample = loop("two_block_dims")
    before = sample.before()
    assert before.builds == {"__main__": 2}
    result, changed = sample.verify()
    assert changed == ["tides.py"]
    assert "built 12 -> 6" in " ".join(result.stdout.split())
    old = sample.original["tides.py"].decode()
    new = old.replace("@wp.kernel\ndef basin", '@wp.kernel(module="tides.block32")\ndef basin')
    assert texts(sample.folder)["tides.py"].decode() == new

    after = sample.observe()
    same_behaviour(before, after)
    assert after.builds == {"__main__": 1, "tides.block32": 1}


def test_preload_of_everything(loop, run_cli) -> None:
    sample = loop("preload_of_everything")
    before = sample.before()
    assert before.builds["__main__"] == 1 and sum(before.builds.values()) > 2
    _, changed = sample.verify()
    assert changed == ["kiln.py"]
    old = sample.original["kiln.py"].decode()
    new = old.replace('device="cpu")\n    heat', 'device="cpu", modules=[wp.get_module(__name__)])\n    heat')
    assert texts(sample.folder)["kiln.py"].decode() == new

    after = sample.observe()
    same_behaviour(before, after)
    assert after.builds == {"__main__": 1}

    result = run_cli("apply", "--select", "unknown-option", "--unsafe-fixes", cwd=sample.folder)
    assert result.returncode == 0, result.stderr
    assert texts(sample.folder)["kiln.py"].decode() == new.replace("print_launch =", "print_launches =")
