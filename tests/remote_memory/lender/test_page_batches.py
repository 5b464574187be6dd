"""The compiled loop of a lender beside the handler that it stands in for."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.lender.lent_memory import LentMemory
from motet.remote_memory.lender.page_batches import PageBatches
from motet.remote_memory.lender.page_kernel import MAPPING_ROWS
from motet.remote_memory.wire.memory_messages import MemoryMessageKind
from motet.remote_memory.wire.page_requests import encode_page_request
from motet.transport.framing import (
    HEADER_BYTES,
    SHARED_PAYLOAD,
    Reference,
    decode_header,
    encode_header,
    encode_references,
)

SLAB, SMALL, LARGE = 1 << 18, 4096, 1 << 17
WRITE, READ = int(MemoryMessageKind.WRITE_PAGES), int(MemoryMessageKind.READ_PAGES)
TOKEN, OTHER_TOKEN, GENERATION = b"\xff" * 16, b"\x01" + bytes(15), (1 << 63) + 5
SEGMENT = 21


@dataclass(frozen=True)
class Frame:
    """A request for pages; by default a plain one."""

    kind: int = READ
    offset: int = 0
    length: int = SMALL
    payload: bytes = b""
    reference: Reference | None = None
    token: bytes = TOKEN
    generation: int = GENERATION
    flags: int = 0
    payload_bytes: int | None = None
    version: int = 1

    def encode(self, operation: int = 1) -> bytes:
        size = len(self.payload) if self.payload_bytes is None else self.payload_bytes
        references = [] if self.reference is None else [self.reference]
        meta = encode_page_request(self.token, self.generation, self.offset, self.length)
        meta = bytes([self.version]) + meta[1:]
        head = encode_header(self.kind, self.flags, operation, len(references), len(meta), size)
        return head + encode_references(references) + meta + self.payload


class Lent:
    """A slab, a client's memory, and the loop of the client's connection."""

    def __init__(self) -> None:
        self.slab = bytearray(SLAB)
        self.client = np.zeros(SLAB, np.uint8)
        self.memory = LentMemory(memoryview(self.slab), "a", GENERATION)
        self.asked = list[bytes]()
        self.batches = PageBatches(self._find)
        self.batches.use_segments({SEGMENT: self.client})

    def _find(self, token: bytes, generation: int) -> LentMemory | None:
        self.asked.append(token)
        return self.memory if (token, generation) == (TOKEN, GENERATION) else None

    def serve(self, data: bytes, start: int = 0) -> tuple[int, bytes]:
        return self.batches.serve(np.frombuffer(bytearray(data), np.uint8), start, len(data))


def written(content: bytes, **fields: int) -> Frame:
    return Frame(WRITE, length=len(content), payload=content, **fields)


LENT = Reference(SEGMENT, 4096, LARGE)
LENT_WRITE = Frame(WRITE, length=LARGE, reference=LENT, flags=SHARED_PAYLOAD, payload_bytes=LARGE)
LENT_READ = Frame(READ, length=LARGE, reference=LENT)
CONTENT = bytes(range(256)) * (SMALL // 256)


def test_small_content_travels_in_frames() -> None:
    lent = Lent()
    frames = [written(CONTENT, offset=SMALL), Frame(offset=SMALL), Frame(offset=SLAB - SMALL)]
    data = b"".join(frame.encode(10 + place) for place, frame in enumerate(frames))
    read_to, replies = lent.serve(b"..." + data, 3)
    assert read_to == 3 + len(data)
    heads = [(10, 0, b""), (11, SMALL, CONTENT), (12, SMALL, bytes(SMALL))]
    assert replies == b"".join(
        encode_header(0, 0, operation, 0, 0, size) + content for operation, size, content in heads
    )
    assert lent.slab[SMALL : 2 * SMALL] == CONTENT


def test_large_content_is_in_the_clients_memory() -> None:
    lent = Lent()
    lent.client[4096 : 4096 + LARGE] = 5
    _, replies = lent.serve(replace(LENT_WRITE, offset=SMALL).encode())
    assert replies == encode_header(0, 0, 1, 0, 0, 0)
    assert lent.slab == bytes(SMALL) + b"\x05" * LARGE + bytes(SLAB - LARGE - SMALL)
    lent.client[:] = 0
    _, replies = lent.serve(replace(LENT_READ, offset=SMALL).encode())
    assert replies == encode_header(0, SHARED_PAYLOAD, 1, 0, 0, LARGE)
    assert lent.client.tobytes() == bytes(4096) + b"\x05" * LARGE + bytes(SLAB - LARGE - 4096)


@pytest.mark.parametrize(
    "frame",
    [
        Frame(kind=int(MemoryMessageKind.MAP)),
        Frame(version=2),
        Frame(token=OTHER_TOKEN),
        Frame(generation=GENERATION + 1),
        Frame(length=0),
        Frame(offset=SLAB - SMALL + 1),
        Frame(offset=(1 << 64) - 1),
        Frame(length=LARGE),
        Frame(reference=Reference(SEGMENT, 0, SMALL)),
        Frame(payload=b"1"),
        Frame(flags=SHARED_PAYLOAD),
        Frame(flags=16),
        Frame(WRITE, payload=CONTENT[1:]),
        Frame(WRITE, length=SMALL + 1, payload=CONTENT),
        Frame(WRITE, length=1 << 15, payload=bytes(1 << 15)),
        Frame(WRITE, payload=CONTENT, reference=Reference(SEGMENT, 0, SMALL)),
        replace(LENT_WRITE, reference=None),
        replace(LENT_WRITE, flags=0),
        replace(LENT_WRITE, length=LARGE - 1),
        replace(LENT_WRITE, payload_bytes=LARGE - 1),
        replace(LENT_WRITE, length=(1 << 20) + 1, payload_bytes=(1 << 20) + 1),
        replace(LENT_WRITE, reference=Reference(SEGMENT, 1, SLAB)),
        replace(LENT_READ, reference=Reference(SEGMENT, SLAB - LARGE + 1, LARGE)),
        replace(LENT_READ, reference=Reference(SEGMENT, (1 << 64) - 1, LARGE)),
        replace(LENT_READ, reference=Reference(SEGMENT + 16, 0, LARGE)),
        replace(LENT_READ, reference=Reference(SEGMENT, 0, LARGE - 1)),
        replace(LENT_READ, offset=SLAB - LARGE + 1),
    ],
    ids=str,
)
def test_a_request_that_is_not_plain_is_left_with_those_behind_it(frame: Frame) -> None:
    lent = Lent()
    before = written(CONTENT).encode()
    read_to, replies = lent.serve(before + frame.encode() + Frame().encode())
    assert (read_to, replies) == (len(before), encode_header(0, 0, 1, 0, 0, 0))
    assert lent.slab == CONTENT + bytes(SLAB - SMALL)
    assert not lent.client.any()


def test_bytes_that_are_no_frame_are_left() -> None:
    assert Lent().serve(b"\x00" + Frame().encode()[1:]) == (0, b"")


@given(st.data())
def test_frames_may_arrive_in_any_pieces(data: st.DataObject) -> None:
    """All replies come, in order, whatever part of the stream a receive has brought."""
    lent, stream = Lent(), b""
    count = data.draw(st.integers(1, 6))
    for operation in range(count):
        content = bytes([operation + 1]) * SMALL
        frame = data.draw(st.sampled_from([written(content), Frame(), LENT_WRITE, LENT_READ]))
        stream += frame.encode(operation)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=5))
    start, replies = 0, b""
    for end in [*sorted(cuts), len(stream)]:
        if end > start:
            start, more = lent.serve(stream[:end], start)
            replies += more
    assert start == len(stream)
    place, operations = 0, list[int]()
    while place < len(replies):
        header = decode_header(replies, place)
        operations.append(header.operation)
        place += HEADER_BYTES + header.inline_bytes
    assert operations == list(range(count))


def test_a_mapping_that_has_ended_is_left_to_the_handler() -> None:
    """Which tells the client so; the slab is another client's by then."""
    lent = Lent()
    assert lent.serve(Frame().encode())[1]
    assert lent.memory.revoke(1.0)
    for frame in (Frame(), written(CONTENT), LENT_WRITE, LENT_READ):
        assert lent.serve(frame.encode()) == (0, b"")
    assert lent.slab == bytes(SLAB)


