"""Device, pinned and managed memory, all of it the host's; copies and fills, which a capture records."""

import ctypes

from .streams import NOT_CAPTURABLE
from .values import CURRENT_STREAM, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

# The values of Warp's MemoryKind.
PINNED, DEVICE, POOL, MANAGED = 2, 3, 4, 5


class Memory:
    """The entry points that allocate, free, copy and fill."""

    def __init__(self, driver):
        # type: (Any) -> None
        self.driver = driver
        self.kinds = {}  # type: dict[int, tuple[int, int]]
        self.used = 0
        self.pool_used = 0
        self.pool_high = 0

    def allocate(self, size, kind):
        # type: (Any, int) -> Any
        size = number(size)
        real = self.driver.real.wp_alloc_host
        pointer = real(*(size, None)[: len(real.argtypes or (None,))])
        if pointer:
            self.kinds[pointer] = (kind, size)
            self.used += size
            if kind == POOL:
                self.pool_used += size
                self.pool_high = max(self.pool_high, self.pool_used)
        return pointer

    def free(self, pointer):
        # type: (Any) -> None
        pointer = number(pointer)
        kind, size = self.kinds.pop(pointer, (0, 0))
        if not kind:
            return
        self.used -= size
        if kind == POOL:
            self.pool_used -= size
        capture = self.driver.streams.any_capture()
        if capture is not None:
            # What is freed while a graph is captured is used again at each of its launches.
            capture.keep(self.driver.real.wp_free_host, pointer)
        else:
            self.driver.real.wp_free_host(pointer)

    def wp_alloc_device(self, context, size, *tag):
        # type: (Any, Any, Any) -> Any
        return self.wp_alloc_device_default(context, size)

    def wp_alloc_device_default(self, context, size, *tag):
        # type: (Any, Any, Any) -> Any
        capture = self.driver.streams.any_capture()
        if capture is not None and not capture.relaxed:
            # Only memory from a pool can become a node of a graph.
            self.driver.errors.set(NOT_CAPTURABLE)
            return None
        return self.allocate(size, DEVICE)

    def wp_alloc_device_async(self, context, size, *rest):
        # type: (Any, Any, Any) -> Any
        capture = self.driver.streams.capture(rest[0] if len(rest) > 1 else CURRENT_STREAM)
        if capture is not None:
            capture.allocates = True
        return self.allocate(size, POOL)

    def wp_alloc_device_managed(self, context, size, *tag):
        # type: (Any, Any, Any) -> Any
        return self.allocate(size, MANAGED)

    def wp_alloc_pinned(self, size, *tag):
        # type: (Any, Any) -> Any
        return self.allocate(size, PINNED)

    def wp_free_device(self, context, pointer):
        # type: (Any, Any) -> None
        self.free(pointer)

    def wp_free_device_default(self, context, pointer):
        # type: (Any, Any) -> None
        self.free(pointer)

    def wp_free_device_async(self, context, pointer, *stream):
        # type: (Any, Any, Any) -> None
        self.free(pointer)

    def wp_free_pinned(self, pointer):
        # type: (Any) -> None
        self.free(pointer)

    def wp_cuda_pointer_get_memory_kind(self, context, pointer):
        # type: (Any, Any) -> int
        return self.kinds.get(number(pointer), (0, 0))[0]

    def wp_cuda_device_get_mempool_used_mem_current(self, ordinal):
        # type: (int) -> int
        return self.pool_used

    def wp_cuda_device_get_mempool_used_mem_high(self, ordinal):
        # type: (int) -> int
        return self.pool_high

    def copy(self, target, source, size, stream):
        # type: (Any, Any, Any, Any) -> bool
        to, where, count = number(target), number(source), number(size)
        if count:
            self.driver.streams.do(stream, lambda: ctypes.memmove(to, where, count))
        return True

    def wp_memcpy_h2d(self, context, target, source, size, stream=CURRENT_STREAM):
        # type: (Any, Any, Any, Any, Any) -> bool
        return self.copy(target, source, size, stream)

    def wp_memcpy_d2h(self, context, target, source, size, stream=CURRENT_STREAM):
        # type: (Any, Any, Any, Any, Any) -> bool
        return self.copy(target, source, size, stream)

    def wp_memcpy_d2d(self, context, target, source, size, stream=CURRENT_STREAM):
        # type: (Any, Any, Any, Any, Any) -> bool
        return self.copy(target, source, size, stream)

    def wp_memcpy_p2p(self, target_context, target, source_context, source, size, stream=CURRENT_STREAM):
        # type: (Any, Any, Any, Any, Any, Any) -> bool
        return self.copy(target, source, size, stream)

    def wp_memset_device(self, context, pointer, value, size, stream=CURRENT_STREAM):
        # type: (Any, Any, Any, Any, Any) -> bool
        to, byte, count = number(pointer), number(value), number(size)
        if count:
            self.driver.streams.do(stream, lambda: ctypes.memset(to, byte, count))
        return True

    def wp_memtile_device(self, context, pointer, source, size, repetitions):
        # type: (Any, Any, Any, Any, Any) -> None
        # The value is read now, as CUDA takes a kernel's arguments: the caller's buffer may be gone at a replay.
        to, count = number(pointer), number(repetitions)
        value = ctypes.string_at(number(source), number(size)) if number(size) else b""
        if value and count:
            self.driver.streams.do(CURRENT_STREAM, lambda: ctypes.memmove(to, value * count, len(value) * count))
