"""Phases of a load: they add up to its time as the program sees it, and what takes long in one shows in that one."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from warpfix.measure.profile import Load, Profile
from warpfix.measure.run import RunSettings, measure

from .conftest import write_program

pytestmark = pytest.mark.warp

SLEEP = 0.8
"""Seconds; ten times what the phases but native take in these modules, on a slow machine too."""

PROGRAM = """
    import json, sys, threading, time
    import warp as wp
    import warp._src.build as build
    import warp._src.codegen as codegen
    import warp._src.context as context

    DEVICE, SLEEP = sys.argv[1], float(sys.argv[2])
    kernels = {}

    def define(phase):
        @wp.kernel(module=phase)
        def bump(v: wp.array(dtype=float)):
            v[wp.tid()] += 1.0

        kernels[phase] = bump

    for phase in ("first", "second", "hash", "codegen", "native", "link", "load", "files", "wait", "late"):
        define(phase)
    values = wp.zeros(4, dtype=float, device=DEVICE)

    def slow(function):
        def sleeping(*args, **kwargs):
            time.sleep(SLEEP)
            return function(*args, **kwargs)

        return sleeping

    def link(function):
        def linking(*args, **kwargs):
            # A solver's link, as code generation asks for one, with the linker itself left out.
            base, build._build_lto_base = build._build_lto_base, lambda *rest: time.sleep(SLEEP) or (True, b"")
            try:
                build.build_lto_dot(16, 16, 16, wp.float32, wp.float32, wp.float32, *["rowmajor"] * 3, 90, 64, FakeBuilder)
            finally:
                build._build_lto_base = base
            return function(*args, **kwargs)

        return linking

    class FakeBuilder:
        ltoirs, ltoirs_decl = {}, {}

    def late(function):
        def compiling(*args, **kwargs):
            # The module is hashed by now; the lock goes to another thread before its code can be generated.
            holder = threading.Thread(target=hold)
            held.clear()
            holder.start()
            held.wait()
            return function(*args, **kwargs)

        return compiling

    def hold():
        with codegen._codegen_lock:
            held.set()
            time.sleep(SLEEP)

    held = threading.Event()
    cpu = DEVICE == "cpu"
    library = context.runtime.llvm if cpu else context.runtime.core
    places = {
        "hash": (context.ModuleHasher, "hash_kernel", slow),
        "codegen": (context.ModuleBuilder, "build_kernel", slow),
        "native": (library, "wp_compile_cpp" if cpu else "wp_cuda_compile_program", slow),
        "link": (context.ModuleBuilder, "build_kernel", link),
        "load": (library, "wp_load_obj" if cpu else "wp_cuda_load_module", slow),
        "files": (build, "safe_rename", slow),
        "late": (context.Module, "_run_codegen", late),
    }
    walls = {}
    for phase, kernel in kernels.items():
        if phase == "wait":
            held.clear()
            holder = threading.Thread(target=hold)
            holder.start()
            held.wait()
        owner, name, change = places.get(phase, (None, "", None))
        if owner is not None:
            before = getattr(owner, name)
            setattr(owner, name, change(before))
        start = time.perf_counter()
        kernel.module.load(wp.get_device(DEVICE), 256)
        walls[phase] = (time.perf_counter() - start) * 1e3
        if owner is not None:
            setattr(owner, name, before)
    print("WALLS", json.dumps(walls))
    """


@dataclass(frozen=True)
class Injected:
    """The loads of the program by what was slow in them, and the program's own stop watch in milliseconds."""

    loads: dict[str, Load]
    walls: dict[str, float]
    profile: Profile


@pytest.fixture(scope="module", params=["cpu", "sm_90"])
def injected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Injected:
    target, device = ("native", "cpu") if request.param == "cpu" else (request.param, "cuda:0")
    folder = write_program(tmp_path_factory.mktemp("phases"), {"app.py": PROGRAM})
    python = os.environ.get("WARPFIX_TEST_PYTHON", sys.executable)
    settings = RunSettings(keep_workspace=True, target=target)
    with pytest.MonkeyPatch.context() as patch:
        # A header of another process, where a test run shares them, would cost nothing here.
        patch.setenv("WARPFIX_TEST_OWN_HEADERS", "1")
        profile = measure([python, "app.py", device, str(SLEEP)], cwd=folder, settings=settings)
    run = profile.cold[0]
    text = Path(run.stdout_path).read_text()
    shutil.rmtree(Path(run.stdout_path).parent.parent)
    walls = json.loads(next(line for line in text.splitlines() if line.startswith("WALLS"))[6:])
    assert [process.errors for process in run.processes] == [()]
    return Injected({load.module: load for load in run.builds}, walls, profile)


def test_phases_add_up_to_what_the_program_sees(injected: Injected) -> None:
    assert set(injected.loads) == set(injected.walls)
    for name, load in injected.loads.items():
        # The emulated device builds a module for the CPU as well; that is no part of the load, but of the program's time.
        wall = injected.walls[name] if load.target == "cpu" else load.milliseconds + load.probe
        total = sum(load.phases.values())
        assert total == pytest.approx(load.milliseconds, rel=0.001), name
        assert 0.95 * wall <= total <= wall * 1.001, (name, load.phases, wall)
        # What has no name of its own but this one.
        assert name == "files" or load.phases["files"] < max(0.05 * total, 25), (name, load.phases)


@pytest.mark.parametrize("phase", ["hash", "codegen", "native", "link", "load", "files", "wait", "late"])
def test_a_sleep_shows_in_its_phase_alone(phase: str, injected: Injected) -> None:
    slept = SLEEP * 1e3
    load = injected.loads[phase]
    phase = "wait" if phase == "late" else phase
    assert load.phases[phase] >= 0.95 * slept, load.phases
    others = {name: value for name, value in load.phases.items() if name not in (phase, "native", "pch")}
    assert all(value < 0.5 * slept for value in others.values()), load.phases
    # Native builds take what they take on this machine; that the phases add up says that nothing is counted twice.


def test_the_precompiled_header_is_told_apart_from_the_module_that_paid_for_it(injected: Injected) -> None:
    first, second = injected.loads["first"], injected.loads["second"]
    assert first.phases["pch"] > 0
    assert "pch" not in second.phases
    # Equal modules: without the header the first costs about what the second does.
    assert first.phases["native"] - second.phases["native"] < first.phases["pch"]


def test_what_comes_from_the_cache_adds_up_too(injected: Injected) -> None:
    cached = [load for load in injected.profile.warm[0].loads if load.outcome == "cached"]
    assert cached
    for load in cached:
        assert sum(load.phases.values()) == pytest.approx(load.milliseconds, rel=0.01, abs=0.05)
        assert not {"native", "pch", "codegen"} & set(load.phases)
