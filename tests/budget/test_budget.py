"""Budgets: what is counted, what counts as more, and the file that people edit."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest

from warpfix.budget.counts import Counts, cause_key, compare, counts, module_name
from warpfix.budget.file import Entry, read, updated
from warpfix.budget.text import lines, to_dict
from warpfix.errors import WarpfixError
from warpfix.measure.profile import BuiltKernel, Cause, KernelDef, LaunchLog, Load, ProcessRun, Profile, Run, SourceLine

_numbers = itertools.count()


def build(module: str, kind: str = "first-load", line: int = 1, **data: object) -> Load:
    number = next(_numbers)
    at = SourceLine("/srv/p/app.py", line)
    kernel = BuiltKernel(KernelDef("k", "k", at.path, line), forward_code="f", backward_code="b")
    text = f"{kind} of {module}"
    return Load(
        number, module, f"{number:064x}", "cpu", "cpu", 1, "compiled", 0.0, 1.0, {}, 0, (kernel,), {}, 1000, 0,
        Cause(kind, text, at, data), SourceLine("/srv/p/app.py", 99),
    )  # fmt: skip


def profile(*colds: tuple[Load, ...], warm: tuple[Load, ...] = (), warp: str = "1.19.0") -> Profile:
    def run(state: str, loads: tuple[Load, ...]) -> Run:
        process = ProcessRun(1, 0, (), "3.11", warp, 0.0, True, None, 1.0, loads, LaunchLog(0, (), {}, ()))
        return Run(state, 0, 1.0, "", "", (process,))

    runs = [run("cold", loads) for loads in colds] + [run("warm", warm)]
    return Profile(("python", "app.py"), "/srv/p", "native", tuple(runs), {"warp": warp})


BASE = (build("app"), build("app", "kernel-added", 7, kernel="push"), build("scale_0a1b2c3d"), build("scale_99999999"))


def words(result, of: Profile) -> str:
    return "\n".join(lines("app", result, of, "warpfix-budget.toml"))


def test_what_is_counted() -> None:
    found = counts(profile(BASE))
    assert found.totals == {
        "builds": 4,
        "rebuilds": 1,
        "warm_builds": 0,
        "identities": 4,
        "kernels": 8,
        "generated_bytes": 4000,
    }
    assert found.modules == {"app": {"first-load": 1, "kernel-added push": 1}, "scale_*": {"first-load": 2}}
    assert (found.warp, found.targets) == ("1.19.0", ("cpu",))


def test_of_several_runs_the_largest_number_stands() -> None:
    assert counts(profile(BASE[:1], BASE, BASE[:2])).totals["builds"] == 4


@pytest.mark.parametrize(
    ("module", "name"),
    [("scale_0a1b2c3d", "scale_*"), ("pkg.solver", "pkg.solver"), ("step_2", "step_2"), ("x_0A1B2C3D", "x_0A1B2C3D")],
)
def test_hashes_leave_names(module: str, name: str) -> None:
    assert module_name(module) == name


def test_a_cause_carries_no_line() -> None:
    assert cause_key(build("m", "block-dim", 31, block_dim=64, earlier=[32])) == "block-dim 64"
    assert cause_key(build("m", "option-changed", 31, option="max_unroll", old=1, new=2)) == "option-changed max_unroll"


def test_the_same_again_is_within() -> None:
    moved = tuple(dataclasses.replace(load, hash="ff" * 32 + str(load.id)) for load in BASE)
    result = compare(counts(profile(BASE)), profile(moved))
    assert result.good and not result.added and not result.below and not result.other


def test_fewer_is_within_and_told() -> None:
    result = compare(counts(profile(BASE)), profile(BASE[:3]))
    assert result.good
    assert "builds: 3, 4 allowed" in words(result, profile(BASE))


def test_a_build_more_is_over_and_its_line_is_named() -> None:
    new = build("app", "kernel-added", 12, kernel="pull")
    later = profile((*BASE, new))
    result = compare(counts(profile(BASE)), later)
    assert not result.good
    assert [(one.name, one.allowed, one.found) for one in result.excess][:2] == [("builds", 4, 5), ("rebuilds", 1, 2)]
    assert [(one.module, one.cause) for one in result.added] == [("app", "kernel-added pull")]
    text = words(result, later)
    assert "app.py:12, paid by app.py:99" in text and "app (new): kernel-added of app" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert to_dict("app", result, later)["added"][0]["line"] == "app.py:12"


def test_a_new_module_and_one_more_of_a_unique_one() -> None:
    later = profile((*BASE, build("scale_12345678", line=5), build("other", line=6)))
    result = compare(counts(profile(BASE)), later)
    assert {(one.module, one.allowed, one.found) for one in result.added} == {("scale_*", 2, 3), ("other", 0, 1)}
    assert "scale_12345678 (1 more)" in words(result, later)


def test_a_cause_with_another_name_is_no_new_build() -> None:
    renamed = (BASE[0], build("app", "kernel-added", 7, kernel="shove"), *BASE[2:], build("other"))
    result = compare(counts(profile(BASE)), profile(renamed))
    assert [one.module for one in result.added] == ["other"]


def test_the_cache_that_stops_to_work_is_over() -> None:
    result = compare(counts(profile(BASE)), profile(BASE, warm=BASE[:1]))
    assert [one.name for one in result.excess] == ["warm_builds"]


def test_source_may_grow_a_little() -> None:
    def grown(by: int) -> Profile:
        return profile((dataclasses.replace(BASE[0], source_bytes=1000 + by), *BASE[1:]))

    assert compare(counts(profile(BASE)), grown(80)).good
    assert [one.name for one in compare(counts(profile(BASE)), grown(81)).excess] == ["generated_bytes"]
    assert compare(counts(profile(BASE)), grown(300), tolerance=0.1).good


def test_another_warp_is_said_and_its_code_is_not_compared() -> None:
    grown = tuple(dataclasses.replace(load, source_bytes=9000) for load in BASE)
    result = compare(counts(profile(BASE)), profile(grown, warp="1.20.0"))
    assert result.good and result.skipped == ("kernels", "generated_bytes")
    text = words(result, profile(BASE))
    assert "written with Warp 1.19.0, and this is 1.20.0" in " ".join(text.split())
    more = profile((*grown, build("app", "kernel-added", 3, kernel="pull")), warp="1.20.0")
    result = compare(counts(profile(BASE)), more)
    assert not result.good
    assert "Warp builds otherwise now" in " ".join(words(result, more).split())


def test_another_device_is_said() -> None:
    cuda = tuple(dataclasses.replace(load, target="sm_90") for load in BASE)
    assert "written for cpu, and this built sm_90" in compare(counts(profile(BASE)), profile(cuda)).other[0]


def test_a_failed_build_is_a_build() -> None:
    failed = (*BASE, dataclasses.replace(build("app", "kernel-added", 3, kernel="pull"), outcome="failed"))
    assert not compare(counts(profile(BASE)), profile(failed)).good


# --- the file


def entry(**changes: object) -> Entry:
    values: dict[str, object] = {
        "name": "app",
        "run": ("python", "-m", "app"),
        "cwd": ".",
        "options": {"target": "sm_90", "expect_status": 3},
        "counts": counts(profile(BASE)),
    }
    return Entry(**{**values, **changes})  # type: ignore[arg-type]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_text(updated(path, entry()))
    (read_back,) = read(path).entries.values()
    assert read_back == entry()
    assert updated(path, entry()) == path.read_text()


def test_comments_order_and_deletions_of_people_stay(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_text(updated(path, entry()))
    text = path.read_text()
    text = text.replace("builds = 4\n", "builds = 4  # two of them are plugins\n", 1)
    text = text.replace("generated_bytes = 4000\n", "")
    text = text.replace("[command.app.modules]\n", "[command.app.modules]\n# the solver\n")
    path.write_text(text)
    assert "generated_bytes" not in read(path).entries["app"].counts.totals
    more = counts(profile((*BASE, build("zed"))))
    path.write_text(updated(path, entry(counts=more)))
    new = path.read_text()
    assert "builds = 5  # two of them are plugins\n" in new
    assert "# the solver" in new and "generated_bytes" not in new
    assert "zed = {first-load = 1}" in new
    # A second entry leaves the first as it is.
    path.write_text(updated(path, entry(name="tests.all", run=("pytest",), options={})))
    assert path.read_text().startswith(new.rstrip("\n"))
    assert list(read(path).entries) == ["app", "tests.all"]
    path.write_text(updated(path, entry(options={})))
    assert read(path).entries["app"].options == {}


def test_names_that_toml_must_quote(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    odd = Counts({"builds": 1}, {'a "b".c\\d': {"kernel-added é": 1}})
    path.write_text(updated(path, Entry('x "y".z', ("python", 'a"b.py'), ".", {}, odd, 0.02)), encoding="utf-8")
    (found,) = read(path).entries.values()
    assert (found.name, found.run, found.counts.modules) == ('x "y".z', ("python", 'a"b.py'), odd.modules)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("version = [", "is no TOML", id="no TOML"),
        pytest.param("version = 2", "of version 2", id="newer"),
        pytest.param("a = 1", "of version None", id="no version"),
        pytest.param("version = 1\ncommand = 3", "'command' is no table", id="no table"),
        pytest.param("version = 1\n[command.a]\nbuilds = 1", "[command.a] is damaged", id="no run"),
        pytest.param("version = 1\n[command.a]\nrun = []", "[command.a] is damaged", id="empty run"),
        pytest.param("version = 1\n[command.a]\nrun = ['x']\nbuilds = 'many'", "is damaged", id="no number"),
    ],
)
def test_a_damaged_file(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_text(text)
    with pytest.raises(WarpfixError, match=r"b\.toml") as caught:
        read(path)
    assert message in str(caught.value)
