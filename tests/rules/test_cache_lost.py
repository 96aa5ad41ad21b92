"""WF401: caches thrown away by mistake, told apart from upkeep on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import apply_fix, findings_of

from warpfix.findings import Applicability, Finding

HEAD = "import os\nimport tempfile\nimport time\n\nimport warp as wp\n\n"
TAIL = """
@wp.kernel
def k(v: wp.array(dtype=float)):
    v[wp.tid()] = 1.0

def main():
    wp.launch(k, dim=8, inputs=[wp.zeros(8)])

if __name__ == "__main__":
    main()
"""


def found(tmp_path: Path, source: str, name: str = "app.py", tail: str = TAIL) -> list[Finding]:
    return findings_of(tmp_path, {name: HEAD + source + tail}, select=("WF401",))


CLEAR = "wp.clear_kernel_cache()\n"
SILENT = [
    pytest.param("def clear_cache():\n    " + CLEAR + "clear_cache()\n", id="a maintenance function"),
    pytest.param("def reset_all():\n    " + CLEAR, id="a function that nobody calls"),
    pytest.param("def fresh():\n    " + CLEAR + "if ARGS:\n    fresh()\n", id="a function called behind a flag"),
    pytest.param("if ARGS.clear:\n    " + CLEAR, id="behind a flag"),
    pytest.param("if os.environ.get('CLEAR'):\n    " + CLEAR, id="behind a variable"),
    pytest.param("try:\n    pass\nexcept OSError:\n    " + CLEAR, id="after an error"),
    pytest.param("other.clear_kernel_cache()\n", id="another library"),
    pytest.param("def f(wp):\n    wp.clear_kernel_cache()\nf(1)\n", id="a parameter called wp"),
    pytest.param("def benchmark():\n    " + CLEAR + "benchmark()\n", id="a benchmark function"),
    pytest.param("class Tool:\n    def go(self):\n        wp.clear_kernel_cache()\n", id="a method"),
    pytest.param("hook = wp.clear_kernel_cache\n", id="not called"),
    pytest.param("later = lambda: wp.clear_kernel_cache()\n", id="a lambda"),
    pytest.param("wp.config.kernel_cache_dir = os.path.expanduser('~/.cache/app')\n", id="a folder in the home"),
    pytest.param("wp.config.kernel_cache_dir = ARGS.cache\n", id="a folder from a flag"),
    pytest.param("wp.config.kernel_cache_dir = os.path.join(tempfile.gettempdir(), 'app')\n", id="the temporary root"),
    pytest.param("wp.config.kernel_cache_dir = os.environ['CACHE']\n", id="a folder from a variable"),
    pytest.param("if ARGS:\n    wp.config.kernel_cache_dir = tempfile.mkdtemp()\n", id="a fresh folder, if asked"),
    pytest.param(
        "def isolated():\n    wp.config.kernel_cache_dir = tempfile.mkdtemp()\n    yield\n", id="a context manager"
    ),
    pytest.param(
        "OLD = wp.config.kernel_cache_dir\nwp.config.kernel_cache_dir = tempfile.mkdtemp()\n"
        "wp.config.kernel_cache_dir = OLD\n",
        id="put back",
    ),
    pytest.param(
        "wp.init()\nOLD = wp.config.kernel_cache_dir\nwp.config.kernel_cache_dir = '/x'\n"
        "wp.config.kernel_cache_dir = OLD\n",
        id="a folder that stays, put back",
    ),
    pytest.param("wp.config.kernel_cache_dir = '/x'\nwp.init()\n", id="a folder in time"),
    pytest.param("later = lambda: wp.zeros(4)\nwp.config.kernel_cache_dir = '/x'\n", id="an array later"),
    pytest.param("cache_dir = tempfile.mkdtemp()\n", id="a folder for something else"),
    pytest.param("wp.config.cache_kernels = True\n", id="the cache left on"),
    pytest.param("wp.config.cache_kernels = ARGS.cache\n", id="the cache by a flag"),
    pytest.param("wp.config.verify_autograd_array_access = False\n", id="the check off"),
    pytest.param("if DEBUG:\n    wp.config.verify_autograd_array_access = True\n", id="the check while debugging"),
    pytest.param("os.environ['WARP_CACHE_PATH'] = '/var/cache/app'\nwp.init()\n", id="the variable in time"),
    pytest.param("os.environ['CUDA_CACHE_DISABLE'] = '0'\n", id="not disabled"),
    pytest.param("os.environ['OTHER'] = tempfile.mkdtemp()\n", id="another variable"),
    pytest.param("env['WARP_CACHE_PATH'] = tempfile.mkdtemp()\n", id="the environment of a child"),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


@pytest.mark.parametrize(
    "name",
    ["benchmarks/run.py", "bench_solver.py", "tests/test_x.py", "tools/clear.py", "perf_step.py", "asv/suite.py"],
)
def test_silent_in_benchmarks_tools_and_tests(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, CLEAR, name) == []


def test_silent_in_tests_even_if_they_are_asked_for(tmp_path: Path) -> None:
    files = {"tests/test_x.py": HEAD + CLEAR + TAIL}
    assert findings_of(tmp_path, files, select=("WF401",), include_tests=True) == []


def test_a_script_that_only_clears_is_a_tool(tmp_path: Path) -> None:
    assert found(tmp_path, CLEAR, tail="") == []


REPORTED = [
    pytest.param(CLEAR, "cleared", id="at import"),
    pytest.param("wp.clear_lto_cache()\n", "cleared", id="linked code"),
    pytest.param("def setup():\n    " + CLEAR + "setup()\n", "cleared", id="in a function that always runs"),
    pytest.param("with wp.ScopedDevice('cpu'):\n    " + CLEAR, "cleared", id="in a with"),
    pytest.param("from warp import clear_kernel_cache as wipe\nwipe()\n", "cleared", id="another name"),
    pytest.param("wp.config.kernel_cache_dir = tempfile.mkdtemp()\n", "kernel_cache_dir", id="a random folder"),
    pytest.param("D = tempfile.mkdtemp()\nwp.config.kernel_cache_dir = D\n", "kernel_cache_dir", id="through a name"),
    pytest.param(
        "wp.config.kernel_cache_dir = f'/tmp/run_{time.time()}'\n", "kernel_cache_dir", id="a time stamp in a string"
    ),
    pytest.param(
        "wp.config.kernel_cache_dir = os.path.join('/tmp', str(os.getpid()))\n", "kernel_cache_dir", id="the process"
    ),
    pytest.param(
        "with tempfile.TemporaryDirectory() as d:\n    wp.config.kernel_cache_dir = d\n", "kernel_cache_dir", id="with"
    ),
    pytest.param("import uuid\nwp.config.kernel_cache_dir = '/x/' + uuid.uuid4().hex\n", "kernel_cache_dir", id="uuid"),
    pytest.param("os.environ['WARP_CACHE_PATH'] = tempfile.mkdtemp()\n", "kernel_cache_dir", id="by the variable"),
    pytest.param("wp.config.cache_kernels = False\n", "cache_kernels", id="switched off"),
    pytest.param("wp.config.verify_autograd_array_access = True\n", "verify_autograd_array_access", id="the check"),
    pytest.param("wp.init()\nos.environ['WARP_CACHE_PATH'] = '/x'\n", "late path", id="after init"),
    pytest.param("wp.init()\nwp.config.kernel_cache_dir = '/x'\n", "late folder", id="a folder after init"),
    pytest.param(
        "A = 2 * wp.zeros(4)\nwp.config.kernel_cache_dir = '/x'\n", "late folder", id="a folder after an array"
    ),
    pytest.param("os.environ['CUDA_CACHE_DISABLE'] = '1'\n", "driver cache", id="the driver's cache"),
    pytest.param("os.environ.setdefault('CUDA_CACHE_DISABLE', '1')\n", "driver cache", id="setdefault"),
]


@pytest.mark.parametrize(("source", "kind"), REPORTED)
def test_reported(tmp_path: Path, source: str, kind: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.data["kind"] == kind
    if kind in ("late path", "late folder"):
        assert finding.fix is None
    else:
        expected = Applicability.MEASURED if kind == "cleared" else Applicability.ASK
        assert finding.fix is not None and finding.fix.applicability is expected


REMOVED = [
    pytest.param("wp.config.kernel_cache_dir = tempfile.mkdtemp()  # fresh\n", "", id="a folder"),
    pytest.param("D = tempfile.mkdtemp()\nwp.config.kernel_cache_dir = D\n", "D = tempfile.mkdtemp()\n", id="a name"),
    pytest.param(
        "with tempfile.TemporaryDirectory() as d:\n    wp.config.kernel_cache_dir = d\n",
        "with tempfile.TemporaryDirectory() as d:\n    pass\n",
        id="alone in a block",
    ),
    pytest.param("os.environ['WARP_CACHE_PATH'] = tempfile.mkdtemp()\n", "", id="a variable"),
    pytest.param("wp.config.verify_autograd_array_access = True\n", "", id="a check"),
]


@pytest.mark.parametrize(("source", "left"), REMOVED)
def test_a_setting_is_removed_where_its_owner_asks(tmp_path: Path, source: str, left: str) -> None:
    (finding,) = found(tmp_path, source)
    (text,) = apply_fix(finding).values()
    assert text == (HEAD + left + TAIL).replace("\n\n\n", "\n\n")


@pytest.mark.parametrize(
    "source", ["wp.config.cache_kernels = False; x = 1\n", "x = wp.config.cache_kernels = False\n"]
)
def test_a_setting_that_is_part_of_more_stays(tmp_path: Path, source: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is None and finding.declined


def test_in_main(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "", tail=TAIL.replace("def main():\n", "def main():\n    wp.clear_kernel_cache()\n"))
    (text,) = apply_fix(finding).values()
    assert text == HEAD + TAIL


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("x = 1\nwp.clear_kernel_cache()  # left over\n", "x = 1\n", id="with its comment"),
        pytest.param("x = 1\n\nwp.clear_kernel_cache()\n\ny = 2\n", "x = 1\n\ny = 2\n", id="one gap stays"),
        pytest.param(
            "if True:\n    x = 1\nwp.clear_kernel_cache()\ny = 2\n", "if True:\n    x = 1\ny = 2\n", id="tight"
        ),
    ],
)
def test_removed(tmp_path: Path, source: str, expected: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is not None and finding.fix.applicability is Applicability.MEASURED
    (text,) = apply_fix(finding).values()
    assert text == HEAD + expected + TAIL


@pytest.mark.parametrize("source", ["wp.clear_kernel_cache(); x = 1\n", "x = [wp.clear_kernel_cache()]\n"])
def test_declined(tmp_path: Path, source: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is None and finding.declined
