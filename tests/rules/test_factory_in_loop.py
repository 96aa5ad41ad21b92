"""WF501: factories that run per step, those that do not, and those that can't be memoised."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import apply_fix, findings_of, index_of

from warpfix.config import Config
from warpfix.findings import Applicability, Finding
from warpfix.measure.profile import LaunchLog, ProcessRun, Profile, Run
from warpfix.rules import run_rules

MAKE = """\
import functools

import warp as wp

CACHE = {}
{decorator}
def make(order{parameters}):
{above}    @wp.kernel(module="unique")
    def k(v: wp.array(dtype=float)):
        for j in range(wp.static(order)):
            v[wp.tid()] *= 0.5
    return k

"""
LOOP = "for _ in range(50):\n    wp.launch(make(3), dim=4, inputs=[v])\n"


def program(rest: str, decorator: str = "", parameters: str = "", above: str = "") -> str:
    text = MAKE
    for name, value in (("decorator", decorator), ("parameters", parameters), ("above", above)):
        text = text.replace("{" + name + "}", value)
    return text + rest


def found(tmp_path: Path, source: str, **more: str) -> list[Finding]:
    files = {name + ".py": text for name, text in more.items()}
    return findings_of(tmp_path, {"app.py": source, **files}, select=("WF501",), warp_min="1.19")


SILENT = [
    pytest.param(program("wp.launch(make(3), dim=4, inputs=[v])\n"), id="once"),
    pytest.param(program("k = make(3)\nfor _ in range(9):\n    wp.launch(k, dim=4)\n"), id="made before the loop"),
    pytest.param(program("for n in range(4):\n    wp.launch(make(n), dim=4)\n"), id="another one each turn"),
    pytest.param(program("ALL = [make(n) for n in range(4)]\n"), id="a table of kernels"),
    pytest.param(program("ALL = {}\nfor n in range(4):\n    ALL[n] = make(3)\n"), id="kept in a dict"),
    pytest.param(program("ALL = []\nfor n in range(4):\n    ALL.append(make(3))\n"), id="kept in a list"),
    pytest.param(program(LOOP, "@functools.cache"), id="cached"),
    pytest.param(program(LOOP, "@functools.lru_cache(maxsize=None)"), id="lru_cache"),
    pytest.param(program(LOOP, above="    CACHE[order] = 1\n"), id="fills a table"),
    pytest.param(program(LOOP, "@cache_kernel"), id="a decorator that is not known"),
    pytest.param(program(LOOP, above="    if order in CACHE:\n        return CACHE[order]\n"), id="looks it up"),
    pytest.param(program(LOOP, above="    global LAST\n    LAST = order\n"), id="a global"),
    pytest.param(
        program("for n in range(9):\n    if CACHE.get(3) is None:\n        k = make(3)\n    wp.launch(k, dim=1)\n"),
        id="made if it is not there",
    ),
    pytest.param(
        program(
            "class S:\n    def __init__(self):\n        self.k = make(3)\n    def step(self):\n        wp.launch(self.k, dim=1)\n"
        ),
        id="kept by an object",
    ),
    pytest.param(
        program("def step(v):\n    wp.launch(make(3), dim=4)\nstep(1)\n"), id="a function that is called once"
    ),
    pytest.param(
        program("def step(n):\n    wp.launch(make(n), dim=4)\nfor n in range(5):\n    step(n)\n"),
        id="the loop asks for another one each turn",
    ),
    pytest.param(program("def kernel_of(n):\n    return make(n)\n"), id="handed on"),
    pytest.param(program(LOOP).replace("wp.kernel", "other.kernel"), id="another library's kernel"),
    pytest.param(
        program("for _ in range(5):\n    n = read()\n    wp.launch(make(n), dim=4)\n"),
        id="its argument is read in the loop",
    ),
    pytest.param(
        program("for step in range(5):\n    for n in range(step):\n        wp.launch(make(n), dim=4)\n"),
        id="an inner loop over something else each turn",
    ),
    pytest.param(
        program(
            "for step in range(5):\n    for n in (1, 2):\n        n = n + step\n        wp.launch(make(n), dim=4)\n"
        ),
        id="an inner loop whose name is bound again",
    ),
    pytest.param(
        "import warp as wp\n@wp.kernel\ndef k(v: int):\n    pass\ndef make(n):\n    return k\n"
        "for _ in range(5):\n    wp.launch(make(3), dim=1)\n",
        id="a function that makes nothing",
    ),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


def test_a_stable_kernel_is_hoisted_instead(tmp_path: Path) -> None:
    source = program(LOOP).replace("wp.static(order)", "3").replace('(module="unique")', "")
    assert found(tmp_path, source) == []


FIXED = [
    pytest.param(program(LOOP).replace("wp.static(order)", "3"), id="always the same, alone in its unique module"),
    pytest.param(program(LOOP), id="in the launch, in a loop"),
    pytest.param(program("for _ in range(9):\n    k = make(3)\n    wp.launch(k, dim=4)\n"), id="by a name in the loop"),
    pytest.param(
        program("def step(v):\n    wp.launch(make(3), dim=4)\nwhile True:\n    step(1)\n"), id="a called function"
    ),
    pytest.param(
        program("def step(v, n):\n    wp.launch(make(n), dim=4)\nfor _ in range(9):\n    step(1, 3)\n"),
        id="through a parameter",
    ),
    pytest.param(
        program("def step(n: int):\n    wp.launch(make(n), dim=4)\nfor _ in range(9):\n    step(N)\n"), id="annotated"
    ),
    pytest.param(program("N = 3\nfor _ in range(9):\n    wp.launch(make(N), dim=4)\n"), id="a constant"),
    pytest.param(
        program("for _ in range(9):\n    for n in (2, 3):\n        wp.launch(make(n), dim=4)\n"),
        id="the same few at each step",
    ),
    pytest.param(
        program(
            "def step(n):\n    wp.launch(make(n), dim=4)\n"
            "def main():\n    for _ in range(9):\n        for n in range(3):\n            step(n)\nif __name__ == '__main__':\n    main()\n"
        ),
        id="the same few at each step, through a function",
    ),
    pytest.param(program(LOOP, parameters=", dtype=float"), id="a type as default"),
    pytest.param(
        program("for _ in range(9):\n    wp.launch(make(3, wp.vec3), dim=4)\n", parameters=", dtype=float"), id="a type"
    ),
]


FIXED += [
    pytest.param(program("wp.config.max_unroll = 1\n" + LOOP), id="options set before anything is made"),
    pytest.param(
        program("if __name__ == '__main__':\n    wp.config.mode = 'debug'\n    for _ in range(9):\n"
        "        wp.launch(kernel=make(3), dim=4, inputs=[v])\n"),
        id="set first thing in the script",
    ),
]  # fmt: skip


@pytest.mark.parametrize("source", FIXED)
def test_memoised(tmp_path: Path, source: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is not None, finding.declined
    assert finding.fix.applicability is Applicability.MEASURED
    (text,) = apply_fix(finding).values()
    assert text == source.replace("def make(", "@functools.cache\ndef make(")
    assert found(tmp_path / "again", text) == []


DECLINED = [
    pytest.param(program("for _ in range(9):\n    wp.launch(make([1, 2]), dim=4)\n"), "not in the source", id="a list"),
    pytest.param(
        program(LOOP + "wp.launch(make(3.0), dim=4)\n"), "several types", id="3 and 3.0 are equal and differ as code"
    ),
    pytest.param(program(LOOP + "wp.launch(make(True), dim=4)\n"), "several types", id="True and 1 too"),
    pytest.param(program(LOOP + "make(*X)\n"), "star", id="arguments by a star"),
    pytest.param(program(LOOP + "other(make)\n"), "passes the factory on", id="passed on"),
    pytest.param(program(LOOP, above="    print(order)\n"), "more than make", id="prints"),
    pytest.param(
        program(LOOP, above="    o = {}\n    o['x'] = order\n"), "more than make", id="fills a dict of its own"
    ),
    pytest.param(program(LOOP, above="    x = read()\n"), "something else each time", id="reads"),
    pytest.param(
        program(LOOP, above="    order = 2 if wp.get_device().is_cpu else order\n"),
        "something else each time",
        id="asks for the device",
    ),
    pytest.param(
        program(LOOP, above="    if wp.config.verify_fp:\n        order = 2\n"),
        "something else each time",
        id="asks for a setting",
    ),
    pytest.param(
        program(LOOP, above="    order = os.environ['ORDER']\n").replace(
            "import functools", "import functools\nimport os"
        ),
        "something else each time",
        id="asks the environment",
    ),
    pytest.param(
        program(LOOP, above="    buffer = wp.zeros(3)\n"), "something else each time", id="an array of its own"
    ),
    pytest.param(program(LOOP, parameters=", *rest"), "any number", id="any number of arguments"),
    pytest.param(
        program(LOOP + "def slow():\n    wp.config.max_unroll = 1\n"), "sets options in a function", id="options"
    ),
    pytest.param(
        program(LOOP + "def slow():\n    wp.set_module_options({'max_unroll': 1})\n"), "sets options", id="of a module"
    ),
    pytest.param(
        program(LOOP + "wp.config.max_unroll = 1\n" + LOOP), "may have run", id="options between two loops of a script"
    ),
    pytest.param(
        program(LOOP + "if DEBUG:\n    wp.config.mode = 'debug'\n" + LOOP), "may have run", id="under a condition"
    ),
    pytest.param(
        program("SEEN = []\nfor _ in range(9):\n    k = make(3)\n    SEEN.append(k)\n    wp.launch(k, dim=4)\n"),
        "more with the kernel than launch it",
        id="each one is put into a list",
    ),
    pytest.param(
        program("last = None\nfor _ in range(9):\n    k = make(3)\n    print(k is last)\n    last = k\n"),
        "more with the kernel than launch it",
        id="compared",
    ),
    pytest.param(
        program("def run(k):\n    COUNT[k] = 1\nfor _ in range(9):\n    run(make(3))\n"),
        "more with the kernel than launch it",
        id="handed to a function",
    ),
    pytest.param(
        program("order_of = 1\norder_of = 2\n" + LOOP, above="    n = order_of\n"),
        "more than once",
        id="a changed global",
    ),
    pytest.param(
        program("def step(n):\n    wp.launch(make(n), dim=4)\nfor _ in range(9):\n    step(X.n)\n"),
        "not in the source",
        id="an attribute",
    ),
    pytest.param(
        "import warp as wp\nclass S:\n    @staticmethod\n    def make(n):\n        @wp.kernel(module='unique')\n"
        "        def k(v: wp.array(dtype=float)):\n            v[0] = float(wp.static(n))\n        return k\n"
        "for _ in range(9):\n    wp.launch(S.make(3), dim=1)\n",
        "a method",
        id="a method",
    ),
]


@pytest.mark.parametrize(("source", "reason"), DECLINED)
def test_declined(tmp_path: Path, source: str, reason: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is None
    assert reason in (finding.declined or "")


def test_a_function_made_by_each_call_is_not_compared_by_value(tmp_path: Path) -> None:
    source = program(
        "def step():\n    @wp.func\n    def f(x: float):\n        return x\n    wp.launch(make(f), dim=4)\n"
        "for _ in range(9):\n    step()\n"
    )
    assert all(item.fix is None for item in found(tmp_path, source))


def test_a_public_factory_of_a_library_is_asked_for(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "[project]\nname='lib'\n",
        "lib/__init__.py": "",
        "lib/solver.py": program("class S:\n    def step(self, v):\n        wp.launch(make(3), dim=4, inputs=[v])\n"),
    }
    (finding,) = findings_of(tmp_path, files, select=("WF501",), warp_min="1.19")
    assert "in every call of `step`" in finding.message
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK


def test_called_from_another_file(tmp_path: Path) -> None:
    kernels = program("def step(v):\n    wp.launch(make(3), dim=4, inputs=[v])\n")
    (finding,) = found(tmp_path, "import kern\nfor _ in range(9):\n    kern.step(1)\n", kern=kernels)
    assert finding.path.endswith("kern.py") and "of app.py calls" in finding.message


def profile_of(path: Path, line: int, times: int) -> Profile:
    made = {f"{path}:{line}": times} if times else {}
    process = ProcessRun(1, 0, (), "3", "1.19", 0.0, True, None, 1.0, (), LaunchLog(0, (), {}, ()), (), made)
    return Profile(("x",), ".", "native", (Run("cold", 0, 1.0, "", "", (process,)),))


@pytest.mark.parametrize(("times", "kept", "ran"), [(50, True, True), (0, True, False), (1, False, False)])
def test_with_a_profile(tmp_path: Path, times: int, kept: bool, ran: bool) -> None:
    source = program(LOOP)
    line = source.splitlines().index("    def k(v: wp.array(dtype=float)):") + 1
    index = index_of(tmp_path, {"app.py": source})
    findings, _ = run_rules(index, Config(select=("WF501",)), profile_of(tmp_path / "app.py", line, times))
    assert len(findings) == kept
    for finding in findings:
        assert finding.cost is not None and finding.cost.ran is ran
        assert ("50 times in the measured command" in finding.message) is ran


def test_a_method_whose_name_others_have_too_is_not_taken_for_theirs(tmp_path: Path) -> None:
    source = program(
        "class A:\n    def _step(self):\n        k = make(3)\n        wp.launch(k, dim=1)\n"
        "class B:\n    def _step(self):\n        pass\n"
        "def run(b):\n    for _ in range(9):\n        b._step()\n"
    )
    assert found(tmp_path / "two", source) == []
    assert len(found(tmp_path / "one", source.replace("class B:\n    def _step", "class B:\n    def other"))) == 1


def test_several_kernels_of_a_shared_module_are_not_kept(tmp_path: Path) -> None:
    source = program("for _ in range(9):\n    for n in (2, 3):\n        wp.launch(make(n), dim=4)\n")
    (finding,) = found(tmp_path, source.replace('(module="unique")', ""))
    assert finding.fix is None
    assert finding.declined is not None and "share a Warp module" in finding.declined
