from __future__ import annotations

import queue
import threading
import time

import numpy as np
import pytest

from motet.domain.errors import BadInput, ConnectionLost, JobFailed, MotetError
from motet.transport import Connection, Request, Server
from motet.transport.backends.shared_memory import LEND_FROM_BYTES
from motet.transport.frame_reader import BUFFER_BYTES, SMALL_PAYLOAD_BYTES
from transport_parts import ECHO, Connect, echo

SIZES = sorted(
    {0, 1, 31, 4096, 1_000_003}
    | {limit + d for limit in (SMALL_PAYLOAD_BYTES, LEND_FROM_BYTES, BUFFER_BYTES) for d in (0, 1)}
)


def random_bytes(size: int) -> np.ndarray:
    return np.random.default_rng(size).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize("size", SIZES)
def test_a_payload_of_any_size_is_echoed(connect: Connect, size: int) -> None:
    connection = connect(echo)
    data = random_bytes(size)
    into = np.zeros_like(data)
    assert bytes(connection.request(ECHO, b"m", [data]).payload) == data.tobytes()
    reply = connection.request(ECHO, b"meta", [data], into=[into])
    assert reply.meta == b"meta"
    assert into.tobytes() == data.tobytes()
    assert reply.payload == data.data


def test_buffers_are_gathered_when_sent_and_scattered_when_received(connect: Connect) -> None:
    connection = connect(echo)
    data = random_bytes(200_000)
    parts = [data[:70_000], data[70_000:70_001], data[70_001:70_001], data[70_001:]]
    into = [np.zeros(size, np.uint8) for size in (1, 0, 99_999, 100_000)]
    connection.request(ECHO, b"", parts, into=into)
    assert np.concatenate(into).tobytes() == data.tobytes()


def test_an_array_of_any_dtype_and_shape_is_sent_as_its_bytes(connect: Connect) -> None:
    connection = connect(echo)
    values = np.arange(30_000, dtype=np.float32).reshape(100, 300)
    into = np.empty_like(values)
    connection.request(ECHO, b"", [values], into=[into])
    assert (into == values).all()


def test_many_calls_in_flight_are_waited_for_in_any_order(connect: Connect) -> None:
    connection = connect(echo)
    payloads = [random_bytes(size) for size in SIZES * 4]
    calls = [connection.submit(ECHO, str(n).encode(), [p]) for n, p in enumerate(payloads)]
    for number in np.random.default_rng(1).permutation(len(calls)):
        reply = calls[number].wait()
        assert reply.meta == str(number).encode()
        assert bytes(reply.payload) == payloads[number].tobytes()
    assert connection.outstanding_count == 0


def test_replies_may_come_in_another_order_and_from_other_threads(connect: Connect) -> None:
    parked: queue.Queue[Request] = queue.Queue()

    def park(request: Request) -> None:
        if request.kind == ECHO:
            parked.put(request)
        else:
            request.reply()

    connection = connect(park)
    payloads = [random_bytes(size) for size in SIZES]
    calls = [connection.submit(ECHO, b"", [payload]) for payload in payloads]
    assert connection.request(2).status == 0
    requests = [parked.get() for _ in calls]
    threads = [threading.Thread(target=echo, args=(request,)) for request in reversed(requests)]
    for thread in threads:
        thread.start()
    for call, payload in zip(calls, payloads, strict=True):
        assert bytes(call.wait().payload) == payload.tobytes()
    for thread in threads:
        thread.join()


def test_other_threads_may_answer_while_the_handler_returns(connect: Connect) -> None:
    handed_over: queue.SimpleQueue[Request | None] = queue.SimpleQueue()

    def answer() -> None:
        while (request := handed_over.get()) is not None:
            echo(request)

    threads = [threading.Thread(target=answer) for _ in range(3)]
    for thread in threads:
        thread.start()
    connection = connect(handed_over.put)
    payloads = [bytes([n % 256]) * (n * 37 % 9_000) for n in range(1_500)]
    for start in range(0, len(payloads), 100):
        some = payloads[start : start + 100]
        calls = [connection.submit(ECHO, b"", [payload]) for payload in some]
        assert [bytes(call.wait().payload) for call in calls] == some
    for _ in threads:
        handed_over.put(None)
    for thread in threads:
        thread.join()


