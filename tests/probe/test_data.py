"""Digests of arrays: what counts and what does not, and real programs on the CPU and on the emulated device."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from warpfix.probe import data as probe_data

from warpfix.measure.profile import DataLog, Profile, Run
from warpfix.measure.report import from_dict, to_dict
from warpfix.measure.run import RunSettings, measure, run_command
from warpfix.verify.reports import compare_reports
from warpfix.verify.verdict import Outcome

numpy = pytest.importorskip("numpy", reason="comes with Warp")


class Struct:
    """Stands for Warp's: fields by name, and a ctypes structure."""

    def __init__(self, **fields: Any) -> None:
        class Laid(ctypes.Structure):
            _fields_ = [(name, kind) for name, (_, kind) in fields.items()]

        self.ctype = Laid
        self.vars = {name: SimpleNamespace(type=kind) for name, (kind, _) in fields.items()}


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("shape", ctypes.c_int32 * 4)]


def named(name: str, size: int) -> Any:
    return type(name, (), {"size": size})


FLOAT32, UINT64, UINT8 = named("float32", 4), named("uint64", 8), named("uint8", 1)


def digest(values: Any, dtype: Any, sample: bytearray | None = None) -> str:
    taker = probe_data.Data(SimpleNamespace(), {})
    taker.types = SimpleNamespace(type_size_in_bytes=lambda kind: kind.size)
    taker.numpy = numpy
    where = SimpleNamespace(data=values.ctypes.data, ndim=values.ndim, shape=values.shape, strides=values.strides)
    hasher = hashlib.sha256()
    taker._digest(where, dtype, True, None, hasher, sample)
    return hasher.hexdigest()


@pytest.mark.parametrize(
    ("device", "stream", "told"),
    [
        pytest.param(SimpleNamespace(is_cpu=True), None, False, id="the CPU"),
        pytest.param(SimpleNamespace(is_cpu=False, stream=None), None, False, id="a device without a stream yet"),
        pytest.param(
            SimpleNamespace(is_cpu=False, stream=SimpleNamespace(is_capturing=True)), None, True, id="its own"
        ),
        pytest.param(
            SimpleNamespace(is_cpu=False, stream=SimpleNamespace(is_capturing=False)),
            SimpleNamespace(is_capturing=True),
            True,
            id="one that the launch names",
        ),
    ],
)
def test_a_capture_that_others_began_is_seen(device: Any, stream: Any, told: bool) -> None:
    """Waiting for the device would end it, and the program with it."""
    taker = probe_data.Data(SimpleNamespace(), {})
    taker.context = SimpleNamespace(runtime=SimpleNamespace(captures={}))
    taken = []
    taker._found = lambda *given: taken.append(given) or []  # type: ignore[method-assign, func-returns-value]
    taker._take = lambda *given: None  # type: ignore[method-assign]
    taker.ran(None, (), False, device, stream)
    assert (taker.left_out == {"launches inside a graph capture": 1}) is told
    assert bool(taken) is not told


def test_bits_count() -> None:
    values = numpy.array([0.0, 1.0], dtype="f4")
    assert digest(values, FLOAT32) == digest(values.copy(), FLOAT32)
    assert digest(values, FLOAT32) != digest(numpy.array([-0.0, 1.0], dtype="f4"), FLOAT32)


def test_the_shape_counts() -> None:
    values = numpy.zeros((2, 3), dtype="f4")
    assert digest(values, FLOAT32) != digest(values.reshape(3, 2), FLOAT32)
    assert digest(numpy.zeros((0, 3), dtype="f4"), FLOAT32) != digest(numpy.zeros((3, 0), dtype="f4"), FLOAT32)


def test_a_view_is_what_it_shows() -> None:
    """Neither strides nor what lies between count."""
    values = numpy.arange(24, dtype="f4").reshape(4, 6)
    view = values[::2, 1::2]
    assert digest(view, FLOAT32) == digest(view.copy(), FLOAT32)
    before = digest(view, FLOAT32)
    values[1, 1] = values[0, 0] = 99.0
    assert digest(view, FLOAT32) == before
    values[2, 3] = 99.0
    assert digest(view, FLOAT32) != before
    assert digest(values.T, FLOAT32) == digest(values.T.copy(), FLOAT32)


