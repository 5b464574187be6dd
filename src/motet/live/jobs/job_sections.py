"""Keys and sections of job files that all kinds of jobs have."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from typing import Annotated, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from motet.domain.errors import BadInput
from motet.domain.units import DURATION_PATTERN, duration_s
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
_SIGNALS = {"SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP"}
LONGEST_S = 1e9
"""Of every duration in a job file."""


def _seconds(value: object) -> object:
    """A duration that is written with a unit."""
    if isinstance(value, bool):
        raise ValueError("give seconds, or a time as 90s, 30m, 2h or 1d")
    if not isinstance(value, str):
        return value
    try:
        return duration_s(value)
    except BadInput as error:
        raise ValueError(str(error)) from None


Duration: TypeAlias = Annotated[
    float,
    BeforeValidator(_seconds),
    Field(gt=0, le=LONGEST_S),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_S},
                {"type": "string", "pattern": f"^{DURATION_PATTERN}$"},
            ]
        }
    ),
]
"""Seconds, or a text with a unit such as `2h`."""


class JobSection(BaseModel):
    """Values of a job file: frozen; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PreemptOptions(JobSection):
    """How the processes are asked to stop before they are killed."""

    signal: str = "SIGTERM"
    grace_s: Annotated[float, Field(ge=0, le=86_400)] = 30.0

    @field_validator("signal")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value not in _SIGNALS:
            raise ValueError(f"give one of {', '.join(sorted(_SIGNALS))}")
        return value

    @property
    def number(self) -> int:
        """The signal."""
        return signal.Signals[self.signal].value


class Retry(JobSection):
    """`max_attempts`: how often the job may fail by itself before it has failed. Preemptions and
    lost processes do not count. `on_exit_codes`: a failure is run again if the process that failed
    first ended with one of these, whatever its class; empty: if another attempt can pass."""

    max_attempts: Annotated[int, Field(ge=1, le=1000)] = 1
    on_exit_codes: Annotated[
        tuple[Annotated[int, Field(ge=1, le=255)], ...], Field(max_length=255)
    ] = ()


class AggregationOptions(JobSection):
    """What a job that uses the cluster's pool of Aggregators may ask of it. `loss_limit`: the share
    of its speed that it must not lose to other jobs; None: that of its queue, or of the pool.
    `servers`: parameter servers that it would have without the pool; None: one per worker.
    """

    loss_limit: Annotated[float, Field(gt=0, lt=1)] | None = None
    servers: Annotated[int, Field(ge=1, le=1000)] | None = None


class TrialOptions(JobSection):
    """A job of several processes first runs as a trial with as few as possible. `limit_s`: the
    trial has passed when it has run so long, or has ended without an error before.
    """

    limit_s: Annotated[float, Field(gt=0, le=86_400)] = 60.0


class RatingColumnKeys(JobSection):
    """The columns of a rating file that its header names otherwise, or their indices."""

    user: str | int | None = None
    item: str | int | None = None
    rating: str | int | None = None

    @property
    def given(self) -> dict[str, str | int]:
        """Those that are named, by role."""
        return self.model_dump(exclude_none=True)


def _form(value: object) -> str:
    return "options" if isinstance(value, dict | TrialOptions) else "flag"


FlagOrTrial: TypeAlias = Annotated[
    Annotated[bool, Tag("flag")] | Annotated[TrialOptions, Tag("options")], Discriminator(_form)
]
TRIAL_FORMS = ("flag", "options")
"""Pydantic names the form in the place of an error."""


class CommonKeys(JobSection):
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
