"""The launches that the probe records, by real Warp."""

from __future__ import annotations

import pytest

from warpfix.measure.profile import LaunchSignature

from .conftest import Gallery

pytestmark = pytest.mark.warp


def signatures(gallery: Gallery, qualname: str) -> list[LaunchSignature]:
    (process,) = gallery.cold.processes
    return [signature for signature in process.launches.signatures if signature.kernel.qualname == qualname]


def count(gallery: Gallery, signature: LaunchSignature) -> int:
    return gallery.cold.processes[0].launches.counts[signature.id]


def test_dimensions_are_canonical_and_settings_kept(gallery: Gallery) -> None:
    signature = signatures(gallery, "step.<locals>.clip")[0]
    assert signature.dim == (4, 2)
    assert signature.max_blocks == 3
    assert signature.block_dim == 1  # what the CPU does with 64
    assert signature.device == "cpu"
    assert signature.kind == "launch"
    assert signature.kernel.path == str(gallery.folder / "between.py")
    assert signature.kernel.line == gallery.line("between.py", "def clip")
    assert signature.line is not None and signature.line.line == gallery.line("between.py", "# paid 2")


def test_each_launch_refers_to_the_load_that_it_ran(gallery: Gallery) -> None:
    loads = {load.id: load for load in gallery.cold.loads}
    used = [loads[signature.load] for signature in signatures(gallery, "advance")]
    assert [load.options["enable_backward"] for load in used] == [True, False]
    assert all(load.module == "late_options" for load in used)


def test_instances_of_a_generic_kernel_are_told_apart(gallery: Gallery) -> None:
    found = signatures(gallery, "scale")
    assert len({signature.overload for signature in found}) == 3
    assert len({signature.dtypes for signature in found}) == 3


def test_adjoint_and_recorded_launches(gallery: Gallery) -> None:
    found = {(one.kind, one.adjoint): count(gallery, one) for one in signatures(gallery, "square")}
    assert found == {("launch", False): 1, ("launch", True): 1, ("recorded", False): 2}


def test_the_tape_still_sees_the_program(gallery: Gallery, gallery_output: dict[str, object]) -> None:
    caller = gallery_output["TAPE"]
    assert isinstance(caller, dict)
    assert caller["file"] == str(gallery.folder / "tapes.py")
    assert caller["lineno"] == gallery.line("tapes.py", "# taped")
    assert gallery_output["GRAD"] == [2.0, 2.0, 2.0, 2.0]


def test_the_sequence_has_every_launch_in_order(gallery: Gallery) -> None:
    launches = gallery.cold.processes[0].launches
    assert launches.total == len(launches.sequence) == sum(launches.counts.values())
    names = [launches.signatures[number].kernel.key.rsplit("__", 1)[-1] for number in launches.sequence]
    assert names[:6] == ["damp", "kick", "clip"] * 2


def test_threads_are_kept_apart(gallery: Gallery) -> None:
    launches = gallery.cold.processes[0].launches
    assert len(launches.threads) == 2
    keys = [launches.signatures[number].kernel.key for number in launches.threads[1]]
    assert keys == ["side"]


def test_cold_and_warm_launch_the_same(gallery: Gallery) -> None:
    cold, warm = gallery.cold.processes[0].launches, gallery.profile.warm[0].processes[0].launches
    keys = [[log.signatures[number].kernel.key for number in log.sequence] for log in (cold, warm)]
    assert keys[0] == keys[1]


def test_warps_own_lines_are_known_exactly(gallery: Gallery) -> None:
    lines = gallery.cold.processes[0].warp_output_lines
    assert sum("(compiled)" in line for line in lines) == len(gallery.cold.builds)
    printed = (gallery.folder / "stdout.txt").read_text().splitlines()
    for line in lines:
        printed.remove(line)
    assert {line.split()[0] for line in printed} == {"TAPE", "GRAD", "RESULT", "FAILED"}


def test_a_kernel_made_anew_launches_the_same_thing(gallery: Gallery) -> None:
    found = signatures(gallery, "make_shared.<locals>.pull")
    assert [count(gallery, one) for one in found] == [5]
    assert len(gallery.builds("shared")) == 1
