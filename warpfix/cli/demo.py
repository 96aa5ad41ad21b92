"""``warpfix demo``: a bundled sample project through the whole loop."""

from __future__ import annotations

import difflib
import importlib.util
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click

import warpfix
from warpfix.errors import EXIT_ERROR, EXIT_OK, WarpfixError
from warpfix.files import private_folder


@dataclass(frozen=True)
class Sample:
    """A project of sample_projects/: what shows its fault, and how it is run."""

    summary: str
    command: tuple[str, ...]
    """Arguments to Python, run in the project's folder."""


SAMPLES = {
    "particle_stages": Sample('Stable kernels in factories with module="unique".', ("-m", "particle_stages")),
    "kernels_between_launches": Sample("Kernels defined after their module was loaded.", ("run.py",)),
    "late_module_options": Sample("Module options set after the first launch.", ("pendulums.py",)),
    "late_config": Sample("A global option set below the import of the kernels.", ("run.py",)),
    "lost_cache": Sample("The kernel cache is cleared at every start.", ("orbits.py",)),
    "factory_per_step": Sample("A kernel factory in the loop, and adjoints that nobody runs.", ("smooth.py",)),
    "variants_in_a_shared_module": Sample("A specialised kernel that keeps rebuilding its neighbours.", ("pond.py",)),
    "one_kernel_modules": Sample("Several named Warp modules of one kernel each.", ("orchard.py",)),
    "types_one_by_one": Sample("A generic kernel that meets its types one by one.", ("loom.py",)),
    "two_block_dims": Sample("One Warp module, launched with two block dims.", ("tides.py",)),
    "preload_of_everything": Sample("wp.force_load() of every module there is.", ("kiln.py",)),
    "clean": Sample("Nothing to mend.", ("run.py",)),
}


def samples_folder() -> Path:
    """Return the folder of the sample projects: in an installed package, or beside it in a checkout.

    Raises:
        WarpfixError: The installation has none.
    """
    package = Path(warpfix.__file__).resolve().parent
    for folder in (package / "sample_projects", package.parent / "sample_projects"):
        if folder.is_dir():
            return folder
    raise WarpfixError("this installation of warpfix came without its sample projects; install it again")


def copy_sample(name: str, target: Path) -> None:
    """Copy a sample project to ``target``, which must not exist or be empty.

    Raises:
        WarpfixError: ``target`` is in use or can't be written.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise WarpfixError(f"{target} exists and is not an empty folder; name another one after --keep")
    try:
        ignore = shutil.ignore_patterns("__pycache__", ".warpfix")
        shutil.copytree(samples_folder() / name, target, ignore=ignore, dirs_exist_ok=True)
    except OSError as error:
        raise WarpfixError(f"can't copy the sample to {target}: {error.strerror or error}") from error


def changes(name: str, copy: Path) -> str:
    """Return one unified diff from the sample as bundled to its copy; empty when nothing changed."""
    original = samples_folder() / name
    lines: list[str] = []
    for path in sorted(original.rglob("*.py")):
        relative = path.relative_to(original)
        before = path.read_text(encoding="utf-8").splitlines(keepends=True)
        after = (copy / relative).read_text(encoding="utf-8").splitlines(keepends=True)
        lines += difflib.unified_diff(before, after, f"a/{relative.as_posix()}", f"b/{relative.as_posix()}")
    return "".join(lines)


@click.command(name="demo", short_help="Take a bundled sample through the whole loop.")
@click.argument("name", default="particle_stages", metavar="[NAME]")
@click.option("--list", "list_samples", is_flag=True, help="List the samples and stop.")
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Copy it to DIR and leave it there.")
@click.option("--diff", "show_diff", is_flag=True, help="Show what changed in the copy.")
@click.option("--select", multiple=True, metavar="RULE", help="Handed on to `warpfix apply`.")
def command(name: str, list_samples: bool, keep: Path | None, show_diff: bool, select: tuple[str, ...]) -> int:
    """Copy a sample project to a new folder and run `warpfix apply --verify` on it.

    NAME is one that --list prints; particle_stages by default. Needs Warp in this environment (the extra `warp`), no
    GPU. The copy is removed at the end, unless --keep names a folder for it.

    \b
    warpfix demo
    warpfix demo --list
    warpfix demo late_config --select WF201 --diff
    """
    if list_samples:
        width = max(map(len, SAMPLES))
        for sample_name, sample in SAMPLES.items():
            click.echo(f"{sample_name:{width}}  {sample.summary}")
        return EXIT_OK
    if name not in SAMPLES:
        raise WarpfixError(f"no sample named {name!r}; there are {', '.join(SAMPLES)}")
    if importlib.util.find_spec("warp") is None:
        raise WarpfixError("the demo compiles real kernels and found no Warp here: pip install 'warpfix[warp]'")
    scratch = None if keep else private_folder("warpfix-demo-")
    try:
        copy = keep.absolute() if keep else Path(scratch or "") / name
        copy_sample(name, copy)
        return _run(name, copy, select, show_diff, keep is not None)
    finally:
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)


def _run(name: str, copy: Path, select: tuple[str, ...], show_diff: bool, keep: bool) -> int:
    options = [argument for rule in select for argument in ("--select", rule)]
    shown = shlex.join(["warpfix", "apply", "--verify", *options, "--", "python", *SAMPLES[name].command])
    click.echo(f"{name}: {SAMPLES[name].summary}\nCopied to {copy}\n$ {shown}\n")
    sys.stdout.flush()
    arguments = [sys.executable, "-m", "warpfix", "apply", "--verify", *options, "--", sys.executable]
    status = subprocess.run([*arguments, *SAMPLES[name].command], cwd=copy).returncode
    if status >= EXIT_ERROR or status < 0:
        return EXIT_ERROR
    diff = changes(name, copy)
    if not diff:
        click.echo("\nNothing changed in the copy.")
    elif show_diff:
        click.echo(f"\nWhat changed in the copy:\n\n{diff}")
    else:
        lines = diff.splitlines()
        added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
        removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
        how = "--diff shows them" if keep else "--diff shows them, --keep DIR keeps the copy"
        click.echo(f"\n{added} lines were added and {removed} removed in the copy: {how}.")
    return status
