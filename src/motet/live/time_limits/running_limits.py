"""Jobs that run and have a limit: part of the state of the master."""

from __future__ import annotations

from collections.abc import Iterator

from motet.domain.units import NEVER_US
from motet.live.jobs.job import LiveJob
from motet.live.time_limits.time_limit import signal_after_us


class RunningLimits:
    """When each of the jobs that run now has run for as long as it may."""

    def __init__(self) -> None:
        self._due_us: dict[int, int] = {}

    def runs(self, job: LiveJob) -> None:
        """All processes of the job run, or its limit is another one while they do."""
        attempt, most_us = job.attempts[-1], signal_after_us(job.spec)
        assert attempt.running_us is not None
        self._due_us.pop(job.number, None)
        if most_us < NEVER_US:
            before_us = job.ran_us(attempt.running_us)
            self._due_us[job.number] = attempt.running_us + most_us - before_us

    def stops(self, job: LiveJob) -> None:
        """Its processes are being stopped, or have ended."""
        self._due_us.pop(job.number, None)

    def ends(self) -> Iterator[tuple[int, int]]:
        """Every job, and when it has run long enough."""
        yield from self._due_us.items()
