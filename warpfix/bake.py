"""Turns what a measured run built into a cache folder for a container image or a CI artefact, and proves it."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from warpfix.errors import WarpfixError
from warpfix.files import private_folder
from warpfix.measure import privacy
from warpfix.measure.builds import side_by_side
from warpfix.measure.causes import explain_warm
from warpfix.measure.inject import private_cache
from warpfix.measure.profile import CacheEvent, Load, Run, SourceLine
from warpfix.measure.run import RunSettings, require_good, run_command

SCHEMA_VERSION = 1
FORMAT = "warpfix-bake"
MANIFEST = "warpfix-bake.json"
_SEEDS = ("1", "2")
_CPU_NAMED = Version("1.13")
"""Since then the name of a CPU object carries a hash of the processor's features."""


@dataclass(frozen=True)
class Again:
    """A build of the second run: what the baked folder could not serve."""

    load: Load
    reason: str


@dataclass(frozen=True)
class Baked:
    """What was baked for one target."""

    target: str
    identities: tuple[tuple[str, str, str, int], ...]
    """(module, hash, target, block_dim) of everything that the second run took from the folder."""
    again: tuple[Again, ...]
    """What it built all the same: empty where the folder is proved."""


@dataclass(frozen=True)
class Bake:
    """The result: ``folder`` is None where it was refused."""

    folder: Path | None
    command: tuple[str, ...]
    warp: str
    targets: tuple[Baked, ...]
    files: int
    size: int
    """Bytes."""
    chosen: CacheEvent | None = None
    """Where the program chooses its own cache, and no variable reaches it."""

    @property
    def proved(self) -> bool:
        """Whether the second runs built nothing."""
        return self.chosen is None and not any(one.again for one in self.targets)

    @property
    def cpu(self) -> bool:
        """Whether objects for this machine's processor are among it."""
        return any(identity[2] == "cpu" for one in self.targets for identity in one.identities)

    def notes(self) -> list[str]:
        """What holds for the folder and is no matter of course."""
        notes = [f"It serves Warp {self.warp} alone: another version builds again, beside it or over it."]
        if self.cpu:
            try:
                named = Version(self.warp) >= _CPU_NAMED
            except InvalidVersion:
                named = True
            if named:
                notes.append(
                    "Objects for the CPU are for this machine's processor: Warp names them by its features, and builds "
                    "again where they are others."
                )
            else:
                notes.append(
                    f"Warp {self.warp} does not name objects for the CPU by the processor: use this folder on the same "
                    "kind of processor only. Elsewhere it may run instructions that are not there."
                )
        if any(one.target != "native" for one in self.targets):
            notes.append(
                "CUDA code was compiled and loaded on an emulated device: that a real one of the same architecture "
                "takes it is Warp's rule (same hash, same file), not something that was run here."
            )
        return notes


