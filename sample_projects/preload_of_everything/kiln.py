"""Clay in a kiln: ``python kiln.py``."""

import numpy as np
import warp as wp

wp.config.print_launch = False

POTS = 128


@wp.kernel
def fire(heat: wp.array(dtype=float), flame: float):
    i = wp.tid()
    heat[i] = heat[i] + flame * (1.0 - 0.001 * float(i))


def main():
    # So that the first step does not stall.
    wp.force_load(device="cpu")
    heat = wp.zeros(POTS, dtype=float)
    for hour in range(10):
        wp.launch(fire, dim=POTS, inputs=[heat, 90.0])
    print(f"heat {heat.numpy().astype(np.float64).mean():.2f}")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
