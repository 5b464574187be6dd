"""Requests in, one run of the work and one answer each out."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from motet.domain.errors import JobFailed
from motet.runtime.executor.deduplication import Deduplicator
from motet.runtime.wire.control_messages import WorkPrepared
from motet.runtime.wire.exchange import answer_of
from motet.transport import Call, Connection, Request, Server

SECRET = b"s" * 32
TIMEOUT_S = 100.0


class Requests:
    """Makes requests that a test answers."""

    def __init__(self) -> None:
        self._arrived: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._server = Server(self._arrived.put, SECRET)
        self._connection = Connection(self._server.endpoint, SECRET)

    def next(self) -> tuple[Request, Call]:
        call = self._connection.submit(1)
        return self._arrived.get(timeout=TIMEOUT_S), call

    def close(self) -> None:
        self._connection.close()
        self._server.close()


@pytest.fixture
def requests() -> Iterator[Requests]:
    made = Requests()
    yield made
    made.close()


def sent_bytes(call: Call) -> int:
    return answer_of(call, WorkPrepared, TIMEOUT_S).sent_bytes


def test_only_the_first_request_of_a_number_begins_it(requests: Requests) -> None:
    known = Deduplicator()
    (one, call), (again, call_again), (other, call_other) = (requests.next() for _ in range(3))
    assert [known.begin(7, one), known.begin(7, again), known.begin(8, other)] == [
        True, False, True,
    ]  # fmt: skip
    assert [request.is_answered for request in (one, again, other)] == [False] * 3
    known.finish(7, WorkPrepared(5))
    assert (sent_bytes(call), sent_bytes(call_again)) == (5, 5)
    assert not other.is_answered
    known.finish(8, WorkPrepared(6))
    assert sent_bytes(call_other) == 6


def test_a_request_that_comes_after_the_end_gets_the_same_answer(requests: Requests) -> None:
    known = Deduplicator()
    first, _ = requests.next()
    assert known.begin(7, first)
    known.finish(7, WorkPrepared(5))
    late, call = requests.next()
    assert not known.begin(7, late)
    assert sent_bytes(call) == 5


def test_after_a_failure_the_next_request_begins_again(requests: Requests) -> None:
    known = Deduplicator()
    (one, call), (again, call_again) = requests.next(), requests.next()
    known.begin(7, one)
    known.begin(7, again)
    known.fail(7, JobFailed("the peer is gone"))
    for each in (call, call_again):
        with pytest.raises(JobFailed, match="the peer is gone"):
            each.wait(TIMEOUT_S)
    third, _ = requests.next()
    assert known.begin(7, third)
    known.finish(7, WorkPrepared(1))


def test_work_runs_once_beside_the_thread_that_serves_requests(requests: Requests) -> None:
    known, go_on, runs = Deduplicator(), threading.Event(), []

    def work() -> WorkPrepared:
        runs.append(threading.current_thread())
        assert go_on.wait(TIMEOUT_S)
        return WorkPrepared(len(runs))

    (one, call), (again, call_again) = requests.next(), requests.next()
    known.run(7, one, work)
    known.run(7, again, work)
    go_on.set()
    assert (sent_bytes(call), sent_bytes(call_again)) == (1, 1)
    assert runs[0] is not threading.current_thread()


def test_an_error_of_the_work_is_the_answer(requests: Requests) -> None:
    known = Deduplicator()
    request, call = requests.next()

    def fail() -> WorkPrepared:
        raise JobFailed("a block did not arrive")

    known.run(7, request, fail)
    with pytest.raises(JobFailed, match="a block did not arrive"):
        call.wait(TIMEOUT_S)
