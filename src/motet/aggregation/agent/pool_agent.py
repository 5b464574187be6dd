"""Workers of programs with NumPy arrays that train on a shared pool of Aggregators."""

from __future__ import annotations

from pathlib import Path

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.pool_routes import PoolRoutes
from motet.aggregation.wire.pool_address import address_path


def join_pool(
    job: str,
    rank: int,
    workers: int,
    *,
    servers: int | None = None,
    address: Path | str | None = None,
) -> NumpyAgent:
    """The Agent of worker `rank` of a job, from 0 to `workers` - 1.

    `job`: its name, the same in all workers and of no other running job. `servers`: parameter
    servers that the job would have of its own (default: as many as workers). `address`: the pool's
    address file (default: MOTET_AGGREGATION). Raises BadInput; `initialise` connects.
    """
    routes = PoolRoutes(address_path(address), job, rank, workers, servers or workers)
    return NumpyAgent(routes, rank, workers)
