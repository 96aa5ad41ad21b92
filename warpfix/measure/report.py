"""The versioned JSON report of a measurement: written by ``warpfix measure -o``, read by everything else.

The fields of NVIDIA's ``warp_compile_probe.py`` are a subset of ours, at the top level, so that either tool reads the
other's reports. Reports are private: mode 0600, no environment, secrets in arguments masked, the home folder as ``~``.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import statistics
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpfix.errors import WarpfixError
from warpfix.measure import privacy
from warpfix.measure.profile import (
    SCHEMA_VERSION,
    BuiltKernel,
    CacheEvent,
    Cause,
    DataLog,
    Deviation,
    KernelDef,
    LaunchLog,
    LaunchSignature,
    Load,
    OptionWrite,
    ProcessRun,
    Profile,
    Rehash,
    Run,
    SourceLine,
    Span,
    Twin,
)
from warpfix.measure.stats import summarise

FORMAT = "warpfix-profile"
_SEQUENCE_KEPT = 200_000


@dataclass(frozen=True)
class SeedReport:
    """A report of NVIDIA's ``warp_compile_probe.py``: totals, module events and launches, no causes and no code."""

    path: str
    summary: Mapping[str, Any]
    """Its numbers by their own names; what it lacks is absent."""
    modules: Mapping[str, int]
    """Warp module to number of builds in one cold run, where the report tells."""
    launches: Mapping[str, int]
    """Kernel key to number of launches, where the report tells."""
    raw: Mapping[str, Any] = field(default_factory=dict)


def summary(profile: Profile) -> dict[str, Any]:
    """The totals under the names that NVIDIA's probe uses, medians over the runs. Milliseconds, bytes, counts."""
    cold, warm = profile.cold, profile.warm
    first = cold[0] if cold else None
    loads = first.loads if first else []
    builds = first.builds if first else []
    native = [sum(_phase(run, name) for name in ("native", "pch", "link")) for run in cold]
    elapsed = [compile_elapsed(run) for run in cold]
    return {
        "warp_version": profile.environment.get("warp", ""),
        "cold_module_ms_median": _median([run.module_milliseconds for run in cold]),
        "cold_module_ms_mad": summarise([run.module_milliseconds for run in cold]).mad,
        "warm_module_ms_median": _median([run.module_milliseconds for run in warm]),
        "native_compile_ms_median": _median(native),
        "cold_wall_ms_median": _median([run.wall * 1e3 for run in cold]),
        "warm_wall_ms_median": _median([run.wall * 1e3 for run in warm]),
        "compile_elapsed_ms_median": _median(elapsed),
        "overlap_factor": _overlap(cold),
        "builds": len(builds),
        "loads": len(loads),
        "identities": len({load.identity for load in loads}),
        "warm_builds": len(warm[0].builds) if warm else 0,
        "modules": {
            name: {"builds": count, "ms": sum(load.milliseconds for load in loads if load.module == name)}
            for name, count in Counter(load.module for load in builds).items()
        },
        "generated_source_bytes": sum(load.source_bytes for load in builds),
        "lto_artifacts": sum(load.lto_artifacts for load in builds),
        "module_events": [
            {
                "module": load.module,
                "hash": load.hash[:7],
                "device": load.device,
                "block_dim": load.block_dim,
                "ms": load.milliseconds,
                "status": "error" if load.outcome == "failed" else load.outcome,
            }
            for load in loads
            if load.outcome != "inherited"
        ],
        "launches": launch_counts(first),
    }


def compile_elapsed(run: Run) -> float:
    """Milliseconds during which at least one load was going on, summed over processes: overlap counted once."""
    total = 0.0
    for process in run.processes:
        spans = sorted((load.start, load.end) for load in process.loads if load.outcome != "inherited")
        until = float("-inf")
        for start, end in spans:
            if end > until:
                total += end - max(start, until)
                until = end
    return total


def launch_counts(run: Run | None) -> dict[str, int]:
    """Kernel key to number of launches in one run."""
    counts: Counter[str] = Counter()
    for process in run.processes if run else ():
        for signature in process.launches.signatures:
            counts[signature.kernel.key or signature.kind] += process.launches.counts.get(signature.id, 0)
    return dict(counts)


def _phase(run: Run, phase: str) -> float:
    return sum(load.phases.get(phase, 0.0) for load in run.loads)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def _overlap(runs: Sequence[Run]) -> float:
    elapsed = sum(compile_elapsed(run) for run in runs)
    return sum(run.module_milliseconds for run in runs) / elapsed if elapsed else 1.0


