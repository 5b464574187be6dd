"""A slab under random interleavings of writes, reads, evictions and failures."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from motet.remote_memory.core.device_slab import DeviceSlab, SlabMapping, SlabState

PAGES = 5
RANGES = st.integers(0, PAGES - 1).flatmap(
    lambda first: st.tuples(st.just(first), st.integers(1, PAGES - first))
)


@dataclass
class Operation:
    """A request to a lender. `floor`: by page, the newest write complete when a read began."""

    mapping: SlabMapping
    first: int
    pages: int
    version: int = 0
    floor: list[int] = field(default_factory=list)
    got: list[int] | None = None
    is_applied: bool = False
    is_refused: bool = False

    @property
    def is_read(self) -> bool:
        return not self.version


class SlabMachine(RuleBasedStateMachine):
    """The lender applies the requests of a mapping in order, and wipes the memory after DONE.

    Versions count writes; a read must not return an older version than the newest write that was
    complete when it began. The backup always has the newest one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.slab = DeviceSlab(PAGES)
        self.memories: dict[SlabMapping, list[int]] = {}
        self.evicted: list[SlabMapping] = []
        self.operations: list[Operation] = []
        self.complete = [0] * PAGES
        self.version = 0

    def next_of(self, mapping: SlabMapping) -> Operation | None:
        waiting = (each for each in self.operations if not each.is_applied)
        return next((each for each in waiting if each.mapping is mapping), None)

    def completed(self, operation: Operation) -> None:
        for page in range(operation.first, operation.first + operation.pages):
            self.complete[page] = max(self.complete[page], operation.version)

    @rule(finds=st.booleans())
    def place(self, finds: bool) -> None:
        was_unmapped = self.slab.state is SlabState.UNMAPPED
        assert self.slab.begin_placing() is was_unmapped
        if was_unmapped:
            mapping = SlabMapping("lender", b"token", len(self.memories)) if finds else None
            self.slab.place(mapping)
            if mapping is not None:
                self.memories[mapping] = [0] * PAGES

    @rule(where=RANGES)
    def write(self, where: tuple[int, int]) -> None:
        self.version += 1
        mapping = self.slab.begin_write(*where)
        assert mapping is self.slab.mapping
        operation = Operation(mapping, *where, version=self.version) if mapping else None
        if operation is not None:
            self.operations.append(operation)
        else:
            for page in range(where[0], sum(where)):
                self.complete[page] = self.version

    @rule(where=RANGES)
    def read(self, where: tuple[int, int]) -> None:
        mapping = self.slab.begin_read(*where)
        if mapping is not None:
            floor = self.complete[where[0] : sum(where)]
            self.operations.append(Operation(mapping, *where, floor=floor))

    @precondition(lambda self: self.operations)
    @rule(data=st.data())
    def lender_applies(self, data: st.DataObject) -> None:
        mapping = data.draw(st.sampled_from(self.operations)).mapping
        operation = self.next_of(mapping)
        if operation is None:
            return
        operation.is_applied = True
        memory = self.memories.get(mapping)
        if memory is None:
            operation.is_refused = True
        elif operation.is_read:
            operation.got = memory[operation.first : operation.first + operation.pages]
        else:
            end = operation.first + operation.pages
            memory[operation.first : end] = [operation.version] * operation.pages

    @precondition(lambda self: any(each.is_applied for each in self.operations))
    @rule(data=st.data())
    def device_gets_the_answer(self, data: st.DataObject) -> None:
        applied = [each for each in self.operations if each.is_applied]
        operation = data.draw(st.sampled_from(applied))
        self.operations.remove(operation)
        is_done = not operation.is_refused
        if not operation.is_read:
            self.slab.finish_write(
                operation.mapping, operation.first, operation.pages, is_stored=is_done
            )
            self.completed(operation)
            return
        self.slab.finish_read(operation.mapping, is_read=is_done)
        if is_done:
            assert operation.got is not None
            assert all(
                got >= floor for got, floor in zip(operation.got, operation.floor, strict=True)
            )

    @precondition(lambda self: self.operations)
    @rule(data=st.data())
    def request_fails(self, data: st.DataObject) -> None:
        operation = data.draw(st.sampled_from(self.operations))
        self.operations.remove(operation)
        if operation.is_read:
            self.slab.finish_read(operation.mapping, is_read=False)
        else:
            self.slab.finish_write(
                operation.mapping, operation.first, operation.pages, is_stored=False
            )
            self.completed(operation)

    @precondition(lambda self: self.slab.mapping is not None)
    @rule(revokes=st.booleans())
    def evict(self, revokes: bool) -> None:
        """`revokes`: the lender does not wait for DONE."""
        mapping = self.slab.mapping
        assert mapping is not None
        if revokes:
            self.memories.pop(mapping, None)
            return
        self.slab.detach(mapping)
        self.evicted.append(mapping)

    @rule()
    def send_done(self) -> None:
        for mapping in [each for each in self.evicted if each.is_drained]:
            self.evicted.remove(mapping)
            self.memories.pop(mapping, None)
            assert all(each.mapping is not mapping for each in self.operations)

    @invariant()
    def a_valid_page_is_the_newest_complete_write(self) -> None:
        mapping = self.slab.mapping
        memory = None if mapping is None else self.memories.get(mapping)
        if memory is None:
            return
        for page in range(PAGES):
            probe = self.slab.begin_read(page, 1)
            if probe is not None:
                self.slab.finish_read(probe, is_read=True)
                assert memory[page] >= self.complete[page]

    @invariant()
    def requests_in_flight_are_counted(self) -> None:
        for mapping in self.memories:
            in_flight = [each for each in self.operations if each.mapping is mapping]
            assert mapping.in_flight == len(in_flight)


