"""The instances that one worker holds, and its parts of mini-batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain

import numpy as np

from motet.runtime.core.application import Application, Batch
from motet.runtime.core.partial_updates import all_keys
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import BatchKeys, Schedule
from motet.runtime.worker.batch_rows import BatchRows
from motet.runtime.worker.block_store import BlockRows, BlockStore, MakeStore, MemoryBlockStore
from motet.runtime.worker.sections import SectionGrid

_SECTION_BYTES_PER_DELTA_BYTE = 16


@dataclass(frozen=True)
class _Span:
    """Instances low..high-1 of a section."""

    section: int
    low: int
    high: int


class BatchPart:
    """One worker's part of one mini-batch, in the order of sections and blocks."""

    def __init__(
        self, store: BlockStore, spans: Sequence[_Span], block_sizes: Callable[[], list[int]]
    ) -> None:
        """`block_sizes`: gives the number of instances of each data block, in their order."""
        self._store = store
        self._spans = spans
        self._block_sizes = block_sizes
        self.instances = sum(span.high - span.low for span in spans)

    @cached_property
    def keys(self) -> BatchKeys:
        """What is pulled and pushed; found once, so the same object in every epoch."""
        found = [batch.keys for batch in self._batches(writes=False)]
        return BatchKeys(all_keys(found), self.instances)

    @property
    def reads_for_keys(self) -> bool:
        """Whether `keys` is not known yet, and sections may have to be read to find it."""
        return self._store.spills and not self._has_keys

    @property
    def uses(self) -> list[int]:
        """Which sections are used next, in this order: to find the keys, and for COMP."""
        sections = [span.section for span in self._spans]
        return sections if self._has_keys else 2 * sections

    @property
    def _has_keys(self) -> bool:
        return "keys" in vars(self)

    @cached_property
    def sizes(self) -> list[int]:
        """Instances of each data block that has any, in the order of the part."""
        return [size for size in self._block_sizes() if size]

    @property
    def is_whole(self) -> bool:
        """Whether all instances lie in one section."""
        return len(self._spans) == 1

    @property
    def rows(self) -> BatchRows:
        """All instances of the part; only a store that spills nothing has them at a time."""
        return BatchRows(
            [self._store.rows(s.section).slice(s.low, s.high) for s in self._spans],
        )

    def batches(self) -> Generator[Batch]:
        """The part as one batch per section; each is for use until the next one."""
        yield from self._batches(writes=True)

    def begun(self) -> AbstractContextManager[None]:
        """Wait until the first section is in memory, and keep it there."""
        return self._store.using(self._spans[0].section) if self._spans else nullcontext()

    @property
    def waited_us(self) -> int:
        """How long uses of the share's sections have waited until now."""
        return self._store.waited_us

    def _batches(self, *, writes: bool) -> Generator[Batch]:
        for span in self._spans:
            with self._store.using(span.section, writes=writes):
                yield self._store.batch(span.section, span.low, span.high)

    def pieces(self, low: int, high: int) -> Iterator[Batch]:
        """Instances low..high-1 of the part as one batch per section."""
        for place, start, stop in self.rows.spans(low, high):
            span = self._spans[place]
            yield self._store.piece(span.section, span.low + start, span.low + stop)


