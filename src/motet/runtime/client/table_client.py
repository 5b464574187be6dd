"""The client's side of a table: get, put, update for one key or many, and a mini-batch's COMM.

Every request names (table, blocks, ownership version). MOVED answers teach the client the newer
ownership table and the request goes to the new owner with the same sequence numbers, so an
application never notices that a block moved.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.domain.errors import JobFailed
from motet.runtime.client.routes import KeyPlan, Route
from motet.runtime.core.subtask import monotonic_us
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.core.transfer import Transfer
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.messages import ReplyStatus, RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import ANY_CLOCK, WAIT, PushHead, encode_target
from motet.transport import Call, Connection, Reply

PUSH_CHUNK_BYTES = 2 << 20
_MOST_REDIRECTS = 150_000
_REDIRECT_PAUSE_S = 0.002
_CLIENT = struct.Struct("<Q")


Keys: TypeAlias = "Indices | Sequence[int] | KeyPlan | None"


class Peers(Protocol):
    """Connections to executors by number."""

    def connection(self, executor: int) -> Connection:
        """The connection to an executor, made on first use."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """A receive buffer that peers on this host can fill directly."""
        ...


class TableClient:
    """One client's view of one table. Safe to use from several threads."""

    def __init__(
        self, spec: TableSpec, ownership: Ownership, peers: Peers, generation: int, client: int
    ) -> None:
        """`client`: a number that no other client of the job has (64 bits)."""
        self.spec = spec
        self._ownership = ownership
        self._peers = peers
        self._generation = generation
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
        shape, dtype = model.delta_value_shape, model.delta_value_dtype
        self._write(RequestKind.UPDATE, self._as_plan(keys), deltas, shape, dtype)

    # -- mini-batches ----------------------------------------------------------------------------

    def batch_plan(self, keys: Indices | None) -> KeyPlan:
        """A plan for a mini-batch: names every block, so each block hears of every worker."""
        if keys is None:
            return self._everything
        self._check(keys)
        return KeyPlan(self.spec.partition, keys, cover_all=True)

    def buffer(self, length: int) -> Array:
        """Room for the values of `length` keys that `read` can fill without another copy."""
        model = self.spec.model
        return self._peers.empty((length, *model.value_shape), model.dtype)

    def read(self, plan: KeyPlan, clock: int, out: Array | None) -> tuple[Array, Transfer]:
        """Values as of mini-batch `clock`'s start."""
        model = self.spec.model
        destination = self.buffer(plan.length) if out is None else out

        def prepare(route: Route, origin: Route) -> _Message:
            del origin
            return _Message(
                RequestKind.PULL, self._head(route, clock), (), route.views(destination)
            )

        routes = plan.routes(self._ownership)
        transfer, replies = self._run(plan, routes, prepare, destination.nbytes)
        for route, reply in replies:
            if route.index is not None:
                part = np.frombuffer(reply.payload, model.dtype)
                destination[route.index] = part.reshape(-1, *model.value_shape)
        return destination, transfer

    def contribute(self, plan: KeyPlan, delta: Array | None, head: PushHead) -> Transfer:
        """Send a worker's part of a mini-batch (None: nothing, then `plan` has no keys)."""
        model = self.spec.model
        if delta is None:
            delta = np.empty((0, *model.delta_value_shape), model.delta_value_dtype)
        delta = np.ascontiguousarray(delta, model.delta_value_dtype)
        last, earlier = head.encode(), replace(head, is_last=False).encode()
        clock = head.step.clock
        return self._send(
            RequestKind.PUSH, plan, delta, clock, lambda _, is_last: last if is_last else earlier
        )

    # -- requests --------------------------------------------------------------------------------

    def learn(self, ownership: Ownership) -> None:
        """Take a newer ownership table."""
        with self._lock:
            if ownership.version > self._ownership.version:
                self._ownership = ownership

    @property
    def ownership(self) -> Ownership:
        """The newest ownership table known here."""
        return self._ownership

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

        self._send(kind, plan, values, ANY_CLOCK, extra)

    def _send(
        self,
        kind: RequestKind,
        plan: KeyPlan,
        values: Array,
        clock: int,
        extra: Callable[[Route, bool], bytes],
    ) -> Transfer:
        """Send every owner its part in chunks; `extra` is told which chunk is an owner's last."""
        row_bytes = max(values.nbytes // max(len(values), 1), 1)
        chunks = plan.chunks(self._ownership, max(PUSH_CHUNK_BYTES // row_bytes, 1))
        earlier = {id(one) for one, next_one in pairwise(chunks) if one.owner == next_one.owner}

        def prepare(route: Route, origin: Route) -> _Message:
            meta = self._head(route, clock) + extra(route, id(origin) not in earlier)
            return _Message(kind, meta, route.part_of(values), None)

        return self._run(plan, chunks, prepare, values.nbytes)[0]

    def _run(
        self,
        plan: KeyPlan,
        routes: Sequence[Route],
        prepare: Callable[[Route, Route], _Message],
        payload_bytes: int,
    ) -> tuple[Transfer, list[tuple[Route, Reply]]]:
        """Send every route, wait for all, follow redirections.

        `prepare` is told the route, and which of `routes` it is a part of.
        """
        ready = [(route, prepare(route, route)) for route in routes]
        start_us = monotonic_us()
        if len(ready) == 1:
            route, message = ready[0]
            reply = self._peers.connection(route.owner).submit(*message).wait()
            if reply.status == ReplyStatus.OK:
                wait_us = WAIT.unpack(reply.meta)[0] if reply.meta else 0
                transfer = Transfer(payload_bytes, start_us, monotonic_us(), wait_us)
                return transfer, [(route, reply)]
        pending = deque((route, route, self._submit(route, message)) for route, message in ready)
        replies: list[tuple[Route, Reply]] = []
        wait_us, redirects = 0, 0
        while pending:
            route, origin, call = pending.popleft()
            reply = call.wait()
            if reply.status == ReplyStatus.OK:
                replies.append((route, reply))
                if len(reply.meta):
                    wait_us = max(wait_us, int(WAIT.unpack(reply.meta)[0]))
            elif reply.status == ReplyStatus.MOVED:
                redirects = 0 if self._learn_from(reply) else redirects + 1
                self._require_progress(redirects, route)
                for new in plan.split(route.selection.blocks.tolist(), self._ownership):
                    message = prepare(new, origin)
                    pending.append((new, origin, self._submit(new, message)))
            else:
                raise StaleGeneration(f"generation {self._generation} of the job has ended")
        return Transfer(payload_bytes, start_us, monotonic_us(), wait_us), replies

    def _submit(self, route: Route, message: _Message) -> Call:
        return self._peers.connection(route.owner).submit(*message)

    def _learn_from(self, reply: Reply) -> bool:
        """Take the owner's table; pause when it is no newer (the block is on its way there)."""
        known = self._ownership.version
        self.learn(Ownership.decode(reply.meta))
        if self._ownership.version != known:
            return True
        time.sleep(_REDIRECT_PAUSE_S)
        return False

    def _require_progress(self, redirects: int, route: Route) -> None:
        # Counted, not timed: a request may wait long for its mini-batch before its block moves.
        if redirects > _MOST_REDIRECTS:
            raise JobFailed(
                f"blocks {route.selection.blocks[:5].tolist()}... of table {self.spec.number} "
                f"found no owner: redirected {redirects} times in a row"
            )

    def _head(self, route: Route, clock: int) -> bytes:
        rows = route.selection.rows
        return encode_target(
            self._generation,
            self.spec.number,
            self._ownership.version,
            clock,
            len(route.selection.blocks),
            None if rows is None else len(rows),
            route.encoded,
        )

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


class _Message(NamedTuple):
    """What one owner is sent, and where its reply goes."""

    kind: RequestKind
    meta: bytes
    buffers: Sequence[Array]
    into: Sequence[Array] | None
