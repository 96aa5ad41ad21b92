"""What users install, and that the project's own papers agree with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import warpfix
from warpfix._version import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHECKOUT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_folder_of_code_is_packaged() -> None:
    """A new sub-package that pyproject does not name would be missing from the wheel only."""
    mapping = {"warpfix": "warpfix", "codemods": "warpfix.codemods", "probe": "warpfix.probe"}
    folders = set()
    for folder, package in mapping.items():
        for path in (CHECKOUT / folder).rglob("*.py"):
            relative = path.parent.relative_to(CHECKOUT / folder)
            folders.add(".".join([package, *relative.parts]))
    assert folders | {"warpfix.sample_projects"} == set(PYPROJECT["tool"]["setuptools"]["packages"])


def test_the_version_stands_in_one_place() -> None:
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PYPROJECT["project"]
    # Assigned once; the package, the wheel and the command line take it from there.
    writers = [
        path.name
        for path in CHECKOUT.joinpath("warpfix").rglob("*.py")
        if re.search(r"^__version__\s*=", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert writers == ["_version.py"]
    assert warpfix.__version__ == __version__


def test_the_changelog_knows_the_version() -> None:
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[?([^\]\s]+)\]?", text, re.MULTILINE)
    assert headings[0] in ("Unreleased", __version__)


def test_version_option(run_cli) -> None:
    result = run_cli("--version")
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, f"warpfix, version {__version__}", "")


def test_warp_is_an_extra() -> None:
    assert not any(requirement.startswith("warp-lang") for requirement in PYPROJECT["project"]["dependencies"])
    assert PYPROJECT["project"]["optional-dependencies"]["warp"] == ["warp-lang>=1.7"]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # From a copy: a build leaves its traces in the folder that it builds.
    source, out = tmp_path_factory.mktemp("source") / "warpfix", tmp_path_factory.mktemp("dist")
    traces = (".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".warpfix")
    shutil.copytree(CHECKOUT, source, ignore=shutil.ignore_patterns(*traces))
    build = [sys.executable, "-m", "build", "--outdir", str(out), str(source)]
    result = subprocess.run(build, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    # Setuptools warns of a packaging that will stop to work.
    assert "deprecat" not in (result.stdout + result.stderr).lower()
    return out


@pytest.mark.slow
def test_the_wheel_installs_one_package(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"warpfix", f"warpfix-{__version__}.dist-info"}
    for expected in (
        "warpfix/py.typed",
        "warpfix/codemods/base.py",
        "warpfix/probe/__init__.py",
        f"warpfix-{__version__}.dist-info/licenses/LICENSE",
    ):
        assert expected in names
    assert not [name for name in names if re.search(r"(^|/)(tests/|test_|conftest)|\.pyc$", name)]


@pytest.mark.slow
def test_the_wheel_carries_the_samples(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    prefix = "warpfix/sample_projects/"
    packed = {name.removeprefix(prefix) for name in zipfile.ZipFile(wheel).namelist() if name.startswith(prefix)}
    folder = CHECKOUT / "sample_projects"
    tracked = {
        path.relative_to(folder).as_posix()
        for pattern in ("*.py", "EXPECT.md", "pyproject.toml")
        for path in folder.rglob(pattern)
        if ".warpfix" not in path.parts
    }
    assert packed == tracked


@pytest.mark.slow
def test_the_source_distribution_can_be_tested(distributions: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"LICENSE", "CHANGELOG.md", "pyproject.toml", "tests/conftest.py", "probe/__init__.py"} <= names
