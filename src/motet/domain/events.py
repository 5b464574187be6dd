"""What happens to jobs and machines: the input of `Engine.step`. Frozen values, as JSON and back.

A driver reports events in the order in which they happened. Jobs and machines are numbers, as in
`JobTable` and `ClusterSpec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias, get_args

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.errors import BadInput

Point: TypeAlias = tuple[float, float]
"""(step, loss)"""


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a job that reports its progress shall end; None: its user does not say."""

    target_loss: float | None = None
    planned_steps: float | None = None


# -- users -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job arrives. `columns`: of `JobTable`; those that are not named have their defaults.

    `goal`: of a job whose losses and speeds will be reported (None: they will not).
    """

    job: int
    columns: Mapping[str, int]
    goal: Goal | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The user withdraws a job; it leaves, and its processes are stopped."""

    job: int


@dataclass(frozen=True, slots=True)
class Suspended:
    """The user takes a job out of the competition until it is resumed; it keeps its progress."""

    job: int


@dataclass(frozen=True, slots=True)
class Resumed:
    """A suspended job competes again. Its submission time and its past stay as they were."""

    job: int


@dataclass(frozen=True, slots=True)
class Updated:
    """The user moves a job to another queue, or changes its priority."""

    job: int
    columns: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """From now on another policy decides. `settings`: its parameters as text."""

    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)


# -- what became of actions ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """A job runs where it was started. `ready_us`: when its checkpoint is restored.

    `rate`, `alone_rate`: its speed there, as in `JobTable`.
    """

    job: int
    ready_us: int
    rate: int
    alone_rate: int


@dataclass(frozen=True, slots=True)
class Resized:
    """A job was moved or resized: it holds its new slots, and no others. Fields as of `Started`."""

    job: int
    ready_us: int
    rate: int
    alone_rate: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The processes of a job have ended, as was requested or with their machine: its slots are
    free."""

    job: int


@dataclass(frozen=True, slots=True)
class StartFailed:
    """A job could not be started; it holds no slots."""

    job: int
    reason: str


# -- jobs by themselves ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finished:
    """A job is done. `overhead_us`: its time in checkpoints and restores."""

    job: int
    overhead_us: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """A job has ended for good without a result."""

    job: int
    reason: str
    overhead_us: int = 0


# -- measurements ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpeedChanged:
    """A job that runs does so at another speed. Fields as of `Started`."""

    job: int
    ready_us: int
    rate: int
    alone_rate: int


@dataclass(frozen=True, slots=True)
class ProgressMeasured:
    """How many steps a job has done, with the losses that are new, ascending."""

    job: int
    steps_done: float
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class SpeedMeasured:
    """How fast a job is with so many workers and servers."""

    job: int
    workers: int
    servers: int
    steps_per_s: float


@dataclass(frozen=True, slots=True, eq=False)
class RemainingMeasured:
    """`remaining_us` of these jobs, as in `JobTable`, `(n,)` both, from a driver with an oracle."""

    jobs: Ints
    remaining_us: Ints

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RemainingMeasured):
            return NotImplemented
        same_jobs = np.array_equal(self.jobs, other.jobs)
        return same_jobs and np.array_equal(self.remaining_us, other.remaining_us)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class MachineMeasured:
    """Workers on a machine computed so many times as long as usual."""

    machine: int
    times_as_long: float


# -- machines and time -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MachineCame:
    """A machine can be used, for the first time or again."""

    machine: int


@dataclass(frozen=True, slots=True)
class Drained:
    """A machine takes no more jobs; those that run there go on."""

    machine: int


@dataclass(frozen=True, slots=True)
class MachineLeft:
    """A machine is gone; jobs that had slots there lose all of theirs."""

    machine: int


@dataclass(frozen=True, slots=True)
class Tick:
    """The time has come at which the policy asked to decide again."""


Event: TypeAlias = (
    Submitted
    | Cancelled
    | Suspended
    | Resumed
    | Updated
    | PolicyChanged
    | Started
    | Resized
    | Stopped
    | StartFailed
    | Finished
    | Failed
    | SpeedChanged
    | ProgressMeasured
    | SpeedMeasured
    | RemainingMeasured
    | MachineMeasured
    | MachineCame
    | Drained
    | MachineLeft
    | Tick
)
EVENTS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def event_to_json(event: Event) -> dict[str, Any]:
    """`{"event": "Stopped", "job": 3}`."""
    values = {each.name: getattr(event, each.name) for each in fields(event)}
    if isinstance(event, Submitted):
        goal, values["columns"] = event.goal, dict(event.columns)
        values["goal"] = goal and [goal.target_loss, goal.planned_steps]
    if isinstance(event, RemainingMeasured):
        values = {name: column.tolist() for name, column in values.items()}
    return {"event": type(event).__name__, **values}


def event_from_json(document: Mapping[str, Any]) -> Event:
    """The inverse of `event_to_json`, also after a way through text. Raises BadInput."""
    values = dict(document)
    name = values.pop("event", None)
    kind = EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BadInput(f"event {name!r} is not known; it is one of {', '.join(EVENTS)}")
    try:
        if values.get("goal") is not None:
            values["goal"] = Goal(*values["goal"])
        if kind is ProgressMeasured:
            values["points"] = tuple((step, loss) for step, loss in values["points"])
        if kind is RemainingMeasured:
            values = {key: np.array(column, dtype=np.int64) for key, column in values.items()}
        return kind(**values)
    except (TypeError, ValueError, KeyError) as error:
        raise BadInput(f"event {name}: {error}") from None
