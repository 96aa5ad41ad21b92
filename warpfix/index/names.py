"""The names of Warp that the index knows, and the canonical spelling of each."""

from __future__ import annotations

KERNEL = "warp.kernel"
KERNEL_CLASS = "warp.Kernel"
FUNC = "warp.func"
STRUCT = "warp.struct"
CONFIG = "warp.config"
SET_MODULE_OPTIONS = "warp.set_module_options"
GET_MODULE = "warp.get_module"
GET_MODULE_OPTIONS = "warp.get_module_options"

# Calls that make the module of a kernel load, or whole modules.
LAUNCHES = frozenset({"warp.launch", "warp.launch_tiled"})
LOADS = frozenset({"warp.force_load", "warp.load_module", "warp.compile_aot_module", "warp.load_aot_module"})
QUERIES = frozenset({"warp.get_suggested_block_size"})
MAPS = frozenset({"warp.map"})
LOADING = LAUNCHES | LOADS | QUERIES | MAPS

_API = frozenset(
    {
        "Kernel",
        "Module",
        "ScopedCapture",
        "capture_launch",
        "clear_kernel_cache",
        "clear_lto_cache",
        "compile_aot_module",
        "config",
        "constant",
        "copy",
        "force_load",
        "func",
        "func_grad",
        "func_native",
        "func_replay",
        "get_module",
        "get_module_options",
        "get_suggested_block_size",
        "init",
        "kernel",
        "launch",
        "launch_tiled",
        "load_aot_module",
        "load_module",
        "map",
        "overload",
        "set_module_options",
        "static",
        "struct",
    }
)

# Where Warp itself keeps what it exports as ``warp.X``, in the versions that have such a module.
_HOMES = (
    "warp._src.context.",
    "warp.context.",
    "warp._src.codegen.",
    "warp.codegen.",
    "warp._src.utils.",
    "warp.utils.",
    "warp._src.types.",
    "warp.types.",
    "warp._src.",
)

# What ``from warp import *`` may bind: more than the index looks for, so that a name that Warp has is not taken for an
# unknown one. Warp has several hundred names; those beside the ones above matter to nobody who asks here.
STAR = _API | frozenset({"array", "tid", "zeros", "empty", "ones", "Tape", "vec2", "vec3", "vec4", "mat33", "quat"})


def canonical(dotted: str) -> str:
    """One spelling for what Warp exports under several (``warp.context.kernel`` is ``warp.kernel``)."""
    if not dotted.startswith("warp."):
        return dotted
    for home in _HOMES:
        if dotted.startswith(home):
            rest = dotted[len(home) :]
            if rest.split(".", 1)[0] in _API:
                return "warp." + rest
    return dotted


def is_api(dotted: str) -> bool:
    """Whether the dotted name is one of Warp's own that the index looks for, or lies below one (``warp.config.x``)."""
    pieces = dotted.split(".", 2)
    return len(pieces) > 1 and pieces[0] == "warp" and pieces[1] in _API
