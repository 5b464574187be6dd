"""A server with a handler of batches, and one of the requests that those leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from motet.domain.arrays import Bytes
from motet.transport import Arena, Connection, Request, Server
from motet.transport.framing import HEADER_BYTES, decode_header, encode_header
from motet.transport.server.batch_handler import BatchReplies
from waiting import wait_until

PLAIN, OTHER = 1, 2


class EvenNumbers:
    """Answers requests of one kind, with the number that their meta consists of, if it is even."""

    def __init__(self) -> None:
        self.numbers = list[int]()
        self.segments: Mapping[int, Bytes] = {}

    def use_segments(self, segments: Mapping[int, Bytes]) -> None:
        self.segments = dict(segments)

    def serve(self, received: Bytes, start: int, end: int) -> BatchReplies:
        replies = b""
        while end - start > HEADER_BYTES:
            header, number = (
                decode_header(received.data, start),
                int(received[start + HEADER_BYTES]),
            )
            if header.code != PLAIN or number % 2:
                break
            self.numbers.append(number)
            replies += encode_header(number, 0, header.operation, 0, 0, 0)
            start += HEADER_BYTES + 1
        return BatchReplies(start, replies)


def handler_of(numbers: list[int]) -> Callable[[Request], None]:
    def handle(request: Request) -> None:
        numbers.append(request.meta[0])
        request.reply(request.meta[0])

    return handle


@pytest.mark.parametrize("shared_memory", [True, False])
def test_each_request_is_answered_by_one_of_the_handlers(
    secret: bytes, shared_memory: bool
) -> None:
    left, batch = list[int](), EvenNumbers()
    with (
        Server(handler_of(left), secret, batches=lambda _: batch) as server,
        Connection(server.endpoint, secret, shared_memory=shared_memory) as connection,
    ):
        calls = [
            connection.submit(OTHER if number % 5 == 0 else PLAIN, bytes([number]))
            for number in range(250)
        ]
        assert [call.wait().status for call in calls] == list(range(250))
    assert batch.numbers == [number for number in range(250) if number % 2 == 0 and number % 5]
    assert sorted([*left, *batch.numbers]) == list(range(250))


def test_it_is_told_of_the_memory_that_the_client_lends(secret: bytes) -> None:
    batch, arena = EvenNumbers(), Arena()
    content = arena.empty(1 << 17)
    content[:] = 7

    def sum_up(request: Request) -> None:
        request.reply(int(np.frombuffer(request.payload, np.uint8).sum()) // len(content))

    with (
        Server(sum_up, secret, batches=lambda _: batch) as server,
        Connection(server.endpoint, secret, arena=arena) as connection,
    ):
        assert connection.request(OTHER, b"", (content,)).status == 7
        (memory,) = batch.segments.values()
        wait_until(lambda: 7 in memory)
