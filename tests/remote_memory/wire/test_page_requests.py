from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.wire.memory_messages import BadMemoryMessage
from motet.remote_memory.wire.page_requests import decode_page_request, encode_page_request

TOKEN = bytes(range(16))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_a_head_arrives_as_it_was_sent(generation: int, offset: int, length: int) -> None:
    head = encode_page_request(TOKEN, generation, offset, length)
    assert decode_page_request(head)[1:] == (TOKEN, generation, offset, length)


@given(st.binary(max_size=60))
def test_other_bytes_are_refused(data: bytes) -> None:
    whole = len(encode_page_request(TOKEN, 1, 2, 3))
    if len(data) == whole and data[0] == 1:
        assert decode_page_request(data)
    else:
        with pytest.raises(BadMemoryMessage, match="a request for pages"):
            decode_page_request(data)
