"""What the server runs beside jobs: a pool of Aggregators, and lenders of memory, if any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from motet.interfaces.server.aggregation import pool_of_server
from motet.interfaces.server.aggregation.pool_metrics import PoolMetrics
from motet.interfaces.server.aggregation.pool_of_server import PoolOfServer
from motet.interfaces.server.aggregation.pool_page import PoolPage
from motet.interfaces.server.aggregation.pool_watch import PoolWatch
from motet.interfaces.server.aggregation.routes import PoolDocuments, add_pool_routes
from motet.interfaces.server.memory import memory_of_server
from motet.interfaces.server.memory.lending_watch import LendingWatch
from motet.interfaces.server.memory.memory_metrics import MemoryMetrics
from motet.interfaces.server.memory.memory_page import MemoryPage
from motet.interfaces.server.memory.routes import MemoryDocuments, add_memory_routes
from motet.interfaces.server.web.renderer import PageRenderer
from motet.live.beside_jobs.several_kinds import SeveralKinds
from motet.live.launcher.messages import LauncherRequest
from motet.live.lent_memory.cluster_lenders import LendingOptions
from motet.live.lent_memory.cluster_memory import ClusterMemory
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Input
from motet.live.master.loop import MasterLoop, MasterObserver
from motet.live.master.requests import MemoryAccess, PoolAccess
from motet.live.shared_pool.cluster_pool import ClusterPool
from motet.live.shared_pool.model_sizes import ModelSizes


@dataclass(frozen=True)
class BesideOptions:
    """`folder`: state of the server. `address`: of a Ray cluster; None: all machines are this one.
    `pool`, `lending`: None: the cluster has no Aggregators, or lends no memory."""

    folder: Path
    address: str | None
    cluster: ClusterDeclared
    lease_s: float
    pool: PoolOfServer | None
    lending: LendingOptions | None


@dataclass(frozen=True)
class ServerPort:
    """How they reach the server. `ask`: the master. `send`: the launcher. `changed`: pages."""

    ask: Callable[[Input], Any]
    send: Callable[[Sequence[LauncherRequest]], None]
    changed: Callable[[], None]


class BesideJobs:
    """Raises BadInput."""

    def __init__(
        self, options: BesideOptions, port: ServerPort, registry: CollectorRegistry
    ) -> None:
        """`registry`: gets their figures."""
        self._options, self._port = options, port
        self._pool, self._memory = self._opened_pool(), self._opened_memory()
        if self._pool is not None:
            registry.register(PoolMetrics(self._pool))
        if self._memory is not None:
            registry.register(MemoryMetrics(self._memory))
        self._parts: list[ClusterPool | ClusterMemory] = [
            each for each in (self._pool, self._memory) if each is not None
        ]
        self.processes = SeveralKinds(self._parts)

    @property
    def observers(self) -> Sequence[MasterObserver]:
        """Of the master."""
        return self._parts

    @property
    def pool_access(self) -> PoolAccess | None:
        """What the environment of jobs follows from."""
        return None if self._pool is None else pool_of_server.access_of(self._pool)

    @property
    def memory_access(self) -> MemoryAccess | None:
        """What the environment of jobs follows from."""
        return None if self._memory is None else memory_of_server.lending_access(self._memory)

    def start(self) -> None:
        """The master has started."""
        for each in self._parts:
            each.start()

    def close(self) -> None:
        """Their processes run on."""
        for each in self._parts:
            each.close()

    def add_to(self, app: FastAPI, master: MasterLoop) -> Callable[[PageRenderer], None]:
        """Add the API; returns what adds the pages."""
        pool, memory = PoolDocuments(master, self._pool), MemoryDocuments(master, self._memory)
        add_pool_routes(app, pool)
        add_memory_routes(app, memory)

        def add_pages(renderer: PageRenderer) -> None:
            PoolPage(master, pool, renderer).add_to(app)
            MemoryPage(master, memory, renderer).add_to(app)

        return add_pages

    def _opened_pool(self) -> ClusterPool | None:
        options, port = self._options, self._port
        if options.pool is None:
            return None
        watch = PoolWatch(ModelSizes(port.ask), port.changed)
        place = options.folder, options.address, options.lease_s
        return pool_of_server.opened_pool(options.pool, *place, port.send, watch.seen)

    def _opened_memory(self) -> ClusterMemory | None:
        options, port = self._options, self._port
        if options.lending is None:
            return None
        watch = LendingWatch(port.changed)
        place = options.folder, options.cluster, options.lease_s
        return memory_of_server.opened_memory(
            options.lending, *place, port.send, port.ask, watch.seen
        )
