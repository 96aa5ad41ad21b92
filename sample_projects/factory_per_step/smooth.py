"""Smooth a noisy signal on a ring: ``python smooth.py``."""

import numpy as np
import warp as wp

COUNT = 2048


def make_smooth(width):
    """A kernel that averages over ``width`` neighbours on either side."""

    @wp.kernel(module="unique")
    def smooth(source: wp.array(dtype=float), target: wp.array(dtype=float)):
        i = wp.tid()
        n = source.shape[0]
        total = source[i]
        weight = float(1.0)
        for k in range(wp.static(width)):
            w = wp.exp(-0.5 * float(k + 1))
            total += w * (source[(i + k + 1) % n] + source[(i + n - k - 1) % n])
            weight += 2.0 * w
        target[i] = total / weight

    return smooth


def step(a, b, width):
    wp.launch(make_smooth(width), dim=COUNT, inputs=[a, b])
    wp.launch(make_smooth(1), dim=COUNT, inputs=[b, a])


def main():
    signal = np.sin(np.linspace(0.0, 12.0 * np.pi, COUNT, endpoint=False))
    noise = np.sin(np.arange(COUNT, dtype=np.float64) ** 2)
    a = wp.array(signal + 0.3 * noise, dtype=float)
    b = wp.zeros_like(a)
    for _ in range(100):
        step(a, b, 4)
    left = a.numpy().astype(np.float64)
    print(f"largest {left.max():.6f}, roughness {np.abs(np.diff(left)).sum():.6f}")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
