"""An Aggregator's connections to others: what one of them does harms no other."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import pytest

from aggregation_training import AggregatorPool
from motet.aggregation.aggregator.peers import Peer, PeerConnections
from motet.aggregation.wire.client_names import pool_member_name
from motet.aggregation.wire.peer_requests import DropReplica
from motet.domain.errors import MotetError, Unreachable
from motet.runtime.wire.codec import encode
from motet.transport import Connection, Endpoint

MESSAGE = DropReplica(1, 0)


@pytest.fixture(scope="module")
def pool() -> Iterator[AggregatorPool]:
    with AggregatorPool(1) as pool:
        yield pool


@pytest.fixture
def peers(pool: AggregatorPool) -> Iterator[PeerConnections]:
    found = PeerConnections(pool.pool_secret)
    yield found
    found.close()


def test_a_peer_that_does_not_let_in_delays_no_other(
    pool: AggregatorPool, peers: PeerConnections
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as threads:
        host, port = silent.getsockname()
        asked = threads.submit(peers.ask, Endpoint(host, port).encode(), MESSAGE)
        accepted, _ = silent.accept()
        done = threading.Event()
        peers.send(pool.peer(0), MESSAGE, [], lambda error: done.set())
        done.wait()
        assert not asked.done()
        accepted.close()
        silent.close()
        with pytest.raises(Unreachable):
            asked.result(60)


def test_a_call_to_a_peer_that_was_given_up_meanwhile_is_answered(pool: AggregatorPool) -> None:
    def connect() -> Connection:
        return Connection(
            pool.aggregators[0].endpoint,
            pool.pool_secret,
            client_id=pool_member_name(),
            retry_for_s=0,
        )

    peer = Peer(connect)
    call = peer.connection.submit(MESSAGE.kind, encode(MESSAGE)[0])
    peer.end()
    peer.join()
    answers: SimpleQueue[MotetError | None] = SimpleQueue()
    peer.when_answered(call, answers.put)
    assert answers.qsize() == 1


def test_what_fails_after_an_answer_harms_no_later_one(
    pool: AggregatorPool, peers: PeerConnections
) -> None:
    def fail(error: MotetError | None) -> None:
        raise RuntimeError("as a test wants it")

    done = threading.Event()
    peers.send(pool.peer(0), MESSAGE, [], fail)
    peers.send(pool.peer(0), MESSAGE, [], lambda error: done.set())
    assert done.wait(60)
