"""The values of an owner's blocks as replies, and requests' payloads as values."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.block import Block
from motet.runtime.server.held_blocks import NamedBlocks
from motet.runtime.server.joint_sum import BlockChanges
from motet.runtime.wire.changes_payload import (
    REVISION_BYTES,
    decode_changes,
    decode_revisions,
    encode_news,
)
from motet.runtime.wire.messages import ReplyStatus, RequestKind
from motet.transport import Request

_READ_BY_CHANGES = (RequestKind.REFRESH, RequestKind.EXCHANGE)


class Payloads:
    """Payloads of one table. Small values that several workers pull are joined once."""

    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        self._revisions = itertools.count(1)
        self._revision = 0
        self._last_news: tuple[int, bytes, bytes, list[Array | bytes]] | None = None

    def answer(self, request: Request, named: NamedBlocks, meta: bytes = b"") -> None:
        """Reply with the values of the named blocks, or with what is new in them."""
        if request.kind in _READ_BY_CHANGES:
            # Whatever comes before them, the reader's revisions end a request.
            revisions = request.meta[-REVISION_BYTES * len(named.blocks) :]
            request.reply(ReplyStatus.OK, meta, self._news(named, revisions))
            return
        if named.row_count is not None:
            request.reply(ReplyStatus.OK, meta, [self._gather(named, named.row_count)])
            return
        if named.is_small:
            request.reply(ReplyStatus.OK, meta, [self._joined(named)])
            return
        contiguous = named.contiguous
        span = None if contiguous is None else contiguous.pin()
        if contiguous is not None and span is not None:
            request.reply(ReplyStatus.OK, meta, [span], on_sent=contiguous.unpin)
            return
        pinned = [(block, block.pin()) for block in named.blocks]
        values = [values for _, values in pinned]
        request.reply(ReplyStatus.OK, meta, values, on_sent=partial(_unpin, pinned))

    def _news(self, named: NamedBlocks, revisions: bytes) -> list[Array | bytes]:
        """The payload for a reader that has these revisions, made once for all such readers.

        For the order of revision and values see `_joined`.
        """
        now = self._revision
        last = self._last_news
        if last is not None and last[:3] == (now, named.numbers.tobytes(), revisions):
            return last[3]
        since = decode_revisions(revisions, 0, len(named.blocks))
        news = [block.news(one) for block, one in zip(named.blocks, since, strict=True)]
        payload = encode_news(news)
        if all(one.changes is not None for one in news):
            self._last_news = (now, named.numbers.tobytes(), revisions, payload)
        return payload

    def _joined(self, named: NamedBlocks) -> bytes:
        """Small values as one copy, made again after the shard has changed.

        The revision is read before the values and set after they change, each time to a new
        number, so a copy that lacks a change never has the current revision.
        """
        now = self._revision
        revision, data = named.copy
        if revision != now:
            data = b"".join([block.to_bytes() for block in named.blocks])
            named.copy = (now, data)
        return data

    def changed(self) -> None:
        """Invalidate joined copies: some value has changed."""
        self._revision = next(self._revisions)

    def _gather(self, named: NamedBlocks, row_count: int) -> Array:
        model = self._spec.model
        out = np.empty((row_count, *model.value_shape), model.dtype)
        contiguous, rows = named.contiguous, named.span_rows
        if contiguous is not None and rows is not None and contiguous.gather(rows, out):
            return out
        offset = 0
        for block, (_, wanted) in zip(named.blocks, named.pieces, strict=True):
            if wanted is None or not len(wanted):
                continue
            block.gather(wanted, out[offset : offset + len(wanted)])
            offset += len(wanted)
        return out

    def split(
        self, pieces: list[tuple[int, Any]], payload: memoryview, *, is_delta: bool
    ) -> list[Array | None]:
        """The payload as one array per block; None for a block with no rows in it."""
        if is_delta and self._spec.model.exchanges_changes:
            changes = self.changes_in(payload, len(pieces))
            found = [changes.of(index) for index in range(len(pieces))]
            return [part if part.shape[1] else None for part in found]
        values = self.values_in(payload, is_delta=is_delta)
        parts: list[Array | None] = []
        offset = 0
        for number, rows in pieces:
            count = self._spec.partition.rows_in(number) if rows is None else len(rows)
            parts.append(values[offset : offset + count] if count else None)
            offset += count
        return parts

    def changes_in(self, payload: memoryview, block_count: int) -> BlockChanges:
        """The payload of a PUSH of changes (views). Raises BadMessage."""
        return BlockChanges(*decode_changes(payload, block_count))

    def values_in(self, payload: memoryview, *, is_delta: bool) -> Array:
        """The payload as one array."""
        model = self._spec.model
        dtype = model.delta_value_dtype if is_delta else model.dtype
        shape = model.delta_value_shape if is_delta else model.value_shape
        values: Array = np.frombuffer(payload, dtype).reshape(-1, *shape)
        return values


def _unpin(pinned: list[tuple[Block, Array]]) -> None:
    for block, values in pinned:
        block.unpin(values)
