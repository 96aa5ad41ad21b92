"""The plugin in pytest runs of its own: what it counts, that it stays away until asked, and in any order."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support import clean_environment

KERNELS = """
    import warp as wp

    wp.config.use_precompiled_headers = False

    @wp.kernel(enable_backward=False)
    def push(v: wp.array(dtype=float)):
        v[wp.tid()] += 1.0

    def make(factor):
        @wp.kernel(enable_backward=False)
        def scale(v: wp.array(dtype=float)):
            v[wp.tid()] *= factor
        return scale

    def launch(kernel):
        wp.launch(kernel, dim=4, inputs=[wp.zeros(4, dtype=float, device="cpu")], device="cpu")
    """
TESTS = """
    import os
    import pytest
    import kernels

    def test_before():
        kernels.launch(kernels.push)

    @pytest.mark.warpfix_budget(1)
    def test_marked():
        kernels.launch(kernels.push)

    def test_fixture(warpfix_builds):
        assert len(warpfix_builds) == 0
        kernels.launch(kernels.push)
        assert len(warpfix_builds) == 1 and warpfix_builds.modules == ("kernels",)
        kernels.launch(kernels.push)
        assert len(warpfix_builds) == 1 and not warpfix_builds.rebuilds
        assert warpfix_builds[0].cause == "first-load"

    @pytest.mark.warpfix_budget(1)
    def test_over(warpfix_builds):
        kernels.launch(kernels.push)
        kept = kernels.make(2.0)
        kernels.launch(kept)
        assert [one.cause for one in warpfix_builds.rebuilds] == ["kernel-added"]

    def test_settings_are_as_before():
        import warp
        cache = str(warp.config.kernel_cache_dir)
        assert cache.startswith(os.environ["EXPECTED_CACHE"]) and "warpfix-observe" not in cache
        assert os.environ["WARP_CACHE_PATH"] == os.environ["EXPECTED_CACHE"]
        kernels.launch(kernels.push)
    """
LEAN = """
    import sys

    def test_nothing_is_loaded():
        loaded = [name for name in sys.modules if name.startswith(("warpfix", "libcst", "networkx", "click", "warp"))]
        assert set(loaded) <= {"warpfix", "warpfix._version", "warpfix.pytest_plugin"}
        assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("warpfix")]
    """


def run(folder: Path, *arguments: str, python: str = sys.executable, **files: str) -> subprocess.CompletedProcess[str]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\npythonpath = .\n")
    cache = folder / "cache"
    environment = clean_environment(WARP_CACHE_PATH=str(cache), EXPECTED_CACHE=str(cache))
    command = [python, "-m", "pytest", "-q", "-p", "no:hypothesispytest", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_it_stays_away_until_asked(tmp_path: Path) -> None:
    done = run(tmp_path, test_lean=LEAN)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_option_alone_loads_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "--warpfix-budget", test_lean=LEAN)
    assert done.returncode == 0, done.stdout
    assert "no test with @pytest.mark.warpfix_budget(N) ran" in done.stdout


@pytest.mark.parametrize("mark", ["", "'2'", "1, 2", "m=3"])
def test_a_wrong_marker_is_told(mark: str, tmp_path: Path) -> None:
    text = f"import pytest\n@pytest.mark.warpfix_budget({mark})\ndef test_it():\n    pass\n"
    done = run(tmp_path, "--warpfix-budget", test_it=text)
    assert done.returncode == 1
    assert "takes one number" in done.stdout


def test_without_warp_nothing_is_built(tmp_path: Path) -> None:
    text = "def test_it(warpfix_builds):\n    assert repr(warpfix_builds) == '0 builds of Warp modules'\n"
    done = run(tmp_path, test_it=text)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.warp
def test_counts_are_the_same_in_any_order(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    done = run(tmp_path, "-n", "2", "--warpfix-budget", kernels=KERNELS, test_it=TESTS)
    assert done.returncode == 1
    assert "4 passed" in done.stdout and "1 failed" in done.stdout, done.stdout
    number = textwrap.dedent(KERNELS).splitlines().index("    def scale(v: wp.array(dtype=float)):") + 1
    assert "the budget of this test is 1, and it took 2 builds of Warp modules" in done.stdout
    assert f"kernels.py:{number}" in done.stdout and "paid by kernels.py:" in done.stdout
    assert "    2  test_it.py::test_over" in done.stdout and "    1  test_it.py::test_marked" in done.stdout
    # Alone, as the first: the same counts.
    alone = run(tmp_path, "--warpfix-budget", "test_it.py::test_fixture", "test_it.py::test_marked")
    assert "2 passed" in alone.stdout, alone.stdout


@pytest.mark.warp
def test_under_a_measurement_the_fixture_steps_aside(tmp_path: Path, run_cli) -> None:
    run(tmp_path, "--version", kernels=KERNELS, test_it=TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "test_it.py::test_before", "test_it.py::test_fixture"]
    # The marker without the option enforces nothing: test_over builds two where one is allowed.
    command.append("test_it.py::test_over")
    text = (tmp_path / "test_it.py").read_text()
    (tmp_path / "test_it.py").write_text(
        text.replace("def test_over(warpfix_builds)", "def test_over()").split("    assert [one")[0]
    )
    done = run_cli("measure", "--format", "json", "--show-output", "--", *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warpfix measures this process already" in done.stderr


def test_an_older_pytest_is_not_broken_and_told(tmp_path: Path) -> None:
    """Stood in for by a version number: what matters is that nothing new is used while the plugin loads."""
    (tmp_path / "sitecustomize.py").write_text("import pytest\npytest.version_tuple = (7, 4, 0)\ndel pytest.StashKey\n")
    text = "def test_asks(warpfix_builds):\n    pass\ndef test_does_not():\n    pass\n"
    files = {"test_it.py": text, "pytest.ini": "[pytest]\n"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    environment = clean_environment(PYTHONPATH=str(tmp_path))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "1 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "pytest 8 or newer" in done.stdout
    done = subprocess.run([*command, "--warpfix-budget"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 4 and "pytest 8 or newer" in done.stdout + done.stderr
