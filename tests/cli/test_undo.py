"""``warpfix undo`` from the outside."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER, dedent, make_project

SAFE = dedent(HEADER).rstrip("\n") + (
    "\n\n\ndef run(a):\n    @wp.kernel\n    def scale(a: wp.array(dtype=float)):\n        a[0] = 1.0\n\n"
    "    wp.launch(scale, dim=1, inputs=[a])\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "p", {"one.py": SAFE, "sub/two.py": SAFE})


def test_what_apply_wrote_is_restored(project: Path, run_cli) -> None:
    assert run_cli("apply", cwd=project).returncode == 0
    assert (project / "one.py").read_text() != SAFE
    done = run_cli("undo", cwd=project / "sub")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [f"restored {project / 'one.py'}", "restored two.py"]
    assert (project / "one.py").read_text() == (project / "sub" / "two.py").read_text() == SAFE
    again = run_cli("undo", cwd=project)
    assert (again.returncode, again.stdout) == (0, "nothing to undo\n")


def test_a_file_that_was_edited_since(project: Path, run_cli) -> None:
    run_cli("apply", cwd=project)
    (project / "one.py").write_text("x = 1\n")
    written = (project / "sub" / "two.py").read_text()
    done = run_cli("undo", cwd=project, debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and "one.py: changed since warpfix wrote it" in done.stderr
    assert (project / "sub" / "two.py").read_text() == written


def test_nothing_was_written(project: Path, run_cli) -> None:
    done = run_cli("undo", str(project / "one.py"), cwd=project.parent)
    assert (done.returncode, done.stdout) == (0, "nothing to undo\n")
    assert not (project / ".warpfix").exists()
