"""The command tree. Commands are imported when they are used or listed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

import motet as package
from motet.interfaces.cli.shell.group import HelpfulGroup

COMMANDS = {
    "demo": "motet.interfaces.cli.demo.command:demo",
    "train": "motet.interfaces.cli.train.command:train",
    "plan": "motet.interfaces.cli.plan.command:plan",
    "app": "motet.interfaces.cli.apps.command:app",
    "simulate": "motet.interfaces.cli.simulate.command:simulate",
    "explain": "motet.interfaces.cli.simulate.explain_command:explain",
    "compare": "motet.interfaces.cli.simulate.compare_command:compare",
    "policy": "motet.interfaces.cli.simulate.policy_command:policy",
    "trace": "motet.interfaces.cli.trace.command:trace",
    "testbed": "motet.interfaces.cli.testbed.command:testbed",
    "completion": "motet.interfaces.cli.shell.completion:completion",
}


class LazyGroup(HelpfulGroup):
    """A group that imports a command when somebody asks for it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order in which a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, but an unknown command names the near ones."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from motet.domain.errors import UnknownName

            raise UnknownName("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package.__version__, message="motet %(version)s")
def motet(**_: Any) -> None:
    """Train many machine-learning models on one cluster, and find out which scheduler serves them
    best.

    Start here:

    \b
      motet demo                       four real models at once, in about a minute
      motet train mlr --data digits    one model, on data that is already on this machine
      motet app list                   what can be trained
      motet simulate --trace tiresias-480 --cluster 15x4 --policy yarn-cs,tiresias-las
                                       two schedulers, replayed in seconds
    """
