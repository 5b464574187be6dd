"""Which of a cluster's nodes are a job's machines, and their numbers. Pure."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from motet.runtime.core.machine import Condition, Machine


@dataclass(frozen=True)
class Node:
    """A cluster's report of one of its nodes; a node without a report is gone.

    `is_busy`: other jobs use it so much that an idle node is preferred. `notice_s`: how long a
    leaving node is still there.
    """

    identity: str
    name: str
    kind: str
    condition: Condition = "up"
    is_busy: bool = False
    notice_s: float | None = None


class MachineRegister:
    """Numbers nodes: at most `bound` machines are up at a time, and no number is used twice.

    Of several new nodes idle ones come first, then the order of names, `m2` before `m10`. A node
    that has gone makes room for another one, which gets a new number. May be used from any thread.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._lock = threading.Lock()
        self._identities: list[str] = []
        self._machines: list[Machine] = []

    def update(self, nodes: Sequence[Node]) -> tuple[Machine, ...]:
        """Use the cluster's present report; returns all machines, also those gone, by number."""
        present = {node.identity: node for node in nodes}
        with self._lock:
            for number, identity in enumerate(self._identities):
                self._machines[number] = _as_it_is(self._machines[number], present.get(identity))
            chosen = sorted(self._newcomers(nodes), key=_natural)
            for node in chosen:
                self._identities.append(node.identity)
                self._machines.append(Machine(len(self._machines), node.name, node.kind))
            return tuple(self._machines)

    def identity_of(self, number: int) -> str:
        """The node that is a machine."""
        return self._identities[number]

    def _newcomers(self, nodes: Sequence[Node]) -> list[Node]:
        room = self._bound - sum(machine.condition == "up" for machine in self._machines)
        known = set(self._identities)
        new = [it for it in nodes if it.identity not in known and it.condition == "up"]
        return sorted(new, key=lambda it: (it.is_busy, _natural(it)))[: max(room, 0)]


def _as_it_is(machine: Machine, node: Node | None) -> Machine:
    if node is None or machine.condition == "gone":
        return replace(machine, condition="gone", notice_s=None)
    return replace(machine, condition=node.condition, notice_s=node.notice_s)


def _natural(node: Node) -> tuple[list[tuple[int, str]], str]:
    """A sort key that orders numbers inside names by value."""
    parts = re.findall(r"\d+|\D+", node.name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts], node.identity
