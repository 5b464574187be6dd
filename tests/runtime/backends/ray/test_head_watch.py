"""Control processes that do not answer any more, on real sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from motet.runtime.backends.ray.head_watch import PATIENCE_S, HeadWatch
from motet.runtime.controller.ports import ClusterLost
from motet.transport import Endpoint


class Clock:
    s = 100.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def watch_of(listener: socket.socket, clock: Clock) -> HeadWatch:
    return HeadWatch({"the GCS": Endpoint(*listener.getsockname())}, clock)


def test_a_process_that_listens_answers(listener: socket.socket) -> None:
    assert watch_of(listener, Clock()).answers()


def test_it_is_asked_at_most_once_a_second(listener: socket.socket) -> None:
    clock = Clock()
    watch = watch_of(listener, clock)
    assert watch.answers()
    listener.close()
    clock.s += 0.5
    assert watch.answers()
    clock.s += 0.5
    assert not watch.answers()


def test_the_cluster_is_lost_after_a_while_without_an_answer(listener: socket.socket) -> None:
    clock = Clock()
    watch = watch_of(listener, clock)
    port = listener.getsockname()[1]
    watch.answers()
    listener.close()
    clock.s += 1
    assert not watch.answers()
    clock.s += PATIENCE_S - 1
    assert not watch.answers()
    clock.s += 1
    with pytest.raises(ClusterLost, match=rf"the GCS at 127\.0\.0\.1:{port} does not answer.*--re"):
        watch.answers()
    with pytest.raises(ClusterLost):  # for good, without asking again
        watch.answers()


def test_a_first_silence_after_a_long_time_without_a_look_is_no_loss(
    listener: socket.socket,
) -> None:
    clock = Clock()
    watch = watch_of(listener, clock)
    watch.answers()
    listener.close()
    clock.s += 100 * PATIENCE_S
    assert not watch.answers()


def test_a_restart_within_the_patience_is_no_loss(listener: socket.socket) -> None:
    clock = Clock()
    watch = watch_of(listener, clock)
    address = listener.getsockname()
    listener.close()
    assert not watch.answers()
    clock.s += PATIENCE_S - 1
    with socket.create_server(address):
        assert watch.answers()
    clock.s += 1
    assert not watch.answers()
    clock.s += PATIENCE_S - 1
    assert not watch.answers()


def test_a_request_gives_what_it_returns_or_raises(listener: socket.socket) -> None:
    watch = watch_of(listener, Clock())
    assert watch.call(lambda: 7) == 7
    with pytest.raises(KeyError):
        watch.call(lambda: {}["nothing"])


def test_a_request_that_does_not_return_ends_with_the_cluster(listener: socket.socket) -> None:
    clock = Clock()
    watch = watch_of(listener, clock)
    never = threading.Event()

    def request() -> None:
        listener.close()
        clock.s += 1
        assert not watch.answers()
        clock.s += PATIENCE_S
        never.wait()

    with pytest.raises(ClusterLost):
        watch.call(request)
    never.set()


def test_the_message_ends_with_the_remedy_of_the_program(listener: socket.socket) -> None:
    clock = Clock()
    addresses = {"the GCS": Endpoint(*listener.getsockname())}
    watch = HeadWatch(addresses, clock, remedy="jobs wait")
    listener.close()
    assert not watch.answers()
    clock.s += PATIENCE_S
    with pytest.raises(ClusterLost, match=r"its host is gone; jobs wait$"):
        watch.answers()
