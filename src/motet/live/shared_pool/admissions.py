"""Which attempts of jobs may use the pool of the cluster, and with which limits. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from motet.aggregation.wire.pool_messages import JobAdmission
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import CommandSpec
from motet.live.master.requests import name_in_pool


def admission_of(job: LiveJob, queue_limits: Mapping[str, float]) -> JobAdmission | None:
    """That of the job's present attempt; None: it has none, or takes no part in a pool.

    `queue_limits`: loss limits of jobs that name none, by queue. An attempt that is being stopped
    may save what it has on the Aggregators until its last process has ended.
    """
    attempt, spec = job.attempt, job.spec
    if attempt is None or not isinstance(spec, CommandSpec):
        return None
    options = spec.aggregation
    limit = queue_limits.get(spec.queue) if options.loss_limit is None else options.loss_limit
    return JobAdmission(name_in_pool(job, attempt), options.servers, limit)


@dataclass
class AdmittedAttempts:
    """Follows jobs. `queue_limits`: see `admission_of`. Not safe for threads."""

    queue_limits: Mapping[str, float]
    _by_job: dict[int, JobAdmission] = field(default_factory=dict)

    def follow(self, jobs: Iterable[LiveJob]) -> bool:
        """Take over jobs that have changed; returns whether that changes what may use the pool."""
        before = dict(self._by_job)
        for job in jobs:
            admission = admission_of(job, self.queue_limits)
            if admission is None:
                self._by_job.pop(job.number, None)
            else:
                self._by_job[job.number] = admission
        return self._by_job != before

    @property
    def admissions(self) -> tuple[JobAdmission, ...]:
        """Of all jobs."""
        return tuple(self._by_job.values())

    @property
    def numbers(self) -> dict[str, int]:
        """The ids of the jobs by their names in the pool."""
        return {admission.job: number for number, admission in self._by_job.items()}
