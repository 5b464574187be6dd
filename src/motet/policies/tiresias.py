"""Tiresias: discretised two-dimensional attained service (Gu et al., NSDI 2019, section 3.2).

No job's duration is known. Jobs wait in queues; one that has attained more service (GPUs x time)
than its queue's limit goes to the end of the next, so that short jobs finish first and long ones do
not preempt each other for ever. Who waits much longer than it ran goes back to the first queue.

Departures: demotions are noticed at whole seconds (`clock_s`) and jobs that run stay before those
of their queue that do not (`running_first`), both as in the authors' simulator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isinf
from typing import ClassVar, Literal

import numpy as np

from motet.allocation.fill import fill
from motet.allocation.keep_current import hold, next_multiple
from motet.allocation.order import order_by, running_first_within
from motet.domain.arrays import Floats, Ints
from motet.domain.decision import Decision
from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.units import NEVER_US, SECOND_US, SHORTEST_S, check_seconds, microseconds
from motet.estimate.gittins import ServiceDistribution

Within = Literal["running_first", "first_start", "job_id"]

_NEW, _MOVED = 2**40, 2**41
_MEMORY = {"level": 0, "rank": UNKNOWN, "waited_us": 0, "executed_before_us": 0, "promotions": 0}


@dataclass(frozen=True)
class TiresiasLas(Policy):
    """Least attained service first; needs no durations and no history.

    `thresholds`: GPU-seconds at which a job leaves queue 1, 2, ... (none: no queues, one order by
    attained service). `promote_knob`: a job that has waited this many times as long as it ran,
    since it was last in the first queue, returns there (inf: never). `within_queue`: who goes first
    inside a queue. `quantum_s`: decide at its multiples only (0: at every event). `clock_s`:
    demotions are noticed at its multiples.
    """

    thresholds: tuple[float, ...] = (3200.0,)
    promote_knob: float = float("inf")
    within_queue: Within = "running_first"
    quantum_s: float = 0.0
    clock_s: float = 1.0

    memory_columns: ClassVar[dict[str, int]] = _MEMORY
    placement: ClassVar[str] = "skew"

    def __post_init__(self) -> None:
        limits = self.thresholds
        if not all(0 < limit < float("inf") for limit in limits) or sorted({*limits}) != [*limits]:
            raise BadInput(f"thresholds={limits}: give ascending GPU-seconds above 0")
        if not self.promote_knob > 0:
            raise BadInput(f"promote_knob={self.promote_knob}: give a number above 0, or inf")
        check_seconds("quantum_s", self.quantum_s)
        check_seconds("clock_s", self.clock_s, SHORTEST_S)

    def decide(self, snapshot: Snapshot) -> Decision:
        """Everybody who fits, queue by queue."""
        quantum_us = self._quantum_us
        if quantum_us and snapshot.now_us % quantum_us:
            return hold(snapshot, next_multiple(snapshot.now_us, quantum_us))
        jobs, memory = snapshot.jobs, self._move(snapshot)
        level = memory["level"]
        order = order_by(level, *self._urgency(snapshot, level), *self._within(snapshot, memory))
        filled = fill(order, jobs.gpus, snapshot.gpu_count, may_overtake=True)
        memory["rank"] = running_first_within(order, level, filled.gpus)
        recheck_us = self._next_demotion_us(snapshot, memory, filled.gpus)
        if quantum_us and len(jobs):
            recheck_us = next_multiple(snapshot.now_us, quantum_us)
        return Decision(filled.gpus, filled.reasons, recheck_at_us=recheck_us, memory=memory)

    # -- from queue to queue ---------------------------------------------------------------------

    def _move(self, snapshot: Snapshot) -> dict[str, Ints]:
        """Demote who used up its queue's service, promote who starves; they go to the tail."""
        jobs = snapshot.jobs
        memory = {name: column.copy() for name, column in snapshot.memory.items()}
        level, rank = memory["level"], memory["rank"]
        rank[rank == UNKNOWN] = _NEW
        executed_us = jobs.executed_us - memory["executed_before_us"]
        runs = jobs.held_gpus > 0
        demoted = runs & (executed_us * jobs.gpus >= self._limits[level])
        level[demoted] += 1
        moved = demoted
        if not isinf(self.promote_knob):
            waiting_us = jobs.waiting_us - memory["waited_us"]
            starves = ~runs & (level > 0) & (executed_us > 0)
            starves &= waiting_us >= self.promote_knob * executed_us
            level[starves] = 0
            memory["promotions"][starves] += 1
            memory["waited_us"][starves] = jobs.waiting_us[starves]
            memory["executed_before_us"][starves] = jobs.executed_us[starves]
            moved = demoted | starves
        rank[moved] = _MOVED
        return memory

    @cached_property
    def _limits(self) -> Ints:
        """By queue, the GPU-microseconds at which a job leaves it."""
        return np.array([*(microseconds(limit) for limit in self.thresholds), NEVER_US])

    @cached_property
    def _quantum_us(self) -> int:
        return microseconds(self.quantum_s)

    @cached_property
    def _clock_us(self) -> int:
        return microseconds(self.clock_s)

    def _next_demotion_us(self, snapshot: Snapshot, memory: dict[str, Ints], gpus: Ints) -> int:
        jobs, level = snapshot.jobs, memory["level"]
        may_move = (gpus > 0) & (level < len(self.thresholds))
        if not may_move.any():
            return NEVER_US
        executed_us = (jobs.executed_us - memory["executed_before_us"])[may_move]
        wide = gpus[may_move]
        left_gpu_us = np.maximum(self._limits[level[may_move]] - executed_us * wide, 1)
        soonest_us = snapshot.now_us + int((-(-left_gpu_us // wide)).min())
        return -(-soonest_us // self._clock_us) * self._clock_us

    # -- the order -------------------------------------------------------------------------------

    def _urgency(self, snapshot: Snapshot, level: Ints) -> list[Ints] | list[Floats]:
        """What counts before `within_queue`: nothing, or without queues the attained service."""
        del level
        return [] if self.thresholds else [snapshot.jobs.attained_gpu_us]

    def _within(self, snapshot: Snapshot, memory: dict[str, Ints]) -> list[Ints]:
        jobs = snapshot.jobs
        if self.within_queue == "running_first" and not self.thresholds:
            return [jobs.held_gpus == 0, jobs.number]
        if self.within_queue == "running_first":
            return [memory["rank"], jobs.number]
        if self.within_queue == "first_start":
            first_start_us = np.where(jobs.first_start_us < 0, NEVER_US, jobs.first_start_us)
            return [first_start_us, jobs.number]
        return [jobs.number]


@dataclass(frozen=True)
class TiresiasGittins(TiresiasLas):
    """As `tiresias-las`, with the jobs of a queue ordered by their Gittins index.

    The index uses D = the queue's limit; the last queue is not ordered by it. Without thresholds
    it is the supremum over D. `history`: total service of past jobs in GPU-seconds; if there is
    none it is learned from jobs that finish (until the first one does, all indices are equal).
    """

    history: tuple[float, ...] = ()

    def _urgency(self, snapshot: Snapshot, level: Ints) -> list[Ints] | list[Floats]:
        services = self._services(snapshot)
        attained = snapshot.jobs.attained_gpu_us / SECOND_US
        if not self.thresholds:
            return [-services.index(attained)]
        index = np.zeros(len(level))
        for queue, limit in enumerate(self.thresholds):
            here = level == queue
            index[here] = services.discretised_index(attained[here], limit)
        return [-index]

    def _services(self, snapshot: Snapshot) -> ServiceDistribution:
        if self.history:
            return ServiceDistribution(self.history)
        return ServiceDistribution.from_sorted(snapshot.history.sorted_service_gpu_us / SECOND_US)


POLICIES = {"tiresias-las": TiresiasLas, "tiresias-gittins": TiresiasGittins}
