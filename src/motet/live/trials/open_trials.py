"""Trials that have not ended: part of the state of the master."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from motet.domain.units import NEVER_US, SECOND_US
from motet.live.jobs.attempt import AttemptPhase
from motet.live.jobs.job import LiveJob


class OpenTrials:
    """Which trials there are, and which of them have run long enough."""

    def __init__(self) -> None:
        self._open: dict[int, LiveJob] = {}

    def add(self, job: LiveJob) -> None:
        """A trial was accepted."""
        self._open[job.number] = job

    def ended(self, job: LiveJob) -> None:
        """A job, perhaps a trial, has reached its final state."""
        self._open.pop(job.number, None)

    def of(self, jobs: Iterable[LiveJob]) -> list[LiveJob]:
        """The trials of these jobs."""
        numbers = {number for job in jobs for number in job.spec.after}
        return [self._open[number] for number in sorted(numbers & self._open.keys())]

    def due(self, now_us: int) -> list[int]:
        """Trials that have run long enough."""
        return [number for number, due_us in self._ends() if due_us <= now_us]

    @property
    def next_due_us(self) -> int:
        """When the next trial has run long enough."""
        return min((due_us for _, due_us in self._ends()), default=NEVER_US)

    def _ends(self) -> Iterator[tuple[int, int]]:
        for number, job in self._open.items():
            attempt = job.attempt
            if attempt is None or attempt.phase is not AttemptPhase.RUNNING:
                continue
            assert attempt.running_us is not None
            yield number, attempt.running_us + int(job.trial_s * SECOND_US)
