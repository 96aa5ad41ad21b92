"""Puts the hooks on a Warp that has just been imported, each by capability: what a version lacks is left out, said, and
costs only that observation."""

import os
import sys

from . import caches, capabilities, data, frames, kernels, launches, levers, modules, options, output, spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

CONTEXTS = ("warp._src.context", "warp.context")
"""Where Warp keeps its context module: since 1.10, and before."""


def install(context, probe):
    # type: (Any, Any) -> bool
    """Hook one executed context module; False if it is only a shim for the real one."""
    module_class = getattr(context, "Module", None)
    if module_class is None or module_class.__module__ != context.__name__:
        return False
    prefix = context.__name__.rsplit(".", 1)[0]
    package = os.path.dirname(os.path.abspath(sys.modules["warp"].__file__ or ""))
    frames.add_internal(package)
    config = sys.modules.get("warp.config")
    build = sys.modules.get(prefix + ".build")
    codegen = sys.modules.get(prefix + ".codegen")
    probe.context = context
    probe.config_module = config
    target = None
    if probe.config.get("target"):
        from .cuda import install as cuda

        # Before all other hooks: what only serves execution must pass none of them.
        try:
            target = probe.target = cuda.prepare(context, build, codegen, config, probe)
        except Exception as error:
            probe.refuse("--target can't be set up: %s: %s" % (type(error).__name__, error))
    probe.log.event(
        "warp",
        version=str(getattr(config, "version", "?")),
        context=context.__name__,
        package=package,
        main=str(getattr(sys.modules.get("__main__"), "__file__", None) or ""),
        imported=frames.user_line(1),
    )
    found, missing = capabilities.look({"context": context, "config": config, "build": build, "codegen": codegen})
    probe.log.event("hooks", found=found, missing=missing)
    for name, put, given in (
        ("caches", caches.install, (build, probe.caches, probe.log)),
        ("levers", levers.install, (context, probe)),
        ("options", options.install, (context, config, probe)),
        ("kernels", kernels.install, (context, probe)),
        ("modules", modules.install, (context, build, codegen, probe)),
        ("data", data.install, (context, probe)),
        ("launches", launches.install, (context, probe)),
        ("output", output.install, (context, probe)),
        ("spans", spans.install, (context, probe)),
        ("preload", levers.install_preload, (context, probe)),
    ):  # type: str, Any, Any
        try:
            put(*given)
        except Exception as error:
            if not missing:
                probe.log.fault("hook " + name, error)
    if target is not None:
        cuda.finish(target)
    return True
