"""What the emulated device can't do is refused in one line, or listed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from target.conftest import Ran
from warpfix.measure.emulated import emulated_lines
from warpfix.measure.profile import Profile

pytestmark = pytest.mark.warp

PROGRAM = '''
    import numpy as np
    import warp as wp

    device = "cuda:0"

    @wp.func_native("""return (int)clock64();""")
    def cycles() -> int: ...

    @wp.func_native("""
    #if defined(__CUDA_ARCH__)
        return 1;
    #else
        return 2;
    #endif
    """)
    def where() -> int: ...

    @wp.kernel(module="clock")
    def clocked(x: wp.array(dtype=int)):
        x[0] = cycles()

    @wp.kernel(module="clock")
    def plain(x: wp.array(dtype=int)):
        x[0] = x[0] + 7

    @wp.kernel(module="branch")
    def branched(x: wp.array(dtype=int)):
        x[0] = where()

    x = wp.zeros(1, dtype=int, device=device)
    for _ in range(3):
        wp.launch(clocked, dim=1, inputs=[x], device=device)
    print("> untouched", x.numpy()[0])
    wp.launch(plain, dim=1, inputs=[x], device=device)
    print("> its neighbour", x.numpy()[0])
    wp.launch(branched, dim=1, inputs=[x], device=device)
    print("> branch", x.numpy()[0])
    print("> block size", wp.get_suggested_block_size(branched, device))
    try:
        wp.launch(branched, dim=1, inputs=[x], device=device, block_dim=2048)
    except Exception as error:
        print("> too many", "1024" in str(error))
    try:
        wp.Texture2D(np.zeros((4, 4), dtype=np.float32), device=device)
    except RuntimeError as error:
        print(">", str(error))
'''


@pytest.fixture(scope="module")
def ran(on_target: Callable[..., Ran]) -> Ran:
    return on_target(PROGRAM, warm=True)


def test_the_program_goes_on(ran: Ran) -> None:
    output = ran.output()
    assert ran.output(1) == output
    assert output[:5] == [
        "> untouched 0",
        "> its neighbour 7",
        "> branch 2",
        "> block size (256, 264)",
        "> too many True",
    ], ran.errors()
    assert output[5].startswith("> warpfix --target: the emulated CUDA device does not have wp_texture_"), output


def test_each_is_listed_with_its_line(ran: Ran) -> None:
    found = {one.kind: one for one in ran.cold.deviations}
    assert set(found) == {"not-executed", "device-code", "occupancy", "unsupported"}
    assert found["not-executed"].count == 3
    assert found["not-executed"].what.startswith("clocked")
    line = found["not-executed"].line
    assert line is not None and line.path.endswith("program.py")
    assert ran.cold.deviated_launches == 4
    assert {load.outcome for load in ran.cold.loads if load.block_dim <= 1024} == {"compiled"}


def test_the_report_says_first_how_many_launches_deviate(ran: Ran) -> None:
    profile = Profile(("python", "program.py"), "/", "sm_90", ran.runs)
    lines = emulated_lines(profile, ran.runs[0])
    assert lines[0] == "Emulated sm_90: 4 of 6 launches ran under a deviation (67%)."
    assert any("3 x not-executed" in line for line in lines)
