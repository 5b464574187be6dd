"""One table on executors of this process, over real sockets, whose blocks can be moved."""

from __future__ import annotations

import threading

from motet.domain.arrays import Array
from motet.runtime.client.table_client import TableClient
from motet.runtime.core.application import Application, ModelTable, Step
from motet.runtime.core.consistency import DEFAULT_CONSISTENCY, Consistency, Synchronisation
from motet.runtime.core.schedule import Schedule
from motet.runtime.core.table_spec import MODEL_TABLE, TableSpec
from motet.runtime.executor.executor import Executor
from motet.runtime.wire.assignment import Assignment
from motet.runtime.wire.control_messages import BlocksMoved, LearnOwners, MoveBlocks
from motet.runtime.wire.exchange import answer_of, require_ok, submit
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.peers import RETRY_FOR_S, ExecutorPeers
from motet.transport import Arena
from toy_app import ToyRegression

SECRET = b"s" * 32
TIMEOUT_S = 100.0


class Adding(ToyRegression):
    """A table whose update function adds."""

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        del step
        values += delta


class TableOnExecutors:
    """One table on a few executors of this process."""

    def __init__(
        self,
        model: ModelTable,
        executors: int = 3,
        app: Application | None = None,
        consistency: Consistency = DEFAULT_CONSISTENCY,
    ) -> None:
        """`app`: with the update function of the table; None: it adds."""
        self._sync = Synchronisation(consistency, ())
        self._app = Adding() if app is None else app
        self.spec = TableSpec.of(MODEL_TABLE, model)
        self.ownership = Ownership.even(self.spec.block_count, range(executors))
        self.executors = [Executor(number, SECRET) for number in range(executors)]
        self.endpoints = {e.number: e.endpoint for e in self.executors}
        self.arena = Arena()
        self._peers: list[ExecutorPeers] = []
        self._clients = 0
        self._lock = threading.Lock()
        self._admin = ExecutorPeers(self.endpoints, SECRET, self.arena)
        self.configure(self.ownership, generation=0)

    def configure(self, ownership: Ownership, generation: int) -> None:
        for executor in self.executors:
            executor.configure(
                Assignment(
                    generation=generation,
                    app=self._app,
                    schedule=Schedule.of(1, 1, 1, 0),
                    table=self.spec,
                    sync=self._sync,
                    ownership=ownership,
                    endpoints=self.endpoints,
                    first_epoch=0,
                )
            )

    def client(
        self,
        ownership: Ownership | None = None,
        generation: int = 0,
        retry_for_s: float = RETRY_FOR_S,
    ) -> TableClient:
        """`retry_for_s`: how long a server may be away."""
        peers = ExecutorPeers(self.endpoints, SECRET, self.arena, retry_for_s)
        self._peers.append(peers)
        self._clients += 1
        return TableClient(self.spec, ownership or self.ownership, peers, self._clients, generation)

    def move(self, blocks: list[int], source: int, destination: int) -> None:
        """As the controller does it; may be called from several threads."""
        with self._lock:
            self.ownership = moved = self.ownership.moved(blocks, destination)
        request = MoveBlocks(0, MODEL_TABLE, tuple(blocks), destination, moved)
        answer_of(submit(self._admin.connection(source), request), BlocksMoved, TIMEOUT_S)
        for executor in self.executors:
            connection = self._admin.connection(executor.number)
            require_ok(submit(connection, LearnOwners(0, MODEL_TABLE, moved)).wait(TIMEOUT_S))

    def close(self) -> None:
        self._admin.close()
        for peers in self._peers:
            peers.close()
        for executor in self.executors:
            executor.close()
        self.arena.close()
