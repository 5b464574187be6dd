"""`motet completion`: prints the script with which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help="Print a shell's completion script.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash: echo 'eval "$(motet completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(motet completion zsh)"' >> ~/.zshrc
    fish: motet completion fish > ~/.config/fish/completions/motet.fish
    """
    script_class = get_completion_class(shell)
    assert script_class is not None
    root = ctx.find_root().command
    click.echo(script_class(root, {}, "motet", "_MOTET_COMPLETE").source())
