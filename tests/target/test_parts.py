"""The emulated driver's parts over a library that is none: no Warp, no compiler."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from warpfix.probe.cuda import twin
from warpfix.probe.cuda.deviations import KINDS, Deviations
from warpfix.probe.cuda.driver import Driver
from warpfix.probe.cuda.values import CURRENT_STREAM, number


class Function:
    """Stands for a function of the native library."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.argtypes: Any = None
        self.restype: Any = None

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)


class Native:
    """A native library with the few functions that the parts ask for."""

    def __init__(self) -> None:
        self.freed: list[int] = []
        self.scanned: list[tuple[Any, ...]] = []
        self.blocks: dict[int, Any] = {}
        self.wp_cuda_toolkit_version = Function(lambda: 13040)
        self.wp_alloc_host = Function(self.allocate)
        self.wp_alloc_host.argtypes = [ctypes.c_size_t, ctypes.c_char_p]
        self.wp_free_host = Function(self.freed.append)
        self.wp_get_error_string = Function(lambda: b"none")
        self.wp_array_scan_int_host = Function(lambda *args: self.scanned.append(args))
        self.wp_array_scan_int_device = Function(None)
        self.wp_bvh_create_host = Function(lambda *args: self.scanned.append(args) or 7)
        self.wp_bvh_create_host.argtypes = [ctypes.c_void_p] * 6
        self.wp_bvh_create_host.restype = ctypes.c_uint64
        self.wp_bvh_create_device = Function(None)
        self.wp_bvh_rebuild_host = Function(lambda *args: self.scanned.append(args))
        self.wp_bvh_rebuild_device = Function(None)
        self.wp_cuda_compile_program = Function(lambda: "really")
        self.wp_cuda_ipc_get_mem_handle = Function(None)
        self.wp_memset_host = Function(lambda: "host")

    def allocate(self, size: int, tag: Any) -> int:
        block = ctypes.create_string_buffer(size)
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)


class Log:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def event(self, _kind: str, **fields: Any) -> None:
        self.events.append({"e": _kind, **fields})


@pytest.fixture
def native() -> Native:
    return Native()


@pytest.fixture
def driver(native: Native) -> Driver:
    return Driver(native, 90, None, Deviations(Log(), lambda depth: ("a.py", 3, "f")))


def test_numbers() -> None:
    value = ctypes.c_int(5)
    assert number(None) == 0
    assert number(ctypes.c_void_p(None)) == 0
    assert number(ctypes.c_void_p(7)) == 7
    assert number(ctypes.byref(value)) == ctypes.addressof(value)
    assert number(ctypes.cast(1234, ctypes.POINTER(ctypes.c_int32))) == 1234
    assert number(ctypes.c_void_p(CURRENT_STREAM)) == CURRENT_STREAM


def test_the_library_is_real_but_for_the_device(driver: Driver) -> None:
    library = driver.library
    assert library.wp_cuda_compile_program() == "really"
    assert library.wp_memset_host() == "host"
    assert library.wp_cuda_device_get_arch(0) == 90
    assert library.wp_cuda_driver_version() == 13030
    with pytest.raises(AttributeError):
        _ = library.wp_no_such_thing
    entry = library.wp_cuda_device_get_count
    entry.argtypes, entry.restype = [], ctypes.c_int
    assert library.wp_cuda_device_get_count is entry


def test_what_is_not_emulated_is_refused_and_listed(driver: Driver) -> None:
    with pytest.raises(
        RuntimeError, match=r"^warpfix --target: the emulated CUDA device does not have wp_cuda_ipc_get"
    ):
        driver.library.wp_cuda_ipc_get_mem_handle(1, 2)
    assert driver.deviations.counts == {("unsupported", "wp_cuda_ipc_get_mem_handle"): 1}


