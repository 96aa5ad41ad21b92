"""A field of damped pendulums that start at different angles: ``python pendulums.py``."""

import numpy as np
import warp as wp

COUNT = 1024
DT = 0.005
GRAVITY = wp.constant(9.81)
LENGTH = wp.constant(0.75)


@wp.kernel
def spread(angle: wp.array(dtype=float), rate: wp.array(dtype=float), widest: float):
    i = wp.tid()
    angle[i] = widest * (2.0 * float(i) / float(angle.shape[0] - 1) - 1.0)
    rate[i] = 0.0


@wp.func
def acceleration(theta: float, omega: float, damping: float) -> float:
    return -GRAVITY / LENGTH * wp.sin(theta) - damping * omega


@wp.kernel
def swing(angle: wp.array(dtype=float), rate: wp.array(dtype=float), damping: float, dt: float):
    i = wp.tid()
    omega = rate[i] + acceleration(angle[i], rate[i], damping) * dt
    rate[i] = omega
    angle[i] = angle[i] + omega * dt


@wp.kernel
def measure_energy(angle: wp.array(dtype=float), rate: wp.array(dtype=float), energy: wp.array(dtype=float)):
    i = wp.tid()
    v = LENGTH * rate[i]
    energy[i] = 0.5 * v * v + GRAVITY * LENGTH * (1.0 - wp.cos(angle[i]))


def report(step, angle, rate):
    energy = wp.zeros(COUNT, dtype=float)
    wp.launch(measure_energy, dim=COUNT, inputs=[angle, rate, energy])
    mean = float(np.mean(energy.numpy(), dtype=np.float64))
    print(f"t = {step * DT:.2f} s: mean energy {mean:.8f} J/kg")


def main():
    angle = wp.zeros(COUNT, dtype=float)
    rate = wp.zeros(COUNT, dtype=float)
    wp.launch(spread, dim=COUNT, inputs=[angle, rate, 2.5])

    # Nothing here is differentiated.
    wp.set_module_options({"enable_backward": False})

    report(0, angle, rate)
    for step in range(1, 401):
        wp.launch(swing, dim=COUNT, inputs=[angle, rate, 0.3, DT])
        if step % 200 == 0:
            report(step, angle, rate)


if __name__ == "__main__":
    with wp.ScopedDevice("cpu"):
        main()
