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

    `other_jct_s`: the same under the other policy, simulated; None: it would not have completed, or
    there is none. `shared_s`: of the running time, beside other jobs on one of its machines.
    """

    number: int
    name: str
    state: str
    slots: int
    jct_s: float
    running_s: float
    preemptions: int
    other_jct_s: float | None
    shared_s: float = 0.0

    @classmethod
    def of(
        cls,
        page: Mapping[str, Any],
        replayed: Mapping[str, Any],
        others: Sequence[Mapping[str, Any]] = (),
    ) -> Self:
        """From the job's page of the API and its row of the replay under the other policy.

        `others`: the pages of the other jobs.
        """
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
            preemptions=sum(map(_was_preempted, attempts)),
            other_jct_s=replayed.get("jct_s"),
            shared_s=_shared_s(page, others),
        )


def _shared_s(page: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> float:
    """Seconds in which another job runs on one of the machines, too."""
    beside = [attempt for other in others for attempt in other["attempt_list"]]
    return sum(_covered_s(each, beside) for each in page["attempt_list"])


def _covered_s(attempt: Mapping[str, Any], beside: Sequence[Mapping[str, Any]]) -> float:
    begin_s, end_s = _interval(attempt)
    covered_s, reached_s = 0.0, begin_s
    near = [_interval(each) for each in beside if {*each["placement"]} & {*attempt["placement"]}]
    for other_begin_s, other_end_s in sorted(near):
        since_s, until_s = max(other_begin_s, reached_s), min(other_end_s, end_s)
        covered_s += max(until_s - since_s, 0.0)
        reached_s = max(reached_s, until_s)
    return covered_s


def _interval(attempt: Mapping[str, Any]) -> tuple[float, float]:
    """When its processes ran; empty: they never did."""
    began_s, ended_s = unix_seconds(attempt["running_at"]), unix_seconds(attempt["ended_at"])
    return (0.0, 0.0) if began_s is None or ended_s is None else (began_s, ended_s)


def _was_preempted(attempt: Mapping[str, Any]) -> bool:
    """Not one that finished while it was being stopped."""
    return bool(attempt["stop_cause"] == "preempted" and attempt["outcome"] != "succeeded")


def _running_s(attempt: Mapping[str, Any]) -> float:
    began_s, ended_s = unix_seconds(attempt["running_at"]), unix_seconds(attempt["ended_at"])
    return 0.0 if began_s is None or ended_s is None else ended_s - began_s


@dataclass(frozen=True)
class DemoResults:
    """`policy` was in force; `other` is simulated with the jobs' measured work; None: none is.

    `wall_s`: of the whole demo. `replay_error`: of the mean completion time when `policy` itself is
    simulated, relative to the measured one; None: unknown.
    """

    policy: str
    other: str | None
    wall_s: float
    replay_error: float | None
    jobs: Sequence[JobResult]

    @classmethod
    def of(
        cls,
        policy: str,
        pages: Sequence[Mapping[str, Any]],
        replay: Mapping[str, Any] | None,
        wall_s: float,
    ) -> Self:
        """From the jobs' pages of the API, and the report of `motet whatif` (None: there is
        none)."""
        rows = {} if replay is None else {row["id"]: row for row in replay["job_list"]}
        other = None if replay is None else replay["runs"][-1]["policy"]
        error = None if replay is None else replay["replay_error"]
        jobs = [
            JobResult.of(page, rows.get(page["id"], {}), [it for it in pages if it is not page])
            for page in pages
        ]
        return cls(policy, other, wall_s, error, jobs)

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