def test_a_payload_stays_valid_while_its_reply_is_deferred(connect: Connect) -> None:
    parked: list[Request] = []

    def park_all(request: Request) -> None:
        parked.append(request)
        if len(parked) == 40:
            for waiting in parked:
                echo(waiting)

    connection = connect(park_all)
    payloads = [random_bytes(5_000 + n) for n in range(40)]
    calls = [connection.submit(ECHO, b"", [payload]) for payload in payloads]
    for call, payload in zip(calls, payloads, strict=True):
        assert bytes(call.wait().payload) == payload.tobytes()


@pytest.mark.parametrize("size", [100, 40_000, 300_000])
def test_a_detached_payload_outlives_the_reply(connect: Connect, size: int) -> None:
    detached: list[memoryview] = []

    def keep(request: Request) -> None:
        detached.append(request.detach_payload())
        request.reply()

    connection = connect(keep)
    for number in range(5):
        connection.request(ECHO, b"", [bytes([number]) * size])
    assert [bytes(view) for view in detached] == [bytes([n]) * size for n in range(5)]


def test_a_deferred_reply_carries_its_delay(connect: Connect) -> None:
    timers: list[threading.Timer] = []

    def answer_later(request: Request) -> None:
        timers.append(threading.Timer(0.05, request.reply))
        timers[-1].start()

    connection = connect(answer_later)
    before_s = time.monotonic()
    reply = connection.request(ECHO)
    assert 30_000 <= reply.wait_us <= (time.monotonic() - before_s) * 1e6
    timers[0].join()


def test_several_threads_wait_on_one_connection(connect: Connect) -> None:
    connection = connect(echo)
    failures: list[str] = []

    def work(thread: int) -> None:
        for number in range(60):
            payload = random_bytes((number * 997) % 90_000)
            meta = f"{thread}/{number}".encode()
            reply = connection.request(ECHO, meta, [payload])
            if reply.meta != meta or bytes(reply.payload) != payload.tobytes():
                failures.append(meta.decode())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_the_reader_delivers_replies_of_other_threads(connect: Connect) -> None:
    parked: queue.Queue[Request] = queue.Queue()

    def handle(request: Request) -> None:
        if request.meta == b"late":
            parked.put(request)
        else:
            request.reply(0, request.meta)

    connection = connect(handle)
    late = connection.submit(ECHO, b"late")
    reader_thread = threading.Thread(target=late.wait)
    reader_thread.start()
    request = parked.get()
    assert [connection.request(ECHO, b"%d" % n).meta for n in range(20)] == [
        b"%d" % n for n in range(20)
    ]
    request.reply()
    reader_thread.join()


