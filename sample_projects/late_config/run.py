"""Follow tracers through the channel: ``python run.py``."""

import numpy as np
import warp as wp

from channel import kernels

# Tracers are never differentiated: leave the adjoint code out.
wp.config.enable_backward = False

COUNT = 2048
DT = 0.02


def main():
    position = wp.zeros(COUNT, dtype=wp.vec2)
    wp.launch(kernels.seed, dim=COUNT, inputs=[position])
    for step in range(1, 301):
        wp.launch(kernels.carry, dim=COUNT, inputs=[position, DT])
        if step % 100 == 0:
            x, y = np.mean(np.abs(position.numpy()), axis=0, dtype=np.float64)
            print(f"t = {step * DT:.1f} s: mean distance {x:.7f}, mean offset {y:.7f}")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
