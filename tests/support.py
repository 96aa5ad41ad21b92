"""Helpers for tests that are no fixtures: ``from support import ...``."""

from __future__ import annotations

import os


def clean_environment(**changes: str) -> dict[str, str]:
    """The environment without what would let one test see another, or a user's own setup."""
    dropped = ("WARP_", "CUDA_CACHE", "WARPFIX_", "PYTEST_", "PYTHON", "COVERAGE_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    # No .pyc in copies of samples, no colour, plain widths.
    environment.update(PYTHONDONTWRITEBYTECODE="1", NO_COLOR="1", COLUMNS="120", LC_ALL="C.UTF-8")
    environment.update(changes)
    return environment
