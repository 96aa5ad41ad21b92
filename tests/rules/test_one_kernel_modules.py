"""WF302: kernels alone in named modules; not one such kernel, a module that is mentioned elsewhere, or what differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import apply_fix, findings_of

from warpfix.findings import Applicability, Finding

KERNEL = '\n\n@wp.kernel(module="mod_NAME")\ndef NAME(a: wp.array(dtype=float)):\n    a[0] = 2.0\n'
ONE, TWO, THREE = (KERNEL.replace("NAME", name) for name in ("one", "two", "three"))
LAUNCH = "\n\ndef run(x, n):\n    wp.launch(one, dim=4, inputs=[x]ONE)\n    wp.launch(two, dim=4, inputs=[x]TWO)\n"


def found(tmp_path: Path, source: str, warp_min: str = "1.12", **others: str) -> list[Finding]:
    files = {"app.py": "import warp as wp\n" + source, **{f"{name}.py": text for name, text in others.items()}}
    return findings_of(tmp_path, files, select=("WF302",), warp_min=warp_min)


def launched(one: str, two: str) -> str:
    return LAUNCH.replace("ONE", one).replace("TWO", two)


SILENT = [
    pytest.param(ONE, id="one only"),
    pytest.param(ONE + TWO.replace("mod_two", "mod_one"), id="one module"),
    pytest.param(ONE + TWO + "\n\nwp.get_module('mod_one').options['mode'] = 'debug'\n", id="mentioned elsewhere"),
    pytest.param(ONE + TWO + "\n\nNAMES = ['mod_one']\n", id="its name is in a list"),
    pytest.param(ONE + TWO.replace("dtype=float", "dtype=wp.Any"), id="generic"),
    pytest.param(ONE + TWO.replace('module="mod_two"', "module=NAME"), id="a name from elsewhere"),
    pytest.param(ONE + TWO + "\n\nprint(one.module.name)\n", id="its module is read"),
    pytest.param("\n\ndef make():" + ONE.replace("\n", "\n    ") + TWO, id="in a function"),
    pytest.param(ONE + TWO + launched("", ", block_dim=64"), id="other block dims"),
    pytest.param(ONE + TWO + launched("", ", block_dim=n"), id="a block_dim that is not in the source"),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


def test_a_module_of_another_file_of_that_name(tmp_path: Path) -> None:
    assert found(tmp_path, ONE + TWO, mod_one="import warp as wp\n") == []


FOUND = [
    pytest.param(ONE + TWO, "app", id="two"),
    pytest.param("\nwp.set_module_options({'fast_math': True})\n" + ONE + TWO, "app.stable", id="options of the file"),
    pytest.param(ONE + TWO + launched("", ", block_dim=256"), "app", id="the default, said aloud"),
    pytest.param(ONE + TWO + launched(", block_dim=64", ", block_dim=64"), "app", id="one block_dim"),
    pytest.param(
        "\n\n@wp.kernel\ndef plain(a: wp.array(dtype=float)):\n    a[0] = 1.0\n"
        + ONE
        + TWO
        + launched(", block_dim=64", ", block_dim=64"),
        "app.stable_block64",
        id="other block dims than the file's own",
    ),
]


@pytest.mark.parametrize(("source", "landing"), FOUND)
def test_found(tmp_path: Path, source: str, landing: str) -> None:
    findings = found(tmp_path, source)
    assert [finding.kernel for finding in findings] == ["one", "two"]
    for finding in findings:
        assert finding.fix is not None and finding.fix.applicability is Applicability.MEASURED
        assert finding.data["landing"] == landing
        (text,) = apply_fix(finding).values()
        new = "" if landing == "app" else f'(module="{landing}")'
        assert text == "import warp as wp\n" + source.replace(f'(module="mod_{finding.kernel}")', new)


def test_by_block_dim(tmp_path: Path) -> None:
    """Kernels part by their block dims: two and two."""
    four = ONE + TWO + THREE + KERNEL.replace("NAME", "four")
    more = launched("", ", block_dim=64").replace("one,", "three,").replace("two,", "four,").replace("run", "more")
    findings = found(tmp_path, four + launched("", ", block_dim=64") + more)
    landings = {finding.kernel: finding.data["landing"] for finding in findings}
    assert landings == {"one": "app", "three": "app", "two": "app.stable_block64", "four": "app.stable_block64"}


def test_no_named_module_before_they_exist(tmp_path: Path) -> None:
    source = "\nwp.set_module_options({'fast_math': True})\n" + ONE + TWO
    assert found(tmp_path, source, "1.9") == []


LAUNCHER = "import warp as wp\n\n\ndef go(kernel, x, n):\n    wp.launch(kernel, dim=4, inputs=[x], block_dim=n)\n"


def test_a_launch_of_anything_counts_where_it_can_see_the_kernel(tmp_path: Path) -> None:
    """A launcher that nothing hands these kernels to says nothing of them; one that is imported may get them."""
    used = "\n\nALL = [one, two]\n"
    assert len(found(tmp_path / "apart", ONE + TWO + used, other=LAUNCHER)) == 2
    assert found(tmp_path / "near", "import other\n" + ONE + TWO + used, other=LAUNCHER) == []
