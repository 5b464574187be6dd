"""One slab of a device: where it is mapped, and which of its pages are there.

The chapter's invariant is that a set bit means: the lender has the last completed write of the
page. A write clears the bits of its pages first and sets them when the lender has answered, unless
the mapping has changed meanwhile. Sources: Infiniswap, 2.4.1, 2.4.3 to 2.4.5.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from motet.domain.arrays import Bools


class SlabState(Enum):
    """`PLACING`: the device looks for a lender."""

    UNMAPPED = "unmapped"
    PLACING = "placing"
    MAPPED = "mapped"


class SlabMapping:
    """A slab of a lender that this device has mapped.

    `generation`: the lender's number of the mapping. `in_flight`: requests without an answer.
    """

    __slots__ = ("generation", "in_flight", "is_detached", "lender", "token")

    def __init__(self, lender: str, token: bytes, generation: int) -> None:
        self.lender = lender
        self.token = token
        self.generation = generation
        self.in_flight = 0
        self.is_detached = False

    @property
    def is_drained(self) -> bool:
        """Whether the lender can have the memory back."""
        return self.is_detached and not self.in_flight


class DeviceSlab:
    """Not thread-safe: the caller holds the slab's lock."""

    __slots__ = ("_is_placing", "_valid", "mapping")

    def __init__(self, pages: int) -> None:
        self._valid = bytearray(pages)
        self._is_placing = False
        self.mapping: SlabMapping | None = None

    @property
    def state(self) -> SlabState:
        """Of the slab, not of an earlier mapping that still drains."""
        if self.mapping is not None:
            return SlabState.MAPPED
        return SlabState.PLACING if self._is_placing else SlabState.UNMAPPED

    @property
    def valid_pages(self) -> int:
        """Number of pages that the lender has."""
        return self._valid.count(1)

    @property
    def bits(self) -> Bools:
        """By page, whether the lender has it, `(pages,)`; a copy."""
        return np.frombuffer(bytes(self._valid), np.bool_)

    # -- placement -------------------------------------------------------------------------------

    def begin_placing(self) -> bool:
        """Whether the caller is to find a lender; it ends with `place`."""
        if self.state is not SlabState.UNMAPPED:
            return False
        self._is_placing = True
        return True

    def place(self, mapping: SlabMapping | None) -> None:
        """End the placement; None: no lender had room. No page is remote yet."""
        if not self._is_placing:
            raise ValueError("no placement is in progress")
        self._is_placing = False
        self.mapping = mapping

    def detach(self, mapping: SlabMapping) -> None:
        """After an eviction, or when the lender is lost: every page is read elsewhere from now."""
        mapping.is_detached = True
        if mapping is self.mapping:
            self.mapping = None
            self._valid = bytearray(len(self._valid))

    # -- requests --------------------------------------------------------------------------------

    def begin_write(self, first_page: int, pages: int) -> SlabMapping | None:
        """The mapping to write to; None: the backup alone. Ends with `finish_write`."""
        mapping = self.mapping
        if mapping is not None:
            self._valid[first_page : first_page + pages] = bytes(pages)
            mapping.in_flight += 1
        return mapping

    def finish_write(
        self, mapping: SlabMapping, first_page: int, pages: int, *, is_stored: bool
    ) -> None:
        """Account for the lender's answer; without one the mapping is detached."""
        mapping.in_flight -= 1
        if not is_stored:
            self.detach(mapping)
        elif mapping is self.mapping:
            self._valid[first_page : first_page + pages] = b"\x01" * pages

    def lacks(self, first_page: int, pages: int) -> bool:
        """Whether there is a lender that does not have all these pages."""
        return self.mapping is not None and not self._has(first_page, pages)

    def begin_read(self, first_page: int, pages: int) -> SlabMapping | None:
        """The mapping that has all these pages; None: read elsewhere. Ends with `finish_read`."""
        mapping = self.mapping
        if mapping is None or not self._has(first_page, pages):
            return None
        mapping.in_flight += 1
        return mapping

    def finish_read(self, mapping: SlabMapping, *, is_read: bool) -> None:
        """Account for the answer; without one the mapping is detached."""
        mapping.in_flight -= 1
        if not is_read:
            self.detach(mapping)

    def forget(self, first_page: int, pages: int) -> None:
        """The content of these pages does not matter any more (TRIM)."""
        self._valid[first_page : first_page + pages] = bytes(pages)

    def _has(self, first_page: int, pages: int) -> bool:
        return self._valid.find(0, first_page, first_page + pages) < 0
