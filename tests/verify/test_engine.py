"""The loop over fixes with scripted runs: no Warp, no processes. What is kept, dropped, written, undone, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import pytest
from warpfix.codemods.base import Edit

from warpfix.errors import WarpfixError
from warpfix.files import CannotWrite, SourceFile, read_source
from warpfix.findings import Applicability, Finding, Fix, KernelRename
from warpfix.measure.profile import ProcessRun, Profile, Run
from warpfix.plan import Plan, Planned, PlanSettings, make_plan
from warpfix.verify import engine
from warpfix.verify.engine import Applied, Proposal, apply_verified, try_patch
from warpfix.verify.lab import Lab, VerifyOptions, one_thing_after_another
from warpfix.verify.patch import apply_patch
from warpfix.verify.text import applied_lines, tried_lines
from warpfix.verify.verdict import Status

from .make import FILE, K, process, run


@dataclass(frozen=True)
class Replace(Edit):
    codemod: ClassVar[str] = "replace"
    old: str = ""
    new: str = ""


def render(plan: Plan, sources: Mapping[str, str]) -> dict[str, str]:
    result = {}
    for path, edits in plan.edits.items():
        text = sources[path]
        for edit in edits:
            assert isinstance(edit, Replace)
            text = text.replace(edit.old, edit.new)
        if text != sources[path]:
            result[path] = text
    return result


@dataclass
class World:
    """A project whose "program" reads its own files: every word in them does something."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    log: list[str] = field(default_factory=list)
    executed: set[str] = field(default_factory=lambda: {"a.py", "b.py", "c.py"})
    on_run: Callable[[World], None] = lambda world: None
    made: Mapping[str, int] = field(default_factory=dict)
    """What kernels are made from: path and line."""
    options: VerifyOptions = field(default_factory=lambda: VerifyOptions(commands=(("python", "app.py"),)))

    def write(self, name: str, text: str) -> str:
        path = self.root / name
        path.write_text(text if "=" in text else f"# {text}\n")
        return str(path)

    def words(self, name: str) -> str:
        """What ``write`` was given."""
        return (self.root / name).read_text().removeprefix("# ").rstrip()

    def program(self, overlay: Mapping[str, bytes] | None, state: str) -> Run:
        texts: dict[str, str] = {}
        for path in sorted(self.root.glob("*.py")):
            data = (overlay or {}).get(str(path), path.read_bytes())
            texts[path.name] = data.decode()
        words = [word for name in sorted(texts) if name in self.executed for word in texts[name].split()]
        if overlay is None:
            words += ["on_disk" for word in words if word == "only_on_disk"]
        launches = [K("base")]
        for word in words:
            if word.startswith("unique_"):
                launches.append(K(word, module=word))
            elif word.startswith("shared_"):
                launches.append(K("unique_" + word[7:], module="shared"))
            elif word in ("extra", "on_disk"):
                launches.append(K("extra"))
            elif word == "unrolled":
                launches[0] = K("base", code="unrolled", options={"max_unroll": 1})
            elif word == "fast":
                launches[0] = K("base", options={"fast_math": True})
        ran = {
            path: hashlib.sha256(data).hexdigest()
            for path, data in (overlay or {}).items()
            if Path(path).name in self.executed
        }
        status = 5 if "exit_5" in words else 0
        # Kernels that share a Warp module are built together.
        builds = 0 if state == "warm" and "cleared" not in words else None
        made = process(launches, overlaid=ran, builds=builds, together=True, kernel_definitions=self.made)
        return run(made, state=state, status=status)

    def fix(self, name: str, old: str, new: str, line: int = 1, options: frozenset[str] = frozenset()) -> Planned:
        path = str(self.root / name)
        # What a shared word launches keeps its name: only the Warp module is another.
        renames = (KernelRename(FILE, old, old, old, new),) if old.startswith("unique_") else ()
        fix = Fix(Applicability.SAFE, f"{old} becomes {new}", {path: (Replace(old, new),)}, renames, options)
        finding = Finding(
            "WF301", "unique-stable-kernel", path, line, 1, line, 2, f"{old} is wrong", "mend it", fix=fix
        )
        return Planned(fix, (finding,))

    def apply(
        self, *fixes: Planned, propose: Callable[[Profile], Proposal] | None = None, write: bool = True
    ) -> Applied:
        def plan(profile: Profile) -> Proposal:
            sources: dict[str, SourceFile] = {}
            for planned in fixes:
                for path in planned.fix.edits:
                    sources[path] = read_source(path)
            return Proposal(Plan(tuple(fixes), ()), sources)

        return apply_verified(propose or plan, self.options, cwd=str(self.root), write=write)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    (tmp_path / "pyproject.toml").touch()
    world = World(tmp_path, monkeypatch)

    class Scripted(Lab):
        def run(
            self,
            command: tuple[str, ...],
            state: str,
            overlay: Mapping[str, bytes] | None,
            caches: Path,
            must_succeed: bool,
            whatever_the_time: bool = False,
        ) -> Run:
            edited = bool(overlay) and any(Path(path).read_bytes() != data for path, data in (overlay or {}).items())
            world.log.append(("B" if edited else "A") + ("" if state == "cold" else "w"))
            world.on_run(world)
            made = world.program(overlay, state)
            if must_succeed and made.exit_status:
                raise WarpfixError(f"the command ends with exit status {made.exit_status}")
            return made

    monkeypatch.setattr(engine, "Lab", Scripted)
    monkeypatch.setattr(engine, "render", render)
    return world


