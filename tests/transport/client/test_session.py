"""Connections that break at any moment: requests arrive again, in order, or fail clearly."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.errors import AuthenticationFailed, ConnectionLost, Unreachable
from motet.transport import Connection, Request, Server, new_secret
from transport_parts import ECHO, FlakyProxy, echo, process_serving

REQUESTS = 40
WINDOW = 6


def payload_of(number: int) -> bytes:
    return bytes([number]) * (number * number * 13)


class Recorder:
    """A handler that records every delivery and acts once per sequence number."""

    def __init__(self) -> None:
        self.deliveries: list[int] = []
        self.effects: Counter[int] = Counter()
        self._last = -1

    def __call__(self, request: Request) -> None:
        number = int(request.meta)
        assert bytes(request.payload) == payload_of(number)
        self.deliveries.append(number)
        if number > self._last:
            self._last = number
            self.effects[number] += 1
        request.reply(0, request.meta, [request.payload])

    @property
    def first_deliveries(self) -> list[int]:
        """The numbers in the order in which they first came."""
        return list(dict.fromkeys(self.deliveries))


def exchange(connection: Connection) -> None:
    """Send numbered requests, several in flight, and check every reply."""
    calls = []
    for number in range(REQUESTS):
        into = np.zeros(len(payload_of(number)), np.uint8)
        meta = str(number).encode()
        calls.append((into, connection.submit(ECHO, meta, [payload_of(number)], into=[into])))
        if number >= WINDOW:
            calls[number - WINDOW][1].wait(timeout_s=100)
    for number, (into, call) in enumerate(calls):
        assert call.wait(timeout_s=100).meta == str(number).encode()
        assert into.tobytes() == payload_of(number)


@settings(max_examples=examples(15))
@given(st.lists(st.integers(0, 600_000), max_size=5))
def test_requests_arrive_at_least_once_and_in_order_whenever_the_connection_breaks(
    breaks: Sequence[int],
) -> None:
    secret = new_secret()
    recorder = Recorder()
    with (
        Server(recorder, secret) as server,
        FlakyProxy(server.endpoint, [1_000, *breaks]) as proxy,
        Connection(proxy.endpoint, secret) as connection,
    ):
        exchange(connection)
    assert recorder.first_deliveries == list(range(REQUESTS))
    assert recorder.effects == Counter(range(REQUESTS))
    assert len(recorder.deliveries) <= REQUESTS + (WINDOW + 1) * proxy.connection_count


def test_a_server_that_is_late_with_its_first_answer_is_waited_for_if_asked(secret: bytes) -> None:
    with Server(echo, secret) as server, FlakyProxy(server.endpoint, [None, None]) as proxy:
        with pytest.raises(Unreachable, match="in time"):
            Connection(proxy.endpoint, secret)
        with Connection(proxy.endpoint, secret, first_answer_s=100.0) as connection:
            assert connection.request(ECHO, b"late").meta == b"late"
        assert proxy.connection_count == 3


def test_a_sending_thread_reconnects_without_a_reader(secret: bytes) -> None:
    """The sender meets the broken socket while no thread reads."""
    recorder = Recorder()
    with (
        Server(recorder, secret) as server,
        FlakyProxy(server.endpoint, [50_000, 100_000, 150_000]) as proxy,
        Connection(proxy.endpoint, secret) as connection,
    ):
        calls = [
            connection.submit(ECHO, str(number).encode(), [payload_of(number)])
            for number in range(REQUESTS)
        ]
        for number, call in enumerate(calls):
            assert bytes(call.wait(timeout_s=100).payload) == payload_of(number)
    assert recorder.effects == Counter(range(REQUESTS))


def test_a_deferred_request_is_sent_again_after_a_break(secret: bytes) -> None:
    parked: list[Request] = []
    was_parked = threading.Semaphore(0)

    def park(request: Request) -> None:
        parked.append(request)
        was_parked.release()

    with (
        Server(park, secret) as server,
        FlakyProxy(server.endpoint, []) as proxy,
        Connection(proxy.endpoint, secret) as connection,
    ):
        call = connection.submit(ECHO, b"barrier")
        waiter = threading.Thread(target=call.wait)
        waiter.start()
        was_parked.acquire()
        proxy.break_connections()
        was_parked.acquire()
        assert not parked[0].is_connected
        freed: list[bool] = []
        parked[0].reply(0, b"too late", [bytes(50_000)], on_sent=lambda: freed.append(True))
        assert freed == [True]
        parked[1].reply(0, b"now")
        waiter.join()
        assert call.wait().meta == b"now"


@pytest.mark.parametrize("shared_memory", [False, True], ids=["tcp", "same host"])
def test_a_killed_server_is_a_lost_connection_in_bounded_time(
    secret: bytes, shared_memory: bool
) -> None:
    program = """
