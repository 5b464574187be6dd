"""Which jobs hold which slots, and which of them hold the same ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from motet.domain.log_entry import NO_JOBS, NOWHERE, OtherJobs
from motet.domain.snapshot import UNKNOWN, JobTable, Placement
from motet.engine.journal.blocker_search import MOST_NAMED
from motet.engine.state.partners import present_sets


class HeldPlaces:
    """Placements by job, and jobs by placement from the first question about them on: few policies
    let jobs share slots."""

    def __init__(self) -> None:
        self._of_job: dict[int, Placement] = {}
        self._on: dict[Placement, set[int]] | None = None

    def __setitem__(self, job: int, where: Placement) -> None:
        if self._on is not None:
            self.pop(job)
            self._on.setdefault(where, set()).add(job)
        self._of_job[job] = where

    def pop(self, job: int) -> Placement:
        """The placement that a job loses; NOWHERE: it has none."""
        where = self._of_job.pop(job, NOWHERE)
        if self._on is not None and where is not NOWHERE:
            together = self._on[where]
            together.discard(job)
            if not together:
                del self._on[where]
        return where

    def of(self, job: int) -> Placement:
        """The job's placement; NOWHERE: it has none."""
        return self._of_job.get(job, NOWHERE)

    def together(self, job: int) -> frozenset[int]:
        """All jobs on the slots of a job, itself included."""
        if self._on is None:
            self._on = {}
            for each, where in self._of_job.items():
                self._on.setdefault(where, set()).add(each)
        return frozenset(self._on.get(self.of(job), ()))

    def on_machine(self, machine: int) -> Iterator[int]:
        """Jobs with slots on a machine."""
        return (job for job, where in self._of_job.items() if machine in where.machines)


def partners_of(job: int, row: int, jobs: JobTable) -> OtherJobs:
    """The other jobs that hold the GPUs of a job, the first few by number."""
    if jobs.partner[row] == UNKNOWN:
        return NO_JOBS
    together = present_sets(jobs)
    others = np.flatnonzero((together == together[row]) & (jobs.number != job))
    others = others[np.argsort(jobs.number[others])]
    named = others[:MOST_NAMED]
    gpus = jobs.held_gpus[named].tolist()
    return OtherJobs(tuple(zip(jobs.number[named].tolist(), gpus, strict=True)), len(others))
