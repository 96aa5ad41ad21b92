"""``warpfix apply`` as a user meets it: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from edit_support import HEADER, dedent, make_project

LATE = """

def run(a):
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[0] = 1.0

    wp.launch(scale, dim=1, inputs=[a])
"""
SAFE = dedent(HEADER).rstrip("\n") + "\n" + LATE
MEASURED = "import warp as wp\n" + LATE + '\n\nif __name__ == "__main__":\n    run(None)\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "p", {"safe.py": SAFE, "app.py": MEASURED})


def git_apply(root: Path, diff: str) -> None:
    subprocess.run(["git", "apply"], cwd=root, input=diff.encode(), check=True)


def test_dry_run_prints_one_diff_and_writes_nothing(project: Path, run_cli) -> None:
    before = {path.name: path.read_bytes() for path in project.iterdir()}
    done = run_cli("apply", "--dry-run", cwd=project)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("--- a/safe.py\n+++ b/safe.py\n")
    assert {path.name: path.read_bytes() for path in project.iterdir()} == before
    assert "would change 1 file" in done.stderr
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    git_apply(project, done.stdout)
    again = run_cli("apply", "--dry-run", cwd=project)
    assert (again.returncode, again.stdout) == (0, "")


def test_apply_writes_what_the_dry_run_shows(project: Path, run_cli) -> None:
    done = run_cli("apply", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "safe.py:10: move `scale` to module scope" in done.stdout
    assert "run__locals__scale -> scale" in done.stdout
    assert "app.py:5 `scale` (WF101)" in done.stdout
    assert "\ndef scale(" in (project / "safe.py").read_text()
    assert (project / "app.py").read_text() == MEASURED
    assert run_cli("apply", cwd=project).stdout.startswith("nothing to change")


def test_unsafe_fixes_and_selection(project: Path, run_cli) -> None:
    assert run_cli("apply", "--ignore", "closure-kernel", "--dry-run", cwd=project).stdout == ""
    assert run_cli("apply", "--select", "WF2", "--dry-run", cwd=project).stdout == ""
    assert "+++ b/app.py" in run_cli("apply", "--unsafe-fixes", "--dry-run", cwd=project).stdout
    assert "b/safe.py" not in run_cli("apply", "app.py", "--unsafe-fixes", "--dry-run", cwd=project).stdout


def test_suppressed_kernel_stays(project: Path, run_cli) -> None:
    text = SAFE.replace(
        "    @wp.kernel\n    def scale", "    # warpfix: ignore[WF101] lazy on purpose\n    @wp.kernel\n    def scale"
    )
    (project / "safe.py").write_text(text)
    assert run_cli("apply", "--dry-run", cwd=project).stdout == ""


def test_crlf_bom_and_missing_newline_through_git(project: Path, run_cli) -> None:
    (project / "safe.py").write_bytes(b"\xef\xbb\xbf" + SAFE.replace("\n", "\r\n").rstrip().encode())
    (project / "latin.py").write_bytes(("# coding: latin-1\n# é\n" + SAFE).encode("latin-1"))
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply"],
        cwd=project,
        input=_raw_dry_run(project),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    crlf = (project / "safe.py").read_bytes()
    assert crlf.startswith(b"\xef\xbb\xbfimport warp")
    assert b"\n" not in crlf.replace(b"\r\n", b"")
    assert not crlf.endswith(b"\n")
    assert "# é" in (project / "latin.py").read_bytes().decode("latin-1")
    assert b"\ndef scale" in (project / "latin.py").read_bytes()
    assert run_cli("apply", "--dry-run", cwd=project).stdout == ""


def _raw_dry_run(project: Path) -> bytes:
    import sys

    from support import clean_environment

    command = [sys.executable, "-m", "warpfix", "apply", "--dry-run"]
    return subprocess.run(command, cwd=project, env=clean_environment(), capture_output=True).stdout


def test_json(project: Path, run_cli) -> None:
    report = json.loads(run_cli("apply", "--format", "json", cwd=project).stdout)
    assert report["keys"] == [["run__locals__scale", "scale"]]
    assert [fix["applicability"] for fix in report["fixes"]] == ["safe"]
    assert [one["rule"] for one in report["left"]] == ["closure-kernel"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing"], "no such file"),
        (["--select", "WF999"], "no rule is called"),
        (["--", "python", "app.py"], "only with --verify"),
        (["--command", "python app.py"], "--command is for --verify"),
        (["--verify"], "no command"),
        (["--verify", "--dry-run", "--format", "json", "--", "python", "app.py"], "exclude each other"),
        (["--verify", "--profile", "x.json", "--", "python", "app.py"], "exclude each other"),
        (["--timeout", "5"], "--timeout is for --verify"),
        (["--dry-run", "--target", "native"], "--target is for --verify"),
        (["--accept-stdout"], "--accept-stdout is for --verify"),
        (["--patch-for", "newton"], "no command"),
        (["--patch-for", "newton", "--dry-run", "--", "python", "app.py"], "takes no PATH, --dry-run"),
        (["--profile", "missing.json"], "missing.json"),
        (["--warp-min", "new"], "not a version"),
    ],
)
def test_a_wrong_call_is_one_line(project: Path, run_cli, arguments: list[str], words: str) -> None:
    done = run_cli("apply", *arguments, cwd=project, debug=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert (project / "safe.py").read_text() == SAFE


def test_a_file_with_a_syntax_error_is_reported_and_left(project: Path, run_cli) -> None:
    (project / "broken.py").write_text("import warp\ndef (\n")
    done = run_cli("apply", cwd=project, debug=False)
    assert done.returncode == 2
    assert "broken.py:2" in done.stderr
    assert "\ndef scale(" in (project / "safe.py").read_text()


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_a_read_only_file_stops_the_write(project: Path, run_cli) -> None:
    (project / "safe.py").chmod(0o444)
    done = run_cli("apply", cwd=project, debug=False)
    assert (done.returncode, "read-only" in done.stderr) == (2, True)
    assert (project / "safe.py").read_text() == SAFE


def test_keep_keys_says_when_it_can_t(project: Path, run_cli) -> None:
    done = run_cli("apply", "--keep-keys", "--dry-run", cwd=project)
    assert "name= needs Warp 1.17" in done.stderr
    assert "name=" not in done.stdout


# ---- commands of the project's own


def configure(project: Path, *commands: str) -> None:
    with (project / "pyproject.toml").open("a") as stream:
        stream.write(f"\n[tool.warpfix]\ncommands = {list(commands)}\n")


def test_commands_of_the_configuration_are_run(project: Path, run_cli) -> None:
    configure(project, "no-such-command --of pyproject")
    done = run_cli("apply", "--verify", cwd=project, debug=False)
    assert done.returncode == 2 and "no-such-command" in done.stderr
    done = run_cli("apply", "--verify", "--", "another-command", cwd=project, debug=False)
    assert "another-command" in done.stderr and "no-such-command" not in done.stderr
    done = run_cli("try", "-", cwd=project, debug=False, input="--- a/safe.py\n+++ b/safe.py\n")
    assert done.returncode == 2 and "no command to run" not in done.stderr


def test_commands_of_the_configuration_run_where_they_are_configured(project: Path, run_cli) -> None:
    configure(project, "python app.py")
    (project / "sub").mkdir()
    done = run_cli("apply", "--verify", cwd=project / "sub", debug=False)
    assert done.returncode == 2 and "are run from" in done.stderr


@pytest.mark.parametrize("value", ['"python app.py"', "[1]"])
def test_commands_are_a_list_of_strings(project: Path, run_cli, value: str) -> None:
    with (project / "pyproject.toml").open("a") as stream:
        stream.write(f"\n[tool.warpfix]\ncommands = {value}\n")
    done = run_cli("apply", cwd=project, debug=False)
    assert done.returncode == 2 and "commands must be a list of strings" in done.stderr


# ---- with Warp: what is proved, and not written

BETWEEN = """\
import warp as wp


