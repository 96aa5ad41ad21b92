"""The time of ``build_index`` and of the rules as a multiple of ``ast.parse`` over the same files.

    python benchmarks/scan_ratio.py PATH...

Only files that import Warp count, so that skipping others wins nothing. CPU seconds of this process, the best of three;
the bound that the project sets itself is 2.5.
"""

from __future__ import annotations

import ast
import gc
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from warpfix.index.build import build_index
from warpfix.index.read import decode, read
from warpfix.project import discover
from warpfix.rules import run_rules

BOUND = 2.5


def best(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """CPU seconds of the fastest of a few runs, and the last result."""
    times = []
    result = None
    for _ in range(repeats):
        result = None
        gc.collect()
        started = time.process_time()
        result = function()
        times.append(time.process_time() - started)
    return min(times), result


def parse_all(sources: list[bytes]) -> list[ast.Module]:
    """What any tool over ``ast`` must do at least, with the collector off as the index has it."""
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [ast.parse(decode(source)) for source in sources]
    finally:
        gc.enable()


def main(paths: list[str]) -> None:
    """Print one line for each project."""
    for project in discover(paths):
        warp_files = sorted(build_index(project).files)
        project = replace(project, files=tuple(warp_files), targets=frozenset(warp_files))
        sources = [source for source in map(read, warp_files) if isinstance(source, bytes)]
        lines = sum(source.count(b"\n") for source in sources)
        parsing, _ = best(lambda sources=sources: parse_all(sources))
        indexing, index = best(lambda project=project: build_index(project))
        started = time.process_time()
        run_rules(index, project.config)
        judging = time.process_time() - started
        print(
            f"{project.root}: {len(warp_files)} files, {lines / 1000:.0f} kLOC; ast.parse {parsing:.2f} s, "
            f"index {indexing:.2f} s ({indexing / parsing:.2f} x), rules {judging:.2f} s, "
            f"together {(indexing + judging) / parsing:.2f} x (bound {BOUND})"
        )


if __name__ == "__main__":
    main(sys.argv[1:] or ["."])
