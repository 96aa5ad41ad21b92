"""A cloud of test masses around two stars that circle each other: ``python orbits.py``."""

import math

import numpy as np
import warp as wp

wp.config.quiet = True
wp.config.enable_backward = False

COUNT = 1500
DT = 0.002
SEPARATION = wp.constant(1.0)
SOFTENING = wp.constant(0.05)


@wp.func
def pull(p: wp.vec2, star: wp.vec2) -> wp.vec2:
    d = star - p
    r2 = wp.dot(d, d) + SOFTENING * SOFTENING
    return d / (r2 * wp.sqrt(r2))


@wp.kernel
def scatter(position: wp.array(dtype=wp.vec2), velocity: wp.array(dtype=wp.vec2)):
    """Circular orbits around both stars, further out with each mass."""
    i = wp.tid()
    fraction = float(i) / float(position.shape[0])
    radius = 2.0 + 2.0 * fraction
    angle = 40.0 * fraction
    speed = wp.sqrt(2.0 / radius)
    position[i] = wp.vec2(radius * wp.cos(angle), radius * wp.sin(angle))
    velocity[i] = wp.vec2(-speed * wp.sin(angle), speed * wp.cos(angle))


@wp.kernel
def kick_and_drift(
    position: wp.array(dtype=wp.vec2),
    velocity: wp.array(dtype=wp.vec2),
    phase: float,
    dt: float,
):
    i = wp.tid()
    p = position[i]
    star = 0.5 * SEPARATION * wp.vec2(wp.cos(phase), wp.sin(phase))
    v = velocity[i] + (pull(p, star) + pull(p, -star)) * dt
    velocity[i] = v
    position[i] = p + v * dt


def main():
    wp.init()
    wp.clear_kernel_cache()

    position = wp.zeros(COUNT, dtype=wp.vec2)
    velocity = wp.zeros(COUNT, dtype=wp.vec2)
    wp.launch(scatter, dim=COUNT, inputs=[position, velocity])
    rate = math.sqrt(2.0)  # of two unit masses at unit distance
    for step in range(1, 1001):
        wp.launch(kick_and_drift, dim=COUNT, inputs=[position, velocity, rate * step * DT, DT])
        if step % 250 == 0:
            radius = np.linalg.norm(position.numpy().astype(np.float64), axis=1)
            print(f"t = {step * DT:.1f}: mean radius {radius.mean():.7f}, widest {radius.max():.7f}")


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
