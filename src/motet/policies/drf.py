"""Dominant resource fairness (Ghodsi et al., NSDI 2011) with hierarchical queues (SoCC 2013).

A queue's dominant share is its largest fraction of any resource: GPUs, CPUs or memory. The queue
with the lowest dominant share receives the next unit. Optimus (Peng et al., EuroSys 2018, section
6.1) uses this policy as a baseline.

As in the paper, the cluster is one resource pool; a job that fits into the pool but onto no set of
machines waits. Departures: running jobs can be preempted (`preemptive`), and a gang is one unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Literal

import numpy as np

from motet.allocation.max_min_share import demand_of
from motet.allocation.progressive import Claims, Filling, fill_progressively
from motet.allocation.queue_tree import NO_JOB, ROOT, QueueTree
from motet.domain.arrays import Floats, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
from motet.domain.wait import Wait

_OTHER_QUEUES = "*"
_WAITS = np.array([Wait.TOO_FEW_GPUS, Wait.TOO_FEW_CPUS, Wait.TOO_LITTLE_MEMORY], dtype=np.int64)
"""Wait codes, indexed by resource."""
_MOST_WEIGHT = 1e6
_MOST_TREES = 256


@dataclass(frozen=True)
class Drf(Policy):
    """Equalises dominant shares between queues and between the jobs of a queue.

    `weights`: of queues, as "prod:3,dev:1,*:1"; a queue of weight 3 gets three times the share of a
    queue of weight 1; * stands for every other queue (default weight 1). Slashes nest queues:
    "prod/ads" is a child of "prod".
    `preemptive`: whether a running job can lose its GPUs, or all GPUs beyond its minimum.

    An elastic job gets its minimum first, then one worker or server at a time; a rigid job gets all
    of its GPUs or none. Among jobs with equal shares the oldest comes first, so that rigid jobs of
    one queue run in the order of their submission.
    """

    weights: str = ""
    preemptive: bool = True

    useful_inputs: ClassVar[dict[JobInput, str]] = {
        JobInput.DEMANDS: "GPUs are the only resource that it shares",
        JobInput.QUEUE: "all jobs are in one queue and have equal shares",
    }
    may_overtake: ClassVar[bool] = True
    equal_shares_of: ClassVar[Literal["", "jobs", "queues"]] = "queues"

    def __post_init__(self) -> None:
        _ = self.weight_of

    def decide(self, snapshot: Snapshot) -> Decision:
        """Fill an empty cluster progressively at every decision."""
        jobs = snapshot.jobs
        present = tuple(np.flatnonzero(np.bincount(jobs.queue - UNKNOWN)).tolist())
        node_of, tree = _queue_tree(self, snapshot.queues.names, present)
        queue = node_of[jobs.queue - UNKNOWN]
        has_unit = None if self.preemptive else jobs.held_gpus > 0
        claims = _claims(jobs, queue)
        filling = fill_progressively(
            claims, tree, _capacity(snapshot), has_unit, jobs.by_submission
        )
        workers, servers = filling.workers, filling.servers
        parts = workers * jobs.worker_gpus + servers * jobs.server_gpus
        gpus = np.where(jobs.is_elastic, parts, np.where(filling.units > 0, jobs.gpus, 0))
        reasons = _reasons(filling, tree, queue)
        return Decision(gpus, reasons, workers=workers, servers=servers)

    @cached_property
    def weight_of(self) -> Mapping[str, float]:
        """Weights by queue name. Raises BadInput."""
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


class _QueueTreeBuilder:
    """Builds the queue tree; a queue with both jobs and child queues gets a nameless child for
    jobs.

    Nodes are numbered in order of insertion, parents first.
    """

    def __init__(self, names: tuple[str, ...], weights: Mapping[str, float]) -> None:
        """Raises BadInput if a weight names an unknown queue."""
        self._names, self._weights = names, weights
        self._nodes: dict[str, int] = {}
        self._parent, self._weight = [NO_JOB], [1.0]
        parts = (name.split("/") for name in names)
        above = {"/".join(part[:depth]) for part in parts for depth in range(1, len(part))}
        self._above = above & {*names}
        unknown = weights.keys() - {*names, *above, _OTHER_QUEUES}
        if unknown:
            raise BadInput(f"weights: no queue {min(unknown)}; there are {', '.join(names)}")

    def node_of(self, queue: int) -> int:
        """The node for jobs of this queue; UNKNOWN selects the queue without a name."""
        name = "" if queue == UNKNOWN else self._names[queue]
        return self._node(f"{name}/" if name in self._above else name)

    def tree(self) -> QueueTree:
        """The tree of all queues for which `node_of` was called."""
        return QueueTree.of(self._parent, self._weight)

    def _node(self, name: str) -> int:
        if name not in self._nodes:
            parent = self._node(name.rpartition("/")[0]) if "/" in name else ROOT
            self._nodes[name] = len(self._parent)
            self._parent.append(parent)
            self._weight.append(self._weights.get(name, self._weights.get(_OTHER_QUEUES, 1.0)))
        return self._nodes[name]


@lru_cache(maxsize=_MOST_TREES)
def _queue_tree(
    policy: Drf, names: tuple[str, ...], present: tuple[int, ...]
) -> tuple[Ints, QueueTree]:
    """Nodes by the numbers of queues, which count from 1, and the tree of these queues; 0 is the
    queue without a name. The same queues have jobs at most of the decisions.
    """
    builder = _QueueTreeBuilder(names, policy.weight_of)
    node_of = np.zeros(len(names) + 1, dtype=np.int64)
    for number in present:
        node_of[number] = builder.node_of(number + UNKNOWN)
    return node_of, builder.tree()


def _claims(jobs: JobTable, queue: Ints) -> Claims:
    full = np.stack([jobs.gpus, jobs.cpus, jobs.memory_bytes], axis=1)
    columns = jobs.held_gpus, jobs.submit_us, jobs.number
    return Claims(queue, full, demand_of(jobs), jobs.is_elastic, *columns)


def _reasons(filling: Filling, tree: QueueTree, queue: Ints) -> Reasons:
    """Wait reasons: the short resource, or a queue share above that of other waiting queues.

    Compares the shares of the queues directly below the root.
    """
    tops = np.array([tree.top(node) for node in range(len(tree.parent))])
    share = filling.share[tops][queue]
    waits = filling.units == 0
    lowest = float(share[waits].min()) if waits.any() else float("nan")
    code = np.where(waits, _WAITS[filling.short], int(Wait.RUNS))
    code[waits & (share > lowest)] = Wait.SHARE
    return Reasons(code, filling.free_gpus, filling.position, share, lowest)


def _capacity(snapshot: Snapshot) -> Floats:
    """Total GPUs, CPUs and memory; infinite for a resource that some machine does not count."""
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
