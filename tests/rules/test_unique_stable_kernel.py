"""WF301: ``module="unique"`` where it only costs; not where it is needed, alone, or not proved to be always the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import findings_of

from warpfix.findings import Applicability, Finding

IMPORT = "import warp as wp\n\n"
UNIQUE = '\n\n@wp.kernel(module="unique")\ndef NAME(a: wp.array(dtype=float)):\n    a[0] = 2.0\n'
PLAIN = "\n\n@wp.kernel\ndef plain(a: wp.array(dtype=float)):\n    a[0] = 1.0\n"


def unique(name: str = "one", value: str = "2.0") -> str:
    return UNIQUE.replace("NAME", name).replace("2.0", value)


def found(tmp_path: Path, source: str, **others: str) -> list[Finding]:
    files = {"app.py": IMPORT + source, **{f"{name}.py": text for name, text in others.items()}}
    return findings_of(tmp_path, files, select=("WF301",), warp_min="1.12")


SILENT = [
    pytest.param(PLAIN, id="no unique kernel"),
    pytest.param(unique(), id="the only kernel of its file"),
    pytest.param(
        PLAIN + unique().replace("dtype=float", "dtype=Any").replace("\n\n@", "\n\nfrom typing import Any\n\n@", 1),
        id="generic",
    ),
    pytest.param(
        PLAIN + unique().replace('"unique"', '"unique", module_options={"fast_math": True}'), id="options of its own"
    ),
    pytest.param(PLAIN + unique().replace('"unique"', '"mine"'), id="a named module"),
    pytest.param(
        "K = 1.0\n\n\ndef set_k(x):\n    global K\n    K = x\n" + PLAIN + unique(value="K"), id="reads what is rebound"
    ),
    pytest.param(
        "import functools\n\nplain_too = functools.partial(wp.kernel, enable_backward=False)\n"
        + (unique() + unique("two")).replace('@wp.kernel(module="unique")', "@plain_too"),
        id="a partial call that chooses no module",
    ),
    pytest.param(
        "import functools\n\n"
        + unique().replace('@wp.kernel(module="unique")', '@functools.partial(print, module="unique")'),
        id="a partial call of something else",
    ),
    pytest.param(
        PLAIN + "\n\ndef make(n):\n    @wp.kernel(module='unique')\n    def one(a: wp.array(dtype=float)):\n"
        "        a[0] = n\n\n    return one\n",
        id="a closure that varies",
    ),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


PARTIAL = 'import functools\n\nalone = functools.partial(wp.kernel, module="unique")\n'
DIRECT = '@functools.partial(wp.kernel, module="unique")'

FOUND = [
    pytest.param(
        PARTIAL + (unique() + unique("two")).replace('@wp.kernel(module="unique")', "@alone"),
        ["one", "two"],
        False,
        id="kernels that a partial call of the decorator puts into modules of their own",
    ),
    pytest.param(
        PARTIAL + (unique() + unique("two")).replace('@wp.kernel(module="unique")', DIRECT),
        ["one", "two"],
        False,
        id="the partial call in the place of the decorator",
    ),
    pytest.param(
        PLAIN + unique().replace(")\ndef", ", cluster_dim=2)\ndef") + unique("two"),
        ["one", "two"],
        None,
        id="an option that not every GPU has",
    ),
    pytest.param(PLAIN + unique(), ["one"], True, id="beside a plain one"),
    pytest.param(unique() + unique("two", "3.0"), ["one", "two"], True, id="two of them"),
    pytest.param(PLAIN + unique() + "\nprint(one.key)\n", [], True, id="one whose identity is read, alone"),
    pytest.param(
        "wp.set_module_options({'fast_math': True})\n" + unique() + unique("two", "3.0"),
        ["one", "two"],
        True,
        id="options that would reach it",
    ),
]


@pytest.mark.parametrize(("source", "kernels", "fixed"), FOUND)
def test_found(tmp_path: Path, source: str, kernels: list[str], fixed: bool | None) -> None:
    findings = found(tmp_path, source)
    assert [finding.kernel for finding in findings] == kernels
    for finding in findings:
        assert (finding.fix is not None) is (finding.kernel == "two" if fixed is None else fixed)
        assert finding.fix is None or finding.fix.applicability is Applicability.MEASURED


def test_options_set_for_the_file_reach_nothing_new(tmp_path: Path) -> None:
    options = "wp.set_module_options({'fast_math': True})\n"
    (finding, _) = found(tmp_path, options + unique() + unique("two", "3.0"))
    assert finding.data["landing"] == "app.stable"
    (finding, _) = found(tmp_path, unique() + unique("two", "3.0"))
    assert finding.data["default_module"] is True


def test_a_closure_that_can_be_hoisted_is_the_other_rules(tmp_path: Path) -> None:
    body = "\n\ndef run():\n    @wp.kernel(module='unique')\n    def one(a: wp.array(dtype=float)):\n        a[0] = 2.0\n\n    return one\n"
    files = {"app.py": IMPORT + PLAIN + body}
    both = findings_of(tmp_path / "a", files, select=("WF101", "WF301"), warp_min="1.12")
    assert [finding.code for finding in both] == ["WF101"]
    (alone,) = findings_of(tmp_path / "b", files, select=("WF301",), warp_min="1.12")
    assert (alone.code, alone.kernel) == ("WF301", "run.<locals>.one")


OPTIONS = "wp.set_module_options({'enable_backward': False})\n"


def test_options_of_the_file_pass_it_by(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, OPTIONS + PLAIN + unique())
    assert (finding.kernel, finding.fix) == ("one", None)
    assert "`enable_backward=False` of line 3 does not reach it there" in finding.message
    assert finding.declined is not None
    assert 'drop `module="unique"`' in finding.advice


def test_options_of_a_module_that_can_not_be_read(tmp_path: Path) -> None:
    other = IMPORT + "\n\ndef lean(module):\n    module.options['enable_backward'] = False\n"
    other += "\n\ndef use(m):\n    wp.set_module_options({'fast_math': True}, module=m)\n"
    (finding,) = found(tmp_path, PLAIN + unique(), other=other)
    assert finding.fix is None
    assert "other.py:" in str(finding.declined)


OWN = unique().replace('"unique"', '"unique", enable_backward=False')
GENERIC = "\n\n@wp.kernel\ndef any_type(a: wp.array(dtype=Any)):\n    a[0] = a[0]\n"


def test_what_the_kernel_says_itself_does_not_pass_it_by(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, OPTIONS + PLAIN + OWN)
    assert "does not reach" not in finding.message


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(OPTIONS + unique(), id="no other kernel"),
        pytest.param("from typing import Any\n" + OPTIONS + PLAIN + GENERIC + unique(), id="the others churn"),
        pytest.param(
            OPTIONS + PLAIN + unique().replace("@wp", "# needs its adjoint, unlike the module\n@wp"), id="said why"
        ),
        pytest.param(
            OPTIONS + PLAIN + unique() + "\n\ndef run(a):\n    wp.launch(one, dim=1, inputs=[a], block_dim=64)\n",
            id="another block dim",
        ),
        pytest.param(OPTIONS + PLAIN + unique().replace(")\ndef", ", module_options={})\ndef"), id="module_options"),
    ],
)
def test_passed_by_on_purpose(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


def test_made_under_options_that_are_set_for_a_while(tmp_path: Path) -> None:
    """Sharing a module, it would be built with other options than it is made under."""
    quiet = (
        "import contextlib\n\n@contextlib.contextmanager\ndef no_adjoint():\n    wp.config.enable_backward = False\n"
        "    try:\n        yield\n    finally:\n        wp.config.enable_backward = True\n\n"
    )
    kernel = (
        "def run(a):\n    with no_adjoint():\n        @wp.kernel(module='unique')\n"
        "        def one(a: wp.array(dtype=float)):\n            a[0] = 1.0\n        wp.launch(one, dim=1, inputs=[a])\n"
    )
    assert found(tmp_path / "set", quiet + kernel) == []
    (finding,) = found(tmp_path / "timer", quiet + kernel.replace("no_adjoint()", "wp.ScopedTimer('x')"))
    assert finding.declined is not None and "inside a `with`" in finding.declined
