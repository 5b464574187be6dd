"""Jobs to move off slow machines, and the number of GPUs to allocate without them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from motet.allocation.marginal_utility import Speeds
from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.decision import Straggler
from motet.domain.snapshot import JobTable, Placement, Snapshot
from motet.estimate.speed_function import speed
from motet.estimate.stragglers import speed_at_paces


class SlowMachinePlan(NamedTuple):
    """`slow: (machines,)` to be left. By job, `(jobs,)`: `slow_gpus` held on them; `gain_s`: by how
    many seconds the job would end sooner if these machines were as fast as others; `leaves`:
    whether that justifies a move. `slowest`: by row, the machine that slows the job most.

    `gpus`: how many to allocate. `has_room`: whether these suffice for the minimum of every job
    without the GPUs to be left.
    """

    slow: Bools
    slow_gpus: Ints
    gain_s: Floats
    leaves: Bools
    slowest: Mapping[int, Straggler]
    gpus: int
    has_room: bool

    def movers(self, stays: Bools, number: Ints, room: int) -> Bools:
        """Of the unchanged jobs, those that move: by descending gain, as far as other machines have
        room for `room` more GPUs. `(jobs,)` each.
        """
        rows = np.flatnonzero(stays & self.leaves)
        moves = np.zeros(len(stays), dtype=np.bool_)
        for row in rows[np.lexsort((number[rows], -self.gain_s[rows]))].tolist():
            moves[row] = self.slow_gpus[row] <= room
            room -= int(self.slow_gpus[row]) if moves[row] else 0
        return moves

    def left_by(self, places: Mapping[int, Placement]) -> dict[int, Straggler]:
        """The slowest machine of each job whose new placement avoids it, by row.

        A job that returns to that machine for lack of other room is not included.
        """
        return {
            row: self.slowest[row]
            for row, place in places.items()
            if self.leaves[row] and self.slowest[row].machine not in place.machines
        }


def slow_machine_plan(
    slow: Bools, snapshot: Snapshot, speeds: Speeds, steps_left: Floats, least_gain_s: float
) -> SlowMachinePlan:
    """The plan to leave these machines, `(machines,)`; a gain of `least_gain_s` justifies no move.

    Allocates all GPUs of other machines and the GPUs on slow machines that are kept; more only if
    the minima of all jobs require them: a job is slower there, but it runs.
    """
    slow_gpus, gain_s, slowest = _slowdowns_by_job(slow, snapshot, speeds, steps_left)
    leaves, sizes = gain_s > least_gain_s, snapshot.cluster.gpus
    good = int(sizes[~slow].sum()) + int(slow_gpus[~leaves].sum())
    jobs = snapshot.jobs
    least = int((jobs.min_workers * jobs.worker_gpus + jobs.min_servers * jobs.server_gpus).sum())
    gpus = min(max(good, least), snapshot.gpu_count)
    return SlowMachinePlan(slow, slow_gpus, gain_s, leaves, slowest, gpus, good >= least)


def _slowdowns_by_job(
    slow: Bools, snapshot: Snapshot, speeds: Speeds, steps_left: Floats
) -> tuple[Ints, Floats, dict[int, Straggler]]:
    """`slow_gpus`, `gain_s` and `slowest` of `SlowMachinePlan`."""
    jobs, measured = snapshot.jobs, snapshot.machine_speeds
    assert measured is not None
    slow_gpus, gain_s = np.zeros(len(jobs), np.int64), np.zeros(len(jobs))
    slowest: dict[int, Straggler] = {}
    machines = set(np.flatnonzero(slow).tolist())
    for row in np.flatnonzero(jobs.held_gpus > 0).tolist():
        place = snapshot.placements[int(jobs.number[row])]
        if machines.isdisjoint(place.machines):
            continue
        here, times = slow[list(place.machines)], measured.times_as_long[list(place.machines)]
        known_mode = int(snapshot.wanted_estimates.speed_mode[row])
        speed_at = partial(_steps_per_s, speeds, jobs, row)
        now, then = (
            speed_at_paces(known_mode, place.counts, each.tolist(), speed_at)
            for each in (times, np.where(here, 1.0, times))
        )
        slow_gpus[row] = np.array(place.counts)[here].sum()
        lost_s = 1 / now - 1 / then  # Per step.
        gain_s[row] = steps_left[row] * lost_s if lost_s > 0 else 0.0
        slowest[row] = Straggler(place.machines[times.argmax()], float(times.max()))
    return slow_gpus, gain_s, slowest


def _steps_per_s(speeds: Speeds, jobs: JobTable, row: int, times_as_long: float) -> float:
    """Steps per second if computing took all workers `times_as_long`."""
    roles = int(jobs.held_workers[row]), int(jobs.held_servers[row])
    return speed(int(speeds.mode[row]), speeds.parameters[row].tolist(), *roles, times_as_long)
