"""Payloads of tables that exchange changes: of a PUSH, and of the reply to a REFRESH.

A REFRESH is a PULL that names, for every block, the revision of the reader's copy. The reply holds
the changes since then, or the block's values if the owner does not have all of them any more. An
EXCHANGE is a PUSH with the REFRESH of the next mini-batch: the payload of the one, the reply of the
other.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.core.changes import all_changes
from motet.runtime.wire.errors import BadMessage

NO_REVISION = -1
REVISION_BYTES = 8
"""Of one block's revision in a REFRESH."""
WHOLE = -1


class BlockNews(NamedTuple):
    """What is new in a block: changes, each `(2, n), int32`, or (None) all `values` as bytes.

    `revision`: of the block with them.
    """

    revision: int
    changes: Sequence[Array] | None
    values: bytes = b""


class News(NamedTuple):
    """What is new in several blocks.

    `counts`: of each block's changes; WHOLE: `values` has all values of the block. `changes: (2,
    n), int32`: of all other blocks, those of the first one first; a position is one in its block.
    """

    revisions: Sequence[int]
    counts: Sequence[int]
    changes: Array
    values: list[memoryview]


def encode_changes(counts: Indices, changes: Array) -> list[Array]:
    """A PUSH's payload; `changes: (2, n), int32`, the `counts[0]` ones of the first block first."""
    return [np.ascontiguousarray(counts, np.int64), changes[0], changes[1]]


def decode_changes(payload: memoryview, block_count: int) -> tuple[Array, list[int]]:
    """The changes `(2, n)` of all blocks (a view), and where those of each block end.

    Raises BadMessage.
    """
    if len(payload) < 8 * block_count:
        raise BadMessage(f"a PUSH of {len(payload)} bytes has no counts of {block_count} blocks")
    counts = struct.unpack_from(f"<{block_count}q", payload)
    ends = list(accumulate(counts))
    total = ends[-1] if ends else 0
    if min(counts, default=0) < 0 or len(payload) != 8 * (block_count + total):
        raise BadMessage(f"a PUSH of {len(payload)} bytes does not hold {total} changes")
    return _changes_at(payload, 8 * block_count, total), ends


def encode_revisions(revisions: Indices) -> bytes:
    """The end of a REFRESH and an EXCHANGE: the reader's revision of each block, or NO_REVISION."""
    return revisions.astype(np.int64).tobytes()


def decode_revisions(meta: bytes | memoryview, offset: int, block_count: int) -> list[int]:
    """The inverse of `encode_revisions`."""
    revisions: list[int] = np.frombuffer(meta, np.int64, block_count, offset).tolist()
    return revisions


def encode_news(news: Sequence[BlockNews]) -> list[Array | bytes]:
    """The payload of a reply to a REFRESH, in the order of its blocks."""
    heads: list[int] = []
    parts: list[Array] = []
    for revision, changes, _ in news:
        if changes is None:
            heads += (revision, WHOLE)
            continue
        heads += (revision, sum([part.shape[1] for part in changes]))
        parts += changes
    return [
        struct.pack(f"<{len(heads)}q", *heads),
        np.ascontiguousarray(all_changes(parts), np.int32),
        *(one.values for one in news if one.changes is None),
    ]


def decode_news(payload: memoryview, value_bytes: Sequence[int]) -> News:
    """The inverse of `encode_news`; `value_bytes`: of each block's values. Raises BadMessage."""
    heads_end = 16 * len(value_bytes)
    if len(payload) < heads_end:
        raise BadMessage(f"the reply to a REFRESH ends before byte {heads_end}")
    heads = struct.unpack_from(f"<{2 * len(value_bytes)}q", payload)
    revisions, counts = heads[::2], heads[1::2]
    sizes = [size for size, count in zip(value_bytes, counts, strict=True) if count == WHOLE]
    total = sum(counts) - WHOLE * len(sizes)
    ends = list(accumulate(sizes, initial=heads_end + 8 * total))
    if min(counts, default=0) < WHOLE or ends[-1] != len(payload):
        raise BadMessage(f"the reply to a REFRESH has {len(payload)} bytes, not {ends[-1]}")
    values = [payload[low:high] for low, high in pairwise(ends)]
    return News(revisions, counts, _changes_at(payload, heads_end, total), values)


def _changes_at(payload: memoryview, offset: int, count: int) -> Array:
    """So many changes `(2, count)` in a payload (a view)."""
    return np.frombuffer(payload, np.int32, 2 * count, offset).reshape(2, count)
