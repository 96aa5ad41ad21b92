"""The hooks under the real pre-commit, on a git repository made here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import clean_environment

CHECKOUT = Path(__file__).resolve().parents[2]
FAULTY = "heat/solver.py"

pytestmark = pytest.mark.slow


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    result = subprocess.run(["git", *identity, *args], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def repository(folder: Path) -> str:
    """Make ``folder`` a git repository with all of its files in one commit; return the commit."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "All")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """This project as it stands, as a repository that offers hooks."""
    folder = tmp_path_factory.mktemp("hooks") / "warpfix"
    traces = (".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".warpfix")
    shutil.copytree(CHECKOUT, folder, ignore=shutil.ignore_patterns(*traces))
    return folder, repository(folder)


@pytest.fixture(scope="module")
def pre_commit(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a hook by its id in a folder. Its environment is installed once, from PyPI."""
    home = tmp_path_factory.mktemp("pre-commit-home")

    def run(folder: Path, hook: str) -> subprocess.CompletedProcess[str]:
        variables = clean_environment(PRE_COMMIT_HOME=str(home), PATH=os.environ["PATH"])
        command = [sys.executable, "-m", "pre_commit", "run", hook, "--all-files", "--color=never"]
        return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=500)

    return run


@pytest.fixture
def project(hooks: tuple[Path, str], copy_sample: Callable[[str], Path]) -> Path:
    """A user's repository: the sample with kernels defined between launches, and the two hooks."""
    folder = copy_sample("kernels_between_launches")
    source, revision = hooks
    ids = "  - id: warpfix-scan\n  - id: warpfix-apply\n"
    config = f"repos:\n- repo: {source.as_uri()}\n  rev: {revision}\n  hooks:\n{ids}"
    (folder / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
    repository(folder)
    return folder


def test_scan_finds_and_changes_nothing(project: Path, pre_commit) -> None:
    result = pre_commit(project, "warpfix-scan")
    assert result.returncode == 1, result.stdout + result.stderr
    assert FAULTY in result.stdout and "exit code: 1" in result.stdout
    assert git(project, "status", "--porcelain") == ""


def test_scan_passes_where_nothing_is_wrong(project: Path, pre_commit) -> None:
    clean = CHECKOUT / "sample_projects" / "clean"
    for path in [*project.rglob("*.py")]:
        path.unlink()
    shutil.copytree(clean, project, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    git(project, "add", "--all")
    result = pre_commit(project, "warpfix-scan")
    assert result.returncode == 0, result.stdout + result.stderr


def test_apply_edits_and_fails_then_passes(project: Path, pre_commit) -> None:
    first = pre_commit(project, "warpfix-apply")
    assert first.returncode == 1, first.stdout + first.stderr
    assert "files were modified by this hook" in first.stdout
    assert git(project, "diff", "--name-only") == FAULTY
    edited = (project / FAULTY).read_bytes()
    second = pre_commit(project, "warpfix-apply")
    assert second.returncode == 0, second.stdout + second.stderr
    assert (project / FAULTY).read_bytes() == edited
