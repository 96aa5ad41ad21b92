"""WF204 removed-config: ``wp.config.verbose`` and ``quiet``, which Warp no longer reads."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from warpfix.codemods.base import Edit
from warpfix.codemods.remove_statement import RemoveStatement
from warpfix.codemods.replace_statement import ReplaceStatement
from warpfix.findings import Applicability, Finding, Fix
from warpfix.index.build import ProjectIndex
from warpfix.index.model import FileIndex, OptionSet, Role
from warpfix.index.names import CONFIG as CONFIG_MODULE
from warpfix.rules import Context, Rule, locate
from warpfix.rules._places import asks_for, stands_alone
from warpfix.rules._versions import FLAGS_GONE, LOG_LEVEL, lowest, words

_LEVELS = {"verbose": "LOG_DEBUG", "quiet": "LOG_WARNING"}


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """Findings for the assignments (and reads) of one file."""
    if "verbose" not in file.text and "quiet" not in file.text:
        return
    warp = lowest(context.config)
    if warp < LOG_LEVEL or index.prefix(file).split(".", 1)[0] == "warp":
        return
    for item in file.option_sets:
        if item.via != "config" or item.dynamic or len(item.options) != 1:
            continue
        name, value = next(iter(item.options.items()))
        if name not in _LEVELS or asks_for(item.enclosing, "hasattr", "version", "log_level"):
            continue
        gone = warp >= FLAGS_GONE
        what = f"`wp.config.{name} = {ast.unparse(value)}`"
        message = (
            f"{what} does nothing: Warp {words(FLAGS_GONE)} and later do not read `{name}`, and do not say so"
            if gone
            else f"{what} is deprecated since Warp {words(LOG_LEVEL)}, and does nothing from {words(FLAGS_GONE)} on"
        )
        fix, declined = _fix(index, file, item, name, value, gone)
        advice = f"set `wp.config.log_level`; no fix is offered: {declined}" if fix is None else fix.summary
        yield Finding(
            code=RULE.code,
            rule=RULE.slug,
            path=file.path,
            **locate(file, item.node),
            message=message,
            advice=advice,
            fix=fix,
            declined=declined,
            data={"option": name, "value": ast.unparse(value), "since": words(LOG_LEVEL), "removed": words(FLAGS_GONE)},
        )
    if warp >= FLAGS_GONE:
        yield from _reads(index, file)


def _fix(
    index: ProjectIndex, file: FileIndex, item: OptionSet, name: str, value: ast.expr, gone: bool
) -> tuple[Fix | None, str | None]:
    if not (isinstance(item.node, ast.Assign) and len(item.node.targets) == 1):
        return None, "it is not a plain assignment"
    target = item.node.targets[0]
    if not isinstance(target, ast.Attribute):
        return None, "it is not a plain assignment"
    if not (isinstance(value, ast.Constant) and isinstance(value.value, bool)):
        return None, "its value is computed, and which level it stands for is the author's to say"
    others = [
        other
        for other in file.option_sets
        if other.via == "config" and other is not item and ({"verbose", "quiet", "log_level"} & other.options.keys())
    ]
    if any("log_level" in other.options or other.dynamic for other in others):
        return None, "`wp.config.log_level` is set in this file too, and which of the two is meant is not in the source"
    levels = {
        key
        for other in (*others, item)
        for key, given in other.options.items()
        if not (isinstance(given, ast.Constant) and given.value is False)
    }
    if len(levels) > 1:
        return None, "`verbose` and `quiet` are both set in this file, and one `log_level` can't be both"
    in_function = any(isinstance(node, ast.FunctionDef) for node in item.enclosing)
    if any(name in other.options for other in others) or (in_function and not value.value):
        return None, "it is switched on and off, so each value is meant"
    if not stands_alone(file, item.node):
        return None, "it shares a line with another statement"
    if not value.value:
        edit: Edit = RemoveStatement(item.node.lineno, ast.unparse(item.node))
        summary = f"remove it: False is what Warp does anyway (line {item.node.lineno})"
        proved = "False is the default of the setting, and nothing else in the file sets it"
    else:
        module = _warp_name(index, file, target, item)
        if module is None:
            return None, "the file has no name for Warp itself to take the level from"
        text = f"{ast.unparse(target.value)}.log_level = {module}.{_LEVELS[name]}"
        edit = ReplaceStatement(item.node.lineno, ast.unparse(item.node), text)
        summary = f"write `{text}`, which is how Warp {words(LOG_LEVEL)} and later are told"
        proved = "the level changes only what Warp prints about itself"
    library = file.role is not Role.APPLICATION and gone and value.value
    return (
        Fix(
            applicability=Applicability.ASK if library else Applicability.SAFE,
            summary=summary,
            edits={file.path: (edit,)},
            proved=proved,
            unproved="this is library code, and whoever imports it would see Warp print what it does not print now"
            if library
            else "",
        ),
        None,
    )


def _warp_name(index: ProjectIndex, file: FileIndex, target: ast.Attribute, item: OptionSet) -> str | None:
    """What the file calls Warp at this place."""
    owner = target.value
    if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name):
        return owner.value.id
    for name, meant in file.imports.items():
        if meant == "warp":
            return name
    return None


def _reads(index: ProjectIndex, file: FileIndex) -> Iterable[Finding]:
    """Reads of a flag that nothing in the project sets: an AttributeError."""
    if ".config.verbose" not in file.text and ".config.quiet" not in file.text:
        return
    written = {
        name
        for other in index.files.values()
        for item in other.option_sets
        if item.via == "config"
        for name in (item.options if not item.dynamic else _LEVELS)
    }
    from warpfix.index.build import walk_with_scopes

    for node, enclosing in walk_with_scopes(file.tree):
        if not (isinstance(node, ast.Attribute) and node.attr in _LEVELS and isinstance(node.ctx, ast.Load)):
            continue
        if node.attr in written or index.resolve(file, node.value, enclosing) != CONFIG_MODULE:
            continue
        if asks_for(enclosing, "hasattr", "version", "log_level"):
            continue
        reason = "what is to happen instead is the author's to say"
        yield Finding(
            code=RULE.code,
            rule=RULE.slug,
            path=file.path,
            **locate(file, node),
            message=f"reading `wp.config.{node.attr}` raises AttributeError: Warp {words(FLAGS_GONE)} has removed it",
            advice=f"compare `wp.config.log_level` with `wp.{_LEVELS[node.attr]}`",
            declined=reason,
            data={"option": node.attr, "removed": words(FLAGS_GONE)},
        )


RULE = Rule(
    code="WF204",
    slug="removed-config",
    summary="`wp.config.verbose` or `quiet` is used, which Warp has removed.",
    why=(
        "Warp 1.14 replaced both by `wp.config.log_level`; Warp 1.18 removed them. As `wp.config` is a plain module, "
        "an assignment still runs and does nothing, so the lines that tell why a module was built again are never "
        "seen. Reading one that was never assigned raises AttributeError."
    ),
    bad="wp.config.verbose = True\n",
    good="wp.config.log_level = wp.LOG_DEBUG\n",
    limits=(
        "Silent where the project's metadata allows a Warp before 1.14, which has no `log_level`, and in code that "
        "looks at the version or for the name first. The installed Warp counts where the metadata says nothing."
    ),
    fix_safety=(
        "`safe`: `verbose = True` becomes `log_level = wp.LOG_DEBUG`, `quiet = True` becomes `wp.LOG_WARNING`, and "
        "False, the default, is removed. Only Warp's own messages change. `ask` in library code on Warp 1.18 and "
        "later, where others would begin to see them. Computed values, and both flags at once, are only reported."
    ),
    since="0.1.0",
    check=check,
)
