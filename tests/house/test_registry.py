"""Every rule is complete: a code of its own, a page, tests, and a sample project where it has a fix."""

from __future__ import annotations

import ast
import pkgutil
import re
from pathlib import Path

import pytest

from warpfix import rules

CHECKOUT = Path(__file__).resolve().parents[2]
RULES = rules.all_rules()


def each_rule():
    return pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)


def test_codes_and_slugs_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.slug for rule in RULES}) == len(RULES)


def test_every_module_declares_a_rule() -> None:
    modules = {info.name for info in pkgutil.iter_modules(rules.__path__) if not info.name.startswith("_")}
    slugs = {rule.slug.replace("-", "_") for rule in RULES} - {"unused_suppression"}
    assert modules == slugs


@each_rule()
def test_its_page_is_complete(rule) -> None:
    assert re.fullmatch(r"WF\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.slug)
    for text in (rule.summary, rule.why, rule.limits, rule.fix_safety):
        assert text.strip() and text.rstrip().endswith((".", "`"))
    assert "\n" not in rule.summary.strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)


@each_rule()
def test_its_examples_are_python_and_differ(rule) -> None:
    for example in (rule.bad, rule.good):
        ast.parse(example)
    assert rule.bad != rule.good


@each_rule()
def test_it_has_tests_of_its_name(rule) -> None:
    if rule.slug == "unused-suppression":
        pytest.skip("part of the engine of the rules")
    assert (CHECKOUT / "tests" / "rules" / f"test_{rule.slug.replace('-', '_')}.py").is_file()


@each_rule()
def test_a_sample_shows_it_where_it_has_a_fix(rule) -> None:
    if rule.fix_safety.startswith("No fix"):
        pytest.skip("has no fix")
    shown = set()
    for expect in (CHECKOUT / "sample_projects").glob("*/EXPECT.md"):
        for line in re.findall(r"^Rules?: (.+)$", expect.read_text(encoding="utf-8"), re.MULTILINE):
            shown |= set(re.findall(r"WF\d{3}", line))
    assert rule.code in shown


@each_rule()
def test_the_readme_lists_it(rule) -> None:
    if rule.slug == "unused-suppression":
        pytest.skip("not about Warp")
    assert f"| {rule.code} `{rule.slug}` |" in (CHECKOUT / "README.md").read_text(encoding="utf-8")
