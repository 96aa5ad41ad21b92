"""Keeps a copy of the binary that a CUDA build leaves: what the GPU runs is compared, not only what was generated."""

import functools
import itertools
import os
import re
import shutil
import threading

from .phases import Aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

KINDS = (".cubin", ".ptx")
_ARCHITECTURE = re.compile(r"\.sm(\d+)[a-z]*\.(?:cubin|ptx)\Z")


class _Built(threading.local):
    def __init__(self):
        # type: () -> None
        self.paths = []  # type: list[str]


_built = _Built()
_numbers = itertools.count()


def install(build, probe):
    # type: (Any, Any) -> None
    """Hook ``build_cuda``. To be called when its other hooks are on: what is copied here is timed by none of them."""
    original = getattr(build, "build_cuda", None)
    if original is None:
        return

    @functools.wraps(original)
    def build_cuda(*args, **kwargs):
        # type: (Any, Any) -> Any
        result = original(*args, **kwargs)
        with Aside():
            try:
                path = kwargs.get("output_path") or args[2]
                name = "%s-binary-%d%s" % (probe.log.name, next(_numbers), os.path.splitext(path)[1])
                copy = os.path.join(probe.config["code"], name)
                shutil.copyfile(path, copy)
                _built.paths.append(copy)
            except Exception as error:
                probe.log.fault("machine code", error)
        return result

    build.build_cuda = build_cuda


def take():
    # type: () -> list[str]
    """The binaries that this thread has built since it was last asked."""
    paths, _built.paths = _built.paths, []
    return paths


def of_device(names, device):
    # type: (list[str], Any) -> list[str]
    """Those of a cache folder's file names that may be the binary for a device: of its architecture, or PTX."""
    arch = str(getattr(device, "arch", ""))
    cubins = [name for name in names if name.endswith(".cubin") and _of(name) == arch]
    return cubins or [name for name in names if name.endswith(".ptx")]


def _of(name):
    # type: (str) -> str
    match = _ARCHITECTURE.search(name)
    return match.group(1) if match else ""
