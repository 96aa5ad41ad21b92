"""What a scan says depends on the files, not on the order in which they are read; and what can't matter is not parsed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scan_support import write_files

from warpfix.index.build import ProjectIndex, build_index
from warpfix.project import Project, discover
from warpfix.rules import run_rules
from warpfix.scanning import scan_paths

SOURCES = {
    "app.py": """\
        import warp as wp
        from sim import kernels, settings, solver

        def main():
            x = wp.zeros(3)
            solver.step(x)
            settings.cfg.verify_fp = True
            wp.launch(kernels.alone, dim=3, inputs=[x])

        if __name__ == "__main__":
            main()
        """,
    "sim/__init__.py": "from .kernels import *\n",
    "sim/settings.py": "import warp as wp\nfrom warp import config as cfg\n",
    "sim/kernels.py": """\
        import warp as wp

        @wp.kernel
        def add(x: wp.array(dtype=float)):
            x[wp.tid()] = 1.0

        @wp.kernel(module="unique")
        def alone(x: wp.array(dtype=float)):
            x[wp.tid()] = 3.0
        """,
    "sim/solver.py": """\
        import warp as wp
        from sim import add

        def step(x):
            @wp.kernel
            def scale(x: wp.array(dtype=float)):
                x[wp.tid()] = 2.0

            wp.launch(add, dim=3, inputs=[x])
            wp.launch(scale, dim=3, inputs=[x])
            wp.set_module_options({"fast_math": True})
        """,
    "sim/broken.py": "import warp as wp\ndef (:\n",
    "sim/worse.py": "import warp as wp\n    x\n",
    "sim/plain.py": "SIZE = 3\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("order"), SOURCES)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were parsed for an index."""
    found: list[str] = []
    load = ProjectIndex._load

    def counted(self, path, source):  # type: ignore[no-untyped-def]
        found.append(Path(path).name)
        return load(self, path, source)

    monkeypatch.setattr(ProjectIndex, "_load", counted)
    return found


def judged(project: Project) -> tuple[object, object]:
    findings, problems = run_rules(build_index(project), project.config)
    return findings, sorted(problems, key=lambda item: item.path)


ORDERS = [
    pytest.param(lambda files: tuple(reversed(files)), id="backwards"),
    pytest.param(lambda files: files[3:] + files[:3], id="turned"),
    pytest.param(lambda files: files[::2] + files[1::2], id="every other"),
]


@pytest.mark.parametrize("order", ORDERS)
def test_order_of_files_changes_nothing(root: Path, order: Callable[[tuple[str, ...]], tuple[str, ...]]) -> None:
    (project,) = discover([root])
    expected = judged(project)
    assert {finding.code for finding in expected[0]} >= {"WF101", "WF201", "WF202", "WF301"}  # type: ignore[attr-defined]
    assert judged(replace(project, files=order(project.files))) == expected


def test_order_of_sets_changes_nothing(root: Path, run_cli: Callable[..., object]) -> None:
    """Two broken files: they are told in the same order, whatever Python's hashes of their paths are."""
    outputs = {
        (done.returncode, done.stderr, json.dumps(json.loads(done.stdout)))  # type: ignore[attr-defined]
        for seed in ("0", "1", "4")
        for done in [run_cli("scan", root, "--format", "json", env={"PYTHONHASHSEED": seed})]
    }
    assert len(outputs) == 1
    ((code, stderr, _),) = outputs
    assert code == 2
    assert stderr.index("broken.py") < stderr.index("worse.py")


def test_part_of_a_project_is_judged_with_the_rest_in_view(root: Path) -> None:
    whole = scan_paths([root])[1].findings
    for name in ("app.py", "sim/solver.py", "sim/kernels.py"):
        alone = scan_paths([root / name])[1].findings
        assert alone == tuple(finding for finding in whole if finding.path == str(root / name)) != ()


def test_tree_without_warp_is_not_parsed(tmp_path: Path, parsed: list[str]) -> None:
    write_files(tmp_path, {f"m{number}.py": "import numpy\n@numpy.kernel\ndef f(): pass\n" for number in range(5)})
    result = scan_paths([tmp_path])[1]
    assert (result.projects[0].files, result.projects[0].warp_files, parsed) == (5, 0, [])


def test_files_without_warp_are_not_judged_with_the_rest(root: Path, parsed: list[str]) -> None:
    result = scan_paths([root / "sim/plain.py"])[1]
    assert (result.findings, result.problems, parsed) == ((), (), [])


def test_file_that_takes_warp_from_the_project_is_judged(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "base.py": "import warp as wp\n",
            "app.py": "from base import *\n\ndef run(x):\n    @wp.kernel\n    def k(x: wp.array(dtype=float)):\n"
            "        x[wp.tid()] = 2.0\n    wp.launch(k, dim=1, inputs=[x])\n",
        },
    )
    assert [finding.code for finding in scan_paths([tmp_path / "app.py"], select=["WF101"])[1].findings] == ["WF101"]
