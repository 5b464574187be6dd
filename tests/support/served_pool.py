"""pMaster behind a server, with Aggregators that only remember."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from aggregator_world import join
from fake_aggregators import FakeControl, FakeLauncher
from motet.aggregation.master.service.pool_master import PoolMaster
from motet.aggregation.master.service.requests import PoolRequests
from motet.aggregation.master.service.state_file import StateFile
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.planner.clusters import ScalingRules
from motet.aggregation.wire.pool_address import ADDRESS_FILE, PROGRAM_SECRET_FILE, PoolAddress
from motet.aggregation.wire.pool_messages import AwaitRoutes, PoolRequest, Routes
from motet.aggregation.wire.pool_views import DescribePool, PoolView
from motet.runtime.wire.codec import decode, encode
from motet.transport import Call, Connection, Server, new_secret, write_secret

SECRET = new_secret()


class ServedPool:
    """pMaster behind a server; `restart` replaces it, as after a kill. `address`: its file."""

    def __init__(
        self,
        folder: Path,
        stack: ExitStack,
        silent_s: float = 60.0,
        link_bps: int | None = None,
    ) -> None:
        self.address = folder / ADDRESS_FILE
        write_secret(folder / PROGRAM_SECRET_FILE, SECRET)
        self.launcher = FakeLauncher()
        self._settings = MasterSettings(ScalingRules(8), silent_s=silent_s, link_bps=link_bps)
        self._file, self._stack = StateFile(folder / "state.json"), stack
        self.master = self._new_master()
        self._server = self._new_server()

    def connect(self, client_id: str | None = None) -> Connection:
        place = self._server.endpoint, SECRET
        connection = Connection(*place, client_id=client_id, retry_for_s=0.0)
        return self._stack.enter_context(connection)

    def restart(self) -> None:
        self._server.close()
        self.master.close()
        self.master = self._new_master()
        self._server = self._new_server()

    def control(self, number: int) -> FakeControl:
        return self.launcher.controls[number]

    def _new_master(self) -> PoolMaster:
        master = PoolMaster(self._settings, self.launcher, self.launcher.connect, self._file)
        return self._stack.enter_context(master)

    def _new_server(self) -> Server:
        server = self._stack.enter_context(Server(PoolRequests(self.master).handle, SECRET))
        PoolAddress(server.endpoint, SECRET).write_endpoint(self.address)
        return server


def ask(connection: Connection, kind: PoolRequest, message: Any) -> Call:
    return connection.submit(kind, encode(message)[0])


def routes(call: Call) -> Routes:
    return decode(Routes, call.wait(20.0).meta)


def entered(
    pool: ServedPool, name: str = "mlp", rank: int = 0, workers: int = 1, **more: int
) -> Routes:
    """A worker that has joined and waits for newer routes. `more`: of `join`."""
    connection = pool.connect()
    found = routes(ask(connection, PoolRequest.JOIN, join(name, rank, workers, **more)))
    ask(connection, PoolRequest.AWAIT_ROUTES, AwaitRoutes(found.job, rank, found.version))
    return found


def view(pool: ServedPool) -> PoolView:
    call = ask(pool.connect(), PoolRequest.DESCRIBE, DescribePool())
    return decode(PoolView, call.wait(20.0).meta)
