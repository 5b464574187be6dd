"""How long jobs of the live cluster had still to run at a moment: measured or predicted. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from motet.domain.units import MILLISECOND_US, SECOND_US, seconds
from motet.estimate.run_times import ObservedRunTime, RunTimeForecast, RunTimePredictor
from motet.live.jobs.attempt import Attempt, AttemptOutcome, StopCause
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.time_limits.time_limit import left_us

LEAST_US = MILLISECOND_US
ASSUMED_US = 60 * SECOND_US
"""Least remaining time of a job of which nothing is known."""


@dataclass(frozen=True)
class MeasuredRuns:
    """Run times until `until_us`, without start-ups. `start_up_us`: the usual one, of attempts that
    are not known to have run."""

    until_us: int
    start_up_us: int

    @classmethod
    def of(cls, jobs: Iterable[LiveJob], until_us: int) -> MeasuredRuns:
        """The usual start-up is the median time from the request of an attempt until all processes
        run: of attempts that continue a job, else of all."""
        starts = [each for job in jobs for each in job.attempts if each.running_us is not None]
        again = [each for each in starts if each.number > 1]
        took = [(each.running_us or 0) - each.requested_us for each in again or starts]
        return cls(until_us, round(median(took)) if took else 0)

    def run_us(self, job: LiveJob, from_us: int = 0) -> int:
        """The time for which a job held slots since then, without start-ups that began since, and
        without the time that its preemptions took."""
        run_us = sum(self.attempt_us(each, from_us) for each in job.attempts)
        has_held = any(self._held_us(each, from_us) for each in job.attempts)
        return max(run_us, LEAST_US if has_held else 0)

    def attempt_us(self, attempt: Attempt, from_us: int) -> int:
        """The same of one attempt."""
        held_us = self._held_us(attempt, from_us)
        return held_us - min(self.start_left_us(attempt, from_us), held_us)

    def start_us(self, attempt: Attempt) -> int:
        """How long an attempt took until all of its processes ran. One that ended by itself before
        that was known worked all the time."""
        if attempt.running_us is not None:
            return attempt.running_us - attempt.requested_us
        return 0 if ended_by_itself(attempt) else self.start_up_us

    def start_left_us(self, attempt: Attempt, from_us: int) -> int:
        """The part of the start-up of an attempt that comes after a moment."""
        began_us = attempt.requested_us
        return max(began_us + self.start_us(attempt) - max(began_us, from_us), 0)

    def starts_us(self, job: LiveJob, from_us: int) -> tuple[int, ...]:
        """The start-ups of a job that began since then, in their order."""
        return tuple(self.start_us(each) for each in job.attempts if each.requested_us > from_us)

    def worked_us(self, job: LiveJob) -> int:
        """The time for which all processes of a job ran: without start-ups."""
        return sum(self._worked_us(each) for each in job.attempts)

    def predictor(self, jobs: Iterable[LiveJob]) -> RunTimePredictor:
        """From all jobs that ran; one that was cancelled, or reached its `max_duration`, would have
        run on."""
        return RunTimePredictor(map(self._observed, jobs))

    def forecast(
        self, predictor: RunTimePredictor, job: LiveJob, *, is_exact: bool = False
    ) -> RunTimeForecast | None:
        """Of the time for which a job that has not ended runs in all, without start-ups.
        `is_exact`: what its user declared is so."""
        ran_s = seconds(self.worked_us(job))
        if is_exact and job.spec.duration_s:
            return RunTimeForecast.exactly(job.spec.duration_s)
        return predictor.forecast(groups_of(job), ran_s, job.spec.duration_s)

    def _observed(self, job: LiveJob) -> ObservedRunTime:
        run_s = seconds(self.worked_us(job))
        is_known = has_ended(job) and not job.has_timed_out
        return ObservedRunTime(groups_of(job), run_s, is_known, job.spec.duration_s)

    def _worked_us(self, attempt: Attempt) -> int:
        if attempt.running_us is None:  # It ended before it was known to run, or it is starting.
            return (attempt.ended_us or 0) - attempt.requested_us if ended_by_itself(attempt) else 0
        return attempt.ran_us(self.until_us)

    def _held_us(self, attempt: Attempt, from_us: int) -> int:
        end_us = worked_until_us(attempt)
        return max(
            (self.until_us if end_us is None else end_us) - max(attempt.requested_us, from_us), 0
        )


@dataclass(frozen=True)
class RemainingWork:
    """`work_us`: by job, on its slots, from a moment on, without start-ups. `rest_us`: the part of
    it that is predicted. `runs`: what was measured. `predicted`: jobs that have not ended by
    themselves, `assumed`: those of them about which nothing was known."""

    work_us: Mapping[int, int]
    rest_us: Mapping[int, int]
    runs: MeasuredRuns
    predicted: frozenset[int]
    assumed: frozenset[int]

    @classmethod
    def of(
        cls, history: Iterable[LiveJob], jobs: Iterable[LiveJob], from_us: int, until_us: int
    ) -> RemainingWork:
        """Of these jobs from `from_us` on. `history`: all jobs until `until_us`."""
        known = [*history]
        runs = MeasuredRuns.of(known, until_us)
        predictor = runs.predictor(known)
        work_us: dict[int, int] = {}
        rests_us: dict[int, int] = {}
        predicted, assumed = set[int](), set[int]()
        for job in jobs:
            rest_us = 0
            if not has_ended(job):
                forecast = runs.forecast(predictor, job)
                rest_us = min(_rest_us(forecast, runs.worked_us(job)), left_us(job, until_us))
                predicted.add(job.number)
                if forecast is None:
                    assumed.add(job.number)
            rests_us[job.number] = rest_us
            work_us[job.number] = max(runs.run_us(job, from_us) + rest_us, LEAST_US)
        return cls(work_us, rests_us, runs, frozenset(predicted), frozenset(assumed))


def worked_until_us(attempt: Attempt) -> int | None:
    """Until when an attempt worked; None: it still does. One that ended by itself is taken to have
    worked until the server knew that: its slots were not free before, and are not in a replay. A
    preempted one did until its preemption, and one that lost a machine until then: that it held its
    slots until it had stopped is simulated, and also that it finished meanwhile, as a training does
    after its last epoch. One that finished while it was being stopped for another cause is done at
    once."""
    is_done = attempt.outcome is AttemptOutcome.SUCCEEDED
    is_cut = attempt.was_preempted or attempt.stop_cause is StopCause.MACHINE_LOST
    is_simulated = attempt.has_finished_while_stopping
    if attempt.stopping_us is None or is_simulated or not (is_cut or is_done):
        return attempt.freed_us
    return max(attempt.stopping_us, attempt.running_us or attempt.requested_us)


def has_ended(job: LiveJob) -> bool:
    """Whether it ended by itself, so that its run time is known."""
    return job.state in (JobState.SUCCEEDED, JobState.FAILED)


def ended_by_itself(attempt: Attempt) -> bool:
    """Whether its processes ended before a stop was requested, or finished nevertheless."""
    if attempt.outcome is AttemptOutcome.LOST:
        return attempt.stop_cause is None
    return attempt.outcome in (AttemptOutcome.SUCCEEDED, AttemptOutcome.FAILED)


def groups_of(job: LiveJob) -> tuple[Hashable, ...]:
    """Jobs like this one, the most similar ones first."""
    spec = job.spec
    return (
        ("name", job.user, spec.kind, spec.name, spec.processes),
        ("user", job.user, spec.queue, spec.kind),
        ("queue", spec.queue, spec.kind),
        ("kind", spec.kind),
    )


def _rest_us(forecast: RunTimeForecast | None, ran_us: int) -> int:
    """Half of such jobs need no longer. Without a forecast: as long as the job has run already."""
    if forecast is None:
        return max(ran_us, ASSUMED_US)
    return max(round(forecast.median_s * SECOND_US) - ran_us, LEAST_US)
