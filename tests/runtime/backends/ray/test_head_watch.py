"""Control processes that do not answer any more, on real sockets."""

from __future__ import annotations

import socket
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
    clock.s += PATIENCE_S - 1
    assert not watch.answers()
    assert not watch.is_lost
    clock.s += 1
    with pytest.raises(ClusterLost, match=rf"the GCS at 127\.0\.0\.1:{port} does not answer.*--re"):
        watch.answers()
    assert watch.is_lost


def test_a_restart_within_the_patience_is_no_loss(listener: socket.socket) -> None:
    clock = Clock()
    watch = watch_of(listener, clock)
    address = listener.getsockname()
    listener.close()
    clock.s += PATIENCE_S - 1
    assert not watch.answers()
    with socket.create_server(address):
        clock.s += 1
        assert watch.answers()
    clock.s += PATIENCE_S - 1
    assert not watch.answers()
