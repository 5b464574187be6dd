"""A worker's copy of a whole table that exchanges changes, and changes divided for its owners."""

from __future__ import annotations

from collections.abc import Sequence

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


def first_positions(spec: TableSpec) -> Indices:
    """The flat position in the table at which each of its blocks begins."""
    value_size = int(np.prod(spec.model.value_shape, dtype=np.int64))
    starts = [spec.partition.slice_of(block).start for block in range(spec.block_count)]
    return np.array(starts, np.int64) * value_size


class ModelCopy:
    """All values of a table, and the revision of each block in them. For one thread."""

    def __init__(self, spec: TableSpec) -> None:
        """Nothing is known of the values yet."""
        self.values: Array = np.zeros(spec.model.shape, spec.model.dtype)
        self._places = [spec.partition.slice_of(block) for block in range(spec.block_count)]
        self._bounds = np.append(first_positions(spec), self.values.size)
        self._value_bytes = spec.model.value_bytes
        self._revisions = np.full(spec.block_count, NO_REVISION, np.int64)

    def revisions_of(self, blocks: Sequence[int]) -> Indices:
        """The revision of each of these blocks, or NO_REVISION."""
        return self._revisions[list(blocks)]

    def take(self, blocks: Sequence[int], payload: memoryview) -> None:
        """Take the reply to a REFRESH of these blocks. Raises BadMessage."""
        places = [self._places[block] for block in blocks]
        sizes = [(place.stop - place.start) * self._value_bytes for place in places]
        news = decode_news(payload, sizes)
        whole = np.flatnonzero(news.counts == WHOLE).tolist()
        for index, data in zip(whole, news.values, strict=True):
            values = self.values[places[index]]
            values[...] = np.frombuffer(data, values.dtype).reshape(values.shape)
        self._add(blocks, news)
        self._revisions[list(blocks)] = news.revisions

    def _add(self, blocks: Sequence[int], news: News) -> None:
        """Add the changes of all blocks in one pass. Raises BadMessage."""
        from motet.runtime.core.kernels.change_kernels import add_in_blocks

        numbers = list(blocks)
        bounds = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(np.maximum(news.counts, 0), out=bounds[1:])
        firsts, ends = self._bounds[numbers], self._bounds[[number + 1 for number in numbers]]
        changes = (news.changes[0], news.changes[1])
        if not add_in_blocks(self.values.reshape(-1, copy=False), firsts, ends, changes, bounds):
            raise BadMessage("a change in the reply to a REFRESH is outside of its block")


class DividedChanges:
    """Changes of a whole table, divided by its blocks."""

    def __init__(self, spec: TableSpec, changes: Array) -> None:
        """`changes: (2, n)`: flat positions in the table, row after row, and what is added."""
        from motet.runtime.core.kernels.change_kernels import shift_positions

        firsts = first_positions(spec)
        # Positions of one row may be in any order, but every block begins with a row.
        self._ends = np.append(np.searchsorted(changes[0], firsts[1:]), changes.shape[1])
        self._counts = np.diff(self._ends, prepend=0)
        self._changes = np.empty(changes.shape, np.int32)
        shift_positions(changes[0], self._ends, -firsts, self._changes[0])
        self._changes[1] = changes[1]

    @property
    def nbytes(self) -> int:
        """Bytes of all changes on their way to the owners."""
        return int(self._changes.nbytes + self._counts.nbytes)

    def payload_of(self, blocks: Sequence[int]) -> list[Array]:
        """The PUSH to the owner of these blocks, which are ascending."""
        counts = self._counts[list(blocks)]
        ends = self._ends[list(blocks)]
        if blocks[-1] - blocks[0] == len(blocks) - 1:
            changes = self._changes[:, ends[0] - counts[0] : ends[-1]]
        else:
            spans = zip((ends - counts).tolist(), ends.tolist(), strict=True)
            changes = np.concatenate([self._changes[:, low:high] for low, high in spans], axis=1)
        return encode_changes(counts.tolist(), changes)
