"""Jobs that the engine does not know yet: other jobs have to succeed first, or enough jobs of their
array are unfinished. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from motet.live.jobs.job import JobArray, LiveJob
from motet.live.jobs.job_state import JobState

Dependency: TypeAlias = LiveJob | JobArray


class HeldJobs:
    """Which jobs are held, and whose time has come. Every change costs the jobs that it concerns.

    Jobs wait for jobs with smaller ids, so there are no cycles.
    """

    def __init__(self) -> None:
        self._unmet: dict[int, set[int]] = {}
        self._dependents: dict[int, list[LiveJob]] = {}
        self._ready: dict[int, LiveJob] = {}
        self._doomed: dict[int, tuple[LiveJob, LiveJob]] = {}
        self._releasing: dict[int, JobArray] = {}

    @property
    def ready(self) -> list[LiveJob]:
        """Held jobs that wait for nothing any longer."""
        of_arrays = (job for array in self._releasing.values() for job in array.releasable)
        return [*self._ready.values(), *of_arrays]

    @property
    def doomed(self) -> list[tuple[LiveJob, LiveJob]]:
        """Held jobs that can never start, each with the job that has not succeeded."""
        return [*self._doomed.values()]

    def waits_for(self, job: LiveJob) -> list[int]:
        """Ids of the jobs and arrays that have to succeed still, ascending."""
        return sorted(self._unmet.get(job.number, ()))

    def add(self, job: LiveJob, after: Sequence[Dependency]) -> None:
        """Hold a job that was accepted. `after`: what has to succeed."""
        job.is_held = True
        unmet = {each.number for each in after if each.state is not JobState.SUCCEEDED}
        self._unmet[job.number] = unmet
        for number in unmet:
            self._dependents.setdefault(number, []).append(job)
        if not unmet:
            self._is_ready(job)

    def released(self, at_us: int, job: LiveJob) -> None:
        """The engine gets the job."""
        self._forget(job)
        job.released_us = at_us
        if job.array is not None:
            job.array.open += 1
            job.array.since_us = job.array.since_us or at_us
            self._look(job.array)

    def ended(self, job: LiveJob) -> None:
        """A job has reached its final state: those that wait for it are ready, or doomed."""
        was_held, array = job.is_held, job.array
        self._forget(job)
        self._decide(job.number, job)
        if array is None:
            return
        array.open -= not was_held
        self._look(array)
        if array.number not in self._dependents:
            return
        if job.state is not JobState.SUCCEEDED or array.state is JobState.SUCCEEDED:
            self._decide(array.number, job)

    def _decide(self, number: int, job: LiveJob) -> None:
        """Tell those that wait for a job or array how it has ended: as `job`."""
        for each in self._dependents.pop(number, ()):
            if not each.is_held:
                continue
            if job.state is not JobState.SUCCEEDED:
                self._doomed.setdefault(each.number, (each, job))
                continue
            unmet = self._unmet[each.number]
            unmet.discard(number)
            if not unmet:
                self._is_ready(each)

    def _is_ready(self, job: LiveJob) -> None:
        if job.array is None:
            self._ready[job.number] = job
        else:
            job.array.ready[job.number] = job
            self._look(job.array)

    def _look(self, array: JobArray) -> None:
        if array.ready and (array.most_open is None or array.open < array.most_open):
            self._releasing[array.number] = array
        else:
            self._releasing.pop(array.number, None)

    def _forget(self, job: LiveJob) -> None:
        job.is_held = False
        ready = self._ready if job.array is None else job.array.ready
        ready.pop(job.number, None)
        self._unmet.pop(job.number, None)
        self._doomed.pop(job.number, None)