def report(applied: Applied) -> str:
    return " ".join(" ".join(applied_lines(applied)).split())


# Nothing to write.


def test_nothing_to_do_is_said_after_one_pair_of_runs(world: World) -> None:
    world.write("a.py", "unique_one")
    applied = world.apply()
    assert (applied.status, applied.exit_status, world.log) == ("nothing-to-do", 0, ["A", "Aw"])
    assert report(applied).startswith("nothing to change: the rules find nothing here builds, cold 2 ")
    assert not (world.root / ".warpfix").exists()


def test_a_fix_that_is_left_to_the_user_comes_with_what_to_type(world: World) -> None:
    world.write("a.py", "unique_one")
    asks = world.fix("a.py", "unique_one", "shared_one")
    finding = replace(asks.findings[0], fix=replace(asks.fix, applicability=Applicability.ASK))

    def propose(profile: Profile) -> Proposal:
        return Proposal(make_plan([finding], {finding.path: "# unique_one\n"}, PlanSettings(verify=True)), {})

    applied = world.apply(propose=propose)
    assert applied.status == "nothing-to-do"
    assert "the same call with `--select unique-stable-kernel` has its fixes proved and written" in report(applied)


def test_a_command_that_fails_as_it_stands(world: World) -> None:
    world.write("a.py", "exit_5")
    with pytest.raises(WarpfixError, match="exit status 5"):
        world.apply()


def test_no_gain_writes_nothing(world: World) -> None:
    world.write("a.py", "word")
    applied = world.apply(world.fix("a.py", "word", "other_word"))
    assert (applied.status, applied.exit_status) == ("refused", 1)
    assert world.words("a.py") == "word"
    said = report(applied)
    assert said.startswith(
        "nothing is changed: no-gain: the proposed fix does the same and saves this command no build and no code"
    )
    assert "proposed, and not written" in said
    assert "it is proved safe from the source all the same: `warpfix apply` without --verify writes that" in said


# Good ones.


def test_samples_are_interleaved_and_the_written_tree_is_run_once(world: World) -> None:
    path = world.write("a.py", "unique_one unique_two")
    applied = world.apply(
        world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two", 2)
    )
    assert applied.status == "written", report(applied)
    assert world.log == ["A", "Aw", "B", "Bw", "B", "Bw", "A", "Aw", "A"]
    assert world.words("a.py") == "shared_one shared_two"
    assert applied.written == (path,)
    assert "real tree held" in report(applied)
    assert "kernel keys, old -> new: unique_one -> shared_one" in report(applied)


