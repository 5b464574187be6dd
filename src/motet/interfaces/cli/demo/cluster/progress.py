"""What `motet demo` knows of its jobs: the last answers of the server. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from motet.live.jobs.job_state import JobState
from motet.report.rendering.palette import job_colour
from motet.report.rendering.quantities import count_text

_MOST_EVENTS = 4


@dataclass
class DemoProgress:
    """`jobs`, `machines`: documents of the server's API, replaced by every `update`.

    `events`: the last changes, oldest first, as sentences; `first_s`: Unix seconds of the first
    submission.
    """

    job_count: int
    jobs: Sequence[Mapping[str, Any]] = ()
    machines: Sequence[Mapping[str, Any]] = ()
    events: list[str] = field(default_factory=list)

    def update(
        self, jobs: Sequence[Mapping[str, Any]], machines: Sequence[Mapping[str, Any]]
    ) -> list[str]:
        """Take new answers; returns what has changed since the last ones."""
        before = {job["id"]: job["state"] for job in self.jobs}
        news = [text for job in jobs if (text := _change(before.get(job["id"]), job["state"], job))]
        self.jobs, self.machines = jobs, machines
        self.events = [*self.events, *news][-_MOST_EVENTS:]
        return news

    @property
    def are_all_ended(self) -> bool:
        """Whether every job of the demo has been submitted and has ended."""
        ended = sum(JobState(job["state"]).is_final for job in self.jobs)
        return ended == self.job_count

    def colour_of(self, job: str) -> str:
        """By the number of the job, from 1."""
        return job_colour(int(job) - 1)

    def name_of(self, job: str) -> str:
        """The name of the job with this number."""
        return next((str(each["name"]) for each in self.jobs if each["id"] == job), job)


def unix_seconds(moment: str | None) -> float | None:
    """Unix seconds of a moment in the server's documents."""
    return None if moment is None else datetime.fromisoformat(moment).timestamp()


def _change(before: str | None, now: str, job: Mapping[str, Any]) -> str:
    if before == now:
        return ""
    name = str(job["name"])
    if before is None:
        return f"{name} arrives: {count_text(job['processes'], 'slot')}"
    match now:
        case "RUNNING":
            again = " again" if job["attempts"] > 1 else ""
            return f"{name} runs{again}"
        case "PREEMPTED":
            return f"{name} is preempted"
        case "SUCCEEDED":
            return f"{name} has succeeded"
        case "FAILED":
            return f"{name} has failed: {job['reason']}"
    return ""
