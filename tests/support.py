"""Helpers for tests that are no fixtures: ``from support import ...``."""

from __future__ import annotations

import os

NO_CACHE = os.path.join(os.devnull, "none")
"""A folder that can't be: no scan is answered from the cache unless a test gives it one."""


def clean_environment(**changes: str) -> dict[str, str]:
    """The environment without what would let one test see another, or a user's own setup."""
    dropped = ("WARP_", "CUDA_CACHE", "WARPFIX_", "PYTEST_", "PYTHON", "COVERAGE_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    # No .pyc in copies of samples, no colour, plain widths.
    environment.update(PYTHONDONTWRITEBYTECODE="1", NO_COLOR="1", COLUMNS="120", LC_ALL="C.UTF-8")
    environment.update(WARPFIX_CACHE_DIR=NO_CACHE)
    environment.update(changes)
    return environment
