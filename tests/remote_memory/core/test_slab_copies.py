"""A slab with two lenders under random interleavings of requests, evictions, failures, repairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from motet.remote_memory.core.device_slab import DeviceSlab, SlabMapping
from motet.remote_memory.core.slab_copies import CopyRequest, SlabCopies

PAGES = 5
RANGES = st.integers(0, PAGES - 1).flatmap(
    lambda first: st.tuples(st.just(first), st.integers(1, PAGES - first))
)


@dataclass(eq=False)
class Write:
    """`version`: of its pages. `open`: lenders that have not answered."""

    first: int
    pages: int
    version: int
    open: int


@dataclass(eq=False)
class Request:
    """To one lender. `content`: versions to store. `floor`: by page, the oldest version that a read
    may return. `write`: of a program; none: a fill, or a read."""

    where: CopyRequest
    first: int
    pages: int
    content: list[int] | None = None
    floor: list[int] = field(default_factory=list)
    write: Write | None = None
    is_repair: bool = False
    got: list[int] = field(default_factory=list)
    is_applied: bool = False
    is_refused: bool = False

    @property
    def end(self) -> int:
        return self.first + self.pages


class CopiesMachine(RuleBasedStateMachine):
    """Each lender applies the requests of a mapping in order, and wipes the memory after DONE.

    Versions count writes. A read must not return an older version than the newest write that was
    complete when it began, or than an earlier read returned. The backup always has the newest one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.slab = SlabCopies(PAGES, 2)
        self.memories: dict[SlabMapping, list[int]] = {}
        self.evicted: list[SlabMapping] = []
        self.requests: list[Request] = []
        self.complete = [0] * PAGES
        self.seen = [0] * PAGES
        self.version = 0
        self.repairs = False

    # -- the device ------------------------------------------------------------------------------

    @rule(finds=st.booleans())
    def place(self, finds: bool) -> None:
        copy = self.slab.begin_placing()
        if copy is None:
            return
        mapping = SlabMapping("lender", b"token", len(self.memories)) if finds else None
        copy.place(mapping)
        if mapping is not None:
            self.memories[mapping] = [0] * PAGES

    @rule(where=RANGES)
    def write(self, where: tuple[int, int]) -> None:
        self.version += 1
        found = self.slab.begin_write(*where)
        write = Write(*where, self.version, len(found))
        content = [self.version] * where[1]
        self.requests += [Request(each, *where, content, write=write) for each in found]
        self.completed(write)

    @rule(where=RANGES)
    def read(self, where: tuple[int, int]) -> None:
        found = self.slab.begin_read(*where)
        if found is not None:
            pages = range(where[0], sum(where))
            floor = [max(self.complete[page], self.seen[page]) for page in pages]
            self.requests.append(Request(found, *where, floor=floor))

    @precondition(lambda self: not self.repairs)
    @rule(most=st.integers(1, PAGES))
    def begin_repair(self, most: int) -> None:
        pages = self.slab.missing(most)
        if pages is None:
            return
        assert 0 < len(pages) <= most
        found = self.slab.begin_repair(pages)
        assert found is not None
        self.repairs = True
        self.requests.append(Request(found, pages.start, len(pages), is_repair=True))

    # -- lenders ---------------------------------------------------------------------------------

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def lender_applies(self, data: st.DataObject) -> None:
        mapping = data.draw(st.sampled_from(self.requests)).where.mapping
        waiting = (each for each in self.requests if not each.is_applied)
        request = next((each for each in waiting if each.where.mapping is mapping), None)
        if request is not None:
            self.applied(request)

    def applied(self, request: Request) -> None:
        request.is_applied = True
        memory = self.memories.get(request.where.mapping)
        if memory is None:
            request.is_refused = True
        elif request.content is None:
            request.got = memory[request.first : request.end]
        else:
            memory[request.first : request.end] = request.content

    @precondition(lambda self: any(each.is_applied for each in self.requests))
    @rule(data=st.data())
    def device_gets_the_answer(self, data: st.DataObject) -> None:
        applied = [each for each in self.requests if each.is_applied]
        request = data.draw(st.sampled_from(applied))
        self.ended(request, is_done=not request.is_refused)

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def request_fails(self, data: st.DataObject) -> None:
        self.ended(data.draw(st.sampled_from(self.requests)), is_done=False)

    @precondition(lambda self: self.slab.mappings)
    @rule(data=st.data(), revokes=st.booleans())
    def evict(self, data: st.DataObject, revokes: bool) -> None:
        """`revokes`: the lender does not wait for DONE."""
        mapping = data.draw(st.sampled_from(self.slab.mappings))
        if revokes:
            self.memories.pop(mapping, None)
            return
        for copy in self.slab.copies:
            copy.detach(mapping)
        self.evicted.append(mapping)

    @rule()
    def send_done(self) -> None:
        for mapping in [each for each in self.evicted if each.is_drained]:
            self.evicted.remove(mapping)
            self.memories.pop(mapping, None)

    # -- ends ------------------------------------------------------------------------------------

    def ended(self, request: Request, *, is_done: bool) -> None:
        self.requests.remove(request)
        copy, mapping = request.where
        if request.content is not None:
            copy.finish_write(mapping, request.first, request.pages, is_stored=is_done)
            if request.write is not None:
                request.write.open -= 1
                self.completed(request.write)
            return
        copy.finish_read(mapping, is_read=is_done)
        if request.is_repair:
            self.end_repair(request, is_done=is_done)
        elif is_done:
            for page, got, floor in zip(
                range(request.first, request.end), request.got, request.floor, strict=True
            ):
                assert got >= floor
                self.seen[page] = max(self.seen[page], got)

    def end_repair(self, request: Request, *, is_done: bool) -> None:
        self.repairs = False
        if not is_done:
            self.slab.abandon_repair()
            return
        for where, first, pages in self.slab.begin_fills():
            start = first - request.first
            content = request.got[start : start + pages]
            self.requests.append(Request(where, first, pages, content))

    def completed(self, write: Write) -> None:
        if not write.open:
            for page in range(write.first, write.first + write.pages):
                self.complete[page] = max(self.complete[page], write.version)

    # -- what always holds -----------------------------------------------------------------------

    @invariant()
    def a_valid_page_of_each_lender_is_the_newest_complete_write(self) -> None:
        for copy in self.slab.copies:
            memory = None if copy.mapping is None else self.memories.get(copy.mapping)
            if memory is not None:
                for page in copy.bits.nonzero()[0].tolist():
                    assert memory[page] >= self.complete[page]

    @invariant()
    def requests_in_flight_are_counted(self) -> None:
        for mapping in self.memories:
            in_flight = [each for each in self.requests if each.where.mapping is mapping]
            assert mapping.in_flight == len(in_flight)


