"""The instances that one worker holds, ready to be cut into mini-batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from motet.domain.arrays import Indices
from motet.runtime.core.application import Application, Batch
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule


class Share:
    """The instances that one worker holds, ordered so that a mini-batch is a contiguous slice."""

    def __init__(self, app: Application, schedule: Schedule, blocks: Mapping[int, Rows]) -> None:
        """`blocks`: data blocks by number (maybe none), each with its instances in dealt order."""
        self._app = app
        self.block_numbers = sorted(blocks)
        positions = [schedule.block_positions(number) for number in self.block_numbers]
        batches = schedule.batch_of(np.concatenate([_NO_POSITIONS, *positions]))
        order = np.argsort(batches, kind="stable")
        self._places = np.empty_like(order)
        self._places[order] = np.arange(len(order))
        ends = pairwise(np.cumsum([0, *map(len, positions)]).tolist())
        self._bounds_of = dict(zip(self.block_numbers, ends, strict=True))
        self.rows = _joined([blocks[number] for number in self.block_numbers]).take(order)
        bounds = np.searchsorted(batches[order], np.arange(schedule.batch_count + 1))
        self._bounds = [int(bound) for bound in bounds]
        self._batches: dict[int, Batch] = {}
        self._pieces: dict[tuple[int, int, int], Batch] = {}

    def batch(self, number: int) -> Batch:
        """This worker's part of a mini-batch; made once."""
        if number not in self._batches:
            low, high = self._bounds[number], self._bounds[number + 1]
            rows = self.rows.slice(low, high)
            self._batches[number] = self._app.make_batch(rows) if high > low else _empty(rows)
        return self._batches[number]

    def sizes(self, number: int) -> list[int]:
        """Instances of each data block in a mini-batch; so they follow each other there."""
        low, high = self._bounds[number], self._bounds[number + 1]
        ends = [np.searchsorted(self._where(one), (low, high)) for one in self.block_numbers]
        return [int(end - start) for start, end in ends if end > start]

    def piece(self, number: int, low: int, high: int) -> Batch:
        """Instances low..high-1 of this worker's part of a mini-batch; made once."""
        key = number, low, high
        if key not in self._pieces:
            # Divisions vary with measured speeds: without a limit they would pile up.
            if len(self._pieces) >= _MOST_PIECES:
                self._pieces.clear()
            start = self._bounds[number]
            self._pieces[key] = self._app.make_batch(self.rows.slice(start + low, start + high))
        return self._pieces[key]

    def blocks(
        self, numbers: Iterable[int], columns: Iterable[str] | None = None
    ) -> dict[int, Rows]:
        """Some of the data blocks as they are now, by number (copies); None: all columns."""
        wanted = sorted(numbers)
        rows = self.rows if columns is None or not wanted else self.rows.select(columns)
        return {number: rows.take(self._where(number)) for number in wanted}

    def overwrite(self, number: int, rows: Rows) -> None:
        """Replace columns of a data block, its instances in dealt order."""
        self.rows.put(self._where(number), rows)

    def _where(self, number: int) -> Indices:
        """Where the instances of a data block stand, in dealt order."""
        low, high = self._bounds_of[number]
        return self._places[low:high]


_MOST_PIECES = 256


_NO_POSITIONS = np.empty(0, dtype=np.int64)


def _joined(parts: Sequence[Rows]) -> Rows:
    return Rows.concatenate(parts) if parts else Rows(np.empty(0, dtype=np.int64), {})


def _empty(rows: Rows) -> Batch:
    return Batch(rows, keys=np.empty(0, dtype=np.int64))
