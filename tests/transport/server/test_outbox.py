from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.transport.backends.socket_channel import SocketChannel
from motet.transport.backends.spin_policy import SpinPolicy
from motet.transport.server.outbox import Outbox

Pair = tuple[SocketChannel, socket.socket]


@contextmanager
def narrow_pair() -> Iterator[Pair]:
    """A channel with a small send buffer, so that much is sent in parts, and its receiver."""
    sender, receiver = socket.socketpair()
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with sender, receiver:
        yield SocketChannel(sender, SpinPolicy()), receiver


@pytest.fixture
def pair() -> Iterator[Pair]:
    with narrow_pair() as pair:
        yield pair


def receive_exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        data += sock.recv(size - len(data))
    return bytes(data)


@settings(max_examples=examples(25))
@given(st.lists(st.lists(st.integers(0, 30_000), min_size=1, max_size=5), min_size=1, max_size=15))
def test_frames_are_sent_in_order_with_a_small_send_buffer(sizes: list[list[int]]) -> None:
    with narrow_pair() as (sender, receiver):
        outbox = Outbox(sender, "test")
        sent: list[int] = []
        expected = b""
        for number, frame in enumerate(sizes):
            pieces = [bytes([number * 7 + index]) * size for index, size in enumerate(frame)]
            expected += b"".join(pieces)
            outbox.post(list(pieces), sum(frame), lambda n=number: sent.append(n))
        assert receive_exactly(receiver, len(expected)) == expected
        outbox.close()
        assert sent == list(range(len(sizes)))


def test_posting_does_not_block_on_a_slow_reader(pair: Pair) -> None:
    sender, _ = pair
    outbox = Outbox(sender, "test")
    lost: list[int] = []
    for number in range(5):
        outbox.post([bytes(1 << 20)], 1 << 20, lambda n=number: lost.append(n))
    assert lost == []
    outbox.close()
    assert lost == list(range(5))


def test_more_pieces_than_one_system_call_takes_all_arrive(pair: Pair) -> None:
    sender, receiver = pair
    outbox = Outbox(sender, "test")
    outbox.post([bytes([n % 256]) for n in range(3000)], 3000)
    assert receive_exactly(receiver, 3000) == bytes(n % 256 for n in range(3000))
    outbox.close()


def test_frames_of_several_threads_do_not_mix(pair: Pair) -> None:
    sender, receiver = pair
    outbox = Outbox(sender, "test")

    def post(number: int) -> None:
        for _ in range(20):
            outbox.post([bytes([number]) * 500, bytes([number]) * 500], 1000)

    threads = [threading.Thread(target=post, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    data = receive_exactly(receiver, 6 * 20 * 1000)
    for thread in threads:
        thread.join()
    outbox.close()
    frames = [data[start : start + 1000] for start in range(0, len(data), 1000)]
    assert all(len(set(frame)) == 1 for frame in frames)


def test_frames_posted_to_a_broken_connection_are_freed_at_once(pair: Pair) -> None:
    sender, receiver = pair
    receiver.close()
    outbox = Outbox(sender, "test")
    freed: list[str] = []
    outbox.post([b"x"], 1, lambda: freed.append("first"))
    outbox.post([b"y"], 1, lambda: freed.append("second"))
    assert freed == ["first", "second"]
    outbox.close()
