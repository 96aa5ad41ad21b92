"""Explicit finite differences for the heat equation in one dimension."""

import warp as wp

AMBIENT = wp.constant(293.15)


@wp.kernel
def conduct(t: wp.array(dtype=float), t_next: wp.array(dtype=float), fourier: float):
    i = wp.tid()
    left = wp.max(i - 1, 0)
    right = wp.min(i + 1, t.shape[0] - 1)
    t_next[i] = t[i] + fourier * (t[left] - 2.0 * t[i] + t[right])


@wp.kernel
def fix_ends(t: wp.array(dtype=float)):
    t[0] = AMBIENT
    t[t.shape[0] - 1] = AMBIENT


class Rod:
    """A rod of ``cells`` cells between two walls at ambient temperature."""

    def __init__(self, cells, fourier=0.4):
        self.cells = cells
        self.fourier = fourier
        self.temperature = wp.full(cells, AMBIENT, dtype=float)
        self.scratch = wp.zeros(cells, dtype=float)

    def conduct(self):
        wp.launch(conduct, dim=self.cells, inputs=[self.temperature, self.scratch, self.fourier])
        self.temperature, self.scratch = self.scratch, self.temperature
        wp.launch(fix_ends, dim=1, inputs=[self.temperature])

    def heat(self, centre, power):
        """Add the heat of a laser spot around the cell ``centre``."""

        # Gaussian spot, three cells wide.
        @wp.kernel
        def add_spot(t: wp.array(dtype=float), centre: float, power: float):
            i = wp.tid()
            d = (float(i) - centre) / 3.0
            t[i] = t[i] + power * wp.exp(-d * d)

        wp.launch(add_spot, dim=self.cells, inputs=[self.temperature, centre, power])

    def cool(self, rate):
        """Lose heat to the surroundings along the whole rod."""

        @wp.kernel
        def lose_heat(t: wp.array(dtype=float), rate: float):
            i = wp.tid()
            t[i] = t[i] - rate * (t[i] - AMBIENT)

        wp.launch(lose_heat, dim=self.cells, inputs=[self.temperature, rate])
