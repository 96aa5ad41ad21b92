"""``warpfix scan`` beside other tools that read whole trees: what each takes over the same files, in one run.

    python benchmarks/scan_beside.py [--rounds 3] [--tools scan,ruff] [FOLDER...]

The folders are those of the installed packages ``warp`` and ``newton``, unless others are named. Needs the dependency
group ``bench``. Each folder is copied first, its Python files alone, so that nothing installed is touched and no tool
passes over ``site-packages``. The tools take turns, a process each, round after round, so that what else the machine
does meets all of them alike; the fastest round of each counts. Each run has a fresh copy of the tree, made before the
clock starts, as some tools edit in place. A cold run has an empty cache of its own or none; a warm one has the cache of
one run before it, over unchanged files. ``ruff``, ``django-upgrade`` and ``pyupgrade`` run as they come, without
configuration: they look for other things than warpfix, and are the measure of what reading a tree costs.

Columns: CPU seconds of the process and of all that it started, start of the interpreter included; elapsed seconds; peak
resident memory of the largest process; and CPU seconds as a multiple of ``ast.parse`` over all the files.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PARSE = """
import ast, gc, pathlib, sys, warnings
gc.disable()
warnings.simplefilter("ignore")
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    ast.parse(path.read_bytes())
"""

# What a codemod over concrete syntax trees does at least: every node of every file is met once.
VISIT = """
import pathlib, sys
import libcst

class Calls(libcst.CSTVisitor):
    count = 0
    def visit_Call(self, node):
        self.count += 1