import sys
from motet.transport import Server
with Server(lambda request: None, bytes.fromhex(sys.argv[1])) as server:
    print(server.endpoint.encode(), flush=True)
    sys.stdin.read()
"""
    with process_serving(secret, program) as (endpoint, process):
        connection = Connection(endpoint, secret, shared_memory=shared_memory, retry_for_s=0.3)
        calls = [connection.submit(ECHO, b"", [bytes(100_000)]) for _ in range(3)]
        errors: list[ConnectionLost] = []

        def wait() -> None:
            try:
                calls[0].wait()
            except ConnectionLost as error:
                errors.append(error)

        waiter = threading.Thread(target=wait)
        waiter.start()
        os.kill(process, signal.SIGKILL)
        waiter.join(timeout=100)
        assert not waiter.is_alive()
        assert str(endpoint) in str(errors[0])
        for call in calls:
            with pytest.raises(ConnectionLost, match=r"within 0\.3 s"):
                call.wait()
        with pytest.raises(ConnectionLost):
            connection.submit(ECHO)
        connection.close()


def test_without_retries_a_broken_connection_is_lost_at_once(secret: bytes) -> None:
    server = Server(lambda request: None, secret)
    with Connection(server.endpoint, secret, retry_for_s=0) as connection:
        call = connection.submit(ECHO)
        server.close()
        with pytest.raises(ConnectionLost, match=r"broke \(.*\)$"):
            call.wait()


def test_a_client_reconnects_to_a_restarted_server(secret: bytes) -> None:
    first = Server(lambda request: None, secret)
    with Connection(first.endpoint, secret) as connection:
        call = connection.submit(ECHO, b"hello", [bytes(100_000)])
        port = first.endpoint.port
        first.close()
        with Server(echo, secret, port=port):
            assert call.wait(timeout_s=100).meta == b"hello"
            assert not connection.is_local


def test_a_restarted_server_with_another_secret_is_refused(secret: bytes) -> None:
    first = Server(lambda request: None, secret)
    connecting = Connection(first.endpoint, secret, shared_memory=False, retry_for_s=3)
    with connecting as connection:
        call = connection.submit(ECHO)
        first.close()
        with Server(echo, new_secret(), port=first.endpoint.port):
            with pytest.raises(AuthenticationFailed):
                call.wait(timeout_s=100)
            with pytest.raises(AuthenticationFailed):
                connection.submit(ECHO)


def test_a_timeout_of_one_call_does_not_end_the_connection(secret: bytes) -> None:
    first = Server(lambda request: None, secret)
    with Connection(first.endpoint, secret, shared_memory=False) as connection:
        call = connection.submit(ECHO, b"hello")
        port = first.endpoint.port
        first.close()
        with pytest.raises(TimeoutError):
            call.wait(timeout_s=0.05)
        with Server(echo, secret, port=port):
            assert call.wait(timeout_s=100).meta == b"hello"


def test_closing_ends_the_attempts_to_reconnect(secret: bytes) -> None:
    server = Server(lambda request: None, secret)
    connection = Connection(server.endpoint, secret, retry_for_s=600)
    call = connection.submit(ECHO)
    server.close()
    errors: list[ConnectionLost] = []

    def wait() -> None:
        try:
            call.wait()
        except ConnectionLost as error:
            errors.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    while not connection.is_reconnecting:
        time.sleep(0.001)
    connection.close()
    waiter.join(timeout=100)
    assert "closed here" in str(errors[0])
