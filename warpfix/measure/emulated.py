"""What a report says first of a run on an emulated device: how far its launches are the real device's."""

from __future__ import annotations

from collections import defaultdict

from warpfix.measure.profile import Deviation, Profile, Run
from warpfix.measure.target import is_emulated
from warpfix.measure.words import count, place, seconds, wrap
from warpfix.probe.cuda.deviations import KINDS

_SHOWN = 4


def emulated_lines(profile: Profile, run: Run) -> list[str]:
    """Lines for the head of a report; none where the target is the devices that Warp finds."""
    if not is_emulated(profile.target):
        return []
    launches = sum(process.launches.total for process in run.processes)
    deviated = sum(process.deviated_launches for process in run.processes)
    lines = wrap(f"Emulated {profile.target}: {_share(launches, deviated)}", "  ", "")
    by_kind: dict[str, list[Deviation]] = defaultdict(list)
    for process in run.processes:
        for deviation in process.deviations:
            by_kind[deviation.kind].append(deviation)
    for kind in KINDS:
        for_kind = by_kind.get(kind)
        if for_kind:
            lines += wrap(_told(profile, kind, for_kind), "    ", "  ")
    twins = [twin for process in run.processes for twin in process.twins]
    if twins:
        built = sum(twin.outcome == "compiled" for twin in twins)
        took = seconds(sum(twin.milliseconds for twin in twins))
        lines += wrap(
            f"{count(len(twins), 'CPU twin')} ({built} built, {took}) executed them: not counted below.", "  "
        )
    if any(process.hidden_devices for process in run.processes):
        hidden = max(process.hidden_devices for process in run.processes)
        lines += wrap(f"{count(hidden, 'real device')} of this machine: kept from the program.", "  ")
    return [*lines, ""]


def _share(launches: int, deviated: int) -> str:
    if not launches:
        return "nothing was launched."
    if not deviated:
        return f"no launch of {launches} ran under a deviation."
    return f"{deviated} of {launches} launches ran under a deviation ({deviated / launches:.0%})."


def _told(profile: Profile, kind: str, deviations: list[Deviation]) -> str:
    names: dict[str, Deviation] = {}
    for deviation in deviations:
        names.setdefault(deviation.what, deviation)
    listed = ", ".join(
        f"{name} at {place(profile, one.line)}" if one.line else name for name, one in list(names.items())[:_SHOWN]
    )
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    times = sum(deviation.count for deviation in deviations)
    return f"{times} x {kind}: {KINDS[kind]}: {listed}{more}"
