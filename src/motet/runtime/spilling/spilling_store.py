"""A BlockStore that keeps a share of its sections on a spill target."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from motet.runtime.core.application import Batch
from motet.runtime.core.rows import Rows
from motet.runtime.core.subtask import Clock, monotonic_us
from motet.runtime.spilling.disk_share import DiskShare, spread_ranks
from motet.runtime.spilling.section_image import SectionImage
from motet.runtime.spilling.section_memory import SectionMemory
from motet.runtime.spilling.section_transfer import new_buffer
from motet.runtime.spilling.share_tuner import EpochLoads
from motet.runtime.spilling.targets.spill_target import SpillTarget
from motet.runtime.worker.block_store import MakeBatch

SPILLED_SECTION_BYTES = 4 << 20
"""Small enough for the sections in memory to be a small part of the data, and long enough for disks
to read at full speed."""


class SpillingBlockStore:
    """A BlockStore. An epoch is what happens between two calls of `will_read`."""

    spills = True
    section_bytes = SPILLED_SECTION_BYTES
    mixes_batches = False

    def __init__(
        self,
        make_batch: MakeBatch,
        state_columns: Collection[str],
        make_target: Callable[[], SpillTarget],
        share: DiskShare,
        now_us: Clock = monotonic_us,
    ) -> None:
        """`make_batch`, `state_columns`: the application's; `make_target`: called for the first
        section that is spilled; `share`: chooses the sections that are."""
        self._make_batch, self._state_columns = make_batch, frozenset(state_columns)
        self._share, self._now_us = share, now_us
        self._images: list[SectionImage] = []
        self._ranks: list[int] = []
        self._first = 0
        self._rows: dict[int, Rows] = {}
        self._batches: dict[int, dict[tuple[int, int], Batch]] = {}
        self.memory = SectionMemory(make_target, self._forget, share.has_room)
        self._epoch_began_us: int | None = None
        self._used_us = self._uses = 0
        """In this epoch."""

    @property
    def waited_us(self) -> int:
        """How long uses waited for the target until now."""
        return self.memory.waited_us

    @property
    def room_us(self) -> int:
        """How long of that memory was freed for them."""
        return self.memory.room_us

    def will_hold(self, sections: int, data_bytes: int) -> None:
        """See BlockStore."""
        self._ranks = spread_ranks(sections)
        self.memory.will_hold(sorted(range(sections), key=self._ranks.__getitem__))
        self._first = self._share.begin(sections, data_bytes)

    def add(self, rows: Rows) -> int:
        """Copy a section into memory of its own, or onto the target. Raises JobFailed."""
        number = len(self._images)
        image = SectionImage.of(rows, self._state_columns)
        buffer = new_buffer(image.nbytes)
        image.write(rows, buffer)
        self._images.append(image)
        is_spilled = self._ranks[number] < self._first or self._share.is_short()
        self.memory.add(image, buffer, is_spilled=is_spilled)
        return number

    def will_read(self, sections: Iterable[int]) -> None:
        """See BlockStore."""
        now_us, began_us = self._now_us(), self._epoch_began_us
        self._epoch_began_us = now_us
        if began_us is None:
            self._share.filled(self.memory.on_disk)
            self._spill(self.memory.on_disk)
        else:
            process_s = self._used_us / self._uses / 1e6 if self._uses else 0.0
            self._used_us = self._uses = 0
            wall_s = (now_us - began_us) / 1e6
            loads = EpochLoads(wall_s, process_s, self.memory.mean_read_s)
            self._spill(self._share.after_epoch(self.memory.on_disk, loads))
        self.memory.will_read(sections)

    @contextmanager
    def using(self, section: int, *, writes: bool = False) -> Iterator[None]:
        """See BlockStore. Raises JobFailed."""
        buffer = self.memory.enter(section)
        try:
            if section not in self._rows:
                self._rows[section] = self._images[section].rows(buffer)
            del buffer
            began_us = self._now_us()
            yield
            if writes:
                self._used_us += self._now_us() - began_us
                self._uses += 1
        finally:
            self.memory.leave(section, has_written=writes and bool(self._state_columns))
            if writes:
                memory = self.memory
                self._spill(self._share.now(memory.on_disk, memory.pending_bytes))

    def rows(self, section: int) -> Rows:
        """See BlockStore."""
        return self._rows[section]

    def lasting(self, section: int, columns: Collection[str] | None) -> Rows:
        """Copies. Raises JobFailed."""
        with self.using(section):
            rows = self._rows[section]
            return Rows.concatenate([rows if columns is None else rows.select(columns)])

    def batch(self, section: int, low: int, high: int) -> Batch:
        """Made once as long as the section is in memory."""
        batches = self._batches.setdefault(section, {})
        if (low, high) not in batches:
            batches[low, high] = self._make_batch(self._rows[section].slice(low, high))
        return batches[low, high]

    def piece(self, section: int, low: int, high: int) -> Batch:
        """Made at every call."""
        return self._make_batch(self._rows[section].slice(low, high))

    def make_room(self, nbytes: int) -> bool:
        """See SpillableInput; on any thread."""
        return self.memory.make_room(nbytes)

    def close(self) -> None:
        """See BlockStore."""
        self._share.close()
        self.memory.close()

    def _spill(self, on_disk: int | None) -> None:
        if on_disk is not None:
            self.memory.spill(on_disk)

    def _forget(self, section: int) -> None:
        self._rows.pop(section, None)
        self._batches.pop(section, None)
