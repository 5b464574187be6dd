"""One slab of a device with the memory of one lender or, as replicas, of several.

Each copy is a `DeviceSlab` with bits of its own, so what holds for one holds for each: a set bit
means that this lender has the last completed write. All lenders get the writes in the same order,
and a read that begins later than a write is sent later to whatever lender it goes.

A lender that lacks pages which another has gets them by a repair: the pages are read, then written
to it unless a write to them has begun meanwhile, which has reached all lenders itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Bools, Indices
from motet.remote_memory.core.device_slab import DeviceSlab, SlabMapping, SlabState


class CopyRequest(NamedTuple):
    """A request that has begun at one of the lenders; it ends with `finish_...` of the copy."""

    copy: DeviceSlab
    mapping: SlabMapping


class CopyFill(NamedTuple):
    """A write of pages that another lender has. `first_page`: in the slab."""

    request: CopyRequest
    first_page: int
    pages: int


class SlabCopies:
    """Not thread-safe: the caller holds the slab's lock. At most one repair is in progress."""

    __slots__ = ("_repaired", "_untouched", "copies")

    def __init__(self, pages: int, copies: int = 1) -> None:
        self.copies = tuple(DeviceSlab(pages) for _ in range(copies))
        self._repaired: range | None = None
        self._untouched = bytearray()

    @property
    def mappings(self) -> list[SlabMapping]:
        """Of the lenders that the slab has; also without the lock, beside an eviction."""
        return [found for copy in self.copies if (found := copy.mapping) is not None]

    @property
    def is_unmapped(self) -> bool:
        """Whether no lender has the slab, and none is being looked for."""
        return all(copy.state is SlabState.UNMAPPED for copy in self.copies)

    @property
    def lacks_copy(self) -> bool:
        """Whether a lender has the slab, but fewer than are wanted, and none is looked for."""
        states = [copy.state for copy in self.copies]
        return SlabState.MAPPED in states and SlabState.UNMAPPED in states

    @property
    def valid_pages(self) -> int:
        """Number of pages that lenders have."""
        if len(self.copies) == 1:
            return self.copies[0].valid_pages if self.copies[0].mapping is not None else 0
        return int(np.any(self._bits(), axis=0).sum())

    @property
    def replicated_pages(self) -> int:
        """Number of pages that as many lenders have as are wanted."""
        return int(np.all(self._bits(), axis=0).sum())

    def begin_placing(self) -> DeviceSlab | None:
        """The copy for which the caller is to find a lender; it ends with `place` of the copy.

        One at a time, so that the next one is on another machine.
        """
        if any(copy.state is SlabState.PLACING for copy in self.copies):
            return None
        return next((copy for copy in self.copies if copy.begin_placing()), None)

    # -- requests --------------------------------------------------------------------------------

    def begin_write(self, first_page: int, pages: int) -> list[CopyRequest]:
        """The lenders to write to; none: the backup alone."""
        if self._repaired is not None:
            self._touch(first_page, pages)
        if len(self.copies) == 1:  # In half the time of what follows.
            (copy,) = self.copies
            mapping = copy.begin_write(first_page, pages)
            return [] if mapping is None else [CopyRequest(copy, mapping)]
        found = ((copy, copy.begin_write(first_page, pages)) for copy in self.copies)
        return [CopyRequest(copy, mapping) for copy, mapping in found if mapping is not None]

    def begin_fill(self, first_page: int, pages: int) -> list[CopyFill]:
        """What to write to lenders that lack some of these pages: the caller has their content."""
        if self._repaired is not None:
            self._touch(first_page, pages)
        lacking = (copy for copy in self.copies if copy.lacks(first_page, pages))
        found = ((copy, copy.begin_write(first_page, pages)) for copy in lacking)
        return [
            CopyFill(CopyRequest(copy, mapping), first_page, pages)
            for copy, mapping in found
            if mapping is not None
        ]

    def begin_read(self, first_page: int, pages: int) -> CopyRequest | None:
        """The first lender that has all these pages; None: read elsewhere."""
        for copy in self.copies:
            mapping = copy.begin_read(first_page, pages)
            if mapping is not None:
                return CopyRequest(copy, mapping)
        return None

    def forget(self, first_page: int, pages: int) -> None:
        """The content of these pages does not matter any more (TRIM)."""
        for copy in self.copies:
            copy.forget(first_page, pages)

    # -- repair ----------------------------------------------------------------------------------

    def missing(self, most_pages: int) -> range | None:
        """The first run of pages that a lender has and another one of the slab lacks."""
        if len(self.mappings) < 2:
            return None
        bits = self._bits()[[copy.mapping is not None for copy in self.copies]]
        lacking: Bools = np.any(bits, axis=0) & np.logical_not(np.all(bits, axis=0))
        if not lacking.any():
            return None
        first = int(lacking.argmax())
        holder = int(bits[:, first].argmax())
        usable: Bools = (
            lacking[first : first + most_pages] & bits[holder, first : first + most_pages]
        )
        return range(first, first + (len(usable) if usable.all() else int(usable.argmin())))

    def begin_repair(self, pages: range) -> CopyRequest | None:
        """The lender to read pages from that others lack; None: none has them any more.

        After the end of that read, `begin_fills` or `abandon_repair` follows.
        """
        request = self.begin_read(pages.start, len(pages))
        if request is not None:
            self._repaired, self._untouched = pages, bytearray(b"\x01" * len(pages))
        return request

    def begin_fills(self) -> list[CopyFill]:
        """What to write to the other lenders, of the pages that were read: an end of the repair."""
        assert self._repaired is not None
        pages, untouched = self._repaired, np.frombuffer(bytes(self._untouched), np.bool_)
        self._repaired = None
        fills = list[CopyFill]()
        for copy, bits in zip(self.copies, self._bits(), strict=True):
            for start, end in _runs(untouched & ~bits[pages.start : pages.stop]):
                first, count = pages.start + start, end - start
                mapping = copy.begin_write(first, count)
                if mapping is not None:
                    fills.append(CopyFill(CopyRequest(copy, mapping), first, count))
        return fills

    def abandon_repair(self) -> None:
        """The pages were not read."""
        self._repaired = None

    def _touch(self, first_page: int, pages: int) -> None:
        assert self._repaired is not None
        start = max(first_page - self._repaired.start, 0)
        end = min(first_page + pages - self._repaired.start, len(self._repaired))
        if start < end:
            self._untouched[start:end] = bytes(end - start)

    def _bits(self) -> Bools:
        """`(copies, pages)`."""
        bits: Bools = np.array([copy.bits for copy in self.copies])
        return bits


def _runs(wanted: Bools) -> Iterator[tuple[int, int]]:
    """Begin and end of each run."""
    edges: Indices = np.flatnonzero(np.diff(wanted, prepend=False, append=False))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
