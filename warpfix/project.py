"""Which files make up a project, what they are called when imported, and who may run them first."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpfix.config import Config, load_config, matches, read_pyproject
from warpfix.errors import WarpfixError
from warpfix.index.model import Problem, Role

MARKERS = ("pyproject.toml", "setup.cfg", "setup.py", ".git")

_SKIPPED = frozenset(
    {
        "__pycache__",
        "node_modules",
        "site-packages",
        "dist-packages",
        "__pypackages__",
        "build",
        "dist",
    }
)
# What Linux shows there are no files of anybody's project.
_PSEUDO = frozenset({"/proc", "/sys", "/dev", "/run"})
_VENDORED = frozenset({"vendor", "vendored", "_vendor", "_vendored", "third_party", "thirdparty", "3rdparty", "extern"})
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})


@dataclass(frozen=True)
class Project:
    """One project: its files and what is known of them. Paths are absolute and free of links in the part above."""

    root: str
    """The folder that holds pyproject.toml, setup.cfg, setup.py or .git; that of the PATH itself if there is none."""
    config: Config
    files: tuple[str, ...]
    """Every Python file and notebook of the project, sorted; the index reads only those that have to do with Warp."""
    targets: frozenset[str]
    """The files that were asked for: findings are reported for these."""
    named: frozenset[str] = frozenset()
    """Those of them that were named one by one: each of them must be readable, whether it uses Warp or not."""
    editable: bool = True
    """False for code that is installed, vendored or outside any project: reported, never edited."""
    source_roots: tuple[str, ...] = ()
    """Folders that are on the import path when the project is installed or run, the innermost first."""
    entry_files: frozenset[str] = frozenset()
    """Files that metadata or configuration names as the start of the application."""
    distributed: bool = False
    """Whether metadata makes it an installable distribution, so that others may import its modules."""
    problems: tuple[Problem, ...] = field(default=())
    overlay: Mapping[str, bytes] = field(default_factory=dict)
    """Path to the bytes that are read in place of what is on disk, if anything is: what an editor holds unsaved."""

    def relative(self, path: str) -> str:
        """The path below the root with forward slashes; the path itself when it is not below it."""
        try:
            return Path(path).relative_to(self.root).as_posix()
        except ValueError:
            return Path(path).as_posix()


def find_root(path: str | Path) -> str | None:
    """The nearest folder at or above ``path`` that holds a project marker (in a worktree ``.git`` is a file)."""
    start = Path(path)
    folder = start if start.is_dir() else start.parent
    for candidate in (folder, *folder.parents):
        if any((candidate / marker).exists() for marker in MARKERS):
            return str(candidate)
    return None


def is_installed(path: str | Path) -> bool:
    """Whether the path lies in site-packages or in a virtual environment."""
    parts = Path(path).parts
    if "site-packages" in parts or "dist-packages" in parts:
        return True
    return any((Path(*parts[:end]) / "pyvenv.cfg").exists() for end in range(1, len(parts) + 1))


def discover(
    paths: Iterable[str | Path], config: Config | None = None, overlay: Mapping[str, bytes] | None = None
) -> list[Project]:
    """The projects that the given files and folders belong to, in the order in which they were named.

    Args:
        paths: Files or folders; the current folder if there are none.
        config: Configuration to use instead of that of each project.
        overlay: Real path to bytes that stand in for a file, which need not exist.

    Raises:
        WarpfixError: a path does not exist, or a project's configuration is wrong.
    """
    overlay = overlay or {}
    grouped: dict[str, list[Path]] = {}
    for given in list(paths) or ["."]:
        path = Path(given)
        real = os.path.realpath(path)
        if not path.exists() and real not in overlay:
            raise WarpfixError(f"{given}: no such file or folder")
        path = Path(real)
        installed = is_installed(path)
        root = None if installed else find_root(path)
        if root is None:
            root = str(_package_root(path))
        grouped.setdefault(root, []).append(path)
    projects: list[Project] = []
    while grouped:
        root = next(iter(grouped))
        nested: list[str] = []
        projects.append(_project(root, grouped.pop(root), config, nested, overlay))
        for folder in nested:
            if all(folder != project.root for project in projects):
                grouped.setdefault(folder, []).append(Path(folder))
    return projects


def _package_root(path: Path) -> Path:
    """The folder that has to be on the import path for a file outside any project."""
    folder = path if path.is_dir() else path.parent
    while (folder / "__init__.py").exists() and folder.parent != folder:
        folder = folder.parent
    return folder


def _project(
    root: str, named: list[Path], config: Config | None, nested: list[str], overlay: Mapping[str, bytes]
) -> Project:
    """One project; projects that were met below a named folder are added to ``nested``."""
    folder = Path(root)
    installed = any(is_installed(path) for path in named)
    marked = not installed and any((folder / marker).exists() for marker in MARKERS)
    pyproject = read_pyproject(folder) if marked else {}
    settings = config if config is not None else (load_config(folder) if marked else Config())
    problems: list[Problem] = []
    ignored = _git_ignored(folder) if marked else frozenset()
    targets: set[str] = set()
    for path in named:
        if path.is_file() or str(path) in overlay:
            targets.add(str(path))
        else:
            targets.update(_enumerate(path, folder, settings, ignored, problems, nested))
    if marked:
        # A file that was named alone is still judged with the rest of its project in view.
        everything = targets | set(_enumerate(folder, folder, settings, ignored, problems, []))
    else:
        everything = set(targets)
        for path in named:
            if path.is_file() or str(path) in overlay:
                everything.update(_enumerate(_top_package(path), folder, settings, ignored, problems, []))
    return Project(
        root=root,
        config=settings,
        files=tuple(sorted(everything)),
        targets=frozenset(targets),
        named=frozenset(str(path) for path in named if path.is_file() or str(path) in overlay),
        editable=not installed,
        source_roots=_source_roots(folder, pyproject),
        entry_files=_entry_files(folder, pyproject, settings),
        distributed=_distributed(folder, pyproject) or installed,
        problems=tuple(dict.fromkeys(problems)),
        overlay=overlay,
    )


def _top_package(path: Path) -> Path:
    folder = path.parent
    while (folder / "__init__.py").exists() and (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return folder


def _enumerate(
    start: Path,
    root: Path,
    config: Config,
    ignored: frozenset[str],
    problems: list[Problem],
    nested: list[str],
) -> Iterator[str]:
    """Python files below ``start``. What is skipped inside is not skipped when ``start`` itself was named.

    A folder with a pyproject.toml of its own is another project: it is added to ``nested`` and not gone into.
    """
    seen: set[tuple[int, int]] = set()
    pending = [str(start)]
    while pending:
        folder = pending.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue  # a loop of links
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            problems.append(Problem(folder, None, f"folder can't be read: {error.strerror or error}"))
            continue
        for entry in listed:
            name = entry.name
            try:
                is_folder = entry.is_dir()
                is_file = not is_folder and name.endswith((".py", ".ipynb")) and entry.is_file()
            except OSError:
                continue
            if is_folder:
                if _skip_folder(entry.path, name, entry.is_symlink()) or _excluded(entry.path, root, config, ignored):
                    continue
                own = os.path.exists(os.path.join(entry.path, "pyproject.toml"))
                (nested if own else pending).append(entry.path)
            elif is_file and not _excluded(entry.path, root, config, ignored):
                yield entry.path


def _skip_folder(path: str, name: str, is_link: bool) -> bool:
    if name.startswith(".") or name in _SKIPPED or is_link or name.endswith(".egg-info") or path in _PSEUDO:
        # A linked folder is reached under its own name, or lies outside the project.
        return True
    # A virtual environment under any name, a nested repository: a submodule or another worktree.
    return os.path.exists(os.path.join(path, "pyvenv.cfg")) or os.path.exists(os.path.join(path, ".git"))


def _excluded(path: str, root: Path, config: Config, ignored: frozenset[str]) -> bool:
    if path in ignored:
        return True
    if not config.exclude:
        return False
    try:
        relative = Path(path).relative_to(root).as_posix()
    except ValueError:
        return False
    return any(matches(relative, pattern) for pattern in config.exclude)


def _git_ignored(root: Path) -> frozenset[str]:
    """Files and folders that git ignores, by asking git; nothing when there is no repository or no git."""
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return frozenset()
    command = ["git", "-C", str(root), "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    if done.returncode != 0:
        return frozenset()
    names = os.fsdecode(done.stdout).split("\0")
    return frozenset(os.path.join(str(root), name.rstrip("/")) for name in names if name)


def _source_roots(folder: Path, pyproject: Mapping[str, Any]) -> tuple[str, ...]:
    wanted = [folder / "src", folder]
    setuptools = _table(pyproject, "tool", "setuptools")
    directories = setuptools.get("package-dir", {})
    if isinstance(directories, Mapping) and isinstance(directories.get(""), str):
        wanted.insert(0, folder / directories[""])
    for where in _table(pyproject, "tool", "setuptools", "packages", "find").get("where", []) or []:
        if isinstance(where, str):
            wanted.insert(0, folder / where)
    roots = (os.path.normpath(path) for path in wanted if path.is_dir())
    return tuple(sorted(dict.fromkeys(roots), key=len, reverse=True))


def _table(mapping: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    current: Any = mapping
    for key in keys:
        current = current.get(key, {}) if isinstance(current, Mapping) else {}
    return current if isinstance(current, Mapping) else {}


def _distributed(folder: Path, pyproject: Mapping[str, Any]) -> bool:
    if "name" in _table(pyproject, "project") or "name" in _table(pyproject, "tool", "poetry"):
        return True
    if (folder / "setup.py").exists():
        return True
    try:
        return "[metadata]" in (folder / "setup.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _entry_files(folder: Path, pyproject: Mapping[str, Any], config: Config) -> frozenset[str]:
    wanted = list(config.entry_points)
    for table in (_table(pyproject, "project", "scripts"), _table(pyproject, "project", "gui-scripts")):
        wanted.extend(value for value in table.values() if isinstance(value, str))
    for value in _table(pyproject, "tool", "poetry", "scripts").values():
        if isinstance(value, str):
            wanted.append(value)
    found: set[str] = set()
    roots = _source_roots(folder, pyproject)
    for entry in wanted:
        direct = folder / entry
        if direct.is_file():
            found.add(os.path.realpath(direct))
            continue
        dotted = entry.split(":")[0].strip().replace(".", "/")
        for root in roots:
            for candidate in (
                Path(root, dotted + ".py"),
                Path(root, dotted, "__main__.py"),
                Path(root, dotted, "__init__.py"),
            ):
                if candidate.is_file():
                    found.add(os.path.realpath(candidate))
                    break
    return frozenset(found)


def module_names(path: str, project: Project, imported_tops: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The dotted names under which the file can be imported, the most likely one first; empty if it can't be.

    ``imported_tops`` are first components of what the project's own files import: they tell a namespace package
    (imported by its full path) from a folder of scripts (whose files import each other by their bare names).
    """
    folder, filename = os.path.split(path)
    if not filename.endswith(".py"):
        return ()  # a notebook
    stem = filename[:-3]
    package = folder
    while os.path.exists(os.path.join(package, "__init__.py")):
        above = os.path.dirname(package)
        if above == package:
            break
        package = above
    names: list[str] = []
    near = _dotted(path, package, stem)
    for root in (*project.source_roots, project.root):
        if not (path.startswith(root.rstrip(os.sep) + os.sep)):
            continue
        far = _dotted(path, root, stem)
        if far is not None and far not in names:
            names.append(far)
    if near is not None and near not in names:
        full = names[0] if names else None
        namespace = full is not None and (
            full.split(".")[0] in imported_tops
            or any(os.path.basename(root) == "src" and path.startswith(root + os.sep) for root in project.source_roots)
        )
        names.insert(1 if namespace else 0, near)
    elif near is not None and near in names:
        names.remove(near)
        names.insert(0, near)
    return tuple(names)


