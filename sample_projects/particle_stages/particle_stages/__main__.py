"""Run the fountain: ``python -m particle_stages``."""

import numpy as np
import warp as wp

from particle_stages import plugins, stages

COUNT = 512
DT = 1.0 / 120.0
NOZZLE = wp.vec3(0.6, 6.0, 0.2)

# What a user of the fountain would write in a scene file.
FORCES = {
    "breeze": "wp.vec3(0.4 * wp.sin(p[1]), 0.0, 0.1)",
    "spring": "-0.8 * wp.vec3(p[0], 0.0, p[2])",
}


class Fountain:
    """The particles and the stages that move them."""

    def __init__(self, count, forces):
        self.count = count
        self.position = wp.zeros(count, dtype=wp.vec3)
        self.velocity = wp.zeros(count, dtype=wp.vec3)
        self.energy = wp.zeros(count, dtype=float)
        wp.launch(stages.place, dim=count, inputs=[self.position, self.velocity])

        self.gravity = stages.make_gravity()
        self.drag = stages.make_drag()
        self.vortex = stages.make_vortex()
        self.integrator = stages.make_integrator()
        self.floor = stages.make_floor()
        self.recycler = stages.make_recycler()
        # Monitoring is compiled with the other monitoring kernels of the application.
        self.monitor = stages.make_energy(module="particle_stages.monitor")
        self.plugins = [plugins.compile_force(name, expression) for name, expression in forces.items()]

    def step(self):
        x, v = self.position, self.velocity
        wp.launch(self.gravity, dim=self.count, inputs=[v, DT])
        for plugin in self.plugins:
            wp.launch(plugin, dim=self.count, inputs=[x, v, DT])
        wp.launch(self.vortex, dim=self.count, inputs=[x, v, 1.5, DT])
        wp.launch(self.drag, dim=self.count, inputs=[v, 0.05, DT])
        wp.launch(self.integrator, dim=self.count, inputs=[x, v, DT])
        wp.launch(self.floor, dim=self.count, inputs=[x, v, 0.7])
        wp.launch(self.recycler, dim=self.count, inputs=[x, v, NOZZLE, 1.2])

    def report(self, label):
        wp.launch(self.monitor, dim=self.count, inputs=[self.velocity, self.energy])
        height = float(np.mean(self.position.numpy()[:, 1], dtype=np.float64))
        energy = float(np.mean(self.energy.numpy(), dtype=np.float64))
        print(f"{label}: mean height {height:.9f} m, kinetic energy {energy:.9f} J/kg")


def main():
    with wp.ScopedDevice("cpu"):
        fountain = Fountain(COUNT, FORCES)
        fountain.report("start")
        for _ in range(60):
            fountain.step()
        fountain.report("after 0.5 s")
        stages.use_fast_math()
        for _ in range(60):
            fountain.step()
        fountain.report("after 1.0 s")


if __name__ == "__main__":
    main()
