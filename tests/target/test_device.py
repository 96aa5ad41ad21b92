"""Copies, streams, events, graphs and Warp's own algorithms on the emulated device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from target.conftest import Ran

pytestmark = pytest.mark.warp

PROGRAM = """
    import numpy as np
    import warp as wp

    device = wp.get_device("cuda:0")

    @wp.kernel
    def add(x: wp.array(dtype=float), value: float):
        i = wp.tid()
        x[i] = x[i] + value

    @wp.kernel
    def count_down(x: wp.array(dtype=int)):
        x[0] = x[0] - 1

    # Copies: both ways, pinned and asynchronous, strided, indexed, filled.
    host = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4), device="cpu", pinned=True)
    there = wp.empty((3, 4), dtype=float, device=device)
    stream = wp.Stream(device)
    with wp.ScopedStream(stream):
        wp.copy(there, host)
        done = wp.record_event()
    wp.wait_event(done)
    column = there[:, 1].contiguous()
    indexed = wp.indexedarray1d(there.flatten(), [wp.array([2, 7, 11], dtype=int, device=device)])
    print("> copies", column.numpy(), indexed.numpy(), there.to("cpu").numpy().sum())
    there.fill_(2.5)
    column.zero_()
    print("> fills", there.numpy().sum(), column.numpy().sum(), wp.full(3, wp.vec3(1.0, 2.0, 3.0), device=device).numpy()[2])

    # A graph: captured once, run four times; a stream that joins; a recorded launch; a loop on a condition.
    x = wp.zeros(8, dtype=float, device=device)
    wp.load_module(device=device)
    with wp.ScopedCapture(device) as capture:
        wp.launch(add, dim=8, inputs=[x, 1.0], device=device)
        stream.wait_stream(device.stream)
        with wp.ScopedStream(stream, sync_enter=False):
            wp.launch(add, dim=8, inputs=[x, 10.0])
        device.stream.wait_stream(stream)
    print("> captured", x.numpy()[0])
    for _ in range(4):
        wp.capture_launch(capture.graph)
    print("> replayed", x.numpy()[0])
    command = wp.launch(add, dim=8, inputs=[x, 0.5], device=device, record_cmd=True)
    command.launch()
    command.set_param_by_name("value", 0.25)
    command.launch()
    print("> recorded", x.numpy()[0])
    left = wp.array([5], dtype=int, device=device)

    def body():
        wp.launch(add, dim=8, inputs=[x, 100.0], device=device)
        wp.launch(count_down, dim=1, inputs=[left], device=device)

    with wp.ScopedCapture(device) as capture:
        wp.capture_while(left, body)
    wp.capture_launch(capture.graph)
    print("> looped", x.numpy()[0], left.numpy()[0])

    # Warp's own algorithms.
    values = wp.array(np.arange(1, 6, dtype=np.int32), device=device)
    total = wp.zeros_like(values)
    wp.utils.array_scan(values, total, inclusive=True)
    keys = wp.array([3, 1, 2, 0, 0, 0], dtype=int, device=device)
    places = wp.array([0, 1, 2, 0, 0, 0], dtype=int, device=device)
    wp.utils.radix_sort_pairs(keys, places, 3)
    print("> algorithms", total.numpy(), places.numpy()[:3], wp.utils.array_sum(wp.ones(7, dtype=float, device=device)))
    print("> memory", device.free_memory < device.total_memory, device.is_mempool_enabled, x.memory_kind.name if hasattr(x, "memory_kind") else "CUDA_MEMPOOL")
"""


@pytest.fixture(scope="module")
def ran(on_target: Callable[..., Ran]) -> Ran:
    return on_target(PROGRAM)


def test_numbers(ran: Ran) -> None:
    assert ran.output() == [
        "> copies [1. 5. 9.] [ 2.  7. 11.] 66.0",
        "> fills 30.0 0.0 [1. 2. 3.]",
        "> captured 0.0",
        "> replayed 44.0",
        "> recorded 44.75",
        "> looped 544.75 0",
        "> algorithms [ 1  3  6 10 15] [1 2 0] 7.0",
        "> memory True True CUDA_MEMPOOL",
    ]


def test_no_build_for_the_cpu_is_counted(ran: Ran) -> None:
    assert {load.target for load in ran.cold.loads} == {"sm_90"}
    assert ran.cold.deviations == ()
