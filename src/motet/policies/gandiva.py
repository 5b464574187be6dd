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
from numpy.typing import NDArray

from motet.allocation.fill import Filled, fill
from motet.allocation.keep_current import next_multiple
from motet.allocation.order import order_by
from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.units import NEVER_US, SHORTEST_S, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.placement.machines import fewest_machines
from motet.placement.racks import consolidated_in_racks
from motet.placement.room import ResourceDemand, Room


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
    useful_inputs: ClassVar[dict[JobInput, str]] = {
        JobInput.MODEL: "the speeds of jobs that share GPUs are assumed, not measured",
    }

    def __post_init__(self) -> None:
        check_seconds("quantum_s", self.quantum_s, SHORTEST_S)

    def decide(self, snapshot: Snapshot) -> Decision:
        """At the end of a slice, order jobs by waiting time; within a slice, keep running jobs."""
        jobs, memory = snapshot.jobs, {k: v.copy() for k, v in snapshot.memory.items()}
        is_slice_end = snapshot.now_us % self._quantum_us == 0
        partner = jobs.partner.copy()
        if is_slice_end:
            memory["ran_until_us"][jobs.held_gpus > 0] = snapshot.now_us
            _unpack_slow_pairs(snapshot, partner, memory["unpackable"])
        guest = _guests(snapshot, partner)
        filled = self._fill(snapshot, memory["ran_until_us"], guest, is_slice_end)
        gpus, code, group = filled.gpus, filled.reasons.code, np.full(len(jobs), UNKNOWN)
        _start_guests(snapshot, partner, guest, filled, group)
        if self.packing:
            _pack(snapshot, memory["unpackable"], filled, group)
        places: dict[int, Placement] = {}
        if self.migration and is_slice_end:
            places = _migrate_one(snapshot, gpus, group, self._just_restored(snapshot))
        is_busy = bool((code != Wait.RUNS).any()) or bool((group != UNKNOWN).any())
        is_busy = is_busy or (self.migration and _is_any_job_spread(snapshot))
        recheck_us = next_multiple(snapshot.now_us, self._quantum_us) if is_busy else NEVER_US
        return Decision(
            gpus, filled.reasons, places, group=group, recheck_at_us=recheck_us, memory=memory
        )

    @cached_property
    def _quantum_us(self) -> int:
        return microseconds(self.quantum_s)

    def _just_restored(self, snapshot: Snapshot) -> NDArray[np.bool_]:
        """`(jobs,)`: jobs that have trained for less than half a slice since their last restore."""
        jobs = snapshot.jobs
        trained_us = snapshot.now_us - np.maximum(jobs.last_start_us, jobs.ready_us)
        return (jobs.held_gpus > 0) & (2 * trained_us < self._quantum_us)

    def _fill(
        self, snapshot: Snapshot, ran_until_us: Ints, guest: NDArray[np.bool_], is_slice_end: bool
    ) -> Filled:
        """GPUs for all jobs except guests, in order of their last time slice."""
        jobs = snapshot.jobs
        waits = ~self._just_restored(snapshot) if is_slice_end else jobs.held_gpus == 0
        order = order_by(waits, ran_until_us, jobs.number)
        hosts = order[~guest[order]]
        filled = fill(hosts, jobs.gpus, snapshot.gpu_count, may_overtake=True)
        filled.reasons.position[order] = np.arange(len(order))
        fits = jobs.gpus <= filled.free_gpus
        filled.reasons.code[guest] = np.where(fits, Wait.ORDER, Wait.TOO_FEW_GPUS)[guest]
        filled.reasons.free_gpus[guest] = filled.free_gpus
        return filled


def _unpack_slow_pairs(snapshot: Snapshot, partner: Ints, unpackable: Ints) -> None:
    """Undo packing of pairs that progress no faster than one job alone."""
    row_of = _rows(snapshot)
    rate, alone = snapshot.jobs.rate.tolist(), snapshot.jobs.alone_rate.tolist()
    for row in np.flatnonzero(partner != UNKNOWN).tolist():
        other = row_of[int(snapshot.jobs.partner[row])]
        if rate[row] * alone[other] + rate[other] * alone[row] <= alone[row] * alone[other]:
            partner[row] = UNKNOWN
            unpackable[row] = 1


def _guests(snapshot: Snapshot, partner: Ints) -> NDArray[np.bool_]:
    """The job of each pair that started later."""
    jobs = snapshot.jobs
    guest = np.zeros(len(jobs), dtype=bool)
    row_of = _rows(snapshot)
    for row in np.flatnonzero(partner != UNKNOWN).tolist():
        other = row_of[int(partner[row])]
        mine = (int(jobs.last_start_us[row]), int(jobs.number[row]))
        guest[row] = mine > (int(jobs.last_start_us[other]), int(jobs.number[other]))
    return guest


def _start_guests(
    snapshot: Snapshot, partner: Ints, guest: NDArray[np.bool_], filled: Filled, group: Ints
) -> None:
    """Run each guest while its host runs."""
    row_of = _rows(snapshot)
    for row in np.flatnonzero(guest).tolist():
        host = row_of[int(partner[row])]
        if filled.gpus[host]:
            _join(row, host, snapshot, filled, group)


def _pack(snapshot: Snapshot, unpackable: Ints, filled: Filled, group: Ints) -> None:
    """Pack waiting jobs onto solo jobs of equal size, except jobs marked in `unpackable`."""
    jobs, gpus = snapshot.jobs, filled.gpus
    hosts: dict[int, list[int]] = {}
    by_number = order_by(jobs.number)
    for row in by_number[(gpus > 0)[by_number]].tolist():
        if group[row] == UNKNOWN and not unpackable[row]:
            hosts.setdefault(int(gpus[row]), []).append(row)
    waiting = np.flatnonzero((gpus == 0) & (unpackable == 0))
    for row in waiting[np.argsort(filled.reasons.position[waiting])].tolist():
        candidates = hosts.get(int(jobs.gpus[row]))
        if candidates:
            _join(row, candidates.pop(0), snapshot, filled, group)


def _join(row: int, host: int, snapshot: Snapshot, filled: Filled, group: Ints) -> None:
    filled.gpus[row] = snapshot.jobs.gpus[row]
    filled.reasons.code[row] = Wait.RUNS
    filled.reasons.position[row] = len(group) + filled.reasons.position[row]
    group[row] = group[host] = snapshot.jobs.number[host]


def _migrate_one(
    snapshot: Snapshot, gpus: Ints, group: Ints, just_restored: NDArray[np.bool_]
) -> dict[int, Placement]:
    """The unpacked job on the most machines that fits on fewer, and its new placement."""
    jobs = snapshot.jobs
    stays = (gpus > 0) & (jobs.held_gpus > 0) & (group == UNKNOWN) & (jobs.partner == UNKNOWN)
    stays &= ~just_restored
    if (gpus != jobs.held_gpus).any():
        return {}  # Migrate only when allocations do not change.
    spread = [
        (len(snapshot.placements[int(jobs.number[row])].machines), -int(jobs.number[row]), row)
        for row in np.flatnonzero(stays).tolist()
    ]
    for machines, _, row in sorted(spread, reverse=True):
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


def _rows(snapshot: Snapshot) -> dict[int, int]:
    return {number: row for row, number in enumerate(snapshot.jobs.number.tolist())}


POLICIES = {"gandiva": Gandiva}
