"""When a job has run for as long as it may, and how it is stopped then."""

from __future__ import annotations

from dataclasses import dataclass

from motet.domain.units import NEVER_US, SECOND_US, duration_words, seconds, written_duration
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import JobSpec


@dataclass(frozen=True, slots=True)
class EndAtLimit:
    """The job has run for as long as it may."""

    job: int


def with_limit(spec: JobSpec, longest_s: float) -> JobSpec:
    """The specification with another `max_duration`; 0: without one. The job is expected to run no
    longer than that."""
    changes: dict[str, float | None] = {"max_duration": longest_s or None}
    if longest_s and spec.duration_s is not None:
        changes["duration_s"] = min(spec.duration_s, longest_s)
    return spec.model_copy(update=changes)


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


def stop_grace_s(job: LiveJob, at_us: int) -> float:
    """How long the processes of a job that is stopped at this time have until they are killed: the
    grace period, at most until `max_duration`. Less than `grace_s` is never left, also where the
    limit has passed unheard or was lowered."""
    left_s = seconds(left_us(job, at_us))
    return min(job.spec.preempt.grace_s, max(left_s, grace_s(job.spec)))


def has_used_up(job: LiveJob, now_us: int, spec: JobSpec | None = None) -> bool:
    """Whether no running time is left for another attempt. `spec`: as it is to be; None: is."""
    return job.ran_us(now_us) >= signal_after_us(spec or job.spec)


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


def time_limit_words(job: LiveJob, until_us: int) -> str:
    """ "in 3 attempts it ran 1 h 59 min of its max_duration, 2h, of which the last 30s are for its
    end"."""
    longest_s, ran_us = job.spec.max_duration or 0.0, job.ran_us(until_us)
    count = sum(attempt.running_us is not None for attempt in job.attempts)
    attempts = f"in {count} attempts " if count > 1 else ""
    told = f"{attempts}it ran {duration_words(ran_us)} of its max_duration, "
    told += written_duration(longest_s)
    if seconds(ran_us) >= longest_s or not grace_s(job.spec):
        return told
    return f"{told}, of which the last {written_duration(grace_s(job.spec))} are for its end"
