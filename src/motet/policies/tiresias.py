"""Tiresias: discretised two-dimensional attained service (Gu et al., NSDI 2019, section 3.2).

The policy requires no durations. A job whose attained service (GPUs x time) exceeds its queue's
limit moves to the tail of the next queue, so that short jobs finish first and long jobs do not
preempt each other indefinitely. A job that waits much longer than it ran returns to the first
queue.

Departures, both as in the authors' simulator: changes of queues take effect at whole seconds
(`clock_s`), and in a queue running jobs precede waiting ones, in the order in which they entered it
(`running_first`), instead of the order of their first start (`first_start`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isinf
from typing import ClassVar, Literal

import numpy as np
from numba import njit

from motet.allocation.fill import filled_in_order
from motet.allocation.keep_current import keep_current, next_multiple
from motet.allocation.order import (
    JOINS,
    order_by,
    ordered_by_rank,
    ranks_along,
    ranks_running_first,
    running_first_within,
)
from motet.domain.arrays import Floats, Ints, read_only
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.units import NEVER_US, SECOND_US, SHORTEST_S, check_seconds, microseconds
from motet.estimate.gittins import ServiceDistribution

Within = Literal["running_first", "first_start", "job_id"]

_NEW, _MOVED = JOINS, JOINS + 2**60
"""With the number of a job: the rank at which it joins its queue, behind all others."""
_ROUNDING = 1 - 2**-51
"""Keeps a product of binary fractions, such as 0.1 x 30 s, from exceeding its exact value."""
_MEMORY = {"level": 0, "rank": UNKNOWN, "waited_us": 0, "executed_before_us": 0, "promotions": 0}


@dataclass(frozen=True)
class TiresiasLas(Policy):
    """Least attained service first; needs no durations and no history.

    `thresholds`: GPU-seconds at which a job leaves queue 1, 2, ... (none: a single order by
    attained service). `promote_knob`: a job returns to the first queue as soon as it waited this
    many times as long as it ran, both counted since it last entered the first queue (inf: never).
    `within_queue`: order inside a queue; the thesis' is `first_start`. `quantum_s`: decide only at
    multiples of this (0: at every event). `clock_s`: demotions and promotions take effect at
    multiples of this.
    """

    thresholds: tuple[float, ...] = (3200.0,)
    promote_knob: float = float("inf")
    within_queue: Within = "running_first"
    quantum_s: float = 0.0
    clock_s: float = 1.0

    memory_columns: ClassVar[dict[str, int]] = _MEMORY
    may_overtake: ClassVar[bool] = True
    keeps_requests: ClassVar[bool] = True
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
        """Jobs that fit, queue by queue."""
        quantum_us = self._quantum_us
        if quantum_us and snapshot.now_us % quantum_us:
            return keep_current(snapshot, next_multiple(snapshot.now_us, quantum_us))
        jobs, changed = snapshot.jobs, self._move(snapshot)
        level, rank = changed["level"], changed["rank"]
        before_us = changed.get("executed_before_us", snapshot.memory["executed_before_us"])
        order = self._order(snapshot, level, rank)
        columns, rank, left_us = _served(
            order,
            jobs.number,
            jobs.gpus,
            snapshot.gpu_count,
            level,
            rank,
            jobs.executed_us,
            read_only(before_us),
            self._limits,
            self._ranks_by_start,
        )
        gpus, code, free, position = columns
        changed["rank"] = self._ranked(order, level, gpus, rank)
        recheck_us = self._next_move_us(snapshot, changed, gpus, left_us)
        if quantum_us and len(jobs) and not self._is_fixed_between_moves:
            recheck_us = next_multiple(snapshot.now_us, quantum_us)
        reasons = Reasons(code, free, position)
        return Decision(gpus, reasons, recheck_at_us=recheck_us, memory=changed)

    # -- from queue to queue ---------------------------------------------------------------------

    def _move(self, snapshot: Snapshot) -> dict[str, Ints]:
        """Demote jobs that used up their queue's service, promote those that starve.

        Both go to the tail of their new queue. Returns the columns that may have changed.
        """
        jobs, seen = snapshot.jobs, snapshot.memory
        level, rank = _demoted(
            read_only(seen["level"]),
            read_only(seen["rank"]),
            jobs.number,
            jobs.held_gpus,
            jobs.executed_us,
            read_only(seen["executed_before_us"]),
            jobs.gpus,
            self._limits,
        )
        memory: dict[str, Ints] = {"level": level, "rank": rank}
        if not isinf(self.promote_knob):
            memory = {name: values.copy() for name, values in seen.items()} | memory
            self._promote(snapshot, memory)
        return memory

    def _promote(self, snapshot: Snapshot, memory: dict[str, Ints]) -> None:
        jobs, level = snapshot.jobs, memory["level"]
        starves = (jobs.held_gpus == 0) & (self._until_promotion_us(snapshot, memory) <= 0)
        level[starves] = 0
        memory["promotions"][starves] += 1
        memory["waited_us"][starves] = jobs.waiting_us[starves]
        memory["executed_before_us"][starves] = jobs.executed_us[starves]
        memory["rank"][starves] = _MOVED + jobs.number[starves]

    def _until_promotion_us(self, snapshot: Snapshot, memory: Mapping[str, Ints]) -> Ints:
        """By row, how much longer a job must wait to be promoted: 0 or less if it is due, NEVER_US
        if it is in the first queue or has not run since it entered it.
        """
        jobs = snapshot.jobs
        executed_us = jobs.executed_us - memory["executed_before_us"]
        due_us = np.minimum(self.promote_knob * executed_us, NEVER_US) * _ROUNDING
        waited_us = jobs.waiting_us - memory["waited_us"]
        can_starve = (memory["level"] > 0) & (executed_us > 0)
        return np.where(can_starve, np.ceil(due_us).astype(np.int64) - waited_us, NEVER_US)

    @cached_property
    def _limits(self) -> Ints:
        """The limits of the queues in GPU-microseconds."""
        return np.array([*(microseconds(limit) for limit in self.thresholds), NEVER_US])

    @cached_property
    def _quantum_us(self) -> int:
        return microseconds(self.quantum_s)

    @cached_property
    def _clock_us(self) -> int:
        return microseconds(self.clock_s)

    def _next_move_us(
        self, snapshot: Snapshot, memory: Mapping[str, Ints], gpus: Ints, left_us: int
    ) -> int:
        """When the next job changes its queue if no event occurs before; NEVER_US if none does.

        `gpus`: by row, from now on. `left_us`: until the next demotion. A promotion that is due at
        once takes effect one `clock_s` later: the job loses its GPUs in the present decision.
        """
        if not isinf(self.promote_knob):
            waiting_us = self._until_promotion_us(snapshot, memory)[gpus == 0]
            left_us = min(left_us, max(int(waiting_us.min(initial=NEVER_US)), 1))
        if left_us > NEVER_US // 2:
            return NEVER_US
        step_us = self._quantum_us or self._clock_us
        return -(-(snapshot.now_us + left_us) // step_us) * step_us

    # -- the order -------------------------------------------------------------------------------

    @property
    def _is_fixed_between_moves(self) -> bool:
        """Whether the order stays the same until an event, or until a job changes its queue."""
        return bool(self.thresholds)

    def _order(self, snapshot: Snapshot, level: Ints, rank: Ints) -> Ints:
        """Rows in the order of service; with `_ranks_by_start` by rank only, see `_served`."""
        if self._ranks_by_start:
            return rank.argsort()
        return order_by(level, *self._urgency(snapshot, level), *self._within(snapshot, rank))

    def _urgency(self, snapshot: Snapshot, level: Ints) -> list[Ints] | list[Floats]:
        """Sort keys before `within_queue`: attained service without thresholds, otherwise none."""
        del level
        return [] if self.thresholds else [snapshot.jobs.attained_gpu_us]

    def _within(self, snapshot: Snapshot, rank: Ints) -> list[Ints]:
        jobs = snapshot.jobs
        if self.within_queue == "running_first" and not self.thresholds:
            return [jobs.held_gpus == 0, jobs.number]
        if self.within_queue == "running_first":
            return [rank, jobs.number]
        if self.within_queue == "first_start":
            first_start_us = np.where(jobs.first_start_us < 0, NEVER_US, jobs.first_start_us)
            return [first_start_us, jobs.number]
        return [jobs.number]

    @property
    def _ranks_by_start(self) -> bool:
        """Whether running jobs precede waiting ones of their queue in the next decision."""
        return bool(self.thresholds) and self.within_queue == "running_first"

    def _ranked(self, order: Ints, level: Ints, gpus: Ints, rank: Ints) -> Ints:
        """The ranks after a decision; they are not used where running jobs have no precedence."""
        del order, level, gpus
        return rank


@dataclass(frozen=True)
class TiresiasGittins(TiresiasLas):
    """As `tiresias-las`, with the jobs of a queue ordered by their Gittins index.

    The index uses D = the queue's limit; the last queue does not use the index. Without thresholds
    the index is the supremum over D. `history`: total service of past jobs in GPU-seconds; if
    empty, the policy learns it from jobs that finish (all indices are equal until the first job
    finishes).
    """

    history: tuple[float, ...] = ()

    @property
    def _is_fixed_between_moves(self) -> bool:
        return False  # An index changes with the attained service.

    @property
    def _ranks_by_start(self) -> bool:
        return False

    def _ranked(self, order: Ints, level: Ints, gpus: Ints, rank: Ints) -> Ints:
        """Along an order that the index changes, running jobs first in their queue."""
        if not (self.thresholds and self.within_queue == "running_first"):
            return rank  # It is not used.
        return ranks_along(order_by(running_first_within(order, level, gpus)), rank)

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


@njit(cache=True)
def _demoted(
    levels: Ints,
    ranks: Ints,
    number: Ints,
    held_gpus: Ints,
    executed_us: Ints,
    before_us: Ints,
    gpus: Ints,
    limits_gpu_us: Ints,
) -> Ints:
    """`(2, jobs)`: levels and ranks, with those of new jobs and of jobs that used up their queue's
    service.

    `before_us`: time on GPUs before a job was last in the first queue. `limits_gpu_us`: by queue.
    """
    moved = np.empty((2, len(levels)), np.int64)
    level, rank = moved[0], moved[1]
    level[:], rank[:] = levels, ranks
    for row in range(len(level)):
        if rank[row] == UNKNOWN:
            rank[row] = _NEW + number[row]
        if held_gpus[row] > 0:
            service_gpu_us = (executed_us[row] - before_us[row]) * gpus[row]
            if service_gpu_us >= limits_gpu_us[level[row]]:
                level[row] += 1
                rank[row] = _MOVED + number[row]
    return moved


@njit(cache=True)
def _served(
    order: Ints,
    number: Ints,
    wanted_gpus: Ints,
    free_gpus: int,
    level: Ints,
    rank: Ints,
    executed_us: Ints,
    before_us: Ints,
    limits_gpu_us: Ints,
    ranks_by_start: bool,
) -> tuple[Ints, Ints, int]:
    """GPUs of the jobs and the columns of their reasons, in this order; their ranks from then on;
    how long until a job with GPUs is demoted. One call, as a call takes longer than its work.

    `ranks_by_start`: `order` is by rank, and is sorted by level here.
    """
    if ranks_by_start:
        order = ordered_by_rank(order, level, rank, number)
    columns, _ = filled_in_order(order, wanted_gpus, free_gpus, True)
    gpus = columns[0]
    if ranks_by_start:
        rank = ranks_running_first(order, level, gpus, rank)
    left_us = _until_demotion_us(level, gpus, executed_us, before_us, limits_gpu_us)
    return columns, rank, left_us


@njit(cache=True)
def _until_demotion_us(
    level: Ints, gpus: Ints, executed_us: Ints, before_us: Ints, limits_gpu_us: Ints
) -> int:
    """How long until a job with GPUs is demoted, at least 1; NEVER_US if none ever is."""
    soonest_us = NEVER_US
    for row in range(len(level)):
        if gpus[row] > 0 and level[row] < len(limits_gpu_us) - 1:
            service_gpu_us = (executed_us[row] - before_us[row]) * gpus[row]
            left_gpu_us = max(limits_gpu_us[level[row]] - service_gpu_us, 1)
            soonest_us = min(soonest_us, -(-left_gpu_us // gpus[row]))
    return soonest_us


POLICIES = {"tiresias-las": TiresiasLas, "tiresias-gittins": TiresiasGittins}
