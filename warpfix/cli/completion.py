"""``warpfix completion``: what a shell has to read to complete warpfix's commands and options."""

from __future__ import annotations

import click

from warpfix.errors import WarpfixError


@click.command(name="completion", short_help="Print what completes commands and options in a shell.")
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print a script for SHELL that completes warpfix's commands and options. Bash needs version 4.4 or newer.

    \b
    warpfix completion bash > ~/.local/share/bash-completion/completions/warpfix
    warpfix completion zsh > "${fpath[1]}/_warpfix"
    warpfix completion fish > ~/.config/fish/completions/warpfix.fish
    """
    from click.shell_completion import get_completion_class

    from warpfix.cli import cli

    found = get_completion_class(shell)
    if found is None:
        raise WarpfixError(f"click knows no completion for {shell}")
    completer = found(cli, {}, "warpfix", "_WARPFIX_COMPLETE")
    # Not .source(), which runs bash to see its version: the script may be written for another machine.
    click.echo(completer.source_template % completer.source_vars())
    return 0
