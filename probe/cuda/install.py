"""Puts the emulated device on a Warp that has just been imported, before it opens its native library."""

import functools
import glob
import os
import sys

from .. import frames
from ..phases import take
from .deviations import Deviations
from .driver import Driver
from .twin import Twins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

OLDEST = "1.9"
"""The oldest Warp whose library is emulated: its entry points have the names of today."""
_LIBRARIES = ("warp.so", "libwarp.so", "warp.dll", "libwarp.dylib")


class Refused(Exception):
    """The target can't be emulated here; the text says why and what is there instead."""


class Emulation:
    """The emulated device of this process: ``driver`` is there once Warp has opened its library."""

    def __init__(self, probe, context, build, codegen, config):
        # type: (Any, Any, Any, Any, Any) -> None
        self.probe = probe
        self.context = context
        # In 1.10 the settings are a module of another name.
        config = config or sys.modules[context.__name__.rpartition(".")[0] + ".config"]
        self.version = str(getattr(config, "version", "an older one"))
        self.target = str(probe.config["target"])
        self.arch = int(self.target[len("sm_") :])
        self.deviations = Deviations(probe.log, frames.user_line)
        folder = os.path.join(probe.config["caches"], "twins")
        self.twins = Twins(folder, context, codegen, build.build_cpu, config, probe.log)
        self.driver = None  # type: Any

    def open(self, real):
        # type: (Any) -> Any
        """The library for Warp: the real one under the emulated driver.

        Raises:
            Refused: This Warp can't compile for the target.
        """
        if not hasattr(real, "wp_cuda_launch_kernel"):
            raise Refused("--target %s needs Warp %s or newer; this is %s" % (self.target, OLDEST, self.version))
        archs = supported(real)
        if not archs:
            raise Refused(
                "--target %s: the Warp of this environment (%s) has no NVRTC; its CUDA compiler comes with the wheels "
                "for Linux and Windows" % (self.target, sys.platform)
            )
        if self.arch not in archs:
            known = ", ".join("sm_%d" % arch for arch in archs)
            raise Refused("--target %s: Warp's NVRTC can't compile for it; it can for %s" % (self.target, known))
        self.driver = Driver(real, self.arch, self.twins, self.deviations)
        devices = len(glob.glob("/dev/nvidia[0-9]*"))
        self.probe.log.event("target", target=self.target, hidden=devices)
        return self.driver.library

    def flush(self):
        # type: () -> None
        """Write what is counted, and remove what nobody needs after this process."""
        self.deviations.flush()
        self.twins.tidy()


def supported(real):
    # type: (Any) -> list[int]
    """The architectures that the NVRTC in Warp's library compiles for; none where there is none."""
    import ctypes

    try:
        count = int(real.wp_nvrtc_supported_arch_count())
        if count <= 0:
            return []
        archs = (ctypes.c_int * count)()
        real.wp_nvrtc_supported_archs(archs)
    except AttributeError:
        return []
    return sorted(archs)


def prepare(context, build, codegen, config, probe):
    # type: (Any, Any, Any, Any, Any) -> Any
    """Hook the opening of the library. To be called before the other hooks, so that a twin passes none of them."""
    emulation = Emulation(probe, context, build, codegen, config)
    original = context.Runtime.load_dll

    @functools.wraps(original)
    def load_dll(self, path, *args, **kwargs):
        # type: (Any, Any, Any, Any) -> Any
        library = original(self, path, *args, **kwargs)
        if os.path.basename(str(path)) not in _LIBRARIES:
            return library
        try:
            return emulation.open(library)
        except Refused as error:
            probe.refuse(str(error))
            raise

    context.Runtime.load_dll = load_dll
    return emulation


def finish(emulation):
    # type: (Emulation) -> None
    """Hook Module.load around all other hooks: what is done for a twin is no part of the load."""
    module_class = emulation.context.Module
    original = module_class.load
    twins = emulation.twins

    @functools.wraps(original)
    def load(self, device, block_dim=None, *args, **kwargs):
        # type: (Any, Any, Any, Any, Any) -> Any
        module_exec = original(self, device, block_dim, *args, **kwargs)
        driver = emulation.driver
        if driver is not None and driver.execution.untold:
            loaded = driver.execution.modules.get(getattr(module_exec, "handle", None))
            if loaded is not None and loaded.twin is None:
                driver.execution.untold = max(driver.execution.untold - 1, 0)
                loaded.tell(twins.prepare(self, module_exec))
                take(0.0)
        return module_exec

    module_class.load = load
