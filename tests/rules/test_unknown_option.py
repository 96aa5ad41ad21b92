"""WF203: names that Warp knows, names that it does not, and which one was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import apply_fix, findings_of

from warpfix.findings import Applicability, Finding

HEAD = "import warp as wp\n\n@wp.kernel\ndef k(v: wp.array(dtype=float)):\n    v[wp.tid()] = 1.0\n\n"


def found(tmp_path: Path, source: str, **options: object) -> list[Finding]:
    options.setdefault("warp_min", "1.19")
    return findings_of(tmp_path, {"app.py": HEAD + source}, select=("WF203",), **options)


SILENT = [
    pytest.param("wp.config.enable_backward = False\n", id="a setting"),
    pytest.param("wp.config.log_level = wp.LOG_DEBUG\n", id="a recent setting"),
    pytest.param("wp.config.verbose = True\n", id="removed: another rule"),
    pytest.param("wp.config._private = 1\n", id="a private name"),
    pytest.param("wp.set_module_options({'fast_math': True, 'max_unroll': 4, 'block_dim': 64})\n", id="options"),
    pytest.param("wp.get_module('x').options['strip_hash'] = True\n", id="into the dict"),
    pytest.param("wp.get_module('x').options.update({'fuse_fp': False})\n", id="update"),
    pytest.param("wp.set_module_options(OPTIONS)\n", id="keys that can't be read"),
    pytest.param("wp.set_module_options({NAME: 1})\n", id="a key that is a name"),
    pytest.param("config.fast_math = True\n", id="another config"),
    pytest.param("other.config.fast_math = True\n", id="of another library"),
    pytest.param("other.set_module_options({'nothing': 1})\n", id="another library's options"),
    pytest.param("def f(wp):\n    wp.config.fast_math = True\n", id="a parameter called wp"),
    pytest.param("if hasattr(wp.config, 'fast_mode'):\n    wp.config.fast_mode = 1\n", id="looks first"),
    pytest.param("if wp.__version__ > '2':\n    wp.config.new_thing = 1\n", id="looks at the version"),
    pytest.param("try:\n    wp.config.new_thing = 1\nexcept ValueError:\n    pass\n", id="tries"),
    pytest.param("wp.config.my_flag = 1\nprint(wp.config.my_flag)\n", id="a flag of its own, which it reads"),
    pytest.param("wp.config.my_flag = 1\nprint(getattr(wp.config, 'my_flag', 0))\n", id="read by getattr"),
    pytest.param("print(wp.config.fast_math)\n", id="a read"),
    pytest.param("setattr(wp.config, NAME, 1)\n", id="a computed name"),
    pytest.param("pyglet.options['debug'] = True\n", id="options of something else"),
    pytest.param("# wp.config.fast_math = True\n", id="a comment"),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


REPORTED = [
    pytest.param("wp.config.fast_math = True\n", "`fast_math` is set with `wp.set_module_options", id="of a module"),
    pytest.param("wp.config.block_dim = 64\n", "wp.set_module_options", id="block_dim"),
    pytest.param("wp.config.enable_backwards = False\n", "nearest name is `enable_backward`", id="a letter too many"),
    pytest.param("wp.config.kernel_cache_path = 'x'\n", "nearest name is `kernel_cache_dir`", id="another word"),
    pytest.param("wp.config.max_unrol = 4\n", "nearest name is `max_unroll`", id="a letter too few"),
    pytest.param("wp.set_module_options({'enable_backwards': False})\n", "`enable_backward`", id="an option's name"),
    pytest.param("wp.set_module_options(dict(fastmath=True))\n", "`fast_math`", id="dict()"),
    pytest.param("wp.get_module('x').options['maxunroll'] = 2\n", "`max_unroll`", id="into the dict"),
    pytest.param("wp.set_module_options({'log_level': 1})\n", "`wp.config.log_level`", id="a setting among options"),
    pytest.param("setattr(wp.config, 'fast_math', True)\n", "wp.set_module_options", id="setattr"),
    pytest.param("def main():\n    wp.config.fuse_fp = False\n", "wp.set_module_options", id="in a function"),
    pytest.param("from warp import config as c\nc.fast_math = True\n", "set_module_options", id="an alias"),
    pytest.param("wp.config.zebra = 1\n", "remove `zebra`", id="nothing near"),
]


@pytest.mark.parametrize(("source", "advice"), REPORTED)
def test_reported(tmp_path: Path, source: str, advice: str) -> None:
    (finding,) = found(tmp_path, source)
    assert advice in finding.advice
    assert (finding.fix is None) == (finding.declined is not None)
    assert finding.line > 6


MENDED = [
    pytest.param(
        "wp.config.enable_backwards = False  # c\n", "wp.config.enable_backward = False  # c\n", id="a setting"
    ),
    pytest.param(
        "wp.set_module_options({'enable_backwards' : False, 'mode': \"debug\"})\n",
        "wp.set_module_options({'enable_backward' : False, 'mode': \"debug\"})\n",
        id="a key among others, other bytes kept",
    ),
    pytest.param(
        "wp.set_module_options({'maxunrol': 1, 'fastmath': True})\n",
        "wp.set_module_options({'max_unroll': 1, 'fast_math': True})\n",
        id="two of them",
    ),
    pytest.param(
        "wp.get_module('x').options['maxunroll'] = 2\n", "wp.get_module('x').options['max_unroll'] = 2\n", id="a dict"
    ),
    pytest.param("setattr(wp.config, 'max_unrol', 4)\n", "setattr(wp.config, 'max_unroll', 4)\n", id="setattr"),
    pytest.param("wp.config.fast_math = FAST\n", 'wp.set_module_options({"fast_math": FAST})\n', id="of a module"),
]


@pytest.mark.parametrize(("source", "expected"), MENDED)
def test_mended_where_its_author_asks(tmp_path: Path, source: str, expected: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK
    (text,) = apply_fix(finding).values()
    assert text == HEAD + expected
    assert finding.fix.options


UNMENDED = [
    pytest.param("wp.config.block_dim = 64\n", id="the block_dim of a launch is no option of its module"),
    pytest.param("wp.config.zebra = 1\n", id="nothing near"),
    pytest.param("wp.set_module_options({'log_level': 1})\n", id="a setting among options"),
    pytest.param("wp.set_module_options(dict(fastmath=True))\n", id="dict()"),
    pytest.param("wp.set_module_options({'fastmath': 1, 'fast_math': 0})\n", id="the right name too"),
    pytest.param("wp.set_module_options({'fastmath': 1, 'zebra': 0})\n", id="one of two has no near name"),
    pytest.param("def main():\n    wp.config.fuse_fp = False\n", id="a module's option, in a function"),
    pytest.param("wp.config.max_unrol = 4; x = 1\n", id="a shared line"),
    pytest.param("from warp import config as c\nc.fast_math = True\n", id="no name for Warp"),
]


@pytest.mark.parametrize("source", UNMENDED)
def test_only_reported(tmp_path: Path, source: str) -> None:
    (finding,) = found(tmp_path, source)
    assert finding.fix is None and finding.declined


def test_a_backward_that_begins_to_be_off_needs_no_adjoint(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "wp.config.enable_backwards = False\n")
    assert finding.fix is not None and [name for _, name in finding.fix.needs_no_adjoint] == ["k"]


def test_a_late_unknown_option_is_one_finding(tmp_path: Path) -> None:
    source = (
        "def main(v):\n    wp.launch(k, dim=1, inputs=[v])\n    wp.set_module_options({'enable_backwards': False})\n"
    )
    findings = findings_of(tmp_path, {"app.py": HEAD + source}, select=("WF2",), warp_min="1.19")
    assert [item.code for item in findings] == ["WF203"]


def test_several_names_in_one_call_are_one_finding(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "wp.set_module_options({'fastmath': 1, 'unrol': 2, 'mode': 'debug'})\n")
    assert finding.data["unknown"] == ["fastmath", "unrol"]
    assert finding.data["nearest"]["fastmath"] == "fast_math"


def test_a_name_that_came_later_than_the_installed_warp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpfix.rules._versions.installed", lambda: (1, 12))
    source = "wp.config.enable_cpu_blocks = True\n"
    (finding,) = found(tmp_path, source, warp_min="1.10")
    assert "came with Warp 1.18; Warp 1.12 has no such setting" in finding.message
    assert found(tmp_path / "newer", source, warp_min="1.18") == []


@pytest.mark.warp
def test_the_names_are_those_of_the_installed_warp() -> None:
    import warp as wp

    from warpfix.rules._versions import CONFIG, MODULE_OPTIONS, installed

    here = installed()
    assert here is not None
    private = {name for name in vars(wp.config) if name.startswith("_")}
    modules = {name for name, value in vars(wp.config).items() if callable(value) or hasattr(value, "__loader__")}
    settings = set(vars(wp.config)) - private - modules
    annotated = set(getattr(wp.config, "__annotations__", {}))
    assert (annotated & settings) - private <= set(CONFIG)
    expected = {name for name, since in CONFIG.items() if since <= here}
    gone = {"verbose", "quiet"} if here >= (1, 18) else set()
    recent = {name for name, since in CONFIG.items() if since == (1, 13)}
    assert expected - gone - recent <= set(vars(wp.config)) | annotated
    options = {name for name, since in MODULE_OPTIONS.items() if since <= here}
    assert set(wp.get_module("names.only").options) <= set(MODULE_OPTIONS)
    assert options - {"cuda_output", "extra_build_options", "optimization_level"} <= set(
        wp.get_module("names.only").options
    )
