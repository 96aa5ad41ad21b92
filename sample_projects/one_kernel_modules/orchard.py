"""Trees through the seasons: ``python orchard.py``."""

import numpy as np
import warp as wp

TREES = 1024


@wp.kernel(module="orchard_spring")
def grow(wood: wp.array(dtype=float), light: float):
    i = wp.tid()
    wood[i] = wood[i] + light * (1.0 - wp.exp(-0.01 * float(i % 97)))


@wp.kernel(module="orchard_summer")
def bear(wood: wp.array(dtype=float), fruit: wp.array(dtype=float)):
    i = wp.tid()
    fruit[i] = fruit[i] + 0.1 * wp.sqrt(wood[i])


@wp.kernel(module="orchard_autumn")
def shed(wood: wp.array(dtype=float), fruit: wp.array(dtype=float)):
    i = wp.tid()
    wood[i] = wood[i] - 0.05 * fruit[i]
    fruit[i] = 0.5 * fruit[i]


# Drawn by another program too, which loads this module by its name.
@wp.kernel(module="orchard_map")
def shade(wood: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.tanh(wood[i])


def main():
    wood = wp.zeros(TREES, dtype=float)
    fruit = wp.zeros(TREES, dtype=float)
    shadow = wp.zeros(TREES, dtype=float)
    wp.load_module("orchard_map", device="cpu")
    for year in range(12):
        wp.launch(grow, dim=TREES, inputs=[wood, 0.5 + 0.1 * float(year % 3)])
        wp.launch(bear, dim=TREES, inputs=[wood, fruit])
        wp.launch(shed, dim=TREES, inputs=[wood, fruit])
    wp.launch(shade, dim=TREES, inputs=[wood, shadow])
    total = fruit.numpy().astype(np.float64).sum()
    print(f"fruit {total:.4f}, shadow {shadow.numpy().astype(np.float64).mean():.6f}")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