def test_a_reply_may_consist_of_the_requests_own_payload(connect: Connect) -> None:
    """Long after the handler returned, because the client is slow to read."""
    connection = connect(lambda request: request.reply(0, b"", [request.payload, bytes(1 << 20)]))
    calls = [
        connection.submit(ECHO, b"", [bytes([number]) * size])
        for number in range(40)
        for size in (4_000, 50_000)
    ]
    for index, call in enumerate(calls):
        size = 50_000 if index % 2 else 4_000
        assert bytes(call.wait().payload[:size]) == bytes([index // 2]) * size


@pytest.mark.parametrize("error", [BadInput("row 7 is empty"), JobFailed("diverged")])
def test_an_error_in_the_handler_is_raised_at_the_client(
    connect: Connect, error: MotetError
) -> None:
    def fail(request: Request) -> None:
        if request.kind == ECHO:
            echo(request)
        else:
            raise error

    connection = connect(fail)
    with pytest.raises(type(error), match=str(error)):
        connection.request(2, b"", [bytes(100_000)])
    assert connection.request(ECHO, b"alive").meta == b"alive"


def test_a_bug_in_the_handler_is_an_error_with_its_name(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    connection = connect(lambda request: {}[request.kind])
    with pytest.raises(MotetError, match="KeyError: 7"):
        connection.request(7)
    assert "request 7" in caplog.text


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_destination_of_another_size_is_an_error_of_that_call_only(
    connect: Connect, size: int
) -> None:
    connection = connect(lambda request: request.reply(0, b"", [request.payload]))
    wrong = np.zeros(size + 1, np.uint8)
    with pytest.raises(MotetError, match=f"{size} bytes of payload, its destination {size + 1}"):
        connection.request(ECHO, b"", [bytes(size)], into=[wrong])
    right = np.zeros(size, np.uint8)
    connection.request(ECHO, b"", [b"\x07" * size], into=[right])
    assert (right == 7).all()


def test_a_status_without_payload_leaves_the_destination_alone(connect: Connect) -> None:
    connection = connect(lambda request: request.reply(5, b"moved"))
    into = np.ones(100_000, np.uint8)
    reply = connection.request(ECHO, into=[into])
    assert (reply.status, reply.meta, len(reply.payload)) == (5, b"moved", 0)
    assert (into == 1).all()


def test_a_reply_that_does_not_come_in_time_can_be_waited_for_again(connect: Connect) -> None:
    parked: queue.Queue[Request] = queue.Queue()
    connection = connect(parked.put)
    call = connection.submit(ECHO, b"", [bytes(200_000)])
    with pytest.raises(TimeoutError):
        call.wait(timeout_s=0.01)
    assert not call.is_done
    echo(parked.get())
    assert len(call.wait(timeout_s=100).payload) == 200_000
    assert len(call.wait().payload) == 200_000


def test_an_invalid_request_is_refused_before_it_is_sent(connect: Connect) -> None:
    connection = connect(echo)
    with pytest.raises(ValueError, match="not contiguous"):
        connection.submit(ECHO, b"", [np.zeros((4, 4)).T[1:]])
    with pytest.raises(ValueError, match="read-only"):
        connection.submit(ECHO, b"", into=[b"constant"])
    with pytest.raises(ValueError, match="kind"):
        connection.submit(-1)
    assert connection.request(ECHO, b"alive").meta == b"alive"


def test_a_second_reply_is_an_error(connect: Connect) -> None:
    errors: list[str] = []

    def twice(request: Request) -> None:
        request.reply()
        try:
            request.reply()
        except RuntimeError as error:
            errors.append(str(error))

    connect(twice).request(ECHO)
    assert "answered twice" in errors[0]


def test_a_request_carries_its_clients_name(secret: bytes) -> None:
    with (
        Server(lambda r: r.reply(0, r.client_id.encode()), secret) as server,
        Connection(server.endpoint, secret, client_id="worker 3") as named,
        Connection(server.endpoint, secret) as unnamed,
    ):
        assert named.request(ECHO).meta == b"worker 3"
        assert unnamed.request(ECHO).meta == unnamed.client_id.encode()
    with pytest.raises(ValueError, match="longer than 64"):
        Connection(server.endpoint, secret, client_id="x" * 65)


def test_closing_wakes_waiting_threads(connect: Connect) -> None:
    parked: queue.Queue[Request] = queue.Queue()
    connection = connect(parked.put)
    calls = [connection.submit(ECHO, b"", into=[np.empty(100_000, np.uint8)]) for _ in range(3)]
    errors: list[ConnectionLost] = []

    def wait(number: int) -> None:
        try:
            calls[number].wait()
        except ConnectionLost as error:
            errors.append(error)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for _ in calls:
        parked.get()
    connection.close()
    for thread in threads:
        thread.join()
    assert len(errors) == 3
    assert "closed here" in str(errors[0])
    with pytest.raises(ConnectionLost, match="closed here"):
        connection.submit(ECHO)
    connection.close()
