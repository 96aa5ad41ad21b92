"""The faults are there: what each sample builds before anything is mended, by Warp's own word (see its EXPECT.md)."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from warpfix.cli import demo

SAMPLES = Path(__file__).resolve().parents[2] / "sample_projects"

# Builds of a cold run, by Warp module; the hash in the name of a unique module is left out.
BUILDS = {
    "particle_stages": {
        "make_gravity__locals__apply_gravity": 1,
        "make_drag__locals__apply_drag": 1,
        "make_vortex__locals__apply_vortex": 1,
        "make_integrator__locals__integrate": 1,
        "make_floor__locals__bounce": 1,
        "make_recycler__locals__recycle": 1,
        "place": 1,
        "particle_stages.monitor": 1,
        "plugin_force": 2,
    },
    "kernels_between_launches": {"heat.solver": 3, "__main__": 2},
    "late_module_options": {"__main__": 2},
    "late_config": {"channel.kernels": 1},
    "lost_cache": {"__main__": 1},
    "factory_per_step": {"make_smooth__locals__smooth": 2},
    "variants_in_a_shared_module": {"__main__": 4},
    "one_kernel_modules": {"orchard_spring": 1, "orchard_summer": 1, "orchard_autumn": 1, "orchard_map": 1},
    "types_one_by_one": {"__main__": 4},
    "two_block_dims": {"__main__": 2},
    "preload_of_everything": {"__main__": 1, "warp.utils": 1, "warp.math": 1, "warp._src.coloring": 1},
    "clean": {"wave.kernels": 1, "make_step__locals__step": 2},
}


def test_every_sample_is_counted() -> None:
    assert sorted(BUILDS) == sorted(demo.SAMPLES)


@pytest.mark.warp
@pytest.mark.parametrize("name", BUILDS)
def test_builds(name: str, observe_original) -> None:
    seen = observe_original(name)
    plain: Counter[str] = Counter()
    for module, count in seen.builds.items():
        plain[re.sub(r"_[0-9a-f]{8}$", "", module)] += count
    assert plain == BUILDS[name]
    assert len(seen.identities) == sum(seen.builds.values())
    # Only where the cache is thrown away does a second run build again.
    assert seen.warm_builds == (1 if name == "lost_cache" else 0)
    assert seen.launches and seen.output
