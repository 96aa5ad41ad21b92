"""The stages of a particle step. Each factory makes the kernel of one stage.

A stage is compiled in a Warp module of its own unless the caller names another, so that a pipeline only pays for the
stages that it uses.
"""

import warp as wp

GRAVITY = wp.constant(wp.vec3(0.0, -9.81, 0.0))
FLOOR = wp.constant(0.0)


def use_fast_math():
    """Trade accuracy for speed once the fountain has settled."""
    wp.set_module_options({"fast_math": True})


@wp.kernel(module="unique")
def place(position: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3)):
    """Put the particles on a ring around the nozzle, on their way up."""
    i = wp.tid()
    angle = 2.0 * wp.pi * float(i) / float(position.shape[0])
    position[i] = wp.vec3(0.3 * wp.cos(angle), 0.0, 0.3 * wp.sin(angle))
    velocity[i] = wp.vec3(0.2 * wp.cos(3.0 * angle), 4.0 + wp.sin(angle), 0.2 * wp.sin(3.0 * angle))


def make_gravity(module="unique"):
    @wp.kernel(module=module)
    def apply_gravity(velocity: wp.array(dtype=wp.vec3), dt: float):
        i = wp.tid()
        velocity[i] = velocity[i] + GRAVITY * dt

    return apply_gravity


def make_drag(module="unique"):
    # Quadratic drag, integrated implicitly: never turns a particle around, whatever the step.
    @wp.kernel(module=module)
    def apply_drag(velocity: wp.array(dtype=wp.vec3), coefficient: float, dt: float):
        i = wp.tid()
        v = velocity[i]
        velocity[i] = v / (1.0 + coefficient * wp.length(v) * dt)

    return apply_drag


def make_vortex(module="unique"):
    @wp.func
    def swirl(p: wp.vec3, strength: float) -> wp.vec3:
        r = wp.sqrt(p[0] * p[0] + p[2] * p[2])
        falloff = wp.exp(-r * r) * strength
        return wp.vec3(-p[2] * falloff, 0.0, p[0] * falloff)

    @wp.kernel(module=module)
    def apply_vortex(
        position: wp.array(dtype=wp.vec3),
        velocity: wp.array(dtype=wp.vec3),
        strength: float,  # 1/s^2
        dt: float,
    ):
        i = wp.tid()
        velocity[i] = velocity[i] + swirl(position[i], strength) * dt

    return apply_vortex


def make_integrator(module="unique"):
    @wp.kernel(module=module)
    def integrate(position: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), dt: float):
        """Symplectic Euler: the velocity is that of the end of the step."""
        i = wp.tid()
        position[i] = position[i] + velocity[i] * dt

    return integrate


def make_floor(module="unique"):
    @wp.kernel(module=module)
    def bounce(position: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), restitution: float):
        i = wp.tid()
        p = position[i]
        v = velocity[i]
        if p[1] < FLOOR:
            position[i] = wp.vec3(p[0], 2.0 * FLOOR - p[1], p[2])
            velocity[i] = wp.vec3(v[0], -restitution * v[1], v[2])

    return bounce


def make_recycler(module="unique"):
    # A particle that left the basin starts again in the nozzle.
    @wp.kernel(module=module)
    def recycle(
        position: wp.array(dtype=wp.vec3),
        velocity: wp.array(dtype=wp.vec3),
        nozzle_velocity: wp.vec3,
        radius: float,
    ):
        i = wp.tid()
        p = position[i]
        if p[0] * p[0] + p[2] * p[2] > radius * radius:
            position[i] = wp.vec3(0.0, 0.0, 0.0)
            velocity[i] = nozzle_velocity

    return recycle


def make_energy(module="unique"):
    @wp.kernel(module=module)
    def kinetic_energy(velocity: wp.array(dtype=wp.vec3), energy: wp.array(dtype=float)):
        i = wp.tid()
        energy[i] = 0.5 * wp.dot(velocity[i], velocity[i])

    return kinetic_energy
