"""Options and arguments that several `motet testbed` commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.shell.streams.visible import echo_note

if TYPE_CHECKING:
    from motet.testbed.hosts import Limits
    from motet.testbed.testbed import Testbed

name_option = click.option(
    "--name", default="default", show_default=True, metavar="T", help="Name of the testbed."
)
hosts_argument = click.argument("hosts", nargs=-1, required=True, metavar="HOST...")


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--cpus`, `--bandwidth` and `--memory`."""
    options = (
        click.option("--cpus", metavar="C", help="CPU quota per host in CPUs, such as 0.2."),
        click.option(
            "--bandwidth",
            metavar="B",
            help="Bandwidth of each host's link, such as 50mbit.",
        ),
        click.option("--memory", metavar="M", help="Memory limit per host, such as 1gb."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def open_testbed(name: str) -> Testbed:
    """The testbed of a name, which need not exist. Raises BadInput unless on Linux as root."""
    from motet.testbed.hosts import check_name
    from motet.testbed.layout import HostLayout
    from motet.testbed.machine import require_testbed_machine
    from motet.testbed.testbed import Testbed

    layout = HostLayout(check_name(name))
    return Testbed(layout, require_testbed_machine(), lambda text: echo_note(text))


def parse_limits(cpus: str | None, bandwidth: str | None, memory: str | None) -> Limits:
    """The limits as given; None: no limit. Raises BadInput."""
    from motet.testbed.hosts import Limits
    from motet.testbed.quantities import bandwidth_of, cpus_of, memory_of

    return Limits(
        None if cpus is None else cpus_of(cpus, "--cpus"),
        None if bandwidth is None else bandwidth_of(bandwidth, "--bandwidth"),
        None if memory is None else memory_of(memory, "--memory"),
    )


def required_limits(**limits: str | None) -> Limits:
    """As `parse_limits`, with at least one limit given. Raises BadInput."""
    from motet.domain.errors import BadInput

    if not any(limits.values()):
        raise BadInput("nothing to change; give --cpus, --bandwidth or --memory")
    return parse_limits(**limits)
