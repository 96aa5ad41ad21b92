"""The rules: each a module of this package with an object ``RULE``; found by looking, run over an index.

To add one: a module ``warpfix/rules/<slug with underscores>.py`` that binds ``RULE = Rule(...)``, a test module of the
same name, and a sample project. Nothing is registered by hand.
"""

from __future__ import annotations

import importlib
import io
import pkgutil
import re
import time
import tokenize
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypedDict

from warpfix.config import Config
from warpfix.errors import WarpfixError
from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex
from warpfix.index.model import FileIndex, Problem, Role
from warpfix.index.notebook import SUFFIX
from warpfix.measure.profile import Profile
from warpfix.project import Project


@dataclass
class Context:
    """What a rule may know beside the index. One for each run; ``cache`` is for what rules share between files."""

    config: Config
    profile: Profile | None = None
    cache: dict[str, Any] = field(default_factory=dict)


Check = Callable[[ProjectIndex, FileIndex, Context], Iterable[Finding]]


@dataclass(frozen=True)
class Rule:
    """A rule and its page of documentation. Text is plain, complete in itself; ``bad`` and ``good`` are code."""

    code: str
    slug: str
    summary: str
    why: str
    bad: str
    good: str
    limits: str
    """What the rule does not see, and when it is silent on purpose."""
    fix_safety: str
    """Which fix is offered, with which applicability, and what was proved for it."""
    since: str
    check: Check
    more_with_profile: bool = False
    """Whether it finds more with a profile: a suppression that source alone leaves unused may have its use."""


