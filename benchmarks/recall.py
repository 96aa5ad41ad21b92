"""Recall: known faults put into copies of real packages, and how many of them ``warpfix scan`` finds.

    python benchmarks/recall.py [--rounds N] [--missed] PACKAGE_FOLDER...

Each folder (an installed ``newton``, ``mujoco_warp``, ``warp/examples``) is copied; one fault is put into every file
that can take one, and the copy is scanned once for each kind of fault and round. The kinds:

- ``closure``: a kernel of module scope moves into the only function that uses it;
- ``unique``: a plain kernel of module scope gets ``module="unique"``, where plain kernels stay behind that nothing in
  the file makes build again (generic kernels and closures would) and no launch in the file gives a ``block_dim``:
  elsewhere a module of its own may be right;
- ``late-config``: a setting that Warp copies when it creates a module is written after the kernels are there;
- ``late-options``: ``wp.set_module_options`` is called between two launches of kernels of the file: in a function, or
  under the main guard between statements that come to launches on every way;
- ``overload``: the ``wp.overload`` calls of a kernel are taken away;
- ``option-name``: an option is misspelt; ``removed-config``: ``wp.config.quiet`` is written;
- ``cache``: the kernel cache is cleared under the main guard.

A fault is found when a finding of the right rule stands at the right line. Whether a fix is offered is counted apart,
declines by their reason. Nothing of the packages is kept.

With ``--fix`` the fixes of the rule are written as ``warpfix apply --select RULE --unsafe-fixes`` writes them, and the
result is judged: a mutant is **fixed back** where the file's statements of module scope are those of the original again
(their order may differ, a moved kernel may stand elsewhere), or, for the kinds whose line stays (settings and options),
where the line is there and another scan finds nothing of the rule in the file. Mutants with a fix are the **safely
fixable** ones: those that are left have a reason, which is counted.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import collections
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from warpfix.findings import Finding
from warpfix.plan import PlanSettings, make_plan, render
from warpfix.scanning import scan_paths


@dataclass(frozen=True)
class Mutant:
    """One fault: the new text of a file, and what has to be found in it."""

    kind: str
    text: str
    name: str
    rules: tuple[str, ...]
    line: int
    """Where the finding has to stand; 0 where any line of the file will do."""


Maker = Callable[[str, ast.Module, "Package"], Iterator[Mutant]]


class Package:
    """The words of every file of a copied package, so that a kernel that another file uses is left alone."""

    def __init__(self, files: dict[Path, str]) -> None:
        self.uses: collections.Counter[str] = collections.Counter()
        for text in files.values():
            self.uses.update(set(re.findall(r"\w+", text)))


def _decorator(node: ast.FunctionDef) -> ast.expr | None:
    """The decorator of a plain ``@wp.kernel``, alone on its function."""
    if len(node.decorator_list) == 1 and ast.unparse(node.decorator_list[0]) in ("wp.kernel", "warp.kernel"):
        return node.decorator_list[0]
    return None


def _plain_kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and _decorator(node) is not None]


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions of module scope and methods of classes of module scope that are no kernels."""
    scopes = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    found = [node for body in scopes for node in body if isinstance(node, ast.FunctionDef)]
    return [node for node in found if not any("wp." in ast.unparse(one) for one in node.decorator_list)]


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _locals(node: ast.FunctionDef) -> set[str]:
    stored = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    return stored | {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}


def closures(text: str, tree: ast.Module, package: Package) -> Iterator[Mutant]:
    """A kernel of module scope moves into the only function that uses it."""
    lines = text.splitlines(keepends=True)
    for kernel in _plain_kernels(tree):
        if package.uses[kernel.name] != 1 or '"""' in "".join(lines[kernel.lineno : kernel.end_lineno]):
            continue
        users = [node for node in _functions(tree) if kernel.name in _names(node)]
        used = sum(isinstance(one, ast.Name) and one.id == kernel.name for one in ast.walk(tree))
        if len(users) != 1 or used != sum(
            isinstance(one, ast.Name) and one.id == kernel.name for one in ast.walk(users[0])
        ):
            continue
        if _locals(users[0]) & (_names(kernel) - set(dir(builtins))) or users[0].lineno <= kernel.lineno:
            continue
        body = users[0].body
        documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1
        first = body[1] if documented else body[0]
        if first.lineno == users[0].lineno:
            continue
        start = min(one.lineno for one in kernel.decorator_list)
        moved = [
            first.col_offset * " " + line if line.strip() else line for line in lines[start - 1 : kernel.end_lineno]
        ]
        new = lines[: start - 1] + lines[kernel.end_lineno : first.lineno - 1] + moved + lines[first.lineno - 1 :]
        line = first.lineno - (kernel.end_lineno or 0) + start - 1 + (kernel.lineno - start)
        yield Mutant("closure", "".join(new), kernel.name, ("closure-kernel", "specialised-kernel"), line)


