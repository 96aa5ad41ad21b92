"""A project in a folder, edited by the rules: the harness of the tests of codemods, plans and ``apply``."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpfix.cli.apply import _Scan
from warpfix.findings import Finding
from warpfix.hoisting import Verdict, hoister_for
from warpfix.plan import Plan, render

HEADER = "import warp as wp\n\n\n@wp.kernel\ndef first(a: wp.array(dtype=float)):\n    a[0] = 1.0\n\n\n"
"""Importing a file that begins so creates its Warp module: hoists from it are safe."""


def dedent(text: str) -> str:
    """The text less the indentation of a triple-quoted string that begins with a line end."""
    return textwrap.dedent(text.removeprefix("\n"))


def make_project(root: Path, files: Mapping[str, str | bytes], warp: str = ">=1.10") -> Path:
    """Write a project's files; text is dedented. Returns its root."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text(
        f'[project]\nname = "sample"\nversion = "1"\ndependencies = ["warp-lang{warp}"]\n', encoding="utf-8"
    )
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else dedent(content).encode("utf-8"))
    return root


@dataclass
class Edited:
    """What the rules would do to a project."""

    texts: dict[str, str]
    """Relative path to new text, for files that change."""
    plan: Plan
    findings: tuple[Finding, ...]
    verdicts: list[Verdict]

    def reasons(self) -> list[str]:
        """Why what is left is left."""
        return [dropped.reason for dropped in self.plan.dropped]


def edit(
    root: Path,
    *,
    select: Sequence[str] = (),
    unsafe: bool = True,
    include_tests: bool = False,
    keep_keys: bool = False,
    warp_min: str | None = None,
    verify: bool = False,
) -> Edited:
    """Plan the edits of a project, with those that need a measurement unless ``unsafe`` is false; write nothing."""
    scan = _Scan((str(root),), tuple(select), (), include_tests, keep_keys, warp_min, unsafe)
    plan, sources = scan.plan(None, verify)
    assert not scan.problems, scan.problems
    texts = render(plan, {path: source.text for path, source in sources.items()})
    relative = {Path(path).relative_to(Path(root).resolve()).as_posix(): text for path, text in texts.items()}
    findings = tuple(finding for item in scan.scanned for finding in item.findings)
    verdicts = [
        verdict
        for item in scan.scanned
        for _, file in sorted(item.index.files.items())
        for verdict in hoister_for(item.index, item.config).verdicts(file)
    ]
    return Edited(relative, plan, findings, verdicts)


def write(root: Path, texts: Mapping[str, str]) -> None:
    """Write new texts over a project's files, line ends kept."""
    for name, text in texts.items():
        with (root / name).open("w", encoding="utf-8", newline="") as stream:
            stream.write(text)


def comments(text: str) -> list[str]:
    """Every comment of a file, sorted."""
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return sorted(token.string for token in tokens if token.type == tokenize.COMMENT)


def check_transformed(root: Path, expected: Mapping[str, str], **options: object) -> Edited:
    """Edit a project, hold the result against what is expected, and check everything that must always hold.

    The output compiles; every comment is kept; lines that belong to no edit are byte for byte the same; a second run
    changes nothing; a second scan no longer finds what was mended.
    """
    before = {name: (root / name).read_bytes().decode("utf-8") for name in expected}
    result = edit(root, **options)  # type: ignore[arg-type]
    assert set(result.texts) == set(expected), result.reasons()
    for name, wanted in expected.items():
        got = result.texts[name]
        assert got == dedent(wanted), f"{name}:\n{got}"
        check_invariants(before[name], got, name)
    mended = {finding.message for one in result.plan.kept for finding in one.findings}
    write(root, result.texts)
    again = edit(root, **options)  # type: ignore[arg-type]
    assert again.texts == {}
    assert not mended & {finding.message for finding in again.findings}
    return result


def check_invariants(before: str, after: str, name: str = "<string>", merges: bool = False) -> None:
    """What must hold of any edit of a file. Definitions that become one (``merges``) share their comments."""
    compile(after, name, "exec", dont_inherit=True)
    old, new = comments(before), comments(after)
    assert (set(new) == set(old)) if merges else (new == old), "a comment was lost"
    moved = _lines_of_definitions(before)
    # As Python counts lines: a form feed ends none.
    remaining = iter(io.StringIO(after, newline=""))
    for number, line in enumerate(io.StringIO(before, newline=""), 1):
        if number in moved or not line.strip():
            continue
        assert any(other == line for other in remaining), f"line {number} of {name} changed or moved: {line!r}"


def _lines_of_definitions(text: str) -> set[int]:
    """Lines that an edit may touch: of functions and classes at module scope, comments above them included."""
    lines: set[int] = set()
    rows = list(io.StringIO(text, newline=""))
    for node in ast.parse(text).body:
        todo = [node]
        while todo:
            one = todo.pop()
            if isinstance(one, ast.If):
                todo += one.body + one.orelse
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                lines.update(_moved_lines(one, rows))
    return lines


def _moved_lines(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, rows: list[str]) -> set[int]:
    """Lines inside a definition that belong to nested definitions, constants, or mention what moves."""
    lines: set[int] = set()
    names = set()
    own = bool(node.decorator_list)
    if own:
        lines.update(range(node.decorator_list[0].lineno, node.lineno))
    for inner in ast.walk(node):
        if inner is not node and isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([inner.lineno, *(d.lineno for d in inner.decorator_list)])
            while first > 1 and rows[first - 2].strip().startswith("#"):
                first -= 1
            assert inner.end_lineno is not None
            last = inner.end_lineno
            while last < len(rows) and (not rows[last].strip() or rows[last].strip().startswith("#")):
                last += 1
            lines.update(range(first, last + 1))
            names.add(inner.name)
        elif isinstance(inner, ast.Assign):
            lines.update(range(inner.lineno, (inner.end_lineno or inner.lineno) + 1))
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in names:
            lines.add(inner.lineno)
    return lines
