"""What only a direct connection does; what all connections do is in `client/test_connection.py`."""

from __future__ import annotations

import gc
import queue
import threading
import weakref

import numpy as np
import pytest

from motet.domain.errors import ConnectionLost
from motet.transport import DirectConnection, Request
from transport_parts import ECHO, echo


def test_the_submitting_thread_runs_the_handler() -> None:
    threads: list[threading.Thread] = []

    def handle(request: Request) -> None:
        threads.append(threading.current_thread())
        echo(request)

    call = DirectConnection(handle, "own").submit(ECHO, b"now")
    assert threads == [threading.current_thread()]
    assert call.is_done
    assert call.wait().meta == b"now"


def test_a_payload_of_one_buffer_is_the_senders_memory() -> None:
    payloads: list[np.ndarray] = []

    def keep(request: Request) -> None:
        payloads.append(np.frombuffer(request.payload, np.float64))
        request.reply()

    sent = np.arange(100_000.0)
    DirectConnection(keep, "own").submit(ECHO, b"", [sent]).wait()
    assert np.shares_memory(payloads[0], sent)


@pytest.mark.parametrize("is_closed", [False, True])
def test_memory_of_a_call_is_free_when_the_caller_drops_it(is_closed: bool) -> None:
    """Not only when the interpreter looks for cycles: a worker's copy of a model is large."""
    parked: queue.Queue[Request] = queue.Queue()
    connection = DirectConnection(parked.put if is_closed else echo, "own")
    into = np.zeros(10)
    freed = weakref.ref(into)
    gc.disable()
    try:
        call = connection.submit(ECHO, b"", [np.ones(10)], into=[into])
        connection.close()
        del call, into
        assert freed() is None
    finally:
        gc.enable()


def test_the_handler_sees_the_clients_name() -> None:
    connection = DirectConnection(lambda request: request.reply(0, request.client_id.encode()), "7")
    assert connection.request(ECHO).meta == b"7"


def test_a_reply_after_the_end_is_dropped_and_frees_its_memory() -> None:
    parked: queue.Queue[Request] = queue.Queue()
    freed: list[bool] = []
    connection = DirectConnection(parked.put, "own")
    into = np.zeros(10)
    call = connection.submit(ECHO, into=[into])
    connection.close()
    request = parked.get()
    assert not request.is_connected
    request.reply(0, b"", [np.ones(10)], on_sent=lambda: freed.append(True))
    assert freed == [True]
    assert not into.any()
    with pytest.raises(ConnectionLost):
        call.wait()


def test_a_closed_connection_runs_no_handler() -> None:
    asked: list[Request] = []
    connection = DirectConnection(asked.append, "own")
    connection.close()
    with pytest.raises(ConnectionLost):
        connection.submit(ECHO)
    assert asked == []
    assert connection.outstanding_count == 0
