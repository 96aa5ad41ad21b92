"""A Warp module of its own for a specialised kernel: the decorator, and where there is none to give."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import apply_fix, findings_of
from warpfix.codemods.compose import compose
from warpfix.codemods.isolate import Isolate

from warpfix.findings import Applicability, Finding

BODY = "def make(n):\n    {decorator}\n    def scale(a: wp.array(dtype=float)):\n        a[0] = n\n    return scale\n"


def isolated(decorator: str, options: tuple[tuple[str, str], ...] = (), head: str = "") -> tuple[str, str]:
    """The text after the edit, and why there was none."""
    text = head + BODY.replace("{decorator}", decorator)
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "def scale" in row)
    composed = compose(text, [Isolate(line, "scale", options)])
    return composed.text, composed.conflicts[0].reason if composed.conflicts else ""


EDITED = [
    pytest.param("@wp.kernel", (), '@wp.kernel(module="unique")', id="plain"),
    pytest.param("@wp.kernel()", (), '@wp.kernel(module="unique")', id="called"),
    pytest.param("@kernel", (), '@kernel(module="unique")', id="under another name"),
    pytest.param(
        "@wp.kernel(enable_backward=False)", (), '@wp.kernel(enable_backward=False, module="unique")', id="an argument"
    ),
    pytest.param(
        "@wp.kernel(\n        enable_backward=False,  # never\n    )",
        (),
        '@wp.kernel(\n        enable_backward=False, module="unique",  # never\n    )',
        id="a trailing comma and a comment",
    ),
    pytest.param("@wp.kernel(module=None)", (), '@wp.kernel(module="unique")', id="None"),
    pytest.param(
        "@wp.kernel",
        (("fast_math", "True"), ("max_unroll", "4")),
        '@wp.kernel(module="unique", module_options={"fast_math": True, "max_unroll": 4})',
        id="options",
    ),
    pytest.param("@wp.kernel(name='x')", (), "@wp.kernel(name='x', module='unique')", id="its own quotes"),
]


@pytest.mark.parametrize(("decorator", "options", "expected"), EDITED)
def test_edited(decorator: str, options: tuple[tuple[str, str], ...], expected: str) -> None:
    assert isolated(decorator, options) == (BODY.replace("{decorator}", expected), "")


def test_quotes_are_those_of_the_file() -> None:
    text, _ = isolated("@wp.kernel", (("mode", "'debug'"),), "NAME = 'x'\n")
    assert "    @wp.kernel(module='unique', module_options={'mode': 'debug'})\n" in text


LEFT = [
    pytest.param('@wp.kernel(module="unique")', "says already", id="unique already"),
    pytest.param('@wp.kernel(module="shared")', "says already", id="a named module"),
    pytest.param("@wp.kernel(module=m)", "says already", id="an expression"),
    pytest.param("@wp.kernel(**OPTIONS)", "by a star", id="a star"),
    pytest.param("@wp.kernel(module_options={})", "module_options", id="options of its own"),
]


@pytest.mark.parametrize(("decorator", "reason"), LEFT)
def test_left(decorator: str, reason: str) -> None:
    text, why = isolated(decorator)
    assert text == BODY.replace("{decorator}", decorator)
    assert reason in why


# ---- which kernels

FACTORY = """\
import warp as wp


@wp.kernel
def base(a: wp.array(dtype=float)):
    a[0] = 1.0


def make(n):
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[wp.tid()] = a[wp.tid()] * n

    return scale


if __name__ == "__main__":
    x = wp.zeros(4, dtype=float)
    wp.launch(base, dim=4, inputs=[x])
    for f in (1.0, 2.0, 3.0):
        wp.launch(make(f), dim=4, inputs=[x])
