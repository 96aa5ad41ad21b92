"""The loader of a frozen module is a class that all frozen modules share: waiting for one must not break the others."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

PROBE = Path(__file__).resolve().parents[2] / "probe"

PROGRAM = """
    import importlib.machinery, sys, types
    package = types.ModuleType("package")
    package.__path__ = [{probe!r}]
    sys.modules["package"] = package
    from package import importing
    for name in ("runpy", "ntpath"):
        sys.modules.pop(name, None)
    before = vars(importlib.machinery.FrozenImporter)["exec_module"]
    seen = []
    importing.when_executed(("runpy",), lambda module: seen.append(module.__name__) or True)
    import runpy
    import ntpath
    assert seen == ["runpy"], seen
    assert vars(importlib.machinery.FrozenImporter)["exec_module"] is before
"""


def test_the_next_frozen_module_can_be_imported() -> None:
    program = textwrap.dedent(PROGRAM).format(probe=str(PROBE))
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
