"""The list of jobs for the API: a row per job, and one for each array. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from motet.domain.errors import BadInput, UnknownName
from motet.interfaces.server.views import array_line, job_line
from motet.live.jobs.job import JobArray, LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.state import LiveState


@dataclass(frozen=True, slots=True)
class ChosenJobs:
    """Which rows are wanted. `states`: empty for all; `user`, `queue`: exact, empty for all.

    `array`: only its jobs; 0: all jobs, without rows of arrays; None: an array is a row, which has
    the states and the queues of its jobs. `ended_since_us`: none that ended before.
    """

    states: frozenset[JobState] = field(default_factory=frozenset)
    user: str = ""
    queue: str = ""
    array: int | None = None
    ended_since_us: int = 0

    def check(self, live: LiveState, caller: str) -> None:
        """Raises NotFound for an unknown array, UnknownName for a queue, BadInput for a user who is
        not the `caller` and has submitted nothing."""
        if self.array and self.array not in live.arrays:
            live.jobs_of(self.array)
        if self.queue and self.queue not in live.queues:
            raise UnknownName("queue", self.queue, live.queue_book.present)
        if self.user and self.user != caller:
            users = {job.user for job in live.jobs.values()}
            if self.user not in users:
                hint = UnknownName("user", self.user, users).hint
                raise BadInput(f"user {self.user!r} has submitted no jobs{hint}")

    def meets(self, row: LiveJob | JobArray) -> bool:
        """Whether the row is wanted, however long ago it ended."""
        if self.user and row.user != self.user:
            return False
        if isinstance(row, JobArray):
            return (not self.states or any(job.state in self.states for job in row.jobs)) and (
                not self.queue or any(job.spec.queue == self.queue for job in row.jobs)
            )
        return (not self.states or row.state in self.states) and (
            not self.queue or row.spec.queue == self.queue
        )

    def is_past(self, row: LiveJob | JobArray) -> bool:
        """Whether it ended too long ago."""
        return row.ended_us is not None and row.ended_us < self.ended_since_us


FIELDS = (
    *("id", "name", "user", "queue", "priority", "array", "index", "kind", "processes"),
    *("held_processes", "least_processes", "most_processes", "state", "reason", "message"),
    *("counts", "attempts"),
    *("submitted_at", "progress", "started_at", "ended_at", "max_duration_s", "limit_at"),
)
"""Of rows; `counts` of arrays alone."""


def chosen_fields(text: str) -> tuple[str, ...]:
    """`id,state` as names; empty: all. Raises UnknownName."""
    names = tuple(name.strip() for name in text.split(",")) if text else ()
    for name in names:
        if name not in FIELDS:
            raise UnknownName("field", name[:80], FIELDS)
    return names


def with_fields(document: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """A page whose rows have only these fields, as far as they have them; (): all."""
    if not names:
        return document
    rows = [{name: row[name] for name in names if name in row} for row in document["jobs"]]
    return {**document, "jobs": rows}


def jobs_document(
    live: LiveState, chosen: ChosenJobs, caller: str, after: int, limit: int
) -> dict[str, Any]:
    """A page of rows. `hidden`: how many are left out of the page because they ended before
    `ended_since_us`. Raises what `ChosenJobs.check` raises."""
    chosen.check(live, caller)
    lines: list[dict[str, Any]] = []
    hidden = 0
    for each in filter(chosen.meets, _rows(live, after, chosen.array)):
        if chosen.is_past(each):
            hidden += 1
            continue
        if len(lines) == limit:
            return {"jobs": lines, "next": lines[-1]["id"], "hidden": hidden}
        lines.append(_line(live, each))
    return {"jobs": lines, "next": None, "hidden": hidden}


def _line(live: LiveState, row: LiveJob | JobArray) -> dict[str, Any]:
    return job_line(live, row) if isinstance(row, LiveJob) else array_line(live, row)


def _rows(live: LiveState, after: int, array: int | None) -> Iterator[LiveJob | JobArray]:
    if array:
        yield from (job for job in live.jobs_of(array) if job.number > after)
        return
    for number in range(after + 1, live.next_job):
        if number in live.arrays:
            if array is None:
                yield live.arrays[number]
        elif array == 0 or live.jobs[number].array is None:
            yield live.jobs[number]
