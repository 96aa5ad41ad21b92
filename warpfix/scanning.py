"""A scan from paths to findings: what ``warpfix scan`` shows and ``warpfix apply`` plans from."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpfix.baseline import Key, judged, only_new, read_baseline
from warpfix.cells import findings_by_cell, problems_by_cell
from warpfix.changed_lines import changed_since
from warpfix.config import Config, load_config
from warpfix.errors import WarpfixError
from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex, build_index
from warpfix.index.model import Problem, Role
from warpfix.index.notebook import SUFFIX, Notebook, read_notebook
from warpfix.index.read import decode, read_all, read_raw
from warpfix.kept import Kept, key_of, load, store
from warpfix.measure.profile import Profile
from warpfix.output.scan_result import ScannedProject, ScanResult
from warpfix.project import Project, discover, find_root
from warpfix.rules import is_reported, run_rules, selected_rules


@dataclass(frozen=True)
class KnownFile:
    """A file that has to do with Warp, as a result that was kept knows it."""

    path: str
    role: Role

    @property
    def text(self) -> str:
        """Its text, read now; empty where it can't be read any more."""
        source = read_raw(self.path)
        try:
            return "" if isinstance(source, Problem) else decode(source)
        except (SyntaxError, UnicodeDecodeError, LookupError):
            return ""


@dataclass(frozen=True)
class KnownProject:
    """Stands in for the index of a project whose result was kept: which files there are, and nothing about them."""

    project: Project
    files: Mapping[str, KnownFile]


@dataclass(frozen=True)
class Scanned:
    """One project's index with what the rules found in it."""

    index: ProjectIndex | KnownProject
    """The index itself, unless a cache was given."""
    config: Config
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    refuted: tuple[tuple[Finding, str], ...] = ()
    """What the profile refutes, and why, in words."""


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


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """All trees of a project are alive from its index to its last rule: going through them meanwhile frees nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_without_collector()
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
    with_baseline: bool = False,
    baseline: str | None = None,
    cache: Path | None = None,
) -> tuple[list[Scanned], ScanResult]:
    """Discover, index and judge the projects behind some paths.

    With ``installed``, fixes are offered for installed packages too; they are for a patch, not to be written there.
    ``prepare`` is called with each project's index and configuration before its rules run. With ``stdin`` that text is
    judged, and ``paths`` are not looked at. With ``since``, a revision of git, findings are left out whose lines are as
    they were there. ``with_baseline`` leaves out of the result (not of what was scanned) the findings that the file
    ``baseline`` lists, or that of each project's configuration. ``cache`` is a folder of results that are kept: one of
    the very same sources is taken from there, without an index; with a profile or ``prepare`` it is not looked at.

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
        sources = read_all(project)
        key = key_of(project, config, sources) if cache is not None and profile is None and prepare is None else None
        kept = load(cache, key)
        if kept is not None:
            selected_rules(config)  # a rule that there is none of is said, as ever
            known_files = {path: KnownFile(path, role) for path, role in kept.roles.items()}
            scanned.append(Scanned(KnownProject(project, known_files), config, kept.findings, kept.problems))
            continue
        index = build_index(project, config, sources)
        statistics["index"] = statistics.get("index", 0.0) + time.perf_counter() - started
        if prepare is not None:
            prepare(index, config)
        refuted: list[tuple[Finding, str]] = []
        findings, problems = run_rules(index, config, profile, statistics, refuted)
        scanned.append(Scanned(index, config, tuple(findings), tuple(problems), tuple(refuted)))
        if key is not None:
            roles = {path: file.role for path, file in index.files.items()}
            store(cache, key, Kept(tuple(findings), tuple(problems), roles))
    reported = {item.index.project.root: list(item.findings) for item in scanned}
    known, stale = _leave_out_known(scanned, reported, baselines(scanned, baseline)) if with_baseline else (0, [])
    if since is not None:
        for root, some in reported.items():
            changed = changed_since(root, since)
            reported[root] = [item for item in some if changed.touches(item.path, item.line, item.end_line)]
    findings_all = [finding for some in reported.values() for finding in some]
    books = _notebooks(projects)
    findings_all = findings_by_cell(findings_all, books)
    problems_all = problems_by_cell([problem for item in scanned for problem in item.problems], books)
    scanned = [replace(item, findings=tuple(findings_by_cell(item.findings, books))) for item in scanned]
    wanted = {finding.path for finding in findings_all}
    texts: dict[tuple[str, int | None], str] = {
        (path, None): file.text for item in scanned for path, file in item.index.files.items() if path in wanted
    }
    texts.update(((path, cell.number), cell.source) for path, book in books.items() for cell in book.cells)
    result = ScanResult(
        projects=tuple(_summary(item) for item in scanned),
        findings=tuple(findings_all),
        problems=tuple(dict.fromkeys(problems_all)),
        texts=texts,
        statistics=statistics,
        with_profile=profile is not None,
        refuted=tuple(pair for item in scanned for pair in item.refuted),
        since=since,
        known=known,
        stale=tuple(stale),
    )
    return scanned, result


