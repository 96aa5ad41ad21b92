"""Imports and initialisation on the time line of a start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import stdout

SLOW = "import time\ntime.sleep(0.02)\nimport inner_part\n"
FILES = {
    "outer_part.py": SLOW,
    "inner_part.py": "import time\ntime.sleep(0.02)\nimport quick_part\n",
    "quick_part.py": "",
}


def test_imports_are_nested_and_short_ones_left_out(probed: Callable[..., Any]) -> None:
    run = probed("import outer_part, quick_part\nimport colorsys\nprint('done')", files=FILES)
    (process,) = run.processes
    spans = {span.name: span for span in process.spans if span.name.endswith("_part")}
    outer, inner = spans["outer_part"], spans["inner_part"]
    assert (outer.kind, outer.depth, inner.depth) == ("import", 0, 1)
    assert outer.start <= inner.start <= inner.end <= outer.end
    assert inner.end - inner.start >= 5
    assert "quick_part" not in spans
    assert not process.errors


def test_an_import_that_fails_is_no_import(probed: Callable[..., Any]) -> None:
    program = "try:\n    import not_there_at_all\nexcept ImportError as e:\n    print(e)\nimport outer_part"
    run = probed(program, files=FILES)
    assert stdout(run).strip() == "No module named 'not_there_at_all'"
    names = [span.name for span in run.processes[0].spans]
    assert "not_there_at_all" not in names and "outer_part" in names


@pytest.mark.warp
def test_warp_is_imported_then_initialised_then_launches(probed: Callable[..., Any]) -> None:
    program = """
        import sys
        import warp as wp

        @wp.kernel
        def add(v: wp.array(dtype=float)):
            v[wp.tid()] += 1.0

        values = wp.zeros(4, dtype=float, device="cpu")
        wp.launch(add, dim=4, inputs=[values], device="cpu")
        wp.launch(add, dim=2, inputs=[values], device="cpu")
        import colorsys
        print([type(finder).__name__ for finder in sys.meta_path if not isinstance(finder, type)])
        """
    run = probed(program)
    (process,) = run.processes
    imported = next(span for span in process.spans if span.name == "warp")
    init = next(span for span in process.spans if span.kind == "init")
    (load,) = process.loads
    launches = [span for span in process.spans if span.kind == "launch"]
    assert imported.end <= init.start <= init.end <= load.start <= load.end
    assert [span.name for span in launches] == ["add", "add"]
    assert load.end <= launches[0].start
    # The watcher of imports has left with the first import after the first load.
    assert "Imports" not in stdout(run)
