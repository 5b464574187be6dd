"""What a job runs: a command, or a training on a parameter server. Unknown keys are errors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, Discriminator, Field, Tag, field_validator, model_validator

from motet.domain.reconfiguration import RoleCounts
from motet.live.jobs.job_sections import (
    AggregationOptions,
    CommonKeys,
    JobSection,
    PreemptOptions,
    RatingColumnKeys,
    Retry,
    TrialOptions,
)

MOST_PROCESSES = 100_000
ANY_MACHINES = "any"
"""`machines` of a training that runs on any number of them."""
_ADDRESS = re.compile(r"\s*[^\s,]+:[0-9]{1,5}\s*")
_Count: TypeAlias = Annotated[int, Field(ge=1, le=MOST_PROCESSES)]


class CommandSpec(CommonKeys):
    """A command that runs as a gang of processes.

    `run`: a shell script, or a list of words. `processes`: all of them run, or none; each takes one
    slot. `min_processes`: with it the command is elastic: the policy chooses between this number
    and `processes`, and processes join and leave while the others run. `aggregation`: for a program
    that uses the cluster's pool of Aggregators.
    """

    kind: Literal["command"] = "command"
    run: str | tuple[str, ...]
    processes: _Count = 1
    min_processes: _Count | None = None
    aggregation: AggregationOptions = AggregationOptions()

    loses_killed_processes: ClassVar[bool] = False

    @property
    def resizes_running(self) -> bool:
        """Whether its processes run on when others join or leave."""
        return self.is_elastic

    @field_validator("run")
    @classmethod
    def _has_command(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if not value or not "".join(value).strip():
            raise ValueError("the command is empty")
        return value

    @model_validator(mode="after")
    def _are_ordered(self) -> Self:
        if self.least_processes > self.processes:
            raise ValueError(
                f"min_processes is {self.min_processes}, more than processes, {self.processes}"
            )
        return self

    @property
    def is_elastic(self) -> bool:
        """Whether its number of processes may change."""
        return self.least_processes < self.processes

    @property
    def least_processes(self) -> int:
        """Without which it cannot run."""
        return self.processes if self.min_processes is None else self.min_processes

    @property
    def argv(self) -> tuple[str, ...]:
        """The command of every process."""
        return ("/bin/sh", "-c", self.run) if isinstance(self.run, str) else self.run


class Bounds(JobSection):
    """How many workers or servers a training may have."""

    min: _Count = 1
    max: _Count

    @model_validator(mode="after")
    def _are_ordered(self) -> Self:
        if self.max < self.min:
            raise ValueError(f"max is {self.max}, less than min, {self.min}")
        return self


def _form(value: object) -> str:
    return "count" if isinstance(value, int | str | float) else "bounds"


_CountOrBounds: TypeAlias = Annotated[
    Annotated[_Count, Tag("count")] | Annotated[Bounds, Tag("bounds")], Discriminator(_form)
]
COUNT_FORMS = ("count", "bounds")
"""Pydantic names the form of a number in the place of an error."""


class TrainingSpec(CommonKeys):
    """A training on a parameter server (`kind: ps`), with the arguments of `motet train`.

    Every worker and every server is a process with a slot of its own. With bounds for one of them
    the training is elastic: the policy chooses. `machines` takes their place: a process with a
    worker and a server on each of so many whole machines, which the policy `harmony` may share
    among such trainings; `any`: on as many as the policy chooses. `auto`: within its processes, the
    training itself finds the best numbers of workers and servers; with bounds it also proposes its
    size. `allow_async`: beside too few others the policy may train it asynchronously, which changes
    its result. `set`: parameters of the application and of the run. `checkpoint_every`: epochs.
    Relative paths are relative to `workdir`.
    """

    kind: Literal["ps"]
    app: Annotated[str, Field(min_length=1)]
    data: Annotated[str, Field(min_length=1)]
    workers: _CountOrBounds = 1
    servers: _CountOrBounds = 1
    machines: _CountOrBounds | None = None
    auto: bool = False
    allow_async: bool = False
    set: dict[str, bool | int | float | str] = Field(default_factory=dict)
    epochs: Annotated[int, Field(ge=1)] | None = None
    until: str | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    checkpoint_every: Annotated[int, Field(ge=1)] | None = None
    format: str | None = None
    test: str | None = None
    exclude: str | None = None
    target: str | int | None = None
    drop: tuple[str | int, ...] = ()
    na: str | None = None
    columns: RatingColumnKeys = RatingColumnKeys()
    stop_words: str | None = None
    labels: str | None = None
    test_labels: str | None = None
    spill: Annotated[float, Field(ge=0, le=1)] | Literal["auto", "model"] | None = None
    spill_dir: str | None = None
    spill_to: str = "disk"
    spill_secret: str | None = None

    loses_killed_processes: ClassVar[bool] = True
    resizes_running: ClassVar[bool] = False

    @field_validator("until")
    @classmethod
    def _is_rule(cls, value: str | None) -> str | None:
        if value is not None:
            kind, number = _rule(value)
            if not (kind == "loss" and math.isfinite(number)) and not (
                kind == "improvement" and number > 0
            ):
                raise ValueError("give loss=NUMBER, or improvement=NUMBER above 0")
        return value

    @field_validator("spill", mode="before")
    @classmethod
    def _is_share(cls, value: object) -> object:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value in (None, "auto", "model") or (is_number and 0 <= value <= 1):  # type: ignore[operator]
            return value
        raise ValueError("give auto, model, or a number from 0 to 1")

    @model_validator(mode="after")
    def _spills_into_its_folder(self) -> Self:
        if self.spill_dir is not None and self.spill is None:
            raise ValueError("spill_dir: the folder of data on disk; give spill, too")
        if self.spill_to != "disk" and self.spill is None:
            raise ValueError("spill_to: where spilled data go; give spill, too")
        if self.spill_secret is not None and self.spill_to == "disk":
            raise ValueError("spill_secret: of lenders of memory; give spill_to, too")
        return self

    @field_validator("spill_to")
    @classmethod
    def _is_spill_target(cls, value: str) -> str:
        addresses = value.split(",")
        if value in ("disk", "remote") or all(map(_ADDRESS.fullmatch, addresses)):
            return value
        raise ValueError("give disk, remote, or addresses HOST:PORT, separated by commas")

    @property
    def target_loss(self) -> float | None:
        """The loss at which training ends; None: not specified."""
        kind, number = _rule(self.until or "")
        return number if kind == "loss" else None

    @field_validator("machines", mode="before")
    @classmethod
    def _are_any(cls, value: object) -> object:
        return {"min": 1, "max": MOST_PROCESSES} if value == ANY_MACHINES else value

    @model_validator(mode="after")
    def _has_one_size(self) -> Self:
        others = {"workers", "servers"} & self.model_fields_set
        if self.machines is not None and (self.auto or (self.workers, self.servers) != (1, 1)):
            wrong = "auto" if self.auto else " and ".join(sorted(others))
            raise ValueError(
                f"machines: a worker and a server run on each machine; leave out {wrong}"
            )
        return self

    @model_validator(mode="after")
    def _may_become_asynchronous(self) -> Self:
        runs_on_any = self.is_by_machine and self.has_no_limit and self.least.workers == 1
        if self.allow_async and not runs_on_any:  # Others never share machines.
            raise ValueError("allow_async: of trainings that share machines; give machines: any")
        for name in ("consistency", "staleness", "stragglers"):
            if self.allow_async and name in self.set:
                raise ValueError(f"allow_async: the policy chooses; leave set.{name} out")
        return self

    @property
    def is_asynchronous(self) -> bool:
        """Whether its user wants asynchronous training."""
        return self.set.get("consistency") == "async"

    @model_validator(mode="after")
    def _keeps_its_batches(self) -> Self:
        if self.is_elastic and "worker_batch_size" in self.set:
            raise ValueError("set.worker_batch_size: not with bounds; give batch_size")
        return self

    @property
    def is_by_machine(self) -> bool:
        """See CommonKeys."""
        return self.machines is not None

    @property
    def is_elastic(self) -> bool:
        """Whether its numbers of workers and servers may change."""
        return self.least != self.most

    @property
    def proposes_size(self) -> bool:
        """Whether the training itself proposes its numbers of workers and servers."""
        return self.auto and self.is_elastic

    @property
    def least(self) -> RoleCounts:
        """The fewest workers and servers."""
        if self.machines is not None:
            return RoleCounts(_least(self.machines), _least(self.machines))
        return RoleCounts(_least(self.workers), _least(self.servers))

    @property
    def most(self) -> RoleCounts:
        """The most workers and servers."""
        if self.machines is not None:
            return RoleCounts(_most(self.machines), _most(self.machines))
        return RoleCounts(_most(self.workers), _most(self.servers))

    @property
    def processes(self) -> int:
        """The most; the fewest where there is no limit."""
        if self.machines is None:
            return self.most.workers + self.most.servers
        return self.least.workers if self.has_no_limit else self.most.workers

    @property
    def has_no_limit(self) -> bool:
        """Whether it may have any number of workers."""
        return self.most.workers == MOST_PROCESSES

    def most_within(self, slots: int) -> RoleCounts:
        """The most workers with as many servers as they leave room for, at least the fewest.

        `slots`: at least those of `least`.
        """
        least, most = self.least, self.most
        workers = min(most.workers, max(least.workers, slots - most.servers))
        return RoleCounts(workers, min(most.servers, slots - workers))

    @property
    def settings(self) -> tuple[str, ...]:
        """`set` as texts `name=value`."""
        return tuple(f"{name}={_text(value)}" for name, value in self.set.items())


JobSpec: TypeAlias = CommandSpec | TrainingSpec


SECTIONS: Mapping[str, type[BaseModel]] = {
    "preempt": PreemptOptions,
    "retry": Retry,
    "trial": TrialOptions,
    "aggregation": AggregationOptions,
    "columns": RatingColumnKeys,
    "workers": Bounds,
    "servers": Bounds,
}
"""Keys whose values have keys."""


def _rule(text: str) -> tuple[str, float]:
    """Kind and number of `until`; the number is NaN if it is none."""
    kind, _, number = text.partition("=")
    try:
        return kind, float(number)
    except ValueError:
        return kind, math.nan


def _least(count: int | Bounds) -> int:
    return count if isinstance(count, int) else count.min


def _most(count: int | Bounds) -> int:
    return count if isinstance(count, int) else count.max


def _text(value: bool | int | float | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
