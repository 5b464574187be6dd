"""The table of writes that are not on the disk yet, in a ring of page slots.

Positions count slots since the beginning; the slot of a position is its remainder. A page's entry
in the table is the position of its newest pending content, so an older write that reaches the disk
does not remove a newer one from the table.

A batch is made with a few operations on whole arrays: the thread that writes to the disk shares the
interpreter with those that serve requests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Array, Bools, Indices, Ints

_NONE = -1


class PageBatch(NamedTuple):
    """The content for the disk once all writes before a position have reached it. `pages`: of the
    device, ascending; `slots`: with their newest content before that position, `end`."""

    pages: Indices
    slots: Indices
    end: int


class PendingWrites:
    """Not thread-safe: the caller holds a lock.

    `added`, `written`: positions behind the newest write, and behind those that the disk has.
    """

    def __init__(self, device_pages: int, slots: int) -> None:
        self._positions = np.full(device_pages, _NONE, np.int64)
        self._page_of = np.full(slots, _NONE, np.int64)
        self._count = np.arange(slots, dtype=np.int64)
        self._slots = slots
        self.added = self.written = 0

    @property
    def used_slots(self) -> int:
        """Including slots that were skipped at the end of the ring."""
        return self.added - self.written

    def extend(self, device_pages: int) -> None:
        """The device has at least so many pages from now on."""
        known = len(self._positions)
        if device_pages > known:
            more = max(device_pages - known, known // 2)  # The whole table is copied each time.
            added = np.full(more, _NONE, np.int64)
            self._positions = np.concatenate([self._positions, added])

    def has_room(self, pages: int) -> bool:
        """Whether `add` succeeds."""
        return self._start_of(pages) + pages - self.written <= self._slots

    def add(self, first_page: int, pages: int) -> int | None:
        """The slot where the content goes; None: there is no room. The write is behind all
        others."""
        start = self._start_of(pages)
        if start + pages - self.written > self._slots:
            return None
        if start > self.added:
            self._page_of[self.added % self._slots :] = _NONE
        self.added = start + pages
        slot = start % self._slots
        if pages == 1:
            self._positions[first_page] = start
            self._page_of[slot] = first_page
        else:
            count = self._count[:pages]
            self._positions[first_page : first_page + pages] = count + start
            self._page_of[slot : slot + pages] = count + first_page
        return slot

    def batch(self, most_pages: int) -> PageBatch:
        """Of the oldest pages, which stay in the ring until `finish`; empty: there are none."""
        end = min(self.added, self.written + most_pages)
        positions, pages = self._between(end)
        # The last occurrence of each page is the newest.
        found, last = np.unique(pages[::-1], return_index=True)
        return PageBatch(found, positions[::-1][last] % self._slots, end)

    def finish(self, end: int) -> None:
        """All writes before this position are on the disk: their slots are free."""
        positions, pages = self._between(end)
        self._positions[pages[self._positions[pages] == positions]] = _NONE
        self.written = end
        if end == self.added:  # Begin at the first slot again: all slots are consecutive there.
            self.added += -end % self._slots
            self.written = self.added

    def slots_of(self, first_page: int, pages: int) -> Array | None:
        """By page, the slot with its pending content, or -1; None: all are on the disk."""
        if pages == 1 and self._positions.item(first_page) < 0:
            return None
        found = self._positions[first_page : first_page + pages]
        if not (found >= 0).any():
            return None
        return np.where(found >= 0, found % self._slots, _NONE)

    def _between(self, end: int) -> tuple[Indices, Indices]:
        """Positions from the oldest one to `end`, without those that were skipped, and pages."""
        positions: Indices = np.arange(self.written, end, dtype=np.int64)
        pages = self._page_of[positions % self._slots]
        is_used = pages >= 0
        return positions[is_used], pages[is_used]

    def _start_of(self, pages: int) -> int:
        """The next position from which so many slots are consecutive."""
        inside = self.added % self._slots
        return self.added if inside + pages <= self._slots else self.added + self._slots - inside


class DiskRequests(NamedTuple):
    """A batch as requests for consecutive pages of the device, from pieces of memory.

    By request: `first_page`, `pages`, `first_piece`, `pieces`; by piece: `slot`, `piece_pages`.
    """

    first_page: Ints
    pages: Ints
    first_piece: Indices
    pieces: Ints
    slot: Indices
    piece_pages: Ints


def disk_requests(pages: Indices, slots: Indices, most_pieces: int) -> DiskRequests:
    """As few as there can be. `pages`: ascending, not empty."""
    goes_on = np.diff(pages) == 1
    pieces = _starts(goes_on & (np.diff(slots) == 1))
    piece_pages = np.diff(pieces, append=len(pages))
    continues = goes_on[pieces[1:] - 1]
    runs = _starts(continues)
    in_run = np.arange(len(pieces)) - np.repeat(runs, np.diff(runs, append=len(pieces)))
    first_piece: Indices = np.flatnonzero(in_run % most_pieces == 0)
    return DiskRequests(
        pages[pieces[first_piece]],
        np.add.reduceat(piece_pages, first_piece),
        first_piece,
        np.diff(first_piece, append=len(pieces)),
        slots[pieces],
        piece_pages,
    )


def _starts(continues: Bools) -> Indices:
    """Where runs begin; `continues`: whether each element but the first goes on with one."""
    return np.flatnonzero(np.concatenate([[True], np.logical_not(continues)]))