calls = Calls()
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    libcst.parse_module(path.read_bytes()).visit(calls)
"""


@dataclass(frozen=True)
class Tool:
    """One row: a command over a folder, and the exit statuses with which it did its work."""

    name: str
    command: Callable[[Path, Path], list[str]]
    """Takes the tree and a folder for a cache of its own."""
    packages: tuple[str, ...] = ()
    """What has to be installed."""
    warm: bool = False
    statuses: tuple[int, ...] = (0, 1)


def files(tree: Path) -> list[str]:
    """The files by name, for tools that take no folder."""
    return sorted(map(str, tree.rglob("*.py")))


def ruff(tree: Path, cache: Path, *, cached: bool) -> list[str]:
    """All of ruff's default rules, without the project's configuration."""
    kept = ["--cache-dir", str(cache / "ruff")] if cached else ["--no-cache"]
    return [sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", *kept, str(tree)]


def python(*arguments: str) -> Callable[[Path, Path], list[str]]:
    """Run this Python with these arguments and the folder after them."""
    return lambda tree, cache: [sys.executable, *arguments, str(tree)]


TOOLS = {
    "parse": Tool("`ast.parse` of each file", python("-c", PARSE)),
    "ruff": Tool("ruff check, no cache", lambda tree, cache: ruff(tree, cache, cached=False), ("ruff",)),
    "ruff-warm": Tool("ruff check, warm", lambda tree, cache: ruff(tree, cache, cached=True), ("ruff",), warm=True),
    "scan": Tool("warpfix scan, cold", python("-m", "warpfix", "scan", "--include-tests"), ("warpfix",)),
    "scan-warm": Tool(
        "warpfix scan, warm", python("-m", "warpfix", "scan", "--include-tests"), ("warpfix",), warm=True
    ),
    "django-upgrade": Tool(
        "django-upgrade --check",
        lambda tree, cache: [sys.executable, "-m", "django_upgrade", "--check", *files(tree)],
        ("django-upgrade",),
    ),
    "pyupgrade": Tool(
        "pyupgrade --py310-plus",
        lambda tree, cache: [sys.executable, "-m", "pyupgrade", "--py310-plus", *files(tree)],
        ("pyupgrade",),
    ),
    "libcst": Tool("libcst, one visitor", python("-c", VISIT), ("libcst",), statuses=(0,)),
}


@dataclass
class Taken:
    """What the runs of one tool over one tree took."""

    cpu: list[float] = field(default_factory=list)
    elapsed: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)


def run(command: list[str], environment: Mapping[str, str], statuses: tuple[int, ...]) -> tuple[float, float, float]:
    """CPU seconds, elapsed seconds and peak megabytes of a command; an unexpected exit status ends the benchmark."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in statuses:
            output.seek(0)
            sys.exit(f"{' '.join(command)[:200]}: status {process.returncode}\n{output.read().decode()[-2000:]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return used.ru_utime + used.ru_stime, elapsed, used.ru_maxrss * unit / 1e6


def copy_python(source: Path, target: Path) -> None:
    """Copy a folder's Python files, byte by byte; what Python itself can't parse stays behind, for all tools alike."""
    for path in sorted(source.rglob("*.py")):
        content = path.read_bytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(content)
        except (SyntaxError, ValueError):
            print(f"left out, as it does not parse: {path}", file=sys.stderr)
            continue
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def measure(original: Path, tools: Mapping[str, Tool], rounds: int, scratch: Path) -> dict[str, Taken]:
    """Run all tools in turn, ``rounds`` times."""
    taken = {name: Taken() for name in tools}
    tree = scratch / "tree" / original.name
    for number in range(rounds):
        for name, tool in tools.items():
            # A project of its own, at the same place each time.
            shutil.rmtree(tree.parent, ignore_errors=True)
            shutil.copytree(original, tree)
            (tree.parent / "pyproject.toml").touch()
            cache = scratch / f"cache-{name}-{number}"
            environment = {key: value for key, value in os.environ.items() if not key.startswith("WARPFIX_")}
            environment.update(WARPFIX_CACHE_DIR=str(cache / "warpfix"), PYTHONHASHSEED="0")
            command = tool.command(tree, cache)
            if tool.warm:
                run(command, environment, tool.statuses)
            cpu, elapsed, peak = run(command, environment, tool.statuses)
            shutil.rmtree(cache, ignore_errors=True)
            taken[name].cpu.append(cpu)
            taken[name].elapsed.append(elapsed)
            taken[name].peak.append(peak)
            print(f"round {number + 1}: {original.name}: {tool.name}: {cpu:.2f} s", file=sys.stderr, flush=True)
    return taken


def table(tools: Mapping[str, Tool], taken: Mapping[str, Taken]) -> str:
    """The figures as a table of Markdown, the fastest round of each tool."""
    base = min(taken["parse"].cpu)
    lines = ["| tool | CPU s | elapsed s | peak MB | x `ast.parse` |", "| --- | --- | --- | --- | --- |"]
    for name, tool in tools.items():
        one = taken[name]
        cpu = min(one.cpu)
        lines.append(f"| {tool.name} | {cpu:.2f} | {min(one.elapsed):.2f} | {min(one.peak):.0f} | {cpu / base:.2f} |")
    return "\n".join(lines)


def installed(name: str) -> Path:
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{name} is not installed: pip install -e . --group bench")
    return Path(next(iter(spec.submodule_search_locations)))


def main() -> None:
    """Print a table for each tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tools", default=",".join(TOOLS), help="Names, separated by commas (%(default)s).")
    options = parser.parse_args()
    names = options.tools.split(",")
    tools = {name: tool for name, tool in TOOLS.items() if name in names or name == "parse"}
    versions = []
    for package in sorted({package for tool in tools.values() for package in tool.packages}):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            sys.exit(f"{package} is not installed: pip install -e . --group bench")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores; {', '.join(versions)}")
    print(f"CPU seconds: the fastest of {options.rounds} rounds\n", flush=True)
    for folder in options.folders or [installed("warp"), installed("newton")]:
        with tempfile.TemporaryDirectory(prefix="warpfix-beside-") as root:
            original = Path(root, "original", folder.resolve().name)
            copy_python(folder.resolve(), original)
            sources = [path.read_bytes() for path in original.rglob("*.py")]
            lines = sum(source.count(b"\n") for source in sources)
            print(f"{original.name}: {len(sources)} files, {lines / 1000:.0f} kLOC\n")
            print(table(tools, measure(original, tools, options.rounds, Path(root))) + "\n", flush=True)


if __name__ == "__main__":
    main()
