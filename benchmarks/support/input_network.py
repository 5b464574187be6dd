"""A second network of a testbed, without a limit: between the front and each host.

Input that controllers send at the start of a job comes by it, as from a file system with links of
its own, so that the limited link has the messages of workers and servers alone. Needs root; it is
removed with the testbed.
"""

from __future__ import annotations

from motet.testbed.hosts import FRONT_HOST
from motet.testbed.layout import HostLayout
from motet.testbed.machine import run_command
from motet.testbed.network import Command
from motet.testbed.state import read_state

BRIDGE, DEVICE = "input", "input0"


def add_input_network(name: str) -> None:
    """Of a testbed that is up. Raises MotetError."""
    layout = HostLayout(name)
    hosts = read_state(layout).blueprint.hosts
    switch = ("ip", "-n", layout.switch)
    commands: list[Command] = [
        (*switch, "link", "add", BRIDGE, "type", "bridge"),
        (*switch, "link", "set", BRIDGE, "up"),
    ]
    for host in hosts:
        space, port = layout.label_of(host), f"in-{layout.port_of(host)}"
        pair = ("type", "veth", "peer", "name", DEVICE, "netns", space)
        commands += [
            (*switch, "link", "add", port, *pair),
            (*switch, "link", "set", port, "master", BRIDGE, "up"),
            ("ip", "-n", space, "link", "set", DEVICE, "up"),
        ]
    front = layout.address_of(FRONT_HOST)
    for host in hosts:
        if not host.is_front:
            address = layout.address_of(host)
            commands += [
                _route(layout.label_of(host), front, address),
                _route(layout.label_of(FRONT_HOST), address, front),
            ]
    for command in commands:
        run_command(command)


def _route(space: str, to: str, source: str) -> Command:
    return ("ip", "-n", space, "route", "add", f"{to}/32", "dev", DEVICE, "src", source)
