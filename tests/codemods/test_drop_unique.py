"""Taking a kernel out of its unique module: what the decorator becomes, and what is left as it is."""

from __future__ import annotations

import pytest
from warpfix.codemods._arguments import ModuleArgument
from warpfix.codemods.compose import compose
from warpfix.codemods.drop_unique import DropUnique

NONE, NAMED = ModuleArgument(None), ModuleArgument("mod.stable")

# Decorators (and what stands between them and the ``def``), the module that the kernel goes to, and what becomes of them.
CHANGED = [
    pytest.param('@wp.kernel(module="unique")\n', NONE, "@wp.kernel\n", id="the only argument"),
    pytest.param("@wp.kernel(module='unique',)\n", NONE, "@wp.kernel\n", id="with a trailing comma"),
    pytest.param('@k(module="unique", x=1)\n', NONE, "@k(x=1)\n", id="the first"),
    pytest.param('@k(x=1, module="unique")\n', NONE, "@k(x=1)\n", id="the last"),
    pytest.param('@k(x=1, module="unique", y=2)\n', NONE, "@k(x=1, y=2)\n", id="in the middle"),
    pytest.param('@k(\n    module="unique",\n    x=1,\n)\n', NONE, "@k(\n    x=1,\n)\n", id="over several lines"),
    pytest.param('@k(\n    module="unique",  # its own\n    x=1,  # one\n)\n', NONE, None, id="a comment about it"),
    pytest.param('@k(module="unique")  # why\n', NONE, "@k  # why\n", id="a comment behind"),
    pytest.param('@k(module="unique")\n', NAMED, '@k(module="mod.stable")\n', id="into a named module"),
    pytest.param("@k(module='unique')\n", NAMED, "@k(module='mod.stable')\n", id="in the file's quotes"),
    pytest.param('@k(x=1, module="unique")\r\n', NAMED, '@k(x=1, module="mod.stable")\r\n', id="CRLF"),
    pytest.param("@k\n", NAMED, '@k(module="mod.stable")\n', id="into a named module, without arguments"),
    pytest.param("@k(x=1)\n", NAMED, '@k(x=1, module="mod.stable")\n', id="into a named module, with others"),
    pytest.param("@k\n", NONE, "@k\n", id="nothing to drop"),
    pytest.param("@k(x=1)\n", NONE, "@k(x=1)\n", id="nothing to drop among others"),
]


@pytest.mark.parametrize(("before", "module", "after"), CHANGED)
def test_changed(before: str, module: ModuleArgument, after: str | None) -> None:
    newline = "\r\n" if "\r\n" in before else "\n"
    head, body = (
        f"import k{newline}",
        f"def scale(a):{newline}    a[0] = 1{newline}{newline}{newline}x = scale{newline}",
    )
    text = head + before + body
    line = text[: text.index("def scale")].count("\n") + 1
    composed = compose(text, [DropUnique(line, "scale", module)])
    if after is None:
        assert composed.text == text and "comment" in composed.conflicts[0].reason
        return
    assert (composed.text, composed.conflicts) == (head + after + body, ())
    again = compose(composed.text, [DropUnique(line - before.count("\n") + after.count("\n"), "scale", module)])
    assert again.text == composed.text


def test_one_decorator_of_several() -> None:
    text = '@a(module="unique")\n@k(module="unique")\n@b(module="unique")\ndef scale(): pass\n'
    composed = compose(text, [DropUnique(4, "scale", NONE, decorator=1)])
    assert composed.text == text.replace('@k(module="unique")', "@k")


def test_several_kernels_of_one_file() -> None:
    text = "".join(f'@k(module="unique")\ndef f{n}(): pass\n\n\n' for n in range(3))
    edits = [DropUnique(2 + 4 * n, f"f{n}", NONE) for n in range(3)]
    assert compose(text, edits).text == text.replace('(module="unique")', "")
    assert compose(text, edits[1:]).text.count("unique") == 1


DECLINED = [
    pytest.param("@k\ndef scale(): pass\n", DropUnique(2, "other", NONE), "no definition", id="another name"),
    pytest.param("@k\ndef scale(): pass\n", DropUnique(1, "scale", NONE), "no definition", id="another line"),
    pytest.param("@k\ndef scale(): pass\n", DropUnique(2, "scale", NONE, 1), "no decorator", id="no such decorator"),
    pytest.param("def scale(): pass\n", DropUnique(1, "scale", NONE), "no decorator", id="no decorator at all"),
    pytest.param(
        '@k(module="unique"  # alone\n)\ndef scale(): pass\n',
        DropUnique(3, "scale", NONE),
        "comment",
        id="a comment inside",
    ),
]


@pytest.mark.parametrize(("text", "edit", "reason"), DECLINED)
def test_declined(text: str, edit: DropUnique, reason: str) -> None:
    composed = compose(text, [edit])
    assert composed.text == text
    assert reason in composed.conflicts[0].reason
