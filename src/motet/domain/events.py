"""Events of jobs and machines: the input of `Engine.step`. Frozen values with a JSON form.

A driver reports events in the order of their occurrence. Jobs and machines are numbers, as in
`JobTable` and `ClusterSpec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias, get_args

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.errors import BadInput
from motet.domain.estimates import DataSizes as DataSizes
from motet.domain.model_profile import ModelMeasured

Point: TypeAlias = tuple[float, float]
"""(step, loss)"""


@dataclass(frozen=True, slots=True)
class Goal:
    """The end condition of a job that reports its progress; None: not specified."""

    target_loss: float | None = None
    planned_steps: float | None = None


# -- users -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job arrives. `columns`: of `JobTable`; columns that are not named have their defaults.

    `goal`: of a job whose losses and speeds will be reported (None: they will not). `data`: of a
    job whose COMP and COMM times will be reported (None: they will not).
    """

    job: int
    columns: Mapping[str, int]
    goal: Goal | None = None
    data: DataSizes | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The user cancels a job; it leaves, and its processes are stopped."""

    job: int


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A job has run for as long as it may; it leaves, and its processes are stopped."""

    job: int


@dataclass(frozen=True, slots=True)
class Suspended:
    """The user suspends a job: it gets no GPUs until it is resumed, and keeps its progress."""

    job: int


@dataclass(frozen=True, slots=True)
class Resumed:
    """A suspended job waits for GPUs again. Its submission time and its accounts do not change."""

    job: int


@dataclass(frozen=True, slots=True)
class Updated:
    """The user moves a job to another queue or changes its priority."""

    job: int
    columns: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class QueueAdded:
    """There is a further queue; its number is the next one."""

    name: str


@dataclass(frozen=True, slots=True)
class QueueLimited:
    """A queue has other limits; fields as in `QueueLimits`."""

    queue: int
    guarantee: int = 0
    borrow: int | None = None
    lend: int | None = None
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class Delayed:
    """A job may not start before this time; it keeps its place in line."""

    job: int
    until_us: int


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """Another policy replaces the present one. `settings`: its parameters as text."""

    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)


