"""The findings that a project has accepted for now, in a file of its own: a scan then reports what is new.

A finding is known again by its rule, its file and its kernel (or its source line), not by its line number: what is
edited above it does not make it new.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from warpfix.errors import WarpfixError
from warpfix.findings import Finding

_SCHEMA, _VERSION = "warpfix-baseline", 1

Key = tuple[str, str, str, str]
"""Code of the rule, path relative to the project with forward slashes, ``kernel`` or ``line``, and which."""


def key_of(finding: Finding, text: str, base: str) -> Key:
    """What a finding is known by.

    Args:
        finding: The finding.
        text: The text of its file, in which its line is.
        base: The folder that paths are relative to.
    """
    path = Path(os.path.relpath(finding.path, base)).as_posix()
    if finding.kernel is not None:
        return finding.code, path, "kernel", finding.kernel
    lines = text.splitlines() if "\r" not in text else text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    line = lines[finding.line - 1] if finding.line <= len(lines) else ""
    return finding.code, path, "line", " ".join(line.split())


def read_baseline(path: str) -> Counter[Key]:
    """The known findings, each as often as it is listed.

    Raises:
        WarpfixError: the file is not there, or is no baseline.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["schema"] != _SCHEMA or document["version"] != _VERSION:
            raise ValueError(f"schema {document['schema']!r}, version {document['version']!r}")
        known: Counter[Key] = Counter()
        for item in document["findings"]:
            kind = "kernel" if "kernel" in item else "line"
            known[str(item["rule"]), str(item["path"]), kind, str(item[kind])] += int(item.get("count", 1))
        return known
    except FileNotFoundError as error:
        raise WarpfixError(f"there is no baseline {path}; --write-baseline makes one") from error
    except OSError as error:
        raise WarpfixError(f"{path}: can't be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WarpfixError(f"{path}: not a baseline of warpfix: {error}") from error


def write_baseline(path: str, known: Mapping[Key, int]) -> None:
    """Write the known findings, sorted, so that a change of them reads well as a diff.

    Raises:
        WarpfixError: it can't be written.
    """
    items = [
        {"rule": rule, "path": file, kind: what, **({"count": count} if count > 1 else {})}
        for (rule, file, kind, what), count in sorted(known.items())
        if count > 0
    ]
    document = {"schema": _SCHEMA, "version": _VERSION, "findings": items}
    try:
        Path(path).write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    except OSError as error:
        raise WarpfixError(f"can't write {path}: {error.strerror or error}") from error


def only_new(
    findings: Iterable[Finding], remaining: Counter[Key], texts: Mapping[str, str], base: str
) -> list[Finding]:
    """The findings that are not known; each known one is taken out of ``remaining``."""
    kept = []
    for finding in findings:
        key = key_of(finding, texts[finding.path], base)
        if remaining[key] > 0:
            remaining[key] -= 1
        else:
            kept.append(finding)
    return kept


def judged(remaining: Mapping[Key, int], base: str, scanned: Collection[str], rules: Collection[str]) -> list[Key]:
    """Of the entries that no finding has taken, those that the scan can speak of: it looked at the file, or it is gone.

    ``scanned`` holds the real paths that findings are reported for; ``rules`` the codes that ran.
    """
    return [
        key
        for key, count in sorted(remaining.items())
        if count > 0
        and key[0] in rules
        and ((path := os.path.normpath(os.path.join(base, key[1]))) in scanned or not os.path.exists(path))
    ]
