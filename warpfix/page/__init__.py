"""The page of a measurement: one HTML file with everything in it, which asks the network for nothing."""

from __future__ import annotations

from warpfix.page.render import Comparison, page, write_page

__all__ = ["Comparison", "page", "write_page"]
