"""Payloads of tables that exchange changes: of a PUSH, and of the reply to a REFRESH.

A REFRESH is a PULL that names, for every block, the revision of the reader's copy. The reply holds
the changes since then, or the block's values if the owner does not have all of them any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.wire.errors import BadMessage

NO_REVISION = -1
_WHOLE = -1


class BlockNews(NamedTuple):
    """What is new in a block: `changes: (2, n), int32`, or all `values` as bytes.

    `revision`: of the block with them.
    """

    revision: int
    changes: Array | None
    values: bytes = b""


def encode_changes(counts: Sequence[int], changes: Array) -> list[Array]:
    """A PUSH's payload; `changes: (2, n), int32`, the `counts[0]` ones of the first block first."""
    return [np.array(counts, np.int64), np.ascontiguousarray(changes, np.int32)]


def decode_changes(payload: memoryview, block_count: int) -> list[Array | None]:
    """The changes of each block (views); None for a block without any. Raises BadMessage."""
    if len(payload) < 8 * block_count:
        raise BadMessage(f"a PUSH of {len(payload)} bytes has no counts of {block_count} blocks")
    counts = np.frombuffer(payload, np.int64, block_count)
    total = int(counts.sum())
    if counts.min(initial=0) < 0 or len(payload) != 8 * (block_count + total):
        raise BadMessage(f"a PUSH of {len(payload)} bytes does not hold {total} changes")
    changes = np.frombuffer(payload, np.int32, 2 * total, 8 * block_count).reshape(2, total)
    ends = np.cumsum(counts).tolist()
    return [
        changes[:, end - count : end] if count else None
        for count, end in zip(counts.tolist(), ends, strict=True)
    ]


def encode_revisions(revisions: Indices) -> bytes:
    """What follows a REFRESH's head: the reader's revision of each block, or NO_REVISION."""
    return revisions.astype(np.int64).tobytes()


def decode_revisions(meta: bytes | memoryview, offset: int, block_count: int) -> list[int]:
    """The inverse of `encode_revisions`."""
    revisions: list[int] = np.frombuffer(meta, np.int64, block_count, offset).tolist()
    return revisions


def encode_news(news: Sequence[BlockNews]) -> list[Array | bytes]:
    """The payload of a reply to a REFRESH, in the order of its blocks."""
    heads = [
        (one.revision, _WHOLE if one.changes is None else one.changes.shape[1]) for one in news
    ]
    return [
        np.array(heads, np.int64),
        *(one.values if one.changes is None else np.ascontiguousarray(one.changes) for one in news),
    ]


def decode_news(payload: memoryview, value_bytes: Sequence[int]) -> Iterator[BlockNews]:
    """The inverse of `encode_news`; `value_bytes`: of each block's values. Raises BadMessage."""
    offset = 16 * len(value_bytes)
    heads = np.frombuffer(payload[:offset], np.int64).reshape(-1, 2).tolist()
    for (revision, count), whole_bytes in zip(heads, value_bytes, strict=True):
        size = whole_bytes if count == _WHOLE else 8 * count
        if count < _WHOLE or offset + size > len(payload):
            raise BadMessage(f"the reply to a REFRESH ends before byte {offset + size}")
        data = payload[offset : offset + size]
        offset += size
        if count == _WHOLE:
            yield BlockNews(revision, None, data.tobytes())
        else:
            yield BlockNews(revision, np.frombuffer(data, np.int32).reshape(2, count))
