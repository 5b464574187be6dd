"""`motet testbed`: many machines on this one. What it does is in `motet.testbed`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import json_option

if TYPE_CHECKING:
    from motet.testbed.hosts import Blueprint, Limits
    from motet.testbed.testbed import Testbed

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

name_option = click.option(
    "--name", default="default", show_default=True, metavar="T", help="Which testbed."
)
hosts_argument = click.argument("hosts", nargs=-1, required=True, metavar="HOST...")
COMMAND_CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--cpus`, `--bandwidth` and `--memory`."""
    options = (
        click.option("--cpus", metavar="C", help="CPUs' worth of time per host, such as 0.2."),
        click.option(
            "--bandwidth", metavar="B", help="Of each host's link, both ways, such as 50mbit."
        ),
        click.option("--memory", metavar="M", help="Memory limit per host, such as 1gb."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(cls=HelpfulGroup, short_help="Make many machines out of this one.")
def testbed() -> None:
    """Hosts with a link, a CPU quota and a memory limit of their own, all on this machine.

    Every host is a network namespace with a Ray node in it. Beside them is the 'front', a host
    without limits: Ray's head and whatever 'motet testbed run' starts. Needs Linux and root.

    \b
    Example:
      motet testbed up --machines 4 --cpus 0.4 --bandwidth 50mbit
      motet testbed run -- motet train mlr --data digits --machines 4
      motet testbed down
    """


@testbed.command(short_help="Make the hosts and start Ray on them.")
@click.option("--machines", type=int, metavar="N", help="Equal hosts: m0, m1, ...")
@click.option(
    "--types",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Unequal hosts instead: CSV or YAML with name,count,cpus,bandwidth,memory.",
)
@limit_options
@click.option("--no-ray", is_flag=True, help="Only hosts and links, no Ray.")
@click.option(
    "--object-store",
    default="80mb",
    show_default=True,
    metavar="M",
    help="Ray's own memory per host; Motet's traffic does not go through it.",
)
@name_option
@json_option()
def up(name: str, as_json: bool, **flags: Any) -> None:
    """Make a testbed: all of it or, on an error or Ctrl-C, nothing.

    \b
    Examples:
      motet testbed up --machines 8 --cpus 0.2 --bandwidth 50mbit
      motet testbed up --types hosts.csv --memory 1gb --name uneven
    """
    from motet.interfaces.cli.shell.signals import raise_on_signals
    from motet.interfaces.cli.testbed.screen import show_status, warn_of_scarce_cpus

    blueprint = _blueprint(name, **flags)
    bed = _testbed(name)
    warn_of_scarce_cpus(blueprint, os.cpu_count() or 1)
    with raise_on_signals():
        bed.up(blueprint)
    show_status(bed, as_json=as_json)


@testbed.command(short_help="Remove a testbed and all that runs on it.")
@name_option
def down(name: str) -> None:
    """Remove hosts, processes and files, also after a crash. Without a testbed nothing happens."""
    removal = _testbed(name).down()
    said = f"removed testbed {name}: {removal.hosts} hosts, {removal.processes} processes"
    if not removal.hosts and not removal.processes:
        said = f"there is no testbed {name!r}, nothing to remove"
    click.echo(said, err=True)


@testbed.command(short_help="Show the hosts of a testbed.")
@name_option
@json_option()
def status(name: str, as_json: bool) -> None:
    """Show hosts, limits, what they use, and which are dead or cut off."""
    from motet.interfaces.cli.testbed.screen import show_status

    show_status(_testbed(name), as_json=as_json)


@testbed.command("set", short_help="Change links and quotas while everything runs.")
@hosts_argument
@limit_options
@name_option
def set_limits(hosts: tuple[str, ...], name: str, **limits: str | None) -> None:
    """Change limits of hosts, named by number or name, or of 'all'; running programs go on.

    \b
    Examples:
      motet testbed set m3 --cpus 0.05
      motet testbed set all --bandwidth 20mbit
    """
    wanted = _required_limits(**limits)
    _report("changed", _testbed(name).change(hosts, wanted))


@testbed.command(short_help="Kill everything on hosts.")
@hosts_argument
@click.option(
    "--silent", is_flag=True, help="Cut the link first, so that nobody is told: a power failure."
)
@name_option
def kill(hosts: tuple[str, ...], silent: bool, name: str) -> None:
    """Kill all processes of hosts; 'motet testbed start' brings the hosts back."""
    _report("killed", _testbed(name).kill(hosts, silently=silent))


@testbed.command(short_help="Take hosts away, with notice.")
@hosts_argument
@click.option(
    "--notice",
    default="30s",
    show_default=True,
    metavar="T",
    help="How long before, such as 30s or 2min.",
)
@name_option
def reclaim(hosts: tuple[str, ...], notice: str, name: str) -> None:
    """Tell Ray that hosts will be taken away, wait as long as the notice is, then kill them.

    Clouds do this to spot machines. Jobs move elsewhere meanwhile; 'motet testbed start' brings
    the hosts back. Ctrl-C while it waits leaves them alive, but Ray starts nothing there any more.

    \b
    Example:
      motet testbed reclaim m2 m3 --notice 30s
    """
    from motet.testbed.quantities import seconds_of

    notice_s = seconds_of(notice, "--notice")
    bed = _testbed(name)
    _report(f"to be killed in {notice_s} s", bed.give_notice(hosts, notice_s))
    time.sleep(notice_s)
    _report("killed", bed.kill(hosts))


@testbed.command(short_help="Bring killed hosts back.")
@hosts_argument
@name_option
def start(hosts: tuple[str, ...], name: str) -> None:
    """Plug hosts in and start Ray where it does not run."""
    _report("started", _testbed(name).start(hosts))


@testbed.command(short_help="Cut hosts off from all others.")
@hosts_argument
@name_option
def partition(hosts: tuple[str, ...], name: str) -> None:
    """Unplug hosts: what runs there goes on, and nothing it sends arrives."""
    _report("cut off", _testbed(name).partition(hosts))


@testbed.command(short_help="Undo 'partition'.")
@hosts_argument
@name_option
def heal(hosts: tuple[str, ...], name: str) -> None:
    """Plug hosts in again. Ray gives up a host after about a minute: 'start' brings it back."""
    _report("plugged in", _testbed(name).heal(hosts))


@testbed.command("exec", context_settings=COMMAND_CONTEXT, short_help="Run a command on a host.")
@name_option
@click.argument("host")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
def execute(host: str, command: tuple[str, ...], name: str) -> None:
    """Run COMMAND on HOST, under its limits, in this folder and with these files.

    The exit code is the command's.

    \b
    Examples:
      motet testbed exec m0 -- ip -stats link
      motet testbed exec front -- ip addr
    """
    if command[0] == "--name" and len(command) > 2:  # as other commands take it, behind the host
        name, command = command[1], command[2:]
    _become(_testbed(name), host, command)


@testbed.command(context_settings=COMMAND_CONTEXT, short_help="Run a command on the front.")
@name_option
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
def run(command: tuple[str, ...], name: str) -> None:
    """Run COMMAND on the front, where 'motet train' finds the testbed's Ray cluster by itself.

    The exit code is the command's.

    \b
    Example:
      motet testbed run -- motet train nmf --data u.data --machines 4 --workers 3 --servers 1
    """
    from motet.testbed.hosts import FRONT

    _become(_testbed(name), FRONT, command)


def _testbed(name: str) -> Testbed:
    from motet.testbed.hosts import check_name
    from motet.testbed.layout import HostLayout
    from motet.testbed.machine import require_testbed_machine
    from motet.testbed.testbed import Testbed

    layout = HostLayout(check_name(name))
    return Testbed(layout, require_testbed_machine(), lambda text: click.echo(text, err=True))


def _blueprint(
    name: str,
    machines: int | None,
    types: Path | None,
    no_ray: bool,
    object_store: str,
    **limits: str | None,
) -> Blueprint:
    from motet.domain.errors import BadInput
    from motet.testbed.hosts import Blueprint, check_name, equal_machines, machines_of
    from motet.testbed.quantities import object_store_of
    from motet.testbed.types_file import read_types

    if (machines is None) == (types is None):
        raise BadInput("how many hosts? give --machines N, or --types FILE, and not both")
    defaults = _limits(**limits)
    made = (
        machines_of(read_types(types, defaults))
        if types is not None
        else equal_machines(machines or 0, defaults)
    )
    store = object_store_of(object_store, "--object-store")
    return Blueprint(check_name(name), made, not no_ray, store)


def _limits(cpus: str | None, bandwidth: str | None, memory: str | None) -> Limits:
    from motet.testbed.hosts import Limits
    from motet.testbed.quantities import bandwidth_of, cpus_of, memory_of

    return Limits(
        None if cpus is None else cpus_of(cpus, "--cpus"),
        None if bandwidth is None else bandwidth_of(bandwidth, "--bandwidth"),
        None if memory is None else memory_of(memory, "--memory"),
    )


def _required_limits(**limits: str | None) -> Limits:
    from motet.domain.errors import BadInput

    if not any(limits.values()):
        raise BadInput("nothing to change; give --cpus, --bandwidth or --memory")
    return _limits(**limits)


def _report(what: str, hosts: list[Any]) -> None:
    click.echo(f"{what}: {', '.join(host.name for host in hosts)}", err=True)


def _become(bed: Testbed, host: str, command: tuple[str, ...]) -> None:
    """Replace this process."""
    if command[0] == "--" and len(command) > 1:  # click leaves it there after another argument
        command = command[1:]
    arguments, environment = bed.entering(host, command)
    os.execvpe(arguments[0], arguments, environment)
