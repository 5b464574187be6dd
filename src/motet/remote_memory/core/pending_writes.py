"""The table of writes that are not on the disk yet, in a ring of page slots.

Positions count slots since the beginning; the slot of a position is its remainder. A page's entry
in the table is the position of its newest pending content, so an older write that reaches the disk
does not remove a newer one from the table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Array

_NONE = -1


class PendingWrite(NamedTuple):
    """`first_page`: of the device. `slot`: the first of consecutive slots with the content."""

    first_page: int
    pages: int
    slot: int
    position: int


class PendingWrites:
    """Not thread-safe: the caller holds a lock."""

    def __init__(self, device_pages: int, slots: int) -> None:
        self._positions = np.full(device_pages, _NONE, np.int64)
        self._count = np.arange(slots, dtype=np.int64)
        self._slots = slots
        self._head = self._tail = 0
        self._queue: deque[PendingWrite] = deque()
        self.added = self.written = 0

    @property
    def used_slots(self) -> int:
        """Including slots that were skipped at the end of the ring."""
        return self._head - self._tail

    def extend(self, device_pages: int) -> None:
        """The device has at least so many pages from now on."""
        known = len(self._positions)
        if device_pages > known:
            more = max(device_pages - known, known // 2)  # The whole table is copied each time.
            added = np.full(more, _NONE, np.int64)
            self._positions = np.concatenate([self._positions, added])

    def has_room(self, pages: int) -> bool:
        """Whether `add` succeeds."""
        return self._start_of(pages) + pages - self._tail <= self._slots

    def add(self, first_page: int, pages: int) -> int:
        """The slot where the content goes; the write is the last in the queue.

        Raises ValueError if there is no room.
        """
        if not self.has_room(pages):
            raise ValueError(f"{pages} pages, {self._slots - self.used_slots} slots are free")
        start = self._start_of(pages)
        self._head = start + pages
        if pages == 1:
            self._positions[first_page] = start
        else:
            self._positions[first_page : first_page + pages] = self._count[:pages] + start
        slot = start % self._slots
        self._queue.append(PendingWrite(first_page, pages, slot, start))
        self.added += 1
        return slot

    def batch(self, most_pages: int) -> list[PendingWrite]:
        """The oldest writes, which stay in the queue; one of them may be larger than the limit."""
        found = list[PendingWrite]()
        pages = 0
        for write in self._queue:
            pages += write.pages
            if found and pages > most_pages:
                break
            found.append(write)
        return found

    def finish(self, count: int) -> None:
        """The oldest writes are on the disk: their slots are free."""
        positions, queue = self._positions, self._queue
        for _ in range(min(count, len(queue))):
            first_page, pages, _, position = queue.popleft()
            if pages == 1:
                if positions.item(first_page) == position:
                    positions[first_page] = _NONE
            else:
                view = positions[first_page : first_page + pages]
                view[view == self._count[:pages] + position] = _NONE
            self._tail = position + pages
        self.written += count
        if not self._queue:  # Begin at the first slot again: all slots are consecutive there.
            self._head += -self._head % self._slots
            self._tail = self._head

    def slots_of(self, first_page: int, pages: int) -> Array | None:
        """By page, the slot with its pending content, or -1; None: all are on the disk."""
        if pages == 1 and self._positions.item(first_page) < 0:
            return None
        found = self._positions[first_page : first_page + pages]
        if not (found >= 0).any():
            return None
        return np.where(found >= 0, found % self._slots, _NONE)

    def _start_of(self, pages: int) -> int:
        """The next position from which so many slots are consecutive."""
        inside = self._head % self._slots
        return self._head if inside + pages <= self._slots else self._head + self._slots - inside


def without_overlaps(writes: Iterable[PendingWrite]) -> Iterator[list[PendingWrite]]:
    """Divide a batch, in its order, into parts in which every page occurs once."""
    writes = list(writes)
    if writes and len({each.first_page for each in writes if each.pages == 1}) == len(writes):
        yield writes
        return
    part = list[PendingWrite]()
    pages = set[int]()
    for write in writes:
        added = range(write.first_page, write.first_page + write.pages)
        if not pages.isdisjoint(added):
            yield part
            part, pages = [], set()
        part.append(write)
        pages.update(added)
    if part:
        yield part


def contiguous_runs(writes: Iterable[PendingWrite]) -> list[list[PendingWrite]]:
    """Writes of neighbouring pages together; no page occurs twice."""
    runs = list[list[PendingWrite]]()
    for write in sorted(writes, key=itemgetter(0)):
        last = runs[-1][-1] if runs else None
        if last is not None and last.first_page + last.pages == write.first_page:
            runs[-1].append(write)
        else:
            runs.append([write])
    return runs
