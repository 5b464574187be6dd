"""Commands of `ip` and `tc` for the private network of a testbed. Pure.

The network is a bridge in its own namespace, a pair of virtual Ethernet devices per host, and a
token bucket at both ends of each pair, which limits the bandwidth in both directions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from motet.testbed.hosts import Host
from motet.testbed.layout import HostLayout

Command = Sequence[str]

BRIDGE = "bridge"
DEVICE = "eth0"
PREFIX_BITS = 24
# Burst after a pause: enough for late timers of a busy machine, much less than a mini-batch, which
# would otherwise pass without delay.
BURST_S = 0.005
LEAST_BURST_BYTES = 32 << 10
QUEUE_MS = 400


def switch_commands(layout: HostLayout) -> list[Command]:
    """Return the commands that create the switch."""
    return [
        ("ip", "netns", "add", layout.switch),
        ("ip", "-n", layout.switch, "link", "add", BRIDGE, "type", "bridge"),
        ("ip", "-n", layout.switch, "link", "set", BRIDGE, "up"),
    ]


def host_commands(layout: HostLayout, host: Host) -> list[Command]:
    """Return the commands that create a host's namespace and its link, without a limit."""
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


def limit_commands(layout: HostLayout, host: Host) -> list[Command]:
    """Return the commands that limit the bandwidth of a host's link; they also work under load."""
    if host.limits.bandwidth_bps is None:
        return []
    ends = ((layout.label_of(host), DEVICE), (layout.switch, layout.port_of(host)))
    return [
        ("tc", "-n", space, "qdisc", "replace", "dev", device, "root",
         *_bucket(host.limits.bandwidth_bps))
        for space, device in ends
    ]  # fmt: skip


def link_command(layout: HostLayout, host: Host, *, is_up: bool) -> Command:
    """Return the command that connects or disconnects a host."""
    port = layout.port_of(host)
    return ("ip", "-n", layout.switch, "link", "set", port, "up" if is_up else "down")


def ports_command(layout: HostLayout) -> Command:
    """Return the command that lists the switch's ports, for `cut_ports`."""
    return ("ip", "-json", "-n", layout.switch, "link", "show")


def cut_ports(output: str) -> frozenset[str]:
    """Return the names of the disconnected ports."""
    links = json.loads(output or "[]")
    return frozenset(link["ifname"] for link in links if "UP" not in link.get("flags", ()))


def removal_commands(labels: Iterable[str]) -> list[Command]:
    """Return the commands that remove namespaces, which also removes their devices."""
    return [("ip", "netns", "delete", label) for label in labels]


def _bucket(bits_per_s: int) -> Command:
    burst_bytes = max(LEAST_BURST_BYTES, round(bits_per_s / 8 * BURST_S))
    return (
        "tbf", "rate", f"{bits_per_s}bit", "burst", f"{burst_bytes}b", "latency", f"{QUEUE_MS}ms",
    )  # fmt: skip
