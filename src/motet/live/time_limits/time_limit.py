"""When a job has run for as long as it may, and how it is stopped then."""

from __future__ import annotations

from dataclasses import dataclass

from motet.domain.units import NEVER_US, SECOND_US, written_duration
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import JobSpec


@dataclass(frozen=True, slots=True)
class EndAtLimit:
    """The job has run for as long as it may."""

    job: int


def grace_s(spec: JobSpec) -> float:
    """How long before `max_duration` the processes get the preempt signal: they have ended, or are
    killed, at the limit. That of a preemption, but at most half of the limit."""
    usual_s = spec.preempt.grace_s
    return usual_s if spec.max_duration is None else min(usual_s, spec.max_duration / 2)


def signal_after_us(spec: JobSpec) -> int:
    """The running time after which the job is stopped; NEVER_US: it has no limit."""
    if spec.max_duration is None:
        return NEVER_US
    return round((spec.max_duration - grace_s(spec)) * SECOND_US)


def has_used_up(job: LiveJob, now_us: int) -> bool:
    """Whether no running time is left for another attempt."""
    return job.ran_us(now_us) >= signal_after_us(job.spec)


def left_us(job: LiveJob, now_us: int) -> int:
    """The running time that is left until `max_duration`; NEVER_US: there is no limit."""
    if job.spec.max_duration is None:
        return NEVER_US
    return max(round(job.spec.max_duration * SECOND_US) - job.ran_us(now_us), 0)


def ends_us(job: LiveJob) -> int | None:
    """When it has run for its `max_duration` if it runs on; None: it does not run, or has no
    limit."""
    attempt, longest_s = job.attempt, job.spec.max_duration
    if longest_s is None or attempt is None or attempt.running_us is None:
        return None
    begin_us = attempt.running_us
    return begin_us - job.ran_us(begin_us) + round(longest_s * SECOND_US)


def time_limit_words(job: LiveJob) -> str:
    """ "it has reached its max_duration, 2h, in 3 attempts"."""
    ran = sum(attempt.running_us is not None for attempt in job.attempts)
    attempts = f", in {ran} attempts" if ran > 1 else ""
    longest = written_duration(job.spec.max_duration or 0.0)
    return f"it has reached its max_duration, {longest}{attempts}"
