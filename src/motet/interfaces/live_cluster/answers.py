"""Answers of the server of a live cluster as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd

_FINAL = {"SUCCEEDED", "FAILED", "CANCELLED"}


@dataclass(frozen=True)
class JobAttempt:
    """One attempt to run a job. Times are in UTC; None: not yet.

    `outcome`: succeeded, failed, lost or stopped; `stop_cause`: why it was stopped. `failure`: the
    class of a failure, `reason`: the failure in words. `placement`: processes by machine.
    `exit_codes`: by rank; of a killed process the negative signal; None: unknown.
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

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        return cls(
            **{name: found[name] for name in ("number", "outcome", "stop_cause")},
            **{name: found[name] for name in ("failure", "reason", "placement")},
            requested_at=_known_moment(found["requested_at"]),
            running_at=_moment(found["running_at"]),
            ended_at=_moment(found["ended_at"]),
            exit_codes=tuple(map(_exit_code, found["exits"])),
        )


@dataclass(frozen=True)
class SubmittedJob:
    """A job, or an array of jobs (`kind` is "array"), as it was when the server answered.

    `state`: as `motet list` shows it. `reason`: of a wait or a failure; `message`: a sentence about
    a wait. `array`, `index`: of a job that belongs to an array. `attempts`: of an array none.
    `max_duration_s`: the longest time for which it may run; None: no limit.
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

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        same = ("name", "user", "queue", "priority", "kind", "processes", "state", "reason")
        return cls(
            id=int(found["id"]),
            **{name: found[name] for name in (*same, "message", "index")},
            array=None if found["array"] is None else int(found["array"]),
            submitted_at=_known_moment(found["submitted_at"]),
            started_at=_moment(found["started_at"]),
            ended_at=_moment(found["ended_at"]),
            attempts=tuple(map(JobAttempt.of, found.get("attempt_list", ()))),
            max_duration_s=found.get("max_duration_s"),  # An older server knows no limits.
        )

    @property
    def has_ended(self) -> bool:
        """Whether its state is final."""
        return self.state in _FINAL

    @property
    def has_succeeded(self) -> bool:
        """Whether it, or all jobs of the array, ended with success."""
        return self.state == "SUCCEEDED"


@dataclass(frozen=True)
class ChosenPolicy:
    """The policy in force. `parameters`: with their defaults. `user`: None: the server itself."""

    name: str
    parameters: Mapping[str, Any]
    since: datetime
    user: str | None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        since = _known_moment(found["since"])
        return cls(found["policy"], found["parameters"], since, found["user"])


@dataclass(frozen=True)
class JobExplanation:
    """Why a job waits and where it ran. `reason`, `message`: of the present wait, empty: it does
    not wait. `chapters`: a row per stretch of time with `from`, `to` and `sentence`."""

    job: int
    state: str
    reason: str
    message: str
    chapters: pd.DataFrame

    @classmethod
    def of(cls, job: int, found: Mapping[str, Any]) -> Self:
        """From its document."""
        from pandas import DataFrame, to_datetime

        columns = ("from", "to", "sentence")
        rows = [{name: each.get(name) for name in columns} for each in found["chapters"]]
        chapters = DataFrame(rows, columns=list(columns))
        for name in ("from", "to"):
            chapters[name] = to_datetime(chapters[name], unit="s", utc=True)
        return cls(job, found["state"], found["reason"], found["message"], chapters)


def _moment(text: str | None) -> datetime | None:
    """From ISO 8601."""
    return None if text is None else datetime.fromisoformat(text)


def _known_moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _exit_code(end: Mapping[str, Any]) -> int | None:
    code: int | None = end["code"]
    return -int(end["signal"]) if code is None and end["signal"] is not None else code
