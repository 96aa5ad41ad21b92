"""Watches builds in a process that warpfix did not start, such as a run of pytest: only loads and kernels, and only
Warp's own classes are hooked. The program's settings, launches, processes and output are left alone."""

import os
import sys

from . import importing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


def watch(folder):
    # type: (str) -> Any
    """Start watching, now or when Warp is imported; returns the probe, whose log ``renew`` changes.

    ``folder`` is private to the caller and stays as long as the process.
    """
    from .boot import Probe
    from .hooks import CONTEXTS

    code = os.path.join(folder, "code")
    os.makedirs(code, exist_ok=True)
    probe = Probe({"logs": folder, "code": code, "caches": folder}, _log(folder))
    importing.when_executed(CONTEXTS, lambda context: _install(context, probe))
    return probe


def _log(folder):
    # type: (str) -> Any
    from .log import Log

    os.makedirs(folder, exist_ok=True)
    return Log(folder)


def renew(probe, folder):
    # type: (Any, str) -> None
    """Log into another folder from here on: what happens now is explained by nothing before it."""
    probe.log = _log(folder)
    probe.start_event()


def _install(context, probe):
    # type: (Any, Any) -> bool
    from . import frames, kernels, modules

    module_class = getattr(context, "Module", None)
    if module_class is None or module_class.__module__ != context.__name__:
        return False
    prefix = context.__name__.rsplit(".", 1)[0]
    frames.add_internal(os.path.dirname(os.path.abspath(sys.modules["warp"].__file__ or "")))
    probe.context = context
    probe.config_module = sys.modules.get("warp.config")
    build, codegen = sys.modules.get(prefix + ".build"), sys.modules.get(prefix + ".codegen")
    for name, put, given in (
        ("kernels", kernels.install, (context, probe)),
        ("modules", modules.install, (context, build, codegen, probe)),
    ):  # type: str, Any, Any
        try:
            put(*given)
        except Exception as error:
            probe.log.fault("hook " + name, error)
    return True
