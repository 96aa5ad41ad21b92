"""A scan from paths to findings: what ``warpfix scan`` shows and ``warpfix apply`` plans from."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from warpfix.changed_lines import changed_since
from warpfix.config import Config, load_config
from warpfix.errors import WarpfixError
from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex, build_index
from warpfix.index.model import Problem, Role
from warpfix.measure.profile import Profile
from warpfix.output.scan_result import ScannedProject, ScanResult
from warpfix.project import Project, discover, find_root
from warpfix.rules import run_rules


@dataclass(frozen=True)
class Scanned:
    """One project's index with what the rules found in it."""

    index: ProjectIndex
    config: Config
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Stdin:
    """Source that comes from stdin: its bytes, and the path that it is said to have, which need not exist."""

    source: bytes
    filename: str | None = None


def _of_stdin(stdin: Stdin) -> list[Project]:
    if stdin.filename is not None:
        path = os.path.realpath(stdin.filename)
        if os.path.isdir(path):
            raise WarpfixError(f"--stdin-filename {stdin.filename}: that is a folder")
        found = discover([path], overlay={path: stdin.source})
        return [project for project in found if path in project.targets]
    # Nobody knows what belongs to it: judged alone, under the configuration of the current folder.
    folder = os.getcwd()
    path = os.path.join(folder, "<stdin>")
    overlay = {path: stdin.source}
    config = load_config(find_root(folder))
    return [Project(folder, config, (path,), frozenset(overlay), frozenset(overlay), overlay=overlay)]


def read_profile(path: str | Path) -> Profile:
    """The profile that ``warpfix measure -o`` wrote.

    Raises:
        WarpfixError: it can't be read, or it is a report of another tool, which has no lines to join.
    """
    from warpfix.measure.report import read_report

    report = read_report(path)
    if not isinstance(report, Profile):
        raise WarpfixError(
            f"{path}: a report of another probe names modules, not lines; write one with `warpfix measure -o`"
        )
    return report


def scan_paths(
    paths: Iterable[str | Path],
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    include_tests: bool = False,
    warp_min: str | None = None,
    profile: Profile | None = None,
    installed: bool = False,
    prepare: Callable[[ProjectIndex, Config], object] | None = None,
    stdin: Stdin | None = None,
    since: str | None = None,
) -> tuple[list[Scanned], ScanResult]:
    """Discover, index and judge the projects behind some paths.

    With ``installed``, fixes are offered for installed packages too; they are for a patch, not to be written there.
    ``prepare`` is called with each project's index and configuration before its rules run. With ``stdin`` that text is
    judged, and ``paths`` are not looked at. With ``since``, a revision of git, findings are left out whose lines are as
    they were there.

    Raises:
        WarpfixError: a path does not exist, a configuration is wrong, or a rule is named that there is none of.
    """
    statistics: dict[str, float] = {}
    started = time.perf_counter()
    projects = discover(paths) if stdin is None else _of_stdin(stdin)
    statistics["discover"] = time.perf_counter() - started
    scanned: list[Scanned] = []
    for project in projects:
        if installed:
            project = replace(project, editable=True)
        config = project.config.override(select=select, ignore=ignore, include_tests=include_tests, warp_min=warp_min)
        started = time.perf_counter()
        index = build_index(project, config)
        statistics["index"] = statistics.get("index", 0.0) + time.perf_counter() - started
        if prepare is not None:
            prepare(index, config)
        with _without_collector():
            findings, problems = run_rules(index, config, profile, statistics)
        if since is not None:
            changed = changed_since(project.root, since)
            findings = [item for item in findings if changed.touches(item.path, item.line, item.end_line)]
        scanned.append(Scanned(index, config, tuple(findings), tuple(problems)))
    findings_all = [finding for item in scanned for finding in item.findings]
    wanted = {finding.path for finding in findings_all}
    result = ScanResult(
        projects=tuple(_summary(item) for item in scanned),
        findings=tuple(findings_all),
        problems=tuple(dict.fromkeys(problem for item in scanned for problem in item.problems)),
        texts={path: file.text for item in scanned for path, file in item.index.files.items() if path in wanted},
        statistics=statistics,
        with_profile=profile is not None,
        since=since,
    )
    return scanned, result


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """All trees of a project are alive while its rules run: going through them again and again frees nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _summary(item: Scanned) -> ScannedProject:
    project, files = item.index.project, item.index.files
    skipped = (Role.VENDORED,) if item.config.include_tests else (Role.VENDORED, Role.TEST)
    left_out = sum(files[path].role in skipped for path in project.targets if path in files)
    return ScannedProject(
        root=project.root,
        editable=project.editable,
        files=len(project.targets),
        warp_files=sum(path in files for path in project.targets),
        left_out=left_out,
        warp_min=item.config.warp_min,
        warp_min_source=item.config.warp_min_source,
    )
