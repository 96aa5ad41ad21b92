"""Which lines differ from a revision, by asking git: what ``scan --diff`` reports on."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from warpfix.errors import WarpfixError
from warpfix.index.notebook import SUFFIX, read_notebook
from warpfix.index.read import read_raw

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
# Whatever somebody's configuration says, the output is in the form that is read here.
_PLAIN = ("-c", "core.quotepath=off", "-c", "diff.relative=false", "-c", "diff.noprefix=false")
_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color", "--unified=0", "--find-renames", "--ignore-submodules")
_PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/")


@dataclass(frozen=True)
class ChangedLines:
    """Real path to the ranges of lines (both ends included) that a revision does not have; None: all of them."""

    ranges: Mapping[str, tuple[tuple[int, int], ...] | None]

    def touches(self, path: str, first: int, last: int) -> bool:
        """Whether one of the lines from ``first`` to ``last`` was changed or added."""
        real = os.path.realpath(path)
        if real not in self.ranges:
            return False
        ranges = self.ranges[real]
        return ranges is None or any(start <= last and first <= end for start, end in ranges)


def changed_since(folder: str, revision: str = "HEAD") -> ChangedLines:
    """What the working tree (with what is staged, and untracked files) has beyond a revision.

    A renamed file is compared with what it was. Before the first commit every line counts as new.

    Raises:
        WarpfixError: there is no git, no repository around ``folder``, or no such revision in it.
    """
    top = os.path.realpath(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel")).rstrip("\n"))
    base = _commit(top, revision)
    ranges: dict[str, tuple[tuple[int, int], ...] | None] = {}
    for name, found in parse_patch(_git(top, "diff", *_DIFF, *_PREFIXES, base, "--")).items():
        ranges[os.path.realpath(os.path.join(top, name))] = found
    if any(path.endswith(SUFFIX) for path in ranges):
        ranges.update(_notebooks(top, base))
    for name in os.fsdecode(_git(top, "ls-files", "-z", "--others", "--exclude-standard")).split("\0"):
        if name:
            ranges[os.path.realpath(os.path.join(top, name))] = None
    return ChangedLines(ranges)


def parse_patch(patch: bytes) -> dict[str, tuple[tuple[int, int], ...]]:
    """Ranges of new lines by file, out of ``git diff --unified=0`` with the prefixes ``a/`` and ``b/``."""
    found: dict[str, list[tuple[int, int]]] = {}
    name: str | None = None
    content = 0
    for line in patch.split(b"\n"):
        if content and line[:1] in (b"+", b"-"):
            content -= 1  # text of a file, which may look like a header
        elif line.startswith(b"diff --git "):
            name = None
        elif line.startswith(b"+++ "):
            name = _name(line[4:])
        elif match := _HUNK.match(line):
            removed, start, added = (1 if part is None else int(part) for part in match.groups())
            content = removed + added
            if name is not None and added:
                found.setdefault(name, []).append((start, start + added - 1))
    return {path: tuple(ranges) for path, ranges in found.items()}


def _notebooks(top: str, base: str) -> dict[str, tuple[tuple[int, int], ...] | None]:
    """Changed lines of changed notebooks, counted in the code of their cells: git's count those of the JSON."""
    listed = _git(top, "diff", *_DIFF, "--name-status", "-z", base, "--", f"*{SUFFIX}").split(b"\0")
    found: dict[str, tuple[tuple[int, int], ...] | None] = {}
    position = 0
    while position + 1 < len(listed):
        status, old = listed[position], os.fsdecode(listed[position + 1])
        moved = status[:1] in (b"R", b"C")
        new = os.fsdecode(listed[position + 2]) if moved else old
        position += 3 if moved else 2
        path = os.path.realpath(os.path.join(top, new))
        if status[:1] == b"A":
            found[path] = None
        elif status[:1] != b"D":
            found[path] = _lines_of_cells(_git(top, "show", f"{base}:{old}"), path)
    return found


def _lines_of_cells(before: bytes, path: str) -> tuple[tuple[int, int], ...] | None:
    after = read_raw(path)
    try:
        new = read_notebook(after).text.split("\n") if isinstance(after, bytes) else []
        old = read_notebook(before).text.split("\n")
    except ValueError:
        return None
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple((start + 1, end) for kind, _, _, start, end in changes if kind in ("replace", "insert"))


def _name(written: bytes) -> str | None:
    """The path in a header line: quoted as in C where it holds odd characters, with a tab after it where spaces."""
    if written.startswith(b'"'):
        written = written.strip()[1:-1].decode("unicode_escape", "replace").encode("latin-1", "replace")
    else:
        written = written.removesuffix(b"\t")
    return None if written == b"/dev/null" else os.fsdecode(written.removeprefix(b"b/"))


def _commit(top: str, revision: str) -> str:
    if revision.startswith("-"):
        raise WarpfixError(f"--diff: {revision!r} is no revision")
    try:
        return os.fsdecode(_git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")).strip()
    except WarpfixError:
        if revision == "HEAD":
            # Nothing is committed yet: compared with an empty tree.
            return os.fsdecode(_git(top, "hash-object", "-t", "tree", "--stdin")).strip()
        hint = " (a PATH goes before --diff, or write --diff=REV)" if os.path.exists(revision) else ""
        raise WarpfixError(f"--diff: git knows no revision {revision!r} in {top}{hint}") from None


def _git(folder: str, *arguments: str) -> bytes:
    command = ["git", "-C", folder, *_PLAIN, *arguments]
    try:
        environment = {**os.environ, "LC_ALL": "C"}  # what it says is read
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=environment)
    except OSError as error:
        raise WarpfixError(f"--diff needs git, which can't be run: {error.strerror or error}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        if "not a git repository" in said:
            raise WarpfixError(f"--diff: {folder} is not in a git repository")
        raise WarpfixError(f"--diff: git {arguments[0]} failed: {said or f'status {done.returncode}'}")
    return done.stdout
