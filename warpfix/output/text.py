"""Findings for a person at a terminal: where, what, the source line with a caret, what to do, what it cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import click

from warpfix.findings import Finding
from warpfix.output.scan_result import ScanResult, shown_path, shown_place

_LINE_END = re.compile(r"\r\n|\r|\n")
_WIDTH = 160


def render(result: ScanResult, colour: bool = False, statistics: bool = False, verbose: bool = False) -> str:
    """The whole report; ends with a line end. Problems are not in it: they go to stderr.

    With ``verbose`` it says what the profile refutes, and why.
    """
    paint: Callable[..., str] = click.style if colour else _plain
    lines: list[str] = []
    split: dict[tuple[str, int | None], list[str]] = {}
    ran = [finding for finding in result.findings if finding.cost is None or finding.cost.ran]
    never_ran = [finding for finding in result.findings if finding.cost is not None and not finding.cost.ran]
    for finding in (*ran, *never_ran):
        if never_ran and finding is never_ran[0]:
            lines += [paint("In code that the measured command never ran:", bold=True), ""]
        key = (finding.path, finding.cell)
        if key not in split and key in result.texts:
            split[key] = _LINE_END.split(result.texts[key])
        lines.extend(_finding(finding, split.get(key, []), paint))
        lines.append("")
    if verbose and result.refuted:
        lines.append(paint("Left out, as the profile refutes it:", bold=True))
        lines += [f"{shown_place(one)}:{one.column} {one.code} {one.rule}: {why}" for one, why in result.refuted]
        lines.append("")
    lines.extend(_summary(result))
    if statistics:
        lines.append("")
        lines.extend(_statistics(result))
    return "\n".join(lines) + "\n"


def _plain(text: str, **style: object) -> str:
    return text


def _finding(finding: Finding, source: list[str], paint: Callable[..., str]) -> Iterator[str]:
    where = f"{shown_place(finding)}:{finding.column}"
    yield f"{paint(where, bold=True)} {paint(finding.code, fg='red', bold=True)} {finding.rule}: {finding.message}"
    if 1 <= finding.line <= len(source):
        text = source[finding.line - 1].replace("\t", " ").replace("\f", " ")
        number = str(finding.line)
        start = finding.column - 1
        end = finding.end_column - 1 if finding.end_line == finding.line else len(text)
        length = max(1, min(end, len(text)) - start)
        shown = text if len(text) <= _WIDTH else text[:_WIDTH] + "..."
        yield f"  {number} | {shown}"
        if start < _WIDTH:
            carets = "^" * min(length, max(1, len(shown) - start))
            yield f"  {' ' * len(number)} | {' ' * start}{paint(carets, fg='yellow')}"
    yield f"  = {finding.advice}"
    if finding.fix is not None:
        yield f"  = fix ({finding.fix.applicability.value}): {finding.fix.summary}"
    if finding.cost is not None:
        yield f"  = {cost_in_words(finding)}"


def cost_in_words(finding: Finding) -> str:
    """What a finding cost in the measured run, as one phrase."""
    cost = finding.cost
    assert cost is not None
    if not cost.ran:
        return "never ran in the measured command"
    builds = "1 build" if cost.builds == 1 else f"{cost.builds} builds"
    saved = ""
    if cost.repeats:
        again = "1 of them a repeat" if cost.repeats == 1 else f"{cost.repeats} of them repeats"
        saved = f"; {again}: a fix saves at most {cost.repeats_milliseconds:.0f} ms"
    return f"cost in the measured command: {builds}, {cost.milliseconds:.0f} ms of module time{saved}"


_NO_WARP = "nothing to look at: the one file that was read does not import Warp, or is no Python"


def _summary(result: ScanResult) -> Iterator[str]:
    number = len(result.findings)
    files = len({finding.path for finding in result.findings})
    scanned = sum(project.warp_files for project in result.projects)
    seen = sum(project.files for project in result.projects)
    if number:
        fixes = Counter(finding.fix.applicability.value for finding in result.findings if finding.fix is not None)
        words = ", ".join(f"{fixes[kind]} {kind}" for kind in ("safe", "measured", "ask") if fixes[kind])
        offered = f"; fixes: {words}" if words else "; none with a fix"
        yield f"{_count(number, 'finding')} in {_count(files, 'file')}{offered}"
    elif scanned:
        new = "new " if result.known else ""
        where = "" if result.since is None else f"on lines that differ from {result.since}, "
        yield f"nothing {new}found {where}in {_count(scanned, 'file')} that {'use' if scanned != 1 else 'uses'} Warp"
    else:
        yield f"nothing to look at: none of {_count(seen, 'file')} imports Warp" if seen != 1 else _NO_WARP
    if result.refuted:
        them = "it" if len(result.refuted) == 1 else "them"
        yield f"{_count(len(result.refuted), 'finding')} left out, as the profile refutes {them} (--verbose says why)"
    if result.known:
        yield f"{_count(result.known, 'known finding')} left out, as the baseline lists them"
    left_out = sum(project.left_out for project in result.projects)
    if left_out:
        yield f"{_count(left_out, 'test or vendored file')} left out (--include-tests takes tests in)"
    if any(not project.editable for project in result.projects):
        yield "installed code is reported and never edited"


def _statistics(result: ScanResult) -> Iterator[str]:
    counts = Counter(finding.code for finding in result.findings)
    yield "rule    findings  seconds"
    codes = sorted({*counts, *(name for name in result.statistics if name.startswith("WF"))})
    for code in codes:
        yield f"{code:<8}{counts[code]:>8}{result.statistics.get(code, 0.0):>9.3f}"
    for stage in ("discover", "index"):
        if stage in result.statistics:
            yield f"{stage:<16}{result.statistics[stage]:>9.3f}"
    for project in result.projects:
        lowest = project.warp_min or "not given, the installed one counts"
        source = f" ({project.warp_min_source})" if project.warp_min_source else ""
        used = f"{project.warp_files} of {project.files} files use Warp"
        yield f"{shown_path(project.root)}: {used}; lowest Warp: {lowest}{source}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
