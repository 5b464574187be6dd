"""The nodes of the Ray cluster as machines."""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ray

from motet.live.slots.devices import Devices
from motet.live.slots.gpu_labels import labelled_devices
from motet.runtime.backends.ray.ray_internals import drain_deadlines_ms


@dataclass(frozen=True, slots=True)
class SeenNode:
    """`identity`: given by Ray to every start of a node; `name`: stays when it is started again.

    `slots` are the GPUs `devices` of a node that has any, otherwise CPUs.
    """

    identity: str
    name: str
    address: str
    slots: int
    takes_jobs: bool
    devices: Devices = ()
    cpus: int = 0
    memory_bytes: int = 0

    @property
    def resource(self) -> str:
        """Ray's name of what a slot is."""
        return "GPU" if self.devices else "CPU"


def seen_nodes() -> Mapping[str, SeenNode]:
    """Nodes that are alive and have slots, by name; of nodes with the same name the first one."""
    draining = drain_deadlines_ms()
    nodes: dict[str, SeenNode] = {}
    for node in ray.nodes():
        if node["Alive"] and (seen := _seen(node, node["NodeID"] not in draining)).slots >= 1:
            nodes.setdefault(seen.name, seen)
    return nodes


def _seen(node: Mapping[str, Any], takes_jobs: bool) -> SeenNode:
    cpus, gpus = (int(node["Resources"].get(resource, 0)) for resource in ("CPU", "GPU"))
    devices = labelled_devices(node["Labels"], gpus)
    names = node["NodeID"], node["NodeName"], node["NodeManagerAddress"]
    memory_bytes = int(node["Resources"].get("memory", 0))
    return SeenNode(*names, gpus or cpus, takes_jobs, devices, cpus, memory_bytes)