def to_dict(profile: Profile) -> dict[str, Any]:
    """A profile as JSON-able data, with what must not leave the machine masked."""
    mask = privacy.Mask()
    data: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "format": FORMAT}
    data.update(summary(profile))
    data["command"] = privacy.mask_arguments(profile.command)
    data["cwd"] = profile.cwd
    data["target"] = profile.target
    data["environment"] = dict(profile.environment)
    data["runs"] = [_run_to_dict(run) for run in profile.runs]
    masked: dict[str, Any] = mask.paths(data)
    return masked


def _run_to_dict(run: Run) -> dict[str, Any]:
    data = dataclasses.asdict(run)
    # The streams lie in a private folder that is gone when the report is read.
    data.pop("stdout_path")
    data.pop("stderr_path")
    for process in data["processes"]:
        process["argv"] = privacy.mask_arguments(process["argv"])
        if process["data"]:
            process["data"]["words"] = base64.b64encode(process["data"]["words"]).decode("ascii")
            process["data"]["samples"] = ()
        launches = process["launches"]
        launches["sequence"] = _pack(launches["sequence"])
        launches["threads"] = {str(key): _pack(value) for key, value in launches["threads"].items()}
        launches["counts"] = {str(key): value for key, value in launches["counts"].items()}
    return data


def _pack(sequence: Sequence[int]) -> list[list[int]]:
    """Run-length pairs [id, repetitions]: programs launch in loops, reports are read by people's tools."""
    packed: list[list[int]] = []
    for value in sequence:
        if packed and packed[-1][0] == value:
            packed[-1][1] += 1
        else:
            packed.append([value, 1])
    return packed


def _unpack(packed: Sequence[Sequence[int]]) -> tuple[int, ...]:
    sequence: list[int] = []
    for value, count in packed:
        sequence.extend([int(value)] * int(count))
    return tuple(sequence)


