"""Median, spread and the noise band: what two arms of a measurement may be told apart by."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

NOISE_SHARE = 0.01
"""Differences below one per cent are never taken for an effect."""

TIME_SAMPLES = 3
"""Below so many samples of each version a difference of time is no evidence: two agree by chance."""


@dataclass(frozen=True)
class Summary:
    """Raw samples with their median and their median absolute deviation (MAD), in the unit of the samples."""

    samples: tuple[float, ...]
    median: float
    mad: float

    @property
    def band(self) -> float:
        """Half width of the noise band around the median: ``max(1 %, 2 MAD)``."""
        return max(NOISE_SHARE * abs(self.median), 2 * self.mad)


def summarise(samples: Sequence[float]) -> Summary:
    """Median and MAD of samples; zeros for none."""
    if not samples:
        return Summary((), 0.0, 0.0)
    median = statistics.median(samples)
    mad = statistics.median(abs(sample - median) for sample in samples)
    return Summary(tuple(samples), median, mad)


def differs(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether two arms differ beyond the noise of both. One sample per arm has no spread and proves nothing."""
    if len(before) < 2 or len(after) < 2:
        return False
    one, two = summarise(before), summarise(after)
    return abs(one.median - two.median) > max(one.band, two.band)
