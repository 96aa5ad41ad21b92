"""A program that insists on CUDA: right numbers, every CUDA identity really compiled, nothing else counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from target.conftest import Ran

pytestmark = pytest.mark.warp

PROGRAM = """
    from typing import Any

    import numpy as np
    import warp as wp

    wp.config.enable_mathdx_gemm = False

    if wp.get_cuda_device_count() == 0:
        raise SystemExit("this program needs CUDA")
    device = "cuda:0"

    @wp.kernel
    def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    @wp.kernel
    def energy(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(loss, 0, x[i] * x[i])

    @wp.kernel(module="generic")
    def twice(x: wp.array(dtype=Any)):
        i = wp.tid()
        x[i] = x[i] + x[i]

    @wp.kernel(module="tiles", enable_backward=False)
    def multiply(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
        i, j = wp.tid()
        total = wp.tile_zeros(shape=(8, 8), dtype=float)
        for k in range(2):
            left = wp.tile_load(a, shape=(8, 8), offset=(i * 8, k * 8))
            right = wp.tile_load(b, shape=(8, 8), offset=(k * 8, j * 8))
            wp.tile_matmul(left, right, total)
        wp.tile_store(c, total, offset=(i * 8, j * 8))

    @wp.kernel(module="tiles", enable_backward=False)
    def sums(a: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        wp.tile_store(out, wp.tile_sum(wp.tile_load(a, shape=64, offset=i * 64)), offset=i)

    x = wp.array(np.arange(64, dtype=np.float32), device=device, requires_grad=True)
    y = wp.zeros(64, dtype=float, device=device, requires_grad=True)
    loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(saxpy, dim=64, inputs=[2.0, x, y], device=device, block_dim=128)
        wp.launch(energy, dim=64, inputs=[y, loss], device=device)
    tape.backward(loss)
    print("> loss", loss.numpy()[0], x.grad.numpy()[:3])

    single = wp.ones(8, dtype=wp.float32, device=device)
    double = wp.full(8, 0.1, dtype=wp.float64, device=device)
    wp.launch(twice, dim=8, inputs=[single], device=device)
    wp.launch(twice, dim=8, inputs=[double], device=device)
    print("> twice", single.numpy().sum(), repr(float(double.numpy()[0])))

    rng = np.random.default_rng(1)
    a, b = rng.random((16, 16), dtype=np.float32), rng.random((16, 16), dtype=np.float32)
    c = wp.zeros((16, 16), dtype=float, device=device)
    inputs = [wp.array(a, device=device), wp.array(b, device=device), c]
    wp.launch_tiled(multiply, dim=(2, 2), inputs=inputs, block_dim=64, device=device)
    print("> product", np.allclose(c.numpy(), a @ b, rtol=1e-5))
    out = wp.zeros(4, dtype=float, device=device)
    values = wp.array(np.arange(256, dtype=np.float32), device=device)
    wp.launch_tiled(sums, dim=4, inputs=[values, out], block_dim=64, device=device)
    print("> sums", out.numpy())
    print("> device", wp.get_preferred_device(), wp.get_device("cuda:0").arch, wp.get_device("cuda:0").is_cuda)
"""


@pytest.fixture(scope="module")
def ran(on_target: Callable[..., Ran]) -> Ran:
    return on_target(PROGRAM, warm=True)


def test_the_numbers_are_right(ran: Ran) -> None:
    expected = [
        "> loss 341376.0 [ 0.  8. 16.]",
        "> twice 16.0 0.2",
        "> product True",
        "> sums [ 2016.  6112. 10208. 14304.]",
        "> device cuda:0 90 True",
    ]
    assert ran.output(0) == expected
    assert ran.output(1) == expected


def test_every_identity_is_compiled_for_the_target_and_no_other(ran: Ran) -> None:
    built = Counter((load.module, load.device, load.target, load.block_dim) for load in ran.cold.loads)
    assert built == {
        ("__main__", "cuda:0", "sm_90", 128): 1,
        ("__main__", "cuda:0", "sm_90", 256): 1,
        ("generic", "cuda:0", "sm_90", 256): 2,
        ("tiles", "cuda:0", "sm_90", 64): 1,
    }
    assert {load.outcome for load in ran.cold.loads} == {"compiled"}
    assert all(load.phases["native"] > 0 and load.source_bytes > 0 for load in ran.cold.loads)
    # The environment may choose the cache: it lies wherever that choice is mapped to, and the twins lie apart.
    holding = {path.relative_to(ran.caches).parts[0] for path in ran.caches.rglob("*.cubin")}
    (cache,) = (ran.caches / name for name in holding)
    assert len(list(cache.rglob("*.cubin"))) == 5
    assert not list(cache.rglob("*.o"))


def test_a_warm_run_builds_nothing(ran: Ran) -> None:
    assert [load.outcome for load in ran.warm.loads] == ["cached"] * 5
    assert {load.identity for load in ran.warm.loads} == {load.identity for load in ran.cold.loads}
    assert {twin.outcome for twin in ran.warm.twins} == {"cached"}


def test_launches_are_those_of_the_device_once_each(ran: Ran) -> None:
    signatures = ran.cold.launches.signatures
    order = [
        (signatures[number].kernel.key, signatures[number].block_dim, signatures[number].adjoint)
        for number in ran.cold.launches.sequence
    ]
    assert order == [
        ("saxpy", 128, False),
        ("energy", 256, False),
        ("energy", 256, True),
        ("saxpy", 128, True),
        ("twice", 256, False),
        ("twice", 256, False),
        ("multiply", 64, False),
        ("sums", 64, False),
    ]
    assert {signature.device for signature in signatures} == {"cuda:0"}


def test_twins_are_apart_and_shared_where_the_block_dim_does_not_matter(ran: Ran) -> None:
    twins = [(twin.module, twin.block_dim, twin.outcome) for twin in ran.cold.twins]
    assert twins == [
        ("__main__", 1, "compiled"),
        ("__main__", 1, "cached"),
        ("generic", 1, "compiled"),
        ("generic", 1, "compiled"),
        ("tiles", 64, "compiled"),
    ]
    assert {twin.hash for twin in ran.cold.twins} == {load.hash for load in ran.cold.loads}


def test_nothing_deviates_and_nothing_went_wrong(ran: Ran) -> None:
    assert ran.cold.deviations == ()
    assert ran.cold.deviated_launches == 0
    assert ran.cold.errors == ()