def from_dict(data: Mapping[str, Any]) -> Profile:
    """A profile from ``to_dict``'s data. Paths come back with the home folder in place of ``~``.

    Raises:
        WarpfixError: The data is of another format or of a newer schema.
    """
    if data.get("format") != FORMAT:
        raise WarpfixError("this is no warpfix report (its 'format' field is missing or another)")
    version = data.get("schema_version")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise WarpfixError(f"this report has schema {version}, newer than the {SCHEMA_VERSION} that this warpfix reads")
    try:
        expanded: Any = privacy.Mask().expand(data)
        return Profile(
            command=tuple(expanded["command"]),
            cwd=expanded["cwd"],
            target=expanded["target"],
            runs=tuple(_run_from_dict(run) for run in expanded["runs"]),
            environment=expanded.get("environment", {}),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WarpfixError(f"this report is damaged: {type(error).__name__}: {error}") from error


def _line(data: Any) -> SourceLine | None:
    return SourceLine(**data) if data else None


def _run_from_dict(data: Mapping[str, Any]) -> Run:
    return Run(
        state=data["state"],
        exit_status=data["exit_status"],
        wall=data["wall"],
        stdout_path="",
        stderr_path="",
        processes=tuple(_process_from_dict(process) for process in data["processes"]),
        stopped_by=data.get("stopped_by"),
    )


def _process_from_dict(data: Mapping[str, Any]) -> ProcessRun:
    values = dict(data)
    for name in ("argv", "warp_output_lines", "errors"):
        values[name] = tuple(values.get(name, ()))
    values["loads"] = tuple(_load_from_dict(load) for load in data["loads"])
    values["twins"] = tuple(Twin(**twin) for twin in data.get("twins", ()))
    values["deviations"] = tuple(
        Deviation(**{**deviation, "line": _line(deviation["line"])}) for deviation in data.get("deviations", ())
    )
    launches = data["launches"]
    values["launches"] = LaunchLog(
        total=launches["total"],
        signatures=tuple(
            LaunchSignature(
                **{
                    **signature,
                    "kernel": KernelDef(**signature["kernel"]),
                    "dim": tuple(signature["dim"]),
                    "dtypes": tuple(signature["dtypes"]),
                    "line": _line(signature["line"]),
                }
            )
            for signature in launches["signatures"]
        ),
        counts={int(key): value for key, value in launches["counts"].items()},
        sequence=_unpack(launches["sequence"]),
        threads={int(key): _unpack(value) for key, value in launches["threads"].items()},
        digest=launches["digest"],
    )
    data_log = data.get("data")
    if data_log:
        names = {int(key): tuple(value) for key, value in data_log["names"].items()}
        words = base64.b64decode(data_log["words"])
        values["data"] = DataLog(**{**data_log, "names": names, "words": words, "samples": ()})
    values["option_writes"] = tuple(
        OptionWrite(**{**write, "line": _line(write["line"]), "missed": tuple(write.get("missed", ()))})
        for write in data["option_writes"]
    )
    values["warp_imported"] = _line(data.get("warp_imported"))
    values["spans"] = tuple(Span(**span) for span in data.get("spans", ()))
    values["unfinished"] = tuple(Span(**span) for span in data.get("unfinished", ()))
    values["unobserved"] = tuple(data.get("unobserved", ()))
    values["rehashes"] = tuple(
        Rehash(**{**one, "line": _line(one["line"]), "made_by": _line(one["made_by"])})
        for one in data.get("rehashes", ())
    )
    values["cache_events"] = tuple(
        CacheEvent(**{**one, "line": _line(one["line"])}) for one in data.get("cache_events", ())
    )
    return ProcessRun(**values)


def _load_from_dict(data: Mapping[str, Any]) -> Load:
    kernels = tuple(
        BuiltKernel(**{**kernel, "definition": KernelDef(**kernel["definition"])}) for kernel in data["kernels"]
    )
    cause = Cause(**{**data["cause"], "line": _line(data["cause"]["line"])})
    return Load(**{**data, "kernels": kernels, "cause": cause, "paid_by": _line(data["paid_by"])})


def write_report(profile: Profile, path: str | os.PathLike[str]) -> None:
    """Write a report: whole or not at all, readable by its owner only.

    Raises:
        WarpfixError: The file can't be written.
    """
    text = json.dumps(to_dict(profile), indent=1, sort_keys=False, default=str) + "\n"
    write_private(Path(path), text)


def write_private(path: Path, text: str) -> None:
    """Write a file atomically with mode 0600."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WarpfixError(f"can't write {path}: {error.strerror or error}") from error


def read_report(path: str | os.PathLike[str]) -> Profile | SeedReport:
    """Read a report of warpfix, or one of NVIDIA's ``warp_compile_probe.py``.

    Raises:
        WarpfixError: The file can't be read or is neither.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise WarpfixError(f"can't read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise WarpfixError(f"{path} is no report: {error}") from error
    if not isinstance(data, dict):
        raise WarpfixError(f"{path} is no report: it holds a {type(data).__name__}, not an object")
    if data.get("format") == FORMAT:
        try:
            return from_dict(data)
        except WarpfixError as error:
            raise WarpfixError(f"{path}: {error}") from error
    return _seed(str(path), data)


_SEED_NUMBERS = (
    "cold_module_ms_median",
    "warm_module_ms_median",
    "native_compile_ms_median",
    "cold_wall_ms_median",
    "warm_wall_ms_median",
    "compile_elapsed_ms_median",
    "overlap_factor",
    "identities",
    "generated_source_bytes",
    "lto_artifacts",
    "builds",
)


def _seed(path: str, data: Mapping[str, Any]) -> SeedReport:
    """Read the seed's report leniently: its totals stand at the top or under ``summary``, lists may be counts."""
    nested = data.get("summary")
    merged: dict[str, Any] = {**data, **nested} if isinstance(nested, Mapping) else dict(data)
    numbers: dict[str, Any] = {}
    for name in _SEED_NUMBERS:
        value = merged.get(name)
        if isinstance(value, (list, tuple, Mapping)):
            numbers[name] = len(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers[name] = value
    if not numbers and "module_events" not in merged:
        raise WarpfixError(f"{path} is no report of warpfix, nor of warp_compile_probe.py: it has none of their fields")
    builds: Counter[str] = Counter()
    for event in merged.get("module_events") or ():
        if not isinstance(event, Mapping):
            continue
        state = str(event.get("status", event.get("state", event.get("outcome", "compiled"))))
        if state == "compiled":
            builds[str(event.get("module", event.get("name", "")))] += 1
    if not builds and isinstance(merged.get("modules"), Mapping):
        for name, value in merged["modules"].items():
            count = value.get("builds", value.get("compiled", 1)) if isinstance(value, Mapping) else value
            builds[str(name)] = int(count) if isinstance(count, (int, float)) else 1
    launches: Counter[str] = Counter()
    listed = merged.get("launches")
    if isinstance(listed, Mapping):
        launches.update({str(key): int(value) for key, value in listed.items() if isinstance(value, (int, float))})
    elif isinstance(listed, (list, tuple)):
        for launch in listed:
            key = launch.get("kernel", launch.get("key", "")) if isinstance(launch, Mapping) else launch
            launches[str(key)] += 1
    return SeedReport(path=path, summary=numbers, modules=dict(builds), launches=dict(launches), raw=data)
