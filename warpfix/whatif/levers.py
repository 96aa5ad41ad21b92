"""The levers: how each is spelled, for which profiles it can matter, what it costs, and how it is taken. Pure."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

from warpfix.errors import WarpfixError
from warpfix.measure.profile import LaunchSignature, Load, ProcessRun, Profile, Run, SourceLine
from warpfix.probe.levers import stem

OPTION, MODULE, PRELOAD, CACHE, COST = "option", "module", "preload", "cache", "cost"

_OFF = {"off": False, "false": False, "on": True, "true": True}
MATHDX = {"enable_mathdx_gemm": "dot", "enable_mathdx_solver": "solver", "enable_mathdx_fft": "fft"}
"""Warp's options of MathDx, to the kind of device-code link that each is about."""


@dataclass(frozen=True)
class Lever:
    """Something that could be done about a program's start without another line of its kernels."""

    kind: str
    """``option`` (of ``wp.config``), ``module`` (an option of some modules), ``preload``, ``cache`` or ``cost``."""
    option: str = ""
    """Warp's option, for the first two."""
    value: Any = None
    """Its value; of ``preload``, the number of threads."""
    modules: tuple[str, ...] = ()
    """For ``module``: their names."""

    @property
    def name(self) -> str:
        """As it is typed after ``--lever``."""
        if self.kind == PRELOAD:
            return f"preload={self.value}"
        if self.kind == CACHE:
            return "persisted-cache"
        if self.kind == COST:
            return "module-cost"
        value = {True: "on", False: "off"}.get(self.value) if isinstance(self.value, bool) else str(self.value)
        return f"{self.option}={value}" + (f":{','.join(self.modules)}" if self.modules else "")

    def covers(self, module: str) -> bool:
        """Whether a Warp module is meant. A unique module may be named by its kernel's key alone."""
        return self.kind != MODULE or module in self.modules or stem(module) in self.modules

    def config(self, profile: Profile) -> dict[str, Any]:
        """What the probe is told (``warpfix.probe.levers``)."""
        if self.kind == OPTION:
            return {"options": {self.option: self.value}}
        if self.kind == MODULE:
            return {"modules": {name: {self.option: self.value} for name in self.modules}}
        if self.kind == PRELOAD:
            return {"preload": identities(profile), "workers": self.value}
        return {}


_SPELLED = {
    "enable_backward": "enable_backward=off[:MODULE,...]",
    "max_unroll": "max_unroll=N",
    "use_precompiled_headers": "use_precompiled_headers=off",
    "optimization_level": "optimization_level=N",
    **{name: f"{name}=off" for name in MATHDX},
    "preload": "preload[=THREADS]",
    "persisted-cache": "persisted-cache",
    "module-cost": "module-cost",
}
SPELLINGS = tuple(_SPELLED.values())
"""Every lever as it is typed."""


def parse(text: str) -> Lever:
    """A lever as it is typed: ``enable_backward=off``, ``enable_backward=off:app.stages``, ``max_unroll=4``,
    ``preload=4``, ``persisted-cache``.

    Raises:
        WarpfixError: There is no such lever, or it takes no such value.
    """
    name, _, rest = text.partition("=")
    value, _, modules = rest.partition(":")
    if name not in _SPELLED:
        near = difflib.get_close_matches(name, _SPELLED, 1)
        known = f"do you mean {_SPELLED[near[0]]}?" if near else f"there are: {', '.join(SPELLINGS)}"
        raise WarpfixError(f"no lever {text}; {known}")
    wrong = WarpfixError(f"--lever {text}: write {_SPELLED[name]}")
    if modules and name != "enable_backward":
        raise wrong
    if name in ("persisted-cache", "module-cost"):
        if rest:
            raise wrong
        return Lever(CACHE if name == "persisted-cache" else COST)
    if name in ("preload", "max_unroll", "optimization_level"):
        if name == "preload" and not rest:
            return Lever(PRELOAD, value=workers())
        if not value.isdigit():
            raise wrong
        return Lever(PRELOAD, value=max(int(value), 1)) if name == "preload" else Lever(OPTION, name, int(value))
    if value not in _OFF:
        raise wrong
    names = tuple(part for part in modules.split(",") if part)
    return Lever(MODULE if names else OPTION, name, _OFF[value], names)


