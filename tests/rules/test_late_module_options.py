"""WF202: what is silent, what is only reported, what is moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import apply_fix, findings_of, write_files

from warpfix.findings import Applicability, Finding

HEAD = """\
import warp as wp

@wp.kernel
def first(v: wp.array(dtype=float)):
    v[wp.tid()] = 1.0

@wp.kernel
def second(v: wp.array(dtype=float)):
    v[wp.tid()] = 2.0

@wp.kernel(module="unique")
def alone(v: wp.array(dtype=float)):
    v[wp.tid()] = 3.0

"""
LATE = 'wp.set_module_options({"enable_backward": False})'
LAUNCH = "wp.launch(first, dim=8, inputs=[v])"


def found(tmp_path: Path, source: str, head: str = HEAD, **more: str) -> list[Finding]:
    files = {name.replace("__", "/") + ".py": text for name, text in more.items()}
    return [item for item in findings_of(tmp_path, {"app.py": head + source, **files}) if item.code == "WF202"]


def body(*lines: str, head: str = "def main(v):") -> str:
    return head + "\n" + "".join(f"    {line}\n" for line in lines)


SILENT = [
    pytest.param(LATE + "\n" + body(LAUNCH), id="at import, before everything"),
    pytest.param(body(LATE, LAUNCH), id="before the launch"),
    pytest.param(
        body("wp.launch(alone, dim=8, inputs=[v])", LATE, LAUNCH), id="after the launch of a unique kernel only"
    ),
    pytest.param(body("wp.launch(first, dim=0, inputs=[v])", LATE, LAUNCH), id="a launch over nothing loads nothing"),
    pytest.param(body("if v:", "    " + LAUNCH, LATE), id="the launch depends on a condition"),
    pytest.param(body(LAUNCH, "if v:", "    " + LATE), id="the options depend on a condition"),
    pytest.param(body("later = lambda: " + LAUNCH, LATE), id="the launch stands in a lambda"),
    pytest.param(body("def go():", "    " + LAUNCH, LATE), id="the launch stands in a function that is not called"),
    pytest.param(body(LAUNCH, "try:", "    " + LATE, "finally:", "    pass"), id="try/finally"),
    pytest.param(
        body("old = wp.get_module_options()['enable_backward']", LAUNCH, LATE, LAUNCH),
        id="what it was is kept, to put it back",
    ),
    pytest.param(
        body(LAUNCH, LATE, LAUNCH, 'wp.set_module_options({"enable_backward": True})'),
        id="set again further down: for a while",
    ),
    pytest.param(
        body("options = wp.get_module_options()", LAUNCH, "options['enable_backward'] = False"),
        id="a dictionary of options that is kept, to put it back",
    ),
    pytest.param(
        body("wp.get_module('app').options['enable_backward'] = False", LAUNCH, LATE),
        id="the same value, written into the options before the launch",
    ),
    pytest.param(
        body(LAUNCH, "table()['enable_backward'] = False") + "\ndef table():\n    return {}\n",
        id="a dictionary of the program's own",
    ),
    pytest.param(
        body('wp.set_module_options({"enable_backward": True})', LAUNCH, LATE, LAUNCH), id="switched between launches"
    ),
    pytest.param(LATE + "\n" + body(LAUNCH, LATE, LAUNCH), id="the same value again after load"),
    pytest.param(body(LATE, LAUNCH, LATE, LAUNCH), id="the same value again in the block"),
    pytest.param(body(LAUNCH, 'wp.set_module_options({"enable_backward": True})'), id="the default again"),
    pytest.param(
        body(LAUNCH, 'wp.set_module_options({"fast_math": False, "max_unroll": 16})'), id="several defaults again"
    ),
    pytest.param(
        "import contextlib\n@contextlib.contextmanager\n" + body(LAUNCH, LATE, "yield"), id="a context manager"
    ),
    pytest.param(
        "class Fast:\n    def __enter__(self):\n        wp.launch(first, dim=1, inputs=[])\n        " + LATE + "\n",
        id="__enter__",
    ),
    pytest.param(
        body(LAUNCH, "if wp.get_module('app').options['fast_math']:", "    pass", LATE),
        id="reads an option: only if different",
    ),
    pytest.param(body(LAUNCH, "other.set_module_options({'enable_backward': False})"), id="another library"),
    pytest.param(
        body(LAUNCH, "wp.set_module_options({'enable_backward': False}, module=choose())"), id="unknown target"
    ),
    pytest.param(
        body(LAUNCH, "wp.set_module_options({'enable_backward': False}, module='newton.solvers')"), id="another package"
    ),
    pytest.param(body(LAUNCH, "wp.set_module_options(OPTIONS)"), id="options that can't be read"),
    pytest.param(
        "def make(x):\n    " + LATE + "\n    return x\nmake(1)\n" + body(LAUNCH),
        id="a function that is called at import",
    ),
    pytest.param(body(LAUNCH, "pyglet.options['debug'] = True"), id="options of another library"),
    pytest.param(
        body("for x in v:", "    if x:", "        " + LAUNCH, LATE), id="a launch under a condition in a loop"
    ),
    pytest.param(body("if not v:", "    return", "x = 1", LATE, LAUNCH), id="an early return and no launch"),
    pytest.param(body(LAUNCH, "wp.config.enable_backward = False"), id="wp.config is another rule"),
    pytest.param(body("launch(first, dim=1)", LATE), id="a launch that is not Warp's"),
    pytest.param(body(f"x = v and {LAUNCH}", LATE), id="a launch behind and"),
    pytest.param(body(f"x = [{LAUNCH} for _ in v]", LATE), id="a launch in a comprehension"),
    pytest.param("async " + body(LAUNCH, LATE), id="a coroutine"),
    pytest.param(
        body(LAUNCH, "wp.set_module_options({'enable_backwards': False})"), id="an unknown name is another rule"
    ),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


REPORTED = [
    pytest.param(
        body(LAUNCH, "x = 3", "wp.set_module_options({'enable_backward': bool(x)})"), "literal", id="a computed value"
    ),
    pytest.param(
        body(LAUNCH, "wp.get_module('app').options['enable_backward'] = False"),
        "never acted",
        id="into the dict: ignored",
    ),
    pytest.param(
        body(LAUNCH, "wp.get_module_options()['enable_backward'] = False"),
        "never acted",
        id="an option written into the options of the file's module",
    ),
    pytest.param(
        body(LAUNCH, "wp.get_module_options().update({'enable_backward': False})"),
        "never acted",
        id="the same with update",
    ),
    pytest.param(
        body(LAUNCH, "wp.get_module('app').options['enable_backward'] = False", LATE, LAUNCH),
        "reads module options",
        id="the same value, written into the options after the launch, where Warp does not look",
    ),
    pytest.param(
        body(LAUNCH, "wp.get_module('app').options.update(enable_backward=False)"),
        "never acted",
        id="update of the dict",
    ),
    pytest.param(body(LAUNCH, "if not v:", "    return", LATE), "may leave", id="a return in between"),
    pytest.param(body(LAUNCH, "import warp as wp", LATE), "bound between", id="its name is bound in between"),
    pytest.param(body(LAUNCH, "x = wp.config.mode", LATE), "reads module options", id="the config is read in between"),
    pytest.param(body(LAUNCH, "x = 1; " + LATE), "shares a line", id="shares its line"),
    pytest.param(body(LAUNCH + "; x = 1", LATE), "shares a line", id="the launch shares its line"),
    pytest.param(
        'wp.set_module_options({"enable_backward": True})\n' + body(LAUNCH, LATE),
        "also set to another value",
        id="set otherwise at import",
    ),
    pytest.param(
        body(LAUNCH, LATE) + body('wp.set_module_options({"enable_backward": True})', head="def other():"),
        "also set on line",
        id="set otherwise elsewhere",
    ),
    pytest.param(
        "def configure():\n    print('now')\n    "
        + LATE
        + "\n"
        + body(LAUNCH, "configure()")
        + "def again():\n    configure()\n",
        "more than set options",
        id="a function with another effect, called twice",
    ),
    pytest.param(
        "def configure():\n    print('now')\n    "
        + LATE.replace('enable_backward": False', 'max_unroll": 4')
        + "\n"
        + body(LAUNCH, "configure()"),
        "more than set options",
        id="a function with another effect, and numerics",
    ),
]


@pytest.mark.parametrize(("source", "reason"), REPORTED)
def test_reported_without_a_fix(tmp_path: Path, source: str, reason: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is None
    assert finding.declined is not None and reason in finding.declined


def test_an_option_that_reaches_no_kernel_is_only_reported(tmp_path: Path) -> None:
    head = "import warp as wp\n@wp.kernel(module='unique')\ndef k(): pass\n"
    (finding,) = found(tmp_path, body("wp.launch(k, dim=1)", 'wp.set_module_options({"fast_math": True})'), head)
    assert finding.fix is None
    assert "reaches no kernel" in finding.message


MOVED = [
    pytest.param(body(LAUNCH, LATE), body(LATE, LAUNCH), Applicability.MEASURED, id="after the launch"),
    pytest.param(
        body("x = wp.zeros(8)", LAUNCH, "y = 1", LATE, LAUNCH),
        body("x = wp.zeros(8)", LATE, LAUNCH, "y = 1", LAUNCH),
        Applicability.MEASURED,
        id="the latest place before the load, not the top",
    ),
    pytest.param(
        body(LAUNCH, "# why", LATE + "  # now", "x = 1"),
        body("# why", LATE + "  # now", LAUNCH, "x = 1"),
        Applicability.MEASURED,
        id="comments go along",
    ),
    pytest.param(
        body("for _ in range(3):", "    " + LAUNCH, LATE),
        body(LATE, "for _ in range(3):", "    " + LAUNCH),
        Applicability.MEASURED,
        id="after a loop that launches",
    ),
    pytest.param(
        body("with wp.ScopedTimer('x'):", "    " + LAUNCH, LATE),
        body(LATE, "with wp.ScopedTimer('x'):", "    " + LAUNCH),
        Applicability.MEASURED,
        id="after a with that launches",
    ),
    pytest.param(
        body("wp.force_load()", LATE), body(LATE, "wp.force_load()"), Applicability.MEASURED, id="after force_load"
    ),
    pytest.param(
        body("wp.load_module()", LATE),
        body(LATE, "wp.load_module()"),
        Applicability.MEASURED,
        id="after load_module of its own",
    ),
    pytest.param(
        "def go(v):\n    " + LAUNCH + "\n" + body("go(v)", LATE),
        "def go(v):\n    " + LAUNCH + "\n" + body(LATE, "go(v)"),
        Applicability.MEASURED,
        id="after a function that launches",
    ),
    pytest.param(
        "class S:\n    def step(self, v):\n        " + LAUNCH + "\n" + body("s = S()", "s.step(v)", LATE),
        "class S:\n    def step(self, v):\n        " + LAUNCH + "\n" + body("s = S()", LATE, "s.step(v)"),
        Applicability.MEASURED,
        id="after a method that launches",
    ),
    pytest.param(
        "def configure():\n    '''Once.'''\n    " + LATE + "\n" + body(LAUNCH, "configure()"),
        "def configure():\n    '''Once.'''\n    " + LATE + "\n" + body("configure()", LAUNCH),
        Applicability.MEASURED,
        id="a function that only sets options",
    ),
    pytest.param(
        body("s = v.go()", LAUNCH, LATE) + "class G:\n    def go(self):\n        wp.launch(second, dim=1)\n",
        body(LATE, "s = v.go()", LAUNCH) + "class G:\n    def go(self):\n        wp.launch(second, dim=1)\n",
        Applicability.MEASURED,
        id="above a call that may load it",
    ),
    pytest.param(
        body(LAUNCH, "wp.set_module_options({'fast_math': True})"),
        body("wp.set_module_options({'fast_math': True})", LAUNCH),
        Applicability.ASK,
        id="numerics: ask",
    ),
    pytest.param(
        body(LAUNCH, "wp.set_module_options({'enable_backward': False, 'max_unroll': 4})"),
        body("wp.set_module_options({'enable_backward': False, 'max_unroll': 4})", LAUNCH),
        Applicability.ASK,
        id="one of two may change results: ask",
    ),
    pytest.param(
        "v = None\nif __name__ == '__main__':\n    " + LAUNCH + "\n    " + LATE + "\n",
        "v = None\nif __name__ == '__main__':\n    " + LATE + "\n    " + LAUNCH + "\n",
        Applicability.MEASURED,
        id="under the main guard",
    ),
]


@pytest.mark.parametrize(("source", "expected", "applicability"), MOVED)
def test_moved(tmp_path: Path, source: str, expected: str, applicability: Applicability) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is not None, finding.declined
    assert finding.fix.applicability is applicability
    (text,) = apply_fix(finding).values()
    assert text == HEAD + expected
    compile(text, "app.py", "exec")
    # The other way round: nothing is left to find.
    write_files(tmp_path / "after", {"app.py": text})
    assert found(tmp_path / "after", text.removeprefix(HEAD)) == []


def test_the_fix_names_the_kernels_that_must_have_no_adjoint_launched(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, body(LAUNCH, LATE))
    assert finding.fix is not None
    app = str(tmp_path / "app.py")
    assert finding.fix.needs_no_adjoint == ((app, "first"), (app, "second"))
    assert finding.fix.options == {"enable_backward"}


def test_options_of_another_file_by_a_call(tmp_path: Path) -> None:
    library = HEAD + "def configure():\n    " + LATE + "\ndef run(v):\n    " + LAUNCH + "\n"
    (finding,) = found(
        tmp_path, "import lib\ndef main(v):\n    lib.run(v)\n    lib.configure()\n", "import warp\n", lib=library
    )
    assert finding.fix is not None
    assert finding.line == 5
    assert "lib.py" in finding.message
    (text,) = apply_fix(finding).values()
    assert text.endswith("    lib.configure()\n    lib.run(v)\n")


def test_the_text_says_what_happens_and_what_is_not_proved(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, body(LAUNCH, LATE))
    assert "builds the whole module again" in finding.message
    assert "`first`" in finding.message and "line 16" in finding.message
    assert finding.fix is not None
    assert "adjoint" in finding.fix.unproved and "literals" in finding.fix.proved


def test_a_main_without_a_guard_sets_nothing_any_earlier(tmp_path: Path) -> None:
    late = body("wp.launch(first, dim=8, inputs=[v])", 'wp.set_module_options({"enable_backward": False})')
    assert len(found(tmp_path, late + "\nmain(None)\n")) == 1


# ---- through several functions

DEEP = [
    pytest.param("def low():\n    " + LATE + "\ndef mid():\n    low()\n" + body(LAUNCH, "mid()"), id="two calls deep"),
    pytest.param(
        "def low():\n    " + LATE + "\ndef mid():\n    low()\ndef high():\n    mid()\n" + body(LAUNCH, "high()"),
        id="three",
    ),
]


@pytest.mark.parametrize("source", DEEP)
def test_a_write_several_calls_deep_is_one_finding(tmp_path: Path, source: str) -> None:
    (finding,) = found(tmp_path, source)
    (text,) = apply_fix(finding).values()
    call = source.rstrip().rpartition("\n")[2]
    assert text == HEAD + source.replace(f"    {LAUNCH}\n{call}\n", f"{call}\n    {LAUNCH}\n")


SHALLOW = [
    pytest.param(
        "def low():\n    " + LATE + "\ndef mid():\n    if x:\n        low()\n" + body(LAUNCH, "mid()"), id="if"
    ),
    pytest.param(
        "def low():\n    " + LATE + "\ndef mid():\n    return\n    low()\n" + body(LAUNCH, "mid()"), id="left"
    ),
    pytest.param("def low():\n    " + LATE + "\n@d\ndef mid():\n    low()\n" + body(LAUNCH, "mid()"), id="decorated"),
    pytest.param("def low():\n    " + LATE + "\ndef mid():\n    low()\n" + body("mid()", LAUNCH), id="in time"),
    pytest.param("def low():\n    " + LATE + "\ndef low2():\n    low2()\n" + body(LAUNCH, "low2()"), id="recursion"),
]


@pytest.mark.parametrize("source", SHALLOW)
def test_silent_where_the_calls_do_not_come_to_it_for_sure(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


WARM = "def warm(v):\n    " + LAUNCH + "\n"
GO = "def go(v):\n    {}wp.launch(second, dim=8, inputs=[v])\n"


def test_a_write_among_other_things_goes_before_the_first_launch(tmp_path: Path) -> None:
    source = WARM + GO.format(LATE + "  # small\n    ") + body("x = 1", "warm(v)", "go(v)")
    (finding,) = found(tmp_path, source)
    assert finding.fix is not None and finding.fix.applicability is Applicability.MEASURED
    (text,) = apply_fix(finding).values()
    assert text == HEAD + WARM + GO.format("") + body("x = 1", LATE, "warm(v)", "go(v)")


def test_a_function_that_does_nothing_else_keeps_its_body(tmp_path: Path) -> None:
    source = "def go(n):\n    " + LATE + "\n" + body(LAUNCH, "go(v)")
    (finding,) = found(tmp_path, source)
    (text,) = apply_fix(finding).values()
    assert text == HEAD + "def go(n):\n    pass\n" + body(LATE, LAUNCH, "go(v)")


KERNELS_ELSEWHERE = """\
import warp as wp

