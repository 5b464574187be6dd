"""The state of an executor during one generation."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from motet.domain.errors import JobFailed
from motet.runtime.client.table_client import TableClient
from motet.runtime.core.reporting.reports import NO_REMOTE_USE
from motet.runtime.executor.deduplication import Deduplicator
from motet.runtime.server.block_migration import move_blocks
from motet.runtime.server.served_tables import ServedTables
from motet.runtime.server.shard import Shard
from motet.runtime.spilling.spilled_storage import ModelSpilling, SpilledParking, SpillingStores
from motet.runtime.spilling.targets.spill_targets import SpillTargets
from motet.runtime.stealing.victim import Victim
from motet.runtime.wire.assignment import Assignment
from motet.runtime.wire.control_messages import (
    BlocksMoved,
    MoveBlocks,
    PrepareWork,
    SpillUse,
    WorkChanged,
    WorkPrepared,
)
from motet.runtime.wire.exchange import answer
from motet.runtime.wire.ownership import Ownership, WorkChange
from motet.runtime.wire.peers import ExecutorPeers
from motet.runtime.worker.data_blocks import DataBlocks, DataBlockSender
from motet.runtime.worker.resources import WorkerResources
from motet.runtime.worker.step_gate import StepGate
from motet.transport import Arena, Endpoint, Handler, Request

_LARGE_MODEL_BYTES = 16 << 20


class GenerationContext:
    """One executor's part of one generation: its model blocks, its data, its connections.

    `carriers`: separate connections for blocks that move, so that the requests of a mini-batch do
    not queue behind them.
    """

    def __init__(
        self,
        executor: int,
        assignment: Assignment,
        secret: bytes,
        arena: Arena,
        resources: WorkerResources,
        handler: Handler,
    ) -> None:
        """`handler`: of this executor's requests."""
        self.executor = executor
        self.resources = resources
        self.assignment = assignment
        self.number = assignment.generation
        self.ended = threading.Event()
        self.peers = ExecutorPeers(
            assignment.endpoints,
            secret,
            arena,
            link_use=resources.link_use,
            handlers={executor: handler},
        )
        self.carriers = ExecutorPeers(assignment.endpoints, secret, arena)
        app, spill = assignment.app, assignment.spill
        targets = None if spill is None else SpillTargets(spill)
        stores = None if targets is None else SpillingStores(targets, app.state_columns)
        self.data = DataBlocks(
            app,
            assignment.schedule,
            executor,
            DataBlockSender(assignment.generation, self.carriers),
            stores or resources.make_store,
            None if targets is None else SpilledParking(targets),
        )
        self.step_gate = StepGate(assignment.first_clock)
        self.victim = Victim()
        self.is_worker = executor in assignment.sync.workers
        spills_model = _spills_model(assignment)
        shard = Shard(
            assignment.table,
            assignment.app.apply,
            assignment.sync,
            assignment.ownership,
            executor,
            assignment.first_clock,
            self._before_request if spills_model else None,
        )
        self._model_spilling: ModelSpilling | None = None
        self._spill_targets = targets
        if targets is not None and stores is not None:
            self._model_spilling = ModelSpilling(targets, stores, shard, when_short=spills_model)
        self.tables = ServedTables(f"executor {executor}", [shard], self.number)
        self.client = TableClient(
            assignment.table,
            assignment.ownership,
            self.peers,
            client=(assignment.generation << 32) + executor,
            generation=assignment.generation,
            pulls_in_chunks=spill is not None,
        )
        self._moves = Deduplicator()
        self._preparations = Deduplicator()
        self._changes = Deduplicator()

    def require(self, nbytes: int) -> None:
        """Make room for so many bytes that the worker is about to take, if that is possible."""
        if self._model_spilling is not None:
            self._model_spilling.require(nbytes)

    def review_spill(self, request: Request) -> None:
        """Tell what is spilled at the end of an epoch; then the model may return to memory."""
        targets, spilling = self._spill_targets, self._model_spilling
        remote = NO_REMOTE_USE if targets is None else targets.take_use()
        if spilling is None:
            answer(request, SpillUse(0, 0, remote))
            return
        blocks = spilling.blocks
        answer(request, SpillUse(blocks.spilled_bytes, blocks.time.take(), remote))
        spilling.after_epoch()

    def learn(self, table: int, ownership: Ownership) -> None:
        """Use a newer ownership table of a table."""
        self.tables[table].learn(ownership)
        self._learn_as_client(table, ownership)

    def meet(self, endpoints: Mapping[int, Endpoint]) -> None:
        """Add executors that have joined the job."""
        self.peers.meet(endpoints)
        self.carriers.meet(endpoints)

    def move(self, message: MoveBlocks, request: Request) -> None:
        """Hand model blocks over, on a thread of its own; answered at the end."""
        self._moves.run(
            (message.table, message.ownership.version), request, lambda: self._move(message)
        )

    def prepare(self, message: PrepareWork, request: Request) -> None:
        """Prepare a change of the data, on a thread; answered when all its blocks are here."""
        self._preparations.run(message.number, request, lambda: self._prepare(message))

    def change(self, change: WorkChange, request: Request) -> None:
        """Change the work from a mini-batch on; answered once that mini-batch has begun."""
        if not self._changes.begin(change.number, request):
            return
        if self.is_worker or self.executor in change.workers:
            self.step_gate.decide(change)
        else:
            self.changed(change.number, WorkChanged())

    def changed(self, number: int, changed: WorkChanged) -> None:
        """Answer the requests of a change that the worker has carried out."""
        self._changes.finish(number, changed)

    def end(self) -> None:
        """Wake everything that waits; safe to call again."""
        self.ended.set()
        self.step_gate.end()
        self.victim.end()
        self.data.end()
        if self._model_spilling is not None:
            self._model_spilling.close()
        self.peers.close()
        self.carriers.close()

    def _before_request(self, nbytes: int) -> None:
        if self._model_spilling is not None:
            self._model_spilling.before_request(nbytes)

    def _move(self, message: MoveBlocks) -> BlocksMoved:
        moved = move_blocks(message, self.tables[message.table], self.carriers)
        self._learn_as_client(message.table, message.ownership)
        return moved

    def _learn_as_client(self, table: int, ownership: Ownership) -> None:
        """Raises JobFailed for a table that the worker of this executor has no client of."""
        if table != self.client.spec.number:
            raise JobFailed(
                f"executor {self.executor} trains table {self.client.spec.number} only; "
                f"the owners of table {table} have changed"
            )
        self.client.learn(ownership)

    def _prepare(self, message: PrepareWork) -> WorkPrepared:
        return WorkPrepared(self.data.prepare(message.number, message.data))


def _spills_model(assignment: Assignment) -> bool:
    """Whether the model is spilled when memory runs short; a small one would not free much."""
    is_large = assignment.table.model.nbytes >= _LARGE_MODEL_BYTES
    return assignment.spill is not None and assignment.spill.share is None and is_large