def workers() -> int:
    """Threads of a preload where none are named: as many as processors, and at most four, as Warp would take."""
    return min(os.cpu_count() or 1, 4)


# ---- what the baseline shows


def identities(profile: Profile) -> list[dict[str, Any]]:
    """What the first cold run loaded, once each and in order, as the preload takes it."""
    found: dict[tuple[str, str, int], None] = {}
    for load in profile.cold[0].loads if profile.cold else ():
        if load.outcome in ("compiled", "cached"):
            found.setdefault((load.module, load.device, load.block_dim))
    return [{"module": module, "device": device, "block_dim": block_dim} for module, device, block_dim in found]


@dataclass(frozen=True)
class AdjointLaunch:
    """A kernel whose adjoint was launched, and the line of the tape's ``backward``."""

    module: str
    kernel: str
    line: SourceLine | None


def adjoint_launches(runs: Sequence[Run]) -> list[AdjointLaunch]:
    """The adjoints that any of the runs launched, once per kernel."""
    found: dict[tuple[str, str], AdjointLaunch] = {}
    for run in runs:
        for process in run.processes:
            for signature in process.launches.signatures:
                if signature.adjoint and signature.kernel.key:
                    key = (signature.module, _called(signature))
                    found.setdefault(key, AdjointLaunch(signature.module, _called(signature), signature.line))
    return list(found.values())


def _called(signature: LaunchSignature) -> str:
    return signature.kernel.qualname or signature.kernel.key


def home(profile: Profile) -> ProcessRun | None:
    """The process whose entry point counts: the one with the longest module time."""
    processes = [process for run in profile.cold[:1] for process in run.processes if process.warp_version]
    return max(processes, key=lambda process: sum(load.milliseconds for load in process.loads), default=None)


def warp_version(profile: Profile) -> Version:
    """The Warp of the measured process; 0 where it is not known."""
    process = home(profile)
    try:
        return Version(process.warp_version or "0") if process else Version("0")
    except InvalidVersion:
        return Version("0")


def _cuda(load: Load) -> bool:
    return load.target != "cpu"


def _builds(profile: Profile) -> list[Load]:
    return profile.cold[0].builds if profile.cold else []


def _has_backward(load: Load) -> bool:
    return any(kernel.backward_code for kernel in load.kernels)


def _loops(load: Load) -> int:
    parts = [kernel.ingredients for kernel in load.kernels] + list(load.functions.values())
    return sum(int(part.get("loops", 0)) for part in parts)


