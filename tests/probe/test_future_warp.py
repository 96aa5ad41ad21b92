"""A Warp in which names have changed: the program runs as ever, what can be observed is, and the report says the rest."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest
from warpfix.probe import capabilities

from warpfix.measure.run import unobserved

from .conftest import Probed, stdout

PROGRAM = """
    import warp as wp

    wp.config.use_precompiled_headers = False

    @wp.kernel(enable_backward=False)
    def bump(v: wp.array(dtype=float)):
        v[wp.tid()] += 1.0

    values = wp.zeros(4, dtype=float, device="cpu")
    for _ in range(3):
        wp.launch(bump, dim=4, inputs=[values], device="cpu")
    print(values.numpy().tolist())
"""


def renamed(folder: Path, names: dict[str, str], context: str = "context") -> Path:
    """A copy of the installed Warp, by links, with names of its context module changed; returns its parent."""
    spec = importlib.util.find_spec("warp")
    assert spec is not None and spec.origin is not None
    installed = Path(spec.origin).parent
    package = folder / "site" / "warp"
    (package / "_src").mkdir(parents=True)
    for entry in installed.iterdir():
        if entry.name not in ("_src", "__pycache__"):
            (package / entry.name).symlink_to(entry)
    for entry in (installed / "_src").iterdir():
        if entry.name not in ("__pycache__", "context.py"):
            (package / "_src" / entry.name).symlink_to(entry)
    text = (installed / "_src" / "context.py").read_text()
    for old, new in names.items():
        text = re.sub(rf"\b{old}\b", new, text)
    (package / "_src" / f"{context}.py").write_text(text)
    return folder / "site"


@pytest.mark.warp
@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_names_that_are_gone_cost_only_what_they_showed(
    probed: Probed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"ModuleHasher": "ContentHasher", "_compile": "_make", "capture_launch": "replay_graph"}
    monkeypatch.setenv("PYTHONPATH", str(renamed(tmp_path, names)))
    # The package still exports the old name of one; the new Warp would not.
    (tmp_path / "site" / "warp" / "__init__.py").unlink()
    spec = importlib.util.find_spec("warp")
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).read_text().replace("capture_launch as capture_launch", "replay_graph as capture_launch")
    (tmp_path / "site" / "warp" / "__init__.py").write_text(text)
    run = probed(PROGRAM)
    assert run.exit_status == 0, Path(run.stderr_path).read_text()
    assert "[3.0, 3.0, 3.0, 3.0]" in stdout(run)
    (process,) = run.processes
    assert not process.errors
    said = " / ".join(process.unobserved)
    assert "no context.ModuleHasher.__init__: not observed: why a module was built again" in said
    assert "no context.capture_launch: not observed: launches of captured graphs" in said
    assert len(process.unobserved) == 2
    # The rest is seen as ever.
    (load,) = process.loads
    assert (load.module, load.outcome, load.cause.kind) == ("__main__", "compiled", "first-load")
    assert load.source_bytes > 0 and load.phases["native"] > 0 and load.phases["codegen"] > 0
    assert sum(load.phases.values()) == pytest.approx(load.milliseconds, rel=0.01)
    assert process.launches.total == 3


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_a_warp_of_which_nothing_is_known_is_said_to_be_one(probed: Probed) -> None:
    files = {
        "warp/__init__.py": "from warp.engine import launch",
        "warp/config.py": "version = '12.0'",
        "warp/engine.py": "def launch(): print('launched')",
    }
    run = probed("import warp, warp.config\nwarp.launch()", files=files)
    assert (run.exit_status, stdout(run)) == (0, "launched\n")
    (process,) = run.processes
    assert process.warp_version == "12.0"
    assert process.unobserved == (
        "no context: not observed: anything: this Warp is built in a way that warpfix does not know",
    )
    assert unobserved(run, ["python", "script.py"]) is None


def test_another_package_of_that_name_is_no_warp(probed: Probed) -> None:
    run = probed("import warp", files={"warp.py": "SPEED = 9"})
    assert run.processes[0].warp_version is None and run.processes[0].unobserved == ()


@pytest.mark.warp
def test_the_installed_warp_lacks_nothing() -> None:
    warp = pytest.importorskip("warp")
    context = __import__(f"{warp.__name__}._src.context", fromlist=["x"])
    modules = {
        "context": context,
        "config": warp.config,
        "build": __import__("warp._src.build", fromlist=["x"]),
        "codegen": __import__("warp._src.codegen", fromlist=["x"]),
    }
    found, missing = capabilities.look(modules)
    assert missing == []
    assert "invoke" in found
    # What every class has is not what this one defines.
    assert not capabilities.has(context, "Module.__init_subclass__")
