"""Findings as SARIF 2.1.0, for code scanning. Fixes stay out: an edit is a plan for codemods, not a list of regions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from warpfix._version import __version__
from warpfix.findings import Finding
from warpfix.index.model import Problem
from warpfix.output.scan_result import ScanResult, shown_path
from warpfix.output.text import cost_in_words

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(result: ScanResult) -> str:
    """The SARIF log, with a line end."""
    from warpfix.rules import all_rules

    rules = all_rules()
    places = {rule.code: number for number, rule in enumerate(rules)}
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "warpfix",
                        "semanticVersion": __version__,
                        "informationUri": "https://pypi.org/project/warpfix/",
                        "rules": [
                            {
                                "id": rule.code,
                                "name": "".join(part.capitalize() for part in rule.slug.split("-")),
                                "shortDescription": {"text": rule.summary},
                                "fullDescription": {"text": rule.why},
                                "help": {"text": f"{rule.why}\n\nLimits: {rule.limits}\n\nFix: {rule.fix_safety}"},
                                "defaultConfiguration": {"level": "warning"},
                            }
                            for rule in rules
                        ],
                    }
                },
                "originalUriBaseIds": {"SRCROOT": {"uri": Path.cwd().as_uri() + "/"}},
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not result.problems,
                        "toolExecutionNotifications": list(_notifications(result.problems)),
                    }
                ],
                "results": [_result(finding, places[finding.code]) for finding in result.findings],
            }
        ],
    }
    return json.dumps(log, indent=2, default=str) + "\n"


def _result(finding: Finding, place: int) -> dict[str, Any]:
    text = f"{finding.message}. {finding.advice[:1].upper()}{finding.advice[1:]}."
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(finding.path)}}
    if finding.cell is None:
        location["physicalLocation"]["region"] = {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endLine": finding.end_line,
            "endColumn": finding.end_column,
        }
    else:
        # Lines of a cell are no lines of the file.
        text = f"Cell {finding.cell}, line {finding.line}: {text}"
        location["logicalLocations"] = [{"name": f"cell {finding.cell}", "kind": "cell"}]
    if finding.cost is not None:
        text += f" ({cost_in_words(finding)})"
    return {
        "ruleId": finding.code,
        "ruleIndex": place,
        "level": "warning",
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {"warpfix/v1": _fingerprint(finding)},
        "properties": {
            "rule": finding.rule,
            "applicability": None if finding.fix is None else finding.fix.applicability.value,
            "declined": finding.declined,
            "cell": finding.cell,
            "line": finding.line,
        },
    }


def _artifact(path: str) -> dict[str, str]:
    shown = shown_path(path)
    if Path(path).is_absolute() and shown == Path(path).as_posix():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(shown), "uriBaseId": "SRCROOT"}


def _fingerprint(finding: Finding) -> str:
    """The same for the same finding after lines above it have moved."""
    subject = finding.kernel or json.dumps(dict(finding.data), sort_keys=True, default=str)
    if finding.kernel is None:
        subject = finding.message.split(":")[0] if not finding.data else str(sorted(finding.data.get("options", ())))
    return hashlib.sha256(f"{finding.code}|{shown_path(finding.path)}|{subject}".encode()).hexdigest()[:24]


def _notifications(problems: Iterable[Problem]) -> Iterable[dict[str, Any]]:
    for problem in problems:
        location: dict[str, Any] = {"artifactLocation": _artifact(problem.path)}
        if problem.line:
            location["region"] = {"startLine": problem.line}
        yield {
            "level": "error",
            "message": {"text": problem.message},
            "locations": [{"physicalLocation": location}],
        }
