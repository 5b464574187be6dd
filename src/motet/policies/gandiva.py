"""Gandiva: introspective time-slicing, packing and migration (Xiao et al., OSDI 2018).

Nobody waits for long: when more GPUs are wanted than there are, gangs take turns. Two jobs of
equally many GPUs are tried on the same ones, and separated if together they get less done than one
alone. A job that is spread moves together when there is room.

Departure: packing is tried on any two jobs of one size, not only on those with low utilisation;
what slows down is undone at the end of the time slice, and those jobs are not packed again.
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
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.units import NEVER_US, SHORTEST_S, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.placement.machines import fewest_machines
from motet.placement.racks import consolidated_in_racks
from motet.placement.room import Demand, Room


@dataclass(frozen=True)
class Gandiva(Policy):
    """`quantum_s`: a time slice. `packing`, `migration`: whether to do these, too."""

    quantum_s: float = 60.0
    packing: bool = True
    migration: bool = True

    memory_columns: ClassVar[dict[str, int]] = {"ran_until_us": UNKNOWN, "shuns_company": 0}

    def __post_init__(self) -> None:
        check_seconds("quantum_s", self.quantum_s, SHORTEST_S)

    def decide(self, snapshot: Snapshot) -> Decision:
        """At the end of a slice those who waited longest go first; in between, who runs goes on."""
        jobs, memory = snapshot.jobs, {k: v.copy() for k, v in snapshot.memory.items()}
        is_slice_end = snapshot.now_us % self._quantum_us == 0
        partner = jobs.partner.copy()
        if is_slice_end:
            memory["ran_until_us"][jobs.held_gpus > 0] = snapshot.now_us
            _separate_the_slow(snapshot, partner, memory["shuns_company"])
        guest = _guests(snapshot, partner)
        filled = self._fill(snapshot, memory["ran_until_us"], guest, is_slice_end)
        gpus, code, group = filled.gpus, filled.reasons.code, np.full(len(jobs), UNKNOWN)
        _let_guests_follow(snapshot, partner, guest, filled, group)
        if self.packing:
            _pack(snapshot, memory["shuns_company"], filled, group)
        places: dict[int, Placement] = {}
        if self.migration and is_slice_end:
            places = _one_move(snapshot, gpus, group, self._has_just_begun(snapshot))
        is_busy = bool((code != Wait.RUNS).any()) or bool((group != UNKNOWN).any())
        is_busy = is_busy or (self.migration and _anybody_is_spread(snapshot))
        recheck_us = next_multiple(snapshot.now_us, self._quantum_us) if is_busy else NEVER_US
        return Decision(
            gpus, filled.reasons, places, group=group, recheck_at_us=recheck_us, memory=memory
        )

    @cached_property
    def _quantum_us(self) -> int:
        return microseconds(self.quantum_s)

    def _has_just_begun(self, snapshot: Snapshot) -> NDArray[np.bool_]:
        """`(jobs,)`: who has not trained for half a slice since it was restored."""
        jobs = snapshot.jobs
        trained_us = snapshot.now_us - np.maximum(jobs.last_start_us, jobs.ready_us)
        return (jobs.held_gpus > 0) & (2 * trained_us < self._quantum_us)

    def _fill(
        self, snapshot: Snapshot, ran_until_us: Ints, guest: NDArray[np.bool_], is_slice_end: bool
    ) -> Filled:
        """Everybody but guests, in turns."""
        jobs = snapshot.jobs
        waits = ~self._has_just_begun(snapshot) if is_slice_end else jobs.held_gpus == 0
        order = order_by(waits, ran_until_us, jobs.number)
        hosts = order[~guest[order]]
        filled = fill(hosts, jobs.gpus, snapshot.gpu_count, may_overtake=True)
        filled.reasons.position[order] = np.arange(len(order))
        fits = jobs.gpus <= filled.free_gpus
        filled.reasons.code[guest] = np.where(fits, Wait.ORDER, Wait.TOO_FEW_GPUS)[guest]
        filled.reasons.free_gpus[guest] = filled.free_gpus
        return filled


def _separate_the_slow(snapshot: Snapshot, partner: Ints, shuns_company: Ints) -> None:
    """Undo packing where two together are not faster than one alone."""
    row_of = _rows(snapshot)
    rate, alone = snapshot.jobs.rate.tolist(), snapshot.jobs.alone_rate.tolist()
    for row in np.flatnonzero(partner != UNKNOWN).tolist():
        other = row_of[int(snapshot.jobs.partner[row])]
        if rate[row] * alone[other] + rate[other] * alone[row] <= alone[row] * alone[other]:
            partner[row] = UNKNOWN
            shuns_company[row] = 1


def _guests(snapshot: Snapshot, partner: Ints) -> NDArray[np.bool_]:
    """Of two that share GPUs, the one that came later."""
    jobs = snapshot.jobs
    guest = np.zeros(len(jobs), dtype=bool)
    row_of = _rows(snapshot)
    for row in np.flatnonzero(partner != UNKNOWN).tolist():
        other = row_of[int(partner[row])]
        mine = (int(jobs.last_start_us[row]), int(jobs.number[row]))
        guest[row] = mine > (int(jobs.last_start_us[other]), int(jobs.number[other]))
    return guest


def _let_guests_follow(
    snapshot: Snapshot, partner: Ints, guest: NDArray[np.bool_], filled: Filled, group: Ints
) -> None:
    """A guest runs while its host does."""
    row_of = _rows(snapshot)
    for row in np.flatnonzero(guest).tolist():
        host = row_of[int(partner[row])]
        if filled.gpus[host]:
            _join(row, host, snapshot, filled, group)


def _pack(snapshot: Snapshot, shuns_company: Ints, filled: Filled, group: Ints) -> None:
    """Who waits joins a job of its size that runs alone; neither must shun company."""
    jobs, gpus = snapshot.jobs, filled.gpus
    hosts: dict[int, list[int]] = {}
    by_number = order_by(jobs.number)
    for row in by_number[(gpus > 0)[by_number]].tolist():
        if group[row] == UNKNOWN and not shuns_company[row]:
            hosts.setdefault(int(gpus[row]), []).append(row)
    waiting = np.flatnonzero((gpus == 0) & (shuns_company == 0))
    for row in waiting[np.argsort(filled.reasons.position[waiting])].tolist():
        candidates = hosts.get(int(jobs.gpus[row]))
        if candidates:
            _join(row, candidates.pop(0), snapshot, filled, group)


def _join(row: int, host: int, snapshot: Snapshot, filled: Filled, group: Ints) -> None:
    filled.gpus[row] = snapshot.jobs.gpus[row]
    filled.reasons.code[row] = Wait.RUNS
    filled.reasons.position[row] = len(group) + filled.reasons.position[row]
    group[row] = group[host] = snapshot.jobs.number[host]


def _one_move(
    snapshot: Snapshot, gpus: Ints, group: Ints, has_just_begun: NDArray[np.bool_]
) -> dict[int, Placement]:
    """The most spread job that runs on alone and could be on fewer machines, and where."""
    jobs = snapshot.jobs
    stays = (gpus > 0) & (jobs.held_gpus > 0) & (group == UNKNOWN) & (jobs.partner == UNKNOWN)
    stays &= ~has_just_begun
    if (gpus != jobs.held_gpus).any():
        return {}  # GPUs are given out now; tidy up when nothing else changes
    spread = [
        (len(snapshot.placements[int(jobs.number[row])].machines), -int(jobs.number[row]), row)
        for row in np.flatnonzero(stays).tolist()
    ]
    for machines, _, row in sorted(spread, reverse=True):
        now = snapshot.placements[int(jobs.number[row])]
        room, demand = Room.seen(snapshot), Demand.of(jobs, row)
        room.give_back(now, demand)
        free = room.gpus_for(demand)
        better = consolidated_in_racks(free, int(gpus[row]), snapshot.cluster.rack)
        if len(better.machines) < machines:
            return {row: better}
    return {}


def _anybody_is_spread(snapshot: Snapshot) -> bool:
    """Whether a job is on more machines than it would need in an empty cluster."""
    return any(
        len(place.machines) > 1
        and len(place.machines) > fewest_machines(snapshot.cluster.gpus, sum(place.counts))
        for place in snapshot.placements.values()
    )


def _rows(snapshot: Snapshot) -> dict[int, int]:
    return {number: row for row, number in enumerate(snapshot.jobs.number.tolist())}


POLICIES = {"gandiva": Gandiva}
