"""One generation of a job: executors that train together until the job ends or one is lost."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from motet.domain.arrays import Array
from motet.domain.errors import MotetError
from motet.runtime.client.table_client import TableClient
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.generation.loader import Loader
from motet.runtime.controller.generation.members import Members
from motet.runtime.controller.generation.messenger import CONTROL_TIMEOUT_S, Messenger
from motet.runtime.controller.job_plan import JobPlan
from motet.runtime.controller.ports import ExecutorHandle
from motet.runtime.core.application import Evaluation
from motet.runtime.core.convergence import with_residual
from motet.runtime.core.reporting.reports import EpochReport
from motet.runtime.core.rows import Rows
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.wire.assignment import CONTROLLER, Assignment, RunOutcome
from motet.runtime.wire.control_messages import (
    ControlRequest,
    Dismiss,
    LearnOwners,
    Meet,
    ReviewSpill,
    SetWorkers,
    SpillUse,
)
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.peers import ExecutorPeers
from motet.transport import Arena, Call, Endpoint

# The end of a dead executor's process is noticed anyway, so calls need not be tried for long.
_RETRY_FOR_S = 5.0
_DISMISS_TIMEOUT_S = 5.0

OnEnd: TypeAlias = Callable[[int, int, RunOutcome | None], None]


def _ignore(number: int, life: int, outcome: RunOutcome | None) -> None:
    del number, life, outcome


class Generation:
    """The executors of one generation, as the controller uses them."""

    def __init__(
        self,
        number: int,
        plan: JobPlan,
        layout: JobLayout,
        handles: Mapping[int, ExecutorHandle],
        controller: Endpoint,
        secret: bytes,
    ) -> None:
        """`layout`: what the executors begin with."""
        self.number = number
        self.members = Members(handles, layout.workers)
        self._plan = plan
        self._layout = layout
        self._controller = controller
        self._arena = Arena()
        self._peers = ExecutorPeers(
            self.members.endpoints, secret, self._arena, retry_for_s=_RETRY_FOR_S
        )
        self._messenger = Messenger(self._peers, self.members)
        client = int.from_bytes(os.urandom(4), "little") << 32
        self._client = TableClient(
            plan.table,
            layout.model,
            self._peers,
            client,
            number,
            pulls_in_chunks=plan.spill is not None,
        )
        self._loader = Loader(number, plan, self._messenger, self._client)
        self._reading = threading.Lock()
        self._admitting = threading.Lock()
        self._announcing = threading.Lock()
        self._announced = [SetWorkers(number, layout.workers, 0)]
        self._first_epoch = self._first_batch = 0
        self._on_end: OnEnd = _ignore

    @property
    def table(self) -> int:
        """The number of the model's table."""
        return self._plan.table.number

    @property
    def batch_count(self) -> int:
        """Mini-batches of an epoch."""
        return self._plan.schedule.batch_count

    @property
    def instance_count(self) -> int:
        """Instances of the data set."""
        return self._plan.schedule.instance_count

    def summarise(self, model: Array, sums: Array, earlier: Sequence[EpochReport]) -> Evaluation:
        """Loss, metrics and residual from all workers' evaluation sums."""
        app = self._plan.app
        return with_residual(app, app.summarise(model, sums, self.instance_count), earlier)

    def workers_of(self, epoch: int) -> tuple[int, ...]:
        """The workers that finish an epoch."""
        return self.workers_before((epoch + 1) * self.batch_count)

    def workers_before(self, clock: int) -> tuple[int, ...]:
        """The workers of the mini-batch before this one."""
        return self.members.workers_at(clock - 1)

    def is_expected(self, number: int, life: int) -> bool:
        """Whether an executor may end, see `Members`."""
        return self.members.is_expected(number, life)

    def set_up(self, rows: Rows, start: Checkpoint) -> None:
        """Give every executor its assignment, its data blocks and its model blocks."""
        self._first_epoch, self._first_batch = start.epoch_count, start.batches
        for handle in self.members.handles:
            handle.configure(self._assignment(self._layout.model))
        self._loader.distribute(rows, start, self._layout.data)

    def start(self, on_end: OnEnd) -> None:
        """Start every executor's `run`; `on_end(number, life, outcome)` is called at its end.

        `life`: see `Members`.
        """
        self._on_end = on_end
        for handle in self.members.handles:
            self._run(handle)

    def read_model(self, clock: int) -> Array:
        """The whole model before the mini-batch `clock` (under SSP and async: as it is)."""
        with self._reading:
            return self._loader.read_model(clock)

    def read_state(self, clock: int) -> Rows:
        """All instances' state columns before the mini-batch `clock`, ordered by id.

        Workers must wait there.
        """
        return self._loader.read_state(self.workers_before(clock))

    def review_spill(self) -> Sequence[SpillUse]:
        """What is spilled at every executor after an epoch; none: input alone, on the disk."""
        spill = self._plan.spill
        if spill is None or not (spill.may_spill_model or spill.lenders):
            return ()
        return self._messenger.answers_of_all(ReviewSpill(self.number), SpillUse)

    def cut_off(self) -> None:
        """End the controller's requests to executors; they raise ConnectionLost."""
        self._peers.close()

    def close(self) -> None:
        """Drop the controller's connections."""
        self._peers.close()
        self._arena.close()

    # -- messages ----------------------------------------------------------------------------------

    def ask(self, number: int, message: ControlRequest) -> Call:
        """Send a request to one executor."""
        return self._messenger.ask(number, message)

    def teach(self, ownership: Ownership) -> None:
        """Send all executors the owners of the model's blocks."""
        self._client.learn(ownership)
        self._messenger.ask_all(LearnOwners(self.number, self.table, ownership))

    def announce_workers(self, workers: Iterable[int], clock: int) -> None:
        """Send all servers the workers; an executor that is being admitted gets them, too."""
        message = SetWorkers(self.number, tuple(workers), clock)
        with self._announcing:
            self._announced.append(message)
            present = self.members.numbers
        self._messenger.ask_each(present, lambda number: self.ask(number, message))

    # -- members -----------------------------------------------------------------------------------

    def admit(self, handle: ExecutorHandle, model: Ownership) -> None:
        """Add an executor without blocks and work; all others get its address."""
        number = handle.number
        with self._admitting:
            self.members.begin_life(handle)
            self._peers.meet({number: handle.endpoint()})
            known = len(self._announced)
            handle.configure(self._assignment(model))
            self._messenger.ask_all(Meet(self.number, {number: handle.endpoint()}))
            # Connecting may take long, and nothing can be announced while the lock is held.
            self._peers.connection(number)
            with self._announcing:
                self.members.add(handle)
                calls = [self.ask(number, message) for message in self._announced[known:]]
            for call in calls:
                call.wait(CONTROL_TIMEOUT_S)
            self._run(handle)

    def dismiss(self, number: int) -> ExecutorHandle:
        """Remove an executor that has no role any more; its process is for the caller to end."""
        self.members.expect_end(number)
        with self._reading:
            handle = self.members.remove(number)
        # Its process is ended in any case.
        with contextlib.suppress(MotetError, TimeoutError):
            self.ask(number, Dismiss(self.number)).wait(_DISMISS_TIMEOUT_S)
        return handle

    def _run(self, handle: ExecutorHandle) -> None:
        life = self.members.life_of(handle.number)
        handle.run(lambda number, outcome: self._on_end(number, life, outcome))

    def _assignment(self, model: Ownership) -> Assignment:
        plan = self._plan
        return Assignment(
            generation=self.number,
            app=plan.app,
            schedule=plan.schedule,
            table=plan.table,
            sync=replace(plan.sync, workers=self._announced[-1].workers),
            ownership=model,
            endpoints={**self.members.endpoints, CONTROLLER: self._controller},
            first_epoch=self._first_epoch,
            helps=plan.helps,
            spill=plan.spill,
            first_batch=self._first_batch,
        )
