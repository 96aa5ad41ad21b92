"""The Warp module that a kernel lands in, and kernels that leave a module of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import Edited, check_transformed, dedent, edit, make_project


def edit_all(root: Path, **options: object) -> Edited:
    """Edit with all rules named: these files are nobody's application, so that most fixes are ``ask``."""
    return edit(root, **{"select": ["ALL"], **options})  # type: ignore[arg-type]


FACTORY = """
import warp as wp


def make(module="unique"):
    @wp.kernel(module=module)
    def scale(a: wp.array(dtype=float)):
        a[0] = 1.0

    return scale


def more(module="unique"):
    @wp.kernel(module=module)
    def shift(a: wp.array(dtype=float)):
        a[0] = 2.0

    return shift
"""


def test_factory_parameter_keeps_its_meaning(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p", {"mod.py": FACTORY})
    check_transformed(
        root,
        {
            "mod.py": """
            import warp as wp


            @wp.kernel
            def scale(a: wp.array(dtype=float)):
                a[0] = 1.0


            def make(module="unique"):
                if module == "unique":
                    return scale
                return wp.kernel(scale.func, module=module)


            @wp.kernel
            def shift(a: wp.array(dtype=float)):
                a[0] = 2.0


            def more(module="unique"):
                if module == "unique":
                    return shift
                return wp.kernel(shift.func, module=module)
            """
        },
        select=["ALL"],
    )


def test_options_and_names_are_repeated(tmp_path: Path) -> None:
    text = FACTORY.replace("module=module)", "module=module, enable_backward=False)", 1).replace("scale", "make_it")
    root = make_project(tmp_path / "p", {"mod.py": text + "\n\nmake_it = make\n"})
    result = edit_all(root).texts["mod.py"]
    assert "@wp.kernel(enable_backward=False)\ndef make_make_it(" in result
    assert "    return wp.kernel(make_make_it.func, module=module, enable_backward=False)\n" in result
    assert '    if module == "unique":\n        return make_make_it\n' in result


def test_default_none_is_the_file_s_own_module(tmp_path: Path) -> None:
    text = FACTORY.replace('module="unique"', "module=None", 1) + "\n\n@wp.kernel\ndef other(): ...\n"
    root = make_project(tmp_path / "p", {"mod.py": text})
    result = edit_all(root).texts["mod.py"]
    assert "    if module is None:\n        return scale\n    return wp.kernel(scale.func, module=module)\n" in result


@pytest.mark.parametrize(
    "option",
    [
        'def late():\n    wp.set_module_options({"fast_math": True})\n',
        'import mod\nwp.set_module_options({"fast_math": True}, module=mod)\n',
        'wp.get_module("mod").options["fast_math"] = True\n',
        'wp.get_module(__name__).options.update({"fast_math": True})\n',
    ],
)
def test_named_module_where_options_reach_the_file(tmp_path: Path, option: str) -> None:
    own = "__name__" in option or "late" in option
    files = {
        "mod.py": FACTORY + ("\n\n" + option if own else ""),
        "app.py": "import warp as wp\n" + ("" if own else option),
    }
    root = make_project(tmp_path / "p", files)
    result = edit_all(root).texts["mod.py"]
    assert '@wp.kernel(module="mod.stable")\ndef scale(' in result
    assert "return wp.kernel(scale.func, module=module)" in result


def test_named_module_where_the_file_s_own_churns(tmp_path: Path) -> None:
    text = FACTORY + dedent(
        """


        def special(factor):
            @wp.kernel
            def scaled(a: wp.array(dtype=float)):
                a[0] = factor

            return scaled
        """
    )
    root = make_project(tmp_path / "p", {"mod.py": text})
    assert '@wp.kernel(module="mod.stable")' in edit_all(root).texts["mod.py"]


def test_named_module_needs_warp_1_10(tmp_path: Path) -> None:
    text = FACTORY + '\n\ndef late():\n    wp.set_module_options({"fast_math": True})\n'
    root = make_project(tmp_path / "p", {"mod.py": text}, warp=">=1.7")
    result = edit_all(root)
    assert result.texts == {}
    assert "needs Warp 1.10" in (result.verdicts[0].declined or "")
    assert edit_all(root, warp_min="1.10").texts != {}


def test_one_named_module_for_a_file(tmp_path: Path) -> None:
    option = '\n\ndef late():\n    wp.set_module_options({"fast_math": True})\n'
    root = make_project(tmp_path / "p", {"pkg/__init__.py": "", "pkg/mod.py": FACTORY + option})
    assert edit_all(root).texts["pkg/mod.py"].count('@wp.kernel(module="pkg.mod.stable")') == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    kernels = [scale]\n    return kernels[0]\n", "does more with `scale` than return it"),
        ('    module = "unique"\n    return scale\n', ""),
    ],
)
def test_factory_that_does_more(tmp_path: Path, body: str, reason: str) -> None:
    root = make_project(tmp_path / "p", {"mod.py": FACTORY.replace("    return scale\n", body)})
    result = edit_all(root)
    assert 'def make(module="unique"):\n    @wp.kernel(module=module)' in result.texts.get(
        "mod.py", dedent(FACTORY)
    ).replace("\n\n\n\n", "\n")
    assert reason in (result.verdicts[0].declined or "")


