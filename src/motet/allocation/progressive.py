"""Progressive filling: again and again one more unit for whoever has least of what it needs most.

Ghodsi et al., Dominant Resource Fairness (NSDI 2011), section 4.1 and algorithm 1. Queues may hold
queues: then as in Bhattacharya et al., Hierarchical Scheduling for Diverse Datacenter Workloads
(SoCC 2013): what the queues of one parent hold is scaled down to what the least of them that still
wants more has, before it counts for the parent. So a queue is not held back by what its sisters
hold of a resource that it does not want; and queues that can get no more do not count for "least".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

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
