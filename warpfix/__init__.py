"""warpfix: find why a program that uses NVIDIA Warp is slow to start, and mend it in the source, with proof."""

from ._version import __version__

__all__ = ["__version__"]
