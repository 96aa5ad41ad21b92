"""What programs read of a scan: the JSON against the schema in the docs, SARIF against the standard, annotations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from profile_support import Built, Launched, profile
from sarif_shape import LOG
from scan_support import write_files

from warpfix.measure.report import write_report

RunCli = Callable[..., object]

SOURCE = """\
import warp as wp

def make(n):
    @wp.kernel
    def k(v: int):
        pass

    return k

def main():
    for i in range(9):
        wp.launch(make(3), dim=1)
    wp.set_module_options({"max_unrol": 1})
    wp.config.enable_backward = False
    wp.clear_kernel_cache()  # 100 % {gone}

main()
"""
CELL = "import warp as wp\n@wp.kernel\ndef k(v: int):\n    pass\nwp.launch(k, dim=1)\nwp.set_module_options({'max_unroll': 1})"
BOOK = json.dumps({"cells": [{"cell_type": "code", "source": CELL}], "metadata": {}, "nbformat": 4})


@pytest.fixture(scope="module")
def schema(checkout: Path) -> dict[str, Any]:
    text = (checkout / "docs/scan-json.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    document = json.loads(block)
    jsonschema.Draft202012Validator.check_schema(document)
    return document


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("formats")
    write_files(
        root, {"app.py": SOURCE, "sub dir/a:b,c%\n.py": SOURCE, "book.ipynb": BOOK, "bad.py": "import warp\nf(\n"}
    )
    kernel = "make.<locals>.k"
    loads = [Built("app", [kernel]), Built("app", [kernel])]
    write_report(profile(str(root / "app.py"), loads, [Launched(kernel)]), root / "before.json")
    (root / "known.json").write_text(
        json.dumps(
            {
                "schema": "warpfix-baseline",
                "version": 1,
                "findings": [{"rule": "WF401", "path": "app.py", "line": "gone"}],
            }
        )
    )
    return root


@pytest.mark.parametrize(
    "options",
    [[], ["--statistics", "--profile", "before.json"], ["--baseline", "known.json"], ["--select", "WF001"]],
    ids=lambda options: " ".join(options) or "plain",
)
def test_json_is_as_documented(run_cli: RunCli, project: Path, schema: dict[str, Any], options: list[str]) -> None:
    document = json.loads(run_cli("scan", "--format", "json", *options, cwd=project).stdout)
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
    assert document["problems"]
    found = document["findings"]
    if not options:
        # Each kind of value is there, so that the schema is tried by it.
        assert {finding["cell"] for finding in found} == {None, 1}
        assert {finding["fix"] is None for finding in found} == {True, False}
        assert {finding["kernel"] is None for finding in found} == {True, False}
    if "--profile" in options:
        assert any(finding["cost"] for finding in found) and document["statistics"]
    if "--baseline" in options:
        assert document["stale_baseline"] == [{"baseline": "known.json", "entry": "WF401 app.py: gone"}]


def test_the_schema_refuses_what_is_not_documented(run_cli: RunCli, project: Path, schema: dict[str, Any]) -> None:
    document = json.loads(run_cli("scan", "--format", "json", cwd=project).stdout)
    document["findings"][0]["colour"] = "red"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema, jsonschema.Draft202012Validator)


@pytest.mark.parametrize("options", [[], ["--profile", "before.json"]], ids=["plain", "profile"])
def test_sarif_is_of_the_standard(run_cli: RunCli, project: Path, options: list[str]) -> None:
    log = json.loads(run_cli("scan", "--format", "sarif", *options, cwd=project).stdout)
    jsonschema.validate(log, LOG, jsonschema.Draft202012Validator)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert len(run["results"]) > 3
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for location in result["locations"]:
            assert location["physicalLocation"]["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
            region = location["physicalLocation"].get("region")
            if region is None:
                assert location["logicalLocations"] == [{"name": "cell 1", "kind": "cell"}]
            else:
                start, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
                assert start < end
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert uris == {"app.py", "book.ipynb", "sub%20dir/a%3Ab%2Cc%25%0A.py"}
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False and len(invocation["toolExecutionNotifications"]) == 1


def test_github_annotations_are_escaped(run_cli: RunCli, project: Path) -> None:
    lines = run_cli("scan", "--format", "github", cwd=project).stdout.splitlines()
    command = re.compile(r"::(warning|error) ((?:\w+=[^:,\r\n]*)(?:,\w+=[^:,\r\n]*)*)::(.+)")
    files = set()
    for line in lines:
        match = command.fullmatch(line)
        assert match is not None, line
        properties = dict(pair.split("=", 1) for pair in match[2].split(","))
        assert re.fullmatch(r"(?:[^%]|%25|%0D|%0A|%3A|%2C)*", properties["file"])
        assert re.fullmatch(r"(?:[^%]|%25|%0D|%0A)*", match[3])
        files.add(properties["file"])
    assert files == {"app.py", "bad.py", "book.ipynb", "sub dir/a%3Ab%2Cc%25%0A.py"}