@pytest.mark.parametrize("chunk", [16, 64, 100])
def test_large_arrays_go_in_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = numpy.arange(240, dtype="f4").reshape(6, 5, 8)
    views = [values, values[:, ::2], values[:1, :, 1:], values.transpose(2, 0, 1), values[0, 0, ::3]]
    whole = [digest(view, FLOAT32) for view in views]
    monkeypatch.setattr(probe_data, "_CHUNK", chunk)
    assert [digest(view, FLOAT32) for view in views] == whole


def test_addresses_are_left_out_of_64_bit_integers() -> None:
    one = numpy.array([7, 0x7F12_3456_7000, 1 << 63], dtype="u8")
    two = numpy.array([7, 0x7F99_0000_0000, 1 << 63], dtype="u8")
    assert digest(one, UINT64) == digest(two, UINT64)
    two[0] = 8
    assert digest(one, UINT64) != digest(two, UINT64)


def test_padding_and_arrays_in_elements_do_not_count() -> None:
    inner = Struct(flag=(UINT8, ctypes.c_uint8), id=(UINT64, ctypes.c_uint64))
    outer = Struct(
        byte=(UINT8, ctypes.c_uint8),
        value=(FLOAT32, ctypes.c_float),
        items=(SimpleNamespace(), Array),
        inner=(inner, inner.ctype),
    )
    size = ctypes.sizeof(outer.ctype)
    values = numpy.zeros((3, size), dtype="u1")
    elements = numpy.ndarray((3,), dtype=f"V{size}", buffer=values)
    before = digest(elements, outer)
    values[:, 1:4] = 0xCC  # between byte and value
    start = outer.ctype.items.offset
    values[:, start : start + 8] = 0xCC  # the pointer of the array
    assert digest(elements, outer) == before
    values[1, outer.ctype.value.offset] = 1
    assert digest(elements, outer) != before


def test_a_sample_is_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_data, "SAMPLE", 16)
    sample = bytearray()
    values = numpy.arange(8, dtype="f4")
    digest(values, FLOAT32, sample)
    assert sample == values.tobytes()[:17]


PROGRAM = """\
import os
import sys

import warp as wp

wp.set_module_options({"enable_backward": False, "use_precompiled_headers": False})


@wp.struct
class Inner:
    mesh: wp.uint64
    directions: wp.array(dtype=wp.vec3)


@wp.struct
class State:
    scale: float
    on: wp.bool
    position: wp.array(dtype=float)
    inner: Inner


@wp.kernel(enable_backward=True)
def advance(state: State, grid: wp.array2d(dtype=float), half: wp.array(dtype=wp.float16), ids: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    state.position[i] = state.position[i] + state.scale
    grid[i, 0] = state.position[i] * 2.0
    half[i] = wp.float16(state.position[i])


@wp.kernel
def bump(some: wp.indexedarray(dtype=float), by: float):
    some[wp.tid()] += by


device = sys.argv[1]
with wp.ScopedDevice(device):
    fresh = wp.empty(1000, dtype=float)
    print("fresh", fresh.numpy().any())
    state = State()
    state.scale = 1.5
    state.position = wp.zeros(8, dtype=float, requires_grad=True)
    state.inner.directions = wp.zeros(3, dtype=wp.vec3)
    grid = wp.zeros((8, 6), dtype=float)[:, ::2]
    half = wp.empty(8, dtype=wp.float16)
    ids = wp.array([id(state), 3], dtype=wp.uint64)
    some = wp.indexedarray(wp.zeros(20, dtype=float), [wp.array([1, 3, 5], dtype=int)])
    for _ in range(3):
        wp.launch(advance, dim=8, inputs=[state, grid, half, ids])
        wp.launch(bump, dim=3, inputs=[some, 0.5])
    command = wp.launch(bump, dim=3, inputs=[some, 2.0], record_cmd=True)
    command.launch()
    wp.launch(bump, dim=3, inputs=[some, 0.5])
    if device == "cpu":
        child = os.fork()
        if child == 0:
            wp.launch(bump, dim=3, inputs=[some, 1.0])
            os._exit(0)
        os.waitpid(child, 0)
    else:
        with wp.ScopedCapture() as capture:
            wp.launch(bump, dim=3, inputs=[some, 4.0])
        wp.capture_launch(capture.graph)
    print(some.numpy())
"""
STATE = ("state.position", "state.inner.directions", "grid", "half", "ids")