def _notebooks(projects: Iterable[Project]) -> dict[str, Notebook]:
    """The notebooks of some projects that have to do with Warp, by path."""
    found = {}
    for project in projects:
        for path in project.files:
            if not path.endswith(SUFFIX):
                continue
            raw = read_raw(path, project.overlay)
            if isinstance(raw, bytes) and b"warp" in raw:
                with contextlib.suppress(ValueError):  # told as a problem already
                    found[path] = read_notebook(raw)
    return found


def baselines(scanned: Iterable[Scanned], given: str | None) -> dict[str, str]:
    """Root of each project to the file of its known findings; projects that have none are left out."""
    found = {}
    for item in scanned:
        root, own = item.index.project.root, item.config.baseline
        if given is not None or own is not None:
            found[root] = os.path.realpath(given if given is not None else os.path.join(root, str(own)))
    return found


def baseline_folder(path: str) -> str:
    """The folder that a baseline's paths are relative to: the root of the project that the file lies in."""
    return find_root(path) or os.path.dirname(path)


def _leave_out_known(
    scanned: Sequence[Scanned], reported: dict[str, list[Finding]], files: Mapping[str, str]
) -> tuple[int, list[tuple[str, str]]]:
    """Take what baselines list out of ``reported``; how many there were, and the entries that are stale, in words."""
    before = sum(map(len, reported.values()))
    stale: list[tuple[str, str]] = []
    for path in dict.fromkeys(files.values()):
        remaining, base = read_baseline(path), baseline_folder(path)
        some = [item for item in scanned if files.get(item.index.project.root) == path]
        for item in some:
            root = item.index.project.root
            texts = {name: file.text for name, file in item.index.files.items()}
            reported[root] = only_new(reported[root], remaining, texts, base)
            only_new((finding for finding, _ in item.refuted), remaining, texts, base)  # not stale in other commands
        for rule, file, _, what in unmatched(remaining, some, base):
            stale.append((path, f"{rule} {file}: {what}"))
    return before - sum(map(len, reported.values())), stale


def unmatched(remaining: Mapping[Key, int], scanned: Iterable[Scanned], base: str) -> list[Key]:
    """Entries that no finding corresponds to, though the scan looked where it would be."""
    found: dict[Key, None] = {}
    for item in scanned:
        looked = {path for path in item.index.project.targets if path not in item.index.files}
        looked.update(
            path
            for path, file in item.index.files.items()
            if is_reported(item.index.project, item.config, path, file.role)
        )
        looked.difference_update(problem.path for problem in item.problems)
        rules = {rule.code for rule in selected_rules(item.config)}
        found.update(dict.fromkeys(judged(remaining, base, looked, rules)))
    return list(found)


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
