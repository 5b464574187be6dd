"""Connections to the executors of a job: over the network, or by a call in the same process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from motet.domain.errors import ConnectionLost, Unreachable
from motet.runtime.wire.peers import ExecutorPeers
from motet.transport import Arena, Endpoint, Request

NOWHERE = Endpoint("127.0.0.1", 1)


def answer(request: Request) -> None:
    request.reply(request.kind, request.client_id.encode())


@pytest.fixture
def peers() -> Iterator[ExecutorPeers]:
    """Of executor 0, whose handler is in this process. No address leads anywhere."""
    arena = Arena()
    made = ExecutorPeers(
        {0: NOWHERE, 1: NOWHERE}, b"s" * 32, arena, retry_for_s=0, handlers={0: answer}
    )
    yield made
    made.close()
    arena.close()


def test_an_executor_in_this_process_is_called_directly(peers: ExecutorPeers) -> None:
    assert [peers.is_here(executor) for executor in (0, 1)] == [True, False]
    reply = peers.connection(0).submit(7).wait()
    assert (reply.status, reply.meta) == (7, b"executor 0")


def test_any_other_executor_is_reached_at_its_address(peers: ExecutorPeers) -> None:
    with pytest.raises(Unreachable):
        peers.connection(1)


def test_the_end_closes_direct_connections_too(peers: ExecutorPeers) -> None:
    connection = peers.connection(0)
    peers.close()
    with pytest.raises(ConnectionLost):
        connection.submit(7)
    with pytest.raises(ConnectionLost):
        peers.connection(2)
