"""`motet testbed`: many logical machines on this one. `motet.testbed` does the work."""

from __future__ import annotations

import click

from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.testbed.exec_commands import exec_command, front_command
from motet.interfaces.cli.testbed.host_commands import (
    heal_command,
    kill_command,
    partition_command,
    reclaim_command,
    set_command,
    start_command,
)
from motet.interfaces.cli.testbed.lifecycle_commands import (
    down_command,
    status_command,
    up_command,
)


@click.group("testbed", cls=HelpfulGroup, short_help="Run many logical machines on this one.")
def testbed_group() -> None:
    """Hosts on this machine, each with its own link, CPU quota and memory limit.

    Every host is a network namespace with a Ray node. The 'front' is a further host without limits,
    for Ray's head and for the commands of 'motet testbed run'. Needs Linux and root.

    \b
    Example:
      motet testbed up --machines 4 --cpus 0.4 --bandwidth 50mbit
      motet testbed run -- motet train mlr --data digits --machines 4
      motet testbed down
    """


for command in (
    up_command,
    down_command,
    status_command,
    set_command,
    kill_command,
    reclaim_command,
    start_command,
    partition_command,
    heal_command,
    exec_command,
    front_command,
):
    testbed_group.add_command(command)
