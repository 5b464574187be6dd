"""How long the stops of a replayed period take, of preempted jobs and of those that lost a machine:
as long as they did. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Self

from motet.live.jobs.attempt import Attempt, StopCause
from motet.live.jobs.job import LiveJob
from motet.sim.replay.attempts.start_ups import FinishTest, LossTime, StopTime

_LIKE_PREEMPTIONS = (StopCause.PREEMPTED, StopCause.MIGRATED, StopCause.SUSPENDED)


@dataclass(frozen=True, eq=False)
class PastStops:
    """`took_us`: by job, of its preemptions in their order. `usual_us`: of preemptions that there
    were not, of a job that was stopped before; `of_others_us`: of another job.

    `finishing_us`: jobs that finished while they were being stopped, each with the work that it may
    have left at a preemption to finish instead: what it had left then, and a usual time of a
    preemption more, as moments of a simulation differ a little from those of the cluster.

    `lost_us`: by job, how long after each loss of a machine it was certain that its processes had
    ended; `usual_loss_us`: of losses that there were not.
    """

    took_us: Mapping[int, Sequence[int]] = field(default_factory=dict)
    usual_us: Mapping[int, int] = field(default_factory=dict)
    of_others_us: int = 0
    finishing_us: Mapping[int, int] = field(default_factory=dict)
    lost_us: Mapping[int, Sequence[int]] = field(default_factory=dict)
    usual_loss_us: int = 0

    @classmethod
    def of(cls, jobs: Iterable[LiveJob], from_us: int) -> Self:
        """Of preemptions after `from_us`; the usual ones are of all."""
        known = [*jobs]
        stops = {job.number: [each for each in job.attempts if _was_stopped(each)] for job in known}
        of_others_us = _usual_us(each for attempts in stops.values() for each in attempts)
        losses = {job.number: [*filter(_has_lost, job.attempts)] for job in known}
        last = [(job.number, job.attempts[-1]) for job in known if job.attempts]
        return cls(
            {
                number: [_took_us(each) for each in attempts if _is_preempted(each, from_us)]
                for number, attempts in stops.items()
            },
            {number: _usual_us(attempts) for number, attempts in stops.items() if attempts},
            of_others_us,
            {
                number: _took_us(each) + of_others_us
                for number, each in last
                if each.has_finished_while_stopping
            },
            {
                number: [_took_us(each) for each in attempts if (each.stopping_us or 0) > from_us]
                for number, attempts in losses.items()
                if attempts
            },
            _usual_us(each for attempts in losses.values() for each in attempts),
        )

    def times(self, numbers: Sequence[int]) -> StopTime:
        """Of preemptions, for one simulation; `numbers`: of its jobs, by place."""
        usual_us = [self.usual_us.get(job, self.of_others_us) for job in numbers]
        return _in_turn([self.took_us.get(job, ()) for job in numbers], usual_us)

    def loss_times(self, numbers: Sequence[int]) -> LossTime:
        """Of losses of a machine; `numbers` as for `times`."""
        usual_us = [self.usual_loss_us] * len(numbers)
        return _in_turn([self.lost_us.get(job, ()) for job in numbers], usual_us)

    def finishes(self, numbers: Sequence[int]) -> FinishTest:
        """See `finishing_us`; `numbers` as for `times`."""

        def has_finished(place: int, left_us: int) -> bool:
            most_us = self.finishing_us.get(numbers[place])
            return most_us is not None and left_us <= most_us

        return has_finished


def _in_turn(took_us: Sequence[Sequence[int]], usual_us: Sequence[int]) -> Callable[[int], int]:
    """By place: each of the times once, then the usual one."""
    begun = Counter[int]()

    def time_us(place: int) -> int:
        before = begun[place]
        begun[place] += 1
        known = took_us[place]
        return known[before] if before < len(known) else usual_us[place]

    return time_us


def _has_lost(attempt: Attempt) -> bool:
    return attempt.stop_cause is StopCause.MACHINE_LOST and attempt.has_ended


def _was_stopped(attempt: Attempt) -> bool:
    return attempt.stop_cause in _LIKE_PREEMPTIONS and attempt.has_ended


def _is_preempted(attempt: Attempt, from_us: int) -> bool:
    return attempt.stop_cause is StopCause.PREEMPTED and (attempt.stopping_us or 0) > from_us


def _usual_us(attempts: Iterable[Attempt]) -> int:
    took_us = [_took_us(each) for each in attempts]
    return round(median(took_us)) if took_us else 0


def _took_us(attempt: Attempt) -> int:
    """From the request to stop until the slots were free."""
    assert attempt.freed_us is not None
    assert attempt.stopping_us is not None
    return attempt.freed_us - attempt.stopping_us
