"""WF201: what is silent, what is only reported, what is moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_support import apply_fix, findings_of, write_files

from warpfix.findings import Applicability, Finding

KERNELS = "import warp as wp\n\n@wp.kernel\ndef k(v: wp.array(dtype=float)):\n    v[wp.tid()] = 1.0\n\ndef run(v):\n    wp.launch(k, dim=1, inputs=[v])\n"
SET = "wp.config.enable_backward = False"
MAIN = 'if __name__ == "__main__":\n    flow.run(None)\n'


def found(tmp_path: Path, app: str, **files: str) -> list[Finding]:
    sources = {
        "flow.py": KERNELS,
        **{name.replace("__", "/") + ".py": text for name, text in files.items()},
        "app.py": app,
    }
    return [item for item in findings_of(tmp_path, sources) if item.code == "WF201"]


SILENT = [
    pytest.param(f"import warp as wp\n{SET}\nimport flow\n{MAIN}", id="between import warp and the library: right"),
    pytest.param(f"import warp as wp\n{SET}\n@wp.kernel\ndef k(): pass\n", id="above the kernels of the file"),
    pytest.param(f"import warp as wp\nimport numpy\n{SET}\n", id="no kernel above"),
    pytest.param(f"import warp as wp\nimport tools\n{SET}\n", id="a project module without kernels above"),
    pytest.param(f"import warp as wp\nimport sets_itself\n{SET}\n", id="the module says itself what it wants"),
    pytest.param(f"import warp as wp\nimport named\n{SET}\n", id="every kernel says itself what it wants"),
    pytest.param(f"import warp as wp\nimport lazy\n{SET}\nlazy.make()\n", id="kernels that are made later"),
    pytest.param("import warp as wp\nimport flow\nwp.config.enable_backward = True\n", id="the default"),
    pytest.param("import warp as wp\nimport flow\nwp.config.log_level = 10\n", id="logging"),
    pytest.param(
        "import warp as wp\nimport flow\nwp.config.verbose = True\nwp.config.quiet = True\n", id="removed logging"
    ),
    pytest.param("import warp as wp\nimport flow\nwp.config.kernel_cache_dir = '/x'\n", id="a path"),
    pytest.param(
        "import warp as wp\nimport flow\nwp.config.print_launches = True\n", id="a setting that is read at use"
    ),
    pytest.param("import warp as wp\nimport flow\nwp.config.fast_math = True\n", id="a name that is no setting"),
    pytest.param("import warp as wp\nimport flow\nwp.config.enable_cpu_blocks = True\n", id="read at use"),
    pytest.param("import warp as wp\nimport flow\nwp.config.mode = 'debug'\n", id="hash-time, before any launch"),
    pytest.param(
        "import warp as wp\nimport flow\ntry:\n    wp.config.enable_backward = False\n    flow.run(None)\nfinally:\n    wp.config.enable_backward = True\n",
        id="try/finally",
    ),
    pytest.param(
        "import warp as wp\nimport flow\ndef f():\n    old = wp.config.enable_backward\n    wp.config.enable_backward = False\n    flow.run(None)\n    wp.config.enable_backward = old\n",
        id="save and restore",
    ),
    pytest.param(
        f"import warp as wp\nimport flow\nclass C:\n    def __init__(self):\n        {SET}\n",
        id="a method: who calls it when is not known",
    ),
    pytest.param(
        f"import warp as wp\nimport setter\nimport flow\n{MAIN}", id="a function that is called at import, in a library"
    ),
    pytest.param(
        f"import warp as wp\ndef f():\n    {SET}\n    import flow\n    flow.run(None)\nf()\n",
        id="import in the function, below",
    ),
    pytest.param(
        f"import warp as wp\nif __name__ == '__main__':\n    {SET}\n    import flow\n",
        id="import under the guard, below",
    ),
    pytest.param(
        f"from typing import TYPE_CHECKING\nimport warp as wp\nif TYPE_CHECKING:\n    import flow\n{SET}\n",
        id="import for type checkers",
    ),
    pytest.param(f"import warp as wp\n{SET}\nimport flow\n{SET}\n", id="the same value again"),
    pytest.param("import warp as wp\nimport flow\nother.config.enable_backward = False\n", id="another config"),
    pytest.param(
        "import warp as wp\nimport flow\ndef f(wp):\n    wp.config.enable_backward = False\n",
        id="a parameter called wp",
    ),
    pytest.param("import warp as wp\nimport flow\nwp.config.enable_backward == False\n", id="a comparison"),
]

LIBRARY = {
    "tools": "import warp as wp\nSIZE = 3\n",
    "sets_itself": "import warp as wp\nwp.set_module_options({'enable_backward': True})\n@wp.kernel\ndef k(): pass\n",
    "named": "import warp as wp\n@wp.kernel(enable_backward=True)\ndef k(): pass\n",
    "lazy": "import warp as wp\ndef make():\n    @wp.kernel\n    def k(): pass\n    return k\n",
    "setter": "import warp as wp\ndef configure():\n    wp.config.enable_backward = False\nconfigure()\nimport flow\n",
}


@pytest.mark.parametrize("app", SILENT)
def test_silent(tmp_path: Path, app: str) -> None:
    used = {name: text for name, text in LIBRARY.items() if name in app}
    assert found(tmp_path, app, **used) == []


REPORTED = [
    pytest.param(
        f"import flow\nimport warp as wp\n{SET}\n{MAIN}",
        "Warp is imported only below",
        id="warp is imported below the kernels",
    ),
    pytest.param(
        f"import warp as wp\nimport flow\nif wp:\n    {SET}\n{MAIN}", "under a condition", id="under a condition"
    ),
    pytest.param(
        f"import warp as wp\nimport flow\ndef main(x):\n    if x:\n        return\n    {SET}\n"
        "if __name__ == '__main__':\n    main(1)\n",
        "may be left before",
        id="in main(), behind a way out",
    ),
    pytest.param(
        f"import warp as wp\nimport flow\ndef fast():\n    {SET}\ndef main(x):\n    if x:\n        fast()\n"
        "if __name__ == '__main__':\n    main(1)\n",
        "is not called at every start",
        id="in a function that a condition calls",
    ),
    pytest.param(
        "import flow\nimport warp as wp\ndef main():\n    wp.config.lineinfo = True\nif __name__ == '__main__':\n    main()\n",
        "Warp is imported only below",
        id="in main(), and warp is imported below the kernels",
    ),
    pytest.param(
        f"import warp as wp\nimport click\nimport flow\n@click.command()\ndef main():\n    {SET}\n"
        "if __name__ == '__main__':\n    main()\n",
        "is decorated",
        id="in a main() that is decorated",
    ),
    pytest.param(
        "import warp as wp\nfrom flow import ON\nfrom warp import config as c\nc.lineinfo = ON\n" + MAIN,
        "which it uses, is bound only further down",
        id="a name for both",
    ),
    pytest.param(
        "import warp as wp\nimport flow\nwp.config.max_unroll = 2 * 4\n" + MAIN, "literal", id="a computed value"
    ),
    pytest.param(
        "import warp as wp\nimport flow\nprint(wp.config.lineinfo)\nwp.config.lineinfo = True\n" + MAIN,
        "reads or sets",
        id="read in between",
    ),
    pytest.param(
        "import warp as wp\nimport sys\nimport flow\nif len(sys.argv) > 9:\n    sys.exit()\nwp.config.lineinfo = True\n"
        + MAIN,
        "may end the program",
        id="an exit in between",
    ),
    pytest.param(f"import warp as wp\nimport flow\nx = 1; {SET}\n{MAIN}", "shares a line", id="shares its line"),
]


@pytest.mark.parametrize(("app", "reason"), REPORTED)
def test_reported_without_a_fix(tmp_path: Path, app: str, reason: str) -> None:
    (finding,) = found(tmp_path, app)
    assert finding.fix is None
    assert finding.declined is not None and reason in finding.declined


REWRITTEN = [
    pytest.param(
        "def main():\n    wp.config.lineinfo = True\n    flow.run(None)\nmain()\n",
        "def main():\n    flow.run(None)\nmain()\n",
        id="in main()",
    ),
    pytest.param(
        "def fast():\n    wp.config.lineinfo = True\ndef main():\n    fast()\n    flow.run(None)\nif __name__ == '__main__':\n    main()\n",
        "def fast():\n    pass\ndef main():\n    fast()\n    flow.run(None)\nif __name__ == '__main__':\n    main()\n",
        id="in a function that main() calls",
    ),
    pytest.param(
        "if __name__ == '__main__':\n    wp.config.lineinfo = True\n    flow.run(None)\n",
        "if __name__ == '__main__':\n    flow.run(None)\n",
        id="under the main guard",
    ),
    pytest.param("setattr(wp.config, 'lineinfo', True)\n" + MAIN, MAIN, id="setattr"),
    pytest.param(
        "import warp.config as c\nc.lineinfo = True\n" + MAIN, "import warp.config as c\n" + MAIN, id="a short name"
    ),
    pytest.param(
        "from warp import config\nconfig.lineinfo = True\n" + MAIN, "from warp import config\n" + MAIN, id="by itself"
    ),
]


@pytest.mark.parametrize(("app", "left"), REWRITTEN)
def test_written_anew_above_the_import(tmp_path: Path, app: str, left: str) -> None:
    head = "import warp as wp\nimport flow\n"
    (finding,) = found(tmp_path, head + app)
    assert finding.fix is not None and finding.fix.applicability is Applicability.ASK
    (text,) = apply_fix(finding).values()
    assert text == "import warp as wp\nwp.config.lineinfo = True\n\nimport flow\n" + left


def test_library_code_is_only_reported(tmp_path: Path) -> None:
    project = {
        "pyproject.toml": "[project]\nname = 'lib'\nversion = '1'\n",
        "lib/__init__.py": "from lib import flow\nimport warp as wp\nwp.config.enable_backward = False\n",
        "lib/flow.py": KERNELS,
    }
    (finding,) = findings_of(tmp_path, project)
    assert finding.fix is None
    assert finding.declined is not None and "library code" in finding.declined


CONFIGURE = "import warp.config\n\ndef configure(fast=True):\n    setattr(warp.config, 'enable_backward', not fast)\n"


@pytest.mark.parametrize(
    ("app", "late"),
    [
        ("import flow\nfrom settings import configure\nif __name__ == '__main__':\n    configure()\n", 1),
        (
            "import flow\nimport settings\ndef main():\n    settings.configure()\n    flow.run(None)\nif __name__ == '__main__':\n    main()\n",
            1,
        ),
        ("import settings\nsettings.configure()\nimport flow\nflow.run(None)\n", 0),
        ("import settings\nsettings.configure()\nimport flow\nsettings.configure()\nflow.run(None)\n", 0),
        ("import flow\nimport settings\ndef main():\n    flow.run(None)\n", 0),
    ],
    ids=["under the guard", "in main", "above the import", "once in time", "never called"],
)
def test_set_by_a_function_of_another_file(tmp_path: Path, app: str, late: int) -> None:
    items = found(tmp_path, app, settings=CONFIGURE)
    assert len(items) == late
    for item in items:
        assert item.path.endswith("settings.py") and item.line == 4
        assert item.fix is None and item.declined is not None
        assert "flow.py" in item.message and "line 1 of app.py" in item.message


MOVED = [
    pytest.param(
        f"import warp as wp\nimport flow\n{SET}\n{MAIN}",
        f"import warp as wp\n{SET}\nimport flow\n{MAIN}",
        id="above the import that it misses",
    ),
    pytest.param(
        f"import numpy\nimport warp as wp\n\nimport other\nimport flow\n\n# Never differentiated.\n{SET}\n\n{MAIN}",
        f"import numpy\nimport warp as wp\n\nimport other\n# Never differentiated.\n{SET}\n\nimport flow\n\n{MAIN}",
        id="with its comment and its blank line, below other imports",
    ),
    pytest.param(
        f"import warp as wp\nfrom flow import (\n    k,\n    run,\n)\n{SET}\nif __name__ == '__main__':\n    run(None)\n",
        f"import warp as wp\n{SET}\nfrom flow import (\n    k,\n    run,\n)\nif __name__ == '__main__':\n    run(None)\n",
        id="above an import of several lines",
    ),
    pytest.param(
        f"import warp as wp\nimport through\n{SET}\nif __name__ == '__main__':\n    through.flow.run(None)\n",
        f"import warp as wp\n{SET}\nimport through\nif __name__ == '__main__':\n    through.flow.run(None)\n",
        id="missed through another module",
    ),
    pytest.param(
        f"import warp as wp\n\n@wp.kernel\ndef k(): pass\n\n{SET}\nif __name__ == '__main__':\n    wp.launch(k, dim=1)\n",
        f"import warp as wp\n\n{SET}\n@wp.kernel\ndef k(): pass\n\nif __name__ == '__main__':\n    wp.launch(k, dim=1)\n",
        id="above the file's own kernels",
    ),
    pytest.param(
        f"import warp as wp\ntry:\n    import flow\nexcept ImportError:\n    flow = None\n{SET}\n{MAIN}",
        f"import warp as wp\n{SET}\ntry:\n    import flow\nexcept ImportError:\n    flow = None\n{MAIN}",
        id="above a guarded import",
    ),
    pytest.param(
        "import warp as wp\nimport flow\nwp.config.deterministic = wp.DeterministicMode.RUN_TO_RUN\n" + MAIN,
        "import warp as wp\nwp.config.deterministic = wp.DeterministicMode.RUN_TO_RUN\nimport flow\n" + MAIN,
        id="a value of an enumeration",
    ),
    pytest.param(
        "import warp as wp\nimport flow\nflow.run(None)\nwp.config.mode = 'debug'\nflow.run(None)\n",
        "import warp as wp\nimport flow\nwp.config.mode = 'debug'\nflow.run(None)\nflow.run(None)\n",
        id="read at the first hash: above the launch",
    ),
]


@pytest.mark.parametrize(("app", "expected"), MOVED)
def test_moved(tmp_path: Path, app: str, expected: str) -> None:
    more = {"other": "import numpy\n", "through": "import flow\n"}
    (finding,) = found(tmp_path, app, **more)
    assert finding.fix is not None, finding.declined
    assert finding.fix.applicability is Applicability.ASK
    (text,) = apply_fix(finding).values()
    assert text == expected
    compile(text, "app.py", "exec")
    write_files(tmp_path / "after", {"app.py": text})
    assert found(tmp_path / "after", text, **more) == []


def test_imports_below_get_noqa_where_the_project_lints_for_it(tmp_path: Path) -> None:
    sources = {
        "pyproject.toml": "[tool.ruff]\nline-length = 100\n",
        "flow.py": KERNELS,
        "app.py": f"import warp as wp\n\nimport flow\nimport sys  # noqa: F401\n\n{SET}\n\n{MAIN}",
    }
    (finding,) = findings_of(tmp_path, sources)
    (text,) = apply_fix(finding).values()
    assert text == f"import warp as wp\n\n{SET}\n\nimport flow  # noqa: E402\nimport sys  # noqa: F401\n\n{MAIN}"


def test_the_text_names_what_is_missed_and_why(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, f"import warp as wp\nimport flow\n{SET}\n{MAIN}")
    assert "the kernels of flow.py" in finding.message and "line 2" in finding.message
    assert finding.data["missed"] == ["flow"]
    assert finding.data["kernels"] == [[str(tmp_path / "flow.py"), "k"]]
    assert finding.fix is not None and "never acted" in finding.fix.unproved
