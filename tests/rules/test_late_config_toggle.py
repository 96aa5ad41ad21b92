"""An option that is set for some of the imports and set otherwise for the rest is set so on purpose."""

from __future__ import annotations

from pathlib import Path

from warpfix.scanning import scan_paths

KERNELS = "import warp as wp\n\n\n@wp.kernel\ndef step(a: wp.array(dtype=float)):\n    a[0] = 1.0\n"


def test_an_option_set_both_ways_at_module_scope(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\nversion = '0'\n")
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text(KERNELS)
    lines = ["wp.config.enable_backward = True", "import first", "wp.config.enable_backward = False", "import second"]
    for number, kept in enumerate((lines, lines[1:])):
        (tmp_path / "main.py").write_text("\n".join(["import warp as wp", *kept, ""]))
        result = scan_paths([tmp_path], select=["WF201"])[1]
        assert (result.problems, len(result.findings)) == ((), number)
