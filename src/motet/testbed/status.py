"""The current status of a testbed, read from the machine itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from motet.domain.errors import MotetError
from motet.testbed import machine, network
from motet.testbed.commands import RAYLET
from motet.testbed.hosts import Host
from motet.testbed.state import is_locked, read_state
from motet.testbed.testbed import Testbed

HostCondition = Literal["up", "dead", "partitioned"]
TestbedCondition = Literal["up", "changing", "incomplete"]


@dataclass(frozen=True)
class HostStatus:
    """Status of one host. `condition`: dead if Ray does not run, partitioned if disconnected."""

    host: Host
    address: str
    condition: HostCondition
    processes: int
    memory_bytes: int

    def as_dict(self) -> Mapping[str, Any]:
        """Return the fields that `status --json` prints."""
        limits = self.host.limits
        return {
            "host": self.host.name,
            "number": None if self.host.is_front else self.host.number,
            "address": self.address,
            "condition": self.condition,
            "cpus": limits.cpus,
            "bandwidth_bps": limits.bandwidth_bps,
            "memory_limit_bytes": limits.memory_bytes,
            "processes": self.processes,
            "memory_bytes": self.memory_bytes,
        }


@dataclass(frozen=True)
class Status:
    """Status of the whole testbed.

    `condition`: incomplete after an interrupted `up`, changing while a command changes it.
    """

    name: str
    condition: TestbedCondition
    head_address: str | None
    hosts: tuple[HostStatus, ...]

    def as_dict(self) -> Mapping[str, Any]:
        """Return the fields that `status --json` prints."""
        return {
            "name": self.name,
            "condition": self.condition,
            "ray_address": self.head_address,
            "hosts": [host.as_dict() for host in self.hosts],
        }


def status_of(testbed: Testbed) -> Status:
    """Return the current status. Raises NotFound."""
    is_changing = is_locked(testbed.layout)
    state = read_state(testbed.layout)
    blueprint = state.blueprint
    cut = _cut_ports(testbed)
    return Status(
        blueprint.name,
        "changing" if is_changing else "up" if state.is_complete else "incomplete",
        testbed.layout.head_address if blueprint.with_ray else None,
        tuple(_host_status(testbed, host, cut, blueprint.with_ray) for host in blueprint.hosts),
    )


def _host_status(testbed: Testbed, host: Host, cut: frozenset[str], with_ray: bool) -> HostStatus:
    label = testbed.layout.label_of(host)
    numbers = machine.members(testbed.groups.members_files(label))
    is_dead = with_ray and RAYLET not in map(machine.program_of, numbers)
    is_cut = testbed.layout.port_of(host) in cut
    return HostStatus(
        host,
        testbed.layout.address_of(host),
        "dead" if is_dead else "partitioned" if is_cut else "up",
        len(numbers),
        machine.number_in(testbed.groups.memory_file(label)),
    )


def _cut_ports(testbed: Testbed) -> frozenset[str]:
    try:
        return network.cut_ports(machine.run_command(network.ports_command(testbed.layout)))
    except MotetError:  # an incomplete testbed may have no switch
        return frozenset()
