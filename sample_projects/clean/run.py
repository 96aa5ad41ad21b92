"""Pluck a string and compare two stencils: ``python run.py``."""

import numpy as np
import warp as wp

from wave import kernels

POINTS = 401
COURANT = 0.5


def simulate(order, steps):
    """Return the string's shape after ``steps`` steps."""
    u, u_old, u_new = (wp.zeros(POINTS, dtype=float) for _ in range(3))
    wp.launch(kernels.pluck, dim=POINTS, inputs=[u, u_old, 0.3])
    step = kernels.make_step(order)
    for _ in range(steps):
        wp.launch(step, dim=POINTS, inputs=[u, u_old, u_new, COURANT])
        u_old, u, u_new = u, u_new, u_old
    return u


def main():
    for order in (2, 4):
        u = simulate(order, steps=300)
        energy = wp.zeros(POINTS - 1, dtype=float)
        wp.launch(kernels.tension_energy, dim=POINTS - 1, inputs=[u, energy])
        total = float(np.sum(energy.numpy(), dtype=np.float64))
        print(f"order {order}: middle {float(u.numpy()[POINTS // 2]):.7f}, stored energy {total:.9f}")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
