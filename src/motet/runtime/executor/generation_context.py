"""The state of an executor during one generation."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from motet.runtime.client.table_client import TableClient
from motet.runtime.executor.deduplication import Deduplicator
from motet.runtime.server.block_migration import move_blocks
from motet.runtime.server.shard import Shard
from motet.runtime.stealing.victim import Handout
from motet.runtime.wire.assignment import Assignment
from motet.runtime.wire.control_messages import (
    BlocksMoved,
    MoveBlocks,
    PrepareWork,
    WorkChanged,
    WorkPrepared,
)
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.peers import ExecutorPeers
from motet.runtime.wire.work_change import WorkChange
from motet.runtime.worker.data_blocks import DataBlocks, Sender
from motet.runtime.worker.step_gate import Turnstile
from motet.transport import Arena, Endpoint, Request


class GenerationContext:
    """One executor's part of one generation: its model blocks, its data, its connections.

    `carriers`: separate connections for blocks that move, so that the requests of a mini-batch do
    not queue behind them.
    """

    def __init__(self, executor: int, assignment: Assignment, secret: bytes, arena: Arena) -> None:
        self.executor = executor
        self.assignment = assignment
        self.number = assignment.generation
        self.ended = threading.Event()
        self.peers = ExecutorPeers(assignment.endpoints, secret, arena)
        self.carriers = ExecutorPeers(assignment.endpoints, secret, arena)
        self.data = DataBlocks(
            assignment.app,
            assignment.schedule,
            executor,
            Sender(assignment.generation, self.carriers),
        )
        self.turnstile = Turnstile(assignment.first_clock)
        self.handout = Handout()
        self.is_worker = executor in assignment.sync.workers
        self.shard = Shard(
            assignment.table,
            assignment.app.apply,
            assignment.sync,
            assignment.ownership,
            executor,
            assignment.first_clock,
        )
        self.client = TableClient(
            assignment.table,
            assignment.ownership,
            self.peers,
            assignment.generation,
            client=(assignment.generation << 32) + executor,
        )
        self._moves = Deduplicator()
        self._preparations = Deduplicator()
        self._changes = Deduplicator()

    def learn(self, ownership: Ownership) -> None:
        """Use a newer table of the model's owners."""
        self.shard.learn(ownership)
        self.client.learn(ownership)

    def meet(self, endpoints: Mapping[int, Endpoint]) -> None:
        """Add executors that have joined the job."""
        self.peers.meet(endpoints)
        self.carriers.meet(endpoints)

    def move(self, message: MoveBlocks, request: Request) -> None:
        """Hand model blocks over, on a thread of its own; answered at the end."""
        self._moves.run(message.ownership.version, request, lambda: self._move(message))

    def prepare(self, message: PrepareWork, request: Request) -> None:
        """Prepare a change of the data, on a thread; answered when all its blocks are here."""
        self._preparations.run(message.number, request, lambda: self._prepare(message))

    def change(self, change: WorkChange, request: Request) -> None:
        """Change the work from a mini-batch on; answered once that mini-batch has begun."""
        if not self._changes.begin(change.number, request):
            return
        if self.is_worker or self.executor in change.workers:
            self.turnstile.decide(change)
        else:
            self.changed(change.number, WorkChanged())

    def changed(self, number: int, changed: WorkChanged) -> None:
        """Answer the requests of a change that the worker has carried out."""
        self._changes.finish(number, changed)

    def end(self) -> None:
        """Wake everything that waits; safe to call again."""
        self.ended.set()
        self.turnstile.end()
        self.handout.end()
        self.data.end()
        self.peers.close()
        self.carriers.close()

    def _move(self, message: MoveBlocks) -> BlocksMoved:
        moved = move_blocks(message, self.shard, self.carriers)
        self.client.learn(message.ownership)
        return moved

    def _prepare(self, message: PrepareWork) -> WorkPrepared:
        return WorkPrepared(self.data.prepare(message.number, message.data))
