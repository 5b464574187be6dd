"""Requests to the owners of blocks, sent again to the new owner when a block has moved.

Every request names (table, blocks, ownership version). A MOVED reply contains a newer ownership
table, and the request goes to the new owner with the same sequence numbers, so callers do not
notice that a block moved.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.client.model_copy import DividedChanges, ModelCopy
from motet.runtime.client.routes import KeyPlan, Route
from motet.runtime.core.subtask import Transfer, monotonic_us
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.wire.changes_payload import encode_revisions
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.messages import ReplyStatus, RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import NO_WORKER, WAIT, PullHead, encode_target
from motet.transport import Call, Reply, Requester

CHUNK_BYTES = 2 << 20
# Requests to one owner at a time: enough to overlap copying with adding up, and each has a copy of
# its payload in memory that is shared with the owner.
MOST_AT_ONCE = 8
_MOST_REDIRECTS = 150_000
_REDIRECT_PAUSE_S = 0.002


class Peers(Protocol):
    """Connections to executors by number."""

    def connection(self, executor: int) -> Requester:
        """The connection to an executor, made on first use."""
        ...

    def is_here(self, executor: int) -> bool:
        """Whether this thread carries out what it asks of the executor."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """A receive buffer that peers on this host can fill directly."""
        ...


class RoutedMessage(NamedTuple):
    """The request to one owner, and the arrays that its reply fills (None: none)."""

    kind: RequestKind
    meta: bytes
    buffers: Sequence[Array]
    into: Sequence[Array] | None


_Pending: TypeAlias = "tuple[Route, Route, Call]"


class RoutedCalls:
    """Calls of one client to the owners of one table. Safe to use from several threads."""

    def __init__(
        self,
        spec: TableSpec,
        ownership: Ownership,
        peers: Peers,
        generation: int,
        *,
        pulls_in_chunks: bool = False,
    ) -> None:
        """`generation`: of the job that the table belongs to. `pulls_in_chunks`: an owner is asked
        for few values at a time, because its blocks may not fit into its memory together."""
        self._pulls_in_chunks = pulls_in_chunks
        self._spec = spec
        self._ownership = ownership
        self._peers = peers
        self._generation = generation
        self._lock = threading.Lock()

    @property
    def ownership(self) -> Ownership:
        """The newest ownership table that a reply or `learn` has brought."""
        return self._ownership

    def learn(self, ownership: Ownership) -> None:
        """Take a newer ownership table."""
        with self._lock:
            if ownership.version > self._ownership.version:
                self._ownership = ownership

    def fetch(self, plan: KeyPlan, clock: int, out: Array, rank: int = NO_WORKER) -> Transfer:
        """Fill `out: (len(keys), ...)` with the values as of mini-batch `clock`'s start.

        `rank`: of the worker that reads.
        """
        extra = tuple.__new__(PullHead, (rank,)).encode()  # Faster than its constructor.

        def prepare(route: Route, origin: Route) -> RoutedMessage:
            del origin
            meta = self.head(route, clock) + extra
            return tuple.__new__(RoutedMessage, (RequestKind.PULL, meta, (), route.views(out)))

        transfer, replies = self._run(plan, self._routes(plan), prepare, out.nbytes)
        for route, reply in replies:
            if route.index is not None:
                part = np.frombuffer(reply.payload, self._spec.model.dtype)
                out[route.index] = part.reshape(-1, *self._spec.model.value_shape)
        return transfer

    def send(
        self,
        kind: RequestKind,
        plan: KeyPlan,
        values: Array,
        clock: int,
        extra: Callable[[Route, bool], bytes],
    ) -> Transfer:
        """Send every owner its part in chunks.

        `extra(route, is_last)` follows the head; `is_last`: whether it is the owner's last chunk.
        """
        row_bytes = max(values.nbytes // max(len(values), 1), 1)
        chunks = plan.chunks(self._ownership, max(CHUNK_BYTES // row_bytes, 1))
        earlier = {id(one) for one, next_one in pairwise(chunks) if one.owner == next_one.owner}

        def prepare(route: Route, origin: Route) -> RoutedMessage:
            meta = self.head(route, clock) + extra(route, id(origin) not in earlier)
            return tuple.__new__(RoutedMessage, (kind, meta, route.part_of(values), None))

        return self._run(plan, chunks, prepare, values.nbytes)[0]

    def refresh(self, plan: KeyPlan, clock: int, copy: ModelCopy, rank: int) -> Transfer:
        """Bring a copy of the table to the values as of mini-batch `clock`'s start.

        `plan`: of all keys; `rank`: of the worker that reads.
        """
        head = PullHead(rank).encode()

        def prepare(route: Route, origin: Route) -> RoutedMessage:
            del origin
            revisions = copy.revisions_of(route.selection.blocks.tolist())
            meta = self.head(route, clock) + head + encode_revisions(revisions)
            return RoutedMessage(RequestKind.REFRESH, meta, (), None)

        transfer, replies = self._run(plan, self._routes(plan), prepare, 0)
        return transfer._replace(payload_bytes=_taken(copy, replies))

    def send_changes(
        self, plan: KeyPlan, changes: DividedChanges, clock: int, head: bytes
    ) -> Transfer:
        """Push every owner its part of the changes; `head`: of the PUSH."""

        def prepare(route: Route, origin: Route) -> RoutedMessage:
            del origin
            payload = changes.payload_of(route.selection.blocks.tolist())
            return RoutedMessage(RequestKind.PUSH, self.head(route, clock) + head, payload, None)

        routes = plan.routes(self._ownership)
        return self._run(plan, routes, prepare, changes.nbytes)[0]

    def exchange(
        self, plan: KeyPlan, changes: DividedChanges, clock: int, head: bytes, copy: ModelCopy
    ) -> tuple[Transfer, int]:
        """`send_changes`, then `refresh` for the next mini-batch, by one request to every owner.

        Returns the transfer with the bytes that were pushed, and the bytes that were pulled.
        """

        def prepare(route: Route, origin: Route) -> RoutedMessage:
            del origin
            blocks = route.selection.blocks.tolist()
            meta = self.head(route, clock) + head + encode_revisions(copy.revisions_of(blocks))
            return RoutedMessage(RequestKind.EXCHANGE, meta, changes.payload_of(blocks), None)

        routes = plan.routes(self._ownership)
        transfer, replies = self._run(plan, routes, prepare, changes.nbytes)
        return transfer, _taken(copy, replies)

    def _routes(self, plan: KeyPlan) -> list[Route]:
        """Of a pull."""
        if not self._pulls_in_chunks:
            return plan.routes(self._ownership)
        row_limit = max(CHUNK_BYTES // max(self._spec.model.value_bytes, 1), 1)
        return plan.chunks(self._ownership, row_limit)

    def _run(
        self,
        plan: KeyPlan,
        routes: Sequence[Route],
        prepare: Callable[[Route, Route], RoutedMessage],
        payload_bytes: int,
    ) -> tuple[Transfer, list[tuple[Route, Reply]]]:
        """Send every route, wait for all, follow redirections.

        `prepare(route, origin)`: `origin` is the one of `routes` that `route` is a part of.
        """
        # While this thread carries out its own part, the other owners are at work.
        ordered = sorted(routes, key=lambda route: self._peers.is_here(route.owner))
        ready = [(route, prepare(route, route)) for route in ordered]
        start_us = monotonic_us()
        pending, later = self._submit_first(ready)
        replies: list[tuple[Route, Reply]] = []
        wait_us, redirects = 0, 0
        while pending:
            route, origin, call = pending.popleft()
            reply = call.wait()
            if later and (following := later.get(origin.owner)):
                next_route, message = following.popleft()
                pending.append((next_route, next_route, self._submit(next_route, message)))
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
        times = (payload_bytes, start_us, monotonic_us(), wait_us)
        return tuple.__new__(Transfer, times), replies

    def _submit_first(
        self, ready: Sequence[tuple[Route, RoutedMessage]]
    ) -> tuple[deque[_Pending], dict[int, deque[tuple[Route, RoutedMessage]]]]:
        """Send every owner its first requests; the calls, and by owner what follows later."""
        later: dict[int, deque[tuple[Route, RoutedMessage]]] = {}
        if len(ready) <= MOST_AT_ONCE:
            return deque([(route, route, self._submit(route, to)) for route, to in ready]), later
        pending: deque[_Pending] = deque()
        sent: dict[int, int] = {}
        for route, message in ready:
            count = sent[route.owner] = sent.get(route.owner, 0) + 1
            if count <= MOST_AT_ONCE:
                pending.append((route, route, self._submit(route, message)))
            else:
                later.setdefault(route.owner, deque()).append((route, message))
        return pending, later

    def _submit(self, route: Route, message: RoutedMessage) -> Call:
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
                f"blocks {route.selection.blocks[:5].tolist()}... of table {self._spec.number} "
                f"found no owner: redirected {redirects} times in a row"
            )

    def head(self, route: Route, clock: int) -> bytes:
        """The head of a request: generation, table, ownership version, clock, blocks and rows."""
        rows = route.selection.rows
        return encode_target(
            self._generation,
            self._spec.number,
            self._ownership.version,
            clock,
            len(route.selection.blocks),
            None if rows is None else len(rows),
            route.encoded,
        )


def _taken(copy: ModelCopy, replies: Sequence[tuple[Route, Reply]]) -> int:
    """Take all replies into the copy; returns their bytes."""
    for route, reply in replies:
        copy.take(route.selection.blocks.tolist(), reply.payload)
    return sum(len(reply.payload) for _, reply in replies)
