"""The nodes of a running Ray cluster, as `MachineRegister` takes them in."""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import time

import ray

from motet.runtime.backends.ray.machine_register import Node
from motet.runtime.backends.ray.ray_internals import drain_deadlines_ms, free_cpus

_KIND = "motet-kind"


def present_nodes() -> list[Node]:
    """Nodes that take executors; a head that only coordinates has no CPU to give."""
    deadlines_ms, free = drain_deadlines_ms(), free_cpus()
    return [
        Node(
            identity=node["NodeID"],
            name=node["NodeName"],
            kind=node["Labels"].get(_KIND, "machine"),
            condition="leaving" if node["NodeID"] in deadlines_ms else "up",
            is_busy=free.get(node["NodeID"], 0.0) < 1,
            notice_s=_notice_s(deadlines_ms.get(node["NodeID"], 0)),
        )
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
    ]


def _notice_s(deadline_ms: int) -> float | None:
    return max(deadline_ms / 1000 - time.time(), 0.0) if deadline_ms else None
