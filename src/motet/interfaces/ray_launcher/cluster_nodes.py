"""The nodes of the Ray cluster as machines."""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
from collections.abc import Mapping
from dataclasses import dataclass

import ray

from motet.runtime.backends.ray.ray_internals import drain_deadlines_ms


@dataclass(frozen=True, slots=True)
class SeenNode:
    """`identity`: given by Ray to every start of a node; `name`: stays when it is started again."""

    identity: str
    name: str
    address: str
    slots: int
    takes_jobs: bool


def seen_nodes() -> Mapping[str, SeenNode]:
    """Nodes that are alive and have CPUs, by name; of nodes with the same name the first one."""
    draining = drain_deadlines_ms()
    nodes: dict[str, SeenNode] = {}
    for node in ray.nodes():
        slots = int(node["Resources"].get("CPU", 0))
        if node["Alive"] and slots >= 1:
            identity, name = node["NodeID"], node["NodeName"]
            seen = SeenNode(
                identity, name, node["NodeManagerAddress"], slots, identity not in draining
            )
            nodes.setdefault(name, seen)
    return nodes
