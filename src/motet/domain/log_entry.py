"""An entry of the decision log: one state change, or the reason of a wait, of one job."""

from __future__ import annotations

from typing import NamedTuple

from motet.domain.decision import GroupForecast, GroupMeasurement, Straggler
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US
from motet.domain.wait import WAITS

NOWHERE = Placement((), ())
_REASONS = frozenset(wait.key for wait in WAITS)


class OtherJobs(NamedTuple):
    """Jobs that an entry refers to: the `first` few as (job, GPUs), and their `total` number."""

    first: tuple[tuple[int, int], ...] = ()
    total: int = 0


NO_JOBS = OtherJobs()


class Team(NamedTuple):
    """The workers and servers of a job; `gpus`: of all of them together."""

    workers: int
    servers: int
    gpus: int


class LogEntry(NamedTuple):
    """`event`: start, resume, migrate, resize (with another number of workers or servers), preempt,
    promote, demote, finish, fail, cancel, suspend, unsuspend, evict, propose (a size, in `team`;
    `measure`: the part of the time per step that it would save), keep (it runs with fewer GPUs than
    it proposed because of `refusal`, a `SizeRefusal` in lower case), measure (beside the jobs on
    the same machines: `measured`), or a `Wait` in lower case when a job begins to wait for that
    reason or has advanced far in the order.

    `gpus`: the job's request in waits and changes of queues, else the GPUs of `placement`: of the
    job's machines from now on, or of those that it lost. `left`: the slow machine that caused a new
    placement. `forecast`: of the job's group; `on_disk`: the part of its input there;
    `asynchronous`: the policy lets it train so; `stays`: it starts again on its slots only to
    train the other way. `others`:
    jobs that share these GPUs; for a preemption, jobs that received them; for a wait, jobs before
    it that hold GPUs, or the head of the line that it may not overtake. `queue`: the policy's own
    queue, from 0 (UNKNOWN: none). `overhead_us`: of a finished job, its time in checkpoints and
    restores.

    Waits: `free_gpus` when the policy considered the job; `position`: number of waiting jobs before
    it (UNKNOWN: no order); `until_us`: when what keeps the job back ends, else time of the policy's
    next own decision; `measure`, `bar`: the values that the policy compared, NaN if it compared
    none; `usable_gpus`: if CPUs or memory did not suffice, the free GPUs with enough of them
    (UNKNOWN: they sufficed); `job_queue`: the name of the job's queue if its limits are the reason.

    Elastic jobs: `team` from now on; `team_before` a resize, and in `exchange` the jobs that
    received GPUs from this job or released GPUs to it. `least_gpus`: the smallest number of GPUs
    with which a waiting job could run (UNKNOWN: a rigid job).
    """

    time_us: int
    job: int
    event: str
    gpus: int = 0
    free_gpus: int = 0
    position: int = UNKNOWN
    placement: Placement = NOWHERE
    others: OtherJobs = NO_JOBS
    queue: int = UNKNOWN
    until_us: int = NEVER_US
    overhead_us: int = 0
    measure: float = float("nan")
    bar: float = float("nan")
    left: Straggler | None = None
    usable_gpus: int = UNKNOWN
    least_gpus: int = UNKNOWN
    team: Team | None = None
    team_before: Team | None = None
    exchange: OtherJobs = NO_JOBS
    forecast: GroupForecast | None = None
    on_disk: float = 0.0
    asynchronous: bool = False
    stays: bool = False
    job_queue: str = ""
    refusal: str = ""
    measured: GroupMeasurement | None = None


MEASURE = "measure"
"""The event of an entry that tells what was measured, and nothing that was decided."""


def is_wait(entry: LogEntry) -> bool:
    """Whether the entry says why a job waits."""
    return entry.event in _REASONS
