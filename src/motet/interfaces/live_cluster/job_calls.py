"""What `motet.Client` does with jobs."""

from __future__ import annotations

import codecs
import math
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.domain.errors import BadInput, MotetError
from motet.interfaces.client import LiveClient
from motet.interfaces.job_files import home_of, read_job_file, resolved_folder
from motet.interfaces.live_cluster.answers import SubmittedJob
from motet.interfaces.live_cluster.arguments import (
    JobId,
    job_changes,
    job_id,
    name_of_job,
    require_seconds,
    require_text,
    require_texts,
)
from motet.interfaces.live_cluster.forecast_answers import (
    JobExplanation,
    RangeCoverage,
    SubmissionForecast,
)
from motet.interfaces.live_cluster.frames import jobs_frame
from motet.interfaces.live_cluster.job_changes import (
    OPEN_STATES,
    WatchedJobs,
    cancelled_jobs,
    looks,
)
from motet.interfaces.live_cluster.log_reading import LogChunk, ProcessLog
from motet.interfaces.live_cluster.moments import Moment, period_begin
from motet.interfaces.live_cluster.snapshots import with_snapshot
from motet.interfaces.python_messages import python_items, python_methods

if TYPE_CHECKING:
    import pandas as pd


class WaitTimedOut(MotetError, TimeoutError):
    """The job has not ended in the time that `Client.wait` was given."""


