"""The documentation as a site: complete, true to the code, and built without a warning where mkdocs is there."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from warpfix import config, rules
from warpfix.cli import demo

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation_and_the_index() -> None:
    navigation = set(
        re.findall(r": ([\w/-]+\.md)$", (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    )
    pages = {path.name for path in DOCS.glob("*.md")}
    assert {name for name in navigation if "/" not in name} == pages
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", text("README.md")))
    assert linked == pages - {"README.md"}


def test_the_reference_is_complete(generate: ModuleType) -> None:
    page = generate.rules_page()
    for rule in rules.all_rules():
        assert f"## {rule.code} {rule.slug}\n" in page
        assert all(part.strip() in page for part in (rule.summary, rule.why, rule.bad, rule.good, rule.limits))
    page = generate.commands_page()
    for name, command in generate.commands().items():
        assert f"## {name}\n" in page
        for option in (parameter for parameter in command.params if isinstance(parameter, click.Option)):
            assert option.opts[-1] in page
    assert len(generate.commands()) > len(generate.cli.commands) + 1
    page = generate.configuration_page()
    assert all(f"| `{key}` | " in page for key in config.KEYS)
    # A key whose field says nothing would raise.
    assert len(re.findall(r"^\| `[a-z-]+` \| \S", page, re.MULTILINE)) == len(config.KEYS)


def test_every_json_document_is_told(generate: ModuleType) -> None:
    writers = set()
    for name, command in generate.commands().items():
        for parameter in command.params:
            if isinstance(parameter.type, click.Choice) and "json" in parameter.type.choices:
                writers.add(name)
    assert writers == set(re.findall(r"^\| `(warpfix [a-z -]+?)(?: --verify)?` \|", text("json.md"), re.MULTILINE))


def test_the_coverage_table_names_what_there_is() -> None:
    table = text("mechanisms.md").split("## Coverage", 1)[1]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 20 and all(row.count("|") == 7 for row in rows)
    for row in rows:
        *_, samples, tests = (cell.strip() for cell in row.strip("| ").split("|"))
        assert samples.startswith("none") or set(re.findall(r"`([^`]+)`", samples)) <= set(demo.SAMPLES), row
        files = re.findall(r"`(tests/[^`]+)`", tests)
        assert files and all((CHECKOUT / file).is_file() for file in files), row
    assert {rule.code for rule in rules.all_rules()} - {"WF001"} == set(re.findall(r"WF\d{3}", table))
    assert set(demo.SAMPLES) <= set(re.findall(r"`(\w+)`", table))


def test_every_cause_is_in_the_coverage_table() -> None:
    kinds = set(
        re.findall(
            r"^\| `([a-z-]+)` \| (?!it was|modules|it reached|the option|Warp has|a setting)",
            text("causes.md"),
            re.MULTILINE,
        )
    )
    # What is no fault, or not known.
    kinds -= {"first-load", "inherited", "unknown", "cache-lost"}
    assert len(kinds) > 10
    assert kinds <= set(re.findall(r"`([a-z-]+)`", text("mechanisms.md").split("## Coverage", 1)[1]))


def test_mkdocs_builds_without_a_warning(tmp_path: Path) -> None:
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("material") is None:
        pytest.skip("the dependency group docs is not installed; .ci/run builds the site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    result = subprocess.run(build, cwd=CHECKOUT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    fetched = []
    for page in (tmp_path / "site").rglob("*.html"):
        found = re.findall(
            r"<(?:link|script|img)\b[^>]*(?:href|src)=\"?(https?:[^\s\">]+)", page.read_text(encoding="utf-8")
        )
        fetched += [(page.name, url) for url in found]
    assert fetched == []
