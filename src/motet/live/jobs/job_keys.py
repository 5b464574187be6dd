"""Keys that every job file may have, whatever the job runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Self, TypeAlias

from pydantic import ByteSize, Field, field_validator, model_validator

from motet.live.jobs.job_sections import (
    LONGEST_S,
    Duration,
    FlagOrTrial,
    JobSection,
    PreemptOptions,
    Retry,
    TrialOptions,
)
from motet.live.workdirs.digest import DIGEST

MOST_DEPENDENCIES = 1000
MOST_CPUS = 100_000
LEAST_MEMORY_BYTES, MOST_MEMORY_BYTES = 1_000_000, 2**44
NAME_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
PATTERNS: Mapping[str, str] = {
    DIGEST: "true or false",
    NAME_PATTERN: "letters, digits, '.', '_' and '-', at most 63, with a letter or digit at both "
    "ends",
}
"""Patterns of keys in words, for error messages."""
_JobId: TypeAlias = Annotated[int, Field(ge=1, lt=2**63)]


class JobKeys(JobSection):
    """Keys of every job. `workdir`: where its processes start. `envs`: of their environment.

    `snapshot`: the processes start in a copy of `workdir`, as it was when the job was submitted.
    Clients replace true by the SHA-256 of the archive that they have sent to the server.
    `trial`: whether it has a trial first, see TrialOptions.

    `duration_s`: how long it runs on all processes that it requests, for policies that compare jobs
    by the time that they still need. `max_duration`: the longest time, in seconds, for which it may
    run; None: there is no limit. `after`: ids of jobs that have to succeed before it may start.
    `cpus`, `memory`: of each process, beside its slot; None: not counted. `memory`: bytes, or a
    text such as 4GB or 4GiB.
    """

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    queue: Annotated[str, Field(pattern=NAME_PATTERN)] = "default"
    priority: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 0
    workdir: str
    snapshot: bool | Annotated[str, Field(pattern=DIGEST)] = False
    envs: dict[str, str] = Field(default_factory=dict)
    preempt: PreemptOptions = PreemptOptions()
    retry: Retry = Retry()
    trial: FlagOrTrial = False
    duration_s: Annotated[float, Field(gt=0, le=LONGEST_S)] | None = None
    max_duration: Duration | None = None
    after: Annotated[tuple[_JobId, ...], Field(max_length=MOST_DEPENDENCIES)] = ()
    cpus: Annotated[int, Field(ge=1, le=MOST_CPUS)] | None = None
    memory: Annotated[ByteSize, Field(ge=LEAST_MEMORY_BYTES, le=MOST_MEMORY_BYTES)] | None = None

    @field_validator("after", mode="before")
    @classmethod
    def _is_a_list(cls, value: object) -> object:
        return (value,) if isinstance(value, int | str) else value

    @field_validator("*")
    @classmethod
    def _can_be_given_to_processes(cls, value: object) -> object:
        for text in _texts(value):
            _check_for_process(text)
        return value

    @model_validator(mode="after")
    def _ends_within_its_limit(self) -> Self:
        longest_s = self.max_duration
        if longest_s is not None and self.duration_s is not None and self.duration_s > longest_s:
            raise ValueError(
                f"duration_s is {self.duration_s:g}, more than max_duration, {longest_s:g} s; the "
                "job would never finish"
            )
        return self

    @property
    def is_by_machine(self) -> bool:
        """Whether it has one process on each machine, however many slots it holds there."""
        return False

    @property
    def trial_s(self) -> float:
        """How long its trial runs at most; 0: it has none."""
        if isinstance(self.trial, TrialOptions):
            return self.trial.limit_s
        return TrialOptions().limit_s if self.trial else 0.0

    @property
    def digest(self) -> str:
        """Of the archive of its snapshot; empty: it has none."""
        return self.snapshot if isinstance(self.snapshot, str) else ""

    @field_validator("workdir")
    @classmethod
    def _is_absolute(cls, value: str) -> str:
        if not value.startswith("/"):
            raise ValueError(f"{value[:60]!r}; give an absolute path")
        return value

    @field_validator("envs")
    @classmethod
    def _are_variables(cls, value: dict[str, str]) -> dict[str, str]:
        if any(not name or "=" in name for name in value):
            raise ValueError("the name of a variable is not empty and has no '='")
        return value


def _texts(value: object) -> Iterator[str]:
    """All texts in a value of a job file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for each in pair for text in _texts(each))
    elif isinstance(value, tuple):
        yield from (text for each in value for text in _texts(each))


def _check_for_process(text: str) -> None:
    """The kernel takes arguments, variables and paths as bytes without NUL. Raises ValueError."""
    if "\0" in text:
        raise ValueError("a NUL character cannot be given to a process")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair cannot be given to a process") from None