def test_every_caller_names_a_module(tmp_path: Path) -> None:
    text = FACTORY.replace("def more", "def _more") + '\n\ndef use():\n    return make(module="mine"), make("other")\n'
    text = text[: text.index("def _more")] + text[text.index("def use") :]
    result = edit_all(make_project(tmp_path / "p", {"mod.py": text}))
    assert (result.texts, result.findings) == ({}, ())
    one = edit_all(
        make_project(
            tmp_path / "q", {"mod.py": text.replace('make("other")', "make()") + "\n\n@wp.kernel\ndef first(): ...\n"}
        )
    )
    assert set(one.texts) == {"mod.py"}


def test_parameter_without_default(tmp_path: Path) -> None:
    result = edit_all(make_project(tmp_path / "p", {"mod.py": FACTORY.replace('module="unique"', "module", 1)}))
    assert "def make(module):\n    @wp.kernel(module=module)" in result.texts.get(
        "mod.py", dedent(FACTORY).replace('make(module="unique"', "make(module")
    )
    assert "what the caller of `make` says" in (result.verdicts[0].declined or "")


def test_unique_closure_with_module_options(tmp_path: Path) -> None:
    text = FACTORY.replace("module=module", 'module="unique", module_options={"fast_math": True}')
    result = edit_all(make_project(tmp_path / "p", {"mod.py": text}))
    assert (result.texts, result.findings) == ({}, ())


def test_alone_in_a_shared_module(tmp_path: Path) -> None:
    text = FACTORY[: FACTORY.index("def more")]
    assert edit_all(make_project(tmp_path / "p", {"mod.py": text})).findings == ()


def test_generic_unique_kernels_stay(tmp_path: Path) -> None:
    text = dedent(
        """
        from typing import Any
        import warp as wp


        @wp.kernel(module="unique")
        def one(a: wp.array(dtype=Any)):
            a[0] = a[0]


        @wp.kernel(module="unique")
        def two(a: wp.array(dtype=Any)):
            a[0] = a[0]


        def make(module="unique"):
            @wp.kernel(module=module)
            def three(a: wp.array(dtype=Any)):
                a[0] = a[0]

            return three
        """
    )
    result = edit_all(make_project(tmp_path / "p", {"mod.py": text}))
    assert (result.texts, result.findings) == ({}, ())


