"""A BlockStore that keeps a share of its sections on a spill target."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from motet.runtime.core.application import Batch
from motet.runtime.core.rows import Rows
from motet.runtime.spilling.section_image import SectionImage
from motet.runtime.spilling.section_memory import SectionMemory, new_buffer
from motet.runtime.spilling.spill_file import SpillTarget
from motet.runtime.worker.block_store import MakeBatch

SPILLED_SECTION_BYTES = 4 << 20
"""Small enough for the sections in memory to be a small part of the data, and long enough for disks
to read at full speed."""


class SpillingBlockStore:
    """A BlockStore. Of its sections, `share` are spilled, evenly among the others, so that one is
    read while the ones before it are computed with."""

    section_bytes = SPILLED_SECTION_BYTES
    mixes_batches = False

    def __init__(
        self,
        make_batch: MakeBatch,
        state_columns: Collection[str],
        make_target: Callable[[], SpillTarget],
        share: float,
    ) -> None:
        """`make_batch`, `state_columns`: the application's; `make_target`: called for the first
        section that is spilled; `share`: 0 to 1."""
        self._make_batch, self._state_columns = make_batch, frozenset(state_columns)
        self._share = share
        self._images: list[SectionImage] = []
        self._rows: dict[int, Rows] = {}
        self._batches: dict[int, dict[tuple[int, int], Batch]] = {}
        self.memory = SectionMemory(make_target, self._forget)

    @property
    def waited_us(self) -> int:
        """How long uses waited for the target until now."""
        return self.memory.waited_us

    def add(self, rows: Rows) -> int:
        """Copy a section into memory of its own, or onto the target. Raises JobFailed."""
        number = len(self._images)
        image = SectionImage.of(rows, self._state_columns)
        buffer = new_buffer(image.nbytes)
        image.write(rows, buffer)
        self._images.append(image)
        self.memory.add(image, buffer, is_spilled=is_spilled(number, self._share))
        return number

    def will_read(self, sections: Iterable[int]) -> None:
        """See BlockStore."""
        self.memory.will_read(sections)

    @contextmanager
    def using(self, section: int, *, writes: bool = False) -> Iterator[None]:
        """See BlockStore. Raises JobFailed."""
        buffer = self.memory.enter(section)
        try:
            if section not in self._rows:
                self._rows[section] = self._images[section].rows(buffer)
            del buffer
            yield
        finally:
            self.memory.leave(section, has_written=writes and bool(self._state_columns))

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

    def close(self) -> None:
        """See BlockStore."""
        self.memory.close()

    def _forget(self, section: int) -> None:
        self._rows.pop(section, None)
        self._batches.pop(section, None)


def is_spilled(number: int, share: float) -> bool:
    """Whether section `number` is one of the spilled ones."""
    return math.floor((number + 1) * share + 1e-9) > math.floor(number * share + 1e-9)
