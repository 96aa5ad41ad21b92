"""What the probe keeps is bounded, whatever the program does a million times; the bounds are lowered here."""

from __future__ import annotations

import hashlib
import json
from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from warpfix.probe import kernels, launches, log, modules, rehashes, sequence
from warpfix.probe.log import Log

from warpfix.measure.read import read_processes


def started(folder: Path) -> Log:
    made = Log(str(folder))
    made.event("start", pid=1, ppid=0, started=made.started, argv=["x"], python="3.11.0")
    return made


def size(one: Log) -> int:
    return Path(one.path).stat().st_size


def test_a_full_log_counts_what_it_leaves_out(tmp_path: Path) -> None:
    one = started(tmp_path)
    one.limit = 4000
    for number in range(5000):
        one.event("native", source=f"source-{number}")
    before = size(one)
    assert before < 4200
    one.event("end", how="exit", launches=0, dropped=one.dropped)
    (process,) = read_processes(tmp_path)
    assert process.ended
    (said,) = process.errors
    assert f"{one.dropped['native']} events of kind native are not in it" in said
    assert one.dropped["native"] > 4900


def test_a_repeated_event_is_told_a_hundred_times_and_at_last(tmp_path: Path) -> None:
    one = started(tmp_path)
    for number in range(100_000):
        one.repeated(("config", "max_unroll", 3), "option", option="max_unroll", via="config", module=None, new=number)
    assert size(one) < 20_000
    one.release()
    events = [json.loads(line) for line in Path(one.path).read_text().splitlines()]
    assert [event["new"] for event in events if event["e"] == "option"] == [*range(log.REPEATS), 99_999]
    assert events[-1]["times"] == 100_000


def test_ever_new_keys_share_one_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_KEYS", 50)
    one = started(tmp_path)
    for number in range(5000):
        one.repeated(("option", number), "option", option=f"o{number}", via="config", module=None, new=1)
    one.release()
    assert size(one) < 30_000
    assert len(one._times) <= 51


class _Kernel:
    """As much of a kernel as the probe looks at."""

    def __init__(self, number: int, module: str = "m") -> None:
        space: dict[str, Any] = {}
        exec(compile(f"def k{number}(): pass", f"<made-{number}>", "exec"), space)
        self.func = space[f"k{number}"]
        self.key = f"k{number}"
        self.adj = SimpleNamespace(source=f"def k{number}(): pass", args=[])
        self.module = SimpleNamespace(name=module)
        self.sig = ""


def test_a_million_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_SITES", 40)
    probe = SimpleNamespace(log=started(tmp_path))
    made = kernels.Constructions(probe)
    few = [_Kernel(number) for number in range(60)]
    for turn in range(600):
        for kernel in few:
            made.made(kernel)
        if turn == 300:
            middle = size(probe.log)
    made.flush()
    # Twice as many kernels, but no twice as long log.
    assert size(probe.log) < 1.3 * middle < 60_000
    assert max(len(made.seen), len(made.latest), len(made.counts)) <= 41
    (process,) = read_processes(tmp_path)
    assert sum(process.kernel_definitions.values()) == 36_000
    assert process.kernel_definitions["<made-0>:1"] == 600
    assert process.kernel_definitions[kernels._OTHER] == 600 * 20


def test_idle_hashes_are_tallied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehashes, "_KEPT", 10)
    probe = SimpleNamespace(log=started(tmp_path), constructions=SimpleNamespace(latest={"m0": ("/p/a.py:3", None)}))
    tally = rehashes.Rehashes(probe)
    for _ in range(3000):
        for module in range(20):
            tally.hashed(f"m{module}", 0.001, ("/p/a.py", 9, "step"))
    claimed = tally.hashed("m1", 0.5, ("/p/a.py", 9, "step"))
    tally.claim(claimed)
    tally.flush()
    assert size(probe.log) < 60_000
    (process,) = read_processes(tmp_path)
    assert len(process.rehashes) == 10
    first = next(one for one in process.rehashes if one.module == "m0")
    assert (first.count, round(first.milliseconds), first.kernel) == (3000, 3000, "/p/a.py:3")
    second = next(one for one in process.rehashes if one.module == "m1")
    assert (second.count, round(second.milliseconds)) == (3000, 3000)


