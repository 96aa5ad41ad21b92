"""Which Warp knows which option: names with the version that brought them. Data only, for versions from 1.7 on."""

from __future__ import annotations

import importlib.metadata
import re
from functools import cache

from warpfix.config import Config

Version = tuple[int, int]

_FIRST: Version = (1, 7)

MODULE_OPTIONS: dict[str, Version] = {
    "block_dim": _FIRST,
    "compile_time_trace": (1, 8),
    "cpu_compiler_flags": (1, 13),
    "cuda_output": _FIRST,
    "default_grid_stride": (1, 15),
    "deterministic": (1, 15),
    "deterministic_max_records": (1, 15),
    "enable_backward": _FIRST,
    "enable_mathdx_fft": (1, 14),
    "enable_mathdx_gemm": (1, 12),
    "enable_mathdx_solver": (1, 14),
    "extra_build_options": (1, 17),
    "fast_math": _FIRST,
    "fuse_fp": _FIRST,
    "lineinfo": _FIRST,
    "max_unroll": _FIRST,
    "mode": _FIRST,
    "optimization_level": (1, 11),
    "strip_hash": (1, 9),
}
"""Keys of a module's options. Warp accepts any other key too, which only changes the module's hash."""

_RECENT: Version = (1, 13)
"""For settings that came after 1.12 in a version that is not recorded here."""

CONFIG: dict[str, Version] = {
    "cache_kernels": _FIRST,
    "compile_time_trace": (1, 8),
    "cpu_compiler_flags": (1, 13),
    "cuda_arch_suffix": (1, 12),
    "cuda_output": _FIRST,
    "default_grid_stride": (1, 15),
    "deterministic": (1, 15),
    "deterministic_debug": (1, 15),
    "deterministic_max_records": (1, 15),
    "enable_backward": _FIRST,
    "enable_cpu_blocks": (1, 18),
    "enable_graph_capture_module_load_by_default": _FIRST,
    "enable_mathdx_fft": (1, 14),
    "enable_mathdx_gemm": (1, 12),
    "enable_mathdx_solver": (1, 14),
    "enable_mempools_at_init": _FIRST,
    "enable_tiles_in_stack_memory": (1, 8),
    "enable_vector_component_overwrites": _FIRST,
    "kernel_cache_dir": _FIRST,
    "launch_array_access_mode": _RECENT,
    "legacy_cpu_linker": (1, 13),
    "legacy_scalar_return_types": (1, 11),
    "line_directives": _FIRST,
    "lineinfo": _FIRST,
    "llvm_cuda": _FIRST,
    "load_module_max_workers": (1, 11),
    "log_level": (1, 14),
    "max_unroll": _FIRST,
    "mode": _FIRST,
    "optimization_level": (1, 11),
    "print_launches": _FIRST,
    "ptx_target_arch": _FIRST,
    "quiet": _FIRST,
    "track_memory": _RECENT,
    "use_precompiled_headers": (1, 11),
    "verbose": _FIRST,
    "verbose_warnings": _FIRST,
    "verify_autograd_array_access": _FIRST,
    "verify_cuda": _FIRST,
    "verify_fp": _FIRST,
    "version": _FIRST,
}
"""Settings of ``wp.config``. It is a plain module: any other name is stored and never read."""

LOG_LEVEL: Version = (1, 14)
"""First Warp with ``wp.config.log_level``; ``verbose`` and ``quiet`` are deprecated from here on."""
FLAGS_GONE: Version = (1, 18)
"""First Warp that no longer reads ``wp.config.verbose`` and ``quiet``."""


def lowest(config: Config) -> Version:
    """The lowest Warp that the project's metadata allows; else the installed one; else the lowest supported."""
    return _numbers(config.warp_min) if config.warp_min is not None else installed() or _FIRST


def newest(config: Config) -> Version | None:
    """The newest Warp that the code is known to meet: the installed one; None where none is."""
    here = installed()
    return None if here is None else max(here, lowest(config))


@cache
def installed() -> Version | None:
    """The Warp beside warpfix, if there is one."""
    try:
        return _numbers(importlib.metadata.version("warp-lang"))
    except importlib.metadata.PackageNotFoundError:
        return None


def words(version: Version) -> str:
    """As people write it: ``1.14``."""
    return f"{version[0]}.{version[1]}"


def _numbers(version: str) -> Version:
    found = [int(piece) for piece in re.findall(r"\d+", version)[:2]]
    return found[0], found[1] if len(found) > 1 else 0
