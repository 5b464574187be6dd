"""One generation of a job: the executors that train together until the job ends or one of them is
lost.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import MotetError, Unreachable
from motet.runtime.client.table_client import TableClient
from motet.runtime.controller.checkpoint import Checkpoint, merged_state
from motet.runtime.controller.job_plan import JobPlan
from motet.runtime.controller.ports import ExecutorHandle
from motet.runtime.core.application import Evaluation
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import deal_blocks
from motet.runtime.elastic.layout import Layout
from motet.runtime.wire.assignment import CONTROLLER, Assignment, RunOutcome
from motet.runtime.wire.messages import (
    FROM_THE_START,
    RequestKind,
    decode_json,
    decode_rows,
    encode_json,
    encode_owners,
    encode_rows,
)
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.peers import ExecutorPeers
from motet.transport import Arena, Call, Endpoint

# A dead executor is noticed by its process's end, so there is no point in calling it for long.
_RETRY_FOR_S = 5.0
_CONTROL_TIMEOUT_S = 60.0
_DISMISS_TIMEOUT_S = 5.0


OnEnd: TypeAlias = Callable[[int, int, RunOutcome | None], None]


@dataclass(frozen=True)
class _Told:
    """What servers were told: who computes; who is new begins with this mini-batch (SSP)."""

    workers: tuple[int, ...]
    clock: int


def _ignore(number: int, life: int, outcome: RunOutcome | None) -> None:
    del number, life, outcome


class Generation:
    """The controller's connections to the executors of one generation."""

    def __init__(
        self,
        number: int,
        plan: JobPlan,
        layout: Layout,
        handles: Mapping[int, ExecutorHandle],
        controller: Endpoint,
        secret: bytes,
    ) -> None:
        """`layout`: what the executors begin with."""
        self.number = number
        self._plan = plan
        self._layout = layout
        self._handles = dict(handles)
        self._endpoints = {i: handle.endpoint() for i, handle in handles.items()}
        self._controller = controller
        self._arena = Arena()
        self._peers = ExecutorPeers(self._endpoints, secret, self._arena, retry_for_s=_RETRY_FOR_S)
        client = int.from_bytes(os.urandom(4), "little") << 32
        self._reading = threading.Lock()
        self._admitting = threading.Lock()
        self._lives = dict.fromkeys(handles, 0)
        self._dismissed: set[tuple[int, int]] = set()
        self._workers: list[tuple[int, tuple[int, ...]]] = []
        self._telling = threading.Lock()
        self._told = [_Told(layout.workers, 0)]
        self._first_epoch = 0
        self._on_end: OnEnd = _ignore
        self._client = TableClient(plan.table, layout.model, self._peers, number, client)

    @property
    def batch_count(self) -> int:
        """Mini-batches of an epoch."""
        return self._plan.schedule.batch_count

    @property
    def instance_count(self) -> int:
        """Instances of the data set."""
        return self._plan.schedule.instance_count

    def summarise(self, model: Array, sums: Array) -> Evaluation:
        """Loss and metrics from all workers' evaluation sums."""
        return self._plan.app.summarise(model, sums, self.instance_count)

    def set_up(self, rows: Rows, start: Checkpoint) -> None:
        """Give every executor its part, its data blocks and its model blocks."""
        self._first_epoch = start.epoch_count
        self._workers = [(0, self._layout.workers)]
        for handle in self._handles.values():
            handle.configure(self._assignment(self._layout.model, start.epoch_count))
        by_id = start.state.take(np.argsort(start.state.ids)).columns
        order = np.argsort(rows.ids)
        current = rows.take(order).with_columns(by_id)
        self._send_data(current)
        self._client.multi_put(None, start.model)

    def start(self, on_end: OnEnd) -> None:
        """Let every executor run; `on_end(number, life, outcome)` hears of its end.

        `life`: how many executors of that number there have been before, see `is_expected`.
        """
        self._on_end = on_end
        for handle in self._handles.values():
            self._run(handle)

    def read_model(self, epoch_count: int) -> Array:
        """The whole model after `epoch_count` epochs (under SSP and async: as it is)."""
        clock = epoch_count * self._plan.schedule.batch_count
        with self._reading:
            if self._plan.sync.consistency != "bsp":
                return np.array(self._client.multi_get())
            return np.array(self._client.read(self._client.batch_plan(None), clock, None)[0])

    def read_state(self, epoch_count: int) -> Rows:
        """All instances' state columns after `epoch_count` epochs, ordered by id.

        Workers must wait between epochs.
        """
        parts = []
        for number in self.workers_at(epoch_count * self.batch_count - 1):
            reply = self.ask(number, RequestKind.READ_STATE, {}).wait()
            parts.append(decode_rows(decode_json(reply.meta), memoryview(reply.payload)))
        return merged_state([part for part in parts if len(part)])

    # -- who is there ----------------------------------------------------------------------------

    @property
    def executors(self) -> list[int]:
        """Those that take part now."""
        return sorted(self._handles)

    def workers_at(self, clock: int) -> tuple[int, ...]:
        """Who computes a mini-batch; certain as soon as one of them has begun it."""
        return next(workers for since, workers in reversed(self._workers) if since <= clock)

    def set_workers(self, workers: tuple[int, ...], clock: int) -> None:
        """Who computes from a mini-batch on that nobody has begun."""
        self._workers.append((clock, workers))

    def tell_workers(self, workers: Iterable[int], clock: int) -> None:
        """Tell all servers who computes; whoever is admitted meanwhile is told, too."""
        told = _Told(tuple(workers), clock)
        with self._telling:
            self._told.append(told)
            present = self.executors
        self._ask_each(lambda number: self._tell(number, told), present)

    def admit(self, handle: ExecutorHandle, model: Ownership) -> None:
        """One more executor, without blocks and work; everybody is told its address."""
        number, endpoint = handle.number, handle.endpoint()
        with self._admitting:
            self._endpoints[number] = endpoint
            self._lives[number] = self._lives.get(number, -1) + 1
            self._peers.meet({number: endpoint})
            known = len(self._told)
            handle.configure(self._assignment(model, self._first_epoch))
            self.ask_all(RequestKind.MEET, {"endpoints": [(number, endpoint.encode())]})
            # Dialling may take long, and nobody can be told anything meanwhile.
            self._peers.connection(number)
            with self._telling:
                self._handles[number] = handle
                calls = [self._tell(number, told) for told in self._told[known:]]
            for call in calls:
                call.wait(_CONTROL_TIMEOUT_S)
            self._run(handle)

    def dismiss(self, number: int) -> ExecutorHandle:
        """An executor ends that nobody asks for anything any more."""
        self._dismissed.add((number, self._lives[number]))
        with self._reading:
            handle = self._handles.pop(number)
        # Its process is ended in any case.
        with contextlib.suppress(MotetError, TimeoutError):
            self.ask(number, RequestKind.DISMISS, {}).wait(_DISMISS_TIMEOUT_S)
        return handle

    def is_expected(self, number: int, life: int) -> bool:
        """Whether an executor may end: it was dismissed.

        Its end may become known when its number has been admitted again, for another life.
        """
        return (number, life) in self._dismissed

    def _run(self, handle: ExecutorHandle) -> None:
        life = self._lives[handle.number]
        handle.run(lambda number, outcome: self._on_end(number, life, outcome))

    # -- asking executors --------------------------------------------------------------------------

    def ask(
        self, number: int, kind: RequestKind, fields: Mapping[str, Any], payload: bytes = b""
    ) -> Call:
        """Send a control message."""
        meta = encode_json({"generation": self.number, **fields})
        return self._peers.connection(number).submit(kind, meta, [payload])

    def ask_all(self, kind: RequestKind, fields: Mapping[str, Any]) -> None:
        """Send everybody a control message and wait until all have answered."""
        self._ask_each(lambda number: self.ask(number, kind, fields), self.executors)

    def teach(self, ownership: Ownership) -> None:
        """Tell everybody who owns the model's blocks."""
        self._client.learn(ownership)
        owners = encode_owners(self.number, ownership)
        connection, kind = self._peers.connection, RequestKind.LEARN_OWNERS
        self._ask_each(lambda n: connection(n).submit(kind, owners), self.executors)

    def _tell(self, number: int, told: _Told) -> Call:
        return self.ask(
            number, RequestKind.SET_WORKERS, {"workers": told.workers, "clock": told.clock}
        )

    def _ask_each(self, submit: Callable[[int], Call], executors: Iterable[int]) -> None:
        """Who is dismissed meanwhile need not answer."""
        calls: list[tuple[int, int, Call]] = []
        for number in executors:
            life = self._lives[number]
            with self._unless_dismissed(number, life):
                calls.append((number, life, submit(number)))
        for number, life, call in calls:
            with self._unless_dismissed(number, life):
                call.wait(_CONTROL_TIMEOUT_S)

    @contextlib.contextmanager
    def _unless_dismissed(self, number: int, life: int) -> Iterator[None]:
        try:
            yield
        except Unreachable:
            if not self.is_expected(number, life):
                raise

    def close(self) -> None:
        """Drop the controller's connections."""
        self._peers.close()
        self._arena.close()

    def _assignment(self, model: Ownership, first_epoch: int) -> Assignment:
        plan = self._plan
        return Assignment(
            generation=self.number,
            app=plan.app,
            schedule=plan.schedule,
            table=plan.table,
            sync=replace(plan.sync, workers=self._told[-1].workers),
            ownership=model,
            endpoints={**self._endpoints, CONTROLLER: self._controller},
            first_epoch=first_epoch,
            helps=plan.helps,
        )

    def _send_data(self, rows: Rows) -> None:
        calls = []
        for block, part in deal_blocks(rows, self._plan.schedule).items():
            described, arrays = encode_rows(part)
            head = {"block": block, "occasion": FROM_THE_START, "arrays": described}
            meta = encode_json({"generation": self.number, **head})
            connection = self._peers.connection(int(self._layout.data.owners[block]))
            calls.append(connection.submit(RequestKind.LOAD_ROWS, meta, arrays))
        for call in calls:
            call.wait()
