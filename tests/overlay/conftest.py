"""A bare injector for the overlay alone: no Warp, no log, one line on a file for each ``record``."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROBE = Path(__file__).resolve().parents[2] / "probe"
OTHER_PYTHONS = ("3.8", "3.10", "3.12", "3.13")

SITECUSTOMIZE = """
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
sys.path.append(here)
from _warpfix_probe import overlay
sys.path.remove(here)
with open(os.path.join(here, "files.json"), "rb") as file:
    files = {path: text.encode("latin-1") for path, text in json.load(file).items()}
def record(path, digest):
    with open(os.path.join(here, "records.txt"), "a") as out:
        out.write(json.dumps([path, digest]) + "\\n")
overlay.install(files, record)
"""


def find_python(version: str) -> str | None:
    """An interpreter of that version that runs, or None."""
    candidates = [shutil.which(f"python{version}")]
    candidates += [str(path) for path in sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))]
    for candidate in candidates:
        if candidate:
            check = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
            done = subprocess.run(check, capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.strip() == version:
                return candidate
    return None


@dataclass
class Overlaid:
    """Runs commands in ``project`` while some files are served edited."""

    project: Path
    folder: Path
    python: str = sys.executable
    edits: dict[str, bytes] = field(default_factory=dict)

    def write(self, name: str, text: str | bytes, edited: str | bytes | None = None) -> Path:
        """Write a file of the project, and serve ``edited`` in its place if given."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        if edited is not None:
            self.edits[str(path)] = edited.encode() if isinstance(edited, str) else edited
        return path

    def run(self, *args: str | Path, overlay: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the interpreter with ``args``, under the overlay or plainly."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST_"))}
        environment.update(variables)
        if overlay:
            served = {path: data.decode("latin-1") for path, data in self.edits.items()}
            (self.folder / "files.json").write_text(json.dumps(served))
            environment["PYTHONPATH"] = str(self.folder)
        command = [self.python, *map(str, args)]
        return subprocess.run(command, cwd=self.project, env=environment, capture_output=True, text=True, timeout=120)

    def records(self) -> dict[str, list[str]]:
        """File name to what was recorded of it, in order: ``edited``, ``original`` or an unknown digest."""
        result: dict[str, list[str]] = {}
        file = self.folder / "records.txt"
        for line in file.read_text().splitlines() if file.exists() else []:
            path, digest = json.loads(line)
            known = hashlib.sha256(self.edits[path]).hexdigest()
            result.setdefault(Path(path).name, []).append("edited" if digest == known else digest)
        return result


@pytest.fixture
def overlaid(tmp_path: Path) -> Overlaid:
    """An empty project and an empty overlay, on the Python that runs the tests."""
    folder = tmp_path / "injected"
    shutil.copytree(PROBE, folder / "_warpfix_probe", ignore=shutil.ignore_patterns("__pycache__", "sitecustomize.py"))
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    project = tmp_path / "project"
    project.mkdir()
    return Overlaid(project, folder)


@pytest.fixture(scope="session")
def pythons() -> Callable[[str], str | None]:
    """Version to an interpreter, looked for once."""
    found: dict[str, str | None] = {}

    def look(version: str) -> str | None:
        if version not in found:
            found[version] = find_python(version)
        return found[version]

    return look


@pytest.fixture(params=["this", *OTHER_PYTHONS])
def each_python(
    request: pytest.FixtureRequest, overlaid: Overlaid, pythons: Callable[[str], str | None]
) -> Iterator[Overlaid]:
    """``overlaid`` on each supported Python, as far as the machine has them."""
    if request.param != "this":
        python = pythons(request.param)
        if python is None:
            pytest.skip(f"no Python {request.param} on this machine")
        overlaid.python = python
    yield overlaid