def _check_nothing(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    return ()


UNUSED_SUPPRESSION = Rule(
    code="WF001",
    slug="unused-suppression",
    summary="A `# warpfix: ignore[...]` comment suppresses nothing.",
    why="A suppression that has outlived its finding hides the next one on that line, which may be a real one.",
    bad="import warp as wp  # warpfix: ignore[WF201] no finding here\n",
    good="import warp as wp\n",
    limits=(
        "Judged only for rules that ran with all that they need: a suppression of a rule that was left out with "
        "--ignore, or that finds more with a profile, is not reported."
    ),
    fix_safety="No fix: remove the comment, or the rule from its list.",
    since="0.1.0",
    check=_check_nothing,
)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, ordered by code."""
    found = [UNUSED_SUPPRESSION]
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        rule = getattr(module, "RULE", None)
        if isinstance(rule, Rule):
            found.append(rule)
    return tuple(sorted(found, key=lambda rule: rule.code))


def find_rule(name: str) -> Rule:
    """The rule with this code or slug.

    Raises:
        WarpfixError: there is none.
    """
    for rule in all_rules():
        if name.lower() in (rule.code.lower(), rule.slug):
            return rule
    raise WarpfixError(f"no rule is called {name!r}; `warpfix rules` lists them")


def selects(names: Iterable[str], rule: Rule) -> bool:
    """Whether a list of codes, slugs or prefixes of codes (``WF2``) means the rule."""
    return any(_means(name, rule) for name in names)


def _means(name: str, rule: Rule) -> bool:
    upper = name.upper()
    return name.lower() == rule.slug or (upper.startswith("WF") and rule.code.startswith(upper)) or upper == "ALL"


def selected_rules(config: Config) -> list[Rule]:
    """The rules that a configuration asks for.

    Raises:
        WarpfixError: it names a rule that does not exist.
    """
    named = [*config.select, *config.ignore, *(rule for rules in config.per_file_ignores.values() for rule in rules)]
    for name in named:
        if not selects([name], UNUSED_SUPPRESSION) and not any(_means(name, rule) for rule in all_rules()):
            raise WarpfixError(f"no rule is called {name!r}; `warpfix rules` lists them")
    return [
        rule
        for rule in all_rules()
        if (not config.select or selects(config.select, rule)) and not selects(config.ignore, rule)
    ]


def is_reported(project: Project, config: Config, path: str, role: Role) -> bool:
    """Whether findings are reported for a file: asked for, not vendored, and no test unless wanted."""
    return path in project.targets and role is not Role.VENDORED and (role is not Role.TEST or config.include_tests)


def run_rules(
    index: ProjectIndex,
    config: Config,
    profile: Profile | None = None,
    timings: dict[str, float] | None = None,
    refuted: list[tuple[Finding, str]] | None = None,
) -> tuple[list[Finding], list[Problem]]:
    """Run the selected rules over the files that were asked for.

    Args:
        index: From ``build_index``.
        config: Which rules, where.
        profile: A measured command; findings then carry their cost, and what it refutes is left out.
        timings: Filled with seconds per rule code, if given.
        refuted: Filled with what the profile refutes, each with the reason in words, if given.

    Returns:
        Findings in order of path, line, column and code, and problems: those of the index, and one for each file on
        which a rule failed.

    Raises:
        WarpfixError: the configuration names a rule that does not exist.
    """
    rules = selected_rules(config)
    context = Context(config, profile)
    findings: list[Finding] = []
    problems = list(index.problems)
    for path, file in sorted(index.files.items()):
        if not is_reported(index.project, config, path, file.role):
            continue
        ignored = config.ignored_for(index.project.relative(file.path))
        here = [rule for rule in rules if not selects(ignored, rule)]
        found: list[Finding] = []
        for rule in here:
            started = time.perf_counter()
            try:
                found.extend(rule.check(index, file, context))
            except WarpfixError:
                raise
            except Exception as error:
                if _debug():
                    raise
                problems.append(
                    Problem(file.path, None, f"rule {rule.code} failed on this file: {type(error).__name__}: {error}")
                )
            if timings is not None:
                timings[rule.code] = timings.get(rule.code, 0.0) + time.perf_counter() - started
        findings.extend(_suppress(file, found, here, context))
    findings = [_not_in_notebooks(finding) for finding in findings]
    if not index.project.editable:
        findings = [_not_editable(finding) for finding in findings]
    if profile is not None:
        from warpfix.rules._profile import join_profile

        findings = join_profile(findings, profile, refuted)
    findings.sort(key=lambda item: (item.path, item.line, item.column, item.code, item.message))
    problems.extend(problem for problem in index.problems if problem not in problems)
    return findings, problems


def _debug() -> bool:
    import os

    return os.environ.get("WARPFIX_DEBUG") == "1"


def _not_editable(finding: Finding) -> Finding:
    if finding.fix is None:
        return finding
    return replace(finding, fix=None, declined="the file is installed, not part of a project: reported, never edited")


def _not_in_notebooks(finding: Finding) -> Finding:
    if finding.fix is None or not any(path.endswith(SUFFIX) for path in (finding.path, *finding.fix.edits)):
        return finding
    return replace(finding, fix=None, declined="notebooks are reported, never edited")


# ---- suppressions

_SUPPRESSION = re.compile(r"#\s*warpfix:\s*ignore(?:\[([^\]]*)\])?")


@dataclass
class _Suppression:
    line: int
    column: int
    end_column: int
    own_line: bool
    names: tuple[str, ...]
    bare: bool
    used: set[str] = field(default_factory=set)


def _suppressions(text: str) -> list[_Suppression]:
    """Suppressing comments; strings that merely contain one are not among them."""
    found: list[_Suppression] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and (match := _SUPPRESSION.search(token.string)):
                listed = match.group(1)
                found.append(
                    _Suppression(
                        line=token.start[0],
                        column=token.start[1] + 1,
                        end_column=token.end[1] + 1,
                        own_line=not token.line[: token.start[1]].strip(),
                        names=tuple(name.strip() for name in (listed or "").split(",") if name.strip()),
                        bare=listed is None,
                    )
                )
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return found


def _suppress(file: FileIndex, findings: list[Finding], rules: Sequence[Rule], context: Context) -> list[Finding]:
    if "warpfix:" not in file.text:
        return findings
    comments = _suppressions(file.text)
    if not comments:
        return findings
    kept: list[Finding] = []
    for finding in findings:
        rule = next((rule for rule in rules if rule.code == finding.code), None)
        hit = False
        for comment in comments:
            if rule is None or not _reaches(comment, finding, comments):
                continue
            for name in comment.names:
                if _means(name, rule):
                    comment.used.add(name)
                    hit = True
        if not hit:
            kept.append(finding)
    if any(rule.code == UNUSED_SUPPRESSION.code for rule in rules):
        can_say = [rule for rule in rules if not rule.more_with_profile or _looked(rule, context)]
        kept.extend(_unused(file, comments, can_say))
    return kept


def _looked(rule: Rule, context: Context) -> bool:
    """Whether a rule that finds more with a profile had all that it needs; some ask to be named besides."""
    return context.profile is not None and selects(context.config.select, rule)


def _reaches(comment: _Suppression, finding: Finding, comments: Sequence[_Suppression]) -> bool:
    """A comment at the end of a line of the finding, or on lines of its own directly above it."""
    if finding.line <= comment.line <= finding.end_line:
        return True
    if not comment.own_line or comment.line >= finding.line:
        return False
    above = {other.line for other in comments if other.own_line}
    return all(line in above for line in range(comment.line, finding.line))


def _unused(file: FileIndex, comments: Iterable[_Suppression], rules: Sequence[Rule]) -> Iterable[Finding]:
    for comment in comments:
        if comment.bare or not comment.names:
            message = "the suppression names no rule, so it suppresses nothing"
        else:
            unused = []
            for name in comment.names:
                # A name that means no rule is unused whatever ran.
                ran = all(rule in rules for rule in all_rules() if _means(name, rule))
                if name not in comment.used and ran:
                    unused.append(name)
            if not unused:
                continue
            message = f"the suppression of {', '.join(unused)} is not used: there is no such finding here"
        yield Finding(
            code=UNUSED_SUPPRESSION.code,
            rule=UNUSED_SUPPRESSION.slug,
            path=file.path,
            line=comment.line,
            column=comment.column,
            end_line=comment.line,
            end_column=comment.end_column,
            message=message,
            advice="remove the comment, or name the rule as in `# warpfix: ignore[WF101] reason`",
        )


class Position(TypedDict):
    """Where a finding is; lines and columns (in characters) count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int


def locate(file: FileIndex, node: Any) -> Position:
    """Position of an ``ast`` node as findings count it: lines and columns (in characters) from 1."""
    lines = _line_starts(file)

    def column(line: int, offset: int) -> int:
        start = lines[line - 1] if line <= len(lines) else len(file.text)
        end = lines[line] if line < len(lines) else len(file.text)
        text = file.text[start:end]
        if text.isascii():
            return offset + 1
        return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore")) + 1

    return {
        "line": node.lineno,
        "column": column(node.lineno, node.col_offset),
        "end_line": node.end_lineno or node.lineno,
        "end_column": column(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
    }


_LINE_END = re.compile(r"\r\n|\r|\n")
_STARTS: dict[int, tuple[str, list[int]]] = {}


def _line_starts(file: FileIndex) -> list[int]:
    known = _STARTS.get(id(file))
    if known is None or known[0] is not file.text:
        known = _STARTS[id(file)] = (file.text, [0, *(match.end() for match in _LINE_END.finditer(file.text))])
        if len(_STARTS) > 64:
            _STARTS.pop(next(iter(_STARTS)))
    return known[1]
