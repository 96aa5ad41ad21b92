"""What a page says and what it keeps to itself, read from its text; a browser looks at it in test_browser.py."""

from __future__ import annotations

import dataclasses
import html
import re
import shlex
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest

from warpfix.cli import COMMANDS, cli
from warpfix.measure.profile import Profile, SourceLine
from warpfix.measure.report import summary, write_report
from warpfix.measure.steps import next_steps
from warpfix.page import Comparison, page, write_page
from warpfix.page.excerpts import Excerpts
from warpfix.page.view import view
from warpfix.verify.reports import compare_reports

from .conftest import EVIL, QUOTED


class Tags(HTMLParser):
    """Elements with their attributes, and whether each was closed."""

    VOID = ("meta", "input", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.faults: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def test_the_numbers_are_those_of_the_report(profile: Profile) -> None:
    data, totals = view(profile), summary(profile)
    tiles = {tile["id"]: tile for tile in data["tiles"]}
    assert tiles["builds"]["value"] == str(totals["builds"])
    assert {one["name"]: one["builds"] for one in data["modules"]} == {
        name: value["builds"] for name, value in totals["modules"].items()
    }
    for one in data["modules"]:
        assert one["ms"] == pytest.approx(totals["modules"][one["name"]]["ms"])
    assert [one["ms"] for one in data["modules"]] == sorted((one["ms"] for one in data["modules"]), reverse=True)
    assert {(one["kind"], one["times"]) for one in data["repeats"]} == {("kernel-added", 1), ("option-changed", 1)}
    assert [one["kind"] for one in data["warm"]] == ["cache-lost"]
    assert data["options"][0][0].startswith("wp.config.fast_maths")


def test_the_time_line_holds_every_load_import_and_launch(profile: Profile) -> None:
    (line,) = view(profile)["timelines"]
    lanes = {lane["name"]: lane for lane in line["lanes"]}
    assert [bar["label"].split(",")[0] for bar in lanes["imports, runtime"]["bars"]] == [
        "import warp",
        "initialise Warp",
    ]
    assert len(lanes["loads, thread 0"]["bars"]) == 4
    assert len(lanes["loads, thread 1"]["bars"]) == 1
    assert len(lanes["first launches"]["ticks"]) == 1
    bars = [bar for lane in line["lanes"] for bar in lane["bars"]]
    assert all(0 <= bar["x"] <= bar["x"] + bar["width"] <= 100 for bar in bars)
    for bar in bars:
        assert sum(part["width"] for part in bar["parts"]) <= bar["width"] + 0.01


def test_before_and_after_share_one_scale(profile: Profile, mended: Profile) -> None:
    comparison = Comparison(mended, compare_reports(profile, mended))
    data = view(profile, comparison)
    assert [line["title"] for line in data["timelines"]] == ["The start, before", "The start, after"]
    assert len({line["until"] for line in data["timelines"]}) == 1
    assert ["builds, cold", "5", "4"] in data["comparison"]["rows"]
    assert data["tiles"][2]["value"] == "4"


@pytest.mark.parametrize("until", [0.4, 1.0, 7.0, 99.0, 100.0, 12345.6])
def test_ticks_are_few_and_round(until: float) -> None:
    from warpfix.page.view import _tick, _ticks

    ticks = _ticks(until)
    assert 2 <= len(ticks) <= 7 and ticks[-1] <= until
    assert all(len(_tick(one)) <= 7 for one in ticks)


def test_markup_is_sound_and_names_are_escaped(profile: Profile) -> None:
    text = page(profile)
    tags = Tags(text)
    assert tags.faults == [] and tags.open == []
    ids = [attributes["id"] for _, attributes in tags.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {
        str(attributes["href"])[1:] for _, attributes in tags.found if attributes.get("href", "").startswith("#")
    }
    assert targets <= set(ids)
    assert [tag for tag, _ in tags.found].count("script") == 1
    assert EVIL not in text and html.escape(EVIL) in text.replace("&#39;", "&#x27;")
    assert QUOTED not in text and "<b>bold" not in text  # the tag


def test_nothing_is_asked_of_the_network(profile: Profile) -> None:
    text = page(profile)
    assert not re.search(r"(?i)https?:|url\(|@import|fetch|XMLHttp", text)
    names = {name for _, attributes in Tags(text).found for name in attributes}
    assert not names & {"src", "srcset", "style", "onclick", "onload", "action", "background", "poster"}
    policy = next(a["content"] for t, a in Tags(text).found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'") and "unsafe" not in policy


def test_secrets_stay_at_home(profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(Path(profile.cwd).parent))
    written = tmp_path / "p.html"
    write_page(written, profile)
    text = written.read_text()
    assert "s3cret" not in text and "hunter2" not in text
    assert str(Path(profile.cwd).parent) not in text
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_excerpts_show_the_line_that_is_meant(profile: Profile, project: Path) -> None:
    excerpt = Excerpts(profile).of(SourceLine(str(project / "step.py"), 6))
    assert [(number, hit) for number, _, hit in excerpt.lines] == [(4, False), (5, False), (6, True), (7, False)]
    assert excerpt.lines[2][1] == "    def push(v: wp.array(dtype=float)):"


@pytest.mark.parametrize(
    ("name", "number", "why"),
    [
        pytest.param("newer.py", 3, "changed since the measurement", id="changed"),
        pytest.param("gone.py", 3, "not a file of this project", id="gone"),
        pytest.param("step.py", 99, "no such line", id="no such line"),
        pytest.param("../outside.py", 1, "not a file of this project", id="outside"),
    ],
)
def test_no_excerpt_and_why(profile: Profile, project: Path, name: str, number: int, why: str) -> None:
    excerpt = Excerpts(profile).of(SourceLine(str(project / name), number))
    assert excerpt.lines == () and why in excerpt.why_not


def test_no_excerpt_of_libraries_links_out_and_ignored_files(tmp_path: Path, profile: Profile) -> None:
    library = Path(pytest.__file__)
    assert Excerpts(profile).of(SourceLine(str(library), 3)).lines == ()
    assert Excerpts(profile, allowed=False).of(SourceLine(str(Path(profile.cwd) / "step.py"), 3)).lines == ()
    text = page(profile, source=False)
    assert "wp.tid()" not in text and "left out by --no-source" in text


def test_an_overlay_is_no_file(profile: Profile, project: Path) -> None:
    """What ran was another text than what is on disk: its lines would be the wrong ones."""
    path = str(project / "step.py")
    run = profile.runs[0]
    process = dataclasses.replace(run.processes[0], overlaid={path: "0" * 64})
    served = dataclasses.replace(profile, runs=(dataclasses.replace(run, processes=(process,)),))
    assert "edited text" in Excerpts(served).of(SourceLine(path, 3)).why_not


def test_the_steps_can_be_typed(profile: Profile, mended: Profile) -> None:
    steps = [step for one in (profile, mended) for step in next_steps(one, shown=9)]
    assert len(next_steps(profile)) == 3
    assert any("repeat" in step.why for step in steps)
    for step in steps:
        words = shlex.split(step.command)
        if not words:
            continue
        assert words[0] == "warpfix" and words[1] in COMMANDS
        command = cli.get_command(None, words[1])  # type: ignore[arg-type]
        options = {name for parameter in command.params for name in parameter.opts}  # type: ignore[union-attr]
        given = [word for word in words[2:] if word.startswith("-")]
        given = given[: given.index("--")] if "--" in given else given
        assert set(given) <= options
        assert "s3cret" not in step.command


def test_nothing_was_run_nothing_was_built() -> None:
    empty = Profile(("python", "app.py"), "/nowhere", "native", ())
    assert "Nothing was run." in page(empty)
    assert next_steps(empty) == []


def test_the_command_writes_it(profile: Profile, mended: Profile, tmp_path: Path, run_cli) -> None:
    for name, one in (("a", profile), ("b", mended)):
        write_report(one, tmp_path / f"{name}.json")
    done = run_cli("report", "a.json", "b.json", "-o", "c.html", cwd=tmp_path, debug=False)
    assert (done.returncode, done.stdout) == (0, "")
    text = (tmp_path / "c.html").read_text()
    assert "Before against after" in text and "builds, cold" in text
    assert "s3cret" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["none.json", "-o", "x.html"], "can't read none.json", id="no report"),
        pytest.param(["seed.json", "-o", "x.html"], "holds totals only", id="of the other probe"),
        pytest.param(["seed.json", "-o", "no/x.html"], "there is no folder", id="no folder"),
        pytest.param(["seed.json"], "--output", id="no output"),
    ],
)
def test_mistakes(arguments: list[str], message: str, tmp_path: Path, run_cli) -> None:
    (tmp_path / "seed.json").write_text('{"builds": 3, "identities": 3, "module_events": []}')
    done = run_cli("report", *arguments, cwd=tmp_path, debug=False)
    assert done.returncode == 2 and message in done.stderr
    assert not (tmp_path / "x.html").exists()