class RepairsMachine(CopiesMachine):
    """Nothing fails, so repairs and writes meet more often: the second lender lacks all pages."""

    evict = request_fails = send_done = place = None  # type: ignore[assignment]

    @initialize()
    def begin(self) -> None:
        for number in range(2):
            copy = self.slab.begin_placing()
            assert copy is not None
            mapping = SlabMapping("lender", b"token", number)
            copy.place(mapping)
            self.memories[mapping] = [0] * PAGES
            if not number:
                self.write((0, PAGES))
                (request,) = self.requests
                self.applied(request)
                self.ended(request, is_done=True)


TestCopiesMachine = CopiesMachine.TestCase
TestRepairsMachine = RepairsMachine.TestCase


def placed(slab: SlabCopies, name: str) -> DeviceSlab:
    copy = slab.begin_placing()
    assert copy is not None
    copy.place(SlabMapping(name, name.encode(), 1))
    return copy


def write(slab: SlabCopies, first: int, pages: int) -> list[CopyRequest]:
    found = slab.begin_write(first, pages)
    for copy, mapping in found:
        copy.finish_write(mapping, first, pages, is_stored=True)
    return found


@pytest.fixture
def slab() -> SlabCopies:
    """Lender `a` has pages 0 to 3, `b` has just been added."""
    slab = SlabCopies(PAGES, 2)
    placed(slab, "a")
    write(slab, 0, 4)
    placed(slab, "b")
    return slab


