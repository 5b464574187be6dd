"""What compiled loops read and write is what `framing` writes and reads."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.transport.framing import (
    HEADER_BYTES,
    Header,
    Reference,
    decode_header,
    encode_header,
    encode_references,
)
from motet.transport.native.frame_bytes import (
    first_reference,
    frame_head,
    meta_place,
    store_reply_head,
)

BYTE, WORD = st.integers(0, 255), st.integers(0, (1 << 64) - 1)


@given(BYTE, BYTE, st.integers(0, 0xFFFF), st.integers(0, 1 << 26), WORD, st.integers(0, 1 << 36))
def test_the_head_of_a_request_is_read(
    flags: int, references: int, code: int, meta_bytes: int, operation: int, payload_bytes: int
) -> None:
    header = encode_header(code, flags, operation, references, meta_bytes, payload_bytes)
    head = frame_head(np.frombuffer(bytearray(b"..." + header), np.uint8), 3)
    expected = (True, flags, references, code, meta_bytes, operation, payload_bytes)
    assert tuple(map(int, head)) == expected
    prefix_bytes = decode_header(header).prefix_bytes
    assert meta_place(3, references) + meta_bytes == 3 + HEADER_BYTES + prefix_bytes


def test_other_bytes_are_no_frame() -> None:
    assert not frame_head(np.zeros(HEADER_BYTES, np.uint8), 0).is_frame


@given(st.integers(0, (1 << 32) - 1), WORD, WORD)
def test_the_first_reference_is_read(segment: int, offset: int, length: int) -> None:
    references = encode_references([Reference(segment, offset, length), Reference(1, 2, 3)])
    data = np.frombuffer(bytearray(bytes(HEADER_BYTES) + references), np.uint8)
    assert tuple(map(int, first_reference(data, 0))) == (segment, offset, length)


@given(BYTE, WORD, st.integers(0, 1 << 36))
def test_the_head_of_a_reply_is_written(flags: int, operation: int, payload_bytes: int) -> None:
    data = np.full(HEADER_BYTES + 3, 7, np.uint8)
    store_reply_head(data, 3, *map(np.uint64, (flags, operation, payload_bytes)))
    header = decode_header(data.data, 3)
    assert header == Header(header.magic, flags, 0, 0, 0, 0, operation, payload_bytes)