UNIQUE = """
import warp as wp


@wp.kernel(module="unique")
def one(a: wp.array(dtype=float)):
    a[0] = 1.0


@wp.kernel(enable_backward=False, module='unique')
def two(a: wp.array(dtype=float)):
    a[0] = 2.0


@wp.kernel(
    module="unique",
    enable_backward=False,
)
def three(a: wp.array(dtype=float)):
    a[0] = 3.0
"""


def test_module_scope_kernels_share_the_file_s_module(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p", {"mod.py": UNIQUE})
    expected = dedent(UNIQUE).replace('(module="unique")', "").replace(", module='unique'", "")
    expected = expected.replace('module="unique",\n    enable', "enable")
    result = check_transformed(root, {"mod.py": expected}, select=["ALL"])
    assert {finding.code for finding in result.findings} == {"WF301"}
    assert edit_all(make_project(tmp_path / "q", {"mod.py": UNIQUE}), unsafe=False).texts == {}


def test_module_scope_kernels_share_a_named_module(tmp_path: Path) -> None:
    text = UNIQUE + '\n\ndef late():\n    wp.set_module_options({"fast_math": True})\n'
    result = edit_all(make_project(tmp_path / "p", {"mod.py": text})).texts["mod.py"]
    assert result.count('module="mod.stable"') == 2
    assert result.count("module='mod.stable'") == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (UNIQUE + "\n\nprint(one.module.name)\n", "looks at this very kernel object"),
        (
            UNIQUE.replace("\n\n\n@wp.kernel(enable", "\n\n\nwp.config.enable_backward = False\n\n\n@wp.kernel(enable"),
            "sets `wp.config`",
        ),
        (UNIQUE + "\n\nwp.compile_aot_module(__name__)\n", "ahead of time"),
    ],
)
def test_module_scope_kernels_left(tmp_path: Path, text: str, reason: str) -> None:
    result = edit_all(make_project(tmp_path / "p", {"mod.py": text}))
    assert any(reason in (finding.declined or "") for finding in result.findings)
    assert 'module="unique"' in result.texts.get("mod.py", text)


def test_a_file_s_only_kernel(tmp_path: Path) -> None:
    text = UNIQUE.split("@wp.kernel(enable")[0]
    assert edit_all(make_project(tmp_path / "p", {"mod.py": text})).findings == ()


