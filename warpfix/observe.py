"""Counts the Warp modules that a stretch of this very process builds, whatever any cache holds: for the pytest plugin.

Warp is never imported here. Where the process has imported it, its modules are unloaded before and after the stretch,
and its kernel cache is an empty private folder in between.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

_CONTEXTS = ("warp._src.context", "warp.context")
_observer: _Observer | None = None


@dataclass(frozen=True)
class Build:
    """One build of one Warp module."""

    module: str
    cause: str
    """Its kind: ``first-load``, ``kernel-added`` and the like."""
    text: str
    """The cause in words."""
    line: str
    """``path:line`` that caused it; empty where it is not known."""
    paid_by: str
    """``path:line`` of the launch that waited."""
    block_dim: int
    target: str
    rebuild: bool
    """Whether the stretch had built this module for this block_dim and target before."""

    def __str__(self) -> str:
        where = f"{self.line}, paid by {self.paid_by}" if self.line and self.line != self.paid_by else self.paid_by
        return f"{self.module}: {self.text}" + (f" ({where})" if where else "")


class Builds(Sequence[Build]):
    """What was built so far: a sequence that grows with each build while it is watched."""

    def __init__(self) -> None:
        self._builds: list[Build] = []
        self._logs: Path | None = None

    def _read(self) -> list[Build]:
        if self._logs is not None:
            self._builds = _builds(self._logs)
        return self._builds

    def __len__(self) -> int:
        return len(self._read())

    @overload
    def __getitem__(self, index: int) -> Build: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Build]: ...
    def __getitem__(self, index: int | slice) -> Build | Sequence[Build]:
        return self._read()[index]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that were built, each once, in order."""
        return tuple(dict.fromkeys(build.module for build in self._read()))

    @property
    def rebuilds(self) -> tuple[Build, ...]:
        """The builds of a module that had been built before."""
        return tuple(build for build in self._read() if build.rebuild)

    def __repr__(self) -> str:
        builds = self._read()
        many = f"{len(builds)} build{'' if len(builds) == 1 else 's'} of Warp modules"
        return many + "".join(f"\n  {build}" for build in builds)


class _Observer:
    """The probe of this process and its private folder; both stay until the process ends."""

    def __init__(self) -> None:
        import atexit

        from warpfix.probe import inprocess

        self.folder = Path(tempfile.mkdtemp(prefix="warpfix-observe-"))
        self.owner = os.getpid()
        self.number = 0
        self.probe: Any = inprocess.watch(str(self.folder / "idle"))
        atexit.register(self.clean)

    def clean(self) -> None:
        """Remove the folder; a forked child leaves it to its parent."""
        if os.getpid() == self.owner:
            shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def building(builds: Builds | None = None) -> Iterator[Builds]:
    """Watch the builds of a stretch of this process. Stretches must not overlap.

    Args:
        builds: What to fill; a new one by default.

    Afterwards Warp's modules are unloaded once more and its cache is what it was.
    """
    from warpfix.probe import inprocess

    global _observer
    if _observer is None or _observer.owner != os.getpid():
        _observer = _Observer()
    _observer.number += 1
    stretch = _observer.folder / str(_observer.number)
    builds = Builds() if builds is None else builds
    with _private_cache(stretch / "cache"):
        _unload()
        inprocess.renew(_observer.probe, str(stretch / "logs"))
        builds._logs = stretch / "logs"
        try:
            yield builds
        finally:
            builds._read()
            builds._logs = None
            inprocess.renew(_observer.probe, str(_observer.folder / "idle"))
            _unload()
    shutil.rmtree(stretch, ignore_errors=True)


def measured() -> bool:
    """Whether this process runs under ``warpfix measure`` or the like, which watches it already."""
    return any(name.startswith("_warpfix_probe") for name in sys.modules)


def _context() -> Any:
    """Warp's context module, where it has been imported."""
    for name in _CONTEXTS:
        module = sys.modules.get(name)
        if module is not None and getattr(getattr(module, "Module", None), "__module__", "") == name:
            return module
    return None


def _unload() -> None:
    context = _context()
    for module in list(getattr(context, "user_modules", {}).values()):
        module.unload()


@contextlib.contextmanager
def _private_cache(folder: Path) -> Iterator[None]:
    """Warp's kernel cache in an empty folder, whether Warp has been initialised, is so in between, or never."""
    folder.mkdir(parents=True)
    names = {"WARP_CACHE_PATH": str(folder / "warp"), "CUDA_CACHE_PATH": str(folder / "cuda")}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    config: Any = sys.modules.get("warp.config")
    chosen = getattr(config, "kernel_cache_dir", None)
    if chosen is not None:
        config.kernel_cache_dir = names["WARP_CACHE_PATH"]
        Path(names["WARP_CACHE_PATH"]).mkdir()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _restore_cache(chosen, folder)


def _restore_cache(chosen: Any, private: Path) -> None:
    config: Any = sys.modules.get("warp.config")
    now = getattr(config, "kernel_cache_dir", None)
    if now is None or not Path(now).resolve().is_relative_to(private.resolve()):
        # Never initialised, or the test has chosen another itself.
        return
    if chosen is not None:
        config.kernel_cache_dir = chosen
        return
    # Warp was initialised meanwhile: let it choose as it would have.
    context = _context()
    build: Any = sys.modules.get(context.__name__.rsplit(".", 1)[0] + ".build")
    build.init_kernel_cache()


def _builds(logs: Path) -> list[Build]:
    from warpfix.measure.read import read_processes

    found, seen = [], set()
    here = str(Path.cwd())
    for process in read_processes(logs):
        for load in process.loads:
            if load.outcome not in ("compiled", "failed"):
                continue
            variant = (load.module, load.block_dim, load.target)
            found.append(
                Build(
                    module=load.module,
                    cause=load.cause.kind,
                    text=load.cause.text,
                    line=_place(load.cause.line, here),
                    paid_by=_place(load.paid_by, here),
                    block_dim=load.block_dim,
                    target=load.target,
                    rebuild=variant in seen,
                )
            )
            seen.add(variant)
    return found


def _place(line: Any, here: str) -> str:
    if line is None:
        return ""
    path = os.path.relpath(line.path, here) if line.path.startswith(here + os.sep) else line.path
    return f"{path}:{line.line}"