def test_contexts_are_a_stack(driver: Driver) -> None:
    library = driver.library
    assert library.wp_cuda_context_get_current() is None
    library.wp_cuda_context_push_current(5)
    library.wp_cuda_context_push_current(6)
    library.wp_cuda_context_pop_current()
    assert library.wp_cuda_context_get_current() == 5
    library.wp_cuda_context_pop_current()
    library.wp_cuda_context_pop_current()
    assert library.wp_cuda_context_get_current() is None


def _filled(driver: Driver, size: int) -> int:
    pointer = driver.library.wp_alloc_device_async(1, size, CURRENT_STREAM, None)
    driver.library.wp_memset_device(1, pointer, 0, size)
    return int(pointer)


def test_a_capture_keeps_what_is_done_and_a_launch_does_it(driver: Driver) -> None:
    library = driver.library
    stream, other, event = library.wp_cuda_stream_create(1, 0), library.wp_cuda_stream_create(1, 0), 0
    event = library.wp_cuda_event_create(1, 0)
    memory = _filled(driver, 4)
    library.wp_cuda_graph_begin_capture(1, stream, 0, 1)
    library.wp_memset_device(1, memory, 1, 1, stream)
    library.wp_memset_device(1, memory + 1, 1, 1, other)
    library.wp_cuda_stream_wait_stream(other, stream, event)
    library.wp_memset_device(1, memory + 2, 1, 1, other)
    assert library.wp_cuda_stream_get_capture_id(other) == library.wp_cuda_stream_get_capture_id(stream) != 0
    assert not library.wp_cuda_stream_synchronize(stream)
    assert library.wp_get_error_string().startswith(b"Warp CUDA error 900")
    assert library.wp_get_error_string() == b"none"
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.wp_cuda_graph_end_capture(1, stream, ctypes.byref(graph))
    assert not library.wp_cuda_stream_is_capturing(other)
    assert ctypes.string_at(memory, 4) == b"\0\1\0\0"
    assert library.wp_cuda_graph_create_exec(1, stream, graph, ctypes.byref(executable))
    library.wp_cuda_graph_destroy(1, graph)
    assert library.wp_cuda_graph_launch(executable, stream)
    assert ctypes.string_at(memory, 4) == b"\1\1\1\0"


def test_memory_freed_in_a_capture_lives_as_long_as_the_graph(driver: Driver, native: Native) -> None:
    library = driver.library
    stream = library.wp_cuda_stream_create(1, 0)
    library.wp_cuda_graph_begin_capture(1, stream, 0, 1)
    memory = library.wp_alloc_device_async(1, 8, stream, None)
    library.wp_free_device_async(1, memory, stream)
    graph = ctypes.c_void_p()
    library.wp_cuda_graph_end_capture(1, stream, ctypes.byref(graph))
    assert native.freed == []
    library.wp_cuda_graph_destroy(1, graph)
    assert native.freed == [memory]
    assert driver.memory.used == driver.memory.pool_used == 0


def test_algorithms_are_the_hosts(driver: Driver, native: Native) -> None:
    library = driver.library
    assert library.wp_array_scan_int_device(1, 2, 3) is True
    assert native.scanned == [(1, 2, 3)]
    create = library.wp_bvh_create_device
    create.argtypes, create.restype = [ctypes.c_void_p] * 7, ctypes.c_uint64
    assert create("context", "lower", "upper", 3, 2, None, 4) == 7
    assert native.scanned[1] == ("lower", "upper", 3, 0, None, 4)
    assert ("tree", "wp_bvh_create_device") in driver.deviations.counts


def test_a_tree_is_rebuilt_by_the_library_that_built_it(driver: Driver, native: Native) -> None:
    library = driver.library
    create, rebuild = library.wp_bvh_create_device, library.wp_bvh_rebuild_device
    create.argtypes, create.restype = [ctypes.c_void_p] * 7, ctypes.c_uint64
    for constructor, then in ((2, 0), (-1, -1)):
        assert create("context", "lower", "upper", 3, constructor, None, 4) == 7
        rebuild(7)
        assert native.scanned[-1] == (7, then)