@pytest.mark.parametrize(
    ("changes", "log"),
    [
        pytest.param({}, ["A", "Aw", "B", "Bw", "A"], id="clear"),
        pytest.param({"threads": {0: (0,), 1: (0,)}}, ["A", "Aw", "B", "Bw", "B", "Bw", "A", "Aw", "A"], id="threads"),
    ],
)
def test_one_run_of_each_where_more_would_say_the_same(
    world: World, changes: dict[str, object], log: list[str]
) -> None:
    world.write("a.py", "unique_one unique_two")
    world.options = replace(world.options, stop_when_clear=True)
    plain = world.program

    def program(overlay: Mapping[str, bytes] | None, state: str) -> Run:
        made = plain(overlay, state)
        (one,) = made.processes
        return replace(made, processes=(replace(one, launches=replace(one.launches, **changes)),))  # type: ignore[arg-type]

    world.monkeypatch.setattr(world, "program", program)
    applied = world.apply(
        world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two", 2)
    )
    assert applied.status == "written", report(applied)
    assert world.log == log
    assert ("further runs would build the same" in report(applied)) == (not changes)


@pytest.mark.parametrize(
    ("processes", "stopped_by", "expected"),
    [
        pytest.param([process([K()])], None, True, id="one"),
        pytest.param([process([K()]), process([])], None, True, id="beside-one-that-does-nothing"),
        pytest.param([process([K()]), process([K()])], None, False, id="two-processes"),
        pytest.param([process([K(), K(thread=1)])], None, False, id="launched-by-two-threads"),
        pytest.param([process([K()])], "stop-after-launches", True, id="stopped-at-a-launch"),
        pytest.param([process([K()])], "stop-when-idle", False, id="stopped-by-the-clock"),
    ],
)
def test_where_nothing_goes_on_beside_the_launches(
    processes: list[ProcessRun], stopped_by: str | None, expected: bool
) -> None:
    assert one_thing_after_another(run(*processes, stopped_by=stopped_by)) is expected


def test_builds_in_several_threads_are_not_clear() -> None:
    made = process([K(), K("other", module="other")])
    one, two = made.loads
    assert not one_thing_after_another(run(replace(made, loads=(one, replace(two, thread=1)))))


