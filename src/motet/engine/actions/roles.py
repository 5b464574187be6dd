"""Numbers of workers and servers of every job under a decision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import JobTable


class Roles(NamedTuple):
    """`(jobs,)` each; 0 for jobs without GPUs."""

    workers: Ints
    servers: Ints


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
