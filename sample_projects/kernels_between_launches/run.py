"""Move a laser along the rod and print how it warms: ``python run.py``."""

import numpy as np
import warp as wp

from heat.solver import Rod

CELLS = 256
STEPS = 200


def hottest(rod):
    """Return the highest temperature of the rod in kelvin."""

    @wp.kernel
    def reduce_max(t: wp.array(dtype=float), result: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_max(result, 0, t[i])

    result = wp.zeros(1, dtype=float)
    wp.launch(reduce_max, dim=rod.cells, inputs=[rod.temperature, result])
    return float(result.numpy()[0])


def flux(rod):
    """Return the temperature differences between neighbouring cells in kelvin."""

    @wp.kernel
    def difference(t: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = t[i + 1] - t[i]

    out = wp.zeros(rod.cells - 1, dtype=float)
    wp.launch(difference, dim=rod.cells - 1, inputs=[rod.temperature, out])
    return out.numpy()


def main():
    rod = Rod(CELLS)
    for step in range(STEPS):
        rod.conduct()
        rod.heat(centre=20.0 + step, power=4.0 + 0.02 * step)
        rod.cool(rate=0.002)
        if step % 50 == 49:
            gradient = float(np.max(np.abs(flux(rod))))
            print(f"step {step + 1}: hottest {hottest(rod):.6f} K, steepest {gradient:.6f} K/cell")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