def bake(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    targets: Sequence[str],
    output: Path,
    settings: RunSettings,
    say: Callable[[str], None] | None = None,
) -> Bake:
    """Run a command once per target over an empty cache, and once more over a fresh copy of what it left, with another
    hash seed. Write the folder only if no second run built anything.

    Args:
        command: The command and its arguments.
        cwd: Its working directory.
        targets: ``native``, or architectures such as ``sm_90``; what they build comes into one folder.
        output: The folder; one that an earlier bake wrote is replaced.
        settings: How the command is run; its target is replaced by each of ``targets``.
        say: Told in one line what is about to happen.

    Raises:
        WarpfixError: The command fails or can't be observed, or the folder can't be written, or holds something else.
    """
    tell = say or (lambda line: None)
    _require_free(output)
    root = private_folder()
    try:
        return _bake(tuple(command), Path(cwd), tuple(dict.fromkeys(targets)), output, settings, tell, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _bake(
    command: tuple[str, ...],
    cwd: Path,
    targets: tuple[str, ...],
    output: Path,
    settings: RunSettings,
    say: Callable[[str], None],
    root: Path,
) -> Bake:
    staging = root / "baked"
    staging.mkdir()
    first: dict[str, Run] = {}

    def run(state: str, target: str, caches: Path) -> Run:
        say(f"{target}: {'fill' if state == 'cold' else 'prove'} the cache")
        seed = {"PYTHONHASHSEED": _SEEDS[state == "warm"]}
        mine = dataclasses.replace(settings, target=target, environment={**settings.environment, **seed})
        work = root / f"run-{target}-{state}"
        done = run_command(command, cwd=cwd, state=state, workspace=work, caches=caches, settings=mine)
        require_good(done, command, mine)
        return done

    for target in targets:
        caches = root / f"caches-{target}"
        first[target] = run("cold", target, caches)
        chosen = _chosen(first[target])
        if chosen is not None:
            return Bake(None, command, _warp(first[target]), (), 0, 0, chosen)
        place = private_cache(caches, os.environ.get("WARP_CACHE_PATH"))
        if place.is_dir():
            shutil.copytree(place, staging, dirs_exist_ok=True)
        shutil.rmtree(caches, ignore_errors=True)
    baked = []
    for target in targets:
        # A copy in another place, as an image would have it.
        caches = root / f"proof-{target}"
        shutil.copytree(staging, private_cache(caches, os.environ.get("WARP_CACHE_PATH")))
        again = explain_warm(first[target], run("warm", target, caches))
        shutil.rmtree(caches, ignore_errors=True)
        baked.append(_judge(target, first[target], again))
    files = [path for path in staging.rglob("*") if path.is_file()]
    result = Bake(
        output,
        command,
        _warp(first[targets[0]]),
        tuple(baked),
        len(files),
        sum(path.stat().st_size for path in files),
    )
    if not result.proved:
        return dataclasses.replace(result, folder=None)
    if not any(one.identities for one in baked):
        raise WarpfixError("nothing to bake: the command loaded no Warp module")
    _write(staging, output, result)
    return result


def _warp(run: Run) -> str:
    return next((process.warp_version for process in run.processes if process.warp_version), "")


def _chosen(run: Run) -> CacheEvent | None:
    """A choice of the program's own that decides where its cache is. A variable that it sets for itself is one too."""
    events = [event for process in run.processes for event in process.cache_events if event.kind == "moved"]
    return events[0] if events else None


def _judge(target: str, cold: Run, warm: Run) -> Baked:
    taken = dict.fromkeys(load.identity for load in warm.loads if load.outcome == "cached")
    again = tuple(Again(load, _reason(load, cold)) for load in warm.builds)
    return Baked(target, tuple(taken), again)


def _reason(load: Load, cold: Run) -> str:
    """Why the second run built this, in words: what in its hash is another, or what became of the cache."""
    same = [one for one in cold.loads if one.identity == load.identity]
    if same:
        return load.cause.text + _at(load.cause.line)
    before = [
        one
        for one in cold.loads
        if (one.module, one.target, one.block_dim) == (load.module, load.target, load.block_dim)
    ]
    if not before:
        return f"the first run loaded no module {load.module} for block_dim {load.block_dim}: {load.cause.text}"
    changes = [one for one in side_by_side(before[0], load) if one.changed]
    if not changes:
        return "its hash is another in each run, by something that was not observed"
    one = changes[0]
    more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"its hash is another in each run: {one.label} was {one.before}, and is {one.after}{_at(one.line)}{more}"


def _at(line: SourceLine | None) -> str:
    return f" ({line.path}:{line.line})" if line else ""


def _require_free(output: Path) -> None:
    if not output.resolve().parent.is_dir():
        raise WarpfixError(f"can't write {output}: there is no folder {output.resolve().parent}")
    if output.is_dir():
        if any(output.iterdir()) and not (output / MANIFEST).is_file():
            raise WarpfixError(f"{output} holds other files: name an empty folder, or one that `warpfix bake` wrote")
    elif output.exists():
        raise WarpfixError(f"{output} is no folder")


def _write(staging: Path, output: Path, result: Bake) -> None:
    """Move the folder into place, whole or not at all, readable by everybody: an image has other users."""
    target = output.resolve()
    try:
        (staging / MANIFEST).write_text(json.dumps(to_dict(result), indent=1) + "\n", encoding="utf-8")
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        try:
            shutil.copytree(staging, fresh, dirs_exist_ok=True)
            for path in [fresh, *fresh.rglob("*")]:
                path.chmod(0o755 if path.is_dir() else 0o644)
            if target.is_dir():
                old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
                target.replace(old / "old")
                fresh.replace(target)
                shutil.rmtree(old, ignore_errors=True)
            else:
                fresh.replace(target)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    except OSError as error:
        raise WarpfixError(f"can't write {output}: {error.strerror or error}") from error


def to_dict(result: Bake) -> dict[str, Any]:
    """The result as JSON-able data (docs/bake.md), masked as reports are; it lies in the folder too."""
    chosen = result.chosen
    data = {
        "schema_version": SCHEMA_VERSION,
        "format": FORMAT,
        "proved": result.proved,
        "folder": str(result.folder.resolve()) if result.folder else None,
        "command": privacy.mask_arguments(result.command),
        "warp": result.warp,
        "files": result.files,
        "bytes": result.size,
        "targets": [
            {
                "target": one.target,
                "identities": [
                    {"module": module, "hash": hash_, "target": target, "block_dim": block_dim}
                    for module, hash_, target, block_dim in one.identities
                ],
                "built_again": [
                    {
                        "module": again.load.module,
                        "hash": again.load.hash,
                        "block_dim": again.load.block_dim,
                        "reason": again.reason,
                    }
                    for again in one.again
                ],
            }
            for one in result.targets
        ],
        "chosen_by_program": {
            "via": chosen.via,
            "choice": chosen.choice,
            "line": {"path": chosen.line.path, "line": chosen.line.line} if chosen.line else None,
        }
        if chosen
        else None,
        "notes": result.notes() if result.proved else [],
    }
    masked: dict[str, Any] = privacy.Mask().paths(data)
    return masked
