"""Entries of a decision log with names, the input of stories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from motet.domain.decision import GroupForecast, GroupMeasurement


@dataclass(frozen=True)
class OtherJob:
    """`gpus`: that the job holds, received, or (the head of a line) requests."""

    job: str
    gpus: int


@dataclass(frozen=True)
class TeamSize:
    """Workers and servers of an elastic job, and their total GPUs."""

    workers: int
    servers: int
    gpus: int


@dataclass(frozen=True)
class LastReleased:
    """The last GPUs that became free before a job started, by the jobs that had them: the first of
    `total`. `before_us`: how long before the start."""

    jobs: tuple[OtherJob, ...]
    total: int
    before_us: int


@dataclass(frozen=True)
class StoryEvent:
    """`event`: wait, start, resume, migrate, resize, preempt, evict, suspend,
    unsuspend, promote, demote, finish, cancel, fail, propose, keep, measure.

    `reason`: of a wait. `gpus`: of the job's request. `free_gpus`, `place`: when the policy
    considered the job, `place` among the waiting jobs, from 1; `last_place`: of a wait in which it
    changed. `machines`: GPUs by machine, of the new placement or the previous one. `others`: of a
    wait its blockers, of a preemption the jobs that got the GPUs, otherwise the job that shares
    them; the first of `others_total`. `queue`: the policy's own, from 1. `until_us`: see
    `LogEntry`. `overhead_us`: time in checkpoints and restores of a finished job.
    `measure`, `bar`: of a wait, the compared quantity and its value for the last chosen job.
    `left`: the machine that the job left because computing took `times_as_long` there. `job_queue`:
    of a wait for limits of the job's queue, its name. `forecast`, `measured`: of the jobs on the
    same machines;
    `on_disk`: the part of the job's input that is kept there; `asynchronous`: the policy lets it
    train so; `stays`: it starts again on its machines only to train the other way; `told`: of an
    end, its cause in words, empty: the usual one; of a wait for the cluster, why it cannot be
    reached; of a preemption, the guarantee of a queue that the jobs with the GPUs have.

    `released`: of a wait that is over; None: it is not, or no job released GPUs in it.

    Reasons of `ClusterWait`: `others`: the jobs that have to succeed; `bar`: how many jobs of the
    array may be open.

    Of elastic jobs: `least_gpus`: the minimum of a waiting job; `usable_gpus`: free GPUs with
    sufficient CPUs and memory beside them; `team`: the new size; `team_before`: the size before a
    resize; `exchange`: the first of `exchange_total` jobs that got the released GPUs, or that
    released the additional GPUs. `gain`: of a proposed size (`team`), the part of the time per step
    that it would save; `refusal`: why the job runs with fewer GPUs than it proposed.
    """

    time_us: int
    event: str
    gpus: int
    reason: str = ""
    free_gpus: int | None = None
    place: int | None = None
    last_place: int | None = None
    machines: Mapping[str, int] = field(default_factory=dict)
    others: tuple[OtherJob, ...] = ()
    others_total: int = 0
    queue: int | None = None
    until_us: int | None = None
    overhead_us: int = 0
    measure: float | None = None
    bar: float | None = None
    left: str | None = None
    times_as_long: float | None = None
    least_gpus: int | None = None
    usable_gpus: int | None = None
    team: TeamSize | None = None
    team_before: TeamSize | None = None
    exchange: tuple[OtherJob, ...] = ()
    exchange_total: int = 0
    job_queue: str = ""
    forecast: GroupForecast | None = None
    on_disk: float = 0.0
    asynchronous: bool = False
    stays: bool = False
    told: str = ""
    gain: float | None = None
    refusal: str = ""
    measured: GroupMeasurement | None = None
    released: LastReleased | None = None
