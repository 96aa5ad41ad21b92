"""Ripples on a pond and their blurred heights: ``python pond.py``."""

import numpy as np
import warp as wp

# The picture is only looked at: no gradients, and small code.
wp.set_module_options({"enable_backward": False, "max_unroll": 4})

SIZE = 48


@wp.kernel
def drop(height: wp.array2d(dtype=float), x: int, y: int, amount: float):
    """A drop falls in."""
    i, j = wp.tid()
    d = float((i - x) * (i - x) + (j - y) * (j - y))
    height[i, j] = height[i, j] + amount * wp.exp(-0.2 * d)


@wp.kernel
def spread(height: wp.array2d(dtype=float), speed: wp.array2d(dtype=float), dt: float):
    """Each cell is pulled towards its neighbours."""
    i, j = wp.tid()
    left, right = wp.max(i - 1, 0), wp.min(i + 1, height.shape[0] - 1)
    down, up = wp.max(j - 1, 0), wp.min(j + 1, height.shape[1] - 1)
    pull = height[left, j] + height[right, j] + height[i, down] + height[i, up] - 4.0 * height[i, j]
    speed[i, j] = 0.99 * (speed[i, j] + pull * dt)


@wp.kernel
def move(height: wp.array2d(dtype=float), speed: wp.array2d(dtype=float), dt: float):
    i, j = wp.tid()
    height[i, j] = height[i, j] + speed[i, j] * dt


def make_blur(radius):
    """A kernel that averages over a window of ``radius`` cells on either side."""

    @wp.kernel
    def blur(height: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
        i, j = wp.tid()
        total = float(0.0)
        for a in range(wp.static(2 * radius + 1)):
            for b in range(wp.static(2 * radius + 1)):
                x = wp.clamp(i + a - wp.static(radius), 0, height.shape[0] - 1)
                y = wp.clamp(j + b - wp.static(radius), 0, height.shape[1] - 1)
                total += height[x, y]
        out[i, j] = total / float(wp.static((2 * radius + 1) * (2 * radius + 1)))

    return blur


def main():
    height = wp.zeros((SIZE, SIZE), dtype=float)
    speed = wp.zeros((SIZE, SIZE), dtype=float)
    blurred = wp.zeros((SIZE, SIZE), dtype=float)
    wp.launch(drop, dim=height.shape, inputs=[height, 16, 20, 1.0])
    for radius in (1, 2, 3):
        for _ in range(40):
            wp.launch(spread, dim=height.shape, inputs=[height, speed, 0.4])
            wp.launch(move, dim=height.shape, inputs=[height, speed, 0.4])
        wp.launch(make_blur(radius), dim=height.shape, inputs=[height, blurred])
        values = blurred.numpy().astype(np.float64)
        print(f"window {2 * radius + 1}: from {values.min():.5f} to {values.max():.5f}")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
