"""Blend two threads in several precisions: ``python loom.py``."""

from typing import Any

import numpy as np
import warp as wp

KNOTS = 256


@wp.kernel
def spin(thread: wp.array(dtype=float)):
    i = wp.tid()
    thread[i] = wp.sin(0.1 * float(i))


@wp.kernel
def blend(warp: wp.array(dtype=Any), weft: wp.array(dtype=Any), share: Any, knots: int):
    i = wp.tid()
    warp[i] = warp[i] * share + weft[(i + 1) % knots]


def main():
    thread = wp.zeros(KNOTS, dtype=float)
    wp.launch(spin, dim=KNOTS, inputs=[thread])
    print(f"thread {thread.numpy().astype(np.float64).sum():.5f}")
    for dtype, scalar in ((wp.float32, wp.float32), (wp.float64, wp.float64), (wp.vec3, wp.float32)):
        warp = wp.ones(KNOTS, dtype=dtype)
        weft = wp.ones(KNOTS, dtype=dtype)
        for row in range(8):
            wp.launch(blend, dim=KNOTS, inputs=[warp, weft, scalar(0.5), KNOTS])
        print(f"cloth {warp.numpy().astype(np.float64).mean():.5f}")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
