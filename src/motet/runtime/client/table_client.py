"""The client's side of a table: get, put, update for one key or many, and a mini-batch's COMM.

`motet.runtime.client.routed_calls` sends the requests.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.client.model_copy import DividedChanges, ModelCopy
from motet.runtime.client.routed_calls import Peers, RoutedCalls
from motet.runtime.client.routes import KeyPlan, Route
from motet.runtime.core.subtask import Transfer
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.wire.messages import RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import (
    ANY_CLOCK,
    NO_GENERATION,
    NO_WORKER,
    PushHead,
)

_CLIENT = struct.Struct("<Q")
_NO_CHANGES = np.empty((2, 0), np.int64)


Keys: TypeAlias = "Indices | Sequence[int] | KeyPlan | None"


class TableClient:
    """One client's view of one table. Safe to use from several threads."""

    def __init__(
        self,
        spec: TableSpec,
        ownership: Ownership,
        peers: Peers,
        client: int,
        generation: int = NO_GENERATION,
        *,
        pulls_in_chunks: bool = False,
    ) -> None:
        """`client`: a number that no other client of the table has (64 bits).

        `generation`: of the job that the table belongs to. `pulls_in_chunks`: see RoutedCalls.
        """
        self.spec = spec
        self._calls = RoutedCalls(
            spec, ownership, peers, generation, pulls_in_chunks=pulls_in_chunks
        )
        self._peers = peers
        self._client = _CLIENT.pack(client)
        self._lock = threading.Lock()
        self._next_numbers = np.zeros(spec.block_count, dtype=np.uint64)
        self._everything = KeyPlan(spec.partition, None, cover_all=True)

    # -- single keys -----------------------------------------------------------------------------

    def get(self, key: int) -> Array:
        """The value of a key, `value_shape`."""
        value: Array = self.multi_get(np.array([key]))[0]
        return value

    def put(self, key: int, value: Array) -> None:
        """Replace the value of a key; returns once the owner has done it."""
        self.multi_put(np.array([key]), np.asarray(value)[None])

    def update(self, key: int, delta: Array) -> None:
        """Run the table's update function on a key; returns once the owner has done it."""
        self.multi_update(np.array([key]), np.asarray(delta)[None])

    # -- many keys -------------------------------------------------------------------------------

    def plan(self, keys: Indices | None) -> KeyPlan:
        """Divide unique keys (None: all) into blocks once, for repeated use.

        Raises IndexError for a key outside the table.
        """
        if keys is None:
            return self._everything
        self._check(keys)
        return KeyPlan(self.spec.partition, keys, cover_all=False)

    def multi_get(self, keys: Keys = None, out: Array | None = None) -> Array:
        """The values of unique keys in their order, `(len(keys), *value_shape)`; None: all."""
        return self.read(self._as_plan(keys), ANY_CLOCK, out)[0]

    def multi_put(self, keys: Keys, values: Array) -> None:
        """Replace the values of unique keys (None: all)."""
        model = self.spec.model
        self._write(RequestKind.PUT, self._as_plan(keys), values, model.value_shape, model.dtype)

    def multi_update(self, keys: Keys, deltas: Array) -> None:
        """Run the update function on unique keys (None: all), exactly once."""
        model = self.spec.model
        if model.exchanges_changes:
            raise ValueError("this table exchanges changes; contribute them to a mini-batch")
        shape, dtype = model.delta_value_shape, model.delta_value_dtype
        self._write(RequestKind.UPDATE, self._as_plan(keys), deltas, shape, dtype)

    # -- mini-batches ----------------------------------------------------------------------------

    def batch_plan(self, keys: Indices | None) -> KeyPlan:
        """A plan for a mini-batch: names every block, because each block counts all workers."""
        if keys is None:
            return self._everything
        self._check(keys)
        return KeyPlan(self.spec.partition, keys, cover_all=True)

    def buffer(self, length: int) -> Array:
        """Room for the values of `length` keys that `read` can fill without another copy."""
        model = self.spec.model
        return self._peers.empty((length, *model.value_shape), model.dtype)

    def read(
        self, plan: KeyPlan, clock: int, out: Array | None, rank: int = NO_WORKER
    ) -> tuple[Array, Transfer]:
        """Values as of mini-batch `clock`'s start; `rank`: of the worker that reads."""
        destination = self.buffer(plan.length) if out is None else out
        return destination, self._calls.fetch(plan, clock, destination, rank)

    def copy(self) -> ModelCopy:
        """An empty copy of a table that exchanges changes, for `refresh`."""
        return ModelCopy(self.spec)

    def refresh(self, copy: ModelCopy, clock: int, rank: int) -> Transfer:
        """Bring a copy to the values as of mini-batch `clock`'s start; only changes are sent."""
        return self._calls.refresh(self._everything, clock, copy, rank)

    def contribute(self, plan: KeyPlan, delta: Array | None, head: PushHead) -> Transfer:
        """Send a worker's part of a mini-batch (None: nothing, then `plan` has no keys).

        If the table exchanges changes, `delta` is `(2, n)` and `plan` is of all keys.
        """
        model = self.spec.model
        if model.exchanges_changes:
            divided, clock = self._divided(delta), head.step.clock
            return self._calls.send_changes(self._everything, divided, clock, head.encode())
        if delta is None:
            delta = np.empty((0, *model.delta_value_shape), model.delta_value_dtype)
        delta = np.ascontiguousarray(delta, model.delta_value_dtype)
        last = head.encode()

        def extra(_: Route, is_last: bool) -> bytes:
            return last if is_last else replace(head, is_last=False).encode()

        return self._calls.send(RequestKind.PUSH, plan, delta, head.step.clock, extra)

    def exchange(
        self, copy: ModelCopy, delta: Array | None, head: PushHead
    ) -> tuple[Transfer, int]:
        """`contribute`, then `refresh` for the next mini-batch; BSP only.

        Waits until all workers have contributed. Returns the transfer with the bytes that were
        pushed, and the bytes that were pulled.
        """
        divided, clock = self._divided(delta), head.step.clock
        return self._calls.exchange(self._everything, divided, clock, head.encode(), copy)

    # -- ownership -------------------------------------------------------------------------------

    def learn(self, ownership: Ownership) -> None:
        """Take a newer ownership table."""
        self._calls.learn(ownership)

    @property
    def ownership(self) -> Ownership:
        """The newest ownership table known here."""
        return self._calls.ownership

    def _divided(self, delta: Array | None) -> DividedChanges:
        return DividedChanges(self.spec, _NO_CHANGES if delta is None else delta)

    def _as_plan(self, keys: Keys) -> KeyPlan:
        if keys is None or isinstance(keys, KeyPlan):
            return keys or self._everything
        return self.plan(np.asarray(keys, dtype=np.int64))

    def _write(
        self,
        kind: RequestKind,
        plan: KeyPlan,
        values: Array,
        value_shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None:
        values = np.ascontiguousarray(values, dtype)
        if values.shape != (plan.length, *value_shape):
            raise ValueError(
                f"values of shape {values.shape} for {plan.length} keys; "
                f"this table takes {(plan.length, *value_shape)}"
            )
        with self._lock:
            numbers = self._next_numbers.copy()
            self._next_numbers[plan.block_numbers] += 1

        def extra(route: Route, is_last: bool) -> bytes:
            del is_last
            return self._client + numbers[route.selection.blocks].tobytes()

        self._calls.send(kind, plan, values, ANY_CLOCK, extra)

    def _check(self, keys: Indices) -> None:
        if not len(keys):
            return
        if int(keys.min()) < 0 or int(keys.max()) >= self.spec.model.key_count:
            raise IndexError(
                f"keys {int(keys.min())}..{int(keys.max())}: "
                f"the table has keys 0..{self.spec.model.key_count - 1}"
            )
        if len(np.unique(keys)) < len(keys):
            raise ValueError("a key is named twice; sum its deltas first")
