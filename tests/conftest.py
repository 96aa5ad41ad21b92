"""Fixtures that all tests share. Nothing here needs Warp."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import NO_CACHE, clean_environment

CHECKOUT = Path(__file__).resolve().parents[1]
SAMPLES = CHECKOUT / "sample_projects"

# Whatever runs in this process runs with nothing swallowed.
os.environ["WARPFIX_DEBUG"] = "1"
os.environ["WARPFIX_CACHE_DIR"] = NO_CACHE


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the corpus runs unless asked for; skip what compiles kernels where there is no Warp."""
    if "corpus" not in (config.getoption("markexpr") or ""):
        corpus = [item for item in items if item.get_closest_marker("corpus")]
        if corpus:
            config.hook.pytest_deselected(items=corpus)
            items[:] = [item for item in items if not item.get_closest_marker("corpus")]
    if importlib.util.find_spec("warp") is None:
        for item in items:
            if item.get_closest_marker("warp"):
                item.add_marker(pytest.mark.skip(reason="warp-lang is not installed"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers begin with a stretch of neighbours each, which share fixtures, and take over what others have not begun.

    With the plain ``-n 2`` one worker would be left with all the long tests at the end.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The folder that holds pyproject.toml."""
    return CHECKOUT


@pytest.fixture
def warp_env(tmp_path: Path) -> dict[str, str]:
    """An environment for running Warp by hand: its caches are private to the test and empty."""
    cache = tmp_path / "warp-cache"
    return clean_environment(WARP_CACHE_PATH=str(cache / "warp"), CUDA_CACHE_PATH=str(cache / "cuda"))


RunCli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def run_cli(tmp_path_factory: pytest.TempPathFactory) -> RunCli:
    """Run ``python -m warpfix`` with arguments in a process of its own.

    ``run_cli("scan", "src", cwd=folder)`` returns the completed process: ``returncode``, ``stdout``, ``stderr``. By
    default with ``WARPFIX_DEBUG=1``, in which an error raises; ``debug=False`` shows what a user sees. ``cwd`` is an
    empty folder by default. ``env`` adds variables. Usable in fixtures of any scope.
    """

    def run(
        *args: str | os.PathLike[str],
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        debug: bool = True,
        timeout: float = 600,
        input: str | None = None,
        python: Sequence[str] = (sys.executable,),
    ) -> subprocess.CompletedProcess[str]:
        environment = clean_environment(**(env or {}))
        if debug:
            environment["WARPFIX_DEBUG"] = "1"
        return subprocess.run(
            [*python, "-m", "warpfix", *map(os.fspath, args)],
            cwd=cwd if cwd is not None else tmp_path_factory.mktemp("empty"),
            env=environment,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
        )

    return run


@pytest.fixture(scope="session")
def copy_sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Copy a project of sample_projects/ to a fresh folder outside any checkout and return the copy's path."""

    def copy(name: str) -> Path:
        target = tmp_path_factory.mktemp("sample") / name
        shutil.copytree(SAMPLES / name, target, ignore=shutil.ignore_patterns("__pycache__", ".warpfix"))
        return target

    return copy