# -- results of actions, and ends of jobs ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """A job was started. `ready_us`: the end of the restore of its checkpoint.

    `rate`, `alone_rate`: its speed, as in `JobTable`. `since_us`: since when its processes run, if
    a driver reports that later.
    """

    job: int
    ready_us: int
    rate: int
    alone_rate: int
    since_us: int | None = None


@dataclass(frozen=True, slots=True)
class Resized:
    """A job was moved or resized: it holds only its new slots. Fields as in `Started`."""

    job: int
    ready_us: int
    rate: int
    alone_rate: int
    since_us: int | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """The processes of a job have ended, on request or with their machine; its slots are free.

    `until_us`: when they ended, if a driver reports that later.
    """

    job: int
    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class StartFailed:
    """A job could not be started; it holds no slots."""

    job: int
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A job has finished. `overhead_us`: its time in checkpoints and restores. `until_us`: as in
    `Stopped`."""

    job: int
    overhead_us: int = 0
    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A job has ended without a result and is not retried."""

    job: int
    reason: str
    overhead_us: int = 0


# -- measurements ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpeedChanged:
    """The speed of a running job has changed. Fields as in `Started`."""

    job: int
    ready_us: int
    rate: int
    alone_rate: int


@dataclass(frozen=True, slots=True)
class ProgressMeasured:
    """The number of steps that a job has done, and its new losses in ascending order of steps."""

    job: int
    steps_done: float
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class SpeedMeasured:
    """The speed of a job with these numbers of workers and servers."""

    job: int
    workers: int
    servers: int
    steps_per_s: float


@dataclass(frozen=True, slots=True)
class SizeProposed:
    """A job that sizes itself proposes numbers of workers and servers; the engine decides.

    `gain`: the part of its present time per step that it would save, below 0 if it would take
    longer.
    """

    job: int
    workers: int
    servers: int
    gain: float


@dataclass(frozen=True, slots=True)
class SubtasksMeasured:
    """Mean seconds of COMP and COMM in iterations on so many machines, alone or beside others,
    since the last such event. `iteration_s`: waiting included; `outside_s`: see SubtaskTimes; the
    bytes: on the machines with the most and the least now. None: unknown. `overlaps`: True: COMM
    ran beside COMP."""

    job: int
    machines: int
    comp_s: float
    comm_s: float
    iteration_s: float | None = None
    memory_bytes: int | None = None
    least_memory_bytes: int | None = None
    outside_s: float | None = None
    overlaps: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RemainingMeasured:
    """`remaining_us` of these jobs, as in `JobTable`; `(n,)`. Only drivers with an oracle do."""

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
    """Computing time of workers on a machine divided by the usual time."""

    machine: int
    times_as_long: float


# -- machines and time -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MachineAdded:
    """The cluster has grown by a machine, whose number is the next one; it takes jobs.

    `cpus`, `memory_bytes`: 0: unknown, without limit.
    """

    machine: int
    name: str
    gpus: int
    cpus: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class MachineResized:
    """A machine on which nothing runs has other CPUs or memory than before; 0: unknown."""

    machine: int
    cpus: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class MachineCame:
    """A machine becomes usable, for the first time or again."""

    machine: int


@dataclass(frozen=True, slots=True)
class Drained:
    """A machine takes no further jobs; its running jobs continue."""

    machine: int


@dataclass(frozen=True, slots=True)
class MachineLeft:
    """A machine has left; jobs with slots on it lose all of their slots."""

    machine: int


@dataclass(frozen=True, slots=True)
class Tick:
    """The time of the next decision that the policy requested."""


Event: TypeAlias = (
    Submitted
    | Cancelled
    | TimedOut
    | Suspended
    | Resumed
    | Updated
    | QueueAdded
    | QueueLimited
    | Delayed
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
    | SizeProposed
    | SubtasksMeasured
    | ModelMeasured
    | RemainingMeasured
    | MachineMeasured
    | MachineAdded
    | MachineResized
    | MachineCame
    | Drained
    | MachineLeft
    | Tick
)
EVENTS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}
_MEASURED = ("iteration_s", "outside_s", "memory_bytes", "least_memory_bytes", "overlaps")
_OPTIONAL = ("since_us", "until_us", *_MEASURED)  # Fields that only some drivers fill.


def event_to_json(event: Event) -> dict[str, Any]:
    """`{"event": "Stopped", "job": 3}`."""
    values = {each.name: getattr(event, each.name) for each in fields(event)}
    values = {name: it for name, it in values.items() if it is not None or name not in _OPTIONAL}
    if isinstance(event, Submitted):
        goal, values["columns"] = event.goal, dict(event.columns)
        values["goal"] = goal and [goal.target_loss, goal.planned_steps]
        values["data"] = event.data and event.data.values
    if isinstance(event, RemainingMeasured):
        values = {name: column.tolist() for name, column in values.items()}
    return {"event": type(event).__name__, **values}


def event_from_json(document: Mapping[str, Any]) -> Event:
    """The inverse of `event_to_json`. Raises BadInput."""
    values = dict(document)
    name = values.pop("event", None)
    kind = EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BadInput(f"event {name!r} is not known; it is one of {', '.join(EVENTS)}")
    try:
        if values.get("goal") is not None:
            values["goal"] = Goal(*values["goal"])
        if values.get("data") is not None:
            values["data"] = DataSizes.of_values(*values["data"])
        if kind is ProgressMeasured:
            values["points"] = tuple((step, loss) for step, loss in values["points"])
        if kind is RemainingMeasured:
            values = {key: np.array(column, dtype=np.int64) for key, column in values.items()}
        return kind(**values)
    except (TypeError, ValueError, KeyError) as error:
        raise BadInput(f"event {name}: {error}") from None
