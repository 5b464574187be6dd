"""Workers of programs with NumPy arrays that train on a shared pool of Aggregators."""

from __future__ import annotations

import os
from pathlib import Path

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.pool_routes import PoolRoutes
from motet.aggregation.wire.job_credentials import JobCredential
from motet.aggregation.wire.pool_address import address_path


def join_pool(
    job: str,
    rank: int,
    workers: int,
    *,
    servers: int | None = None,
    loss_limit: float | None = None,
    address: Path | str | None = None,
) -> NumpyAgent:
    """The Agent of worker `rank` of a job, from 0 to `workers` - 1.

    `job`: its name, the same in all workers and of no other running job; in a job of a live
    cluster, of no other job there. `servers`: parameter servers that the job would have of its own
    (default: as many as workers). `loss_limit`: the share of its speed that it must not lose to
    others (default: that of the pool). `address`: the pool's address file (default:
    MOTET_AGGREGATION). Raises BadInput; `initialise` connects.
    """
    credential = None if address is not None else JobCredential.of_environment(os.environ)
    routes = PoolRoutes(
        address_path(address),
        job if credential is None else credential.pool_job(job),
        rank,
        workers,
        servers or workers,
        loss_limit=loss_limit,
        credential=credential,
    )
    return NumpyAgent(routes, rank, workers)
