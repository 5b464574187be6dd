"""Dominant resource fairness in plain Python: slow, and written apart from the compiled filling.

Units are iterators, queues are objects, and what counts for queues in queues is worked out anew
after every unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.decision import Decision, Reasons
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
from motet.domain.wait import Wait
from motet.placement.room import ResourceDemand

_EVERY_OTHER = "*"
_SHORT = (int(Wait.TOO_FEW_GPUS), int(Wait.TOO_FEW_CPUS), int(Wait.TOO_LITTLE_MEMORY))


def drf_decision(snapshot: Snapshot, weights: Mapping[str, float], *, preemptive: bool) -> Decision:
    """What `Drf` decides."""
    tree = _Tree(snapshot.queues.names, weights)
    return _Filling(snapshot, tree).decision(preemptive=preemptive)


class _Roles(NamedTuple):
    workers: int
    servers: int


Vector: TypeAlias = tuple[float, ...]
Key: TypeAlias = tuple[float, ...]
NOTHING: Vector = ()


class Units(NamedTuple):
    """What one job may get. `first`: what it must have to run at all; `more`: what each further
    unit needs, in order, read once. Amounts are of the resources of the pool, in its order.

    `age`: unique; of jobs with equal shares the lower comes first, but from the second unit on
    those that held more before (`held`), so that remainders stay where they are.
    """

    age: Key
    first: Vector
    more: Iterator[Vector]
    held: int = 0


class Grant(NamedTuple):
    """One unit more for a job (its place in the list that was given)."""

    job: int


class Refusal(NamedTuple):
    """A job gets no more: its next unit needs more of resource `short` than is left in `free`."""

    job: int
    short: int
    free: Vector


@dataclass(eq=False)
class Branch:
    """A queue, or a queue of queues. `weight`: it gets so many times as much as one of weight 1.

    `used`: what its jobs hold, or, of a queue of queues, what counts for it.
    """

    parent: Branch | None = None
    weight: float = 1.0
    children: list[Branch] = field(default_factory=list)
    used: Vector = NOTHING
    wants_more: bool = False
    line: list[tuple[Key, int]] = field(default_factory=list)

    def oldest(self) -> Key:
        """Of the job whose turn it would be: it breaks ties between queues."""
        if self.line:
            return self.line[0][0]
        return min(child.oldest() for child in self.children if child.wants_more)


class Pool:
    """`capacity`: of every resource; infinite ones are never short and count for no share."""

    def __init__(self, capacity: Sequence[float]) -> None:
        self._capacity = tuple(capacity)
        self.free: Vector = tuple(capacity)

    def share(self, used: Vector) -> float:
        """The dominant share of an amount: its largest part of any resource."""
        parts = zip(used, self._capacity, strict=False)
        return max((amount / whole for amount, whole in parts if whole), default=0.0)

    def weighted_share(self, branch: Branch) -> float:
        """By which queues are compared."""
        return self.share(branch.used) / branch.weight

    def short_of(self, needed: Vector) -> int | None:
        """The first resource of which less is left."""
        for resource, (amount, left) in enumerate(zip(needed, self.free, strict=True)):
            if amount > left:
                return resource
        return None

    def take(self, needed: Vector, queue: Branch) -> None:
        """Something goes to a queue without children."""
        self.free = _minus(self.free, needed)
        queue.used = _plus(queue.used, needed)
        self.count(queue)

    def count(self, queue: Branch) -> None:
        """Work out anew what counts for those above."""
        parent = queue.parent
        while parent is not None:
            parent.wants_more = any(child.wants_more for child in parent.children)
            if parent.parent is not None:
                parent.used = self._scaled_sum(parent.children)
            parent = parent.parent

    def least(self, root: Branch) -> Branch:
        """The queue whose turn it is; the root if nobody wants more."""
        found = root
        while wanting := [child for child in found.children if child.wants_more]:
            found = min(wanting, key=self._rank) if len(wanting) > 1 else wanting[0]
        return found

    def _rank(self, branch: Branch) -> tuple[float, Key]:
        return self.weighted_share(branch), branch.oldest()

    def _scaled_sum(self, children: Sequence[Branch]) -> Vector:
        wanting = [self.weighted_share(child) for child in children if child.wants_more]
        least, total = min(wanting, default=0.0), NOTHING
        for child in children:
            share = self.weighted_share(child)
            is_scaled = child.wants_more and share > least
            total = _plus(total, _times(child.used, least / share) if is_scaled else child.used)
        return total


class ProgressiveFilling:
    """Units handed out to jobs, as long as any fits.

    In a queue the job with the least dominant share comes first. One that is refused gets no more,
    and the next has its turn: nothing that fits is left lying.
    """

    def __init__(
        self, jobs: Sequence[Units], queue_of: Sequence[Branch], pool: Pool, root: Branch
    ) -> None:
        """`queue_of`: the queue of each job, which has no children and is below `root`."""
        self._jobs, self._queue_of, self._pool, self._root = jobs, queue_of, pool, root
        self._held: list[Vector] = [NOTHING] * len(jobs)
        self._coming: list[Vector | None] = [job.first for job in jobs]

    def events(self, have_first: Collection[int] = ()) -> Iterator[Grant | Refusal]:
        """What happens, in order; once. `have_first`: jobs that get their first unit anyway."""
        for number in sorted(have_first, key=lambda number: self._jobs[number].age):
            yield self._grant(number, self._jobs[number].first)
        self._open()
        while (queue := self._pool.least(self._root)).line:
            number = heappop(queue.line)[1]
            if (needed := self._coming[number]) is not None:
                yield self._answer(number, needed)
            if not queue.line:
                queue.wants_more = False
                self._pool.count(queue)

    def _open(self) -> None:
        for number, queue in enumerate(self._queue_of):
            queue.wants_more = True
            self._line_up(number)
        for queue in self._queue_of:
            self._pool.count(queue)

    def _answer(self, number: int, needed: Vector) -> Grant | Refusal:
        short = self._pool.short_of(needed)
        if short is not None:
            return Refusal(number, short, self._pool.free)
        granted = self._grant(number, needed)
        self._line_up(number)
        return granted

    def _grant(self, number: int, needed: Vector) -> Grant:
        self._held[number] = _plus(self._held[number], needed)
        self._pool.take(needed, self._queue_of[number])
        self._coming[number] = next(self._jobs[number].more, None)
        return Grant(number)

    def _line_up(self, number: int) -> None:
        job, held = self._jobs[number], self._held[number]
        key = (self._pool.share(held), -job.held if held else 0, *job.age)
        heappush(self._queue_of[number].line, (key, number))


def _plus(one: Vector, other: Vector) -> Vector:
    if not (one and other):
        return one or other
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _minus(one: Vector, other: Vector) -> Vector:
    return tuple(a - b for a, b in zip(one, other, strict=True))


def _times(one: Vector, factor: float) -> Vector:
    return tuple(amount * factor for amount in one)


class _Tree:
    """Queues by name; a queue that holds jobs and queues has a nameless one for its own jobs."""

    def __init__(self, names: tuple[str, ...], weights: Mapping[str, float]) -> None:
        self.root, self._names, self._weights = Branch(), names, weights
        self._known: dict[str, Branch] = {}
        parts = (name.split("/") for name in names)
        above = {"/".join(part[:depth]) for part in parts for depth in range(1, len(part))}
        self._above = above & {*names}

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
        jobs, demand = self._jobs, ResourceDemand.of(self._jobs, row)
        age = int(jobs.submit_us[row]), int(jobs.number[row])
        if not is_elastic:
            self._ladders[row] = [_Roles(int(jobs.workers[row]), int(jobs.servers[row]))]
            return Units(age, _vector(demand, demand.gpus), iter(()))
        least = _Roles(int(jobs.min_workers[row]), int(jobs.min_servers[row]))
        self._ladders[row] = [least]
        first = _vector(demand, self._gpus(row, least))
        return Units(age, first, self._more(row, demand), int(jobs.held_gpus[row]))

    def _more(self, row: int, demand: ResourceDemand) -> Iterator[Vector]:
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


def _vector(demand: ResourceDemand, gpus: int) -> Vector:
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
