"""The source, splices and their composition."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import libcst
import pytest
from warpfix.codemods import compose as module
from warpfix.codemods.base import Declined, Edit, Source, Splice
from warpfix.codemods.compose import apply_splices, compose, lost_comment, registry


@dataclass(frozen=True)
class Raw(Edit):
    """Splices given as they are; None declines."""

    codemod: ClassVar[str] = "raw"
    splices: tuple[Splice, ...] | None = ()


@pytest.fixture(autouse=True)
def raw_codemod(monkeypatch: pytest.MonkeyPatch) -> None:
    def splices(source: Source, edit: Raw) -> list[Splice]:
        if edit.splices is None:
            raise Declined("not like this")
        return list(edit.splices)

    monkeypatch.setattr(module, "registry", lambda: {**registry(), "raw": SimpleNamespace(splices=splices)})


def test_registry_finds_modules() -> None:
    assert {"hoist", "drop_unique"} <= set(registry())
    assert not {"base", "compose", "_arguments"} & set(registry())


def test_nothing() -> None:
    assert compose("x = 1\n", []) == ("x = 1\n", ())


def test_insertions_at_one_place_keep_their_order() -> None:
    splices = [Splice(3, 3, "b", 2), Splice(3, 3, "a", 1), Splice(3, 5, "-"), Splice(0, 1, "_")]
    assert apply_splices("0123456", splices) == "_12ab-56"


def test_later_overlapping_edit_is_left_whole() -> None:
    text = "aa = 1\nbb = 2\n"
    first, second = Raw((Splice(0, 2, "xx"),)), Raw((Splice(1, 2, "y"), Splice(7, 9, "zz")))
    result = compose(text, [first, second])
    assert result.text == "xx = 1\nbb = 2\n"
    assert [conflict.edit for conflict in result.conflicts] == [second]
    assert compose(text, [second, first]).text == "ay = 1\nzz = 2\n"


def test_insertion_inside_what_another_edit_replaces() -> None:
    result = compose("aa = 1\n", [Raw((Splice(0, 6, "b = 2"),)), Raw((Splice(3, 3, "x"),))])
    assert result.text == "b = 2\n"
    assert len(result.conflicts) == 1


def test_declined_edit_is_reported() -> None:
    result = compose("a = 1\n", [Raw(None), Raw((Splice(0, 1, "b"),))])
    assert (result.text, result.conflicts[0].reason) == ("b = 1\n", "not like this")


def test_result_that_does_not_compile_changes_nothing() -> None:
    result = compose("a = 1\n", [Raw((Splice(0, 1, "1 +* "),))])
    assert result.text == "a = 1\n"
    assert "would not compile" in result.conflicts[0].reason


SOURCES = [
    "import warp\n\n\ndef f():\n    pass\n",
    "import warp\r\n\r\n\r\ndef f():\r\n  pass\r\n",
    "é = 'é'; b = 2\n\n\ndef f():\n\tx = 'ééé'; y = é\n",
    "\x0cimport warp\n\x0c\ndef f():\n    pass",
]


@pytest.mark.parametrize("text", SOURCES)
def test_positions(text: str) -> None:
    source = Source(text)
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Name, ast.Constant)):
            start, end = source.span(node)
            assert text[start:end] == ast.get_source_segment(text, node)
    (definition,) = [node for node in source.tree.body if isinstance(node, ast.FunctionDef)]
    assert source.definition(definition.lineno, "f") is definition
    assert isinstance(source.cst_definition(definition.lineno, "f"), libcst.FunctionDef)
    assert source.line_of(source.line_start(definition.lineno)) == definition.lineno


def test_extent_of_a_definition() -> None:
    text = "x = 1\n# banner\n\n# about f\n# more\n@a\n@b\ndef f():\n    pass  # end\n\n\ny = 2; z = 3\n"
    source = Source(text)
    extent = source.extent(source.definition(8, "f"))
    assert text[extent.start : extent.end] == "# about f\n# more\n@a\n@b\ndef f():\n    pass  # end\n"
    assert text[extent.decorated :].startswith("@a")
    with pytest.raises(Declined, match="shares its line"):
        source.extent(source.tree.body[2])
    with pytest.raises(Declined, match="holds no definition"):
        source.definition(1, "f")


def test_file_s_head_is_not_attached() -> None:
    text = "#!/usr/bin/env python\n# coding: utf-8\n# about f\ndef f(): pass\n"
    source = Source(text)
    assert text[source.extent(source.tree.body[0]).start :].startswith("# about f")


@pytest.mark.parametrize(
    ("text", "newline", "indent"),
    [
        ("x\n", "\n", "    "),
        ("def f():\r\n  x\r\n", "\r\n", "  "),
        ("class A:\n\tdef f(): pass\n", "\n", "\t"),
        ("x", "\n", "    "),
    ],
)
def test_style(text: str, newline: str, indent: str) -> None:
    assert (Source(text).newline, Source(text).indent) == (newline, indent)


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        pytest.param("a = 1  # one\n", "a = 1  # one\n", None, id="the same"),
        pytest.param("# one\na = 1\nb = 2\n", "b = 2\n# one\na = 1\n", None, id="moved"),
        pytest.param("import a  # why\n", "import a  # noqa: E402  # why\n", None, id="grown"),
        pytest.param("a = '# no comment'\n", "a = 1\n", None, id="in a string"),
        pytest.param("a = (  # one\n    1\n)\n", "a = (1)\n", "# one", id="inside brackets"),
        pytest.param("# one\na = 1  # one\n", "a = 1  # one\n", "# one", id="one of two"),
        pytest.param("def (  # one\n", "", None, id="no Python"),
    ],
)
def test_lost_comments_are_seen(before: str, after: str, lost: str | None) -> None:
    assert lost_comment(before, after) == lost
