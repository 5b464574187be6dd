"""Trials that have not ended: part of the state of the master."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from motet.domain.units import SECOND_US
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

    def ends(self) -> Iterator[tuple[int, int]]:
        """Every trial that runs, and when it has run long enough."""
        for number, job in self._open.items():
            attempt = job.attempt
            if attempt is None or attempt.phase is not AttemptPhase.RUNNING:
                continue
            assert attempt.running_us is not None
            yield number, attempt.running_us + int(job.trial_s * SECOND_US)