def log_of(run: Run) -> DataLog:
    assert [process.errors for process in run.processes if process.errors] == []
    found = run.processes[0].data
    assert found is not None
    return found


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("host")
    (folder / "app.py").write_text(PROGRAM)
    settings = RunSettings(check_data=True, keep_workspace=False)
    return measure([sys.executable, "app.py", "cpu"], cwd=folder, settings=settings)


@pytest.mark.warp
def test_every_array_of_every_launch(host: Profile) -> None:
    log = log_of(host.runs[0])
    assert (log.launches, log.left_out) == (8, {})
    assert set(log.names.values()) == {STATE, ("some",)}
    assert len(log.words) == 4 * (8 + 3 * len(STATE) + 5)
    assert log.launches == host.runs[0].processes[0].launches.total


@pytest.mark.warp
def test_two_processes_leave_the_same(host: Profile) -> None:
    """Addresses are other ones, and the second takes its kernels from the cache."""
    one, two = map(log_of, host.runs)
    assert [one.digest, one.words] == [two.digest, two.words]


@pytest.mark.warp
def test_a_forked_child_has_its_own(host: Profile) -> None:
    child = host.runs[0].processes[1].data
    assert child is not None and (child.launches, list(child.names.values())) == (1, [("some",)])


@pytest.mark.warp
def test_reports_keep_them(host: Profile) -> None:
    back = from_dict(json.loads(json.dumps(to_dict(host))))
    assert log_of(back.runs[0]) == log_of(host.runs[0])
    checks = {check.invariant: check for check in compare_reports(host, back).checks}
    assert checks["data"].outcome is Outcome.HELD, checks["data"].message


@pytest.mark.warp
def test_the_emulated_device_leaves_what_the_cpu_leaves(host: Profile, tmp_path: Path) -> None:
    """All is compared before the capture, and what runs inside one is counted."""
    (tmp_path / "app.py").write_text(PROGRAM)
    settings = RunSettings(check_data=True, target="sm_90")
    profile = measure([sys.executable, "app.py", "cuda:0"], cwd=tmp_path, settings=settings)
    cold, warm = profile.runs
    log = log_of(cold)
    assert log.digest == log_of(host.runs[0]).digest
    assert log.left_out == {"launches inside a graph capture": 1, "replays of captured graphs": 1}
    # The same runs tell the machine code, of what was built as of what came from the cache.
    (built,) = [load for load in cold.loads if load.target == "sm_90"]
    (cached,) = [load for load in warm.loads if load.target == "sm_90"]
    assert (built.outcome, cached.outcome) == ("compiled", "cached")
    entries = {"advance_cuda_kernel_forward", "advance_cuda_kernel_backward", "bump_cuda_kernel_forward"}
    assert set(built.machine_code) == entries
    assert cached.machine_code == built.machine_code
    assert from_dict(json.loads(json.dumps(to_dict(profile)))).runs[0].loads[0].machine_code == built.machine_code


PYTHONS = os.environ.get("WARPFIX_TEST_PYTHONS", "").split()


@pytest.mark.warp
@pytest.mark.skipif(not PYTHONS, reason="WARPFIX_TEST_PYTHONS names no interpreter")
@pytest.mark.parametrize("python", PYTHONS)
def test_old_versions_of_warp(python: str, host: Profile, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    work = tmp_path / "work"
    run = run_command(
        [python, "app.py", "cpu"],
        cwd=tmp_path,
        state="cold",
        workspace=work,
        caches=work / "caches",
        settings=RunSettings(check_data=True),
    )
    assert run.exit_status == 0, Path(run.stderr_path).read_text()
    assert log_of(run).digest == log_of(host.runs[0]).digest
    assert "fresh False" in Path(run.stdout_path).read_text()