def test_a_mapping_is_looked_for_once() -> None:
    lent = Lent()
    for _ in range(3):
        lent.serve(Frame().encode() * 2)
    assert lent.asked == [TOKEN]


def test_mappings_whose_tokens_share_a_row_displace_each_other() -> None:
    tokens = [bytes([7]) + struct.pack("<Q", number) + bytes(7) for number in range(3)]
    slabs = [bytearray([number + 1]) * SLAB for number in range(3)]
    found = {
        token: LentMemory(memoryview(slab), "a", 1)
        for token, slab in zip(tokens, slabs, strict=True)
    }
    batches = PageBatches(lambda token, _: found[token])
    order = [0, 1, 1, 2, 0]
    stream = b"".join(Frame(token=tokens[each], generation=1).encode() for each in order)
    _, replies = batches.serve(np.frombuffer(bytearray(stream), np.uint8), 0, len(stream))
    size = HEADER_BYTES + SMALL
    assert [replies[place + size - 1] - 1 for place in range(0, len(replies), size)] == order
    assert len({token[0] % MAPPING_ROWS for token in tokens}) == 1


def test_more_replies_than_there_is_room_for_are_left() -> None:
    lent, frame = Lent(), Frame(length=1 << 14).encode()
    read_to, replies = lent.serve(frame * 40)
    count = read_to // len(frame)
    assert 0 < count < 40
    assert len(replies) == count * (HEADER_BYTES + (1 << 14))


def test_memory_that_the_client_lends_no_more_is_not_used() -> None:
    lent = Lent()
    lent.batches.use_segments({})
    assert lent.serve(LENT_WRITE.encode()) == (0, b"")
