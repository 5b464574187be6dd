"""A worker's copy of a whole table that exchanges changes, and changes divided for its owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.wire.changes_payload import (
    NO_REVISION,
    WHOLE,
    News,
    decode_news,
    encode_changes,
)
from motet.runtime.wire.errors import BadMessage


@dataclass(frozen=True, eq=False)
class _Part:
    """Blocks that one request names, in all of its forms; found once.

    `firsts`, `ends`: where they lie in the flat table; `value_bytes`: of each of them.
    """

    index: slice | Indices
    firsts: Indices
    ends: Indices
    value_bytes: list[int]


class ModelCopy:
    """All values of a table, and the revision of each block in them. For one thread."""

    def __init__(self, spec: TableSpec) -> None:
        """Nothing is known of the values yet."""
        self.values: Array = np.zeros(spec.model.shape, spec.model.dtype)
        self._flat: Array = self.values.reshape(-1, copy=False)
        self._bounds = spec.block_bounds
        self._revisions = np.full(spec.block_count, NO_REVISION, np.int64)
        self._parts: dict[tuple[int, ...], _Part] = {}

    def revisions_of(self, blocks: Sequence[int]) -> Indices:
        """The revision of each of these blocks, or NO_REVISION."""
        return self._revisions[self._part(blocks).index]

    def take(self, blocks: Sequence[int], payload: memoryview) -> None:
        """Take the reply to a REFRESH or an EXCHANGE of these blocks. Raises BadMessage."""
        part = self._part(blocks)
        news = decode_news(payload, part.value_bytes)
        if news.values:
            self._take_whole(part, news)
        self._add(part, news)
        self._revisions[part.index] = news.revisions

    def _take_whole(self, part: _Part, news: News) -> None:
        whole = [index for index, count in enumerate(news.counts) if count == WHOLE]
        for index, data in zip(whole, news.values, strict=True):
            values = self._flat[part.firsts[index] : part.ends[index]]
            values[...] = np.frombuffer(data, values.dtype)

    def _add(self, part: _Part, news: News) -> None:
        """Add the changes of all blocks in one pass. Raises BadMessage."""
        from motet.runtime.core.kernels.change_kernels import add_in_blocks

        counts, changes = np.array(news.counts, np.int64), (news.changes[0], news.changes[1])
        if not add_in_blocks(self._flat, part.firsts, part.ends, changes, counts):
            raise BadMessage("a change in the reply to a REFRESH is outside of its block")

    def _part(self, blocks: Sequence[int]) -> _Part:
        numbers = tuple(blocks)
        part = self._parts.get(numbers)
        if part is None:
            chosen = np.array(numbers, np.int64)
            firsts, ends = self._bounds[chosen], self._bounds[chosen + 1]
            sizes = ((ends - firsts) * self.values.itemsize).tolist()
            part = _Part(_span(blocks) or chosen, firsts, ends, sizes)
            self._parts[numbers] = part
        return part


class DividedChanges:
    """Changes of a whole table, divided by its blocks."""

    def __init__(self, spec: TableSpec, changes: Array) -> None:
        """`changes: (2, n)`: flat positions in the table, row after row, and what is added."""
        from motet.runtime.core.kernels.change_kernels import divide_by_blocks

        (positions, amounts), bounds = changes, spec.block_bounds
        self._changes = np.empty(changes.shape, np.int32)
        # Positions of one row may be in any order, but every block begins with a row.
        self._counts = divide_by_blocks(positions, amounts, bounds, self._changes)
        self._ends = self._counts.cumsum()

    @property
    def nbytes(self) -> int:
        """Bytes of all changes on their way to the owners."""
        return int(self._changes.nbytes + self._counts.nbytes)

    def payload_of(self, blocks: Sequence[int]) -> list[Array]:
        """The PUSH to the owner of these blocks, which are ascending."""
        span = _span(blocks)
        if span is not None:
            low, high = self._ends[span.start] - self._counts[span.start], self._ends[blocks[-1]]
            return encode_changes(self._counts[span], self._changes[:, low:high])
        counts, ends = self._counts[list(blocks)], self._ends[list(blocks)]
        spans = zip((ends - counts).tolist(), ends.tolist(), strict=True)
        parts = [self._changes[:, low:high] for low, high in spans]
        return encode_changes(counts, np.concatenate(parts, axis=1))


def _span(blocks: Sequence[int]) -> slice | None:
    """Ascending blocks as a slice; None: there are others between them."""
    first, last = blocks[0], blocks[-1]
    return slice(first, last + 1) if last - first == len(blocks) - 1 else None
