"""``warpfix apply``: the edits. Static: what the source proves; with ``--verify``: what a measurement confirms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from warpfix.cli.html_options import check_folder, html_options
from warpfix.cli.run_options import verify_options
from warpfix.errors import EXIT_ERROR, EXIT_FINDINGS, EXIT_OK, WarpfixError

if TYPE_CHECKING:
    from warpfix.files import Change, SourceFile
    from warpfix.index.model import Problem
    from warpfix.measure.profile import Profile
    from warpfix.plan import Plan
    from warpfix.scanning import Scanned


class _SplitAtDashes(click.Command):
    """What stands after ``--`` is the command to run, not another PATH."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["warpfix.command"] = None
        if "--" in args:
            position = args.index("--")
            ctx.meta["warpfix.command"] = tuple(args[position + 1 :])
            args = args[:position]
        return super().parse_args(ctx, args)


@click.command(cls=_SplitAtDashes, options_metavar="[OPTIONS]", short_help="Mend it in the source.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=str), metavar="[PATH]... [-- COMMAND...]")
@click.option("--dry-run", is_flag=True, help="Print one unified diff and write nothing; 1 when there is something.")
@click.option("--verify", is_flag=True, help="Run COMMAND before and after; write only what that confirms.")
@click.option(
    "--patch-for",
    metavar="PACKAGE",
    help="Prove fixes of an installed package, and print a patch with its evidence; nothing is written.",
)
@click.option(
    "--profile", type=click.Path(dir_okay=False), help="Report of `warpfix measure -o`: write what pays there."
)
@click.option("--select", multiple=True, metavar="RULE,...", help="Only these rules, by code, slug or prefix (WF2).")
@click.option("--ignore", multiple=True, metavar="RULE,...", help="Not these rules.")
@click.option("--unsafe-fixes", is_flag=True, help="Write also what only a measurement could confirm.")
@click.option("--include-tests", is_flag=True, help="Edit test files too.")
@click.option("--keep-keys", is_flag=True, help="Keep the keys of kernels that move (name=; needs Warp 1.17).")
@click.option(
    "--warp-min", metavar="VERSION", help="Lowest Warp that the code works with; else the project's metadata."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@html_options
@verify_options
@click.pass_context
def command(
    context: click.Context,
    /,
    paths: tuple[str, ...],
    dry_run: bool,
    verify: bool,
    patch_for: str | None,
    profile: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    unsafe_fixes: bool,
    include_tests: bool,
    keep_keys: bool,
    warp_min: str | None,
    form: str,
    html: Path | None,
    no_source: bool,
    **values: Any,
) -> int:
    """Mend what `warpfix scan` finds. PATH is a file or folder, `.` by default.

    Without --verify only fixes that the source proves safe are written. With it, COMMAND is measured, edited in memory,
    measured again, and what keeps every invariant and pays is written. Where no COMMAND is given, those of `commands`
    in [tool.warpfix] are run.

    \b
    warpfix apply --dry-run
    warpfix apply src
    warpfix apply --verify -- python -m app
    warpfix apply --verify --select WF701 --html change.html -- python -m app

    Exit status 0: done, or nothing to do. 1: with --dry-run, it would change something; with --verify, no good verdict.
    2: the call is wrong, the command fails as it stands, or a file could not be read.
    """
    scan = _Scan(paths or (".",), _names(select), _names(ignore), include_tests, keep_keys, warp_min, unsafe_fixes)
    run = context.meta["warpfix.command"]
    if patch_for is not None:
        if paths or dry_run or profile is not None or html is not None or form != "text":
            raise WarpfixError("--patch-for takes no PATH, --dry-run, --profile, --html or --format")
        return _patch_for(scan, patch_for, run or (), values)
    if verify:
        if profile is not None:
            raise WarpfixError("--profile and --verify exclude each other: --verify measures the command itself")
        if dry_run and form != "text":
            raise WarpfixError("--dry-run prints a diff: it and --format json exclude each other")
        check_folder(html)
        return _verified(scan, run or (), values, form, html, not no_source, dry_run)
    if run is not None:
        raise WarpfixError("a command after -- is run only with --verify")
    if values["commands"]:
        raise WarpfixError("--command is for --verify")
    if html is not None:
        raise WarpfixError("--html is for --verify: without a run there is nothing measured to show")
    for name in values:
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            option = {"targets": "target"}.get(name, name).replace("_", "-")
            raise WarpfixError(f"--{option} is for --verify: without it nothing is run")
    return _static(scan, profile, dry_run, form)


def _names(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


class _Scan:
    """What to look at, and how: used once, or again for the profile that a verification measures."""

    def __init__(
        self,
        paths: Sequence[str],
        select: tuple[str, ...],
        ignore: tuple[str, ...],
        include_tests: bool,
        keep_keys: bool,
        warp_min: str | None,
        unsafe: bool,
    ) -> None:
        self.paths = paths
        self.installed = False
        self.select = select
        self.ignore = ignore
        self.include_tests = include_tests
        self.keep_keys = keep_keys
        self.warp_min = warp_min
        self.unsafe = unsafe
        self.problems: tuple[Problem, ...] = ()
        self.scanned: list[Scanned] = []

    def plan(self, profile: Profile | None, verify: bool) -> tuple[Plan, dict[str, SourceFile]]:
        """Findings, and what of them is to be written."""
        from warpfix.hoisting import hoister_for
        from warpfix.plan import PlanSettings, make_plan
        from warpfix.rules import all_rules, selects
        from warpfix.scanning import scan_paths

        self.scanned, result = scan_paths(
            self.paths,
            select=self.select,
            ignore=self.ignore,
            include_tests=self.include_tests,
            warp_min=self.warp_min,
            profile=profile,
            installed=self.installed,
            prepare=lambda index, config: hoister_for(index, config, self.keep_keys),
        )
        self.problems = result.problems
        sources = _read(result.findings, {p: f.text for s in self.scanned for p, f in s.index.files.items()})
        named = {
            name
            for rule in all_rules()
            if self.select and selects(self.select, rule)
            for name in (rule.code, rule.slug)
        }
        settings = PlanSettings(verify=verify, unsafe=self.unsafe, named=named)
        return make_plan(result.findings, {p: s.text for p, s in sources.items()}, settings, profile), sources

    def root_of(self, path: str) -> str:
        """The root of the project that holds a file."""
        for item in self.scanned:
            if path in item.index.files:
                return item.index.project.root
        return str(Path(path).parent)

    def root(self) -> str:
        """The folder that a diff's paths are relative to."""
        import os

        roots = [item.index.project.root for item in self.scanned] or [str(Path.cwd())]
        return os.path.commonpath(roots)

    def notes(self, plan: Plan) -> list[str]:
        """What the edits take for granted of Warp, where the project does not say."""
        from warpfix.codemods.hoist import Hoist
        from warpfix.hoisting import lowest_warp

        lines = []
        edits = [edit for edits in plan.edits.values() for edit in edits]
        named = any(getattr(edit, "module", None) is not None and edit.module.value is not None for edit in edits)  # type: ignore[attr-defined]
        keyed = any(isinstance(edit, Hoist) and edit.key is not None for edit in edits)
        for item in self.scanned:
            (major, minor), source = lowest_warp(item.config)
            if (named or keyed) and item.config.warp_min is None:
                lines.append(
                    f"the edits use what Warp {major}.{minor} has ({source}); the project names no lowest Warp, "
                    "--warp-min does"
                )
            if self.keep_keys and (major, minor) < (1, 17):
                lines.append(f"keys can't be kept: name= needs Warp 1.17, and the edits must work with {major}.{minor}")
        return list(dict.fromkeys(lines))


def _read(findings: Sequence[Any], texts: Mapping[str, str]) -> dict[str, SourceFile]:
    """The files that some fix would edit, as they are on disk."""
    from warpfix.files import CannotWrite, read_source

    found: dict[str, SourceFile] = {}
    for finding in findings:
        for path in finding.fix.edits if finding.fix is not None else ():
            if path in found:
                continue
            try:
                source = read_source(path)
            except (OSError, SyntaxError, UnicodeDecodeError) as error:
                raise CannotWrite(f"{path}: can't be read again: {error}") from error
            if source.text != texts.get(path):
                raise CannotWrite(f"{path}: changed while it was being read; run again")
            found[path] = source
    return found


def _static(scan: _Scan, profile_path: str | None, dry_run: bool, form: str) -> int:
    from warpfix.files import changes, unified_diff, write_all
    from warpfix.plan import render
    from warpfix.scanning import read_profile

    profile = None if profile_path is None else read_profile(profile_path)
    plan, sources = scan.plan(profile, verify=False)
    planned = changes(sources, render(plan, {path: source.text for path, source in sources.items()}))
    if dry_run:
        _print_bytes(unified_diff(planned, scan.root()))
    else:
        by_root: dict[str, list[Change]] = {}
        for change in planned:
            by_root.setdefault(scan.root_of(change.path), []).append(change)
        for root, some in by_root.items():
            write_all(some, root)
    if form == "json" and not dry_run:
        import json

        click.echo(json.dumps(_report(plan, planned), indent=1))
    else:
        # With --dry-run stdout holds the diff and nothing else.
        for line in _summary(scan, plan, planned, dry_run):
            click.echo(line, err=dry_run)
    status = EXIT_FINDINGS if dry_run and planned else EXIT_OK
    return _problems(scan.problems) or status


def _problems(problems: Sequence[Problem]) -> int:
    from warpfix.output.scan_result import shown_path

    for problem in problems:
        where = shown_path(problem.path) + (f":{problem.line}" if problem.line else "")
        click.echo(f"warpfix: {where}: {problem.message}", err=True)
    return EXIT_ERROR if problems else EXIT_OK


def _verified(
    scan: _Scan,
    run: tuple[str, ...],
    values: dict[str, Any],
    form: str,
    html: Path | None,
    source: bool,
    dry_run: bool,
) -> int:
    from warpfix.cli.run_options import progress, verify_settings
    from warpfix.verify.engine import Proposal, apply_verified
    from warpfix.verify.text import applied_lines

    def propose(profile: Profile) -> Proposal:
        plan, sources = scan.plan(profile, verify=True)
        return Proposal(plan, sources)

    options = verify_settings(values, run)
    say: Callable[[str], None] = progress()
    applied = apply_verified(propose, options, cwd=str(Path.cwd()), say=say, write=not dry_run)
    if html is not None:
        from warpfix.page import write_page
        from warpfix.page.verified import applied_arms

        write_page(html, *applied_arms(applied), source=source)
    if form == "json":
        import json

        click.echo(json.dumps(applied.to_dict(), indent=1, default=str))
    else:
        # With --dry-run stdout holds the diff and nothing else.
        click.echo("\n".join([*applied_lines(applied), *_notes(scan, applied)]), err=dry_run)
    if dry_run:
        from warpfix.files import unified_diff

        _print_bytes(unified_diff(applied.changes, scan.root()))
    return _problems(scan.problems) or applied.exit_status


def _print_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _patch_for(scan: _Scan, package: str, run: tuple[str, ...], values: dict[str, Any]) -> int:
    """Prove fixes for a package that the command imports from site-packages; print them as a patch for its project."""
    from warpfix.cli.run_options import progress, verify_settings
    from warpfix.verify.engine import Proposal, apply_verified
    from warpfix.verify.evidence import installed_folder, patch_with_evidence
    from warpfix.verify.text import applied_lines

    where: list[str] = []

    def propose(profile: Profile) -> Proposal:
        folder = installed_folder(profile, package)
        where.append(folder)
        scan.paths, scan.installed = (folder,), True
        plan, sources = scan.plan(profile, verify=True)
        return Proposal(plan, sources, folder)

    options = verify_settings(values, run)
    applied = apply_verified(propose, options, cwd=str(Path.cwd()), say=progress(), write=False)
    click.echo("\n".join([*applied_lines(applied), *_notes(scan, applied)]), err=True)
    if applied.status != "proved":
        return _problems(scan.problems) or applied.exit_status
    _print_bytes(patch_with_evidence(applied, package, where[0]))
    return _problems(scan.problems)


def _notes(scan: _Scan, applied: Any) -> list[str]:
    from warpfix.plan import Plan

    return [f"note: {line}" for line in scan.notes(Plan(tuple(applied.kept), ()))]


def _report(plan: Plan, planned: Sequence[Change]) -> dict[str, Any]:
    return {
        "changed": [change.path for change in planned],
        "fixes": [
            {
                "path": one.findings[0].path,
                "line": one.findings[0].line,
                "rules": sorted({finding.code for finding in one.findings}),
                "summary": one.fix.summary,
                "applicability": one.fix.applicability.value,
            }
            for one in plan.kept
        ],
        "keys": [[r.old_key, r.new_key] for r in plan.renames if r.old_key != r.new_key],
        "left": [
            {"path": d.finding.path, "line": d.finding.line, "rule": d.finding.rule, "reason": d.reason}
            for d in plan.dropped
        ],
    }


def _summary(scan: _Scan, plan: Plan, planned: Sequence[Change], dry_run: bool) -> list[str]:
    """What was done and why, key changes, and what was left, grouped by the reason."""
    from warpfix.output.scan_result import shown_path, shown_place
    from warpfix.verify.text import wrap

    lines = []
    if planned:
        count = f"{len(planned)} file{'s' if len(planned) > 1 else ''}"
        lines += [f"would change {count}:" if dry_run else f"changed {count}:"]
        for one in plan.kept:
            finding = one.findings[0]
            lines += wrap(f"{shown_path(finding.path)}:{finding.line}: {one.fix.summary}", "  ", "    ")
            lines += wrap(finding.message, "    because ", "    ")
        keys = [(r.old_key, r.new_key) for r in plan.renames if r.old_key != r.new_key]
        if keys:
            lines += ["", "kernel keys, old -> new:"]
            lines += [f"  {old} -> {new}" for old, new in dict.fromkeys(keys)]
    else:
        lines += ["nothing to change"]
    groups: dict[str, list[str]] = {}
    for dropped in plan.dropped:
        finding = dropped.finding
        name = f" `{finding.kernel.rpartition('.')[2]}`" if finding.kernel else ""
        groups.setdefault(dropped.reason, []).append(f"{shown_place(finding)}{name} ({finding.code})")
    if groups:
        lines += ["", "left:"]
        for reason, places in groups.items():
            lines += wrap(reason, "  ", "  ")
            shown = places[:12] + ([f"and {len(places) - 12} more"] if len(places) > 12 else [])
            lines += [f"    {place}" for place in shown]
    notes = scan.notes(plan)
    return lines + ([""] if notes else []) + [line for note in notes for line in wrap(f"note: {note}")]