def test_a_kernel_is_described_once_however_often_its_module_is_built(tmp_path: Path) -> None:
    probe = SimpleNamespace(log=started(tmp_path))
    loads = modules.Loads(probe)
    kernel = {"key": "k", "path": "/p/a.py", "line": 1, "qualname": "k", "sig": "", "hash": "11", "source": "x" * 500}
    fields = {"device": "cpu", "target": "cpu", "block_dim": 1, "outcome": "compiled", "options": {}, "code": []}
    for number in range(200):
        defined: dict[str, Any] = {}
        names = [loads.refer({**kernel, "key": f"k{one}"}, defined) for one in range(min(number + 1, 20))]
        record = {"id": number, "module": "m", "hash": str(number), "start": number, "end": number + 0.5, **fields}
        probe.log.event("load", kernels=names, functions={}, defined=defined, **record)
    assert size(probe.log) < 200 * 20 * 20 + 200 * 400 + 20 * 700
    (process,) = read_processes(tmp_path)
    assert [len(load.kernels) for load in process.loads][:21] == [*range(1, 21), 20]
    assert process.loads[-1].kernels[3].definition.key == "k3"


def signatures(folder: Path, monkeypatch: pytest.MonkeyPatch, shapes: list[int]) -> Any:
    """Launches of one kernel in the given shapes, through the signatures and the sequence; the process that was read."""
    monkeypatch.setattr(launches, "MOST", 30)
    folder.mkdir()
    probe = SimpleNamespace(log=started(folder))
    probe.sequence = sequence.Sequence(probe.log, None, None)
    table = launches.Signatures(probe)
    for shape in shapes:
        probe.sequence.append(table.add(**{**launches._BARE, "dim": [shape], "kind": "launch"}))
    probe.sequence.flush()
    assert len(table.known) <= 31
    return read_processes(folder)[0].launches


def test_launches_in_ever_new_shapes_are_told_apart_by_their_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = [number % 500 for number in range(2000)]
    one = signatures(tmp_path / "one", monkeypatch, shapes)
    same = signatures(tmp_path / "same", monkeypatch, shapes)
    other = signatures(tmp_path / "other", monkeypatch, [*shapes[:-1], 77])
    assert one.total == other.total == 2000
    assert len(one.signatures) == 31
    assert one.sequence == same.sequence == other.sequence
    assert one.digest == same.digest != other.digest


def test_a_sequence_without_a_file_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = started(tmp_path)
    for number in range(2):
        one.event("sig", id=number, kernel={"key": f"k{number}"})

    def full(*args: Any) -> int:
        raise OSError(28, "No space left on device")

    launched = sequence.Sequence(one, None, None)
    with monkeypatch.context() as patched:
        patched.setattr(sequence.os, "write", full)
        launched.append(0)
    for number in (1, 1, 0, 1):
        launched.append(number)
    launched.flush()
    for path in tmp_path.glob("*.seq"):
        path.write_bytes(b"")
    (process,) = read_processes(tmp_path)
    assert process.launches.total == 5
    assert process.launches.counts == {0: 2, 1: 3}
    assert process.launches.digest == hashlib.sha256(array("I", [0, 1, 1, 0, 1]).tobytes()).hexdigest()


def test_a_line_that_the_disk_took_half_of_spoils_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = started(tmp_path)
    write = log.os.write
    with monkeypatch.context() as patched:
        patched.setattr(log.os, "write", lambda handle, data: write(handle, data[: len(data) // 2]))
        one.event("overlaid", path="/p/cut.py", sha256="1")
    one.event("overlaid", path="/p/whole.py", sha256="2")
    one.event("end", how="exit", launches=0, lost=one.lost)
    (process,) = read_processes(tmp_path)
    assert dict(process.overlaid) == {"/p/whole.py": "2"}
    assert process.ended
    assert any("1 events could not be written" in error for error in process.errors)


def test_generated_sources_are_kept_once_and_no_more_than_allowed(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    probe: Any = SimpleNamespace(config={"code": str(tmp_path / "code"), "code_limit": 1000})
    probe.loads = SimpleNamespace(kept=0)
    source = tmp_path / "wp_m.cpp"
    kept = set()
    for number in (1, 2, 1, 2, 1):
        source.write_text(str(number) * 300)
        kept.add(modules._keep(str(source), probe))
    assert {Path(path).read_text()[0] for path in kept} == {"1", "2"}
    source.write_text("3" * 500)
    with pytest.raises(OSError, match="the rest is not kept"):
        modules._keep(str(source), probe)
    assert len(list((tmp_path / "code").iterdir())) == 2
