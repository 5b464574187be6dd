"""A group of commands that answers a call without arguments with its help."""

from __future__ import annotations

import click


class HelpfulGroup(click.Group):
    """Whoever names no command wants to know which there are: that is no error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's; without arguments the help goes to stdout."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)
