"""A worker's view of a model that lives on parameter servers (`ModelPort` over a `TableClient`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.client.model_copy import ModelCopy
from motet.runtime.client.routes import KeyPlan
from motet.runtime.client.table_client import TableClient
from motet.runtime.core.application import Step, Update
from motet.runtime.core.partial_updates import PartialUpdate
from motet.runtime.core.schedule import BatchKeys
from motet.runtime.core.subtask import Transfer, monotonic_us
from motet.runtime.core.sums import Place
from motet.runtime.wire.table_requests import PushHead
from motet.transport.unused_memory import return_unused_memory

_NO_KEYS = np.empty(0, np.int64)
_NOT_COPIED = -1


def _never() -> bool:
    return False


def _no_matter(nbytes: int) -> None:
    del nbytes


# A larger buffer is allocated for every mini-batch, so that it takes no memory during PUSH, when
# the owners need memory for the sum.
MOST_KEPT_BYTES = 16 << 20
_LARGE_BYTES = 1 << 20


class RemoteModel:
    """Pulls into a buffer, reused unless it is large; remembers how batches' keys are divided.

    A table that exchanges changes is pulled into a copy of the whole model. Under BSP it stays the
    same until this worker contributes, so it is pulled once for a mini-batch.
    """

    def __init__(
        self,
        client: TableClient,
        rank: int,
        place: Place,
        finished_clock: int,
        *,
        is_lockstep: bool = False,
        pulls_ahead: bool = False,
        pulls_with_push: Callable[[], bool] = _never,
        require: Callable[[int], None] = _no_matter,
    ) -> None:
        """`finished_clock`: `pull_all` waits for every mini-batch before this one.

        `is_lockstep`: whether the job runs under BSP. `pulls_ahead`: whether pulled values are used
        during the next pull, too, so that there are two buffers; only of a table that exchanges
        rows. `pulls_with_push`: whether `push` may pull the next mini-batch's changes by the same
        requests, for which it waits for the other workers; only if `is_lockstep`. `require`: called
        before so many bytes of memory are taken, for pulled values and for a delta that has as many
        rows.
        """
        self._require = require
        self._client = client
        self._rank = rank
        self.place = place
        self._plans: dict[BatchKeys, KeyPlan] = {}
        self._no_keys = client.batch_plan(_NO_KEYS)
        self._buffers: deque[Array | None] = deque([None] * (2 if pulls_ahead else 1))
        if client.spec.model.exchanges_changes:
            require(client.spec.model.nbytes)
        self._copy = client.copy() if client.spec.model.exchanges_changes else None
        self._copied_clock = _NOT_COPIED
        self._pulled_early_bytes = 0
        self._is_lockstep = is_lockstep
        self._pulls_with_push = pulls_with_push
        self.finished_clock = finished_clock
        self._wait_us = 0

    @property
    def key_count(self) -> int:
        """Keys of the whole model."""
        return self._client.spec.model.key_count

    def await_start(self, step: Step) -> Transfer:
        """Wait until every block contains the mini-batches before this one; moves no values."""
        _, transfer = self._read(self._no_keys, step.clock)
        self._wait_us += transfer.wait_us
        return transfer

    def pull(self, part: BatchKeys, step: Step) -> tuple[Array, Transfer]:
        """The values of `part.keys` as of the mini-batch's start; valid until the next pull, or,
        with `pulls_ahead`, until the one after it."""
        plan = self._plan(part)
        if self._copy is None:
            self._require_for(plan, self._client.spec.model.delta_bytes)
        values, transfer = self._read(plan, step.clock)
        self._wait_us += transfer.wait_us
        return values, transfer

    def pull_zeros(self, part: BatchKeys, step: Step) -> tuple[Array, Transfer]:
        """See ModelPort."""
        model = self._client.spec.model
        zeros = model.zeros(part.keys)
        if (delta_bytes := len(zeros) * model.delta_bytes) >= _LARGE_BYTES:
            self._require(delta_bytes)
        return zeros, self.await_start(step)

    def fetch(self, keys: Indices | None, step: Step) -> tuple[Array, Transfer]:
        """Values beside those of `pull`, as of the mini-batch's start; it must not have ended."""
        return self._client.read(self._client.plan(keys), step.clock, None, self._rank)

    def push(self, part: BatchKeys, update: Update | None, step: Step) -> Transfer:
        """Contribute `update` (None: this worker has no instances in the mini-batch)."""
        return self._contribute(self._plan(part), update, part.instances, step)

    def push_at(self, sums: PartialUpdate | None, instances: int, step: Step) -> Transfer:
        """As `push`, for other keys than a batch's; None: nothing."""
        keys = _NO_KEYS if sums is None else sums.keys
        update = None if sums is None else sums.update
        return self._contribute(self._client.batch_plan(keys), update, instances, step)

    def take_wait_us(self) -> int:
        """How long others were waited for since this was last asked."""
        waited_us, self._wait_us = self._wait_us, 0
        return waited_us

    def pull_all(self) -> Array:
        """The whole model, with every mini-batch before `finished_clock` in it."""
        plan = self._client.batch_plan(None)
        if self._copy is None:
            self._require_for(plan)
            if self._client.spec.model.nbytes > MOST_KEPT_BYTES:
                return_unused_memory()  # All workers pull at once: most memory is in use now.
        values, transfer = self._read(plan, self.finished_clock)
        self._wait_us += transfer.wait_us
        return values

    def await_finished(self) -> None:
        """See ModelPort; counts the mini-batches of this worker where it sends no PUSH."""
        self._read(self._no_keys, self.finished_clock)

    def end_pull(self) -> None:
        """The values of the last pull are not needed any more; many of them leave the memory."""
        for index, buffer in enumerate(self._buffers):
            if buffer is not None and buffer.nbytes > MOST_KEPT_BYTES:
                self._buffers[index] = None

    def forget_batches(self) -> None:
        """Drop the plans of a share that the worker no longer has."""
        self._plans.clear()

    def _contribute(
        self, plan: KeyPlan, update: Update | None, instances: int, step: Step
    ) -> Transfer:
        self.end_pull()
        if update is not None and update.statistics:
            step = replace(step, statistics=update.statistics)
        head = PushHead(self._rank, step, instances, True, self.place)
        delta = None if update is None else update.delta
        if self._copy is None or not (self._is_lockstep and self._pulls_with_push()):
            return self._client.contribute(plan, delta, head)
        transfer, self._pulled_early_bytes = self._client.exchange(self._copy, delta, head)
        self._copied_clock = step.clock + 1
        self._wait_us += transfer.wait_us
        return transfer

    def _read(self, plan: KeyPlan, clock: int) -> tuple[Array, Transfer]:
        if self._copy is not None and plan.keys is None:
            return self._copy.values, self._refresh(self._copy, clock)
        return self._client.read(plan, clock, self._room(plan.length), self._rank)

    def _require_for(self, plan: KeyPlan, delta_bytes: int = 0) -> None:
        """`delta_bytes`: of the delta of one key."""
        buffer = self._buffers[0]
        is_here = buffer is not None and len(buffer) >= plan.length
        value_bytes = 0 if is_here else self._client.spec.model.value_bytes
        if (nbytes := plan.length * (value_bytes + delta_bytes)) >= _LARGE_BYTES:
            self._require(nbytes)

    def _refresh(self, copy: ModelCopy, clock: int) -> Transfer:
        """Bring the copy to the values as of mini-batch `clock`'s start, if it is not there."""
        if clock == self._copied_clock:
            pulled_bytes, self._pulled_early_bytes = self._pulled_early_bytes, 0
            now_us = monotonic_us()
            return Transfer(pulled_bytes, now_us, now_us)
        transfer = self._client.refresh(copy, clock, self._rank)
        if self._is_lockstep:
            self._copied_clock = clock
        return transfer

    def _plan(self, part: BatchKeys) -> KeyPlan:
        plan = self._plans.get(part)
        if plan is None:
            plan = self._plans[part] = self._client.batch_plan(part.keys)
        return plan

    def _room(self, length: int) -> Array:
        buffer = self._buffers.popleft()
        if buffer is None or len(buffer) < length:
            buffer = self._client.buffer(length)
        self._buffers.append(buffer)
        return buffer[:length]
