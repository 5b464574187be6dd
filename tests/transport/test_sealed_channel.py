"""A sealed channel carries any pieces through a pipe that takes and gives a few bytes at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from in_process_backend import InProcessChannel, channel_pair
from motet.transport.channel import DeadlinePassed
from motet.transport.framing import Piece
from motet.transport.sealed_channel import SealedChannel
from motet.transport.sealing import RECORD_BYTES, SessionKeys, Tampered

KEYS = SessionKeys(bytes(range(32)), bytes(range(1, 33)))
LARGE = np.random.default_rng(0).integers(0, 256, 3 * RECORD_BYTES + 7, dtype=np.uint8).data


def sealed_pair() -> tuple[SealedChannel, SealedChannel, InProcessChannel, InProcessChannel]:
    """The sealed ends of client and server, and what they wrap."""
    client, server = channel_pair()
    return (
        SealedChannel(client, KEYS, is_server=False),
        SealedChannel(server, KEYS, is_server=True),
        client,
        server,
    )


def received(channel: SealedChannel, size: int, steps: Iterator[int]) -> bytes:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        view = rest[: next(steps)]
        rest = rest[channel.receive_all([view]) :]
    return bytes(data)


def forever(steps: list[int]) -> Iterator[int]:
    while True:
        yield from steps


sizes = st.one_of(
    st.integers(0, 40), st.integers(15_000, 18_000), st.integers(1_000_000, 2_200_000)
)


@settings(max_examples=examples(25))
@given(
    pieces=st.lists(sizes, min_size=1, max_size=5),
    steps=st.lists(st.sampled_from([1, 100, 70_000, 1 << 20, 3 << 20]), min_size=1, max_size=4),
    in_parts=st.booleans(),
)
def test_pieces_arrive_whole_and_in_order(
    pieces: list[int], steps: list[int], in_parts: bool
) -> None:
    client, server, *_ = sealed_pair()
    views: list[Piece] = [LARGE[number : number + size] for number, size in enumerate(pieces)]
    expected = b"".join(views)
    sender = threading.Thread(target=send, args=(client, views, in_parts))
    sender.start()
    steps = [step for step in steps if step > 1 or len(expected) < 50_000] or [1 << 20]
    assert received(server, len(expected), forever(steps)) == expected
    sender.join()


def send(channel: SealedChannel, views: list[Piece], in_parts: bool) -> None:
    """All at once, or as an outbox does."""
    if not in_parts:
        channel.send(views)
        return
    rest, may_block = memoryview(b"".join(views)), False
    while rest:
        sent_bytes = channel.send_some([rest], may_block=may_block)
        may_block = sent_bytes is None
        rest = rest[sent_bytes or 0 :]


def test_what_the_channel_does_not_take_at_once_is_sent_later_and_once() -> None:
    client, server, *_ = sealed_pair()
    assert client.send_some([LARGE[:100_000]], may_block=False) is None
    reader = threading.Thread(target=lambda: got.append(received(server, 100_000, forever([999]))))
    got: list[bytes] = []
    reader.start()
    assert client.send_some([LARGE[:100_000]], may_block=True) == 100_000
    reader.join()
    assert got == [bytes(LARGE[:100_000])]


def test_a_ping_is_answered_and_invisible() -> None:
    client, server, raw, _ = sealed_pair()
    client.ping()
    client.send([b"hello"])
    assert received(server, 5, forever([5])) == b"hello"
    server.send([b"reply"])
    assert received(client, 5, forever([5])) == b"reply"
    client.deadline_s = time.monotonic()
    with pytest.raises(DeadlinePassed):
        client.receive(memoryview(bytearray(1)))  # The answer to the ping was the first record.
    assert raw.deadline_s == client.deadline_s


def test_a_ping_behind_a_full_pipe_waits_for_the_records_before_it() -> None:
    client, server, *_ = sealed_pair()
    assert client.send_some([LARGE[:70_000]], may_block=False) is None
    for _ in range(3):
        client.ping()
    reader = threading.Thread(target=lambda: got.append(received(server, 70_001, forever([999]))))
    got: list[bytes] = []
    reader.start()
    assert client.send_some([LARGE[:70_000]], may_block=True) == 70_000
    client.ping()
    client.send([b"!"])
    reader.join()
    assert got == [bytes(LARGE[:70_000]) + b"!"]


def test_nothing_of_a_changed_record_is_returned() -> None:
    client, server, _, raw = sealed_pair()
    client.send([b"trustworthy"])
    record = bytearray(100)
    count = raw.receive(memoryview(record))
    record[6] ^= 1
    other, changed = channel_pair()
    other.send([bytes(record[:count])])
    victim = SealedChannel(changed, KEYS, is_server=True)
    with pytest.raises(Tampered):
        victim.receive(memoryview(bytearray(3)))
    del server


def test_a_deadline_in_the_middle_of_a_record_loses_nothing() -> None:
    client, server, _, raw = sealed_pair()
    client.send([b"first half, second half"])
    record = bytearray(100)
    count = raw.receive(memoryview(record))
    sender, receiver = channel_pair()
    reader = SealedChannel(receiver, KEYS, is_server=True)
    sender.send([bytes(record[:10])])
    reader.deadline_s = time.monotonic()
    with pytest.raises(DeadlinePassed):
        reader.receive(memoryview(bytearray(50)))
    reader.deadline_s = None
    sender.send([bytes(record[10:count])])
    assert received(reader, 23, forever([50])) == b"first half, second half"
    del server
