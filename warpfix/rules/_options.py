"""What is known of each option: its deadline, whether it may change forward results, its default."""

from __future__ import annotations

import ast

CREATION_TIME = frozenset(
    {
        "enable_backward",
        "max_unroll",
        "lineinfo",
        "compile_time_trace",
        "deterministic",
        "deterministic_max_records",
    }
)
"""``wp.config.X`` that Warp copies when it creates a module, and never reads again for that module."""

HASH_TIME = frozenset(
    {
        "mode",
        "optimization_level",
        "cpu_compiler_flags",
        "enable_mathdx_gemm",
        "enable_mathdx_solver",
        "enable_mathdx_fft",
        "default_grid_stride",
        "verify_fp",
        "line_directives",
        "enable_vector_component_overwrites",
        "llvm_cuda",
        "use_precompiled_headers",
        "verify_autograd_array_access",
        "enable_tiles_in_stack_memory",
    }
)
"""``wp.config.X`` that Warp reads at the first hash of a module (for each block_dim)."""

FORWARD_KEPT = frozenset({"enable_backward", "lineinfo", "compile_time_trace"})
"""Options that leave the forward code of every kernel as it is. All others may change numerics or performance."""

DEFAULTS: dict[str, object] = {
    "enable_backward": True,
    "fast_math": False,
    "fuse_fp": True,
    "lineinfo": False,
    "max_unroll": 16,
    "compile_time_trace": False,
    "strip_hash": False,
    "block_dim": 256,
    "deterministic_max_records": 0,
    "verify_fp": False,
    "verify_autograd_array_access": False,
    "llvm_cuda": False,
    "mode": "release",
}
"""Defaults that are the same in every Warp that we support."""


def is_default(name: str, value: ast.expr) -> bool:
    """Whether an expression is, as written, the default of an option."""
    return (
        name in DEFAULTS
        and isinstance(value, ast.Constant)
        and type(value.value) is type(DEFAULTS[name])
        and value.value == DEFAULTS[name]
    )


def same(one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are written alike."""
    return ast.dump(one) == ast.dump(other)
