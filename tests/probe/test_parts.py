"""Parts of the probe by themselves, without Warp and without a process."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
import threading
from array import array
from pathlib import Path

import pytest
import warpfix.probe
from warpfix.probe import importing
from warpfix.probe import sequence as sequences
from warpfix.probe.caches import Caches
from warpfix.probe.environ import command_keeper, keeper
from warpfix.probe.log import Log
from warpfix.probe.options import Options
from warpfix.probe.phases import Phase, take

from warpfix.measure.read import read_events, read_processes

ROOM = Path(warpfix.probe.__file__).parent


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_parses_on_the_oldest_python(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 8))


# -- the sequence of launches


def started(folder: Path) -> Log:
    log = Log(str(folder))
    log.event("start", pid=1, ppid=0, started=log.started, argv=["x"], python="3.11.0")
    return log


def signed(log: Log, count: int) -> None:
    for number in range(count):
        log.event("sig", id=number, kernel={"key": f"k{number}"})


def test_a_sequence_on_disk_needs_no_flush(tmp_path: Path) -> None:
    log = started(tmp_path)
    signed(log, 2)
    sequence = sequences.Sequence(log, None, None)
    for number in (0, 1, 1, 0):
        sequence.append(number)
    (process,) = read_processes(tmp_path)
    assert process.launches.sequence == (0, 1, 1, 0)
    assert process.launches.total == sequence.total == 4
    assert process.launches.counts == {0: 2, 1: 2}
    assert not process.ended


def test_beyond_the_prefix_digest_and_counts_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "LIMIT", 100)
    monkeypatch.setattr(sequences, "_CHUNK", 16)
    log = started(tmp_path)
    signed(log, 3)
    sequence = sequences.Sequence(log, None, None)
    order = [number % 3 for number in range(250)]
    for number in order:
        sequence.append(number)
    sequence.flush()
    (process,) = read_processes(tmp_path)
    assert process.launches.sequence == tuple(order[:100])
    assert process.launches.total == 250
    assert process.launches.digest == hashlib.sha256(array("I", order).tobytes()).hexdigest()
    assert sum(process.launches.counts.values()) == 250


def test_a_launch_whose_signature_was_lost_ends_the_sequence(tmp_path: Path) -> None:
    log = started(tmp_path)
    signed(log, 1)
    sequence = sequences.Sequence(log, None, None)
    for number in (0, 0, 1, 0):
        sequence.append(number)
    assert read_processes(tmp_path)[0].launches.sequence == (0, 0)


def test_threads_have_numbers(tmp_path: Path) -> None:
    log = started(tmp_path)
    signed(log, 2)
    sequence = sequences.Sequence(log, None, None)
    sequence.append(0)
    worker = threading.Thread(target=sequence.append, args=(1,))
    worker.start()
    worker.join()
    sequence.append(0)
    assert read_processes(tmp_path)[0].launches.threads == {0: (0, 0), 1: (1,)}


def test_the_stop_condition_lets_exactly_that_many_through(tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    sequence = sequences.Sequence(started(tmp_path), 3, stop)
    for _ in range(3):
        sequence.append(0)
    with pytest.raises(Stopped):
        sequence.append(0)


def test_no_launch_leaves_no_file(tmp_path: Path) -> None:
    sequences.Sequence(started(tmp_path), None, None).flush()
    assert [path.suffix for path in tmp_path.iterdir()] == [".jsonl"]


# -- the log


def test_a_cut_last_line_is_left_out(tmp_path: Path) -> None:
    log = started(tmp_path)
    log.event("native", source="a")
    path = Path(log.path)
    for size in range(path.stat().st_size, 0, -7):
        with path.open("r+b") as file:
            file.truncate(size)
        assert len(read_events(path)) <= 2
    with path.open("ab") as file:
        file.write(b"\xff\xfe[]\nnull\n{}\n")
    assert read_events(path) == []


def test_a_log_that_can_not_be_written_is_no_error(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "gone"))
    log.event("start")
    log.fault("here", ValueError("x"))
    assert log.errors >= 2


def test_the_log_is_private(tmp_path: Path) -> None:
    log = started(tmp_path)
    assert Path(log.path).stat().st_mode & 0o077 == 0


# -- environments and commands


def test_a_given_environment_keeps_the_probe() -> None:
    keep = keeper("/probe", {"WARP_CACHE_PATH": "/private"})
    assert keep(None) is None
    assert keep({}) == {"PYTHONPATH": "/probe", "WARP_CACHE_PATH": "/private"}
    assert keep({"PYTHONPATH": "src"})["PYTHONPATH"] == os.pathsep.join(["/probe", "src"])
    assert keep({"PYTHONPATH": os.pathsep.join(["/probe", "src"])})["PYTHONPATH"].count("/probe") == 1
    assert keep({"WARP_CACHE_PATH": "/mine"})["WARP_CACHE_PATH"] == "/mine"  # mapped where Warp reads it
    assert keep({b"A": b"1"})[b"PYTHONPATH"] == b"/probe"


def test_the_callers_mapping_is_not_changed() -> None:
    given = {"A": "1"}
    keeper("/probe", {})(given)
    assert given == {"A": "1"}


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        pytest.param(["python", "PYTHONPATH=src"], ["python", "PYTHONPATH=src"], id="an argument of another program"),
        pytest.param(["env", "python", "PYTHONPATH=x"], ["env", "python", "PYTHONPATH=x"], id="after the program"),
        pytest.param(["env", "A=1", "python"], ["env", "A=1", "python"], id="another variable"),
        pytest.param("env PYTHONPATH=src python", "env PYTHONPATH=src python", id="a shell string"),
        pytest.param(["env", "PYTHONPATH=src", "python"], ["env", "PYTHONPATH=/probe:src", "python"], id="set"),
        pytest.param(["env", "PYTHONPATH=", "python"], ["env", "PYTHONPATH=/probe", "python"], id="emptied"),
        pytest.param(("/usr/bin/env", "PYTHONPATH=s"), ("/usr/bin/env", "PYTHONPATH=/probe:s"), id="by path"),
    ],
)
@pytest.mark.skipif(os.pathsep != ":", reason="the expected texts are POSIX")
def test_commands_that_set_the_path(command: object, kept: object) -> None:
    assert command_keeper("/probe")(command) == kept


# -- caches


def test_same_choice_same_place(tmp_path: Path) -> None:
    seen: list[tuple[str, ...]] = []
    caches = Caches(str(tmp_path / "root"), lambda *choice: seen.append(choice))
    first = caches.map(str(tmp_path / "a"), "x")
    assert caches.map(tmp_path / "." / "a", "x") == first
    assert caches.map(str(tmp_path / "b"), "x") != first
    assert caches.map(first, "x") == first
    assert caches.map(None, "x") is None
    assert len(seen) == 2
    assert not Path(str(first)).exists()


def test_a_folder_that_exists_does_so_when_mapped(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    caches = Caches(str(tmp_path / "root"), lambda *choice: None)
    assert Path(str(caches.map(str(tmp_path / "a"), "x"))).is_dir()


# -- options


class _Probe:
    def __init__(self, log: Log) -> None:
        self.log = log


def test_options_stay_a_dict_and_tell_every_write(tmp_path: Path) -> None:
    log = started(tmp_path)
    options = Options({"a": 1, "b": 2})
    options._module, options._probe = "m", _Probe(log)
    options["a"] = 3
    options.update({"b": 4}, c=5)
    options |= {"d": 6}
    options.setdefault("a", 9)
    options.pop("d")
    del options["c"]
    assert options == {"a": 3, "b": 4}
    writes = [(event["option"], event["old"], event["new"]) for event in read_events(Path(log.path))[1:]]
    assert writes == [("a", 1, 3), ("b", 2, 4), ("c", None, 5), ("d", None, 6), ("d", 6, None), ("c", 5, None)]
    assert isinstance(options, dict) and isinstance(options, Options)
    assert all(event["line"][0] == __file__ for event in read_events(Path(log.path))[1:])


def test_copies_of_options_tell_nothing() -> None:
    import copy
    import pickle

    options = Options({"a": 1})
    for twin in (copy.copy(options), copy.deepcopy(options), pickle.loads(pickle.dumps(options)), options | {}):
        assert type(twin) is dict and twin == {"a": 1}


# -- phases


def test_nested_phases_are_not_counted_twice() -> None:
    with Phase("outer") as outer, Phase("inner"):
        pass
    inner_entry, outer_entry = take(outer.start)
    assert (inner_entry[0], outer_entry[0]) == ("inner", "outer")
    total = outer_entry[2] - outer_entry[1]
    assert outer_entry[3] + inner_entry[3] == pytest.approx(total, abs=1e-4)
    assert take(outer.start) == []


# -- frames


def test_programs_that_come_with_warp_are_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    from warpfix.probe import frames

    monkeypatch.setattr(frames, "_skip", [])
    monkeypatch.setattr(frames, "_programs", [])
    frames.add_internal("/site/warp")
    inside = [frames.is_internal(path) for path in ("/site/warp/context.py", "/site/warp/_src/x.py", "<frozen runpy>")]
    assert inside == [True, True, True]
    outside = (
        "/site/warp/examples/core/a.py",
        "/site/warp/tests/t.py",
        "/site/warpdrive/x.py",
        "<string>",
        "/p/app.py",
    )
    assert [frames.is_internal(path) for path in outside] == [False] * 5


# -- loads


def test_a_thread_waits_until_another_has_told_its_load() -> None:
    from warpfix.probe.modules import _told_by_another

    class Exec:
        _warpfix_thread = threading.get_ident() + 1

    loaded = Exec()
    teller = threading.Timer(0.02, lambda: setattr(loaded, "_warpfix_load", {}))
    teller.start()
    assert _told_by_another(loaded)
    teller.join()
    mine = Exec()
    mine._warpfix_thread = threading.get_ident()
    assert not _told_by_another(mine)
    assert not _told_by_another(object())


def test_an_import_is_told_once_though_another_finder_asks_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "waited_for.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    told = []
    importing.when_executed(("waited_for",), lambda module: told.append(module.value) or True)

    class Asks:
        busy = False

        def find_spec(self, name: str, path: object = None, target: object = None) -> object:
            if self.busy or name != "waited_for":
                return None
            self.busy = True
            try:
                return importlib.util.find_spec(name)
            finally:
                self.busy = False

    sys.meta_path.insert(1, Asks())
    monkeypatch.delitem(sys.modules, "waited_for", raising=False)
    importlib.import_module("waited_for")
    assert told == [1]
    assert not [finder for finder in sys.meta_path if type(finder).__module__ == importing.__name__]
