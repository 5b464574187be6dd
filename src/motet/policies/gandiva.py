"""Gandiva: introspective time-slicing, packing and migration (Xiao et al., OSDI 2018).

When demand exceeds the number of GPUs, gangs share the GPUs in time slices. The policy packs two
jobs with equal GPU counts onto the same GPUs and separates them if the pair progresses no faster
than one job alone. A job that is spread over machines migrates to fewer machines when they have
room.

Departure: the policy tries to pack any two jobs of equal size, not only jobs with low utilisation.
It undoes unprofitable packing at the end of the time slice and does not pack those jobs again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numba import njit

from motet.allocation.fill import filled_in_order
from motet.allocation.keep_current import next_multiple
from motet.allocation.order import order_by
from motet.allocation.pairs import (
    join_running_hosts,
    later_of_pairs,
    pack_waiting,
    part_slow_pairs,
    partner_rows,
)
from motet.domain.arrays import Bools, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.units import NEVER_US, SHORTEST_S, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.placement.machines import fewest_machines
from motet.placement.racks import consolidated_in_racks
from motet.placement.room import ResourceDemand, Room

_RUNS, _ORDER, _TOO_FEW = int(Wait.RUNS), int(Wait.ORDER), int(Wait.TOO_FEW_GPUS)


@dataclass(frozen=True)
class Gandiva(Policy):
    """`quantum_s`: length of a time slice. `packing`, `migration`: whether the policy
    does these.
    """

    quantum_s: float = 60.0
    packing: bool = True
    migration: bool = True

    memory_columns: ClassVar[dict[str, int]] = {"ran_until_us": UNKNOWN, "unpackable": 0}
    may_overtake: ClassVar[bool] = True
    keeps_requests: ClassVar[bool] = True
    useful_inputs: ClassVar[dict[JobInput, str]] = {
        JobInput.MODEL: "the speeds of jobs that share GPUs are assumed, not measured",
    }

    def __post_init__(self) -> None:
        check_seconds("quantum_s", self.quantum_s, SHORTEST_S)

    def decide(self, snapshot: Snapshot) -> Decision:
        """At the end of a slice, order jobs by waiting time; within a slice, keep running jobs."""
        jobs, memory = snapshot.jobs, {k: v.copy() for k, v in snapshot.memory.items()}
        is_slice_end = snapshot.now_us % self._quantum_us == 0
        other = partner_rows(jobs.number, jobs.partner)
        if is_slice_end:
            memory["ran_until_us"][jobs.held_gpus > 0] = snapshot.now_us
            part_slow_pairs(other, jobs.rate, jobs.alone_rate, memory["unpackable"])
        order = self._order(snapshot, memory["ran_until_us"], is_slice_end)
        gpus, code, free, position, group = _served(
            order, other, jobs.gpus, jobs.number, jobs.last_start_us, snapshot.gpu_count
        )
        if self.packing:
            decided = jobs.gpus, jobs.number, gpus, code, position, group
            pack_waiting(order, memory["unpackable"], *decided)
        places: dict[int, Placement] = {}
        if self.migration and is_slice_end:
            places = _migrate_one(snapshot, gpus, group, self._just_restored(snapshot))
        is_busy = bool((code != _RUNS).any()) or bool((group != UNKNOWN).any())
        is_busy = is_busy or (self.migration and _is_any_job_spread(snapshot))
        recheck_us = next_multiple(snapshot.now_us, self._quantum_us) if is_busy else NEVER_US
        reasons = Reasons(code, free, position)
        return Decision(gpus, reasons, places, group=group, recheck_at_us=recheck_us, memory=memory)

    @cached_property
    def _quantum_us(self) -> int:
        return microseconds(self.quantum_s)

    def _just_restored(self, snapshot: Snapshot) -> Bools:
        """`(jobs,)`: jobs that have trained for less than half a slice since their last restore."""
        jobs = snapshot.jobs
        trained_us = snapshot.now_us - np.maximum(jobs.last_start_us, jobs.ready_us)
        return (jobs.held_gpus > 0) & (2 * trained_us < self._quantum_us)

    def _order(self, snapshot: Snapshot, ran_until_us: Ints, is_slice_end: bool) -> Ints:
        """Rows by their last time slice."""
        jobs = snapshot.jobs
        waits = ~self._just_restored(snapshot) if is_slice_end else jobs.held_gpus == 0
        return order_by(waits, ran_until_us, jobs.number)


@njit(cache=True)
def _served(
    order: Ints, other: Ints, wanted: Ints, number: Ints, last_start_us: Ints, free_gpus: int
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """GPUs of the jobs, the columns of their reasons, and their groups, in this order.

    `other`: by row, the row of the job that shares its GPUs. Of each pair, the job that started
    later is a guest: it needs no GPUs of its own, and runs if the other one does. One call, as a
    call takes longer than its work.
    """
    guest = later_of_pairs(other, last_start_us, number)
    columns, left = filled_in_order(order[~guest[order]], wanted, free_gpus, True)
    gpus, code, free = columns[0], columns[1], columns[2]
    position, group = np.empty_like(order), np.full(len(order), UNKNOWN)
    for place in range(len(order)):
        row = order[place]
        position[row] = place
        if guest[row]:
            code[row], free[row] = _ORDER if wanted[row] <= left else _TOO_FEW, left
    join_running_hosts(guest, other, wanted, number, gpus, code, position, group)
    return gpus, code, free, position, group


def _migrate_one(
    snapshot: Snapshot, gpus: Ints, group: Ints, just_restored: Bools
) -> dict[int, Placement]:
    """The unpacked job on the most machines that fits on fewer, and its new placement."""
    jobs = snapshot.jobs
    if (gpus != jobs.held_gpus).any():
        return {}  # Migrate only when allocations do not change.
    stays = (gpus > 1) & (group == UNKNOWN) & (jobs.partner == UNKNOWN) & ~just_restored
    rows = np.flatnonzero(stays)
    spread = [
        (machines, -number, row)
        for row, number in zip(rows.tolist(), jobs.number[rows].tolist(), strict=True)
        if (machines := len(snapshot.placements[number].machines)) > 1
    ]
    for machines, _, row in sorted(spread, reverse=True):
        if machines <= fewest_machines(snapshot.cluster.gpus, int(gpus[row])):
            continue
        now = snapshot.placements[int(jobs.number[row])]
        room, demand = Room.seen(snapshot), ResourceDemand.of(jobs, row)
        room.give_back(now, demand)
        free = room.gpus_for(demand)
        better = consolidated_in_racks(free, int(gpus[row]), snapshot.cluster.rack)
        if len(better.machines) < machines:
            return {row: better}
    return {}


def _is_any_job_spread(snapshot: Snapshot) -> bool:
    """Whether a job is on more machines than it would need in an empty cluster."""
    return any(
        len(place.machines) > 1
        and len(place.machines) > fewest_machines(snapshot.cluster.gpus, sum(place.counts))
        for place in snapshot.placements.values()
    )


POLICIES = {"gandiva": Gandiva}
