"""``[tool.warpfix]`` and what a project's metadata says about the Warps that it must work with."""

from __future__ import annotations

import configparser
import fnmatch
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from warpfix.errors import WarpfixError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KEYS = (
    "select",
    "ignore",
    "per-file-ignores",
    "exclude",
    "entry-points",
    "include-tests",
    "warp-min",
    "commands",
    "baseline",
)

_LISTS = ("select", "ignore", "exclude", "entry-points", "commands")


@dataclass(frozen=True)
class Config:
    """What one project asks for. Immutable; the command line's options are laid over it with :meth:`override`."""

    select: tuple[str, ...] = ()
    """Rules by code or slug, or a prefix such as ``WF2``; empty means all."""
    ignore: tuple[str, ...] = ()
    """Rules that are not run, named in the same ways."""
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Glob pattern, relative to the project's root, to the rules that are not run on such files."""
    exclude: tuple[str, ...] = ()
    """Glob patterns relative to the project's root."""
    entry_points: tuple[str, ...] = ()
    """Files (relative to the root), dotted modules or ``module:function`` that start the application."""
    include_tests: bool = False
    """Whether test files are reported on and edited; they are skipped by default."""
    commands: tuple[str, ...] = ()
    """What ``apply --verify`` and ``try`` run where the command line names no command, each as typed in a shell."""
    baseline: str | None = None
    """File of known findings, relative to the root; ``scan`` leaves them out."""
    warp_min: str | None = None
    """The lowest Warp that the project works with; None when nothing says so (then the installed one counts)."""
    warp_min_source: str = ""
    """Where ``warp_min`` was read, in words."""

    def override(
        self,
        *,
        select: Iterable[str] = (),
        ignore: Iterable[str] = (),
        include_tests: bool = False,
        warp_min: str | None = None,
    ) -> Config:
        """The same with what the command line says on top.

        Raises:
            WarpfixError: ``warp_min`` is no version.
        """
        changes: dict[str, Any] = {}
        if chosen := tuple(select):
            changes["select"] = chosen
        if left_out := tuple(ignore):
            changes["ignore"] = self.ignore + left_out
        if include_tests:
            changes["include_tests"] = True
        if warp_min is not None:
            changes["warp_min"] = _version(warp_min, "--warp-min")
            changes["warp_min_source"] = "--warp-min"
        return replace(self, **changes) if changes else self

    def ignored_for(self, relative: str) -> tuple[str, ...]:
        """Rules switched off for one file, given by its path relative to the root with forward slashes."""
        return tuple(
            rule for pattern, rules in self.per_file_ignores.items() if matches(relative, pattern) for rule in rules
        )


def matches(relative: str, pattern: str) -> bool:
    """Whether a relative path with forward slashes is meant by a glob, a folder's name or a folder's path."""
    pattern = pattern.removeprefix("./").rstrip("/")
    parts = relative.split("/")
    if fnmatch.fnmatchcase(relative, pattern):
        return True
    if "/" not in pattern:
        return any(fnmatch.fnmatchcase(part, pattern) for part in parts)
    prefixes = ("/".join(parts[:end]) for end in range(1, len(parts)))
    return any(fnmatch.fnmatchcase(prefix, pattern) for prefix in prefixes)


def load_config(root: str | Path | None) -> Config:
    """The configuration of the project at ``root``; the defaults where there is none.

    Raises:
        WarpfixError: a key that does not exist, a value of the wrong type, a file that is no TOML.
    """
    if root is None:
        return Config()
    folder = Path(root)
    table: Mapping[str, Any] = {}
    pyproject = read_pyproject(folder)
    tool = pyproject.get("tool", {})
    if isinstance(tool, Mapping):
        table = tool.get("warpfix", {})
    if not isinstance(table, Mapping):
        raise WarpfixError(f"{folder / 'pyproject.toml'}: [tool.warpfix] must be a table")
    config = _from_table(table, str(folder / "pyproject.toml"))
    if config.warp_min is None:
        version, source = lowest_warp(folder, pyproject)
        config = replace(config, warp_min=version, warp_min_source=source)
    return config


