"""The status of a testbed on the terminal."""

from __future__ import annotations

import sys

from rich.console import Group, RenderableType
from rich.table import Table

from motet.interfaces.cli.shell.streams.results import print_result
from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.report.rendering.json_text import to_json
from motet.report.rendering.quantities import bytes_text
from motet.testbed.hosts import Blueprint
from motet.testbed.quantities import bandwidth_text
from motet.testbed.status import HostStatus, Status, status_of
from motet.testbed.testbed import Testbed

UNLIMITED = "-"
HINTS = {
    "incomplete": "'motet testbed up' did not finish; "
    "remove it with 'motet testbed down --name {name}'",
    "changing": "another command is changing it",
}


def show_status(testbed: Testbed, *, as_json: bool) -> None:
    """Print the present status of the testbed."""
    status = status_of(testbed)
    if as_json:
        sys.stdout.write(to_json(status.as_dict()))
    else:
        print_result(status_page(status))


def status_page(status: Status) -> RenderableType:
    """A line for the testbed and a row per host."""
    where = f", Ray at {status.head_address}" if status.head_address else ", without Ray"
    lines = [f"testbed {status.name}: {status.condition}{where}"]
    if status.condition in HINTS:
        lines.append(HINTS[status.condition].format(name=status.name))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("host", "address", "condition"):
        table.add_column(title)
    for title in ("cpus", "bandwidth", "memory", "used", "processes"):
        table.add_column(title, justify="right")
    for host in status.hosts:
        table.add_row(*_row(host))
    return Group(*lines, "", table)


def warn_of_scarce_cpus(blueprint: Blueprint, cpus: int) -> None:
    """Print a warning if the quotas of the hosts exceed the CPUs of this machine."""
    asked = sum(host.limits.cpus or 0.0 for host in blueprint.machines)
    if asked > cpus:
        echo_note(
            f"motet: warning: the hosts may use {asked:g} CPUs together, this machine has {cpus}: "
            "busy hosts will slow each other down; lower --cpus"
        )


def _row(status: HostStatus) -> tuple[str, ...]:
    limits = status.host.limits
    return (
        status.host.name,
        status.address,
        status.condition,
        UNLIMITED if limits.cpus is None else f"{limits.cpus:g}",
        UNLIMITED if limits.bandwidth_bps is None else bandwidth_text(limits.bandwidth_bps),
        UNLIMITED if limits.memory_bytes is None else bytes_text(limits.memory_bytes),
        bytes_text(status.memory_bytes),
        str(status.processes),
    )
