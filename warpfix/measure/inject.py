"""The private folder that puts the probe into every Python process of a command, and the environment for it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import warpfix.probe

LOGS = "logs"
"""The folder of the processes' logs in the workspace of a run."""


@dataclass(frozen=True)
class Injection:
    """Where one run's probe, logs and saved sources lie."""

    folder: Path
    logs: Path
    code: Path
    kept: Mapping[str, str]
    """Variables that every process of the command must keep, whatever environment it is given."""

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The command's environment: ``base`` with the probe on PYTHONPATH and the caches private."""
        env = dict(base)
        old = [part for part in env.get("PYTHONPATH", "").split(os.pathsep) if part]
        env["PYTHONPATH"] = os.pathsep.join([str(self.folder), *old])
        env.update(self.kept)
        return env

    def command(self, command: Sequence[str]) -> list[str]:
        """The command, with the probe kept where it sets PYTHONPATH literally (``env PYTHONPATH=src python x.py``)."""
        from warpfix.probe.environ import command_keeper

        kept: list[str] = command_keeper(str(self.folder))(list(command))
        return kept


def inject(
    workspace: Path,
    caches: Path,
    *,
    environment: Mapping[str, str],
    overlay: Mapping[str, bytes] | None,
    stop_after_launches: int | None,
    target: str = "native",
    check_data: bool = False,
    data_watch: int | None = None,
    levers: Mapping[str, Any] | None = None,
) -> Injection:
    """Write the injected folder below ``workspace``. All folders are private (0700).

    ``levers`` are overrides of options and a preload, as ``warpfix.probe.levers`` reads them.
    """
    folder, logs, code = workspace / "inject", workspace / LOGS, workspace / "code"
    for path in (workspace, folder, logs, code, caches):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    source = Path(warpfix.probe.__file__).parent
    package = folder / "_warpfix_probe"
    package.mkdir(mode=0o700, exist_ok=True)
    for file in source.rglob("*.py"):
        place = folder / file.name if file.name == "sitecustomize.py" else package / file.relative_to(source)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.copyfile(file, place)
    served: dict[str, str] = {}
    for number, (path_text, content) in enumerate(sorted((overlay or {}).items())):
        stored = folder / "overlay" / str(number)
        stored.parent.mkdir(mode=0o700, exist_ok=True)
        stored.write_bytes(content)
        served[path_text] = str(stored)
    kept = {
        "WARP_CACHE_PATH": str(private_cache(caches, environment.get("WARP_CACHE_PATH"))),
        "CUDA_CACHE_PATH": str(caches / "cuda"),
    }
    if target != "native":
        # The emulated device is the only one: a real one must not be seen by other libraries of the program either.
        kept["CUDA_VISIBLE_DEVICES"] = "-1"
    config = {
        "logs": str(logs),
        "code": str(code),
        "caches": str(caches),
        "overlay": served,
        "stop_after_launches": stop_after_launches,
        "keep": kept,
        "target": None if target == "native" else target,
        "check_data": check_data,
        "data_watch": data_watch,
        "levers": dict(levers or {}),
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return Injection(folder, logs, code, kept)


def private_cache(caches: Path, choice: str | None) -> Path:
    """The private place for Warp's default cache, or for the one that the environment chose."""
    from warpfix.probe.caches import Caches

    if not choice:
        return caches / "default"
    mapped: str = Caches(str(caches), lambda *_: None).map(choice, "WARP_CACHE_PATH")
    return Path(mapped)
