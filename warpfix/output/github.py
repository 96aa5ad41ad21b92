"""Findings as annotations of GitHub Actions: one workflow command a line."""

from __future__ import annotations

from warpfix.output.scan_result import ScanResult, shown_path
from warpfix.output.text import cost_in_words


def render(result: ScanResult) -> str:
    """The workflow commands; empty when there is nothing to say."""
    lines = []
    for finding in result.findings:
        text = f"{finding.message}. {finding.advice}"
        if finding.cell is not None:
            text = f"cell {finding.cell}, line {finding.line}: {text}"
        if finding.cost is not None:
            text += f" ({cost_in_words(finding)})"
        # GitHub takes a column range only where both ends are on one line.
        place = f"file={_property(shown_path(finding.path))}"
        if finding.cell is None:  # lines of a cell are no lines of the file
            place += f",line={finding.line},endLine={finding.end_line}"
        if finding.cell is None and finding.line == finding.end_line:
            place += f",col={finding.column},endColumn={finding.end_column}"
        lines.append(f"::warning {place},title={_property(f'{finding.code} {finding.rule}')}::{_data(text)}")
    for problem in result.problems:
        place = f"file={_property(shown_path(problem.path))}" + (f",line={problem.line}" if problem.line else "")
        lines.append(f"::error {place},title=warpfix::{_data(problem.message)}")
    return "".join(line + "\n" for line in lines)


def annotation(level: str, message: str, *, title: str, file: str = "", line: int = 0) -> str:
    """One workflow command: ``level`` is ``error``, ``warning`` or ``notice``."""
    places = [f"file={_property(file)}"] if file else []
    places += [f"line={line}"] if line else []
    return f"::{level} {','.join([*places, f'title={_property(title)}'])}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
