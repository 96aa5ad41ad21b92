"""Kernels of the wave equation."""

from functools import cache

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def pluck(u: wp.array(dtype=float), u_old: wp.array(dtype=float), where: float):
    i = wp.tid()
    x = float(i) / float(u.shape[0] - 1)
    height = x / where
    if x > where:
        height = (1.0 - x) / (1.0 - where)
    u[i] = height
    u_old[i] = height


@wp.kernel
def tension_energy(u: wp.array(dtype=float), energy: wp.array(dtype=float)):
    i = wp.tid()
    stretch = u[i + 1] - u[i]
    energy[i] = 0.5 * stretch * stretch


@cache
def make_step(order: int):
    """Make the kernel of one leapfrog step with central differences of the given order (2 or 4)."""
    if order not in (2, 4):
        raise ValueError(f"no stencil of order {order}")
    reach = wp.constant(order // 2)

    # One kernel for each order, each in a module of its own: a new order leaves the compiled ones alone.
    @wp.kernel(module="unique", enable_backward=False)
    def step(
        u: wp.array(dtype=float),
        u_old: wp.array(dtype=float),
        u_new: wp.array(dtype=float),
        courant: float,
    ):
        i = wp.tid()
        laplacian = float(0.0)
        if i >= reach and i < u.shape[0] - reach:
            if wp.static(order == 4):
                laplacian = (-u[i - 2] + 16.0 * u[i - 1] - 30.0 * u[i] + 16.0 * u[i + 1] - u[i + 2]) / 12.0
            else:
                laplacian = u[i - 1] - 2.0 * u[i] + u[i + 1]
            u_new[i] = 2.0 * u[i] - u_old[i] + courant * courant * laplacian

    return step
