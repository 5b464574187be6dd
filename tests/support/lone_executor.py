"""One executor and the controller's inbox, over real sockets: requests and events by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.client.table_client import TableClient
from motet.runtime.controller.event_inbox import BatchProgress, EventInbox, WorkerReport
from motet.runtime.controller.job_plan import plan_job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import deal_blocks
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.role_placement import RolePlacement
from motet.runtime.executor.executor import Executor
from motet.runtime.wire.assignment import CONTROLLER, Assignment, RunOutcome
from motet.runtime.wire.control_messages import FROM_THE_START, ControlRequest, LoadRows
from motet.runtime.wire.exchange import answer_of, require_ok, submit
from motet.runtime.wire.peers import ExecutorPeers
from motet.transport import Arena, Call
from toy_app import ToyRegression

SECRET = b"s" * 32
GENERATION = 3
TIMEOUT_S = 100.0
A = TypeVar("A")


class LoneExecutor:
    """Executor 0 of a job with one server, itself, and with `workers`."""

    def __init__(self, app: ToyRegression | None = None, workers: Sequence[int] = (0,)) -> None:
        self.app = app or ToyRegression()
        self.rows: Rows = self.app.prepare(None, seed=1)
        plan = plan_job(
            self.app, self.rows, TrainOptions(machines=1, workers=1, servers=1, epochs=9)
        )
        self.plan = replace(plan, sync=replace(plan.sync, workers=tuple(workers)))
        self.layout = JobLayout.even(
            RolePlacement((0,), (0,)), plan.table.block_count, plan.schedule.block_count
        )
        self.inbox = EventInbox(SECRET, "127.0.0.1", 0)
        self.executor = Executor(0, SECRET)
        self._arena = Arena()
        self._peers = ExecutorPeers({0: self.executor.endpoint}, SECRET, self._arena)
        self._thread: threading.Thread | None = None
        self.outcomes: list[RunOutcome] = []

    def configure(self, first_epoch: int = 0, generation: int = GENERATION) -> None:
        self.executor.configure(
            Assignment(
                generation=generation,
                app=self.app,
                schedule=self.plan.schedule,
                table=self.plan.table,
                sync=self.plan.sync,
                ownership=self.layout.model,
                endpoints={0: self.executor.endpoint, CONTROLLER: self.inbox.endpoint},
                first_epoch=first_epoch,
            )
        )

    def load(self) -> None:
        """All data blocks, and a model of zeros."""
        for block, rows in deal_blocks(self.rows, self.plan.schedule).items():
            require_ok(self.ask(LoadRows(GENERATION, block, FROM_THE_START, rows)).wait(TIMEOUT_S))
        self._client(99).multi_put(None, np.zeros(self.plan.table.model.shape))

    def ask(self, message: ControlRequest) -> Call:
        return submit(self._peers.connection(0), message)

    def answer(self, message: ControlRequest, expected: type[A]) -> A:
        return answer_of(self.ask(message), expected, TIMEOUT_S)

    def submit(self, kind: int, meta: bytes) -> Call:
        return self._peers.connection(0).submit(kind, meta)

    def values(self) -> set[float]:
        """All values of the model."""
        found: Array = self._client(98).multi_get()
        return set(found.ravel().tolist())

    def start(self) -> None:
        """Let it run on a thread."""
        self._thread = threading.Thread(target=lambda: self.outcomes.append(self.executor.run()))
        self._thread.start()

    def ended(self) -> RunOutcome:
        """How its run ended."""
        assert self._thread is not None
        self._thread.join(TIMEOUT_S)
        (outcome,) = self.outcomes
        return outcome

    def next_report(self) -> WorkerReport:
        """The next report of an epoch; progress is passed over."""
        while isinstance(event := self.inbox.events.get(timeout=TIMEOUT_S), BatchProgress):
            pass
        assert isinstance(event, WorkerReport)
        return event

    def _client(self, number: int) -> TableClient:
        return TableClient(self.plan.table, self.layout.model, self._peers, number, GENERATION)

    def close(self) -> None:
        self.executor.close()
        if self._thread is not None:
            self._thread.join(TIMEOUT_S)
        self._peers.close()
        self.inbox.close()
        self._arena.close()


@contextmanager
def lone_executor(*arguments: Any, **options: Any) -> Iterator[LoneExecutor]:
    made = LoneExecutor(*arguments, **options)
    try:
        yield made
    finally:
        made.close()
