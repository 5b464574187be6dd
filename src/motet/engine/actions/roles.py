"""Numbers of workers and servers of every job under a decision."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import JobTable


class Roles(NamedTuple):
    """`(jobs,)` each; 0 for jobs without GPUs."""

    workers: Ints
    servers: Ints


class JobSize(NamedTuple):
    """Workers and servers of one job, and their GPUs together."""

    workers: int
    servers: int
    gpus: int

    @classmethod
    def of(cls, jobs: JobTable, row: int, workers: int, servers: int) -> Self:
        """The size of a job with these roles."""
        gpus = workers * int(jobs.worker_gpus[row]) + servers * int(jobs.server_gpus[row])
        return cls(workers, servers, gpus)


def smaller_size(jobs: JobTable, row: int, wanted: JobSize, room: int) -> JobSize:
    """The size of an elastic job with as many workers as fit into `room`, at least its minimum.

    If the minimum of workers does not fit beside all servers, the servers are reduced in about the
    same proportion. The smallest size may need more than `room`.
    """
    worker_gpus, server_gpus = int(jobs.worker_gpus[row]), int(jobs.server_gpus[row])
    least, servers = int(jobs.min_workers[row]), wanted.servers
    if server_gpus and least * worker_gpus + servers * server_gpus > room:
        beside = (room - least * worker_gpus) // server_gpus
        servers = min(servers * room // wanted.gpus, beside)
        servers = max(servers, int(jobs.min_servers[row]))
    workers = (room - servers * server_gpus) // worker_gpus
    return JobSize.of(jobs, row, max(min(wanted.workers, workers), least), servers)


def roles_of(decision: Decision, jobs: JobTable) -> Roles:
    """Rigid jobs run with the roles of their request, elastic jobs with those of the decision.

    If the decision has only a number of GPUs, an elastic job runs with the requested servers, and
    with workers on the remaining GPUs.
    """
    servers = jobs.servers if decision.servers is None else decision.servers
    workers = decision.workers
    if workers is None:
        workers = (decision.gpus - servers * jobs.server_gpus) // jobs.worker_gpus
    elastic, runs = jobs.is_elastic, decision.gpus > 0
    return Roles(
        np.where(runs, np.where(elastic, workers, jobs.workers), 0),
        np.where(runs, np.where(elastic, servers, jobs.servers), 0),
    )


def first_impossible(decision: Decision, roles: Roles, jobs: JobTable) -> int | None:
    """The first row whose roles are outside of the job's limits or do not add up to its GPUs."""
    workers, servers = roles
    wrong = (workers < jobs.min_workers) | (workers > jobs.max_workers)
    wrong |= (servers < jobs.min_servers) | (servers > jobs.max_servers)
    wrong |= workers * jobs.worker_gpus + servers * jobs.server_gpus != decision.gpus
    rows = np.flatnonzero(wrong & jobs.is_elastic & (decision.gpus > 0))
    return int(rows[0]) if len(rows) else None
