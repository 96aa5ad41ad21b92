"""The one place that holds warpfix's version."""

__version__ = "0.1.0"