def inapplicable(lever: Lever, profile: Profile) -> str:
    """Why a lever can't matter for this profile, in words; empty where it can."""
    builds = _builds(profile)
    if not builds:
        return "nothing was built"
    if lever.kind in (CACHE, COST):
        return ""
    version = warp_version(profile)
    if lever.kind == PRELOAD:
        if version < Version("1.11"):
            return f"Warp {version} can't load in parallel (1.11 and newer can)"
        if version < Version("1.17") and not all(_cuda(load) for load in builds):
            return f"before Warp 1.17 parallel loads on the CPU race each other; this is Warp {version}"
        return "" if len(identities(profile)) > 1 else "only one identity was loaded"
    if lever.kind == MODULE:
        names = {load.module for load in builds}
        missing = [name for name in lever.modules if name not in names and name not in {stem(one) for one in names}]
        if missing:
            near = difflib.get_close_matches(missing[0], sorted(names), 3)
            return f"no module {missing[0]} was built" + (f"; the nearest: {', '.join(near)}" if near else "")
        builds = [load for load in builds if lever.covers(load.module)]
    if lever.option == "enable_backward":
        if lever.value is False and not any(_has_backward(load) for load in builds):
            return "no adjoint code was generated"
    elif lever.option == "max_unroll":
        if not any(_loops(load) for load in builds):
            return "no kernel has a loop over a range"
    elif lever.option in MATHDX:
        linked = {kind for load in builds for kind in load.links}
        if not any(load.lto_artifacts for load in builds):
            return "nothing was linked with MathDx"
        if linked and MATHDX[lever.option] not in linked:
            return f"MathDx was linked for {', '.join(sorted(linked))} only"
        if not any(lever.option in load.options for load in builds):
            return f"Warp {version} has no option {lever.option}"
    elif lever.option in ("use_precompiled_headers", "optimization_level"):
        least = Version("1.11")
        if lever.option == "use_precompiled_headers" and not any(_cuda(load) for load in builds):
            least = Version("1.13")
        if version < least:
            return f"Warp {version} has no such option here ({least} and newer have)"
    return ""


def refused(lever: Lever, adjoints: Sequence[AdjointLaunch]) -> tuple[AdjointLaunch, ...]:
    """The adjoint launches that a lever would break: those are no matter of price."""
    if lever.option != "enable_backward" or lever.value is not False:
        return ()
    return tuple(one for one in adjoints if lever.covers(one.module))


def undifferentiated(profile: Profile, adjoints: Sequence[AdjointLaunch]) -> tuple[str, ...]:
    """The modules that have adjoint code, none of which was launched."""
    kept = {one.module for one in adjoints}
    names = dict.fromkeys(load.module for load in _builds(profile) if _has_backward(load))
    return tuple(name for name in names if name not in kept)


def without_adjoints(profile: Profile, adjoints: Sequence[AdjointLaunch]) -> tuple[str, ...]:
    """What to say beside a refusal: where the adjoint code could go."""
    rest = undifferentiated(profile, adjoints)
    return (f"no adjoint of these is launched: --lever enable_backward=off:{','.join(rest)}",) if rest else ()


def defaults(profile: Profile, adjoints: Sequence[AdjointLaunch]) -> list[Lever]:
    """The levers that are looked at when none is named; those that can't matter for the profile are not run."""
    levers = [Lever(OPTION, "enable_backward", False)]
    rest = undifferentiated(profile, adjoints) if adjoints else ()
    levers += [Lever(MODULE, "enable_backward", False, rest)] if rest else []
    levers += [
        Lever(OPTION, "max_unroll", 1),
        Lever(OPTION, "use_precompiled_headers", False),
        Lever(OPTION, "optimization_level", 0),
        *(Lever(OPTION, name, False) for name in MATHDX if any(name in load.options for load in _builds(profile))),
        Lever(PRELOAD, value=workers()),
        Lever(CACHE),
        Lever(COST),
    ]
    return levers


# ---- what to say of it

_WHY = {
    "enable_backward": "it takes from everything that runs in the process the means to differentiate; this command "
    "launches no adjoint of these kernels, another one may",
    "max_unroll": "the generated code is another, and with it rounding and run time: that can't be proved equal",
    "use_precompiled_headers": "the header pays where several modules are built with the same block_dim, and costs "
    "where few are: it depends on what the program builds, so it is for its entry point, never for a library",
    "optimization_level": "kernels are the same by text and may run slower: only the start is priced here",
    **dict.fromkeys(MATHDX, "the product is computed without MathDx: other rounding, and slower kernels at run time"),
    PRELOAD: "it moves the wait to the start, and builds what a shorter use of the program never needs",
    CACHE: "the cache is part of where the program runs, not of its source",
}


def why_not(lever: Lever) -> str:
    """What speaks against taking a lever, or why warpfix does not take it by itself."""
    return _WHY.get(lever.option or lever.kind, "")