class DataShare:
    """The instances that one worker holds, in the sections of a store."""

    def __init__(
        self,
        app: Application,
        schedule: Schedule,
        blocks: Mapping[int, BlockRows],
        make_store: MakeStore = MemoryBlockStore,
        section_bytes: int | None = None,
    ) -> None:
        """`blocks`: data blocks by number (maybe none), each in the order of the schedule.

        `make_store`: makes the store of the sections. `section_bytes`: their least size; None: the
        store's own.
        """
        self.block_numbers = sorted(blocks)
        self.instances = sum(map(len, blocks.values()))
        self._schedule = schedule
        self._store = make_store(app.make_batch)
        least_bytes = self._store.section_bytes if section_bytes is None else section_bytes
        least_bytes = max(least_bytes, _SECTION_BYTES_PER_DELTA_BYTE * _delta_bytes(app))
        mean_bytes = sum(rows.nbytes for rows in blocks.values()) / max(self.instances, 1)
        grid = SectionGrid.of(
            schedule,
            self.block_numbers,
            least_bytes / max(mean_bytes, 1.0),
            mixes_batches=self._store.mixes_batches,
        )
        self._grid, self._sections = grid, grid.sections
        self._bounds = [section.bounds for section in self._sections]
        data_bytes = sum(rows.nbytes for rows in blocks.values())
        self._store.will_hold(len(self._sections), data_bytes)
        for section in self._sections:
            self._store.add(section.cut(blocks))
        self._parts: dict[int, BatchPart] = {}

    def part(self, batch: int) -> BatchPart:
        """This worker's part of a mini-batch; the same object in every epoch."""
        found = self._parts.get(batch)
        if found is None:
            found = self._parts[batch] = self._part(batch)
        return found

    def sections(self) -> Iterator[Rows]:
        """All instances, one section after another; each is for use until the next one."""
        for number in range(len(self._sections)):
            with self._store.using(number):
                yield self._store.rows(number)

    @property
    def room_us(self) -> int:
        """See BlockStore."""
        return self._store.room_us

    def will_run(self, batches: Iterable[int], following: Iterable[int]) -> None:
        """The mini-batches that come now, then an evaluation, then those of the next epoch."""
        order = chain.from_iterable(self.part(int(batch)).uses for batch in batches)
        later = chain.from_iterable(self.part(int(batch)).uses for batch in following)
        self._store.will_read(chain(order, range(len(self._sections)), later))

    def select(self, columns: Collection[str] | None = None) -> Rows:
        """All instances with only these columns (None: all), as copies."""
        numbers = range(len(self._sections))
        found = [rows for rows in (self._store.lasting(n, columns) for n in numbers) if len(rows)]
        return Rows.concatenate(found) if found else Rows(np.empty(0, np.int64), {})

    def blocks(
        self, numbers: Iterable[int], columns: Collection[str] | None = None
    ) -> dict[int, Rows]:
        """Some of the data blocks as they are now, by number (copies); None: all columns."""
        return {number: self.block(number, columns) for number in sorted(numbers)}

    def overwrite(self, block: int, rows: Rows) -> None:
        """Replace columns of a data block; `rows`: in the order of the schedule."""
        done = 0
        for number in self._sections_of(block):
            places = self._sections[number].places_of(block)
            some = rows.slice(done, done + len(places))
            with self._store.using(number, writes=True):
                self._store.rows(number).put(places, some)
            done += len(places)

    def close(self) -> None:
        """Release the store; the share is not used afterwards."""
        self._store.close()

    def _part(self, batch: int) -> BatchPart:
        spans: list[_Span] = []
        for number in self._grid.of_batch(batch):
            place = batch - self._sections[number].batches.start
            low, high = self._bounds[number][place], self._bounds[number][place + 1]
            if high > low:
                spans.append(_Span(number, low, high))
        return BatchPart(self._store, spans, partial(self._block_sizes, batch))

    def _block_sizes(self, batch: int) -> list[int]:
        only = range(batch, batch + 1)
        return [len(self._schedule.positions_in(block, only)) for block in self.block_numbers]

    def block(self, block: int, columns: Collection[str] | None = None) -> Rows:
        """One data block as it is now (a copy); None: all columns."""
        parts = []
        for number in self._sections_of(block):
            with self._store.using(number):
                some = self._store.rows(number)
                some = some if columns is None else some.select(columns)
                parts.append(some.take(self._sections[number].places_of(block)))
                del some
        return Rows.concatenate(parts)

    def _sections_of(self, block: int) -> Iterator[int]:
        """Those with instances of a block, in the order of its instances."""
        for number, section in enumerate(self._sections):
            if block in section.blocks:
                yield number


def _delta_bytes(app: Application) -> int:
    table = app.model_table()
    one = int(np.prod(table.delta_value_shape, dtype=np.int64)) * table.delta_value_dtype.itemsize
    return table.key_count * one
