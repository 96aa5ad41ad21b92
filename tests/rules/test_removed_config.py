"""WF204: where the old flags are right, where they are dead, and what is written instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import apply_fix, findings_of

from warpfix.findings import Applicability, Finding

HEAD = "import warp as wp\n\n"
MAIN = "\nif __name__ == '__main__':\n    wp.init()\n"


def found(tmp_path: Path, source: str, warp_min: str = "1.19") -> list[Finding]:
    return findings_of(tmp_path, {"app.py": HEAD + source + MAIN}, select=("WF204",), warp_min=warp_min)


SILENT = [
    pytest.param("wp.config.verbose_warnings = True\n", id="another setting"),
    pytest.param("wp.config.log_level = wp.LOG_DEBUG\n", id="the new one"),
    pytest.param("if hasattr(wp.config, 'verbose'):\n    wp.config.verbose = True\n", id="looks first"),
    pytest.param(
        "if hasattr(wp.config, 'log_level'):\n    pass\nelse:\n    wp.config.quiet = True\n", id="the old way"
    ),
    pytest.param("try:\n    wp.config.log_level = 1\nexcept AttributeError:\n    wp.config.quiet = True\n", id="tries"),
    pytest.param("if wp.__version__ < '1.14':\n    wp.config.quiet = True\n", id="looks at the version"),
    pytest.param("args.verbose = True\n", id="something else's verbose"),
    pytest.param("config.quiet = True\n", id="another config"),
    pytest.param("print(getattr(wp.config, 'verbose', False))\n", id="a careful read"),
    pytest.param("if args.verbose:\n    pass\n", id="a flag of the program"),
    pytest.param("wp.config.verbose_level = 2\n", id="a longer name"),
    pytest.param("def f(wp):\n    wp.config.verbose = True\n", id="a parameter called wp"),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


@pytest.mark.parametrize("warp_min", ["1.7", "1.12.1", "1.13.0"])
def test_before_log_level_the_flags_are_right(tmp_path: Path, warp_min: str) -> None:
    assert found(tmp_path, "wp.config.verbose = True\n", warp_min) == []


FIXED = [
    pytest.param("wp.config.verbose = True\n", "wp.config.log_level = wp.LOG_DEBUG\n", id="verbose"),
    pytest.param("wp.config.quiet = True  # sh\n", "wp.config.log_level = wp.LOG_WARNING  # sh\n", id="quiet"),
    pytest.param("wp.config.quiet = False\nx = 1\n", "x = 1\n", id="the default is removed"),
    pytest.param(
        "if x:\n    wp.config.verbose = True\n", "if x:\n    wp.config.log_level = wp.LOG_DEBUG\n", id="block"
    ),
    pytest.param("if x:\n    wp.config.verbose = False\n", "if x:\n    pass\n", id="alone in a block"),
    pytest.param(
        "from warp import config\nconfig.quiet = True\n",
        "from warp import config\nconfig.log_level = wp.LOG_WARNING\n",
        id="an alias of config",
    ),
]


@pytest.mark.parametrize(("source", "expected"), FIXED)
def test_fixed(tmp_path: Path, source: str, expected: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is not None and finding.fix.applicability is Applicability.SAFE
    (text,) = apply_fix(finding).values()
    assert text == HEAD + expected + MAIN
    assert found(tmp_path / "again", text.removeprefix(HEAD).removesuffix(MAIN)) == []


DECLINED = [
    pytest.param("wp.config.verbose = DEBUG\n", "computed", id="a computed value"),
    pytest.param("wp.config.verbose = True; x = 1\n", "shares a line", id="two on a line"),
    pytest.param("wp.config.verbose = True\nwp.config.log_level = 10\n", "log_level", id="both ways"),
    pytest.param("def f(on):\n    wp.config.quiet = False\n", "switched on and off", id="off in a function"),
    pytest.param("a = wp.config.verbose = True\n", "plain assignment", id="a chain"),
]


@pytest.mark.parametrize(("source", "reason"), DECLINED)
def test_declined(tmp_path: Path, source: str, reason: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is None and reason in (finding.declined or "")


def test_both_flags_can_not_be_one_level(tmp_path: Path) -> None:
    findings = found(tmp_path, "wp.config.verbose = True\nwp.config.quiet = True\n")
    assert [item.fix for item in findings] == [None, None]


def test_deprecated_before_it_was_removed(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "wp.config.verbose = True\n", "1.15")
    assert "deprecated" in finding.message and finding.fix is not None


def test_in_a_library_others_would_see_it(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "[project]\nname='lib'\n",
        "lib/__init__.py": "import warp as wp\nwp.config.verbose = True\n",
    }
    (finding,) = findings_of(tmp_path, files, select=("WF204",), warp_min="1.19")
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK


def test_a_read_of_what_is_gone(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "if wp.config.verbose:\n    print(1)\n")
    assert "AttributeError" in finding.message and finding.fix is None
    assert found(tmp_path / "old", "if wp.config.verbose:\n    print(1)\n", "1.15") == []
