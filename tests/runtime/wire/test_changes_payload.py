"""Payloads of changes: read back as they were written, refused when they are damaged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Array
from motet.runtime.wire.changes_payload import (
    WHOLE,
    BlockNews,
    decode_changes,
    decode_news,
    decode_revisions,
    encode_changes,
    encode_news,
    encode_revisions,
)
from motet.runtime.wire.errors import BadMessage


def joined(buffers: list[Any]) -> memoryview:
    return memoryview(b"".join(bytes(buffer) for buffer in buffers))


def changes(count: int) -> Array:
    return np.arange(2 * count, dtype=np.int32).reshape(2, count)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_a_push_is_read_back(counts: list[int]) -> None:
    whole = changes(sum(counts))
    found, ends = decode_changes(joined(encode_changes(np.array(counts), whole)), len(counts))
    assert np.diff(ends, prepend=0).tolist() == counts
    np.testing.assert_array_equal(found, whole)


@pytest.mark.parametrize("size", [0, 15, 20, 64])
def test_a_push_of_another_length_is_refused(size: int) -> None:
    payload = bytes(joined(encode_changes(np.array([1, 2]), changes(3))))
    assert len(payload) == 40
    with pytest.raises(BadMessage):
        decode_changes(memoryview((payload + bytes(64))[:size]), 2)


def test_negative_counts_are_refused() -> None:
    payload = joined([np.array([3, -2], np.int64), np.zeros((2, 1), np.int32)])
    with pytest.raises(BadMessage, match="does not hold"):
        decode_changes(payload, 2)


def test_news_are_read_back() -> None:
    values = bytes(range(8))
    news = [BlockNews(7, [changes(3)]), BlockNews(1, None, values), BlockNews(0, [changes(0)])]
    news.append(BlockNews(2, [changes(1), changes(2)]))
    found = decode_news(joined(encode_news(news)), [16, 8, 16, 24])
    assert list(found.revisions) == [7, 1, 0, 2]
    assert list(found.counts) == [3, WHOLE, 0, 3]
    wanted = np.concatenate([changes(3), changes(1), changes(2)], axis=1)
    np.testing.assert_array_equal(found.changes, wanted)
    assert [bytes(one) for one in found.values] == [values]


@pytest.mark.parametrize("size", [0, 15, 36, 39, 44])
def test_news_of_another_length_are_refused(size: int) -> None:
    payload = bytes(joined(encode_news([BlockNews(7, [changes(3)])])))
    assert len(payload) == 40
    with pytest.raises(BadMessage, match="REFRESH"):
        decode_news(memoryview((payload + bytes(64))[:size]), [16])


def test_negative_counts_of_news_are_refused() -> None:
    payload = joined([np.array([[7, -2], [7, 3]], np.int64), np.zeros((2, 1), np.int32)])
    with pytest.raises(BadMessage):
        decode_news(payload, [16, 16])


def test_revisions_are_read_back() -> None:
    meta = b"head" + encode_revisions(np.array([-1, 5]))
    assert decode_revisions(meta, 4, 2) == [-1, 5]
