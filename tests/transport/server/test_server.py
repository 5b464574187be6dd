from __future__ import annotations

import gc
import os
import threading

import numpy as np
import pytest

from motet.domain.errors import BadInput, ConnectionLost
from motet.transport import Connection, Request, Server
from transport_parts import ECHO, Connect, echo
from waiting import wait_until

PULL, PUSH = 1, 2
LARGE = 64 << 20


def test_large_pushes_and_large_pending_pulls_do_not_deadlock(secret: bytes) -> None:
    """The client sends 64 MB after 64 MB and reads nothing; the server has as much to send."""
    values = np.arange(LARGE // 4, dtype=np.float32)
    sums: list[float] = []

    def handle(request: Request) -> None:
        if request.kind == PULL:
            request.reply(0, b"", [values])
        else:
            sums.append(float(np.frombuffer(request.payload, np.float32)[-1]))
            request.reply()

    with (
        Server(handle, secret) as server,
        Connection(server.endpoint, secret, shared_memory=False) as connection,
    ):
        into = [np.empty_like(values) for _ in range(2)]
        calls = [connection.submit(PULL, into=[array]) for array in into]
        calls += [connection.submit(PUSH, b"", [values]) for _ in range(2)]
        calls += [connection.submit(PULL, into=[into[0]])]
        for call in calls:
            call.wait()
    assert all((array == values).all() for array in into)
    assert sums == [values[-1]] * 2


@pytest.mark.parametrize("size", [1_000, 50_000, 8 << 20])
def test_on_sent_is_called_once_for_every_reply(connect: Connect, size: int) -> None:
    sent = threading.Semaphore(0)
    payload = bytes(size)

    connection = connect(lambda request: request.reply(0, b"", [payload], on_sent=sent.release))
    calls = [connection.submit(PULL) for _ in range(5)]
    for call in calls:
        call.wait()
    for _ in calls:
        assert sent.acquire(timeout=100)
    assert not sent.acquire(blocking=False)


def test_a_handler_can_cut_a_client_off_that_does_not_read_its_reply(secret: bytes) -> None:
    """The memory of the reply is free then, and other connections go on."""
    freed = threading.Semaphore(0)
    requests: list[Request] = []
    payload = bytes(LARGE)

    def handle(request: Request) -> None:
        requests.append(request)
        request.reply(0, b"", [payload] if request.kind == PULL else [], freed.release)

    with (
        Server(handle, secret) as server,
        Connection(server.endpoint, secret, shared_memory=False, retry_for_s=0) as stuck,
        Connection(server.endpoint, secret, retry_for_s=0) as other,
    ):
        call = stuck.submit(PULL)
        other.request(PUSH)
        assert freed.acquire(timeout=100)
        wait_until(lambda: len(requests) == 2)
        next(each for each in requests if each.kind == PULL).disconnect()
        assert freed.acquire(timeout=100)
        with pytest.raises(ConnectionLost):
            call.wait()
        other.request(PUSH)


def test_on_sent_is_called_when_the_client_disconnects_without_reading(secret: bytes) -> None:
    freed = threading.Semaphore(0)
    payload = bytes(LARGE)
    answered = threading.Semaphore(0)

    def handle(request: Request) -> None:
        request.reply(0, b"", [payload], on_sent=freed.release)
        answered.release()

    with Server(handle, secret) as server:
        connection = Connection(server.endpoint, secret, shared_memory=False)
        for _ in range(3):
            connection.submit(PULL)
        for _ in range(3):
            assert answered.acquire(timeout=100)
        assert not freed.acquire(blocking=False)
        connection.close()
        for _ in range(3):
            assert freed.acquire(timeout=100)


def test_a_failing_callback_does_not_disturb_the_connection(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("unpin failed")

    def handle(request: Request) -> None:
        request.reply(0, b"", [bytes(1 << 20)], on_sent=fail)

    connection = connect(handle)
    for _ in range(3):
        assert len(connection.request(PULL).payload) == 1 << 20
    assert "unpin failed" in caplog.text


def test_eight_clients_use_three_servers_at_once(secret: bytes) -> None:
    totals = np.zeros(3)
    locks = [threading.Lock() for _ in range(3)]

    def handler_of(server: int):
        def handle(request: Request) -> None:
            with locks[server]:
                totals[server] += np.frombuffer(request.payload, np.float32).sum()
            request.reply(0, request.meta)

        return handle

    servers = [Server(handler_of(number), secret) for number in range(3)]
    failures: list[str] = []

    def client(number: int) -> None:
        connections = [
            Connection(server.endpoint, secret, shared_memory=number % 2 == 0) for server in servers
        ]
        for size in (1, 1_000, 40_000) * 5:
            calls = [
                connection.submit(PUSH, b"%d" % size, [np.ones(size, np.float32)])
                for connection in connections
            ]
            failures.extend(str(size) for call in calls if call.wait().meta != b"%d" % size)
        for connection in connections:
            connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for server in servers:
        server.close()
    assert failures == []
    assert totals.tolist() == [8 * 5 * 41_001] * 3


@pytest.mark.soak
def test_no_thread_or_descriptor_remains_after_many_connections(secret: bytes) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    threads_before, descriptors_before = threading.active_count(), descriptors()
    for _ in range(5):
        with Server(echo, secret) as server:
            for number in range(6):
                connection = Connection(server.endpoint, secret, shared_memory=number % 2 == 0)
                connection.request(ECHO, b"", [bytes(100_000)])
                if number > 3:
                    connection.submit(ECHO, b"", [bytes(8 << 20)])
                connection.close()
    assert threading.active_count() == threads_before
    gc.collect()  # An error of a call may keep shared memory, and its descriptor, in a cycle.
    wait_until(lambda: descriptors() <= descriptors_before)


def test_closing_a_server_ends_its_threads_and_wakes_its_clients(secret: bytes) -> None:
    before = threading.active_count()
    server = Server(lambda request: None, secret)
    connections = [
        Connection(server.endpoint, secret, shared_memory=local, retry_for_s=0)
        for local in (False, True)
    ]
    calls = [connection.submit(ECHO) for connection in connections]
    server.close()
    server.close()
    assert threading.active_count() == before
    for call, connection in zip(calls, connections, strict=True):
        with pytest.raises(ConnectionLost):
            call.wait()
        connection.close()


def test_a_server_can_be_closed_by_its_own_handler(secret: bytes) -> None:
    closed = threading.Event()

    def handle(request: Request) -> None:
        server.close()
        closed.set()

    server = Server(handle, secret)
    with Connection(server.endpoint, secret, retry_for_s=0) as connection:
        call = connection.submit(ECHO)
        with pytest.raises(ConnectionLost):
            call.wait()
        assert closed.wait(10)


def test_a_taken_port_is_bad_input(secret: bytes) -> None:
    with (
        Server(echo, secret) as server,
        pytest.raises(BadInput, match=rf"cannot listen on 127\.0\.0\.1:{server.endpoint.port}"),
    ):
        Server(echo, secret, port=server.endpoint.port)


def test_a_server_listens_on_loopback_by_default(secret: bytes) -> None:
    with Server(echo, secret) as server:
        assert server.endpoint.host == "127.0.0.1"