def how(lever: Lever, profile: Profile) -> tuple[str, str]:
    """The exact line or command that takes a lever, and where it belongs."""
    if lever.kind == OPTION:
        return f"wp.config.{lever.option} = {lever.value!r}", entry_point(home(profile))
    first = _first_builds(profile)
    if lever.kind == MODULE:
        lines, places = [], []
        for load in first:
            if not lever.covers(load.module):
                continue
            kernel = load.kernels[0].definition if load.kernels else None
            if is_unique(load.module) and kernel:
                lines.append(f"@wp.kernel(..., {lever.option}={lever.value!r})")
                places.append(f"{kernel.path}:{kernel.line}")
            else:
                lines.append(f'wp.get_module("{load.module}").options["{lever.option}"] = {lever.value!r}')
                places.append("before the first launch" + (f" of the kernels in {kernel.path}" if kernel else ""))
        return "\n".join(dict.fromkeys(lines)), "; ".join(dict.fromkeys(places))
    if lever.kind == PRELOAD:
        kernels = {load.module: load.kernels[0].definition for load in first if load.kernels}
        groups: dict[tuple[str, int], list[str]] = {}
        for one in identities(profile):
            kernel = kernels.get(one["module"])
            # The name of a unique module has a hash in it that follows from its content.
            by_kernel = kernel is not None and is_unique(one["module"]) and "<locals>" not in kernel.qualname
            name = f"{kernel.qualname}.module" if kernel and by_kernel else f'wp.get_module("{one["module"]}")'
            groups.setdefault((one["device"], one["block_dim"]), []).append(name)
        lines = [
            f'wp.force_load(device="{device}", modules=[{", ".join(names)}], block_dim={block_dim}, '
            f"max_workers={lever.value})"
            for (device, block_dim), names in groups.items()
        ]
        return "\n".join(lines), "when all kernels are defined, before the first launch"
    if lever.kind == CACHE:
        return (
            "WARP_CACHE_PATH=<a folder that is kept>",
            "in the environment of each run; `warpfix bake` makes the folder",
        )
    return "", ""


def _first_builds(profile: Profile) -> list[Load]:
    first: dict[str, Load] = {}
    for load in _builds(profile):
        first.setdefault(load.module, load)
    return list(first.values())


def is_unique(module: str) -> bool:
    """Whether a name is that of a unique module: its kernel's key, and eight hexadecimal digits."""
    return stem(module) != module


def entry_point(process: ProcessRun | None) -> str:
    """Where an early line belongs: right below the import of Warp in the main file, or above all of its imports."""
    main = process.main if process else ""
    imported = process.warp_imported if process else None
    if "site-packages" in main or not main.endswith(".py"):
        # A test runner, a console script: not the program's to edit.
        main = ""
    if main and imported and os.path.realpath(imported.path) == os.path.realpath(main):
        return f"{main}:{imported.line}, right below the import of Warp and above the imports of what defines kernels"
    if main:
        return f"at the top of {main}, below a line `import warp as wp` and above all imports of what defines kernels"
    return (
        "where your own code begins (with pytest: conftest.py), right below `import warp as wp` and above the imports "
        "of what defines kernels"
    )


def later_writes(lever: Lever, runs: Sequence[Run]) -> list[SourceLine]:
    """Lines of the program that set the option again afterwards: they win over the lever, as they would over a line."""
    lines: dict[SourceLine, None] = {}
    for run in runs:
        for process in run.processes:
            for write in process.option_writes:
                meant = write.option == lever.option and (lever.kind == OPTION or lever.covers(write.module or ""))
                if meant and write.line is not None and write.new != lever.value:
                    lines.setdefault(write.line)
    return list(lines)


def levers_taken(runs: Sequence[Run]) -> Mapping[str, Any]:
    """What the probe says that it did, over all processes."""
    return {name: value for run in runs for process in run.processes for name, value in process.levers.items()}
