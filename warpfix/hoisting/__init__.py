"""Decide which closure kernels may move to module scope, where to, and under which name; and say why others may not.

One :class:`Hoister` serves a whole project. For each file it yields one :class:`Verdict` per closure kernel:
specialised (what it captures varies), or stable and then either a complete set of edits or the reason why there is
none. Nothing here is guessed: what can't be proved from the source is declined in words.

One file for each question: ``needs`` (what it captures), ``values`` (whether that varies), ``definitions`` (whether it
may stand elsewhere), ``outer_names`` (whether what it reads is there at import), ``reached``
(what the functions read that it calls), ``uses`` (who sees that it moved),
``landing`` (which Warp module), ``places`` and ``naming`` (where and under which name). ``planner`` asks them.
"""

from warpfix.hoisting.facts import kernel_key
from warpfix.hoisting.landing import UniqueKernel, alone_in_named_modules, sharers, unique_at_module_scope
from warpfix.hoisting.model import SNAPSHOT_OPTIONS, Capture, Landing, Verdict
from warpfix.hoisting.project import Hoister, hoister_for, lowest_warp

__all__ = [
    "SNAPSHOT_OPTIONS",
    "Capture",
    "Hoister",
    "Landing",
    "UniqueKernel",
    "Verdict",
    "alone_in_named_modules",
    "hoister_for",
    "kernel_key",
    "lowest_warp",
    "sharers",
    "unique_at_module_scope",
]
