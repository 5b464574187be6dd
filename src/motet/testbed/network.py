"""The private network of a testbed as commands of `ip` and `tc`: pure, nothing runs here.

A bridge in a namespace of its own, a pair of virtual Ethernet devices per host, and a token bucket
at both ends of each pair, so that a host's link has its bandwidth in either direction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from motet.testbed.hosts import Host
from motet.testbed.layout import Layout

Command = Sequence[str]

BRIDGE = "bridge"
DEVICE = "eth0"
PREFIX_BITS = 24
# What passes at once after a pause: enough for a late timer of a busy machine, far less than a
# mini-batch, which would otherwise cross for nothing.
BURST_S = 0.005
LEAST_BURST_BYTES = 32 << 10
QUEUE_MS = 400


def switch_commands(layout: Layout) -> list[Command]:
    """Make the switch."""
    return [
        ("ip", "netns", "add", layout.switch),
        ("ip", "-n", layout.switch, "link", "add", BRIDGE, "type", "bridge"),
        ("ip", "-n", layout.switch, "link", "set", BRIDGE, "up"),
    ]


def host_commands(layout: Layout, host: Host) -> list[Command]:
    """Make a host's namespace and plug it into the switch, without a limit."""
    space, port = layout.label_of(host), layout.port_of(host)
    address = f"{layout.address_of(host)}/{PREFIX_BITS}"
    on_switch, on_host = ("ip", "-n", layout.switch), ("ip", "-n", space)
    pair = ("type", "veth", "peer", "name", DEVICE, "netns", space)
    return [
        ("ip", "netns", "add", space),
        (*on_switch, "link", "add", port, *pair),
        (*on_switch, "link", "set", port, "master", BRIDGE, "up"),
        (*on_host, "addr", "add", address, "dev", DEVICE),
        (*on_host, "link", "set", DEVICE, "up"),
        (*on_host, "link", "set", "lo", "up"),
    ]


def limit_commands(layout: Layout, host: Host) -> list[Command]:
    """Give a host's link its bandwidth; also while traffic crosses it."""
    if host.limits.bandwidth_bps is None:
        return []
    ends = ((layout.label_of(host), DEVICE), (layout.switch, layout.port_of(host)))
    return [
        ("tc", "-n", space, "qdisc", "replace", "dev", device, "root",
         *_bucket(host.limits.bandwidth_bps))
        for space, device in ends
    ]  # fmt: skip


def link_command(layout: Layout, host: Host, *, is_up: bool) -> Command:
    """Plug a host in, or pull its plug."""
    port = layout.port_of(host)
    return ("ip", "-n", layout.switch, "link", "set", port, "up" if is_up else "down")


def ports_command(layout: Layout) -> Command:
    """Ask for the switch's ports, for `cut_ports`."""
    return ("ip", "-json", "-n", layout.switch, "link", "show")


def cut_ports(answer: str) -> frozenset[str]:
    """Names of the ports that are unplugged."""
    links = json.loads(answer or "[]")
    return frozenset(link["ifname"] for link in links if "UP" not in link.get("flags", ()))


def removal_commands(labels: Iterable[str]) -> list[Command]:
    """Remove namespaces; the devices in them, and their other ends, go with them."""
    return [("ip", "netns", "delete", label) for label in labels]


def _bucket(bits_per_s: int) -> Command:
    burst_bytes = max(LEAST_BURST_BYTES, round(bits_per_s / 8 * BURST_S))
    return (
        "tbf", "rate", f"{bits_per_s}bit", "burst", f"{burst_bytes}b", "latency", f"{QUEUE_MS}ms",
    )  # fmt: skip