def test_deviations_are_logged_at_once_and_counted_at_the_end() -> None:
    log = Log()
    deviations = Deviations(log, lambda depth: ("a.py", 3, "f"))
    for _ in range(3):
        deviations.launch(("mathdx", "fast-math"), "product")
    assert [(event["kind"], event["count"], event["line"]) for event in log.events] == [
        ("mathdx", 1, ("a.py", 3, "f")),
        ("fast-math", 1, ("a.py", 3, "f")),
    ]
    deviations.flush()
    deviations.flush()
    assert [event.get("count", event.get("launches")) for event in log.events[2:]] == [3, 3, 3]


def test_every_kind_is_documented() -> None:
    from pathlib import Path

    text = (Path(__file__).resolve().parents[2] / "docs" / "target.md").read_text(encoding="utf-8")
    text = text.partition("## Deviations")[2].partition("## ")[0]
    assert [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")] == list(KINDS)


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("    var_5 = wp::tile_sum(var_4);", True),
        ("    wp::adj_tile_sum(var_4, adj_4, adj_5);", True),
        ("    var_4 = wp::tile_load<wp::float32, true, 64>(var_a, var_3);", True),
        ("    wp::untile(var_1)", True),
        ("    var_1 = builtin_block_dim();", True),
        ("#define builtin_block_dim() wp::block_dim()", False),
        ("    wp::tile_shared_storage_t tile_mem;", False),
        ("        wp::tile_alloc_shared(0, true);", False),
        ("    var_1 = wp::reptile_sum(2);", False),
    ],
)
def test_what_needs_all_threads_of_a_block(line: str, needs: bool) -> None:
    assert (twin._BLOCKS.search("\n" + line + "\n") is not None) is needs


def test_names_without_their_hashes() -> None:
    source = "void scale_0123abcd_cpu_forward(wp_args_scale_0123abcd); void plain_cpu_forward();"
    text, symbols = twin._renamed(source, ["scale_0123abcd", "plain"])
    assert text == "void scale_0_cpu_forward(wp_args_scale_0); void plain_cpu_forward();"
    assert symbols == {"scale_0123abcd": "scale_0"}


class Compiler:
    """Warp's library, as far as it is asked what it can compile for."""

    def __init__(self, *archs: int, old: bool = False) -> None:
        self.archs = archs
        if not old:
            self.wp_cuda_launch_kernel = None

    def wp_nvrtc_supported_arch_count(self) -> int:
        return len(self.archs)

    def wp_nvrtc_supported_archs(self, into: Any) -> None:
        into[:] = self.archs


@pytest.mark.parametrize(
    ("compiler", "said"),
    [
        (Compiler(), r"--target sm_91: the Warp of this environment \(\w+\) has no NVRTC; .* for Linux and Windows"),
        (Compiler(90, 75), "--target sm_91: Warp's NVRTC can't compile for it; it can for sm_75, sm_90"),
        (Compiler(90, old=True), "--target sm_91 needs Warp 1.9 or newer; this is 1.8.0"),
    ],
    ids=["no compiler", "no such architecture", "too old"],
)
def test_a_target_is_refused_in_one_line(compiler: Compiler, said: str) -> None:
    from types import SimpleNamespace

    from warpfix.probe.cuda.install import Emulation, Refused

    probe = SimpleNamespace(config={"target": "sm_91", "caches": "/nowhere"}, log=Log())
    build = SimpleNamespace(build_cpu=lambda: None)
    codegen = SimpleNamespace(cpu_module_template_forward="wp::launch_bounds_t dim,")
    config = SimpleNamespace(version="1.8.0")
    emulation = Emulation(probe, SimpleNamespace(__name__="warp.context"), build, codegen, config)
    with pytest.raises(Refused, match=f"^{said}$"):
        emulation.open(compiler)
