"""Tetris: multi-resource packing (Grandl et al., SIGCOMM 2014).

A machine with free resources takes the task with the best alignment (section 3.2: the dot product
of demands and free resources, each as a fraction of the machine), weighted against the remaining
work of the task's job (section 3.3). Optimus (Peng et al., EuroSys 2018, section 6.1) uses this
policy as a baseline.

Departures: a gang replaces the task. If no machine holds the whole gang, the gang takes the
machines that hold most of it, one after the other, and its alignment is the sum over them. Elastic
jobs run with their full request. Nothing is preempted, and a gang can be overtaken repeatedly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from motet.allocation.order import places_in
from motet.domain.arrays import Floats, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import UNKNOWN, JobTable, Placement, Snapshot
from motet.placement.packing.alignment import GPUS, Space
from motet.placement.packing.best_first import Holdings, Packed, pack
from motet.placement.packing.lines import Waiting
from motet.placement.room import Room


@dataclass(frozen=True)
class Tetris(Policy):
    """Favours well-packed machines and short jobs; requires known durations, never preempts.

    `short_jobs`: weight of remaining work against alignment, both in units of their averages over
    the waiting jobs (the paper's m; 0: packing only). `fairness`: fraction of the waiting queues
    that is not considered, those with the largest holdings first (the paper's f; 0: all queues are
    considered, near 1: only the queue with the smallest holdings).
    """

    short_jobs: float = 1.0
    fairness: float = 0.0

    knows_durations: ClassVar[bool] = True
    may_overtake: ClassVar[bool] = True
    keeps_requests: ClassVar[bool] = True
    useful_inputs: ClassVar[dict[JobInput, str]] = {
        JobInput.DURATION: "the time that a job ran in the log counts as all that it needs",
        JobInput.DEMANDS: "GPUs are the only resource that it packs",
    }

    def __post_init__(self) -> None:
        if not 0 <= self.short_jobs < float("inf"):
            raise BadInput(f"short_jobs={self.short_jobs}: give a number, at least 0")
        if not 0 <= self.fairness < 1:
            raise BadInput(f"fairness={self.fairness}: give a part, at least 0 and below 1")

    @property
    def needs_durations(self) -> bool:
        """Only jobs that it weighs by their work."""
        return bool(self.short_jobs)

    def decide(self, snapshot: Snapshot) -> Decision:
        """Keep running jobs; then start the gang with the best score, repeatedly."""
        jobs, sizes = snapshot.jobs, _sizes(snapshot)
        needed, work = _needed(jobs, sizes), self._work(jobs, sizes)
        by_work = np.lexsort((jobs.number, jobs.submit_us, work))
        rows = by_work[jobs.held_gpus[by_work] == 0]
        queue = jobs.queue - UNKNOWN if self.fairness else np.zeros_like(jobs.queue)
        waiting = Waiting.of(needed[rows], queue[rows], self._cost(work[rows]))
        space = Space.of(sizes, _free(snapshot))
        packed = pack(waiting, space, self._holdings(needed, queue, jobs.held_gpus > 0, sizes))
        return _decision(jobs, rows, packed, waiting.kind, int(space.free[:, GPUS].sum()))

    def _work(self, jobs: JobTable, sizes: Ints) -> Floats:
        """Remaining work of each job: time x its fractions of the cluster's resources."""
        if not self.short_jobs:
            return np.zeros(len(jobs))
        if (jobs.remaining_us == UNKNOWN).any():
            raise BadInput(
                "tetris weighs jobs by their remaining time, which is not known here; "
                "use --set short_jobs=0"
            )
        parts = np.zeros(len(jobs))
        for needed, size in zip(_needed(jobs, sizes).T, sizes.sum(axis=0), strict=True):
            parts += needed / max(int(size), 1)
        work: Floats = parts * jobs.remaining_us
        return work

    def _cost(self, work: Floats) -> Floats:
        """Work costs of waiting jobs, in units of alignment."""
        mean = float(work.mean()) if len(work) else 0.0
        return self.short_jobs * work / (mean or 1.0)

    def _holdings(
        self, needed: Ints, queue: Ints, runs: NDArray[np.bool_], sizes: Ints
    ) -> Holdings:
        held = np.zeros((1 + queue.max(initial=0), sizes.shape[1]), dtype=np.int64)
        np.add.at(held, queue[runs], needed[runs])
        return Holdings(held, sizes.sum(axis=0), self.fairness)


def _sizes(snapshot: Snapshot) -> Ints:
    """`(machines, 3)`: GPUs, CPUs, memory; 0 for resources that are not counted."""
    cluster = snapshot.cluster
    return np.stack([cluster.gpus, cluster.cpus, cluster.memory_bytes], axis=1)


def _free(snapshot: Snapshot) -> Ints:
    room = Room.seen(snapshot)
    return np.stack([room.gpus, room.cpus, room.memory_bytes], axis=1)


def _needed(jobs: JobTable, sizes: Ints) -> Ints:
    """`(jobs, 3)`: demands; 0 for resources that no machine counts."""
    needed = np.stack([jobs.gpus, jobs.cpus, jobs.memory_bytes], axis=1)
    is_counted = sizes.any(axis=0) | (np.arange(sizes.shape[1]) == GPUS)  # Also of no machine.
    return np.where(is_counted, needed, 0)


def _decision(jobs: JobTable, rows: Ints, packed: Packed, kind: Ints, free_gpus: int) -> Decision:
    """`rows`, `kind`: of the waiting jobs."""
    gpus, code = jobs.held_gpus.copy(), np.zeros_like(jobs.gpus)
    started = rows[packed.started]
    gpus[started] = jobs.gpus[started]
    is_left = np.ones(len(rows), dtype=bool)
    is_left[packed.started] = False
    code[rows[is_left]] = packed.code[kind[is_left]]
    runs = np.flatnonzero(jobs.held_gpus)
    runs = runs[np.argsort(jobs.number[runs])]
    position = places_in(np.concatenate([runs, started, rows[is_left]]))
    reasons = Reasons(code, np.full_like(gpus, free_gpus), position)
    return Decision(gpus, reasons, _places(started, packed))


def _places(started: Ints, packed: Packed) -> dict[int, Placement]:
    """Placements by row."""
    places = {}
    for index, row in enumerate(started.tolist()):
        here = slice(packed.first[index], packed.first[index + 1])
        ascending = np.argsort(packed.machines[here])
        machines, counts = packed.machines[here][ascending], packed.counts[here][ascending]
        places[row] = Placement(tuple(machines.tolist()), tuple(counts.tolist()))
    return places


POLICIES = {"tetris": Tetris}
