"""Sections of job files that all kinds of jobs have."""

from __future__ import annotations

import signal
from typing import Annotated, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    field_validator,
)

from motet.domain.errors import BadInput
from motet.domain.units import DURATION_PATTERN, duration_s

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


def _form(value: object) -> str:
    return "options" if isinstance(value, dict | TrialOptions) else "flag"


FlagOrTrial: TypeAlias = Annotated[
    Annotated[bool, Tag("flag")] | Annotated[TrialOptions, Tag("options")], Discriminator(_form)
]
TRIAL_FORMS = ("flag", "options")
"""Pydantic names the form in the place of an error."""