def uniques(text: str, tree: ast.Module, package: Package) -> Iterator[Mutant]:
    """A plain kernel of module scope gets ``module="unique"``."""
    lines = text.splitlines(keepends=True)
    kernels = _plain_kernels(tree)
    if "block_dim" in text or "launch_tiled" in text or any(_rebuilds(node) for node in ast.walk(tree)):
        return
    inner = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _decorator(node) is not None}
    if inner != {kernel.name for kernel in kernels}:
        return
    for kernel in kernels if len(kernels) > 1 else ():
        decorator = _decorator(kernel)
        assert decorator is not None
        row = lines[decorator.lineno - 1]
        lines_new = [*lines]
        lines_new[decorator.lineno - 1] = row.rstrip("\r\n") + '(module="unique")' + row[len(row.rstrip("\r\n")) :]
        yield Mutant("unique", "".join(lines_new), kernel.name, ("unique-stable-kernel",), kernel.lineno)


def _rebuilds(node: ast.AST) -> bool:
    """Whether it is a generic kernel: in a module that is built again, a kernel apart is right."""
    if not isinstance(node, ast.FunctionDef) or not any("kernel" in ast.unparse(one) for one in node.decorator_list):
        return False
    arguments = [*node.args.posonlyargs, *node.args.args]
    return any(re.search(r"\bAny\b", ast.unparse(one.annotation)) for one in arguments if one.annotation is not None)


def _main_guard(tree: ast.Module) -> ast.If | None:
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("__name__ == '__main__'", "'__main__' == __name__"):
            return node
    return None


def _imports_wp(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Import) and any(one.asname == "wp" for one in node.names) for node in tree.body)


def late_configs(text: str, tree: ast.Module, package: Package) -> Iterator[Mutant]:
    """``wp.config.enable_backward`` is written under the main guard, with kernels defined or imported above."""
    guard = _main_guard(tree)
    if guard is None or not _imports_wp(tree) or not _plain_kernels(tree) or "enable_backward" in text:
        return
    yield _inserted(text, guard.body[0], "wp.config.enable_backward = False", "late-config", ("late-config",))


def late_options(text: str, tree: ast.Module, package: Package) -> Iterator[Mutant]:
    """``wp.set_module_options`` stands between two launches of kernels of the file."""
    kernels = {kernel.name for kernel in _plain_kernels(tree)}
    if not _imports_wp(tree) or not kernels or ("module_options" in text and "enable_backward" not in text):
        return
    new = f'wp.set_module_options({{"{"lineinfo" if "enable_backward" in text else "enable_backward"}": '
    new += "True})" if "enable_backward" in text else "False})"
    if '"lineinfo"' in text:
        return
    ways = _Ways(tree, kernels)
    guard = _main_guard(tree)
    blocks = [(node.body, getattr(node, "name", "")) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for block in [*_blocks(guard.body if guard is not None else []), *(body for body, _ in blocks)]:
        launching = [place for place, statement in enumerate(block) if ways.launches(statement)]
        if len(launching) < 2 or any(_ends(statement) for statement in block[: launching[1]]):
            continue
        yield _inserted(text, block[launching[0]], new, "late-options", ("late-module-options",), after=True)


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """A block, and those of the ``with`` statements in it."""
    yield body
    for statement in body:
        if isinstance(statement, ast.With):
            yield from _blocks(statement.body)


def _ends(statement: ast.stmt) -> bool:
    return any(isinstance(node, (ast.Return, ast.Yield, ast.Break, ast.Continue)) for node in ast.walk(statement))


class _Ways:
    """Which statements of a file come to a launch of one of its kernels, on every way: by names, in this file only."""

    def __init__(self, tree: ast.Module, kernels: set[str]) -> None:
        self.kernels = kernels
        self.functions: dict[str, list[ast.FunctionDef]] = collections.defaultdict(list)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name].append(node)
            if isinstance(node, ast.ClassDef):
                made = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
                self.functions[node.name].extend(made)

    def launches(self, statement: ast.stmt, depth: int = 0) -> bool:
        """Whether the statement launches, whichever way is taken in it."""
        if isinstance(statement, ast.If):
            return self._block(statement.body, depth) and self._block(statement.orelse, depth)
        if isinstance(statement, (ast.For, ast.With)):
            return self._block(statement.body, depth)
        if not isinstance(statement, (ast.Expr, ast.Assign)) or not isinstance(statement.value, ast.Call):
            return False
        called = statement.value.func
        if ast.unparse(called) in ("wp.launch", "warp.launch") and statement.value.args:
            return ast.unparse(statement.value.args[0]) in self.kernels
        plain = isinstance(called, ast.Name) or (
            isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)
        )
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        known = self.functions.get(name, ())
        return plain and len(known) == 1 and depth < 6 and self._block(known[0].body, depth + 1)

    def _block(self, block: list[ast.stmt], depth: int) -> bool:
        for statement in block:
            if self.launches(statement, depth):
                return True
            if _ends(statement):
                return False
        return False


