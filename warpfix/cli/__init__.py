"""The command line. One file per command; nothing heavy is imported before a command needs it."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from types import FrameType
from typing import Any

import click

from warpfix._version import __version__
from warpfix.errors import EXIT_ERROR, WarpfixError

# Name to module in this package; the module's ``command`` is the click command. Read lazily, so that --help is quick.
COMMANDS = {
    "scan": "Find what makes a Warp program compile too much, from its source.",
    "apply": "Mend it in the source; with --verify, only what a measurement proves.",
    "measure": "Run a command cold and warm, and say what was built, why, and by which line.",
    "explain-build": "Say why a Warp module was built again: its hashes side by side.",
    "report": "Make a page for a browser from one report, or from two.",
    "whatif": "Price levers not taken, by overriding them in the process: the ledger.",
    "bake": "Make a kernel cache for an image or a CI artefact, and prove it.",
    "compare": "Judge two reports: builds, launches, options and code, before against after.",
    "try": "Let warpfix prove anybody's patch on a real command.",
    "undo": "Restore what the last apply wrote.",
    "budget": "Keep what a command builds from growing: a gate for CI.",
    "demo": "Take a bundled sample through the whole loop.",
    "completion": "Print what completes commands and options in a shell.",
    "rules": "List the rules.",
    "explain": "Say one rule's why, bad, good and limits.",
}
_MODULES = {"try": "try_patch", "rules": "catalogue", "explain": "catalogue", "explain-build": "explain_build"}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"warpfix.cli.{_MODULES.get(cmd_name, cmd_name)}")
        attribute = cmd_name if cmd_name in ("rules", "explain") else "command"
        command: click.Command = getattr(module, attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="warpfix")
def cli() -> None:
    """Find why a program that uses NVIDIA Warp is slow to start, and mend it in the source, with proof."""


def main(args: list[str] | None = None) -> Any:
    """Run the command line; end the process with warpfix's own exit status.

    Args:
        args: Arguments after the program's name; those of the process by default.
    """
    debug = os.environ.get("WARPFIX_DEBUG") == "1"
    # As an interrupt does: end what was started, undo what was half done, leave no folder behind.
    signal.signal(signal.SIGTERM, _terminated)
    collecting = gc.isenabled()
    try:
        status = cli.main(args=args, prog_name="warpfix", standalone_mode=False)
    except WarpfixError as error:
        if debug:
            raise
        print(f"warpfix: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
            error.show()
        else:
            print(f"warpfix: {_in_a_line(error)}", file=sys.stderr)
        sys.exit(EXIT_ERROR)
    except (KeyboardInterrupt, click.Abort):
        print("warpfix: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output went away (``| head``): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(EXIT_ERROR)
    except Exception as error:
        if debug:
            raise
        what = f"{type(error).__name__}: {error}"
        print(f"warpfix: internal error: {what} (WARPFIX_DEBUG=1 shows where)", file=sys.stderr)
        sys.exit(EXIT_ERROR)
    finally:
        if args is None:
            # The process ends here: going through a whole project's trees once more would free nothing sooner.
            gc.freeze()
        elif collecting:
            gc.enable()
    sys.exit(status if isinstance(status, int) else 0)


def _in_a_line(error: click.ClickException) -> str:
    """A wrong call in one line: what is wrong, and where to read what would be right."""
    text = " ".join(error.format_message().split())
    text = text[:1].lower() + text[1:]
    context = getattr(error, "ctx", None)
    if context is None:
        return text
    return f"{text.rstrip('.')} (`{context.command_path} --help` says how it is called)"


def _terminated(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
