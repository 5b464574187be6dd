"""Routes of the pool of Aggregators."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI

from motet.domain.errors import NotFound
from motet.interfaces.server.aggregation.documents import (
    ClusterNames,
    placement_document,
    pool_document,
)
from motet.live.master.loop import MasterLoop
from motet.live.shared_pool.cluster_pool import ClusterPool

NO_POOL = "this server has no pool of Aggregators; start it with --aggregators N"


class PoolDocuments:
    """What is on the Aggregators of a cluster, read without blocking the event loop."""

    def __init__(self, master: MasterLoop, pool: ClusterPool | None) -> None:
        """`pool`: None: the cluster has none."""
        self._master, self._pool = master, pool

    @property
    def has_pool(self) -> bool:
        """Whether the cluster has a pool."""
        return self._pool is not None

    async def pool(self) -> dict[str, Any]:
        """The Aggregators, how full their cycles are, and the jobs whose tensors they have."""
        found = self._required()
        view = await asyncio.to_thread(found.view)
        return pool_document(view, await self._names(found))

    async def tensors(self, number: int) -> dict[str, Any]:
        """On which Aggregator each tensor of a job is, and why."""
        found = self._required()
        await asyncio.wrap_future(self._master.read(lambda state: state.job(number).number))
        placement = await asyncio.to_thread(found.explain, number)
        return placement_document(placement, await self._names(found))

    async def _names(self, pool: ClusterPool) -> ClusterNames:
        numbers, machine_of = pool.jobs(), pool.machine_of
        return await asyncio.wrap_future(
            self._master.read(lambda state: ClusterNames.of(state, numbers, machine_of))
        )

    def _required(self) -> ClusterPool:
        """Raises NotFound."""
        if self._pool is None:
            raise NotFound(NO_POOL)
        return self._pool


def add_pool_routes(app: FastAPI, documents: PoolDocuments) -> None:
    """Add the routes; without a pool they answer that there is none."""
    app.add_api_route("/api/v1/aggregation", documents.pool)
    app.add_api_route("/api/v1/jobs/{number}/tensors", documents.tensors)
