"""A worker's view of a model that lives on parameter servers (`ModelPort` over a `TableClient`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from motet.runtime.accumulator import Place
from motet.runtime.application import Batch, Step, Update
from motet.runtime.messages import PushHead
from motet.runtime.routes import KeyPlan
from motet.runtime.table_client import TableClient
from motet.runtime.worker import Transfer

Array = NDArray[Any]


class RemoteModel:
    """Pulls into one reused buffer; remembers how each mini-batch's keys are divided."""

    def __init__(self, client: TableClient, rank: int, place: Place, finished_clock: int) -> None:
        """`finished_clock`: `pull_all` waits for every mini-batch before this one."""
        self._client = client
        self._rank = rank
        self.place = place
        self._plans: dict[int, KeyPlan] = {}
        self._buffer: Array | None = None
        self.finished_clock = finished_clock

    def pull(self, batch: Batch, step: Step) -> tuple[Array, Transfer]:
        """The values of `batch.keys` as of the mini-batch's start; valid until the next pull."""
        plan = self._plan(batch)
        return self._client.read(plan, step.clock, self._room(plan.length))

    def push(self, batch: Batch, update: Update | None, step: Step) -> Transfer:
        """Contribute `update` (None: this worker has no instances in the mini-batch)."""
        statistics = () if update is None else update.statistics
        step = replace(step, statistics=statistics)
        head = PushHead(self._rank, step, len(batch.rows), True, self.place)
        delta = None if update is None else update.delta
        return self._client.contribute(self._plan(batch), delta, head)

    def pull_all(self) -> Array:
        """The whole model, with every mini-batch before `finished_clock` in it."""
        plan = self._client.batch_plan(None)
        return self._client.read(plan, self.finished_clock, self._room(plan.length))[0]

    def forget_batches(self) -> None:
        """The worker's batches will be made anew."""
        self._plans.clear()

    def _plan(self, batch: Batch) -> KeyPlan:
        plan = self._plans.get(id(batch))
        if plan is None:
            plan = self._plans[id(batch)] = self._client.batch_plan(batch.keys)
        return plan

    def _room(self, length: int) -> Array:
        if self._buffer is None or len(self._buffer) < length:
            self._buffer = self._client.buffer(length)
        return self._buffer[:length]
