"""Requests about tensors, sent to wherever the tensors are, and sent again until they are answered.

A request about several tensors has a part for each Aggregator. A part that finds a tensor moved did
nothing and is sent to the new place; a part whose connection broke is sent again too, because an
Aggregator counts nothing twice.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from motet.aggregation.agent.routes import RouteSource, TensorRoutes
from motet.aggregation.wire.client_names import agent_name
from motet.aggregation.wire.locations import Locations, decode_locations
from motet.aggregation.wire.message_kinds import AggregatorRequest, TensorStatus
from motet.domain.errors import ConnectionLost, Unreachable
from motet.transport import Arena, Buffer, Call, Connection, Endpoint, Reply

LOST_AFTER_S = 60.0
"""How long to look for a lost Aggregator or for what replaces it."""
FIRST_LOOK_S, LOOK_EVERY_S = 0.002, 0.5
"""When a waiting thread looks at the answers that it does not wait for: soon, since one of them may
say that a tensor has moved, and then ever more seldom."""
_KEPT_BYTES = 256 << 20
"""Memory of copies up to this size stays resident when it is unused, as much in all."""
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.5


class Message(NamedTuple):
    """What one part of an operation sends, and where its answer goes."""

    head: bytes
    buffers: Sequence[Buffer] = ()
    into: Sequence[Buffer] | None = None


@dataclass(frozen=True, eq=False)
class _Part:
    tensors: tuple[int, ...]
    endpoint: Endpoint
    call: Call


@dataclass(eq=False)
class TensorOperation:
    """A request about tensors. `message`: for some of them; `on_reply`: of each part.

    `has_locations`: whether a reply's meta has new locations.
    """

    kind: AggregatorRequest
    tensors: tuple[int, ...]
    message: Callable[[tuple[int, ...]], Message]
    on_reply: Callable[[tuple[int, ...], Reply], None] | None = None
    has_locations: bool = False
    parts: list[_Part] = field(default_factory=list)


class TensorCalls:
    """One Agent's requests. Not thread-safe.

    `on_lost(tensors)`: tensors had to be looked for after their Aggregator was lost, or has given
    them up: what it may have received has to be sent again, also by requests that are not awaited.
    """

    def __init__(
        self, source: RouteSource, rank: int, on_lost: Callable[[list[int]], None]
    ) -> None:
        # Copies of the same tensors in each step: to get the pages anew takes longer than the copy.
        self.arena = Arena(large_bytes=_KEPT_BYTES)
        self._source = source
        self._rank = rank
        self._on_lost = on_lost
        self._routes: TensorRoutes | None = None
        self._job = 0
        self._endpoints: list[Endpoint] = []
        self._splits: dict[tuple[int, ...], list[tuple[Endpoint, tuple[int, ...]]]] = {}
        self._connections: dict[Endpoint, Connection] = {}
        self._unawaited: list[TensorOperation] = []
        self._kept_count = 0
        self._repeated_at: dict[int, int] = {}

    def open(self, routes: TensorRoutes) -> None:
        """Begin with a mapping table."""
        self._routes = routes
        self._job = routes.job
        self._endpoints = [routes.endpoint_of(n) for n in range(len(routes.aggregator_of))]
        self._splits.clear()

    def endpoint_of(self, tensor: int) -> Endpoint:
        """Where a tensor is, as far as known."""
        return self._endpoints[tensor]

    def by_endpoint(self, tensors: tuple[int, ...]) -> tuple[int, ...]:
        """Tensors of one Aggregator after those of another."""
        found = self._by_endpoint(tensors)
        return tuple([tensor for _, numbers in found for tensor in numbers])

    def submit(self, operation: TensorOperation, *, is_awaited: bool = True) -> None:
        """Send an operation; if not awaited, its answers are looked at now and then."""
        if not is_awaited:
            self._unawaited.append(operation)
        self._send(operation, operation.tensors)

    def settle(self, operation: TensorOperation, timeout_s: float | None = None) -> None:
        """Return once all parts are answered. Raises what went wrong, or TimeoutError."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        slice_s = FIRST_LOOK_S
        while operation.parts:
            part = operation.parts[0]
            if not part.call.is_done:
                self._look_while_waiting(part.call, slice_s, deadline_s)
                slice_s = min(2 * slice_s, LOOK_EVERY_S)
            else:
                operation.parts.remove(part)
                self._conclude(operation, part)

    def look(self) -> None:
        """Handle the answers that nothing waits for. Raises what went wrong."""
        self._read_arrived()
        self._conclude_arrived()

    def close(self) -> None:
        """Close all connections."""
        while self._connections:
            self._connections.popitem()[1].close()
        self.arena.close()

    def _look_while_waiting(self, call: Call, slice_s: float, deadline_s: float | None) -> None:
        if deadline_s is not None:
            slice_s = min(slice_s, deadline_s - time.monotonic())
        try:
            _await_answer(call, max(slice_s, 0.0))
        except TimeoutError:
            if deadline_s is not None and time.monotonic() >= deadline_s:
                raise
            self.look()

    def _read_arrived(self) -> None:
        """Read what has arrived from each Aggregator: one of whose tensors none is used any more
        (it moved) gets no request that is waited for.
        """
        calls = {
            part.endpoint: part.call
            for operation in self._unawaited
            for part in operation.parts
            if not part.call.is_done
        }
        for call in calls.values():
            with suppress(TimeoutError):
                _await_answer(call, 0.0)

    def _conclude_arrived(self) -> None:
        """In the order of the requests, in which they are sent again."""
        for operation in list(self._unawaited):
            for part in [part for part in operation.parts if part.call.is_done]:
                if part in operation.parts:  # An answer before it may have made it obsolete.
                    operation.parts.remove(part)
                    self._conclude(operation, part)
            if not operation.parts and operation in self._unawaited:
                self._unawaited.remove(operation)

    def _conclude(self, operation: TensorOperation, part: _Part) -> None:
        """Handle the answer to a part; the part is no longer in the operation."""
        try:
            reply = part.call.wait()
        except Unreachable as error:
            self._replace(part.endpoint, error)
            self._send(operation, part.tensors)
            return
        if reply.status == TensorStatus.MOVED:
            self._follow(operation, part, decode_locations(reply.meta))
            return
        self._kept_count += 1
        if operation.has_locations and reply.meta:
            self._learn(decode_locations(reply.meta), part.endpoint)
        if operation.on_reply is not None:
            operation.on_reply(part.tensors, reply)

    def _follow(self, operation: TensorOperation, part: _Part, locations: Locations) -> None:
        """Send a part again to where its tensors are now."""
        self._repeat(self._learn(locations, part.endpoint))
        if operation not in self._unawaited:
            self._conclude_arrived()  # Earlier requests have found the tensor moved too.
        self._send(operation, part.tensors)

    def _repeat(self, lost: Sequence[int]) -> None:
        """Send all again that an Aggregator has answered and may have given up with its tensors.
        What is not answered, as what was sent again since the last answer, is known to be open."""
        new = [n for n in lost if self._repeated_at.get(n) != self._kept_count]
        if new:
            self._repeated_at.update(dict.fromkeys(new, self._kept_count))
            self._on_lost(new)

    def _send(self, operation: TensorOperation, tensors: Sequence[int]) -> None:
        for endpoint, found in self._by_endpoint(tuple(tensors)):
            message = operation.message(found)
            try:
                call = self._connection(endpoint).submit(operation.kind, *message)
            except Unreachable as error:
                self._replace(endpoint, error)
                self._send(operation, found)
            else:
                operation.parts.append(_Part(found, endpoint, call))

    def _by_endpoint(self, tensors: tuple[int, ...]) -> list[tuple[Endpoint, tuple[int, ...]]]:
        """The tensors at each Aggregator. Steps repeat the same questions."""
        known = self._splits.get(tensors)
        if known is None:
            found: dict[Endpoint, list[int]] = defaultdict(list)
            for tensor in tensors:
                found[self._endpoints[tensor]].append(tensor)
            known = [(endpoint, tuple(numbers)) for endpoint, numbers in found.items()]
            self._splits[tensors] = known
        return known

    def _place(self, tensor: int, endpoint: Endpoint) -> None:
        if self._endpoints[tensor] != endpoint:
            self._endpoints[tensor] = endpoint
            self._splits.clear()

    def _connection(self, endpoint: Endpoint) -> Connection:
        assert self._routes is not None
        if endpoint not in self._connections:
            self._connections[endpoint] = Connection(
                endpoint,
                self._routes.secret,
                client_id=agent_name(self._routes.job, self._rank),
                arena=self.arena,
                retry_for_s=0.0,
            )
        return self._connections[endpoint]

    def _learn(self, locations: Locations, asked: Endpoint) -> list[int]:
        """Returns the tensors of which `asked` knows no place."""
        for tensor, encoded in locations.items():
            if encoded and 0 <= tensor < len(self._endpoints):
                self._place(tensor, Endpoint.decode(encoded))
        lost = [n for n in locations if not locations[n] and self._endpoints[n] == asked]
        if lost:
            self._look_up(lost)
        return lost

    def _look_up(self, tensors: Sequence[int]) -> None:
        """Ask the source where tensors are."""
        assert self._routes is not None
        time.sleep(_SHORTEST_PAUSE_S)  # The source is asked again if it is not up to date.
        self._routes = self._source.refresh(self._routes)
        for tensor in tensors:
            self._place(tensor, self._routes.endpoint_of(tensor))

    def _replace(self, endpoint: Endpoint, error: Unreachable) -> None:
        """After a connection broke: find the Aggregators of its tensors, and send again."""
        connection = self._connections.pop(endpoint, None)
        if connection is not None:
            connection.close()
        lost = [n for n, found in enumerate(self._endpoints) if found == endpoint]
        if not lost:  # Another part of the same connection has been here.
            return
        give_up_s = time.monotonic() + LOST_AFTER_S
        pause_s = _SHORTEST_PAUSE_S
        while not self._is_found(lost):
            if time.monotonic() > give_up_s:
                raise ConnectionLost(
                    f"rank {self._rank}: no Aggregator for {len(lost)} tensors of job "
                    f"{self._job} within {LOST_AFTER_S:g} s: {error}"
                )
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        self._forget_lost_parts()
        self._on_lost(lost)

    def _is_found(self, lost: Sequence[int]) -> bool:
        """Whether the source knows an Aggregator for each that can be reached."""
        assert self._routes is not None
        self._routes = self._source.refresh(self._routes)
        for tensor in lost:
            self._place(tensor, self._routes.endpoint_of(tensor))
        try:
            for endpoint in {self._endpoints[tensor] for tensor in lost}:
                self._connection(endpoint)
        except Unreachable:
            return False
        return True

    def _forget_lost_parts(self) -> None:
        """Unawaited requests on broken connections: `on_lost` sends them again."""
        open_endpoints = self._connections.keys()
        for operation in self._unawaited:
            operation.parts = [
                part
                for part in operation.parts
                if part.endpoint in open_endpoints and not _is_lost(part.call)
            ]


def _await_answer(call: Call, timeout_s: float) -> None:
    """Raises TimeoutError; an error that is the answer is left to `_conclude`."""
    try:
        call.wait(timeout_s)
    except TimeoutError:
        raise
    except Exception:
        if not call.is_done:
            raise


def _is_lost(call: Call) -> bool:
    if not call.is_done:
        return False
    try:
        call.wait()
    except Unreachable:
        return True
    except Exception:
        return False
    return False