def option_names(text: str, tree: ast.Module, package: Package) -> Iterator[Mutant]:
    """An option of the module is misspelt, right below the imports."""
    last = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    if not last or not _imports_wp(tree) or not _plain_kernels(tree) or "set_module_options" in text:
        return
    new = 'wp.set_module_options({"enable_backwards": False})'
    yield _inserted(text, last[-1], new, "option-name", ("unknown-option",), after=True)


def removed_configs(text: str, tree: ast.Module, package: Package) -> Iterator[Mutant]:
    """``wp.config.quiet``, which Warp no longer reads, is written under the main guard."""
    guard = _main_guard(tree)
    if guard is None or not _imports_wp(tree):
        return
    yield _inserted(text, guard.body[0], "wp.config.quiet = True", "removed-config", ("removed-config",))


def caches(text: str, tree: ast.Module, package: Package) -> Iterator[Mutant]:
    """The kernel cache is cleared at each start, under the main guard."""
    guard = _main_guard(tree)
    if guard is None or not _imports_wp(tree) or "wp.launch" not in text or "clear_kernel_cache" in text:
        return
    yield _inserted(text, guard.body[0], "wp.clear_kernel_cache()", "cache", ("cache-lost",))


def _inserted(
    text: str, place: ast.stmt, statement: str, kind: str, rules: tuple[str, ...], after: bool = False
) -> Mutant:
    lines = text.splitlines(keepends=True)
    row = (place.end_lineno or place.lineno) if after else place.lineno - 1
    if row and not lines[row - 1].endswith("\n"):
        lines[row - 1] += "\n"
    new = lines[:row] + [place.col_offset * " " + statement + "\n"] + lines[row:]
    return Mutant(kind, "".join(new), statement, rules, row + 1)


