"""The registry, suppressions, selection, the join with a profile, and that no source makes a rule raise."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scan_support import findings_of, index_of, write_files

import warpfix.rules
from warpfix.config import Config
from warpfix.errors import WarpfixError
from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex, build_index
from warpfix.index.model import FileIndex
from warpfix.measure.profile import (
    BuiltKernel,
    Cause,
    KernelDef,
    LaunchLog,
    Load,
    OptionWrite,
    ProcessRun,
    Profile,
    Run,
    SourceLine,
)
from warpfix.project import discover
from warpfix.rules import Context, Rule, all_rules, find_rule, run_rules, selected_rules

LATE = """\
import warp as wp

@wp.kernel
def k(v: int):
    pass

def main():
    wp.launch(k, dim=1)
    wp.set_module_options({"enable_backward": False})MARK
"""


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def test_rules_are_complete_and_unique() -> None:
    rules = all_rules()
    assert len({rule.code for rule in rules}) == len({rule.slug for rule in rules}) == len(rules)
    for rule in rules:
        assert re.fullmatch(r"WF\d{3}", rule.code) and re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.slug)
        assert all((rule.summary, rule.why, rule.bad, rule.good, rule.limits, rule.fix_safety, rule.since))
        ast.parse(rule.bad)
        ast.parse(rule.good)


@pytest.mark.parametrize("name", ["WF202", "wf202", "late-module-options"])
def test_a_rule_is_found_by_code_and_slug(name: str) -> None:
    assert find_rule(name).code == "WF202"


@pytest.mark.parametrize(
    "config", [Config(select=("WF9",)), Config(ignore=("nothing",)), Config(per_file_ignores={"*": ("x",)})]
)
def test_an_unknown_rule_is_an_error(config: Config) -> None:
    with pytest.raises(WarpfixError, match="no rule is called"):
        selected_rules(config)


def test_selection_by_prefix_slug_and_ignore() -> None:
    assert {rule.code for rule in selected_rules(Config(select=("WF2",)))} == {"WF201", "WF202", "WF203", "WF204"}
    assert {rule.code for rule in selected_rules(Config(select=("late-config",)))} == {"WF201"}
    assert "WF202" not in {rule.code for rule in selected_rules(Config(ignore=("WF2",)))}


SUPPRESSED = [
    pytest.param("  # warpfix: ignore[WF202] measured, it is worth it", id="by code"),
    pytest.param("  # warpfix: ignore[late-module-options]", id="by slug"),
    pytest.param("  # warpfix:ignore[WF201, WF202]", id="one of two"),
    pytest.param("  # noqa  # warpfix: ignore[WF2] all of them", id="by prefix, behind another comment"),
]


@pytest.mark.parametrize("comment", SUPPRESSED)
def test_suppressed(tmp_path: Path, comment: str) -> None:
    findings = findings_of(tmp_path, {"app.py": LATE.replace("MARK", comment)}, select=("WF202",))
    assert findings == []


def test_suppressed_from_the_line_above(tmp_path: Path) -> None:
    source = LATE.replace("MARK", "").replace("    wp.set_", "    # warpfix: ignore[WF202] why\n    wp.set_")
    assert findings_of(tmp_path, {"app.py": source}) == []


NOT_SUPPRESSED = [
    pytest.param("  # warpfix: ignore[WF201] another rule", ["WF202", "WF001"], id="another rule"),
    pytest.param("  # warpfix: ignore", ["WF202", "WF001"], id="no rule named"),
    pytest.param("  # ignore[WF202]", ["WF202"], id="another tool"),
    pytest.param("\n    x = '# warpfix: ignore[WF202]'", ["WF202"], id="in a string"),
]


@pytest.mark.parametrize(("comment", "expected"), NOT_SUPPRESSED)
def test_not_suppressed(tmp_path: Path, comment: str, expected: list[str]) -> None:
    assert codes(findings_of(tmp_path, {"app.py": LATE.replace("MARK", comment)})) == expected


def test_a_suppression_of_a_rule_that_did_not_run_is_not_unused(tmp_path: Path) -> None:
    source = "import warp as wp\nx = 1  # warpfix: ignore[WF201] why\n"
    assert codes(findings_of(tmp_path, {"app.py": source})) == ["WF001"]
    assert findings_of(tmp_path, {"app.py": source}, ignore=("WF201",)) == []


@pytest.mark.parametrize("name", ["WF803", "precompiled-header", "WF601", "WF6", "ALL"])
def test_a_suppression_that_a_profile_may_need_is_not_unused(tmp_path: Path, name: str) -> None:
    assert findings_of(tmp_path, {"app.py": f"import warp as wp\nx = 1  # warpfix: ignore[{name}] why\n"}) == []


def test_per_file_ignores(tmp_path: Path) -> None:
    sources = {
        "pyproject.toml": '[tool.warpfix.per-file-ignores]\n"old/*" = ["WF202"]\n',
        "old/a.py": LATE.replace("MARK", ""),
        "b.py": LATE.replace("MARK", ""),
    }
    assert [Path(finding.path).name for finding in findings_of(tmp_path, sources)] == ["b.py"]


def test_tests_and_vendored_files_are_left_out_by_default(tmp_path: Path) -> None:
    text = LATE.replace("MARK", "")
    sources = {
        "tests/test_a.py": text,
        "a_test.py": text,
        "vendor/b.py": text,
        "third_party/c.py": text,
        "app.py": text,
    }
    assert [Path(item.path).name for item in findings_of(tmp_path, sources)] == ["app.py"]
    with_tests = findings_of(tmp_path, sources, include_tests=True)
    assert [Path(item.path).name for item in with_tests] == ["a_test.py", "app.py", "test_a.py"]


def test_findings_of_installed_code_have_no_fix(tmp_path: Path) -> None:
    site = write_files(
        tmp_path / "lib" / "site-packages" / "pkg", {"__init__.py": "", "app.py": LATE.replace("MARK", "")}
    )
    (project,) = discover([site])
    findings, _ = run_rules(build_index(project), project.config)
    assert [(item.code, item.fix, "never edited" in (item.declined or "")) for item in findings] == [
        ("WF202", None, True)
    ]


def test_a_rule_that_raises_loses_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(index: ProjectIndex, file: FileIndex, context: Context) -> list[Finding]:
        if file.path.endswith("bad.py"):
            raise RuntimeError("no")
        return []

    broken = replace(find_rule("WF201"), code="WF998", slug="broken", check=check)
    rules: tuple[Rule, ...] = (broken, find_rule("WF202"))
    monkeypatch.setattr(warpfix.rules, "all_rules", lambda: rules)
    monkeypatch.delenv("WARPFIX_DEBUG", raising=False)
    index = index_of(tmp_path, {"bad.py": LATE.replace("MARK", ""), "good.py": LATE.replace("MARK", "")})
    findings, problems = run_rules(index, Config())
    assert codes(findings) == ["WF202", "WF202"]
    assert [(Path(item.path).name, "WF998" in item.message) for item in problems] == [("bad.py", True)]


def test_findings_are_sorted(tmp_path: Path) -> None:
    sources = {f"{name}.py": LATE.replace("MARK", "") for name in "cab"}
    findings = findings_of(tmp_path, sources)
    assert [Path(item.path).name for item in findings] == ["a.py", "b.py", "c.py"]


# ---- with a profile


def profile_of(app: Path, *, effect: str = "rebuilt", cause_line: int = 9, ran: bool = True) -> Profile:
    kernel = BuiltKernel(KernelDef("k", "k", str(app), 4))

    def load(number: int, line: int) -> Load:
        cause = Cause("option" if number else "first-load", "", SourceLine(str(app), line))
        return Load(
            number,
            "app",
            f"h{number}",
            "cpu",
            "cpu",
            1,
            "compiled",
            0.0,
            1500.0,
            {},
            1,
            (kernel,),
            {},
            10,
            0,
            cause,
            None,
        )

    writes = (
        OptionWrite("set_module_options", "app", "enable_backward", True, False, SourceLine(str(app), 9), 1.0, effect),
    )
    process = ProcessRun(
        1,
        0,
        (),
        "3",
        "1.19",
        0.0,
        True,
        None,
        1.0,
        (load(0, 8), load(1, cause_line)) if ran else (),
        LaunchLog(0, (), {}, ()),
        writes if ran else (),
    )
    return Profile(("x",), ".", "native", (Run("cold", 0, 1.0, "", "", (process,)),))


def with_profile(tmp_path: Path, **options: object) -> list[Finding]:
    index = index_of(tmp_path, {"app.py": LATE.replace("MARK", "")})
    findings, _ = run_rules(index, Config(select=("WF202",)), profile_of(tmp_path / "app.py", **options))  # type: ignore[arg-type]
    return findings


def test_a_finding_carries_its_cost(tmp_path: Path) -> None:
    (finding,) = with_profile(tmp_path)
    assert finding.cost is not None
    assert (finding.cost.builds, finding.cost.milliseconds, finding.cost.ran) == (1, 1500.0, True)


def test_code_that_never_ran_is_marked(tmp_path: Path) -> None:
    (finding,) = with_profile(tmp_path, ran=False)
    assert finding.cost is not None and not finding.cost.ran


@pytest.mark.parametrize("effect", ["before-load", "same-value"])
def test_what_the_run_refutes_is_left_out(tmp_path: Path, effect: str) -> None:
    assert with_profile(tmp_path, effect=effect) == []


@pytest.mark.parametrize(("missed", "kept"), [(("kernels",), 1), (("warp.utils",), 0), ((), 0)])
def test_a_write_that_reached_some_modules_is_late_for_those_that_it_missed(
    tmp_path: Path, missed: tuple[str, ...], kept: int
) -> None:
    app = "import warp as wp\nimport kernels\nwp.config.enable_backward = False\nwp.launch(kernels.k, dim=1)\n"
    kernels = "import warp as wp\n@wp.kernel\ndef k():\n    pass\n"
    index = index_of(tmp_path, {"app.py": app, "kernels.py": kernels})
    profile = profile_of(tmp_path / "app.py")
    (run,) = profile.runs
    (process,) = run.processes
    line = SourceLine(str(tmp_path / "app.py"), 3)
    write = OptionWrite("config", None, "enable_backward", True, False, line, 1.0, "before-load", missed)
    process = replace(process, option_writes=(write,))
    findings, _ = run_rules(
        index, Config(select=("WF201",)), replace(profile, runs=(replace(run, processes=(process,)),))
    )
    assert len(findings) == kept


# ---- no source makes a rule raise

_NAMES = st.sampled_from(["wp", "warp", "k", "f", "make", "x", "options", "config", "launch", "kernel"])
_PIECES = st.sampled_from(
    [
        "import warp as wp", "from warp import *", "from warp import kernel as k", "import warp.config as config", "from . import x",
        "from .. import *", "wp = None", "del wp", "global wp", "nonlocal x", "@wp.kernel", "@wp.kernel(module='unique')",
        "@wp.kernel(**x)", "def f(wp=wp, *k, **x):", "class make(wp.x):", "async def k():", "for wp in x:", "with wp.x() as k:", "if x:",
        "else:", "elif wp:", "try:", "except wp as k:", "finally:", "while wp:", "match wp:", "case {'x': wp, **k}:", "lambda wp: wp.kernel(f)",
        "return k", "yield wp", "wp.launch(k, dim=1)", "wp.launch(*x, **k)", "wp.launch()", "wp.set_module_options({'x': 1})",
        "wp.set_module_options(*x)", "wp.set_module_options()", "wp.config.enable_backward = False", "wp.config.enable_backward, x = 1, 2",
        "wp.get_module('x').options['fast_math'] = x", "wp.get_module().options.update(**x)", "k.module.options[x] = 1", "setattr(wp.config, x)",
        "setattr(wp.config, 'mode', 1)", "k = wp.kernel(f)", "x = wp.kernel(*x)", "wp.kernel()(f)", "wp.Kernel()", "[wp := k for x in wp]",
        "(wp := wp)", "f = make", "make = f", "wp.config.mode: str = 'x'", "wp.config.max_unroll += 1", "x = y = wp.config", "wp.force_load(**x)",
        "wp.clear_kernel_cache()", "wp.map(lambda a: a, x)", "wp.overload(k, x)", "@wp.overload", "for i in range(12):", "for x, wp in ((1, 2), x):",
        "wp.config.kernel_cache_dir = x", "wp.config.verbose = True", "os.environ['WARP_CACHE_PATH'] = x", "wp.force_load(x, block_dim=4)",
        "wp.launch(make(x), dim=1, inputs=[x], block_dim=4)", "wp.launch(f(), *x, block_dim=x)", "@wp.kernel(enable_backward=False)", "wp.tile_matmul(x)",
        "def k(x: Any, y: wp.array(dtype=Any)):",
        "# warpfix: ignore[WF201", "'''", "x = 1; wp.launch(k, dim=1)", "if __name__ == '__main__':", "f()", "make(f)(k)(x)", "pass", "...",
    ]
)  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> str:
    text = "import warp as wp\n"
    depth = 0
    for piece in draw(st.lists(_PIECES, min_size=1, max_size=20)):
        indent = "    " * depth
        if piece.startswith("@"):
            piece += f"\n{indent}def {draw(_NAMES)}({draw(_NAMES)}=1):"
        longer = f"{text}{indent}{piece}\n"
        opens = piece.endswith(":")
        try:
            ast.parse(longer + ("    " * (depth + 1) + "pass\n" if opens else ""))
        except SyntaxError:
            continue  # this piece does not fit here
        text = longer
        if opens:
            depth += 1
        elif depth and draw(st.booleans()):
            depth -= 1
    return text + "    " * depth + "pass\n"


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(source=programs(), other=programs())
def test_no_source_makes_a_rule_raise(tmp_path: Path, source: str, other: str) -> None:
    sources = {"app.py": source, "lib.py": other, "pyproject.toml": "[tool.warpfix]\ninclude-tests = true\n"}
    project = discover([write_files(tmp_path, sources)])[0]
    run_rules(build_index(project), project.config)
