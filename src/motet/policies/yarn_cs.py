"""YARN's capacity scheduler, as a baseline of Tiresias (Gu et al., NSDI 2019, section 5).

First in, first out, without preemption, on the smallest possible number of machines: the head of
the line blocks all jobs behind it until so few machines can hold it. With quotas, every queue
(virtual cluster) is a separate line with a limit on its GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numba import njit

from motet.allocation.order import running_first
from motet.domain.arrays import Bools, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.units import NEVER_US, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.placement.machines import fewest_machines, in_order
from motet.placement.room import ResourceDemand, Room, gpus_of_empty

_OTHER_QUEUES = "*"
_BEHIND_HEAD, _BEHIND_LOCALITY = int(Wait.BEHIND_HEAD), int(Wait.BEHIND_LOCALITY)
_QUOTA = int(Wait.QUOTA)


@dataclass(frozen=True)
class YarnCs(Policy):
    """`consolidate`: whether jobs wait for GPUs on as few machines as possible (not under another
    `placement`). `locality_wait_s`: a job that has waited this long at the head of the line takes
    GPUs on any machines (inf: never). `quotas`: GPU limits of queues, as "vc1:20,*:10"; * stands
    for every other queue, which otherwise has no limit (none: one line for all jobs).
    """

    consolidate: bool = True
    locality_wait_s: float = float("inf")
    quotas: str = ""

    memory_columns: ClassVar[dict[str, int]] = {"headed_us": NEVER_US}
    keeps_requests: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.locality_wait_s != float("inf"):
            check_seconds("locality_wait_s", self.locality_wait_s)
        _ = self._quota_of

    def decide(self, snapshot: Snapshot) -> Decision:
        """Keep running jobs; start waiting jobs in order until one cannot be consolidated."""
        jobs = snapshot.jobs
        order = running_first(jobs)
        filling = _Filling(snapshot, self._lines(snapshot))
        for row in map(int, order[np.count_nonzero(jobs.held_gpus) :]):
            if filling.lines_left == 0:
                break
            filling.offer(row, self.locality_wait_s if self.consolidate else 0)
        return filling.decision(order, fixes_placement=self.consolidate)

    @cached_property
    def _quota_of(self) -> Mapping[str, int]:
        """Quotas by queue name. Raises BadInput."""
        found: dict[str, int] = {}
        for part in filter(None, self.quotas.split(",")):
            name, _, gpus = part.strip().rpartition(":")
            if not name or not gpus.isdecimal() or name in found:
                raise BadInput(f"quotas={self.quotas}: {part!r}: write QUEUE:GPUS, each queue once")
            found[name] = int(gpus)
        return found

    def _lines(self, snapshot: Snapshot) -> _Lines:
        """Raises BadInput if a quota names an unknown queue."""
        names, quotas = snapshot.queues.names, self._quota_of
        if not quotas:
            return _Lines(np.zeros_like(snapshot.jobs.queue), np.array([NEVER_US]))
        unknown = quotas.keys() - {*names, _OTHER_QUEUES}
        if unknown:
            raise BadInput(f"quotas={self.quotas}: no queue {min(unknown)}; there are {names}")
        others = quotas.get(_OTHER_QUEUES, NEVER_US)
        limits = np.array([quotas.get(name, others) for name in names] + [others])
        return _Lines(snapshot.jobs.queue % len(limits), limits)


@dataclass(frozen=True, eq=False)
class _Lines:
    """`of`: line by row; `limits`: GPU limit of each line, the last one of jobs without a queue."""

    of: Ints
    limits: Ints


class _Filling:
    """Starts waiting jobs one by one; the first blocked job of a line blocks the rest
    of the line.
    """

    def __init__(self, snapshot: Snapshot, lines: _Lines) -> None:
        jobs = snapshot.jobs
        self._snapshot, self._lines = snapshot, lines
        self._gpus, self._room = jobs.held_gpus.copy(), Room.seen(snapshot)
        self._headed_us = snapshot.memory["headed_us"].copy()
        self._code, self._left, has_waiting = _at_first(self._gpus, lines.of, lines.limits)
        self._is_blocked = np.zeros(len(lines.limits), dtype=bool)
        self._waits_for_locality = self._is_blocked.copy()
        self._places: dict[int, Placement] = {}
        self._recheck_us = NEVER_US
        self.lines_left = int(np.count_nonzero(has_waiting))

    def offer(self, row: int, locality_wait_s: float) -> None:
        """Start the job if it is at the head of its line and fits."""
        line, wanted = int(self._lines.of[row]), int(self._snapshot.jobs.gpus[row])
        if wanted > self._lines.limits[line]:
            names, limit = self._snapshot.queues.names, int(self._lines.limits[line])
            which = f"of queue {names[line]}" if line < len(names) else "without a queue"
            raise BadInput(f"quotas: a job {which} requests {wanted} GPUs, its limit is {limit}")
        code, place = self._check_start(row, line, wanted, locality_wait_s)
        self._code[row] = code
        if place is None:
            self.lines_left -= not self._is_blocked[line]
            self._is_blocked[line] = True
            return
        self._room.take(place, ResourceDemand.of(self._snapshot.jobs, row))
        self._left[line] -= wanted
        self._gpus[row], self._places[row] = wanted, place

    def _check_start(
        self, row: int, line: int, wanted: int, locality_wait_s: float
    ) -> tuple[Wait, Placement | None]:
        """The reason to wait, or the placement."""
        if wanted > self._left[line]:
            return Wait.QUOTA, None
        if self._is_blocked[line]:
            return Wait.BEHIND_HEAD, None
        now_us = self._snapshot.now_us
        self._headed_us[row] = min(int(self._headed_us[row]), now_us)
        demand, cluster = ResourceDemand.of(self._snapshot.jobs, row), self._snapshot.cluster
        free = self._room.gpus_for(demand)
        if wanted > free.sum():
            return self._room.shortage(demand, wanted), None
        least = fewest_machines(gpus_of_empty(cluster, demand), wanted)
        if fewest_machines(free, wanted) > least:
            until_us = _locality_deadline_us(int(self._headed_us[row]), locality_wait_s)
            if now_us < until_us:
                self._recheck_us = min(self._recheck_us, until_us)
                self._waits_for_locality[line] = True
                return Wait.LOCALITY, None
        return Wait.RUNS, in_order(np.argsort(-free, kind="stable"), free, wanted)

    def decision(self, order: Ints, *, fixes_placement: bool) -> Decision:
        """The decision for all jobs offered so far."""
        lines, free_gpus = self._lines.of, int(self._room.gpus.sum())
        given = self._gpus, self._snapshot.jobs.gpus, lines, self._left, self._waits_for_locality
        position = _behind_and_over_quota(self._code, order, *given)
        free = np.full_like(self._gpus, free_gpus)
        return Decision(
            self._gpus,
            Reasons(self._code, free, position),
            self._places if fixes_placement else {},
            recheck_at_us=self._recheck_us,
            memory={"headed_us": self._headed_us},
        )


@njit(cache=True)
def _at_first(gpus: Ints, line_of: Ints, limits: Ints) -> tuple[Ints, Ints, Bools]:
    """Wait codes by row; and by line, what its limit leaves, and whether a job waits in it."""
    code, left = np.zeros_like(gpus), limits.copy()
    has_waiting = np.zeros(len(limits), np.bool_)
    for row in range(len(gpus)):
        left[line_of[row]] -= gpus[row]
        if gpus[row] == 0:
            code[row] = _BEHIND_HEAD
            has_waiting[line_of[row]] = True
    return code, left, has_waiting


@njit(cache=True)
def _behind_and_over_quota(
    code: Ints,
    order: Ints,
    gpus: Ints,
    wanted: Ints,
    line_of: Ints,
    left: Ints,
    waits_for_locality: Bools,
) -> Ints:
    """Complete the wait codes of jobs that were not offered; returns positions by row."""
    position = np.empty_like(order)
    for place in range(len(order)):
        row = order[place]
        position[row] = place
        line = line_of[row]
        if gpus[row] == 0 and wanted[row] > left[line]:
            code[row] = _QUOTA
        elif code[row] == _BEHIND_HEAD and waits_for_locality[line]:
            code[row] = _BEHIND_LOCALITY
    return position


def _locality_deadline_us(headed_us: int, locality_wait_s: float) -> int:
    """The time until which a job at the head of the line insists on locality."""
    if locality_wait_s == float("inf"):
        return NEVER_US
    return headed_us + microseconds(locality_wait_s)


POLICIES = {"yarn-cs": YarnCs}
