"""Pending writes under random additions, batches and reads."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from motet.remote_memory.core.pending_writes import (
    DiskRequests,
    PageBatch,
    PendingWrites,
    disk_requests,
)

PAGES, SLOTS = 12, 8
RANGES = st.integers(0, PAGES - 1).flatmap(
    lambda first: st.tuples(st.just(first), st.integers(1, min(4, PAGES - first)))
)


class PendingMachine(RuleBasedStateMachine):
    """`newest`: by page, the last write. `disk`: what the batches brought."""

    def __init__(self) -> None:
        super().__init__()
        self.pending = PendingWrites(PAGES, SLOTS)
        self.slots = [0] * SLOTS
        self.newest, self.disk = [0] * PAGES, [0] * PAGES
        self.batch: PageBatch | None = None
        self.version = 0

    @rule(where=RANGES)
    def add(self, where: tuple[int, int]) -> None:
        first, pages = where
        has_room = self.pending.has_room(pages)
        slot = self.pending.add(first, pages)
        assert (slot is not None) is has_room
        if slot is None:
            return
        self.version += 1
        assert slot + pages <= SLOTS
        self.slots[slot : slot + pages] = [self.version] * pages
        self.newest[first : first + pages] = [self.version] * pages

    @precondition(lambda self: self.batch is None)
    @rule(most=st.integers(1, SLOTS))
    def begin_a_batch(self, most: int) -> None:
        """Its pages are in the order of the disk, each once."""
        self.batch = self.pending.batch(most)
        pages = self.batch.pages.tolist()
        assert pages == sorted(set(pages))
        assert len(pages) <= most
        assert bool(pages) <= (self.pending.used_slots > 0)

    @precondition(lambda self: self.batch is not None)
    @rule()
    def write_the_batch(self) -> None:
        assert self.batch is not None
        for page, slot in zip(self.batch.pages.tolist(), self.batch.slots.tolist(), strict=True):
            self.disk[page] = self.slots[slot]
        self.pending.finish(self.batch.end)
        self.batch = None

    @invariant()
    def a_read_gets_the_newest_write_whatever_is_on_the_disk(self) -> None:
        found = self.pending.slots_of(0, PAGES)
        content = list(self.disk)
        for page, slot in enumerate([] if found is None else found.tolist()):
            if slot >= 0:
                content[page] = self.slots[slot]
        assert content == self.newest


TestPendingMachine = PendingMachine.TestCase


def test_an_empty_ring_has_room_for_a_write_of_its_whole_size() -> None:
    pending = PendingWrites(PAGES, SLOTS)
    pending.add(0, 3)
    pending.finish(pending.batch(SLOTS).end)
    assert pending.has_room(SLOTS)
    assert pending.add(0, SLOTS) == 0


def test_a_write_counts_as_written_once_all_of_its_pages_are() -> None:
    pending = PendingWrites(PAGES, SLOTS)
    pending.add(0, 3)
    ticket = pending.added
    pending.finish(pending.batch(2).end)
    assert pending.written < ticket
    pending.finish(pending.batch(2).end)
    assert pending.written >= ticket
    assert pending.slots_of(0, 3) is None


def test_the_last_of_several_writes_to_a_page_reaches_the_disk() -> None:
    pending = PendingWrites(PAGES, SLOTS)
    slots = [pending.add(page, 1) for page in (5, 2, 5, 5)]
    batch = pending.batch(3)
    assert (batch.pages.tolist(), batch.slots.tolist()) == ([2, 5], [slots[1], slots[2]])
    pending.finish(batch.end)
    found = pending.slots_of(5, 1)
    assert found is not None
    assert found.tolist() == [slots[3]], "a newer one waits"


@given(
    slots_by_page=st.dictionaries(st.integers(0, 40), st.integers(0, 40), min_size=1),
    most_pieces=st.integers(1, 4),
)
def test_requests_are_for_consecutive_pages_and_cover_the_batch(
    slots_by_page: dict[int, int], most_pieces: int
) -> None:
    pages = sorted(slots_by_page)
    slots = [slots_by_page[page] for page in pages]
    found = disk_requests(np.array(pages), np.array(slots), most_pieces)
    assert covered(found) == list(zip(pages, slots, strict=True))
    assert found.pieces.max() <= most_pieces
    first, last = found.first_page, found.first_page + found.pages
    assert not (last[:-1] > first[1:]).any()
    is_split = last[:-1] == first[1:]
    assert (found.pieces[:-1][is_split] == most_pieces).all(), "only because of its many pieces"


def covered(requests: DiskRequests) -> list[tuple[int, int]]:
    """Page and slot of all that is written."""
    found = []
    for page, first, count, pages in zip(
        requests.first_page.tolist(),
        requests.first_piece.tolist(),
        requests.pieces.tolist(),
        requests.pages.tolist(),
        strict=True,
    ):
        slots = [
            slot + place
            for piece in range(first, first + count)
            for slot, size in [(int(requests.slot[piece]), int(requests.piece_pages[piece]))]
            for place in range(size)
        ]
        assert len(slots) == pages
        found += [(page + place, slot) for place, slot in enumerate(slots)]
    return found


def test_pages_that_follow_each_other_on_disk_and_in_memory_are_one_piece() -> None:
    pages, slots = np.array([3, 4, 5, 6, 9]), np.array([7, 8, 1, 2, 3])
    found = disk_requests(pages, slots, 512)
    assert found.first_page.tolist() == [3, 9]
    assert found.pages.tolist() == [4, 1]
    assert found.pieces.tolist() == [2, 1]
    assert (found.slot.tolist(), found.piece_pages.tolist()) == ([7, 1, 3], [2, 2, 1])


def test_a_device_that_grows_keeps_what_is_pending() -> None:
    pending = PendingWrites(2, SLOTS)
    first = pending.add(0, 2)
    for pages in (3, 40, 40):
        pending.extend(pages)
    second = pending.add(38, 2)
    found = pending.slots_of(0, 40)
    assert found is not None
    assert first is not None
    assert second is not None
    assert found[:2].tolist() == [first, first + 1]
    assert found[38:].tolist() == [second, second + 1]
    assert (found[2:38] == -1).all()
