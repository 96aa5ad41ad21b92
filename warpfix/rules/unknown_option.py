"""WF203 unknown-option: a name that Warp has no option of."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Mapping

from warpfix.codemods.base import Source
from warpfix.codemods.replace_statement import ReplaceStatement
from warpfix.findings import Applicability, Finding, Fix
from warpfix.index.build import ProjectIndex
from warpfix.index.model import FileIndex, ModuleChoice, OptionSet
from warpfix.rules import Context, Rule, locate
from warpfix.rules._places import asks_for, joined, stands_alone
from warpfix.rules._versions import CONFIG, MODULE_OPTIONS, Version, newest, words


def check(index: ProjectIndex, file: FileIndex, context: Context) -> Iterable[Finding]:
    """A finding for each statement of a file that sets a name Warp does not know."""
    if not file.option_sets or index.prefix(file).split(".", 1)[0] == "warp":
        return  # Warp's own files decide what there is
    known_newest = newest(context.config)
    for item in file.option_sets:
        table = CONFIG if item.via == "config" else MODULE_OPTIONS
        strange = [name for name in item.options if not _known(name, table, known_newest)]
        if item.via == "config":
            strange = [name for name in strange if not _own_use(index, context, name)]
        if strange and not asks_for(item.enclosing, "hasattr", "version", *(name.lower() for name in strange)):
            yield _finding(index, file, item, strange, table, known_newest)


def _known(name: str, table: Mapping[str, Version], warp: Version | None) -> bool:
    if name.startswith("_"):
        return True  # private: whoever writes it knows what it is
    since = table.get(name)
    return since is not None and (warp is None or since <= warp)


def _own_use(index: ProjectIndex, context: Context, name: str) -> bool:
    """Whether the project keeps a flag of its own on ``wp.config``: it reads what it wrote."""
    cache: dict[str, bool] = context.cache.setdefault("config attributes read", {})
    if name not in cache:
        cache[name] = False
        for file in index.files.values():
            if f".{name}" not in file.text and f'"{name}"' not in file.text and f"'{name}'" not in file.text:
                continue
            for node in ast.walk(file.tree):
                if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
                    owner = node.value
                    last = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
                    cache[name] |= last == "config"
                elif isinstance(node, ast.Call) and len(node.args) > 1:
                    called = node.func.id if isinstance(node.func, ast.Name) else ""
                    given = node.args[1]
                    if called in ("getattr", "hasattr") and isinstance(given, ast.Constant) and given.value == name:
                        cache[name] = True
    return cache[name]


def _finding(
    index: ProjectIndex,
    file: FileIndex,
    item: OptionSet,
    strange: list[str],
    table: Mapping[str, Version],
    warp: Version | None,
) -> Finding:
    config = item.via == "config"
    listed = joined(f"`{name}`" for name in strange)
    where = "setting of `wp.config`" if config else "option of a module"
    plural = len(strange) > 1
    come_later = [name for name in strange if name in table]
    if come_later and warp is not None and len(come_later) == len(strange):
        later = words(max(table[name] for name in come_later))
        message = f"{listed} came with Warp {later}; Warp {words(warp)} has no such {where}"
    else:
        message = f"{listed} {'are' if plural else 'is'} no {where}"
    message += (
        ": Warp stores it and never looks at it"
        if config
        else ": Warp accepts it, builds the module again under another hash, and does nothing else with it"
    )
    meant = {name: _meant(name, table, warp, config) for name in strange}
    advice = "; ".join(text for _, text in meant.values())
    fix = _fix(index, file, item, {name: nearest for name, (nearest, _) in meant.items()}, table)
    fix = fix or (_as_module_option(file, item, strange[0]) if config and not plural else None)
    return Finding(
        code=RULE.code,
        rule=RULE.slug,
        path=file.path,
        **locate(file, item.node),
        message=message,
        advice=advice,
        fix=fix,
        declined=None
        if fix is not None
        else "an option that begins to act changes what is computed; whether it was meant is not in the source",
        data={
            "unknown": strange,
            "nearest": {name: nearest for name, (nearest, _) in meant.items() if nearest is not None},
            "via": item.via,
        },
    )


def _fix(
    index: ProjectIndex,
    file: FileIndex,
    item: OptionSet,
    meant: Mapping[str, str | None],
    table: Mapping[str, Version],
) -> Fix | None:
    """The nearest names written in place of the unknown ones, where each has one of its own kind."""
    if any(nearest is None or nearest == name or nearest not in table for name, nearest in meant.items()):
        return None
    if any(nearest in item.options for nearest in meant.values()) or not stands_alone(file, item.node):
        return None
    source = Source(file.text, file.path)
    start, end = source.span(item.node)
    text, shift = source.text[start:end], 0
    names = [(span, meant[name]) for name in meant if (span := _written(source, item, name)) is not None]
    if len(names) != len(meant):
        return None
    for (first, last), nearest in sorted(names):
        text = f"{text[: first - start + shift]}{nearest}{text[last - start + shift :]}"
        shift += len(str(nearest)) - (last - first)
    listed = joined(f"`{nearest}`" for nearest in meant.values())
    options = frozenset(str(nearest) for nearest in meant.values())
    return Fix(
        applicability=Applicability.ASK,
        summary=f"write {listed} in place of {joined(f'`{name}`' for name in meant)} (line {item.node.lineno})",
        edits={file.path: (ReplaceStatement(item.node.lineno, ast.unparse(item.node), text),)},
        options=options,
        needs_no_adjoint=tuple(
            sorted((f.path, c.qualname) for f in index.files.values() for c in f.constructs if c.kind == "kernel")
        )
        if "enable_backward" in options
        else (),
        proved="it is the nearest name that Warp knows",
        unproved="the option never acted; whether it is meant, and the program right with it, is its author's to say",
    )


def _as_module_option(file: FileIndex, item: OptionSet, name: str) -> Fix | None:
    """``wp.config.fast_math = True`` at module scope as the option of the file's own module."""
    statement = item.node
    if name not in MODULE_OPTIONS or name == "block_dim" or item.enclosing or not isinstance(statement, ast.Assign):
        return None
    target = statement.targets[0]
    owner = (
        target.value.value if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Attribute) else None
    )
    own = any(c.kind == "kernel" and c.module_choice is ModuleChoice.DEFAULT for c in file.constructs)
    if len(statement.targets) != 1 or not isinstance(owner, ast.Name) or not own or not stands_alone(file, statement):
        return None
    source = Source(file.text, file.path)
    start, end = source.span(statement.value)
    text = f'{owner.id}.set_module_options({{"{name}": {source.text[start:end]}}})'
    return Fix(
        applicability=Applicability.ASK,
        summary=f"write `{text}` (line {statement.lineno})",
        edits={file.path: (ReplaceStatement(statement.lineno, ast.unparse(statement), text),)},
        options=frozenset({name}),
        proved="`wp.config` has no such setting, and modules have an option of that name",
        unproved="the option never acted, and would for the kernels of this file; whether it is meant is its author's "
        "to say",
    )


