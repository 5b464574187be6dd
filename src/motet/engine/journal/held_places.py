"""Which jobs hold which slots, and which of them hold the same ones."""

from __future__ import annotations

from collections.abc import Iterator

from motet.domain.log_entry import NOWHERE
from motet.domain.snapshot import Placement


class HeldPlaces:
    """Placements by job, and jobs by placement."""

    def __init__(self) -> None:
        self._of_job: dict[int, Placement] = {}
        self._on: dict[Placement, set[int]] = {}

    def __setitem__(self, job: int, where: Placement) -> None:
        self.pop(job)
        self._of_job[job] = where
        self._on.setdefault(where, set()).add(job)

    def pop(self, job: int) -> Placement:
        """The placement that a job loses; NOWHERE: it has none."""
        where = self._of_job.pop(job, NOWHERE)
        if where is not NOWHERE:
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
        return frozenset(self._on.get(self.of(job), ()))

    def on_machine(self, machine: int) -> Iterator[int]:
        """Jobs with slots on a machine."""
        return (job for job, where in self._of_job.items() if machine in where.machines)
