"""Findings for a program: versioned JSON, documented in docs/scan-json.md."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import Any

from warpfix._version import __version__
from warpfix.findings import Finding, Fix
from warpfix.output.scan_result import ScanResult, shown_path

SCHEMA_VERSION = 1


def render(result: ScanResult, statistics: bool = False) -> str:
    """The JSON document, with a line end."""
    return json.dumps(to_dict(result, statistics), indent=2, default=str) + "\n"


def to_dict(result: ScanResult, statistics: bool = False) -> dict[str, Any]:
    """The document as plain data."""
    fixes = Counter(finding.fix.applicability.value for finding in result.findings if finding.fix is not None)
    document: dict[str, Any] = {
        "schema": "warpfix-scan",
        "version": SCHEMA_VERSION,
        "tool": {"name": "warpfix", "version": __version__},
        "projects": [
            {
                "root": project.root,
                "editable": project.editable,
                "files": project.files,
                "warp_files": project.warp_files,
                "left_out": project.left_out,
                "warp_min": project.warp_min,
                "warp_min_source": project.warp_min_source,
            }
            for project in result.projects
        ],
        "summary": {
            "findings": len(result.findings),
            "by_rule": dict(sorted(Counter(finding.code for finding in result.findings).items())),
            "fixes": {kind: fixes[kind] for kind in ("safe", "measured", "ask")},
            "known": result.known,
            "problems": len(result.problems),
        },
        "findings": [finding_to_dict(finding) for finding in result.findings],
        "problems": [
            {"path": shown_path(problem.path), "line": problem.line, "message": problem.message}
            for problem in result.problems
        ],
    }
    document["stale_baseline"] = [{"baseline": shown_path(path), "entry": entry} for path, entry in result.stale]
    if result.with_profile:
        document["refuted"] = [
            {"code": one.code, "path": shown_path(one.path), "line": one.line, "message": one.message, "reason": reason}
            for one, reason in result.refuted
        ]
    if statistics:
        document["statistics"] = {"seconds": dict(result.statistics)}
    return document


def finding_to_dict(finding: Finding) -> dict[str, Any]:
    """One finding as plain data."""
    return {
        "code": finding.code,
        "rule": finding.rule,
        "path": shown_path(finding.path),
        "absolute_path": finding.path,
        "cell": finding.cell,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "message": finding.message,
        "advice": finding.advice,
        "kernel": finding.kernel,
        "fix": None if finding.fix is None else _fix(finding.fix),
        "declined": finding.declined,
        "cost": None if finding.cost is None else dataclasses.asdict(finding.cost),
        "data": dict(finding.data),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "summary": fix.summary,
        "files": [shown_path(path) for path in fix.edits],
        "edits": [
            {"path": shown_path(path), "codemod": edit.codemod, "arguments": dataclasses.asdict(edit)}
            for path, edits in fix.edits.items()
            for edit in edits
        ],
        "renames": [dataclasses.asdict(rename) for rename in fix.renames],
        "options": sorted(fix.options),
        "proved": fix.proved,
        "unproved": fix.unproved,
    }
