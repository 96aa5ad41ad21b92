"""What a person at a terminal meets: one line for a wrong call, help with examples, completion, live progress."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import click
import pytest

from warpfix.cli import COMMANDS, cli
from warpfix.cli.progress import Progress
from warpfix.measure.read import Watch


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param("measure --bogus", "warpfix: no such option", id="option"),
        pytest.param("try", "warpfix: missing argument 'PATCH'", id="argument"),
        pytest.param("frob", "warpfix: no such command 'frob'", id="command"),
        pytest.param("measure --samples x -- y", "warpfix: invalid value for '--samples'", id="value"),
        pytest.param("budget frob", "warpfix: no such command 'frob'", id="command of a group"),
        pytest.param("completion tcsh", "warpfix: invalid value for", id="choice"),
    ],
)
def test_a_wrong_call_is_one_line_that_says_where_to_look(arguments: str, message: str, run_cli) -> None:
    done = run_cli(*arguments.split(), debug=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(message) and "--help` says how it is called)" in line


def test_nothing_at_all_is_answered_with_the_help(run_cli) -> None:
    done = run_cli(debug=False)
    assert "Commands:" in done.stdout + done.stderr


def help_pages() -> list[tuple[str, click.Command]]:
    pages = []
    for name in COMMANDS:
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        pages.append((name, command))
        if isinstance(command, click.Group):
            pages += [(f"{name} {sub}", one) for sub, one in command.commands.items()]
    return pages


PAGES = help_pages()


@pytest.mark.parametrize(("name", "command"), PAGES, ids=[name for name, _ in PAGES])
def test_help_fits_and_has_examples_that_parse(name: str, command: click.Command) -> None:
    context = click.Context(command, info_name=f"warpfix {name}", terminal_width=80, max_content_width=80)
    text = command.get_help(context)
    assert [line for line in text.splitlines() if len(line) > 80] == []
    examples = [line.strip() for line in text.splitlines() if line.strip().startswith("warpfix ") and line[2] != " "]
    assert any(f"warpfix {name}" in line for line in examples), text
    known = dict(PAGES)
    for example in examples:
        words = shlex.split(example.split(" > ")[0])[1:]
        found = known.get(" ".join(words[:2])) or known[words[0]]
        options = {option for parameter in found.params for option in parameter.opts}
        own = words[: words.index("--")] if "--" in words else words
        assert {word for word in own if word.startswith("-")} <= options, example


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, run_cli, tmp_path: Path) -> None:
    done = run_cli("completion", shell)
    assert done.returncode == 0 and "_WARPFIX_COMPLETE" in done.stdout
    if shutil.which(shell):
        (tmp_path / "script").write_text(done.stdout)
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_completion_completes(run_cli) -> None:
    for words, index, expected in (("warpfix bud", "1", "plain,budget"), ("warpfix measure --ht", "2", "plain,--html")):
        env = {"COMP_WORDS": words, "COMP_CWORD": index, "_WARPFIX_COMPLETE": "bash_complete"}
        assert run_cli(env=env).stdout.split() == [expected]


# --- live progress


def log(folder: Path, *events: dict[str, object]) -> None:
    with (folder / "1-1.jsonl").open("a") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def test_the_logs_tell_what_is_being_built(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    assert watch.idle() >= 0 and (watch.built, watch.building) == (0, [])
    log(tmp_path, {"e": "native", "source": "wp_heat.solver_0a1b2c3.cpp"})
    watch.idle()
    assert (watch.built, watch.building) == (0, ["heat.solver"])
    log(tmp_path, {"e": "native", "source": "wp_scale_deadbeef_0a1b2c3.cu"}, {"e": "native-end"})
    assert watch.idle() == 0.0
    assert (watch.built, watch.building) == (1, ["scale_deadbeef"])
    log(tmp_path, {"e": "native-end"}, {"e": "native-end"})
    watch.idle()
    assert (watch.built, watch.building) == (2, [])


def test_the_line_counts_down() -> None:
    progress = Progress(terminal=True)
    progress("run 3 of 4 (cold, about 12 s to go)")
    assert (
        progress.line(4.2, 1, ["a", "b", "c"])
        == "run 3 of 4 (cold) - 4 s - 1 build - about 8 s to go - building a, b ..."
    )
    assert "nearly there" in progress.line(13.0, 2, [])
    progress("app: run 1: as it stands, cold")
    assert progress.line(2.0, 0, []) == "app: run 1: as it stands, cold - 2 s - 0 builds"


def test_nothing_is_said_where_nobody_looks(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    progress = Progress(terminal=False)
    progress("up to 9 runs are planned")
    progress("run 1 of 2 (cold)")
    progress.watch(tmp_path, 5.0)
    progress.watch(None, 0.0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_terminal_gets_a_live_line_that_leaves_no_trace(tmp_path: Path) -> None:
    import pty

    program = "import sys, time; sys.path.insert(0, '.'); time.sleep(2.5)"
    (tmp_path / "drive.py").write_text(
        textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from warpfix.cli.progress import Progress
        from warpfix.measure.run import RunSettings, run_command
        progress = Progress()
        progress("run 1 of 2 (cold)")
        run_command([sys.executable, "-c", {program!r}], cwd=".", state="cold", workspace="w", caches="c",
            settings=RunSettings(watch=progress.watch))
        print("done", file=sys.stderr)
        """)
    )
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    env.pop("NO_COLOR", None)
    process = subprocess.Popen([sys.executable, "drive.py"], cwd=tmp_path, stderr=theirs, env=env)
    os.close(theirs)
    text = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:
            break
        if not some:
            break
        text += some
    os.close(ours)
    assert process.wait() == 0
    assert b"run 1 of 2 (cold) - " in text and b"0 builds" in text
    # The cursor is shown again, and the line erased, before what comes next.
    before, _, _ = text.partition(b"done")
    assert (
        before.rindex(b"\x1b[?25h") > before.rindex(b"run 1 of 2") and b"\x1b[2K" in before[before.rindex(b"builds") :]
    )