def test_a_write_goes_to_all_lenders_and_a_read_to_one(slab: SlabCopies) -> None:
    assert [mapping.lender for _, mapping in write(slab, 0, 2)] == ["a", "b"]
    found = slab.begin_read(0, 2)
    assert found is not None
    assert found.mapping.lender == "a"


def test_pages_are_read_from_the_lender_that_is_left(slab: SlabCopies) -> None:
    write(slab, 1, 2)
    first = slab.copies[0]
    assert first.mapping is not None
    first.detach(first.mapping)
    found = slab.begin_read(1, 2)
    assert found is not None
    assert found.mapping.lender == "b"
    assert slab.begin_read(0, 2) is None
    assert (slab.valid_pages, slab.replicated_pages) == (2, 0)


def test_a_repair_copies_runs_of_pages_until_a_lender_lacks_none(slab: SlabCopies) -> None:
    write(slab, 1, 1)
    filled = []
    while (pages := slab.missing(PAGES)) is not None:
        read = slab.begin_repair(pages)
        assert read is not None
        read.copy.finish_read(read.mapping, is_read=True)
        for (copy, mapping), first, count in slab.begin_fills():
            filled.append((mapping.lender, first, count))
            copy.finish_write(mapping, first, count, is_stored=True)
    assert filled == [("b", 0, 1), ("b", 2, 2)]
    assert slab.replicated_pages == 4


def test_a_page_written_during_the_repair_is_left_out(slab: SlabCopies) -> None:
    assert slab.missing(PAGES) == range(4)
    assert slab.begin_repair(range(4)) is not None
    slab.begin_write(1, 2)
    fills = slab.begin_fills()
    assert [(fill.first_page, fill.pages) for fill in fills] == [(0, 1), (3, 1)]
    assert {fill.request.mapping.lender for fill in fills} == {"b"}


def test_one_lender_at_a_time_is_looked_for() -> None:
    slab = SlabCopies(PAGES, 2)
    assert slab.is_unmapped
    first = slab.begin_placing()
    assert first is not None
    assert slab.begin_placing() is None
    first.place(SlabMapping("a", b"a", 1))
    assert slab.lacks_copy
    placed(slab, "b")
    assert not slab.lacks_copy
    assert slab.begin_placing() is None


def test_pages_from_the_backup_go_to_the_copies_that_lack_them() -> None:
    slab = SlabCopies(PAGES, 2)
    assert slab.begin_fill(0, 2) == []
    for number in range(2):
        copy = slab.begin_placing()
        assert copy is not None
        copy.place(SlabMapping(f"lender {number}", b"token", number))
        (fill,) = slab.begin_fill(0, 2)
        assert fill.request.copy is copy
        copy.finish_write(fill.request.mapping, 0, 2, is_stored=True)
    assert slab.begin_fill(0, 2) == []
    assert len(slab.begin_fill(1, 2)) == 2


class LeavingCopy:
    """A copy that another thread detaches after it was looked at."""

    def __init__(self) -> None:
        self._left: list[SlabMapping | None] = [None, SlabMapping("a", b"token", 1)]

    @property
    def mapping(self) -> SlabMapping | None:
        return self._left.pop()


def test_lenders_are_listed_while_one_is_lost() -> None:
    """Evictions and placement look at all slabs without their locks."""
    slab = SlabCopies(PAGES)
    slab.copies = (cast(DeviceSlab, LeavingCopy()),)
    assert [each.lender for each in slab.mappings] == ["a"]
