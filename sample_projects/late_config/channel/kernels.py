"""Kernels that carry tracers along a channel."""

import warp as wp

HALF_WIDTH = wp.constant(1.0)
AMPLITUDE = wp.constant(0.15)


@wp.func
def wall(x: float) -> float:
    """Half the width of the channel at ``x``."""
    return HALF_WIDTH + AMPLITUDE * wp.sin(2.0 * x)


@wp.func
def flow(p: wp.vec2) -> wp.vec2:
    # Parabolic profile; the sideways part follows the wall so that no tracer leaves.
    h = wall(p[0])
    eta = p[1] / h
    u = 1.5 * (1.0 - eta * eta) / h
    slope = 2.0 * AMPLITUDE * wp.cos(2.0 * p[0])
    return wp.vec2(u, u * eta * slope)


@wp.kernel
def seed(position: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    fraction = (float(i) + 0.5) / float(position.shape[0])
    position[i] = wp.vec2(0.0, (2.0 * fraction - 1.0) * wall(0.0))


@wp.kernel
def carry(position: wp.array(dtype=wp.vec2), dt: float):
    """One step of the midpoint rule."""
    i = wp.tid()
    p = position[i]
    middle = p + flow(p) * (0.5 * dt)
    position[i] = p + flow(middle) * dt
