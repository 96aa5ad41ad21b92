"""Findings in notebooks, told by cell: the cell's number, the line in the cell, also where a message names a line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from warpfix.findings import Finding, Fix
from warpfix.index.model import Problem
from warpfix.index.notebook import SUFFIX, Notebook

_SUFFIX = re.escape(SUFFIX)
_PLACE = re.compile(
    rf"\bline (?P<of>\d+) of (?P<owner>[^\s`]+{_SUFFIX})"
    rf"|(?P<name>[^\s`(]+{_SUFFIX}):(?P<at>\d+)"
    r"|\bline (?P<own>\d+)(?! of [^\s`]+\.py\b)"
)


def findings_by_cell(findings: Iterable[Finding], notebooks: Mapping[str, Notebook]) -> list[Finding]:
    """The same findings; those in notebooks have ``cell`` set, and lines that count in it.

    ``notebooks`` maps the absolute path of each notebook of the project to it.
    """
    if not notebooks:
        return list(findings)
    return [_finding(finding, notebooks) for finding in findings]


def problems_by_cell(problems: Iterable[Problem], notebooks: Mapping[str, Notebook]) -> list[Problem]:
    """The same problems; those in notebooks say the cell and its line in their message."""
    return [_problem(problem, notebooks.get(problem.path)) for problem in problems]


def _finding(finding: Finding, notebooks: Mapping[str, Notebook]) -> Finding:
    own = notebooks.get(finding.path)

    def told(text: str) -> str:
        return in_words(text, own, notebooks)

    fix: Fix | None = finding.fix
    if fix is not None:
        fix = replace(fix, summary=told(fix.summary), proved=told(fix.proved), unproved=told(fix.unproved))
    changed = replace(
        finding,
        message=told(finding.message),
        advice=told(finding.advice),
        declined=None if finding.declined is None else told(finding.declined),
        fix=fix,
    )
    if own is None or not own.cells:
        return changed
    cell, line = own.place(finding.line)
    last = cell.source.count("\n") + 1
    return replace(changed, cell=cell.number, line=line, end_line=min(finding.end_line - finding.line + line, last))


def _problem(problem: Problem, own: Notebook | None) -> Problem:
    if own is None or problem.line is None or not own.cells:
        return problem
    cell, line = own.place(problem.line)
    return Problem(problem.path, None, f"cell {cell.number}, line {line}: {problem.message}")


def in_words(text: str, own: Notebook | None, notebooks: Mapping[str, Notebook]) -> str:
    """A sentence whose lines (``line 9``, ``line 9 of a.ipynb``, ``a.ipynb:9``) are said by cell."""

    def told(match: re.Match[str]) -> str:
        name = match["owner"] or match["name"]
        book = own if name is None else _named(name, notebooks)
        if book is None or not book.cells:
            return match.group()
        cell, line = book.place(int(match["of"] or match["at"] or match["own"]))
        if match["at"]:
            return f"{name}:cell {cell.number}:{line}"
        return f"cell {cell.number}, line {line}" + (f" of {name}" if name is not None else "")

    return _PLACE.sub(told, text)


def _named(name: str, notebooks: Mapping[str, Notebook]) -> Notebook | None:
    """The notebook that a message means by its name, if only one can be meant."""
    found = [book for path, book in notebooks.items() if ("/" + path.replace(os.sep, "/")).endswith("/" + name)]
    return found[0] if len(found) == 1 else None