def test_kernels_that_no_command_launched_are_named(world: World) -> None:
    path = world.write("a.py", "unique_one unique_two")
    other = world.write("b.py", "word")
    world.made = {f"{path}:7": 1, f"{other}:9": 1}
    applied = world.apply(world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two"))
    assert applied.status == "written"
    assert applied.unlaunched() == [(path, 7, "")]
    assert applied.to_dict()["not_launched"] == [{"path": path, "line": 7, "kernel": ""}]
    assert "kernels of the edited files that no command launches: a.py:7; other commands" in report(applied)


def test_what_one_command_breaks_the_others_need_not_show(world: World) -> None:
    """The baseline is compared with itself first, for that command; then no further run is made."""
    world.write("a.py", "word")
    world.options = VerifyOptions(commands=(("python", "app.py"), ("python", "other.py")))
    applied = world.apply(world.fix("a.py", "word", "extra"))
    assert applied.status == "refused"
    assert world.log == ["A", "Aw", "A", "Aw", "B", "Bw", "A", "Aw"]
    (judgement,) = applied.refused
    assert list(judgement.verdicts) == ["python app.py"]


def test_a_fix_that_gains_nothing_is_dropped_and_the_rest_written(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    world.write("b.py", "word")
    useless = world.fix("b.py", "word", "other_word")
    applied = world.apply(
        world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two"), useless
    )
    assert applied.status == "written"
    assert [left.planned for left in applied.left] == [useless]
    assert "saves this command no build" in applied.left[0].reason
    assert world.words("b.py") == "word"


def test_a_fix_that_loses_something_does_not_take_the_others_along(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    world.write("b.py", "word")
    harmful = world.fix("b.py", "word", "cleared")
    applied = world.apply(
        harmful, world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two")
    )
    assert applied.status == "written", report(applied)
    assert [left.planned for left in applied.left] == [harmful]
    assert "without it the others are good" in applied.left[0].reason
    assert world.words("b.py") == "word"


def test_fixes_of_one_rule_in_one_file_stand_together(world: World) -> None:
    # A file mended by halves is the worse edit: what gains nothing alone stays with what gains, and costs no run.
    world.write("a.py", "unique_one unique_two word")
    fixes = [
        world.fix("a.py", "word", "other_word"),
        *(world.fix("a.py", f"unique_{name}", f"shared_{name}", 2) for name in ("one", "two")),
    ]
    applied = world.apply(*fixes)
    assert applied.status == "written" and not applied.left
    assert world.words("a.py") == "shared_one shared_two other_word"
    assert len(world.log) == 9


def test_fixes_that_a_module_attributes_need_no_further_run(world: World) -> None:
    world.write("a.py", "unique_one unique_two unique_three")
    fixes = [world.fix("a.py", f"unique_{name}", f"shared_{name}") for name in ("one", "two", "three")]
    world.apply(*fixes)
    assert len(world.log) == 9


# Broken ones.


@pytest.mark.parametrize(
    ("word", "invariant"),
    [
        pytest.param("extra", "launches", id="launches"),
        pytest.param("fast", "options", id="options"),
        pytest.param("exit_5", "program", id="program"),
    ],
)
def test_the_fix_that_breaks_an_invariant_is_found_and_the_rest_written(
    world: World, word: str, invariant: str
) -> None:
    world.write("a.py", "unique_one unique_two")
    world.write("b.py", "word")
    world.write("c.py", "unique_three")
    bad = world.fix("b.py", "word", word)
    good = [
        world.fix("a.py", "unique_one", "shared_one"),
        world.fix("a.py", "unique_two", "shared_two"),
        world.fix("c.py", "unique_three", "shared_three"),
    ]
    applied = world.apply(good[0], bad, *good[1:])
    assert applied.status == "written"
    assert [(left.planned, left.invariant) for left in applied.left] == [(bad, invariant)]
    assert world.words("b.py") == "word"
    assert world.words("c.py") == "shared_three"
    assert f"why: it breaks an invariant: {invariant}:" in report(applied)


def test_the_only_fix_is_bad(world: World) -> None:
    world.write("a.py", "unique_one")
    applied = world.apply(world.fix("a.py", "unique_one", "extra"))
    assert (applied.status, applied.exit_status) == ("refused", 1)
    assert world.words("a.py") == "unique_one"
    assert report(applied).startswith("nothing is changed: INVALID: launches:")
    # The baseline ran twice before anything was held against the fix.
    assert world.log.count("A") == 2


def test_a_lost_name_needs_no_run_to_be_found(world: World) -> None:
    world.write("a.py", "name = 1\n")
    applied = world.apply(world.fix("a.py", "name", "other"))
    assert applied.left[0].invariant == "interface"


# What was not shown.


def test_a_fix_of_a_file_that_nothing_executes_is_dropped(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    world.write("unused.py", "word")
    unseen = world.fix("unused.py", "word", "better")
    applied = world.apply(
        world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two"), unseen
    )
    assert applied.status == "written"
    assert [left.planned for left in applied.left] == [unseen]
    assert applied.left[0].reason == "no process of the command executed unused.py: nothing can be proved of it"
    assert world.words("unused.py") == "word"
    # The runs were evidence for the rest: no more of them.
    assert len(world.log) == 9


def test_what_nothing_executes_costs_no_second_sample(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    world.write("unused.py", "word")
    world.options = replace(world.options, stop_when_clear=True)
    unseen = world.fix("unused.py", "word", "better")
    applied = world.apply(
        world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two"), unseen
    )
    assert (applied.status, [left.planned for left in applied.left]) == ("written", [unseen])
    assert world.log == ["A", "Aw", "B", "Bw", "A"]
    assert "further runs would build the same" in report(applied)


def test_a_fix_that_nothing_executes_is_clear_alone(world: World) -> None:
    world.write("unused.py", "word")
    world.options = replace(world.options, stop_when_clear=True)
    applied = world.apply(world.fix("unused.py", "word", "better"))
    assert (applied.status, world.log) == ("refused", ["A", "Aw", "B", "Bw"])
    assert "nothing can be proved of it" in report(applied)


def test_a_fix_that_can_not_be_verified_is_dropped_and_the_rest_written(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    world.write("b.py", "word")
    unproved = world.fix("b.py", "word", "unrolled", options=frozenset({"max_unroll"}))
    applied = world.apply(
        world.fix("a.py", "unique_one", "shared_one"), unproved, world.fix("a.py", "unique_two", "shared_two")
    )
    assert applied.status == "written"
    assert [left.planned for left in applied.left] == [unproved]
    assert "how that changes code can't be checked" in applied.left[0].reason


def test_a_command_that_writes_sources_proves_nothing(world: World) -> None:
    world.write("a.py", "unique_one unique_two")

    def scribble(world: World) -> None:
        world.write("generated.py", str(len(world.log)))

    world.on_run = scribble
    applied = world.apply(world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two"))
    assert applied.status == "refused"
    assert "the command itself writes" in report(applied)
    assert "files in the project that the command writes:" in report(applied)


def test_max_time_ends_with_the_best_verdict_so_far(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    world.options = VerifyOptions(commands=world.options.commands, max_time=0.0)
    fixes = [world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two")]
    real_run = Lab.run
    from warpfix.verify.lab import OutOfTime

    class Late(engine.Lab):  # type: ignore[name-defined,misc,valid-type]
        def run(self, *args: object, **named: object) -> Run:
            if len(world.log) >= 2:
                raise OutOfTime
            result: Run = super().run(*args, **named)
            return result

    world.monkeypatch.setattr(engine, "Lab", Late)
    applied = world.apply(*fixes)
    assert applied.status == "refused"
    assert "--max-time ended before the edited program could run" in report(applied)
    assert world.words("a.py") == "unique_one unique_two"
    assert real_run is Lab.run


# Writing.


def test_the_write_is_undone_where_the_real_tree_disagrees(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    applied = world.apply(
        world.fix("a.py", "unique_one", "shared_one only_on_disk"), world.fix("a.py", "unique_two", "shared_two")
    )
    assert (applied.status, applied.exit_status) == ("undone", 1)
    assert world.words("a.py") == "unique_one unique_two"
    assert "the write was undone" in report(applied)
    assert not (world.root / ".warpfix" / "last-write.json").exists()


def test_a_file_that_changed_meanwhile_is_not_written(world: World) -> None:
    path = world.write("a.py", "unique_one unique_two")

    def edit(world: World) -> None:
        if len(world.log) == 8:
            Path(path).write_text("# edited by hand\n# unique_one unique_two\n")

    world.on_run = edit
    with pytest.raises(CannotWrite, match="changed since it was read"):
        world.apply(world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two"))
    assert Path(path).read_text() == "# edited by hand\n# unique_one unique_two\n"


def test_an_interrupt_while_confirming_undoes_the_write(world: World) -> None:
    world.write("a.py", "unique_one unique_two")

    def interrupt(world: World) -> None:
        if len(world.log) == 9:
            raise KeyboardInterrupt

    world.on_run = interrupt
    with pytest.raises(KeyboardInterrupt):
        world.apply(world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two"))
    assert world.words("a.py") == "unique_one unique_two"


# Several commands.


def test_a_fix_must_be_good_for_every_command(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    world.options = VerifyOptions(commands=(("python", "app.py"), ("python", "other.py")))
    applied = world.apply(world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two"))
    assert applied.status == "written"
    assert "$ python other.py" in report(applied)
    assert len(world.log) == 18


# try.


def diff(name: str, old: str, new: str) -> bytes:
    return f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-# {old}\n+{new}\n".encode()


@pytest.mark.parametrize(
    ("new", "status"),
    [
        ("# unique_one", Status.INVALID),
        ("# unique_one unique_two word", Status.NO_GAIN),
        ("def (", Status.INVALID),
    ],
)
def test_try(world: World, new: str, status: Status) -> None:
    world.write("a.py", "unique_one unique_two")
    patched = apply_patch(diff("a.py", "unique_one unique_two", new), str(world.root))
    tried = try_patch(patched, world.options, cwd=str(world.root))
    assert tried.judgement.status is status
    assert " ".join(tried_lines(tried)).startswith(f"verdict: {tried.judgement.status.value}: ")
    assert world.words("a.py") == "unique_one unique_two"
    assert set(tried.to_dict()) >= {"status", "reason", "commands"}


def test_an_option_that_the_patch_does_not_name_comes_with_a_hint(world: World) -> None:
    world.write("a.py", "word")
    patched = apply_patch(diff("a.py", "word", "# fast"), str(world.root))
    tried = try_patch(patched, world.options, cwd=str(world.root))
    assert tried.judgement.status is Status.INVALID
    assert "--about OPTION" in " ".join(tried_lines(tried))
    named = try_patch(patched, world.options, cwd=str(world.root), about=frozenset({"fast_math"}))
    assert "--about OPTION" not in " ".join(tried_lines(named))


def test_what_is_still_built_again_is_said_though_no_rule_finds_it(world: World) -> None:
    world.write("a.py", "word")
    plain = world.program

    def program(overlay: Mapping[str, bytes] | None, state: str) -> Run:
        made = plain(overlay, state)
        twice = process([K("base"), K("base", options={"max_unroll": 1})], builds=2 if state == "cold" else 0)
        return run(twice, state=state, status=made.exit_status)

    world.monkeypatch.setattr(world, "program", program)
    applied = world.apply()
    (again,) = applied.rebuilds()
    assert again.module == "app"
    assert "still built again: app" in report(applied)
    assert [one["module"] for one in applied.to_dict()["rebuilds"]] == ["app"]


# Not to be written; what shows in the second run only.


def test_proved_and_not_written(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    applied = world.apply(
        world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two", 2), write=False
    )
    assert (applied.status, applied.exit_status, applied.written) == ("proved", 1, ())
    assert [change.after for change in applied.changes] == [b"# shared_one shared_two\n"]
    assert world.words("a.py") == "unique_one unique_two"
    assert world.log == ["A", "Aw", "B", "Bw", "B", "Bw", "A", "Aw"]
    assert not (world.root / ".warpfix").exists()
    assert "not written" in report(applied)


def test_a_read_only_file_is_told_before_it_is_measured_edited(world: World) -> None:
    path = Path(world.write("a.py", "unique_one unique_two"))
    path.chmod(0o444)
    with pytest.raises(CannotWrite, match="is read-only"):
        world.apply(world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two", 2))
    assert world.log == ["A", "Aw"]
    assert not (world.root / ".warpfix").exists()


def test_a_fix_that_saves_the_second_run_its_builds_is_kept(world: World) -> None:
    world.write("a.py", "unique_one unique_two")
    world.write("b.py", "cleared")
    cache = world.fix("b.py", "cleared", "kept")
    applied = world.apply(
        world.fix("a.py", "unique_one", "shared_one"), world.fix("a.py", "unique_two", "shared_two"), cache
    )
    assert applied.status == "written", report(applied)
    assert cache in applied.kept and applied.left == []
    assert "builds in a warm run" in report(applied)


def test_a_fix_of_the_cache_alone_earns_its_place(world: World) -> None:
    world.write("b.py", "cleared")
    applied = world.apply(world.fix("b.py", "cleared", "kept"))
    assert applied.status == "written", report(applied)
