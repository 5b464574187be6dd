"""`motet policy` with all of its commands."""

from __future__ import annotations

import click

from motet.interfaces.cli.live.policy_commands import set_policy_command, show_policy_command
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.simulate.policy_command import describe_policy, list_policies


@click.group(
    "policy", cls=HelpfulGroup, short_help="The scheduling policies, and that of the live cluster."
)
def policy_command() -> None:
    """The scheduling policies and their parameters, and the policy of the live cluster."""


for each in (list_policies, describe_policy, show_policy_command, set_policy_command):
    policy_command.add_command(each)