def read_pyproject(folder: Path) -> Mapping[str, Any]:
    """The project's pyproject.toml, or an empty mapping.

    Raises:
        WarpfixError: the file is there and is no TOML.
    """
    path = folder / "pyproject.toml"
    try:
        with path.open("rb") as stream:
            loaded: dict[str, Any] = tomllib.load(stream)
            return loaded
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WarpfixError(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise WarpfixError(f"{path}: can't be read: {error.strerror or error}") from error


def _from_table(table: Mapping[str, Any], where: str) -> Config:
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise WarpfixError(f"{where}: unknown key {key!r} in [tool.warpfix]; known are {', '.join(KEYS)}")
        name = key.replace("-", "_")
        if key in _LISTS:
            values[name] = _strings(value, key, where)
        elif key == "per-file-ignores":
            if not isinstance(value, Mapping):
                raise WarpfixError(f"{where}: {key} must be a table of glob to list of rules")
            values[name] = {str(glob): _strings(rules, f"{key}.{glob}", where) for glob, rules in value.items()}
        elif key == "include-tests":
            if not isinstance(value, bool):
                raise WarpfixError(f"{where}: {key} must be true or false")
            values[name] = value
        elif key == "baseline":
            if not isinstance(value, str) or not value:
                raise WarpfixError(f"{where}: {key} must be the path of a file")
            values[name] = value
        else:
            values[name] = _version(value, f"{where}: {key}")
            values["warp_min_source"] = "warp-min in [tool.warpfix]"
    return Config(**values)


def _strings(value: object, key: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise WarpfixError(f"{where}: {key} must be a list of strings")
    return tuple(value)


def _version(value: object, where: str) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(str(value)))
    except InvalidVersion as error:
        raise WarpfixError(f"{where}: {value!r} is not a version such as 1.12.0") from error


def lowest_warp(folder: Path, pyproject: Mapping[str, Any] | None = None) -> tuple[str | None, str]:
    """The lowest Warp that the project's metadata allows, and where it says so; (None, "") if nothing does."""
    pyproject = read_pyproject(folder) if pyproject is None else pyproject
    for requirement, source in _requirements(folder, pyproject):
        lowest = _lower_bound(requirement)
        if lowest is not None:
            return lowest, source
    return None, ""


def _requirements(folder: Path, pyproject: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    project = pyproject.get("project", {})
    if isinstance(project, Mapping):
        yield from ((str(item), "dependencies in pyproject.toml") for item in project.get("dependencies", []))
        extras = project.get("optional-dependencies", {})
        if isinstance(extras, Mapping):
            for items in extras.values():
                yield from ((str(item), "optional dependencies in pyproject.toml") for item in items)
    tool = pyproject.get("tool", {})
    poetry = tool.get("poetry", {}) if isinstance(tool, Mapping) else {}
    if isinstance(poetry, Mapping):
        dependencies = poetry.get("dependencies", {})
        if isinstance(dependencies, Mapping):
            for name, bound in dependencies.items():
                text = bound.get("version", "") if isinstance(bound, Mapping) else bound
                if (isinstance(text, str) and text.startswith("^")) or (
                    isinstance(text, str) and text.startswith("~") and not text.startswith("~=")
                ):
                    text = ">=" + text[1:]
                elif isinstance(text, str) and text[:1].isdigit():
                    text = "==" + text
                yield f"{name} {text if text != '*' else ''}", "poetry's dependencies in pyproject.toml"
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(folder / "setup.cfg", encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, OSError):
        pass
    else:
        wanted = parser.get("options", "install_requires", fallback="")
        yield from ((line, "install_requires in setup.cfg") for line in wanted.splitlines())
        if parser.has_section("options.extras_require"):
            for _, lines in parser.items("options.extras_require"):
                yield from ((line, "extras_require in setup.cfg") for line in lines.splitlines())
    for path in sorted(folder.glob("requirements*.txt")):
        try:
            listed = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        yield from ((line, path.name) for line in listed)


def _lower_bound(requirement: str) -> str | None:
    if "warp" not in requirement.lower():
        return None
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version

    try:
        parsed = Requirement(requirement.split(" #")[0].strip())
    except InvalidRequirement:
        return None
    if canonicalize_name(parsed.name) != "warp-lang":
        return None
    bounds = []
    for specifier in parsed.specifier:
        if specifier.operator in (">=", "==", "~=", ">", "==="):
            try:
                bounds.append(Version(specifier.version.removesuffix(".*")))
            except InvalidVersion:
                continue
    return str(max(bounds)) if bounds else None