def _written(source: Source, item: OptionSet, name: str) -> tuple[int, int] | None:
    """Where a name stands in the statement: as an attribute, or inside the quotes of a key."""
    for node in ast.walk(item.node):
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
            end = source.span(node)[1]
            return end - len(name), end
        if isinstance(node, ast.Constant) and node.value == name:
            start, end = source.span(node)
            place = source.text[start:end].find(name)
            if place >= 0:
                return start + place, start + place + len(name)
    return None


def _meant(name: str, table: Mapping[str, Version], warp: Version | None, config: bool) -> tuple[str | None, str]:
    other = MODULE_OPTIONS if config else CONFIG
    if _known(name, other, warp):
        how = f'`wp.set_module_options({{"{name}": ...}})`' if config else f"`wp.config.{name}`"
        return name, f"`{name}` is set with {how}"
    if name in table or name in other:
        return None, f"remove it, or ask for Warp {words(max(table.get(name, (0, 0)), other.get(name, (0, 0))))}"
    valid = [known for known in table if _known(known, table, warp)]
    near = difflib.get_close_matches(name.lower(), valid, n=1, cutoff=0.7)
    if near:
        return near[0], f"the nearest name is `{near[0]}`; if that is meant, write it, else remove `{name}`"
    others = [known for known in other if _known(known, other, warp)]
    elsewhere = difflib.get_close_matches(name.lower(), others, n=1, cutoff=0.8)
    if elsewhere:
        how = f'`wp.set_module_options({{"{elsewhere[0]}": ...}})`' if config else f"`wp.config.{elsewhere[0]}`"
        return elsewhere[0], f"the nearest name is `{elsewhere[0]}`, set with {how}; else remove `{name}`"
    return None, f"remove `{name}`, or look up what it is called"


RULE = Rule(
    code="WF203",
    slug="unknown-option",
    summary="An option is set under a name that Warp does not know.",
    why=(
        "`wp.config` is a plain module: a name that it does not have is stored and never read, so what was switched on "
        "or off is not. `wp.set_module_options` takes any key as well; an unknown one becomes part of the module's "
        "hash, which builds the module again, and does nothing else. Neither gives a sign."
    ),
    bad=(
        "wp.config.fast_math = True                            # no such setting\n"
        'wp.set_module_options({"enable_backwards": False})    # no such option\n'
    ),
    good='wp.set_module_options({"fast_math": True, "enable_backward": False})\n',
    limits=(
        "Names are checked against what Warp 1.7 to 1.19 know, up to the installed version; where no Warp is "
        "installed, up to the newest. Silent about names that begin with an underscore, names that the project reads "
        "itself, code that looks first whether the name or the version is there, and keys that can't be read. "
        "`module_options=` of a kernel is checked by Warp itself."
    ),
    fix_safety=(
        "`ask`: the nearest name of the same kind is written in its place. An option that begins to act changes what "
        "is computed or what can be differentiated, so it takes its author to say that it was meant. A setting of "
        "`wp.config` that is an option of modules becomes one of the file's own module, at module scope."
    ),
    since="0.1.0",
    check=check,
)
