"""One generation of a job: the executors that train together until the job ends or one of them is
lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.runtime.application import Application, Evaluation
from motet.runtime.checkpoint import Checkpoint, merged_state
from motet.runtime.cluster import ExecutorHandle, Roles
from motet.runtime.executor import CONTROLLER, Assignment, Outcome
from motet.runtime.local import deal_blocks
from motet.runtime.messages import Kind, decode_json, decode_rows, encode_json, encode_rows
from motet.runtime.ownership import Ownership
from motet.runtime.peers import ExecutorPeers
from motet.runtime.rows import Rows
from motet.runtime.schedule import Schedule
from motet.runtime.shard import Synchronisation
from motet.runtime.table import TableSpec
from motet.runtime.table_client import TableClient
from motet.transport import Arena, Endpoint

Array = NDArray[Any]


# A dead executor is noticed by its process's end, so there is no point in calling it for long.
_RETRY_FOR_S = 5.0


@dataclass(frozen=True)
class JobPlan:
    """What stays the same through all generations of a job."""

    app: Application
    roles: Roles
    schedule: Schedule
    table: TableSpec
    sync: Synchronisation


class Generation:
    """The controller's connections to the executors of one generation."""

    def __init__(
        self,
        number: int,
        plan: JobPlan,
        handles: Mapping[int, ExecutorHandle],
        controller: Endpoint,
        secret: bytes,
    ) -> None:
        self.number = number
        self._plan = plan
        self._handles = dict(handles)
        self._endpoints = {i: handle.endpoint() for i, handle in handles.items()}
        self._controller = controller
        self._arena = Arena()
        self._peers = ExecutorPeers(self._endpoints, secret, self._arena, retry_for_s=_RETRY_FOR_S)
        self._model_owners = Ownership.even(plan.table.block_count, plan.roles.servers)
        client = int.from_bytes(os.urandom(4), "little") << 32
        self._client = TableClient(plan.table, self._model_owners, self._peers, number, client)

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
        for number, handle in self._handles.items():
            handle.configure(self._assignment(number, start.epoch_count))
        by_id = start.state.take(np.argsort(start.state.ids)).columns
        order = np.argsort(rows.ids)
        current = rows.take(order).with_columns(by_id)
        self._send_data(current)
        self._client.multi_put(None, start.model)

    def start(self, on_end: Callable[[int, Outcome | None], None]) -> None:
        """Let every executor run."""
        for handle in self._handles.values():
            handle.run(on_end)

    def read_model(self, epoch_count: int) -> Array:
        """The whole model after `epoch_count` epochs (under SSP and async: as it is)."""
        clock = epoch_count * self._plan.schedule.batch_count
        if self._plan.sync.consistency != "bsp":
            return np.array(self._client.multi_get())
        return np.array(self._client.read(self._client.batch_plan(None), clock, None)[0])

    def read_state(self) -> Rows:
        """All instances' state columns, ordered by id; workers must be between epochs."""
        parts = []
        for number in self._plan.roles.workers:
            reply = self._peers.connection(number).submit(Kind.READ_STATE, b"").wait()
            parts.append(decode_rows(decode_json(reply.meta), memoryview(reply.payload)))
        return merged_state(parts)

    def close(self) -> None:
        """Drop the controller's connections."""
        self._peers.close()
        self._arena.close()

    def _assignment(self, executor: int, first_epoch: int) -> Assignment:
        plan = self._plan
        return Assignment(
            generation=self.number,
            app=plan.app,
            schedule=plan.schedule,
            table=plan.table,
            sync=plan.sync,
            ownership=self._model_owners,
            endpoints={**self._endpoints, CONTROLLER: self._controller},
            rank=plan.roles.rank_of(executor),
            first_epoch=first_epoch,
        )

    def _send_data(self, rows: Rows) -> None:
        # A small mini-batch is a stretch of neighbouring blocks: dealt, it uses every worker.
        owners = Ownership.dealt(self._plan.schedule.block_count, self._plan.roles.workers)
        calls = []
        for block, part in deal_blocks(rows, self._plan.schedule).items():
            described, arrays = encode_rows(part)
            head = {"generation": self.number, "block": block, "arrays": described}
            connection = self._peers.connection(int(owners.owners[block]))
            calls.append(connection.submit(Kind.LOAD_ROWS, encode_json(head), arrays))
        for call in calls:
            call.wait()