@wp.kernel
def fill(v: wp.array(dtype=float)):
    v[wp.tid()] = 1.0
"""
SETS = 'wp.set_module_options({"fast_math": True})\n'
WRONG_MODULE = {
    "in a function": "import warp as wp\nimport kernels\ndef configure():\n    " + SETS + "configure()\n",
    "at module scope": "import warp as wp\nimport kernels\n" + SETS,
    "only functions there": "import warp as wp\n" + SETS + "@wp.func\ndef twice(x: float):\n    return 2.0 * x\n",
}
MAY_REACH = {
    "integrands start from the file's options": "import warp as wp\nimport warp.fem as fem\n" + SETS,
    "read by somebody": "import warp as wp\n" + SETS + "print(wp.get_module_options())\n",
    "another package's decorator may make kernels": "import warp as wp\nimport tools\n"
    + SETS
    + "@tools.kernel\ndef f(v: wp.array(dtype=float)):\n    v[0] = 1.0\n",
    "kernels from text": "import warp as wp\n" + SETS + "exec(open('k.txt').read())\n",
}


@pytest.mark.parametrize("source", WRONG_MODULE.values(), ids=WRONG_MODULE)
def test_options_of_a_module_without_kernels_are_reported(tmp_path: Path, source: str) -> None:
    (finding,) = found(tmp_path, source, head="", kernels=KERNELS_ELSEWHERE)
    assert finding.fix is None and "reaches no kernel: app.py creates no kernel" in finding.message


@pytest.mark.parametrize("source", MAY_REACH.values(), ids=MAY_REACH)
def test_options_that_something_may_read_are_not(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source, head="", kernels=KERNELS_ELSEWHERE) == []