"""


def offered(tmp_path: Path, source: str, warp_min: str = "1.13", **others: str) -> Finding:
    files = {"app.py": source, **{f"{name}.py": text for name, text in others.items()}}
    (finding,) = findings_of(tmp_path, files, select=("WF102",), warp_min=warp_min)
    return finding


def test_offered(tmp_path: Path) -> None:
    finding = offered(tmp_path, FACTORY)
    assert finding.fix is not None, finding.declined
    assert finding.fix.applicability is Applicability.MEASURED
    (text,) = apply_fix(finding).values()
    assert text == FACTORY.replace("    @wp.kernel\n    def", '    @wp.kernel(module="unique")\n    def')
    assert findings_of(tmp_path / "again", {"app.py": text}, select=("WF102",)) == []


def test_library_code_is_asked_for(tmp_path: Path) -> None:
    finding = offered(tmp_path, FACTORY.partition("if __name__")[0])
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK


OPTIONS = 'wp.set_module_options({"fast_math": True})\n'
MODULE = FACTORY.replace("import warp as wp\n", "import warp as wp\n\n" + OPTIONS)


def test_options_of_the_file_are_carried_over(tmp_path: Path) -> None:
    finding = offered(tmp_path, MODULE)
    (text,) = apply_fix(finding).values()
    assert '@wp.kernel(module="unique", module_options={"fast_math": True})\n    def scale' in text


def changed(old: str, new: str, text: str = FACTORY) -> str:
    assert old in text
    return text.replace(old, new)


KERNEL = "    @wp.kernel\n    def scale"
IN_LOOP = FACTORY.partition("def make")[0] + (
    "def run(x):\n    kept = []\n    for n in (1.0, 2.0):\n        @wp.kernel\n"
    "        def scale(a: wp.array(dtype=float)):\n            a[0] = n\n\n        USE\n    return kept\n\n\n"
    'if __name__ == "__main__":\n    run(wp.zeros(1, dtype=float))\n'
)
DECLINED = [
    pytest.param(MODULE, "1.12", "needs Warp 1.13", id="options before module_options="),
    pytest.param(FACTORY, "1.9", "before Warp 1.10", id="equal kernels are not one object"),
    pytest.param(changed("fast_math", "fast_maths", MODULE), "1.13", "`fast_maths`", id="an option of no name"),
    pytest.param(changed("fast_math", "strip_hash", MODULE), "1.13", "ahead of time", id="plain names"),
    pytest.param(
        changed("True}", "bool(1)}", MODULE), "1.13", "can't be carried over", id="an option that is computed"
    ),
    pytest.param(
        changed("if __name__", "wp.set_module_options({'max_unroll': 2})\n\n\nif __name__"),
        "1.13",
        "can't be carried over",
        id="set below",
    ),
    pytest.param(
        changed("if __name__", "def slow():\n    wp.set_module_options({'max_unroll': 2})\n\n\nif __name__"),
        "1.13",
        "can't be carried over",
        id="set in a function",
    ),
    pytest.param(
        changed("def make", "def other(m):\n    wp.get_module(m).options['mode'] = 'debug'\n\n\ndef make"),
        "1.13",
        "can't be told",
        id="of a module that is not known",
    ),
    pytest.param(
        changed("    x = wp.z", "    wp.config.enable_backward = False\n    x = wp.z"),
        "1.13",
        "sets `wp.config.enable_backward`",
        id="config set when the module is there",
    ),
    pytest.param(
        changed("    return scale", "    n = n + 1.0\n    return scale"), "1.13", "assigned below", id="assigned below"
    ),
    pytest.param(
        changed(
            "    return scale", "    def more():\n        nonlocal n\n        n = 2.0\n\n    more()\n    return scale"
        ),
        "1.13",
        "nonlocal",
        id="nonlocal",
    ),
    pytest.param(changed(KERNEL, "    @other\n" + KERNEL), "1.13", "other decorators", id="another decorator"),
    pytest.param(
        changed("    return scale", "    print(scale.module.name)\n    return scale"),
        "1.13",
        "reads `scale.module`",
        id="its module",
    ),
    pytest.param(
        changed(
            "* n", "* n * G", changed("def make", "G = 1.0\n\n\ndef more():\n    global G\n    G = 2.0\n\n\ndef make")
        ),
        "1.13",
        "rebinds",
        id="a global that is rebound",
    ),
    pytest.param(
        changed("    def scale(a: wp.array(dtype=float))", "    def scale(a: wp.array(dtype=wp.Any))"),
        "1.9",
        "generic",
        id="generic, before Warp 1.10",
    ),
    pytest.param(
        changed(KERNEL, "    @wp.kernel(module=module)\n    def scale", changed("make(n)", "make(n, module=None)")),
        "1.13",
        "from a caller",
        id="a caller's module",
    ),
    pytest.param(
        changed("* n\n\n    return", "* n.x\n\n    n.x = 3.0\n    return"),
        "1.13",
        "`.x` is assigned",
        id="an attribute",
    ),
    pytest.param(
        changed("* n\n\n    return", "* n[0]\n\n    n[0] = 3.0\n    return"), "1.13", "`n` holds", id="an item"
    ),
    pytest.param(
        changed("if __name__", "def tagged(n, tag):\n    k = make(n)\n    k.tag = tag\n    return k\n\n\nif __name__"),
        "1.13",
        "one kernel object from another",
        id="something is written on each",
    ),
    pytest.param(IN_LOOP.replace("USE", "kept.append(scale)"), "1.13", "turn to turn", id="kept beyond its turn"),
]


@pytest.mark.parametrize(("source", "warp_min", "reason"), DECLINED)
def test_declined(tmp_path: Path, source: str, warp_min: str, reason: str) -> None:
    finding = offered(tmp_path, source, warp_min)
    assert finding.fix is None
    assert reason in (finding.declined or "")
    assert finding.declined in finding.advice


METHOD = (
    "class Solver:\n    def __init__(self, n):\n        self.n = n\n\n    def make(self):\n        @wp.kernel\n"
    "        def scale(a: wp.array(dtype=float)):\n            a[0] = self.n\n\n        return scale\n\n\n"
)
METHODS = FACTORY.partition("def make")[0] + METHOD + "if __name__" + FACTORY.partition("if __name__")[2]
ALLOWED = [
    pytest.param(METHODS.replace("make(f)", "Solver(f).make()"), "1.13", id="an attribute that __init__ sets"),
    pytest.param(
        changed("* n\n\n    return", "* wp.static(n.x)\n\n    n.x = 3.0\n    return"), "1.13", id="read by wp.static"
    ),
    pytest.param(IN_LOOP.replace("USE", "wp.launch(scale, dim=1, inputs=[x])"), "1.13", id="launched in its turn"),
    pytest.param(
        changed("def make", "@functools.cache\ndef make", "import functools\n" + FACTORY), "1.7", id="kept by a cache"
    ),
    pytest.param(changed("\n\n\n@wp", "\n\nwp.config.enable_backward = False\n\n\n@wp"), "1.13", id="config on top"),
    pytest.param(changed("    @wp", "    if n > 2.0:\n        n = 2.0\n\n    @wp"), "1.13", id="assigned above, twice"),
    pytest.param(
        changed("    def scale(a: wp.array(dtype=float))", "    def scale(a: wp.array(dtype=wp.Any))"),
        "1.13",
        id="generic",
    ),
    pytest.param(changed("\n\n\n@wp", "\n\nwp.config.quiet = True\n\n\n@wp"), "1.13", id="config that is no code"),
    pytest.param(changed("\n\n\n@wp", "\n\nwp.config.track_memory = True\n\n\n@wp"), "1.13", id="memory tracking"),
]


@pytest.mark.parametrize(("source", "warp_min"), ALLOWED)
def test_allowed(tmp_path: Path, source: str, warp_min: str) -> None:
    finding = offered(tmp_path, source, warp_min)
    assert finding.fix is not None, finding.declined
    assert finding.data["isolates"] == "app"


def test_config_of_another_file(tmp_path: Path) -> None:
    main = "import warp as wp\nimport app\n\nwp.config.max_unroll = 2\n"
    finding = offered(tmp_path, FACTORY, main=main)
    assert finding.fix is None and "main.py:4 sets `wp.config.max_unroll`" in (finding.declined or "")
    first = "import warp as wp\nwp.config.max_unroll = 2\nimport app\n"
    assert offered(tmp_path / "first", FACTORY, main=first).fix is not None