def _dotted(path: str, root: str, stem: str) -> str | None:
    parts = Path(path).relative_to(root).parts[:-1]
    pieces = [*parts] if stem == "__init__" else [*parts, stem]
    if not pieces or not all(piece.isidentifier() for piece in pieces):
        return None
    return ".".join(pieces)


def is_test(relative: str) -> bool:
    """Whether a path (relative, forward slashes) is a test by its folder or its name."""
    *folders, name = relative.split("/")
    if any(folder in _TEST_FOLDERS for folder in folders):
        return True
    return name.startswith("test_") or name.endswith("_test.py") or name in ("conftest.py", "unittest_utils.py")


def is_vendored(relative: str) -> bool:
    """Whether a path (relative, forward slashes) lies in a folder for other people's code."""
    return any(folder in _VENDORED for folder in relative.split("/")[:-1])


_MAIN_GUARD = re.compile(rb"^if\s+(?:__name__\s*==\s*['\"]__main__['\"]|['\"]__main__['\"]\s*==\s*__name__)", re.M)


def has_main_guard(source: bytes) -> bool:
    """Whether the file has ``if __name__ == "__main__":`` at module scope."""
    return _MAIN_GUARD.search(source) is not None


def assign_roles(
    project: Project,
    files: Iterable[str],
    guarded: frozenset[str],
    imports: Mapping[str, Iterable[str]],
    exporting: frozenset[str],
) -> dict[str, Role]:
    """Say of each file whether it is test, vendored, application or library code.

    Args:
        project: The project.
        files: The paths to judge.
        guarded: Files with a ``__main__`` guard.
        imports: Each file to the project files that it imports (its package's ``__init__.py`` included).
        exporting: Package ``__init__.py`` files that export something: an interface for others.
    """
    listed = sorted(files)
    roles: dict[str, Role] = {}
    for path in listed:
        relative = project.relative(path)
        if is_vendored(relative):
            roles[path] = Role.VENDORED
        elif is_test(relative):
            roles[path] = Role.TEST
    importers: dict[str, set[str]] = {}
    for path, imported in imports.items():
        if roles.get(path) is not Role.TEST:
            for target in imported:
                importers.setdefault(target, set()).add(path)
    main = {path for path in listed if os.path.basename(path) == "__main__.py"} | set(project.entry_files)
    entries = {path for path in guarded if not importers.get(path)} | main
    roots: set[str] = set()
    for path in listed:
        if path in roles or path in entries:
            continue
        packaged = os.path.exists(os.path.join(os.path.dirname(path), "__init__.py"))
        if project.distributed and packaged and not _has_entry(path, main):
            # An installable package that nothing starts: anybody may import any module of it.
            roots.add(path)
        elif os.path.basename(path) == "__init__.py":
            if project.distributed and path in exporting:
                roots.add(path)
        elif not importers.get(path):
            roots.add(path)
    library = set(roots)
    pending = list(roots)
    while pending:
        for target in imports.get(pending.pop(), ()):
            if target not in library:
                library.add(target)
                pending.append(target)
    for path in listed:
        if path not in roles:
            roles[path] = Role.LIBRARY if path in library or not project.editable else Role.APPLICATION
    return roles


def _has_entry(path: str, main: set[str]) -> bool:
    """Whether the top package of the file holds one of the application's starting files."""
    top = os.path.dirname(path)
    while os.path.exists(os.path.join(os.path.dirname(top), "__init__.py")):
        top = os.path.dirname(top)
    return any(entry.startswith(top + os.sep) for entry in main)


def exports_something(tree: ast.Module) -> bool:
    """Whether a package's ``__init__`` binds more than a docstring, ``__version__`` and plain imports of the future."""
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
            return True
        if isinstance(statement, (ast.Import, ast.FunctionDef, ast.ClassDef)):
            return True
    return False
