"""Where the jobs of a replayed period fail: after as much work as they did. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from motet.domain.events import Delayed
from motet.interfaces.forecasts.remaining_work import RemainingWork, ended_by_itself
from motet.interfaces.forecasts.sizes.sized_trainings import SizedTrainings
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob
from motet.sim.replay.attempts.failures import FailurePoint
from motet.sim.workload.interventions import TimedEvent


@dataclass(frozen=True, eq=False)
class PastFailures:
    """`points`: by job, of the attempts that failed and were followed by others, in their order.
    Those that lost a machine are not among them: they depend on where a job runs."""

    points: Mapping[int, Sequence[FailurePoint]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        jobs: Iterable[LiveJob],
        from_us: int,
        work: RemainingWork,
        sized: SizedTrainings,
        happened: Sequence[TimedEvent],
    ) -> Self:
        """Of attempts that failed after `from_us`. `happened`: since then, with the delays."""
        delays_us = {
            (event.job, at_us): event.until_us - at_us
            for at_us, event in happened
            if isinstance(event, Delayed)
        }

        def point(job: LiveJob, attempt: Attempt, done_us: int) -> FailurePoint:
            freed_us = attempt.freed_us or 0
            left_us = sized.left_us(job.number, freed_us)
            if left_us is None:
                left_us = work.work_us[job.number] - done_us
            return FailurePoint(left_us, delays_us.get((job.number, freed_us), 0))

        return cls(
            {
                job.number: [point(job, *failure) for failure in _failures(job, from_us, work)]
                for job in jobs
            }
        )

    def of_places(self, numbers: Sequence[int]) -> dict[int, Sequence[FailurePoint]]:
        """For a simulation of these jobs, by place."""
        return {place: self.points.get(number, ()) for place, number in enumerate(numbers)}


def _failures(job: LiveJob, from_us: int, work: RemainingWork) -> Iterator[tuple[Attempt, int]]:
    """Failed attempts with the work that was done since `from_us` when they ended. The last one of
    a job that has ended is its end."""
    done_us = 0
    for attempt in job.attempts:
        done_us += work.runs.attempt_us(attempt, from_us)
        is_last = attempt is job.attempts[-1] and job.state.is_final
        if ended_by_itself(attempt) and (attempt.freed_us or 0) > from_us and not is_last:
            yield attempt, done_us
