"""Attempts that are being started or stopped when a replayed period begins. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from motet.interfaces.forecasts.remaining_work import MeasuredRuns
from motet.live.jobs.attempt import AttemptPhase
from motet.live.jobs.job import LiveJob
from motet.live.master.state import LiveState


@dataclass(frozen=True)
class AttemptsInProgress:
    """`starting`, `stopping`: by job, the place of the attempt among those of the job."""

    starting: Mapping[int, int]
    stopping: Mapping[int, int]

    @classmethod
    def of(cls, state: LiveState) -> Self:
        """At the present moment of a state, which may go on."""

        def places(phase: AttemptPhase) -> dict[int, int]:
            return {
                number: len(job.attempts) - 1
                for number, job in state.active.items()
                if job.attempts[-1].phase is phase
            }

        return cls(places(AttemptPhase.REQUESTED), places(AttemptPhase.STOPPING))

    def done_us(self, jobs: Mapping[int, LiveJob], runs: MeasuredRuns) -> dict[int, int]:
        """When these starts and stops were done, by job, as known at the end of the period. A stop
        that is not done then is taken to be done at the end."""
        starts = {number: jobs[number].attempts[place] for number, place in self.starting.items()}
        stops = {number: jobs[number].attempts[place] for number, place in self.stopping.items()}
        started = {number: it.requested_us + runs.start_us(it) for number, it in starts.items()}
        return started | {
            number: runs.until_us if it.freed_us is None else it.freed_us
            for number, it in stops.items()
        }
