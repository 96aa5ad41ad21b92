"""What a project's source says about Warp: definitions, options, launches, and what every name stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpfix.index.build import (
        CallSite,
        FunctionDef,
        KernelCall,
        ProjectIndex,
        Reference,
        build_index,
        walk_with_scopes,
    )

__all__ = ["CallSite", "FunctionDef", "KernelCall", "ProjectIndex", "Reference", "build_index", "walk_with_scopes"]


def __getattr__(name: str) -> Any:
    # Read late: the model in this package is imported by layers below the builder.
    if name in __all__:
        from warpfix.index import build

        return getattr(build, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
