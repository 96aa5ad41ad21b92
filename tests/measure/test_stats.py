from __future__ import annotations

from warpfix.measure.stats import differs, summarise


def test_no_samples() -> None:
    assert summarise([]).median == 0.0


def test_one_sample_proves_nothing() -> None:
    assert not differs([100.0], [50.0])


def test_equal_samples_have_a_band_of_one_per_cent() -> None:
    summary = summarise([100.0, 100.0, 100.0])
    assert (summary.median, summary.mad, summary.band) == (100.0, 0.0, 1.0)


def test_the_band_is_twice_the_mad() -> None:
    assert summarise([90.0, 100.0, 110.0]).band == 20.0


def test_inside_the_noise_of_either_arm() -> None:
    assert not differs([100.0, 100.0, 100.0], [70.0, 90.0, 110.0])


def test_beyond_the_noise() -> None:
    assert differs([100.0, 101.0, 99.0], [50.0, 51.0, 49.0])
