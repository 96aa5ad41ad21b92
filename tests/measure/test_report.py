from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from warpfix.errors import WarpfixError
from warpfix.measure.profile import Profile, Run
from warpfix.measure.report import SeedReport, from_dict, read_report, to_dict, write_report
from warpfix.measure.text import render
from warpfix.verify.lab import VerifyOptions

from .conftest import Gallery


def empty(**changes: object) -> Profile:
    values: dict[str, object] = {"command": ("python", "x.py"), "cwd": "/srv/p", "target": "native", "runs": ()}
    return Profile(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.warp
def test_everything_survives_the_round_trip(gallery: Gallery, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_report(gallery.profile, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    read = read_report(path)
    assert isinstance(read, Profile)
    assert to_dict(read) == to_dict(gallery.profile)
    assert read.runs[0].processes == gallery.profile.runs[0].processes
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.warp
def test_totals_are_those_of_the_seed(gallery: Gallery) -> None:
    data = to_dict(gallery.profile)
    cold = gallery.cold
    assert data["builds"] == len(cold.builds) == sum(entry["builds"] for entry in data["modules"].values())
    assert data["loads"] == len(data["module_events"])
    assert data["cold_module_ms_median"] >= data["native_compile_ms_median"] > 0
    assert data["cold_wall_ms_median"] >= data["compile_elapsed_ms_median"]
    assert data["generated_source_bytes"] == sum(load.source_bytes for load in cold.builds)
    assert sum(data["launches"].values()) == cold.processes[0].launches.total


def test_secrets_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    run = Run("cold", 0, 1.0, "/tmp/o", "/tmp/e", ())
    profile = empty(command=("python", "--token", "hunter2", "A=hunter2"), cwd="/home/ada/p", runs=(run,))
    path = tmp_path / "report.json"
    write_report(profile, path)
    text = path.read_text()
    assert "hunter2" not in text
    assert "/home/ada" not in text
    assert "/tmp/o" not in text
    assert "hunter2" not in render(profile)
    (job,) = VerifyOptions((profile.command,)).jobs
    assert "hunter2" not in job.text


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WarpfixError, match="can't write"):
        write_report(empty(), tmp_path / "no" / "report.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "no report", id="empty"),
        pytest.param("[1]", "not an object", id="a list"),
        pytest.param('{"a": 1}', "none of their fields|nor of", id="another object"),
        pytest.param('{"format": "warpfix-profile", "schema_version": 99}', "newer", id="newer schema"),
        pytest.param('{"format": "warpfix-profile", "schema_version": 1}', "damaged", id="damaged"),
    ],
)
def test_what_is_no_report(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(content)
    with pytest.raises(WarpfixError, match=message):
        read_report(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(WarpfixError, match="can't read"):
        read_report(tmp_path / "none.json")


def test_other_data_is_refused() -> None:
    with pytest.raises(WarpfixError, match="no warpfix report"):
        from_dict({"schema_version": 1})


def test_a_report_of_the_seed(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    seed = {
        "cold_module_ms_median": 812.5,
        "overlap_factor": 1.0,
        "identities": ["a", "b"],
        "module_events": [
            {"module": "app", "hash": "1234567", "ms": 400.0, "status": "compiled"},
            {"module": "app", "hash": "7654321", "ms": 400.0, "status": "compiled"},
            {"module": "app", "hash": "7654321", "ms": 1.0, "status": "cached"},
        ],
        "launches": [{"kernel": "scale"}, {"kernel": "scale"}],
    }
    path.write_text(json.dumps(seed))
    report = read_report(path)
    assert isinstance(report, SeedReport)
    assert report.summary == {"cold_module_ms_median": 812.5, "overlap_factor": 1.0, "identities": 2}
    assert report.modules == {"app": 2}
    assert report.launches == {"scale": 2}


def test_the_seed_may_nest_its_totals(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    path.write_text(json.dumps({"summary": {"cold_module_ms_median": 1.0}, "modules": {"app": 3}}))
    report = read_report(path)
    assert isinstance(report, SeedReport)
    assert report.modules == {"app": 3}
