"""`motet memory`: lends idle memory, and makes block devices of what others lend."""

from __future__ import annotations

import click

from motet.interfaces.cli.memory.device_commands import (
    device_group,
    memory_down_command,
    memory_status_command,
)
from motet.interfaces.cli.memory.lend_command import lend_command
from motet.interfaces.cli.memory.simulate_command import simulate_memory_command
from motet.interfaces.cli.memory.web_command import memory_web_command
from motet.interfaces.cli.shell.group import HelpfulGroup


@click.group("memory", cls=HelpfulGroup, short_help="Page to the idle memory of other machines.")
def memory_group() -> None:
    """Idle memory of some machines for programs on others that need more than they have.

    \b
    Examples:
      motet memory lend &
      motet memory device up --size 4G
      motet memory status
      motet memory simulate --machines 1000
    """


for _command in (
    lend_command,
    device_group,
    memory_status_command,
    memory_down_command,
    memory_web_command,
    simulate_memory_command,
):
    memory_group.add_command(_command)
