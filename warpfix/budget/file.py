"""The budget file: TOML, written so that comments and order survive, and a change of it reads well in a diff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpfix.budget.counts import TOLERANCE, TOTALS, Counts
from warpfix.errors import WarpfixError

NAME = "warpfix-budget.toml"
VERSION = 1
_HEAD = """\
What each command may build at most. `warpfix budget check` runs them and compares; `warpfix budget write` counts
anew. A number that is taken out is not checked.
"""
OPTIONS = (
    "target",
    "stop_after_launches",
    "stop_after_seconds",
    "stop_when_idle",
    "timeout",
    "prepare",
    "cleanup",
    "expect_status",
)
"""How a command is run, where that is not the default."""


@dataclass(frozen=True)
class Entry:
    """One command with its budget."""

    name: str
    run: tuple[str, ...]
    cwd: str
    """Relative to the file's folder."""
    options: Mapping[str, Any]
    counts: Counts
    tolerance: float = TOLERANCE


@dataclass(frozen=True)
class Budget:
    """A file's entries, by name."""

    path: Path
    entries: Mapping[str, Entry] = field(default_factory=dict)


def read(path: Path) -> Budget:
    """Read a budget file.

    Raises:
        WarpfixError: It can't be read, or is no budget.
    """
    document = _parse(path)
    entries = {}
    for name, table in document.get("command", {}).items():
        try:
            entries[name] = _entry(name, table, float(document.get("tolerance", TOLERANCE)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WarpfixError(f"{path}: [command.{name}] is damaged: {type(error).__name__}: {error}") from error
    return Budget(path, entries)


def _parse(path: Path) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WarpfixError(f"can't read {path}: {error.strerror or error}") from error
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise WarpfixError(f"{path} is no TOML: {error}") from error
    version = document.get("version")
    if version != VERSION:
        raise WarpfixError(f"{path} is a budget of version {version}; this warpfix knows {VERSION}")
    if not isinstance(document.get("command", {}), Mapping):
        raise WarpfixError(f"{path} is no budget: 'command' is no table")
    return document


def _entry(name: str, table: Mapping[str, Any], tolerance: float) -> Entry:
    run = tuple(str(word) for word in table["run"])
    if not run:
        raise ValueError("'run' is empty")
    modules = {
        str(module): {str(cause): int(number) for cause, number in causes.items()}
        for module, causes in table.get("modules", {}).items()
    }
    return Entry(
        name=name,
        run=run,
        cwd=str(table.get("cwd", ".")),
        options={option: _plain(table[option]) for option in OPTIONS if option in table},
        counts=Counts(
            {total: int(table[total]) for total in TOTALS if total in table},
            modules,
            str(table.get("warp", "")),
            tuple(str(one) for one in table.get("built_for", ())),
        ),
        tolerance=float(table.get("tolerance", tolerance)),
    )


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value


def updated(path: Path, entry: Entry) -> str:
    """The file's text with one entry put in or replaced; everything else stays as it is.

    Raises:
        WarpfixError: There is a file, and it is no budget.
    """
    import tomlkit

    if path.exists():
        document = _parse(path)
    else:
        document = tomlkit.document()
        for line in _HEAD.splitlines():
            document.add(tomlkit.comment(line))
        document["version"] = VERSION
    if "command" not in document:
        document["command"] = tomlkit.table(is_super_table=True)
    tables: Any = document["command"]
    if entry.name not in tables:
        tables[entry.name] = tomlkit.table()
    table = tables[entry.name]
    values: dict[str, Any] = {"run": list(entry.run)}
    if entry.cwd != ".":
        values["cwd"] = entry.cwd
    values |= {option: entry.options[option] for option in OPTIONS if option in entry.options}
    values["warp"] = entry.counts.warp
    values["built_for"] = list(entry.counts.targets)
    known = {total: total in table for total in TOTALS}
    # What somebody took out of an entry stays out.
    wanted = [total for total in TOTALS if known[total] or not any(known.values())]
    values |= {total: entry.counts.totals[total] for total in wanted if total in entry.counts.totals}
    for name in ("run", "cwd", *OPTIONS, "warp", "built_for"):
        if name in table and name not in values:
            del table[name]
    for name, value in values.items():
        _put(table, name, value)
    if "modules" not in table:
        table["modules"] = tomlkit.table()
    modules = table["modules"]
    for module in [module for module in modules if module not in entry.counts.modules]:
        del modules[module]
    for module, causes in entry.counts.modules.items():
        if module in modules and _plain(modules[module]) == dict(causes):
            continue
        inline = tomlkit.inline_table()
        inline.update(causes)
        _put(modules, module, inline)
    return tomlkit.dumps(document)


def _put(table: Any, name: str, value: Any) -> None:
    """Set a value, and keep the comment that stands behind the old one."""
    import tomlkit

    item = tomlkit.item(value)
    old = table.get(name)
    if old is not None and hasattr(old, "trivia") and hasattr(item, "trivia"):
        if _plain(old) == value:
            return
        item.trivia.comment_ws, item.trivia.comment = old.trivia.comment_ws, old.trivia.comment
    table[name] = item
