"""`motet testbed set`, `kill`, `reclaim`, `start`, `partition` and `heal`: changes of hosts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.interfaces.cli.testbed.options import (
    hosts_argument,
    limit_options,
    name_option,
    open_testbed,
    required_limits,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motet.testbed.hosts import Host


@click.command("set", short_help="Change links and quotas of running hosts.")
@hosts_argument
@limit_options
@name_option
def set_command(hosts: tuple[str, ...], name: str, **limits: str | None) -> None:
    """Change limits of hosts, given by number or name, or of 'all'; running programs continue.

    \b
    Examples:
      motet testbed set m3 --cpus 0.05
      motet testbed set all --bandwidth 20mbit
    """
    wanted = required_limits(**limits)
    _print_hosts("changed", open_testbed(name).change(hosts, wanted))


@click.command("kill", short_help="Kill everything on hosts.")
@hosts_argument
@click.option(
    "--silent",
    is_flag=True,
    help="Cut the link first, as in a power failure.",
)
@name_option
def kill_command(hosts: tuple[str, ...], silent: bool, name: str) -> None:
    """Kill all processes of hosts; 'motet testbed start' brings the hosts back."""
    _print_hosts("killed", open_testbed(name).kill(hosts, silently=silent))


@click.command("reclaim", short_help="Take hosts away, with notice.")
@hosts_argument
@click.option(
    "--notice",
    default="30s",
    show_default=True,
    metavar="T",
    help="Time between notice and kill, such as 30s or 2min.",
)
@name_option
def reclaim_command(hosts: tuple[str, ...], notice: str, name: str) -> None:
    """Announce to Ray that hosts will be taken away, wait for the time of --notice, and kill them.

    Clouds take spot machines away like this. Jobs can move to other hosts in that time; 'motet
    testbed start' brings the hosts back. After Ctrl-C in that time the hosts stay alive, but Ray
    starts nothing more on them.

    \b
    Example:
      motet testbed reclaim m2 m3 --notice 30s
    """
    from motet.testbed.quantities import seconds_of

    notice_s = seconds_of(notice, "--notice")
    bed = open_testbed(name)
    _print_hosts(f"to be killed in {notice_s} s", bed.give_notice(hosts, notice_s))
    time.sleep(notice_s)
    _print_hosts("killed", bed.kill(hosts))


@click.command("start", short_help="Bring killed hosts back.")
@hosts_argument
@name_option
def start_command(hosts: tuple[str, ...], name: str) -> None:
    """Connect hosts and start Ray on those where it does not run."""
    _print_hosts("started", open_testbed(name).start(hosts))


@click.command("partition", short_help="Cut hosts off from all others.")
@hosts_argument
@name_option
def partition_command(hosts: tuple[str, ...], name: str) -> None:
    """Cut the links of hosts: processes on them continue, and all their packets are lost."""
    _print_hosts("cut off", open_testbed(name).partition(hosts))


@click.command("heal", short_help="Undo 'partition'.")
@hosts_argument
@name_option
def heal_command(hosts: tuple[str, ...], name: str) -> None:
    """Reconnect hosts. Ray gives up a cut-off host after about a minute; 'start' brings it back."""
    _print_hosts("reconnected", open_testbed(name).heal(hosts))


def _print_hosts(what: str, hosts: Sequence[Host]) -> None:
    echo_note(f"{what}: {', '.join(host.name for host in hosts)}")
