"""A group of commands that prints its help when called without arguments."""

from __future__ import annotations

import click


class HelpfulGroup(click.Group):
    """A click group for which a missing command is not an error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; without arguments print the help on stdout."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)
