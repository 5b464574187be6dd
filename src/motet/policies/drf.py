"""Dominant resource fairness (Ghodsi et al., NSDI 2011), with queues in queues (SoCC 2013).

A queue's dominant share is its part of the resource of which it holds the largest part: GPUs, CPUs
or memory. Whoever has the lowest gets the next unit. Optimus (Peng et al., EuroSys 2018, section
6.1) compares itself with it.

The cluster is one pool, as in the paper; a job for which the pool has enough and no machines have
waits all the same. Departures: what runs may be preempted (`preemptive`), and a gang is one unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from motet.allocation.max_min_share import demand_of
from motet.allocation.progressive import Claims, Filling, fill_progressively
from motet.allocation.queue_tree import NO_JOB, ROOT, QueueTree
from motet.domain.arrays import Floats, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
from motet.domain.wait import Wait

_EVERY_OTHER = "*"
_SHORT = np.array([Wait.TOO_FEW_GPUS, Wait.TOO_FEW_CPUS, Wait.TOO_LITTLE_MEMORY], dtype=np.int64)
"""By resource."""
_MOST_WEIGHT = 1e6


@dataclass(frozen=True)
class Drf(Policy):
    """Dominant shares are kept equal, between queues and between the jobs of a queue.

    `weights`: of queues, as "prod:3,dev:1,*:1"; one of weight 3 gets three times as much as one of
    weight 1, and * is every other (else 1). Slashes make queues in queues: "prod/ads" is in "prod".
    `preemptive`: whether who runs may lose its GPUs, or all but the least with which it can run.

    An elastic job gets the least that it runs with, then one worker or server after the other; a
    rigid one all or nothing. Of jobs with equal shares the oldest comes first.
    """

    weights: str = ""
    preemptive: bool = True

    def __post_init__(self) -> None:
        _ = self._weight_of

    def decide(self, snapshot: Snapshot) -> Decision:
        """From an empty cluster, each time anew."""
        jobs, names = snapshot.jobs, _Names(snapshot.queues.names, self._weight_of)
        numbers, which = np.unique(jobs.queue, return_inverse=True)
        nodes = [names.node_of(number) for number in numbers.tolist()]
        queue, tree = np.array(nodes, dtype=np.int64)[which], names.tree()
        has_unit = None if self.preemptive else jobs.held_gpus > 0
        claims = _claims(jobs, queue)
        filling = fill_progressively(claims, tree, _capacity(snapshot), has_unit)
        workers, servers = filling.workers, filling.servers
        parts = workers * jobs.worker_gpus + servers * jobs.server_gpus
        gpus = np.where(jobs.is_elastic, parts, np.where(filling.units > 0, jobs.gpus, 0))
        reasons = _reasons(filling, tree, queue)
        return Decision(gpus, reasons, workers=workers, servers=servers)

    @cached_property
    def _weight_of(self) -> Mapping[str, float]:
        """By queue. Raises BadInput."""
        found: dict[str, float] = {}
        for part in filter(None, self.weights.split(",")):
            name, _, text = part.strip().rpartition(":")
            if not name or name in found or not 0 < _number(text) <= _MOST_WEIGHT:
                raise BadInput(
                    f"weights={self.weights}: {part!r}: write QUEUE:WEIGHT, each queue once, above "
                    f"0 and at most {_MOST_WEIGHT:g}"
                )
            found[name] = _number(text)
        return found


class _Names:
    """Builds the tree of queues; one that holds jobs and queues has a nameless child for its jobs.

    Nodes are numbered as they are added, parents first.
    """

    def __init__(self, names: tuple[str, ...], weights: Mapping[str, float]) -> None:
        """Raises BadInput for the weight of a queue that is not there."""
        self._names, self._weights = names, weights
        self._nodes: dict[str, int] = {}
        self._parent, self._weight = [NO_JOB], [1.0]
        parts = (name.split("/") for name in names)
        above = {"/".join(part[:depth]) for part in parts for depth in range(1, len(part))}
        self._above = above & {*names}
        unknown = weights.keys() - {*names, *above, _EVERY_OTHER}
        if unknown:
            raise BadInput(f"weights: no queue {min(unknown)}; there are {', '.join(names)}")

    def node_of(self, queue: int) -> int:
        """Of the jobs with this queue; UNKNOWN: of a queue without a name."""
        name = "" if queue == UNKNOWN else self._names[queue]
        return self._node(f"{name}/" if name in self._above else name)

    def tree(self) -> QueueTree:
        """Of all queues that were asked for."""
        return QueueTree.of(self._parent, self._weight)

    def _node(self, name: str) -> int:
        if name not in self._nodes:
            parent = self._node(name.rpartition("/")[0]) if "/" in name else ROOT
            self._nodes[name] = len(self._parent)
            self._parent.append(parent)
            self._weight.append(self._weights.get(name, self._weights.get(_EVERY_OTHER, 1.0)))
        return self._nodes[name]


def _claims(jobs: JobTable, queue: Ints) -> Claims:
    full = np.stack([jobs.gpus, jobs.cpus, jobs.memory_bytes], axis=1)
    columns = jobs.held_gpus, jobs.submit_us, jobs.number
    return Claims(queue, full, demand_of(jobs), jobs.is_elastic, *columns)


def _reasons(filling: Filling, tree: QueueTree, queue: Ints) -> Reasons:
    """A job waits for what was short, or because its queue holds more than others that wait.

    The shares that are compared are those of the queues right below the root.
    """
    tops = np.array([tree.top(node) for node in range(len(tree.parent))])
    share = filling.share[tops][queue]
    waits = filling.units == 0
    lowest = float(share[waits].min()) if waits.any() else float("nan")
    code = np.where(waits, _SHORT[filling.short], int(Wait.RUNS))
    code[waits & (share > lowest)] = Wait.SHARE
    return Reasons(code, filling.free_gpus, filling.position, share, lowest)


def _capacity(snapshot: Snapshot) -> Floats:
    """GPUs, CPUs, memory of all machines; infinite where not every machine counts it."""
    cluster = snapshot.cluster
    cpus, memory = (
        float(column.sum()) if (column[cluster.gpus > 0] > 0).all() else float("inf")
        for column in (cluster.cpus, cluster.memory_bytes)
    )
    return np.array([snapshot.gpu_count, cpus, memory], dtype=np.float64)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


POLICIES = {"drf": Drf}