TestSlabMachine = SlabMachine.TestCase


@pytest.fixture
def mapped() -> tuple[DeviceSlab, SlabMapping]:
    slab, mapping = DeviceSlab(PAGES), SlabMapping("a", b"t", 1)
    assert slab.begin_placing()
    slab.place(mapping)
    return slab, mapping


def written(slab: DeviceSlab, first: int, pages: int) -> None:
    mapping = slab.begin_write(first, pages)
    assert mapping is not None
    slab.finish_write(mapping, first, pages, is_stored=True)


def test_no_page_is_remote_before_it_is_written(mapped: tuple[DeviceSlab, SlabMapping]) -> None:
    slab, mapping = mapped
    assert slab.begin_read(0, 1) is None
    written(slab, 0, 2)
    assert slab.begin_read(0, 2) is mapping
    assert slab.begin_read(1, 2) is None


def test_a_page_is_not_remote_while_it_is_written(mapped: tuple[DeviceSlab, SlabMapping]) -> None:
    slab, mapping = mapped
    written(slab, 0, 3)
    slab.begin_write(1, 1)
    assert slab.begin_read(0, 3) is None
    assert slab.begin_read(2, 1) is mapping


def test_an_answer_for_an_earlier_mapping_sets_no_bit(
    mapped: tuple[DeviceSlab, SlabMapping],
) -> None:
    slab, mapping = mapped
    slab.begin_write(0, 1)
    slab.detach(mapping)
    slab.begin_placing()
    slab.place(SlabMapping("b", b"u", 2))
    slab.finish_write(mapping, 0, 1, is_stored=True)
    assert slab.begin_read(0, 1) is None


def test_done_is_due_when_the_last_request_has_ended(
    mapped: tuple[DeviceSlab, SlabMapping],
) -> None:
    slab, mapping = mapped
    slab.begin_write(0, 1)
    slab.begin_write(1, 1)
    slab.detach(mapping)
    slab.finish_write(mapping, 0, 1, is_stored=True)
    assert not mapping.is_drained
    slab.finish_write(mapping, 1, 1, is_stored=True)
    assert mapping.is_drained


def test_a_failed_placement_leaves_the_slab_unmapped_and_can_be_repeated() -> None:
    slab = DeviceSlab(PAGES)
    assert slab.begin_placing()
    assert not slab.begin_placing()
    slab.place(None)
    assert slab.state is SlabState.UNMAPPED
    assert slab.begin_placing()


def test_a_lender_lacks_pages_that_it_does_not_have_and_no_lender_lacks_none() -> None:
    slab = DeviceSlab(4)
    assert not slab.lacks(0, 4)
    assert slab.begin_placing()
    mapping = SlabMapping("lender", b"token", 1)
    slab.place(mapping)
    assert slab.begin_write(1, 2) is mapping
    assert slab.lacks(1, 2)
    slab.finish_write(mapping, 1, 2, is_stored=True)
    assert [slab.lacks(0, 2), slab.lacks(1, 2), slab.lacks(2, 2)] == [True, False, True]
