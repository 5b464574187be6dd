"""Dominant resource fairness (Ghodsi et al., NSDI 2011), with queues in queues (SoCC 2013).

A queue's dominant share is its part of the resource of which it holds the largest part: GPUs, CPUs
or memory. Whoever has the lowest gets the next unit. Optimus (Peng et al., EuroSys 2018, section
6.1) compares itself with it.

The cluster is one pool, as in the paper; a job for which the pool has enough and no machines have
waits all the same. Departures: what runs may be preempted (`preemptive`), and a gang is one unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from motet.allocation.progressive import (
    Branch,
    Grant,
    Pool,
    ProgressiveFilling,
    Refusal,
    Units,
    Vector,
)
from motet.domain.arrays import Floats
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
from motet.domain.wait import Wait
from motet.placement.room import Demand

_EVERY_OTHER = "*"
_SHORT = (int(Wait.TOO_FEW_GPUS), int(Wait.TOO_FEW_CPUS), int(Wait.TOO_LITTLE_MEMORY))
_MOST_WEIGHT = 1e6


class _Roles(NamedTuple):
    workers: int
    servers: int


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
        tree = _Tree(snapshot.queues.names, self._weight_of)
        return _Filling(snapshot, tree).decision(preemptive=self.preemptive)

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


class _Tree:
    """Queues by name; a queue that holds jobs and queues has a nameless one for its own jobs."""

    def __init__(self, names: tuple[str, ...], weights: Mapping[str, float]) -> None:
        """Raises BadInput for the weight of a queue that is not there."""
        self.root, self._names, self._weights = Branch(), names, weights
        self._known: dict[str, Branch] = {}
        parts = (name.split("/") for name in names)
        above = {"/".join(part[:depth]) for part in parts for depth in range(1, len(part))}
        self._above = above & {*names}
        unknown = weights.keys() - {*names, *above, _EVERY_OTHER}
        if unknown:
            raise BadInput(f"weights: no queue {min(unknown)}; there are {', '.join(names)}")

    def queue(self, number: int) -> Branch:
        """Of the jobs with this queue; UNKNOWN: of a queue without a name."""
        name = "" if number == UNKNOWN else self._names[number]
        return self._branch(f"{name}/" if name in self._above else name)

    def top(self, branch: Branch) -> Branch:
        """The one right below the root."""
        while branch.parent is not None and branch.parent is not self.root:
            branch = branch.parent
        return branch

    def _branch(self, name: str) -> Branch:
        if name not in self._known:
            parent = self._branch(name.rpartition("/")[0]) if "/" in name else self.root
            weight = self._weights.get(name, self._weights.get(_EVERY_OTHER, 1.0))
            self._known[name] = Branch(parent, weight)
            parent.children.append(self._known[name])
        return self._known[name]


class _Filling:
    """One decision."""

    def __init__(self, snapshot: Snapshot, tree: _Tree) -> None:
        jobs = snapshot.jobs
        self._jobs, self._tree = jobs, tree
        self._pool = Pool(_capacity(snapshot))
        self._ladders: list[list[_Roles]] = [[] for _ in range(len(jobs))]
        self._rungs = np.zeros(len(jobs), dtype=np.int64)
        size, self._turns = len(jobs), 0
        self._code, self._free = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self._position = np.full(size, UNKNOWN, dtype=np.int64)

    def decision(self, *, preemptive: bool) -> Decision:
        """After all units have been handed out."""
        jobs = self._jobs
        by_age = np.lexsort((jobs.number, jobs.submit_us)).tolist()
        queues = {number: self._tree.queue(number) for number in sorted(set(jobs.queue.tolist()))}
        queue_of = [queues[number] for number in jobs.queue.tolist()]
        elastic = jobs.is_elastic.tolist()
        units = [self._units(row, elastic[row]) for row in range(len(jobs))]
        kept = () if preemptive else [row for row in by_age if jobs.held_gpus[row]]
        filling = ProgressiveFilling(units, queue_of, self._pool, self._tree.root)
        for event in filling.events(kept):
            self._note(event)
        share, lowest = self._shares(queue_of)
        roles = [self._roles(row) for row in range(len(jobs))]
        workers = np.array([each.workers for each in roles], dtype=np.int64)
        servers = np.array([each.servers for each in roles], dtype=np.int64)
        gpus = workers * jobs.worker_gpus + servers * jobs.server_gpus
        gpus = np.where(jobs.is_elastic, gpus, np.where(self._rungs > 0, jobs.gpus, 0))
        reasons = Reasons(self._code, self._free, self._position, share, lowest)
        return Decision(gpus, reasons, workers=workers, servers=servers)

    def _note(self, event: Grant | Refusal) -> None:
        row = event.job
        if self._position[row] == UNKNOWN:
            self._position[row], self._turns = self._turns, self._turns + 1
        if isinstance(event, Grant):
            self._rungs[row] += 1
        elif not self._rungs[row]:
            self._code[row], self._free[row] = _SHORT[event.short], int(event.free[0])

    def _shares(self, queue_of: list[Branch]) -> tuple[Floats, float]:
        """Of everybody's queue, and the lowest of those that wait; who has more waits for that."""
        share = {queue: self._pool.weighted_share(self._tree.top(queue)) for queue in set(queue_of)}
        own = np.array([share[queue] for queue in queue_of], dtype=np.float64)
        waits = self._code != Wait.RUNS
        lowest = float(own[waits].min()) if waits.any() else float("nan")
        self._code[waits & (own > lowest)] = Wait.SHARE
        return own, lowest

    # -- what a job may get ------------------------------------------------------------------------

    def _units(self, row: int, is_elastic: bool) -> Units:
        jobs, demand = self._jobs, Demand.of(self._jobs, row)
        age = int(jobs.submit_us[row]), int(jobs.number[row])
        if not is_elastic:
            self._ladders[row] = [_Roles(int(jobs.workers[row]), int(jobs.servers[row]))]
            return Units(age, _vector(demand, demand.gpus), iter(()))
        least = _Roles(int(jobs.min_workers[row]), int(jobs.min_servers[row]))
        self._ladders[row] = [least]
        first = _vector(demand, self._gpus(row, least))
        return Units(age, first, self._more(row, demand), int(jobs.held_gpus[row]))

    def _more(self, row: int, demand: Demand) -> Iterator[Vector]:
        """What each further worker or server adds; its roles become the next rung."""
        roles = self._ladders[row][0]
        before = _vector(demand, self._gpus(row, roles))
        while (larger := _one_more(self._jobs, row, roles)) is not None:
            roles = larger
            self._ladders[row].append(roles)
            needed = _vector(demand, self._gpus(row, roles))
            yield tuple(after - now for after, now in zip(needed, before, strict=True))
            before = needed

    def _gpus(self, row: int, roles: _Roles) -> int:
        servers = roles.servers * int(self._jobs.server_gpus[row])
        return roles.workers * int(self._jobs.worker_gpus[row]) + servers

    def _roles(self, row: int) -> _Roles:
        rungs = int(self._rungs[row])
        return self._ladders[row][rungs - 1] if rungs else _Roles(0, 0)


def _one_more(jobs: JobTable, row: int, roles: _Roles) -> _Roles | None:
    """A worker, or a server where there were fewer per worker than the job asks for; None: neither.

    The same order as in `motet.allocation.max_min_share`.
    """
    workers, servers = roles
    can_work, can_serve = workers < jobs.max_workers[row], servers < jobs.max_servers[row]
    lacks_server = servers * jobs.workers[row] < workers * jobs.servers[row]
    if can_serve and (lacks_server or not can_work):
        return _Roles(workers, servers + 1)
    return _Roles(workers + 1, servers) if can_work else None


def _vector(demand: Demand, gpus: int) -> Vector:
    """GPUs, CPUs, memory."""
    return gpus, *demand.beside(gpus)


def _capacity(snapshot: Snapshot) -> tuple[float, float, float]:
    """GPUs, CPUs, memory of all machines; infinite where not every machine counts it."""
    cluster = snapshot.cluster
    cpus, memory = (
        float(column.sum()) if (column[cluster.gpus > 0] > 0).all() else float("inf")
        for column in (cluster.cpus, cluster.memory_bytes)
    )
    return snapshot.gpu_count, cpus, memory


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


POLICIES = {"drf": Drf}