def test_rule_301_takes_over_where_101_is_off(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p", {"mod.py": FACTORY})
    both = edit_all(root)
    assert {finding.code for finding in both.findings} == {"WF101"}
    alone = edit_all(root, select=["WF301"])
    assert {finding.code for finding in alone.findings} == {"WF301"}
    assert alone.texts == both.texts


# Applicability (a library's snapshot of options must not move unasked).

LATE = """
import warp as wp


def run(a):
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[0] = 1.0

    wp.launch(scale, dim=1, inputs=[a])
"""
FIRST = "@wp.kernel\ndef first(a: wp.array(dtype=float)):\n    a[0] = 1.0\n"


def levels(root: Path) -> list[str]:
    return [finding.fix.applicability.value for finding in edit(root).findings if finding.fix is not None]


def test_safe_where_the_import_creates_the_module(tmp_path: Path) -> None:
    before = LATE.replace("\n\n\ndef run", "\n\n\n" + FIRST + "\n\ndef run")
    assert levels(make_project(tmp_path / "p", {"mod.py": before})) == ["safe"]
    assert levels(make_project(tmp_path / "q", {"mod.py": LATE + "\n\n" + FIRST})) == ["safe"]
    options = LATE.replace("\n\n\ndef run", '\n\nwp.set_module_options({"enable_backward": False})\n\n\ndef run')
    assert levels(make_project(tmp_path / "r", {"mod.py": options})) == ["safe"]
    assert edit(tmp_path / "p", unsafe=False).texts != {}


def test_not_safe_where_a_statement_may_set_config_before_the_module_exists(tmp_path: Path) -> None:
    text = LATE + "\n\nwp.config.enable_backward = False\n\n\n" + FIRST
    assert levels(make_project(tmp_path / "p", {"mod.py": text}))[-1] != "safe"


def test_measured_in_an_application_and_ask_in_a_library(tmp_path: Path) -> None:
    app = make_project(tmp_path / "p", {"app.py": LATE + '\n\nif __name__ == "__main__":\n    run(None)\n'})
    assert levels(app) == ["measured"]
    assert edit(app, unsafe=False).texts == {}
    library = make_project(tmp_path / "q", {"lib/__init__.py": "from .mod import run\n", "lib/mod.py": LATE})
    assert levels(library) == ["ask"]
    assert edit(library).texts == {}
    assert edit(library, select=["closure-kernel"]).texts != {}
    assert edit(library, select=["closure-kernel"], unsafe=False).texts == {}
    assert edit(library, select=["WF101"], unsafe=False, verify=True).texts != {}


def test_measured_where_config_is_written_late_or_tiles_are_used(tmp_path: Path) -> None:
    before = LATE.replace("\n\n\ndef run", "\n\n\n" + FIRST + "\n\ndef run")
    late = before + '\n\ndef debug():\n    wp.config.mode = "debug"\n'
    assert levels(make_project(tmp_path / "p", {"mod.py": late})) == ["measured"]
    tiles = before.replace("        a[0] = 1.0\n", "        wp.tile_store(a, wp.tile_ones(shape=4, dtype=float))\n")
    assert levels(make_project(tmp_path / "q", {"mod.py": tiles})) == ["measured"]


ALONE = 'wp.kernel(module="unique")'


@pytest.mark.parametrize(
    ("decorator", "after"),
    [
        ('wp.kernel(\n    enable_backward=False,  # no\n    module="unique",\n)', "wp.kernel(\n    enable_backward=False,  # no\n)"),
        ('wp.kernel(\n    module="unique",\n    enable_backward=False,  # no\n)', "wp.kernel(\n    enable_backward=False,  # no\n)"),
        ('wp.kernel(\n    module="unique",  # alone\n    enable_backward=False,\n)', None),
        ('wp.kernel(\n    # alone\n    module="unique",\n)', None),
        ('wp.kernel(\n    enable_backward=False  # no\n    , module="unique"\n)', None),
    ],
    ids=["comment above", "comment below", "comment on it", "only comment", "a comma of its own"],
)  # fmt: skip
def test_comments_in_the_decorator(tmp_path: Path, decorator: str, after: str | None) -> None:
    """Kept, or the scan says that it can't: nothing is promised that ``apply`` then leaves."""
    kernels = "".join(
        f"\n\n@{decorator if name == 'one' else ALONE}\ndef {name}(a: wp.array(dtype=float)):\n    a[0] = 1.0\n"
        for name in ("one", "two", "three")
    )
    root = make_project(tmp_path / "p", {"mod.py": "import warp as wp\n" + kernels})
    result = edit_all(root)
    text = result.texts["mod.py"]
    assert (f"@{after}\ndef one" in text) if after else (f"@{decorator}\ndef one" in text)
    offered = {finding.kernel for finding in result.findings if finding.fix is not None and finding.code == "WF301"}
    assert ("one" in offered) is (after is not None)


def test_a_linter_s_comment_stays_in_its_function(tmp_path: Path) -> None:
    source = (
        "import warp as wp\n\n\n@wp.kernel\ndef first(a: wp.array(dtype=float)):\n    a[0] = 1.0\n\n\n"
        "def run(v):\n    # pylint: disable=invalid-name\n    @wp.kernel\n    def k(v: wp.array(dtype=float)):\n"
        "        v[0] = 1.0\n\n    return k\n"
    )
    text = edit_all(make_project(tmp_path / "p", {"mod.py": source})).texts["mod.py"]
    assert "\n\n\n@wp.kernel\ndef k(" in text
    assert "def run(v):\n    # pylint: disable=invalid-name\n    return k\n" in text
