from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput, ConnectionLost, MotetError, UnknownName
from motet.transport.framing import (
    HEADER_BYTES,
    MAGIC,
    MAX_META_BYTES,
    MAX_PAYLOAD_BYTES,
    Header,
    ProtocolError,
    Reference,
    advance,
    byte_view,
    check_limits,
    decode_error,
    decode_header,
    decode_references,
    encode_error,
    encode_header,
    encode_references,
)

UINT32 = st.integers(0, 2**32 - 1)
UINT64 = st.integers(0, 2**64 - 1)


@given(
    st.builds(
        Header,
        magic=st.just(MAGIC),
        flags=st.integers(0, 255),
        reference_count=st.integers(0, 255),
        code=st.integers(0, 0xFFFF),
        wait_us=UINT32,
        meta_bytes=st.integers(0, MAX_META_BYTES),
        operation=UINT64,
        payload_bytes=st.integers(0, MAX_PAYLOAD_BYTES),
    ),
    st.integers(0, 9),
)
def test_a_header_is_decoded_at_any_offset(header: Header, offset: int) -> None:
    encoded = encode_header(
        header.code,
        header.flags,
        header.operation,
        header.reference_count,
        header.meta_bytes,
        header.payload_bytes,
        header.wait_us,
    )
    assert len(encoded) == HEADER_BYTES
    assert decode_header(bytes(offset) + encoded, offset) == header


@given(st.binary(min_size=HEADER_BYTES, max_size=HEADER_BYTES))
def test_bytes_without_the_magic_are_a_protocol_error(data: bytes) -> None:
    if data[:4] == MAGIC.to_bytes(4, "little"):
        return
    with pytest.raises(ProtocolError, match="same version of Motet"):
        decode_header(data)


@pytest.mark.parametrize(("meta", "payload"), [(MAX_META_BYTES + 1, 0), (0, MAX_PAYLOAD_BYTES + 1)])
def test_a_size_beyond_the_limit_is_refused_by_both_ends(meta: int, payload: int) -> None:
    with pytest.raises(ProtocolError, match="at most"):
        decode_header(encode_header(0, 0, 1, 0, meta, payload))
    with pytest.raises(ValueError, match="at most"):
        check_limits(0, meta, payload)


@pytest.mark.parametrize("kind", [-1, 1 << 16])
def test_a_kind_that_does_not_fit_is_refused(kind: int) -> None:
    with pytest.raises(ValueError, match=f"kind or status {kind}"):
        check_limits(kind, 0, 0)


def test_a_wait_beyond_the_field_is_sent_as_the_maximum() -> None:
    assert decode_header(encode_header(0, 0, 1, 0, 0, 0, wait_us=10**12)).wait_us == 2**32 - 1


@given(st.lists(st.builds(Reference, UINT32, UINT64, UINT64), max_size=20))
def test_references_are_decoded_from_their_encoding(references: list[Reference]) -> None:
    assert decode_references(encode_references(references)) == references


def test_a_motet_error_is_decoded_as_the_same_class() -> None:
    error = decode_error(encode_error(ConnectionLost("server 3 is gone")))
    assert type(error) is ConnectionLost
    assert str(error) == "server 3 is gone"


def test_an_error_with_its_own_constructor_keeps_its_text() -> None:
    error = decode_error(encode_error(UnknownName("app", "nfm", ["nmf"])))
    assert type(error) is UnknownName
    assert "did you mean 'nmf'" in str(error)


def test_any_other_error_is_decoded_with_its_class_name() -> None:
    error = decode_error(encode_error(KeyError("rank")))
    assert type(error) is MotetError
    assert str(error) == "KeyError: 'rank'"


def test_an_unknown_error_class_is_decoded_as_a_motet_error() -> None:
    assert type(decode_error(b"NoSuchClass\nhelp")) is MotetError
    assert not isinstance(decode_error(b"NoSuchClass\nhelp"), BadInput)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.array(7.0),
        np.empty((0, 4)),
        np.zeros(3, dtype=[("word", "i4"), ("count", "i8")]),
        np.arange(4, dtype=np.float16),
    ],
    ids=["matrix", "scalar", "empty", "structured", "half"],
)
def test_a_byte_view_shares_memory_with_the_array(array: np.ndarray) -> None:
    view = byte_view(array)
    assert view.tobytes() == array.tobytes()
    assert len(view) == array.nbytes
    if len(view):
        view[0] = 255
        assert array.tobytes()[0] == 255


def test_a_non_contiguous_array_has_no_byte_view() -> None:
    with pytest.raises(ValueError, match="ascontiguousarray"):
        byte_view(np.zeros((4, 4))[:, ::2])


@given(st.lists(st.binary(max_size=9), max_size=8), st.data())
def test_advancing_in_steps_of_any_size_passes_every_byte_once(
    pieces: list[bytes], data: st.DataObject
) -> None:
    seen = b""
    index, rest = advance(pieces, 0, 0)
    while index < len(pieces):
        ahead = rest.tobytes() + b"".join(pieces[index + 1 :])
        step = data.draw(st.integers(1, len(ahead)))
        seen += ahead[:step]
        done = len(pieces[index]) - len(rest)
        index, rest = advance(pieces, index, done + step)
    assert seen == b"".join(pieces)
