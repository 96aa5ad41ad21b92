"""Small projects from source text, for tests of the index and of the rules."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

from warpfix.codemods.compose import compose

from warpfix.config import Config
from warpfix.findings import Finding
from warpfix.index.build import ProjectIndex, build_index
from warpfix.project import discover
from warpfix.rules import run_rules

Sources = Mapping[str, "str | bytes"]


def write_files(root: Path, sources: Sources) -> Path:
    """Write files below ``root``; text is dedented. A project marker is added."""
    root.mkdir(parents=True, exist_ok=True)
    if not any(name in sources for name in ("pyproject.toml", "setup.cfg")):
        (root / "pyproject.toml").touch()
    for name, source in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(textwrap.dedent(source).encode() if isinstance(source, str) else source)
    return root


def index_of(root: Path, sources: Sources) -> ProjectIndex:
    """The index of a project with these files."""
    return build_index(discover([write_files(root, sources)])[0])


def findings_of(root: Path, sources: Sources, *, select: tuple[str, ...] = (), **options: object) -> list[Finding]:
    """What the rules find in a project with these files; no file may have a problem."""
    project = discover([write_files(root, sources)])[0]
    config: Config = project.config.override(select=select, **options)  # type: ignore[arg-type]
    findings, problems = run_rules(build_index(project, config), config)
    assert problems == []
    return findings


def apply_fix(finding: Finding) -> dict[str, str]:
    """The new text of each file that a finding's fix changes; nothing is written."""
    assert finding.fix is not None, finding.declined
    changed = {}
    for path, edits in finding.fix.edits.items():
        text = Path(path).read_bytes().decode()
        composed = compose(text, edits, path)
        assert composed.conflicts == ()
        changed[path] = composed.text
    return changed
