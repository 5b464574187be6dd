"""Jobs of a live cluster as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

_FINAL = {"SUCCEEDED", "FAILED", "CANCELLED"}


@dataclass(frozen=True)
class JobAttempt:
    """One attempt to run a job. Times are in UTC; None: not yet.

    `outcome`: succeeded, failed, lost or stopped; `stop_cause`: why it was stopped. `failure`: the
    class of a failure, `reason`: the failure in words. `placement`: processes by machine.
    `exit_codes`: by rank; of a killed process the negative signal; None: unknown. `failed_rank`:
    of the process that failed first; None: none has.
    """

    number: int
    outcome: str | None
    stop_cause: str | None
    failure: str | None
    reason: str | None
    placement: Mapping[str, int]
    requested_at: datetime
    running_at: datetime | None
    ended_at: datetime | None
    exit_codes: tuple[int | None, ...]
    failed_rank: int | None = None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        return cls(
            **{name: found[name] for name in ("number", "outcome", "stop_cause")},
            **{name: found[name] for name in ("failure", "reason", "placement")},
            requested_at=known_moment(found["requested_at"]),
            running_at=moment(found["running_at"]),
            ended_at=moment(found["ended_at"]),
            exit_codes=tuple(map(_exit_code, found["exits"])),
            failed_rank=found.get("failed_rank"),  # An older server does not tell.
        )


@dataclass(frozen=True)
class SubmittedJob:
    """A job, or an array of jobs (`kind` is "array"), as it was when the server answered.

    `state`: as `motet list` shows it. `reason`: of a wait or a failure; `message`: a sentence about
    a wait. `array`, `index`: of a job that belongs to an array. `max_duration_s`: the longest time
    for which it may run; None: no limit. `processes`: that it holds (`held_processes`), or requests
    while it holds none; `most_processes`: of a training whose size may change, when it has ended
    those that it has had, `least_processes` at least. `progress`: epochs and loss of a training
    that runs. `attempts`, `spec`, `results`, `working_folder`: of one job
    that was asked for, empty or None in lists and of arrays; the last three also of jobs of other
    users.
    """

    id: int
    name: str
    user: str
    queue: str
    priority: int
    kind: str
    processes: int
    state: str
    reason: str
    message: str
    array: int | None
    index: int | None
    submitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    attempts: tuple[JobAttempt, ...]
    max_duration_s: float | None = None
    held_processes: int = 0
    most_processes: int | None = None
    least_processes: int | None = None
    progress: Mapping[str, Any] | None = None
    spec: Mapping[str, Any] | None = None
    results: str | None = None
    working_folder: str | None = None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        same = ("name", "user", "queue", "priority", "kind", "processes", "state", "reason")
        return cls(
            id=int(found["id"]),
            **{name: found[name] for name in (*same, "message", "index")},
            array=None if found["array"] is None else int(found["array"]),
            submitted_at=known_moment(found["submitted_at"]),
            started_at=moment(found["started_at"]),
            ended_at=moment(found["ended_at"]),
            attempts=tuple(map(JobAttempt.of, found.get("attempt_list", ()))),
            max_duration_s=found.get("max_duration_s"),  # An older server knows no limits.
            held_processes=found.get("held_processes", 0),
            most_processes=found.get("most_processes"),
            least_processes=found.get("least_processes"),
            progress=found.get("progress"),
            spec=found.get("spec"),
            results=found.get("results"),
            working_folder=found.get("working_folder"),
        )

    @property
    def has_ended(self) -> bool:
        """Whether its state is final."""
        return self.state in _FINAL

    @property
    def has_succeeded(self) -> bool:
        """Whether it, or all jobs of the array, ended with success."""
        return self.state == "SUCCEEDED"


def moment(text: str | None) -> datetime | None:
    """From ISO 8601; None stays None."""
    return None if text is None else datetime.fromisoformat(text)


def known_moment(text: str) -> datetime:
    """From ISO 8601."""
    return datetime.fromisoformat(text)


def _exit_code(end: Mapping[str, Any]) -> int | None:
    code: int | None = end["code"]
    return -int(end["signal"]) if code is None and end["signal"] is not None else code
