"""The text report, on hand-made profiles and on the measured one."""

from __future__ import annotations

import pytest

from warpfix.measure.profile import Cause, DataLog, LaunchLog, Load, OptionWrite, ProcessRun, Profile, Run, SourceLine
from warpfix.measure.text import WIDTH, render

from .conftest import Gallery

AT = SourceLine("/srv/p/app.py", 7, "main")


def load(module: str = "app", start: float = 0.0, end: float = 900.0, **changes: object) -> Load:
    values: dict[str, object] = {
        "id": 0,
        "module": module,
        "hash": "ab" * 32,
        "device": "cpu",
        "target": "cpu",
        "block_dim": 1,
        "outcome": "compiled",
        "start": start,
        "end": end,
        "phases": {"native": end - start},
        "thread": 0,
        "kernels": (),
        "options": {},
        "source_bytes": 5000,
        "lto_artifacts": 0,
        "cause": Cause("first-load", f"first use of module {module}", AT),
        "paid_by": AT,
    }
    return Load(**{**values, **changes})  # type: ignore[arg-type]


def profile(*loads: Load, wall: float = 1.0, warm: tuple[Load, ...] = (), **process: object) -> Profile:
    def run(state: str, which: tuple[Load, ...]) -> Run:
        values: dict[str, object] = {
            "pid": 1,
            "parent": 0,
            "argv": (),
            "python_version": "3.11.7",
            "warp_version": "1.19.0",
            "started": 0.0,
            "ended": True,
            "stopped_by": None,
            "wall": wall * 1e3,
            "loads": which,
            "launches": LaunchLog(0, (), {}, ()),
        }
        one = ProcessRun(**{**values, **process})  # type: ignore[arg-type]
        return Run(state, 0, wall, "", "", (one,))

    runs = (run("cold", loads), run("warm", warm))
    return Profile(("python", "app.py"), "/srv/p", "native", runs, {"warp": "1.19.0"})


def test_nothing_built() -> None:
    assert "Nothing was built or loaded" in render(profile())


def test_warp_never_imported() -> None:
    assert "Warp was never imported" in render(profile(warp_version=None))


def test_not_the_bottleneck() -> None:
    text = render(profile(load(end=50.0), wall=10.0))
    assert "Compilation is not the bottleneck: 50 ms of 10.0 s (0%)" in text.replace("10.00 s", "10.0 s")


def test_the_bottleneck() -> None:
    assert "Compilation takes 900 ms of the cold run's 1.00 s (90%); 1 build of 1 module." in render(profile(load()))


def test_overlap_is_not_counted_twice() -> None:
    text = render(profile(load("a"), load("b"), wall=1.0))
    assert "Compilation takes 900 ms" in text


def test_repeats_are_grouped_and_costs_sorted() -> None:
    added = Cause("kernel-added", "kernel k was defined after app had been loaded", SourceLine("/srv/p/lib.py", 3))
    loads = [load("cheap", end=10.0), *(load("dear", start=i * 100, end=i * 100 + 100, cause=added) for i in range(4))]
    text = render(profile(*loads))
    assert text.index("dear: 4 builds") < text.index("cheap: 1 build")
    assert "4 x, kernel k was defined after app had been loaded" in " ".join(text.split())
    assert text.count("kernel k was") == 1
    assert "lib.py:3, paid by app.py:7" in text


def test_many_modules_are_summed_up() -> None:
    text = render(profile(*(load(f"m{number}") for number in range(40))))
    assert "28 more modules, 28 builds" in text


def test_a_cache_that_is_never_reused() -> None:
    text = render(profile(load(), warm=(load(),)))
    assert "Built again in the warm run: 1 build" in text
    assert "with the same hash" in text
    other = render(profile(load(), warm=(load(hash="cd" * 32),)))
    assert "with another hash" in other


def test_options_that_reached_nothing() -> None:
    write = OptionWrite("config", None, "max_unroll", 16, 4, AT, 1.0, "none", ("app",))
    text = render(profile(load(), option_writes=(write, write)))
    assert "wp.config.max_unroll = 4 reached nothing: too late for app (2 x)" in text


def test_options_in_time_are_not_mentioned() -> None:
    write = OptionWrite("config", None, "max_unroll", 16, 4, AT, 1.0, "before-load")
    assert "max_unroll" not in render(profile(load(), option_writes=(write,)))


def test_a_failed_build_is_said() -> None:
    assert "1 build failed." in render(profile(load(outcome="failed"), load()))


def test_faults_of_the_probe_are_said() -> None:
    assert "could not observe everything: hash: KeyError" in render(profile(load(), errors=("hash: KeyError",)))


@pytest.mark.warp
def test_a_real_report_fits_a_terminal(gallery: Gallery) -> None:
    text = render(gallery.profile)
    assert max(len(line) for line in text.splitlines() if "/" not in line) <= WIDTH
    assert "51 x  factory.py" in text
    assert "overloads.py" in text


LONG = "_primitive_narrowphase_with_a_name_that_goes_on__locals__primitive_narrowphase_kernel_25442a3d"


def widest(text: str) -> int:
    return max(len(line) for line in text.splitlines())


def test_long_names_and_paths_stay_within_the_width() -> None:
    line = SourceLine("/srv/p/" + "deep/" * 30 + "kernel.py", 1234567, "main")
    cause = Cause("constant-changed", f"what kernel {LONG}{LONG} captures changed: {LONG}", line)
    text = render(profile(load(LONG), load("b", cause=cause, paid_by=line), warm=(load(LONG),)))
    assert widest(text) <= WIDTH
    assert "primitive_narrowphase_kernel_25442a3d: 1 build" in text or "25442a3d:" in text


def test_hundreds_of_modules_are_a_screenful() -> None:
    text = render(profile(*(load(f"module_{number}", number * 10.0, number * 10.0 + 9) for number in range(400))))
    assert len(text.splitlines()) < 60 and widest(text) <= WIDTH
    assert "388 more modules, 388 builds" in text


def test_nothing_but_failures() -> None:
    text = render(profile(load(outcome="failed"), load("b", outcome="failed", paid_by=None)))
    assert text.count("(the build failed)") == 2 and widest(text) <= WIDTH


def test_a_first_use_is_told_in_one_line() -> None:
    lines = render(profile(load())).splitlines()
    assert lines[-1].strip() == "first use at app.py:7"


def test_times_under_check_data_are_no_evidence() -> None:
    text = " ".join(render(profile(load(), data=DataLog(1234, ""))).split())
    assert "The arrays of 2,468 launches were read (--check-data): the times are no evidence." in text
    assert "--check-data" not in render(profile(load()))
