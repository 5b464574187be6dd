"""Requests that are sent together: as many calls, in less time."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.errors import BadInput, ConnectionLost
from motet.transport import Arena, Connection, Request, Server, new_secret
from motet.transport.backends.shared_memory import LEND_FROM_BYTES
from motet.transport.framing import JOIN_BYTES
from transport_parts import ECHO, FlakyProxy

STORE = ECHO
SIZES = [0, 1, 4096, JOIN_BYTES, JOIN_BYTES + 1, LEND_FROM_BYTES, 3 * LEND_FROM_BYTES]


class Stored:
    """A handler that keeps what it is sent; a request named "bad" is refused."""

    def __init__(self) -> None:
        self.deliveries: list[tuple[bytes, bytes]] = []

    def __call__(self, request: Request) -> None:
        if request.meta == b"bad":
            raise BadInput("refused")
        self.deliveries.append((request.meta, bytes(request.payload)))
        request.reply()

    @property
    def once(self) -> list[tuple[bytes, bytes]]:
        """Without those that came again."""
        return list(dict.fromkeys(self.deliveries))


def requests_of(sizes: Sequence[int]) -> list[tuple[bytes, memoryview]]:
    return [
        (str(number).encode(), memoryview(bytes([number % 251]) * size))
        for number, size in enumerate(sizes)
    ]


@pytest.mark.parametrize("shared_memory", [False, True], ids=["tcp", "same host"])
def test_requests_of_any_size_arrive_in_their_order(secret: bytes, shared_memory: bool) -> None:
    stored, requests = Stored(), requests_of(SIZES * 3)
    with (
        Server(stored, secret) as server,
        Connection(server.endpoint, secret, shared_memory=shared_memory) as connection,
    ):
        assert not connection.submit_burst(STORE, requests).wait()
        assert connection.outstanding_count == 0
    assert stored.deliveries == [(meta, bytes(view)) for meta, view in requests]


def test_memory_of_the_arena_is_lent_in_place(secret: bytes) -> None:
    stored, arena = Stored(), Arena()
    content = arena.empty(LEND_FROM_BYTES)
    content[:] = 7
    with (
        Server(stored, secret) as server,
        Connection(server.endpoint, secret, arena=arena) as connection,
    ):
        assert not connection.submit_burst(STORE, [(b"0", content.data)]).wait()
        place = arena.find(content.data)
        taken = arena.take(LEND_FROM_BYTES)
        assert place is not None
        assert taken.offset == place.offset + place.length  # Nothing was copied between them.
    assert stored.deliveries == [(b"0", bytes(content))]


def test_copied_payloads_leave_the_arena_with_their_replies(secret: bytes) -> None:
    arena = Arena()
    with (
        Server(Stored(), secret) as server,
        Connection(server.endpoint, secret, arena=arena) as connection,
    ):
        assert not connection.submit_burst(STORE, requests_of([LEND_FROM_BYTES] * 5)).wait()
        assert arena.take(LEND_FROM_BYTES).offset == 0


def test_a_refused_request_is_an_error_in_its_place(secret: bytes) -> None:
    stored, nothing = Stored(), memoryview(b"")
    with Server(stored, secret) as server, Connection(server.endpoint, secret) as connection:
        burst = connection.submit_burst(
            STORE, [(b"0", nothing), (b"bad", nothing), (b"2", nothing)]
        )
        errors = burst.wait()
        assert list(errors) == [1]
        assert isinstance(errors[1], BadInput)
        assert burst.wait() == errors
    assert stored.deliveries == [(b"0", b""), (b"2", b"")]


def test_a_burst_of_no_requests_is_done(secret: bytes) -> None:
    with Server(Stored(), secret) as server, Connection(server.endpoint, secret) as connection:
        assert not connection.submit_burst(STORE, []).wait(timeout_s=0.0)


def test_a_call_beside_a_burst_gets_its_own_reply(secret: bytes) -> None:
    with Server(Stored(), secret) as server, Connection(server.endpoint, secret) as connection:
        burst = connection.submit_burst(STORE, requests_of([1, 2, 3]))
        assert connection.request(STORE, b"4").status == 0
        assert burst.is_done
        assert not burst.wait()


def test_several_threads_wait_for_their_bursts(secret: bytes) -> None:
    stored = Stored()
    with Server(stored, secret) as server, Connection(server.endpoint, secret) as connection:

        def send() -> None:
            for _ in range(30):
                assert not connection.submit_burst(STORE, requests_of([5, 70_000, 9])).wait()

        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert connection.outstanding_count == 0
    assert len(stored.deliveries) == 4 * 30 * 3


@settings(max_examples=examples(10))
@given(st.lists(st.integers(0, 400_000), max_size=4))
def test_requests_are_sent_again_whenever_the_connection_breaks(breaks: Sequence[int]) -> None:
    stored, requests, secret = Stored(), requests_of(SIZES), new_secret()
    with (
        Server(stored, secret) as server,
        FlakyProxy(server.endpoint, [1_000, *breaks]) as proxy,
        Connection(proxy.endpoint, secret) as connection,
    ):
        assert not connection.submit_burst(STORE, requests).wait(timeout_s=100)
    assert stored.once == [(meta, bytes(view)) for meta, view in requests]


@pytest.mark.parametrize("shared_memory", [False, True], ids=["tcp", "same host"])
def test_all_without_an_answer_fail_when_the_connection_is_lost(
    secret: bytes, shared_memory: bool
) -> None:
    was_reached, parked = threading.Event(), list[Request]()

    def park(request: Request) -> None:
        if request.meta == b"0":
            request.reply()
        else:
            parked.append(request)
            was_reached.set()

    arena = Arena()
    content = arena.empty(LEND_FROM_BYTES)
    with Server(park, secret) as server:
        connection = Connection(
            server.endpoint, secret, arena=arena, shared_memory=shared_memory, retry_for_s=0.0
        )
        requests = [(b"0", content.data), (b"1", content.data), *requests_of([9, 70_000])[1:]]
        with connection:
            burst = connection.submit_burst(STORE, requests)
            assert was_reached.wait(100)
            with pytest.raises(TimeoutError):
                burst.wait(0.0)
            threading.Thread(target=connection.close).start()
            errors = burst.wait()
    assert set(errors) >= {1, 2}
    assert all(isinstance(error, ConnectionLost) for error in errors.values())


def test_nothing_is_sent_on_a_closed_connection(secret: bytes) -> None:
    stored = Stored()
    with Server(stored, secret) as server:
        connection = Connection(server.endpoint, secret)
        connection.close()
        with pytest.raises(ConnectionLost):
            connection.submit_burst(STORE, [(b"", memoryview(np.zeros(3, np.uint8)))])
    assert not stored.deliveries
