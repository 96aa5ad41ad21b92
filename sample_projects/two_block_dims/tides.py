"""Water that rises and mixes, summed in blocks: ``python tides.py``."""

import numpy as np
import warp as wp

# As on CUDA, a block is a block.
wp.config.enable_cpu_blocks = True

CELLS = 256


@wp.kernel
def rise(level: wp.array(dtype=float), moon: float):
    i = wp.tid()
    level[i] = level[i] + moon * wp.sin(0.05 * float(i))


@wp.kernel
def mix(level: wp.array(dtype=float)):
    i = wp.tid()
    level[i] = 0.9 * level[i] + 0.1


@wp.kernel
def basin(level: wp.array(dtype=float), sums: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(sums, i / 64, level[i])


def main():
    level = wp.zeros(CELLS, dtype=float)
    sums = wp.zeros(CELLS // 64, dtype=float)
    for hour in range(6):
        wp.launch(rise, dim=CELLS, inputs=[level, 0.2], block_dim=64)
        wp.launch(mix, dim=CELLS, inputs=[level], block_dim=64)
    wp.launch(basin, dim=CELLS, inputs=[level, sums], block_dim=32)
    print(f"level {level.numpy().astype(np.float64).mean():.4f}, basins {sums.numpy().astype(np.float64).sum():.3f}")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
