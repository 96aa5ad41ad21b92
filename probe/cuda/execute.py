"""Modules, kernels and launches: a launched kernel runs as the same kernel of the CPU twin of its module."""

import ctypes
import re
import threading

from .twin import MOST_THREADS
from .values import number, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_ENTRY = re.compile(r"^(?P<name>.+)_cuda_kernel_(?P<part>forward|backward)$")
_INVALID_VALUE = 1


_PATIENCE = 600.0


class Module:
    """A CUDA module that Warp loaded; its twin is told once the load is over."""

    def __init__(self, path):
        # type: (str) -> None
        self.path = path
        self.twin = None  # type: Any
        self.told = threading.Event()

    def tell(self, twin):
        # type: (Any) -> None
        """Name the twin."""
        self.twin = twin
        self.told.set()

    def layout(self, name):
        # type: (str) -> Any
        """How a kernel is called, or None where it is unknown."""
        self.told.wait(_PATIENCE)
        return self.twin.layouts.get(name)

    def code(self, name, part):
        # type: (str, str) -> Any
        """The twin's entry point. Another thread may still be making what the twin needs."""
        self.told.wait(_PATIENCE)
        return self.twin.code(name, part)


class Kernel:
    """An entry point of a module."""

    def __init__(self, module, name, part):
        # type: (Module, str, str) -> None
        self.module = module
        self.name = name
        self.part = part
        self.code = None  # type: Any


class Execution:
    """The entry points for modules, kernels and launches."""

    def __init__(self, driver):
        # type: (Any) -> None
        self.driver = driver
        self.modules = {}  # type: dict[int, Module]
        self.kernels = {}  # type: dict[int, Kernel]
        self.untold = 0

    def wp_cuda_load_module(self, context, path):
        # type: (Any, Any) -> int
        handle = int(self.driver.handle())
        self.modules[handle] = Module(path.decode("utf-8") if isinstance(path, bytes) else str(path))
        self.untold += 1
        return handle

    def wp_cuda_unload_module(self, context, handle):
        # type: (Any, Any) -> None
        module = self.modules.pop(number(handle), None)
        for key in [key for key, kernel in self.kernels.items() if kernel.module is module]:
            del self.kernels[key]

    def wp_cuda_get_kernel(self, context, module, name):
        # type: (Any, Any, Any) -> Any
        text = name.decode("utf-8")
        found = _ENTRY.match(text)
        handle = int(self.driver.handle())
        # Kernels with entry points of another kind are launched by other libraries, never by Warp.
        kernel, part = found.groups() if found is not None else (text, "forward")
        self.kernels[handle] = Kernel(self.modules[number(module)], kernel, part)
        return handle

    def wp_cuda_configure_kernel_shared_memory(self, kernel, size):
        # type: (Any, int) -> bool
        return number(size) <= int(self.driver.facts.wp_cuda_get_max_shared_memory(None))

    def wp_cuda_get_kernel_static_shared_memory(self, context, kernel):
        # type: (Any, Any) -> int
        return 0

    def wp_cuda_set_kernel_cluster_attrs(self, kernel, x, y, z):
        # type: (Any, int, int, int) -> bool
        return True

    def wp_cuda_get_max_cluster_dim(self, context, kernel, block_dim, shared):
        # type: (Any, Any, int, int) -> int
        return 8

    def wp_cuda_get_kernel_properties(self, context, kernel, values, count):
        # type: (Any, Any, Any, int) -> bool
        self.driver.deviations.note("properties", self.kernels[number(kernel)].name)
        for index in range(count):
            values[index] = 32 if index == 0 else 0
        return True

    def wp_cuda_get_suggested_block_size(self, context, kernel, shared, block_size, grid_size):
        # type: (Any, Any, int, Any, Any) -> bool
        entry = self.kernels[number(kernel)]
        self.driver.deviations.note("occupancy", entry.name)
        layout = entry.module.layout(entry.name)
        put(block_size, min(256, layout.threads) if layout is not None else 256)
        put(grid_size, 2 * self.driver.facts.wp_cuda_device_get_sm_count(0))
        return True

    def wp_cuda_launch_kernel(self, context, kernel, size, max_blocks, block_dim, *rest):
        # type: (Any, Any, Any, Any, Any, Any) -> int
        # Between these and the stream came more and more in Warp's versions; the pointers are the only array.
        index = next(place for place, value in enumerate(rest) if isinstance(value, ctypes.Array))
        values, stream = rest[index], rest[index + 1]
        entry = self.kernels[kernel if type(kernel) is int else number(kernel)]
        code = entry.code
        if code is None:
            code = entry.code = entry.module.code(entry.name, entry.part)
        most = code.layout.threads if code.layout is not None else MOST_THREADS
        if number(block_dim) > most:
            self.driver.errors.set("Warp CUDA error 1: invalid argument (a block has %d threads at most)" % most)
            return _INVALID_VALUE
        if code.kinds:
            self.driver.deviations.launch(code.kinds, entry.name)
        if code.function is None:
            return 0
        capture = self.driver.streams.capture(stream)
        if capture is not None:
            capture.actions.append(code.bind(values, self.driver))
        else:
            error = code.run(values, self.driver.real)
            if error:
                self.driver.errors.set(error)
                return _INVALID_VALUE
        return 0
