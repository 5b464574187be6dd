"""The input of a policy: jobs, machines, placements and history at one time.

Jobs are columns with a row per active job, in no particular order, so that a policy ranks thousands
of them with one sort; `number` breaks every tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import MotetError
from motet.domain.estimates import Estimates, MachineSpeeds
from motet.domain.frozen.made_fast import made_fast
from motet.domain.model_profile import ModelProfile
from motet.domain.queues.queue_limits import Queues as Queues  # Policy files import it from here.

UNKNOWN = -1


@made_fast
@dataclass(frozen=True, eq=False, slots=True)
class JobTable:
    """Active jobs. All columns are int64, `(jobs,)`, and read-only for policies.

    Attributes of a job: `number` (unique, in the order of job ids), `queue`, `experiment` (common
    to the jobs of one hyperparameter search; UNKNOWN: none), `priority` (higher first),
    `submit_us`, `model` (index of a profile, or UNKNOWN), `gpus` (its full request: a rigid job
    gets all of them or none), `workers`, `servers` (of that request), `min_workers`, `max_workers`,
    `min_servers`, `max_servers` (equal for rigid jobs), `worker_gpus`, `server_gpus` (of one;
    servers may need none), `cpus`, `memory_bytes` (of the full request, spread over its GPUs; 0: no
    demand).

    State: `first_start_us` (UNKNOWN before), `last_start_us`, `held_gpus` (0: it does not run),
    `held_workers`, `held_servers`, `ready_us` (end of the restore of its checkpoint; NEVER_US until
    its processes run, which is later than `last_start_us` if another job must stop before),
    `executed_us` (time on GPUs, with processes that run), `attained_gpu_us` (the integral of its
    GPUs over that time, divided by `sharers`), `waiting_us` (the other time since submission),
    `partner` (the lowest-numbered other job that shares its GPUs; UNKNOWN: none; jobs that share
    GPUs have the same minimum of `number` and `partner`), `sharers` (number of jobs on its GPUs; 1:
    it is alone), `is_asynchronous` (1: a policy lets it train so since its last start).

    Estimates: `remaining_us` (remaining training time at its present speed; for a waiting job, on
    its full request; UNKNOWN without an oracle), `rate` (its present speed, 10,000 = that of
    exclusive, consolidated GPUs of its full request; an elastic job may be faster), `alone_rate`
    (its rate on the present machines without sharing).

    `kept_order`: no column: `by_submission`, where the engine keeps it up to date, so that no
    decision sorts all jobs.
    """

    number: Ints
    queue: Ints
    experiment: Ints
    priority: Ints
    submit_us: Ints
    model: Ints
    gpus: Ints
    workers: Ints
    servers: Ints
    min_workers: Ints
    max_workers: Ints
    min_servers: Ints
    max_servers: Ints
    worker_gpus: Ints
    server_gpus: Ints
    cpus: Ints
    memory_bytes: Ints
    first_start_us: Ints
    last_start_us: Ints
    held_gpus: Ints
    held_workers: Ints
    held_servers: Ints
    ready_us: Ints
    executed_us: Ints
    attained_gpu_us: Ints
    waiting_us: Ints
    partner: Ints
    sharers: Ints
    is_asynchronous: Ints
    remaining_us: Ints
    rate: Ints
    alone_rate: Ints
    kept_order: Ints | None = None

    def __len__(self) -> int:
        return len(self.number)

    @property
    def by_submission(self) -> Ints:
        """Rows by `submit_us`, then `number`. Not to be written to."""
        if self.kept_order is None:
            return np.lexsort((self.number, self.submit_us))
        return self.kept_order

    @property
    def is_elastic(self) -> NDArray[np.bool_]:
        """`(jobs,)`: jobs that may run with other numbers of workers or servers than requested."""
        elastic: NDArray[np.bool_] = self.min_workers != self.max_workers
        elastic |= self.min_servers != self.max_servers
        return elastic

    @property
    def least_gpus(self) -> Ints:
        """`(jobs,)`: the smallest number with which each job can run."""
        least = self.min_workers * self.worker_gpus + self.min_servers * self.server_gpus
        return np.where(self.is_elastic, least, self.gpus)


JOB_COLUMNS = tuple(each.name for each in fields(JobTable) if each.name != "kept_order")


class Placement(NamedTuple):
    """The slots of a job: `counts[i]` GPUs on `machines[i]`; machines in ascending order."""

    machines: tuple[int, ...]
    counts: tuple[int, ...]


class History(NamedTuple):
    """Finished jobs, oldest first.

    `sorted_service_gpu_us`: their total service in ascending order. To avoid a sort per job, it may
    lack the latest jobs, at most one in a hundred.
    """

    attained_gpu_us: Ints
    gpus: Ints
    sorted_service_gpu_us: Ints


@made_fast
@dataclass(frozen=True, eq=False, slots=True)
class Snapshot:
    """The complete input of a policy.

    `memory`: the policy's own columns, `(jobs,)`, as set by its last decision. `free_gpus`: per
    machine. `placements`: of running jobs, by number. `estimates`: None unless the policy declares
    `wants_estimates`. `free_cpus`, `free_memory_bytes`: per machine, 0 where the cluster counts
    none; None until a job requests CPUs or memory that the cluster counts (see
    `motet.placement.room`). `models`: model profiles, by the index in `jobs.model`; it may be
    shorter. `machine_speeds`: None unless the policy declares `wants_machine_speeds` and the driver
    measures them.
    """

    now_us: int
    jobs: JobTable
    cluster: ClusterSpec
    gpu_count: int
    free_gpus: Ints
    placements: Mapping[int, Placement]
    memory: Mapping[str, Ints]
    history: History
    queues: Queues
    estimates: Estimates | None = None
    free_cpus: Ints | None = None
    free_memory_bytes: Ints | None = None
    models: tuple[ModelProfile, ...] = ()
    machine_speeds: MachineSpeeds | None = None

    @property
    def wanted_estimates(self) -> Estimates:
        """The estimates, for a policy that declares them. Raises MotetError if there are none."""
        if self.estimates is None:
            raise MotetError(
                "the snapshot has no estimates; a policy that needs them declares "
                "wants_estimates: ClassVar[bool] = True"
            )
        return self.estimates
