"""Jobs that the engine does not know yet, because other jobs have to succeed first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState


class HeldJobs:
    """Which jobs are held, and whose time has come. Every change costs the jobs that it concerns.

    Jobs wait for jobs with smaller ids, so there are no cycles.
    """

    def __init__(self) -> None:
        self._unmet: dict[int, set[int]] = {}
        self._dependents: dict[int, list[LiveJob]] = {}
        self._ready: dict[int, LiveJob] = {}
        self._doomed: dict[int, tuple[LiveJob, LiveJob]] = {}

    @property
    def ready(self) -> list[LiveJob]:
        """Held jobs that wait for nothing any longer."""
        return [*self._ready.values()]

    @property
    def doomed(self) -> list[tuple[LiveJob, LiveJob]]:
        """Held jobs that can never start, each with the job that has not succeeded."""
        return [*self._doomed.values()]

    def waits_for(self, job: LiveJob) -> list[int]:
        """Ids of the jobs that have to succeed still, ascending."""
        return sorted(self._unmet.get(job.number, ()))

    def add(self, job: LiveJob, after: Sequence[LiveJob]) -> None:
        """Hold a job that was accepted. `after`: the jobs that have to succeed."""
        job.is_held = True
        unmet = {each.number: each for each in after if each.state is not JobState.SUCCEEDED}
        self._unmet[job.number] = {*unmet}
        for number in unmet:
            self._dependents.setdefault(number, []).append(job)
        if not unmet:
            self._ready[job.number] = job

    def released(self, job: LiveJob) -> None:
        """The engine gets the job."""
        self._forget(job)

    def ended(self, job: LiveJob) -> None:
        """A job has reached its final state: those that wait for it are ready, or doomed."""
        if job.is_held:
            self._forget(job)
        for each in self._dependents.pop(job.number, ()):
            if not each.is_held:
                continue
            if job.state is not JobState.SUCCEEDED:
                self._doomed.setdefault(each.number, (each, job))
                continue
            unmet = self._unmet[each.number]
            unmet.discard(job.number)
            if not unmet:
                self._ready[each.number] = each

    def _forget(self, job: LiveJob) -> None:
        job.is_held = False
        for known in (self._unmet, self._ready, self._doomed):
            known.pop(job.number, None)