@python_methods
class JobCalls:
    """Jobs: submit, follow, change, explain."""

    _live: LiveClient

    def submit(
        self, file: str | os.PathLike[str] | None = None, *, key: str = "", **values: Any
    ) -> SubmittedJob:
        """Submit a job, or an array of jobs: the values of a job file, and those given by name.

        Durations are seconds, or texts with a unit such as `max_duration="2h"`. `key`: a repeated
        call with the same key returns the same job. `workdir` is the folder of the file, else the
        present one; `name` that of the file, of the program or of the application.
        """
        require_text("key", key)
        wanted = with_snapshot(self._live, _job_values(file, values), on_sending=lambda _: None)
        return SubmittedJob.of(self._live.submit(wanted, key or uuid.uuid4().hex))

    def dry_run(
        self, file: str | os.PathLike[str] | None = None, **values: Any
    ) -> SubmissionForecast:
        """When a job would start that `submit` submits with the same arguments, and which jobs
        would end later. Nothing is submitted."""
        return SubmissionForecast.of(self._live.dry_run(_job_values(file, values)))

    def job(self, job: JobId) -> SubmittedJob:
        """A job with its attempts, or an array."""
        return SubmittedJob.of(self._live.job(job_id(job)))

    def jobs(
        self,
        states: Sequence[str] = (),
        array: JobId | None = None,
        *,
        queue: str | None = None,
        user: str | None = None,
        ended_since: Moment | None = None,
    ) -> pd.DataFrame:
        """A row per job, indexed by `id`; an array is one row. All jobs, or those that meet all of:

        `states`: in one of these. `array`: the jobs of this one. `queue`, `user`: of these.
        `ended_since`: have not ended, or since then (`"1d"`: within a day, as `motet list` shows).
        """
        require_texts("states", states, "RUNNING")
        chosen = None if array is None else job_id(array, "array")
        since = period_begin("ended_since", ended_since)
        found = self._live.jobs(tuple(states), chosen, queue=queue, user=user, ended_since=since)
        return jobs_frame(found)

    def wait(self, job: JobId, timeout_s: float = math.inf) -> SubmittedJob:
        """The job when it has ended, or the array when all of its jobs have. Raises WaitTimedOut.

        Whether it has succeeded is for the caller to ask: see `has_succeeded`.
        """
        require_seconds("timeout_s", timeout_s)
        ends_s = time.monotonic() + timeout_s
        found = SubmittedJob.of(self._live.wait(job_id(job), 0.0))
        while not found.has_ended:
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                raise WaitTimedOut(f"job {found.id} is {found.state} after {timeout_s:g} s")
            found = SubmittedJob.of(self._live.wait(job_id(job), left_s))
        return found

    def logs(self, job: JobId, *, rank: int = 0, attempt: int = 0) -> str:
        """What a process has written until now. `attempt`: 0 is the last one."""
        return "".join(_text(self._log(job, rank).until_now(attempt)))

    def follow(self, job: JobId, *, rank: int = 0, attempt: int = 0) -> Iterator[str]:
        """Parts of the log as it grows. `attempt`: 0 is the last one and those that follow it, on
        whatever machine, until the job has ended."""
        return python_items(_text(self._log(job, rank).until_end(attempt)))

    def cancel(self, job: JobId) -> SubmittedJob:
        """Stop the processes of a job, or of all jobs of an array, for good."""
        return self._change(job, "cancel")

    def cancel_all(
        self, *, queue: str | None = None, user: str | None = None, states: Sequence[str] = ()
    ) -> list[SubmittedJob]:
        """Cancel the jobs that have not ended and meet all of what is given: of a queue, of a user,
        in one of the states. Jobs that end meanwhile are left out."""
        require_texts("states", states, "RUNNING")
        if not (queue or user or states):
            raise BadInput("give queue, user or states; cancel_all() does not choose all jobs")
        if ended := next((it for it in states if it not in OPEN_STATES), None):
            raise BadInput(f"states: {ended!r}: give states of {', '.join(OPEN_STATES)}")
        return [*map(SubmittedJob.of, cancelled_jobs(self._live, states, queue, user))]

    def suspend(self, job: JobId) -> SubmittedJob:
        """Stop the processes of a job until it is resumed."""
        return self._change(job, "suspend")

    def resume(self, job: JobId) -> SubmittedJob:
        """Let a suspended job wait for slots again."""
        return self._change(job, "resume")

    def update(
        self,
        job: JobId,
        *,
        priority: int | None = None,
        queue: str | None = None,
        max_duration: float | str | None = None,
    ) -> SubmittedJob:
        """Give a job another priority, queue or time limit; it keeps its time of submission.

        `max_duration`: seconds, a text such as `"2h"`, or math.inf: no limit. Users may lower that
        of their jobs, admins may raise or remove it. A job that runs obeys at once.
        """
        changes = job_changes(priority=priority, queue=queue, max_duration=max_duration)
        return SubmittedJob.of(self._live.update(job_id(job), changes))

    def events(
        self, array: JobId | None = None, *, queue: str | None = None, user: str | None = None
    ) -> Iterator[SubmittedJob]:
        """A job whenever it has changed, from now on: states that follow one another faster than
        twice a second may be passed over, the last one never is. Ends with Unreachable when the
        server ends. `array`, `queue`, `user`: only jobs of these."""
        chosen = "0" if array is None else job_id(array, "array")
        watched = WatchedJobs(self._live, (), chosen, queue=queue, user=user)
        watched.look()
        return python_items(self._changes(watched))

    def _changes(self, watched: WatchedJobs) -> Iterator[SubmittedJob]:
        for changed in looks(self._live, watched):
            yield from map(SubmittedJob.of, changed)

    def explain(self, job: JobId) -> JobExplanation:
        """Why a job waits, where it ran and why it was preempted."""
        return JobExplanation.of(int(job_id(job)), self._live.explain(job_id(job)))

    def prediction_coverage(self) -> RangeCoverage | None:
        """How many starts were within the ranges predicted for them; None: none was predicted."""
        found = self._live.prediction_coverage()
        return None if found is None else RangeCoverage.of(found)

    def _change(self, job: JobId, verb: str) -> SubmittedJob:
        return SubmittedJob.of(self._live.change(job_id(job), verb))

    def _log(self, job: JobId, rank: int) -> ProcessLog:
        return ProcessLog(self._live, job_id(job), rank)


def _job_values(file: str | os.PathLike[str] | None, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the file, then those given by name. Raises BadInput."""
    if file is not None and not isinstance(file, str | os.PathLike):
        raise BadInput(f"file={file!r:.60}: give the path of a job file")
    path = None if file is None else Path(file)
    wanted = {**(read_job_file(path) if path else {}), **values}
    home = Path.cwd() if "workdir" in values else home_of(path)
    wanted["workdir"] = resolved_folder(home, wanted.get("workdir", "."))
    wanted.setdefault("name", name_of_job(path, wanted))
    return _checked(wanted, "job" if path is None else str(path))


def _checked(values: dict[str, Any], source: str) -> dict[str, Any]:
    """Raises BadInput for a training whose application, parameters or data are not as they must
    be."""
    if "app" not in values:
        return values
    from motet.interfaces.training_settings.training_check import checked_training

    return checked_training(values, source)


def _text(chunks: Iterator[LogChunk]) -> Iterator[str]:
    """Whole characters: one that ends in the next chunk is kept back."""
    for _, found in groupby(chunks, lambda chunk: chunk.attempt):
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        yield from filter(None, (decoder.decode(chunk.data) for chunk in found))
        if rest := decoder.decode(b"", final=True):
            yield rest
