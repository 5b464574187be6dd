"""How a worker's data blocks are divided into sections, the units of its block store.

Every mini-batch draws from every data block (docs/decisions/0004), so a section holds the instances
that some blocks have in some mini-batches: of one large mini-batch a run of blocks, of small
mini-batches several of them whole. A mini-batch then reads few sections, each from beginning to
end, and a section is large enough for `compute` to take much longer than to call it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from motet.domain.arrays import Indices
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule
from motet.runtime.worker.block_store import BlockRows


@dataclass(frozen=True)
class Section:
    """The instances of `blocks` in `batches`, ordered by mini-batch, block and position."""

    schedule: Schedule
    batches: range
    blocks: tuple[int, ...]

    @property
    def bounds(self) -> list[int]:
        """Where each mini-batch begins, and where the last one ends. `(len(batches) + 1,)`."""
        counts = np.bincount(self._batch_of_each, minlength=len(self.batches))
        return [0, *np.cumsum(counts).tolist()]

    def places_of(self, block: int) -> Indices:
        """Where the instances of a block are, in the order of their positions."""
        index = self.blocks.index(block)
        return self._places[self._ends[index] : self._ends[index + 1]]

    def cut(self, blocks: Mapping[int, BlockRows]) -> Rows:
        """The section's instances out of whole data blocks, as copies."""
        parts = []
        for number in self.blocks:
            positions = self.schedule.positions_in(number, self.batches)
            first = int(positions[0]) // self.schedule.block_count if len(positions) else 0
            parts.append(blocks[number].slice(first, first + len(positions)))
        joined = Rows.concatenate(parts)
        return joined if len(self.batches) == 1 else joined.take(np.argsort(self._places))

    @cached_property
    def _ends(self) -> list[int]:
        """Where each block ends if they follow one another, and 0 in front."""
        counts = [len(self.schedule.positions_in(one, self.batches)) for one in self.blocks]
        return [0, *np.cumsum(counts).tolist()]

    @cached_property
    def _places(self) -> Indices:
        """Where each instance is in the section; block after block."""
        if len(self.batches) == 1:
            return np.arange(self._ends[-1])
        order = np.argsort(self._batch_of_each, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return places

    @property
    def _batch_of_each(self) -> Indices:
        """The mini-batch of each instance, counted from the section's first; block after block."""
        positions = [self.schedule.positions_in(one, self.batches) for one in self.blocks]
        return self.schedule.batch_of(np.concatenate(positions)) - self.batches.start


@dataclass(frozen=True)
class SectionGrid:
    """All sections of a worker: `batches_each` mini-batches by one of the runs of blocks."""

    schedule: Schedule
    runs: tuple[tuple[int, ...], ...]
    batches_each: int

    @classmethod
    def of(
        cls,
        schedule: Schedule,
        blocks: Sequence[int],
        section_rows: float,
        *,
        mixes_batches: bool = True,
    ) -> SectionGrid:
        """Sections of about `section_rows` instances; `blocks`: ascending. `mixes_batches`: a
        section may hold several mini-batches."""
        per_batch = schedule.instance_count * len(blocks) / schedule.block_count
        per_batch = max(per_batch / schedule.batch_count, 1.0)
        run_count = min(max(int(per_batch / section_rows), 1), len(blocks))
        runs = np.array_split(np.asarray(blocks), run_count) if blocks else []
        batches_each = max(int(section_rows / per_batch), 1) if mixes_batches else 1
        return cls(
            schedule,
            tuple(tuple(run.tolist()) for run in runs),
            min(batches_each, schedule.batch_count),
        )

    @property
    def sections(self) -> list[Section]:
        """In the order of their mini-batches, then of their blocks."""
        count, each = self.schedule.batch_count, self.batches_each
        return [
            Section(self.schedule, range(first, min(first + each, count)), run)
            for first in range(0, count, each)
            for run in self.runs
        ]

    def of_batch(self, batch: int) -> range:
        """The places in `sections` of those that hold a mini-batch."""
        first = batch // self.batches_each * len(self.runs)
        return range(first, first + len(self.runs))