def overloads(text: str, tree: ast.Module, package: Package) -> Iterator[Mutant]:
    """The overloads of one kernel, registered at module scope, are taken away."""
    lines = text.splitlines(keepends=True)
    calls: dict[str, list[ast.stmt]] = collections.defaultdict(list)
    for node in tree.body:
        value = getattr(node, "value", None)
        if not isinstance(node, (ast.Expr, ast.Assign)) or not isinstance(value, ast.Call):
            continue
        if ast.unparse(value.func) in ("wp.overload", "warp.overload"):
            calls[ast.unparse(value.args[0])].append(node)
    for name, nodes in calls.items():
        if any(isinstance(node, ast.Assign) for node in nodes):
            continue
        gone = {row for node in nodes for row in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
        new = "".join(line for row, line in enumerate(lines, 1) if row not in gone)
        yield Mutant("overload", new, name, ("overloads",), 0)


MAKERS: tuple[Maker, ...] = (
    closures,
    uniques,
    late_configs,
    late_options,
    overloads,
    option_names,
    removed_configs,
    caches,
)


def main(arguments: list[str] | None = None) -> None:
    """Print one line for each kind of fault and package, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=2, help="mutants of one kind in one file, at most")
    parser.add_argument("--missed", action="store_true", help="name every fault that was not found")
    parser.add_argument("--fix", action="store_true", help="write the fixes, and count what is as it was before")
    parser.add_argument("--select", default="", help="only these kinds, separated by commas")
    options = parser.parse_args(arguments)
    made: collections.Counter[str] = collections.Counter()
    found: collections.Counter[str] = collections.Counter()
    fixed: collections.Counter[str] = collections.Counter()
    back: collections.Counter[str] = collections.Counter()
    declines: collections.Counter[tuple[str, str]] = collections.Counter()
    kinds = [one for one in MAKERS if not options.select or one.__name__ in options.select.split(",")]
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch).resolve() / folder.name
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.pyc", "*.so", "*.usd*", "assets", "tests"))
            (copy.parent / "pyproject.toml").write_text('[project]\nname = "copy"\nversion = "1"\n', "utf-8")
            originals = _read(copy)
            package = Package(originals)
            for maker in kinds:
                for number in range(options.rounds):
                    # Who measures builds clears the cache on purpose.
                    files = {p: t for p, t in originals.items() if maker is not caches or "bench" not in str(p)}
                    mutants = _round(files, maker, package, number)
                    for path, mutant in mutants.items():
                        path.write_text(mutant.text, "utf-8")
                    findings = scan_paths([copy])[1].findings if mutants else ()
                    restored = _fixed_back(copy, originals, mutants, findings) if options.fix and mutants else {}
                    for path, mutant in mutants.items():
                        path.write_text(originals[path], "utf-8")
                        made[mutant.kind] += 1
                        hit = _hit(mutant, path, findings)
                        if hit is None:
                            if options.missed:
                                where = path.relative_to(copy.parent)
                                print(f"missed: {mutant.kind} {where}:{mutant.line} {mutant.name}")
                            continue
                        found[mutant.kind] += 1
                        if hit.fix is not None:
                            fixed[mutant.kind] += 1
                            back[mutant.kind] += restored.get(path, False)
                            if options.missed and options.fix and not restored.get(path, False):
                                where = path.relative_to(copy.parent)
                                print(f"not back: {mutant.kind} {where}:{mutant.line} {mutant.name}")
                        else:
                            declines[mutant.kind, re.sub(r"`[^`]*`", "`...`", hit.declined or hit.advice)] += 1
    for kind in made:
        judged = f", {back[kind]} fixed back" if options.fix else ""
        print(f"{kind}: {found[kind]} of {made[kind]} found, a fix offered for {fixed[kind]}{judged}")
    for (kind, reason), count in declines.most_common():
        print(f"  {kind}, {count} declined: {reason[:150]}")
    total = sum(made.values())
    print(f"all: {sum(found.values())} of {total} found ({100 * sum(found.values()) / max(total, 1):.1f} %)")
    if options.fix:
        fixable = sum(fixed.values())
        print(f"fixed back: {sum(back.values())} of {fixable} ({100 * sum(back.values()) / max(fixable, 1):.1f} %)")


def _fixed_back(
    copy: Path, originals: dict[Path, str], mutants: dict[Path, Mutant], findings: tuple[Finding, ...]
) -> dict[Path, bool]:
    """Which mutants are as they were before, once the fixes of their rule are written."""
    rules = {rule for mutant in mutants.values() for rule in mutant.rules}
    own = [one for one in findings if one.rule in rules and Path(one.path) in mutants]
    texts = {str(path): mutant.text for path, mutant in mutants.items()}
    edited = {path for one in own if one.fix is not None for path in one.fix.edits}
    texts |= {path: Path(path).read_text("utf-8") for path in edited if path not in texts}
    plan = make_plan(own, texts, PlanSettings(verify=False, unsafe=True, named=rules))
    for path, text in render(plan, texts).items():
        Path(path).write_text(text, "utf-8")
    stays = any(mutant.kind in _LINE_STAYS for mutant in mutants.values())
    left = {one.path for one in scan_paths([copy])[1].findings if one.rule in rules} if stays else set()
    found = {}
    for path, mutant in mutants.items():
        text = path.read_text("utf-8")
        if mutant.kind in _LINE_STAYS:
            found[path] = text != mutant.text and str(path) not in left and len(text) > len(originals[path])
        else:
            found[path] = _statements(text) == _statements(originals[path])
    for name in edited:
        if Path(name) not in mutants:
            Path(name).write_text(texts[name], "utf-8")
    return found


_LINE_STAYS = frozenset({"late-config", "late-options", "option-name", "removed-config"})


def _statements(text: str) -> collections.Counter[str]:
    """The statements of module scope of a file, whatever their order."""
    return collections.Counter(ast.dump(node) for node in ast.parse(text).body)


def _read(copy: Path) -> dict[Path, str]:
    files = {}
    for path in sorted(copy.rglob("*.py")):
        text = path.read_text("utf-8", "replace")
        if re.search(r"\bwarp\b", text):
            files[path] = text
    return files


def _round(originals: dict[Path, str], maker: Maker, package: Package, number: int) -> dict[Path, Mutant]:
    """The mutant of that number of each file that has so many."""
    mutants = {}
    for path, text in originals.items():
        if path.name.startswith("test_") or path.name.endswith("_test.py") or path.name == "conftest.py":
            continue  # a scan leaves tests out
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        some = list(maker(text, tree, package))[number : number + 1]
        for mutant in some:
            ast.parse(mutant.text)
            mutants[path] = mutant
    return mutants


def _hit(mutant: Mutant, path: Path, findings: tuple[Finding, ...]) -> Finding | None:
    for finding in findings:
        if finding.path != str(path) or finding.rule not in mutant.rules:
            continue
        if mutant.line == 0 or abs(finding.line - mutant.line) <= 1:
            return finding
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
