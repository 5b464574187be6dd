from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.transport.frame_reader import MIN_ROOM_BYTES, SMALL_PAYLOAD_BYTES, Frame, FrameReader
from motet.transport.framing import Header, Reference, encode_header, encode_references


class Chunks:
    """A stream that arrives in pieces of given sizes, then ends."""

    def __init__(self, data: bytes, sizes: Sequence[int]) -> None:
        self._data = data
        self._sizes = list(sizes)
        self.receive_count = 0

    def receive(self, view: memoryview) -> int:
        self.receive_count += 1
        if not self._data:
            raise ConnectionResetError
        size = min(self._sizes.pop(0) if self._sizes else len(view), len(view), len(self._data))
        view[:size] = self._data[:size]
        self._data = self._data[size:]
        return size

    def receive_all(self, views: Sequence[memoryview]) -> int:
        return self.receive(views[0])


def frame(operation: int, meta: bytes, payload: bytes, references: int = 0) -> bytes:
    header = encode_header(7, 0, operation, references, len(meta), len(payload))
    return header + encode_references([Reference(1, 2, 3)] * references) + meta + payload


def anywhere(header: Header, references: bytes, meta: bytes) -> list[memoryview] | None:
    """As a server does: small payloads stay in the buffer."""
    small = header.payload_bytes <= SMALL_PAYLOAD_BYTES
    return None if small else [memoryview(bytearray(header.payload_bytes))]


def in_three(header: Header, references: bytes, meta: bytes) -> list[memoryview]:
    """As a client does that scatters a reply."""
    third = header.payload_bytes // 3
    sizes = [third, 0, header.payload_bytes - third]
    return [memoryview(bytearray(size)) for size in sizes]


MESSAGES = st.lists(
    st.tuples(
        st.binary(max_size=40),
        st.sampled_from([0, 1, 100, SMALL_PAYLOAD_BYTES, SMALL_PAYLOAD_BYTES + 1, 50_000]),
        st.integers(0, 3),
    ),
    max_size=8,
)
SIZES = st.lists(st.integers(1, 40_000), max_size=60)


def payload_of(number: int, size: int) -> bytes:
    return bytes([number % 251 + 1]) * size


@given(MESSAGES, SIZES, st.sampled_from([MIN_ROOM_BYTES, 1 << 17]), st.integers(1, 1 << 17))
def test_frames_are_read_from_chunks_of_any_size(
    messages: list[tuple[bytes, int, int]], sizes: list[int], buffer_bytes: int, limit: int
) -> None:
    data = b"".join(
        frame(number, meta, payload_of(number, size), references)
        for number, (meta, size, references) in enumerate(messages)
    )
    reader = FrameReader(Chunks(data, sizes), anywhere, buffer_bytes)
    for number, (meta, size, references) in enumerate(messages):
        got = reader.read(limit)
        assert got.header.operation == number
        assert got.meta == meta
        assert got.references == encode_references([Reference(1, 2, 3)] * references)
        assert got.payload == payload_of(number, size)
    assert reader.next() is None


@given(st.lists(st.integers(0, 5_000), min_size=2, max_size=12), SIZES)
def test_a_kept_payload_is_never_overwritten(payloads: list[int], sizes: list[int]) -> None:
    data = b"".join(frame(n, b"", payload_of(n, size)) for n, size in enumerate(payloads))
    reader = FrameReader(Chunks(data, sizes), anywhere, MIN_ROOM_BYTES)
    kept: list[Frame] = []
    for _ in payloads:
        got = reader.read()
        if got.is_borrowed:
            reader.keep()
        kept.append(got)
    for number, (got, size) in enumerate(zip(kept, payloads, strict=True)):
        assert got.payload == payload_of(number, size)


@given(st.integers(1, 100_000), SIZES)
def test_a_scattered_payload_fills_its_destinations(size: int, sizes: list[int]) -> None:
    payload = bytes(index % 251 for index in range(size))
    places: list[list[memoryview]] = []

    def place(header: Header, references: bytes, meta: bytes) -> list[memoryview]:
        places.append(in_three(header, references, meta))
        return places[-1]

    reader = FrameReader(Chunks(frame(1, b"m", payload), sizes), place)
    assert reader.read().payload == b""
    assert b"".join(places[0]) == payload


def test_small_frames_that_arrive_together_take_one_receive() -> None:
    source = Chunks(b"".join(frame(n, b"meta", b"payload") for n in range(50)), [])
    reader = FrameReader(source, anywhere)
    assert [reader.read().header.operation for _ in range(50)] == list(range(50))
    assert source.receive_count == 1


def test_a_meta_larger_than_the_buffer_is_read() -> None:
    meta = bytes(300_000)
    reader = FrameReader(Chunks(frame(1, meta, b"x"), [10]), anywhere)
    assert reader.read().meta == meta


def test_the_end_of_the_stream_is_an_error() -> None:
    with pytest.raises(ConnectionResetError):
        FrameReader(Chunks(frame(1, b"", b"abc")[:-1], []), anywhere).read()
