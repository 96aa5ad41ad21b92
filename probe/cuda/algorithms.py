"""Warp's own algorithms on arrays (scans, sorts, trees, grids, volumes): the host's answer for the device's.

``wp_X_device`` and ``wp_X_host`` take the same arguments, but that those that make something take the context first.
"""

import ctypes

from .values import CURRENT_STREAM, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_NOW = ("_create_", "_destroy_", "_from_tiles_", "_from_active_voxels_", "_get_")
"""What makes, destroys or reads something is done at once, in a capture too."""
_CONSTRUCTORS = {"wp_bvh_create_device": 3, "wp_mesh_create_device": 6}
"""Where the constructor of the tree stands among the host's arguments."""
_LBVH, _SAH, _CUBQL = 2, 0, -1


class Algorithms:
    """Finds the host's counterpart of a device's entry point."""

    def __init__(self, driver):
        # type: (Any) -> None
        self.driver = driver
        self.cubql = set()  # type: set[int]

    def answer(self, entry):
        # type: (Any) -> Any
        """A function for ``entry``, or None where the host has none."""
        name = entry.name
        if name == "wp_bvh_rebuild_device":
            # The host asks for the constructor besides.
            host = self.driver.real.wp_bvh_rebuild_host
            return lambda tree: self._run(name, entry, host, (tree, _CUBQL if number(tree) in self.cubql else _SAH))
        if name.startswith(("wp_cuda_", "wp_deterministic_")) or not name.endswith("_device"):
            return None
        host = getattr(self.driver.real, name[: -len("_device")] + "_host", None)
        if host is None:
            return None

        def run(*args):
            # type: (Any) -> Any
            more = len(entry.argtypes or ()) - len(host.argtypes or ())
            if more not in (0, 1):
                # Of the same name, and another thing: textures.
                raise self.driver.deviations.unsupported(name)
            args = args[more:]
            return self._run(name, entry, host, args)

        return run

    def _run(self, name, entry, host, args):
        # type: (str, Any, Any, Any) -> Any
        position = _CONSTRUCTORS.get(name)
        if position is not None and args[position] == _LBVH:
            # The parallel constructor is the device's alone: another tree, so another order of what a query finds.
            args = args[:position] + (_SAH,) + args[position + 1 :]
            self.driver.deviations.note("tree", name)
        elif name == "wp_bvh_rebuild_device" or (position is not None and args[position] == _CUBQL):
            self.driver.deviations.note("tree", name)
        streams = self.driver.streams
        if streams.capture(CURRENT_STREAM) is None or any(part in name for part in _NOW):
            result = host(*args)
            if name == "wp_bvh_create_device" and args[_CONSTRUCTORS[name]] == _CUBQL:
                # It is rebuilt by the library that built it.
                self.cubql.add(number(result))
            elif name == "wp_bvh_destroy_device":
                self.cubql.discard(number(args[0]))
        else:
            streams.do(CURRENT_STREAM, lambda: host(*args))
            result = None
        if host.restype in (None, ctypes.c_bool) or result is None:
            # The device's says whether it succeeded where the host's can't fail.
            return True if result is None else result
        return result