def run(a):
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[0] = a[0] * 2.0

    wp.launch(scale, dim=1, inputs=[a], device="cpu")

    @wp.kernel
    def shift(a: wp.array(dtype=float)):
        a[0] = a[0] + 1.0

    wp.launch(shift, dim=1, inputs=[a], device="cpu")
    return a


"""
MAIN = 'if __name__ == "__main__":\n    print(run(wp.ones(1, dtype=float, device="cpu")).numpy().tolist())\n'


@pytest.mark.warp
def test_a_dry_run_with_verify_prints_the_proved_diff(tmp_path: Path, run_cli) -> None:
    project = make_project(tmp_path / "p", {"app.py": BETWEEN + MAIN})
    configure(project, f"{sys.executable} app.py")
    done = run_cli("apply", "--verify", "--dry-run", cwd=project)
    assert done.returncode == 1, done.stderr
    assert "proved, and not written: 1 file: builds 2 -> 1" in done.stderr
    assert done.stdout.startswith("--- a/app.py\n+++ b/app.py\n")
    assert (project / "app.py").read_text() == BETWEEN + MAIN
    assert not (project / ".warpfix").exists()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    git_apply(project, done.stdout)
    assert (project / "app.py").read_text() != BETWEEN + MAIN


@pytest.mark.warp
def test_a_patch_for_an_installed_package(tmp_path: Path, run_cli) -> None:
    site = tmp_path / "site-packages"
    make_project(site / "slowpkg", {"__init__.py": "from .steps import run as run\n", "steps.py": BETWEEN})
    (site / "slowpkg" / "pyproject.toml").unlink()
    info = site / "slowpkg-3.2.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slowpkg\nVersion: 3.2.1\n")
    (info / "top_level.txt").write_text("slowpkg\n")
    project = make_project(tmp_path / "p", {"app.py": "import warp as wp\nfrom slowpkg import run\n\n" + MAIN})
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    call = ["apply", "--select", "closure-kernel", "--patch-for"]
    command = ["--", sys.executable, "app.py"]
    env = {"PYTHONPATH": str(site)}

    done = run_cli(*call, "slowpkg", *command, cwd=project, env=env)
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before
    head, _, diff = done.stdout.partition("\n---\n")
    assert "--- a/slowpkg/steps.py" in diff
    for words in ("slowpkg 3.2.1", "app.py", "builds, cold", "held", "slowpkg/steps.py:5"):
        assert words in head, words
    copy = tmp_path / "copy"
    shutil.copytree(site, copy)
    subprocess.run(["git", "init", "-q"], cwd=copy, check=True)
    git_apply(copy, done.stdout)
    assert (copy / "slowpkg" / "steps.py").read_text() != BETWEEN

    other = run_cli(*call, "fastpkg", *command, cwd=project, env=env, debug=False)
    assert other.returncode == 2
    assert "builds no kernel of an installed package fastpkg; it builds kernels of slowpkg" in other.stderr
