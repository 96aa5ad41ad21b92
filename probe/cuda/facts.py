"""What the device says of itself: facts of a typical device of each architecture."""

import ctypes

from .values import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_SHARED = {75: 64, 80: 163, 86: 99, 87: 163, 88: 163, 89: 99, 90: 227, 100: 227, 103: 227, 107: 227, 110: 227}
"""Largest shared memory of a block in KiB, after opting in (CUDA programming guide, compute capabilities)."""
_SHARED_OTHER = 99
_PROCESSORS = {75: 40, 80: 108, 86: 84, 87: 16, 89: 142, 90: 132, 100: 148, 103: 148, 110: 20, 120: 170, 121: 48}
"""Multiprocessors of a usual device: T4, A100, A40, Orin, L40S, H100, B200, B300, Thor, RTX 5090, GB10."""
_PROCESSORS_OTHER = 100

MEMORY = 64 << 30
"""Bytes of device memory that are reported. What is allocated is the host's."""
CONTEXT = 0xC0DE0001
"""The handle of the primary context, the only one there is."""


class Facts:
    """The entry points that ask what the device is."""

    def __init__(self, arch, toolkit, driver):
        # type: (int, int, Any) -> None
        self.arch = arch
        self.driver = driver
        # The newest driver that is older than the toolkit that Warp was built with: it can't read this toolkit's PTX,
        # so Warp builds cubins, and the whole compilation is in the wheel's compiler, where it can be timed.
        self.version = toolkit - 10 if toolkit % 1000 else toolkit
        self.release_threshold = 0

    def wp_cuda_driver_is_initialized(self):
        # type: () -> bool
        return True

    def wp_cuda_driver_version(self):
        # type: () -> int
        return self.version

    def wp_cuda_device_get_count(self):
        # type: () -> int
        return 1

    def wp_cuda_device_get_name(self, ordinal):
        # type: (int) -> bytes
        return b"Emulated sm_%d" % self.arch

    def wp_cuda_device_get_arch(self, ordinal):
        # type: (int) -> int
        return self.arch

    def wp_cuda_device_get_sm_count(self, ordinal):
        # type: (int) -> int
        return _PROCESSORS.get(self.arch, _PROCESSORS_OTHER)

    def wp_cuda_device_get_max_shared_memory(self, ordinal):
        # type: (int) -> int
        return _SHARED.get(self.arch, _SHARED_OTHER) << 10

    def wp_cuda_get_max_shared_memory(self, context):
        # type: (Any) -> int
        return self.wp_cuda_device_get_max_shared_memory(0)

    def wp_cuda_device_is_uva(self, ordinal):
        # type: (int) -> int
        return 1

    def wp_cuda_device_is_mempool_supported(self, ordinal):
        # type: (int) -> int
        return 1

    def wp_cuda_device_is_ipc_supported(self, ordinal):
        # type: (int) -> int
        return 0

    def wp_cuda_device_get_pageable_memory_access(self, ordinal):
        # type: (int) -> int
        return 0

    def wp_cuda_device_get_direct_managed_mem_access_from_host(self, ordinal):
        # type: (int) -> int
        return 0

    def wp_cuda_device_get_host_native_atomic_supported(self, ordinal):
        # type: (int) -> int
        return 0

    def wp_cuda_device_get_managed_memory_supported(self, ordinal):
        # type: (int) -> int
        return 1

    def wp_cuda_device_get_concurrent_managed_access_supported(self, ordinal):
        # type: (int) -> int
        return 1

    def wp_cuda_device_get_memory_info(self, ordinal, free, total):
        # type: (int, Any, Any) -> None
        put(free, MEMORY - self.driver.memory.used)
        put(total, MEMORY)

    def wp_cuda_device_get_uuid(self, ordinal, buffer):
        # type: (int, Any) -> None
        ctypes.memmove(buffer, b"warpfix emulated", 16)

    def wp_cuda_device_get_pci_domain_id(self, ordinal):
        # type: (int) -> int
        return 0

    def wp_cuda_device_get_pci_bus_id(self, ordinal):
        # type: (int) -> int
        return 0

    def wp_cuda_device_get_pci_device_id(self, ordinal):
        # type: (int) -> int
        return 0

    def wp_cuda_device_set_mempool_release_threshold(self, ordinal, threshold):
        # type: (int, int) -> int
        self.release_threshold = threshold
        return 1

    def wp_cuda_device_get_mempool_release_threshold(self, ordinal):
        # type: (int) -> int
        return self.release_threshold

    def wp_cuda_device_get_graph_mem_current(self, ordinal):
        # type: (int) -> int
        return 0

    def wp_cuda_device_graph_mem_trim(self, ordinal):
        # type: (int) -> None
        return None

    def wp_cuda_device_get_primary_context(self, ordinal):
        # type: (int) -> int
        return CONTEXT

    def wp_cuda_context_get_device_ordinal(self, context):
        # type: (Any) -> int
        return 0

    def wp_cuda_context_is_primary(self, context):
        # type: (Any) -> int
        return 1

    def wp_cuda_is_peer_access_supported(self, target, peer):
        # type: (int, int) -> int
        return 1

    def wp_cuda_is_peer_access_enabled(self, target, peer):
        # type: (Any, Any) -> int
        return 1

    def wp_cuda_set_peer_access_enabled(self, target, peer, enable):
        # type: (Any, Any, int) -> int
        return 1

    def wp_cuda_is_mempool_access_enabled(self, target, peer):
        # type: (int, int) -> int
        return 1

    def wp_cuda_set_mempool_access_enabled(self, target, peer, enable):
        # type: (int, int, int) -> int
        return 1

    def wp_cuda_profiler_start(self, *context):
        # type: (Any) -> bool
        return True

    def wp_cuda_profiler_stop(self, *context):
        # type: (Any) -> bool
        return True

    def wp_cuda_timing_begin(self, flags):
        # type: (int) -> None
        return None

    def wp_cuda_timing_get_result_count(self):
        # type: () -> int
        return 0

    def wp_cuda_timing_end(self, results, count):
        # type: (Any, int) -> None
        return None
