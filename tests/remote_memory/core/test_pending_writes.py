"""Pending writes under random additions, batches and reads."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from motet.remote_memory.core.pending_writes import (
    PendingWrite,
    PendingWrites,
    contiguous_runs,
    without_overlaps,
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
        self.batch: list[PendingWrite] = []
        self.version = 0

    @rule(where=RANGES)
    def add(self, where: tuple[int, int]) -> None:
        first, pages = where
        if not self.pending.has_room(pages):
            return
        self.version += 1
        slot = self.pending.add(first, pages)
        assert slot + pages <= SLOTS
        self.slots[slot : slot + pages] = [self.version] * pages
        self.newest[first : first + pages] = [self.version] * pages

    @precondition(lambda self: not self.batch)
    @rule(most=st.integers(1, SLOTS))
    def begin_a_batch(self, most: int) -> None:
        self.batch = self.pending.batch(most)

    @precondition(lambda self: self.batch)
    @rule()
    def write_the_batch(self) -> None:
        parts = list(without_overlaps(self.batch))
        assert [each for part in parts for each in part] == self.batch
        runs = [run for part in parts for run in contiguous_runs(part)]
        assert sorted(each for run in runs for each in run) == sorted(self.batch)
        for run in runs:
            place = run[0].first_page
            for write in run:
                assert write.first_page == place
                place += write.pages
                content = self.slots[write.slot : write.slot + write.pages]
                self.disk[write.first_page : place] = content
        self.pending.finish(len(self.batch))
        self.batch = []

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
    pending.finish(1)
    assert pending.has_room(SLOTS)
    assert pending.add(0, SLOTS) == 0


def test_a_batch_ends_before_its_limit_or_has_one_write() -> None:
    pending = PendingWrites(PAGES, SLOTS)
    for first, pages in ((0, 3), (3, 2), (5, 1)):
        pending.add(first, pages)
    assert [write.pages for write in pending.batch(5)] == [3, 2]
    assert [write.pages for write in pending.batch(1)] == [3]


def test_neighbours_are_written_together_and_overlaps_one_after_the_other() -> None:
    def write(first: int, pages: int) -> PendingWrite:
        return PendingWrite(first, pages, 0, 0)

    apart = [write(4, 2), write(0, 2), write(2, 2), write(9, 1)]
    assert contiguous_runs(apart) == [[apart[1], apart[2], apart[0]], [apart[3]]]
    same = [write(4, 2), write(0, 2), write(5, 2)]
    assert list(without_overlaps(same)) == [[same[0], same[1]], [same[2]]]


def test_a_device_that_grows_keeps_what_is_pending() -> None:
    pending = PendingWrites(2, SLOTS)
    first = pending.add(0, 2)
    for pages in (3, 40, 40):
        pending.extend(pages)
    second = pending.add(38, 2)
    found = pending.slots_of(0, 40)
    assert found is not None
    assert found[:2].tolist() == [first, first + 1]
    assert found[38:].tolist() == [second, second + 1]
    assert (found[2:38] == -1).all()
