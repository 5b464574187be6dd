"""What is known now: the whole input of a policy.

Jobs are columns with a row per active job, in no particular order, so that a policy ranks thousands
of them with one sort; `number` breaks every tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import MotetError
from motet.domain.estimates import Estimates
from motet.domain.machine_speeds import MachineSpeeds
from motet.domain.model_profile import ModelProfile

UNKNOWN = -1


@dataclass(frozen=True, eq=False, slots=True)
class JobTable:
    """Active jobs. All columns are int64, `(jobs,)`; a policy's attempt to write to them fails.

    What a job is: `number` (unique, in the order of job ids), `queue`, `experiment` (jobs of one
    user's search belong together; UNKNOWN: alone), `priority` (higher first), `submit_us`,
    `model` (index of a profile, or UNKNOWN), `gpus` (its full request: a rigid job gets all of
    them or none), `workers`, `servers` (of that request), `min_workers`, `max_workers`,
    `min_servers`, `max_servers` (equal for rigid jobs), `worker_gpus`, `server_gpus` (of one;
    servers may need none), `cpus`, `memory_bytes` (of the full request, spread over its GPUs; 0:
    any will do).

    What happened to it: `first_start_us` (UNKNOWN before), `last_start_us`, `held_gpus` (0: it
    does not run), `held_workers`, `held_servers`, `ready_us` (it restores its checkpoint until
    then), `executed_us` (time on GPUs), `attained_gpu_us` (that times its GPUs; half of it while
    they are shared), `waiting_us` (time since submission without GPUs), `partner` (shares its GPUs;
    UNKNOWN: nobody).

    What is estimated: `remaining_us` (time that it still trains on its GPUs, as fast as it does
    now; while it waits, on its full request; UNKNOWN where nobody knows), `rate` (its speed now,
    10,000 = as fast as alone and consolidated on its full request; an elastic job may be faster),
    `alone_rate` (what that is there while nobody shares its GPUs).
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
    remaining_us: Ints
    rate: Ints
    alone_rate: Ints

    def __len__(self) -> int:
        return len(self.number)

    @property
    def is_elastic(self) -> NDArray[np.bool_]:
        """`(jobs,)`: which may run with other numbers of workers or servers than they ask for."""
        elastic: NDArray[np.bool_] = self.min_workers != self.max_workers
        elastic |= self.min_servers != self.max_servers
        return elastic


class Placement(NamedTuple):
    """Where a job runs: `counts[i]` of its GPUs are on `machines[i]`; ascending machines."""

    machines: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class History:
    """Finished jobs, oldest first: what a policy may learn from.

    `sorted_service_gpu_us`: their total service in ascending order; it lags behind by up to one
    job in a hundred, so that it need not be sorted anew for every one.
    """

    attained_gpu_us: Ints
    gpus: Ints
    sorted_service_gpu_us: Ints


@dataclass(frozen=True, eq=False, slots=True)
class Queues:
    """Queues (virtual clusters): `quota_gpus[q]` GPUs belong to `names[q]`; UNKNOWN: no quota."""

    names: tuple[str, ...] = ("default",)
    quota_gpus: Ints = field(default_factory=lambda: np.array([UNKNOWN], dtype=np.int64))

    @classmethod
    def without_quotas(cls, names: tuple[str, ...]) -> Self:
        """Queues that are only names."""
        return cls(names, np.full(len(names), UNKNOWN, dtype=np.int64))


@dataclass(frozen=True, eq=False, slots=True)
class Snapshot:
    """Everything that a policy may look at.

    `memory`: the policy's own columns, `(jobs,)`, as its last decision left them. `free_gpus`: per
    machine. `placements`: of the jobs that run, by number. `estimates`: None unless the policy
    says `wants_estimates`. `free_cpus`, `free_memory_bytes`: per machine, 0 where the cluster
    counts none; None while no job has asked for any that a machine counts (see
    `motet.placement.room`). `models`: what is known of models before they run, by the index in
    `jobs.model`; it may be shorter. `machine_speeds`: None unless the policy says
    `wants_machine_speeds` and the driver measures them.
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
        """For a policy that says `wants_estimates`. Raises MotetError where a driver has none."""
        if self.estimates is None:
            raise MotetError(
                "the snapshot has no estimates; a policy that needs them says "
                "wants_estimates: ClassVar[bool] = True"
            )
        return self.estimates
