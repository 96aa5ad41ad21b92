"""WF801: only lambdas, and only where Warp salts their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import findings_of

from warpfix.findings import Finding

HEAD = "import warp as wp\n\n@wp.func\ndef named(a: float):\n    return a\n\n"
LAMBDA = "def main(v):\n    return wp.map(lambda a: a * 2.0, v)\n"


def found(tmp_path: Path, source: str, warp_min: str = "1.12") -> list[Finding]:
    return findings_of(tmp_path, {"app.py": HEAD + source}, select=("WF801",), warp_min=warp_min)


SILENT = [
    pytest.param("def main(v):\n    return wp.map(named, v)\n", id="a function with a name"),
    pytest.param("def main(v):\n    return wp.map(wp.sin, v)\n", id="a function of Warp"),
    pytest.param("def main(v):\n    return map(lambda a: a, v)\n", id="the builtin"),
    pytest.param("def main(v, f):\n    return wp.map(f, v)\n", id="a parameter"),
    pytest.param("def main(v):\n    return pool.map(lambda a: a, v)\n", id="another map"),
    pytest.param(
        "def main(v):\n    if wp.config.version >= '1.17':\n        wp.map(lambda a: a, v)\n", id="looks first"
    ),
]


@pytest.mark.parametrize("source", SILENT)
def test_silent(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []


@pytest.mark.parametrize("version", ["1.7", "1.17", "1.19.0"])
def test_silent_where_names_are_not_salted(tmp_path: Path, version: str) -> None:
    assert found(tmp_path, LAMBDA, version) == []


@pytest.mark.parametrize("version", ["1.8", "1.16.1"])
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(LAMBDA, id="written out"),
        pytest.param("f = lambda a: a\ndef main(v):\n    return wp.map(f, v)\n", id="by a name"),
        pytest.param("from warp import map as over\ndef main(v):\n    return over(lambda a: a, v)\n", id="imported"),
    ],
)
def test_reported(tmp_path: Path, source: str, version: str) -> None:
    (finding,) = found(tmp_path, source, version)
    assert "1.17" in finding.message and finding.fix is None


def test_the_metadata_decides(tmp_path: Path) -> None:
    project = '[project]\nname="x"\ndependencies=["warp-lang>=1.10"]\n'
    assert findings_of(tmp_path, {"pyproject.toml": project, "app.py": HEAD + LAMBDA}, select=("WF801",))
