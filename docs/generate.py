"""The reference pages, made from the code: a hook of mkdocs, and ``python docs/generate.py FOLDER`` to read them."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from pathlib import Path
from typing import Any

import click

from warpfix import config as configuration
from warpfix.cli import cli
from warpfix.rules import all_rules

MADE = "*This page is made from the code.*"


def rules_page() -> str:
    """Each rule in full, as ``warpfix explain`` prints it."""
    parts = ["# Rules", MADE, "`warpfix rules` lists them, `warpfix explain RULE` prints one. Below, what each says."]
    for rule in all_rules():
        parts += [
            f"## {rule.code} {rule.slug}",
            rule.summary,
            rule.why,
            "Bad:",
            f"```python\n{rule.bad.rstrip()}\n```",
            "Good:",
            f"```python\n{rule.good.rstrip()}\n```",
            f"**Limits.** {rule.limits}",
            f"**Fix.** {rule.fix_safety}",
        ]
    return "\n\n".join(parts) + "\n"


def commands() -> dict[str, click.Command]:
    """Every command by what is typed: ``warpfix budget check``; groups before their commands."""
    found: dict[str, click.Command] = {}

    def visit(name: str, command: click.Command) -> None:
        found[name] = command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for child in command.list_commands(context):
                inner = command.get_command(context, child)
                if inner is not None:
                    visit(f"{name} {child}", inner)

    visit("warpfix", cli)
    return found


def commands_page() -> str:
    """The help of every command."""
    parts = ["# Commands", MADE]
    for name, command in commands().items():
        context = click.Context(
            command, info_name=name, terminal_width=80, help_option_names=["-h", "--help"], max_content_width=80
        )
        parts += [f"## {name}", f"```text\n{command.get_help(context).rstrip()}\n```"]
    parts += [
        "## Exit status",
        "0: nothing to report, or done. 1: findings, a failed check, or a verdict that is not good. 2: the call or the "
        "environment is wrong. `WARPFIX_DEBUG=1` shows tracebacks.",
    ]
    return "\n\n".join(parts) + "\n"


def documented_fields(cls: type) -> dict[str, str]:
    """The docstring below each field of a class, on one line."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            found[field.target.id] = " ".join(below.value.value.replace("``", "`").split())
    return found


def configuration_page() -> str:
    """The keys of ``[tool.warpfix]``."""
    told = documented_fields(configuration.Config)
    rows = [f"| `{key}` | {told[key.replace('-', '_')]} |" for key in configuration.KEYS]
    table = "\n".join(["| key | is |", "| --- | --- |", *rows])
    parts = [
        "# Configuration",
        MADE,
        "The table `[tool.warpfix]` in the `pyproject.toml` of the project that is scanned. An unknown key or a value "
        "of the wrong type ends the program with status 2. Options of the command line are laid over it.",
        table,
        '```toml\n[tool.warpfix]\nignore = ["WF302"]\nexclude = ["third_party"]\n'
        'commands = ["python -m app", "pytest -q tests/test_solver.py"]\n\n'
        '[tool.warpfix.per-file-ignores]\n"examples/*" = ["WF701"]\n```',
        "One finding is suppressed by a comment on its line, or above it: `# warpfix: ignore[WF101] reason`. A comment "
        "that suppresses nothing is itself reported (WF001).",
    ]
    return "\n\n".join(parts) + "\n"


PAGES = {
    "reference/rules.md": rules_page,
    "reference/commands.md": commands_page,
    "reference/configuration.md": configuration_page,
}


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs: add the pages to the site."""
    from mkdocs.structure.files import File

    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    return files


def main(folder: Path) -> None:
    """Write the pages below the folder."""
    for path, page in PAGES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
