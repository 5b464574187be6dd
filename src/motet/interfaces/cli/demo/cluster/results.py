"""What became of the jobs of `motet demo`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Self

from motet.interfaces.cli.demo.cluster.progress import unix_seconds


@dataclass(frozen=True)
class JobResult:
    """A job that has ended. Seconds; `jct_s`: from its submission to its end.

    `other_jct_s`: the same under the other policy, simulated; None: it would not have completed.
    """

    number: int
    name: str
    state: str
    slots: int
    jct_s: float
    running_s: float
    preemptions: int
    other_jct_s: float | None

    @classmethod
    def of(cls, page: Mapping[str, Any], replayed: Mapping[str, Any]) -> Self:
        """From the job's page of the API and its row of the replay under the other policy."""
        attempts = page["attempt_list"]
        submitted_s, ended_s = unix_seconds(page["submitted_at"]), unix_seconds(page["ended_at"])
        assert submitted_s is not None
        assert ended_s is not None
        return cls(
            number=int(page["id"]),
            name=str(page["name"]),
            state=str(page["state"]),
            slots=int(page["processes"]),
            jct_s=ended_s - submitted_s,
            running_s=sum(_running_s(attempt) for attempt in attempts),
            preemptions=sum(attempt["stop_cause"] == "preempted" for attempt in attempts),
            other_jct_s=replayed["jct_s"],
        )


def _running_s(attempt: Mapping[str, Any]) -> float:
    began_s, ended_s = unix_seconds(attempt["running_at"]), unix_seconds(attempt["ended_at"])
    return 0.0 if began_s is None or ended_s is None else ended_s - began_s


@dataclass(frozen=True)
class DemoResults:
    """`policy` was in force; `other` is simulated with the jobs' measured work.

    `wall_s`: of the whole demo. `replay_error`: of the mean completion time when `policy` itself is
    simulated, relative to the measured one; None: unknown.
    """

    policy: str
    other: str
    wall_s: float
    replay_error: float | None
    jobs: Sequence[JobResult]

    @classmethod
    def of(
        cls, pages: Sequence[Mapping[str, Any]], replay: Mapping[str, Any], wall_s: float
    ) -> Self:
        """From the jobs' pages of the API, and the report of `motet whatif`."""
        rows = {row["id"]: row for row in replay["job_list"]}
        measured, _, other = replay["runs"]
        jobs = [JobResult.of(page, rows[page["id"]]) for page in pages]
        return cls(measured["policy"], other["policy"], wall_s, replay["replay_error"], jobs)

    @property
    def mean_jct_s(self) -> float:
        """Measured, over all jobs."""
        return fmean(job.jct_s for job in self.jobs)

    @property
    def other_mean_jct_s(self) -> float | None:
        """Simulated under the other policy; None unless all jobs would have completed."""
        times = [job.other_jct_s for job in self.jobs if job.other_jct_s is not None]
        return fmean(times) if len(times) == len(self.jobs) else None

    def as_dict(self) -> dict[str, Any]:
        """The document of `motet demo --json`."""
        means = {"mean_jct_s": self.mean_jct_s, "other_mean_jct_s": self.other_mean_jct_s}
        return {**asdict(self), **means}
