"""Replies whose content lenders write into the room of the batch; writes that begin together."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from motet.remote_memory.borrower.store_operation import (
    DestinationLost,
    PageWrite,
    StoreOperation,
    WriteOperation,
)
from motet.remote_memory.nbd.nbd_batch import NbdBatch
from motet.remote_memory.nbd.nbd_protocol import FUA, REPLY, REPLY_MAGIC, NbdCommand, NbdError
from remote_memory_parts import PAGE

READ, WRITE = int(NbdCommand.READ), int(NbdCommand.WRITE)
EIO = 5
OLD = b"o"


class Reading:
    """Writes to its memory at once; raises when it is finished, if it is to."""

    def __init__(self, into: memoryview, content: bytes, failure: OSError | None) -> None:
        into[:] = content * len(into)
        self._failure = failure

    def finish(self) -> None:
        if self._failure is not None:
            raise self._failure


class LentStore:
    """A store whose lender is lost during some reads, and writes to their memory afterwards."""

    size_bytes = 64 * PAGE

    def __init__(self, lost: set[int], disk_error: OSError | None = None) -> None:
        """`lost`: pages whose first read loses the lender."""
        self.lost, self.disk_error = lost, disk_error
        self.destinations: list[memoryview] = []
        self._asked = set[int]()

    def begin_read(self, offset: int, into: memoryview) -> StoreOperation:
        page = offset // PAGE
        self.destinations.append(into)
        if page in self.lost and page not in self._asked:
            self._asked.add(page)
            return Reading(into, OLD, DestinationLost(errno.EIO, "lost"))
        failure = self.disk_error if page in self.lost else None
        return Reading(into, bytes([page]), failure)

    def begin_write(self, offset: int, data: memoryview) -> StoreOperation:
        raise NotImplementedError

    def begin_writes(self, writes: Sequence[PageWrite]) -> Sequence[WriteOperation]:
        raise NotImplementedError

    def forget(self, offset: int, length: int) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        raise NotImplementedError


class Written:
    """Writes that fail where they are to."""

    def __init__(self, store: RecordingStore, pages: list[int]) -> None:
        self._store, self._pages = store, pages

    def finish(self) -> None:
        """Of one write."""
        (error,) = self.finish_all()
        if error is not None:
            raise error

    def finish_all(self) -> list[OSError | None]:
        self._store.steps.append(("finish", self._pages))
        return [
            OSError(errno.EIO, "disk") if page in self._store.failing else None
            for page in self._pages
        ]


class RecordingStore(LentStore):
    """Records what it is asked for; writes begin in parts of two at most."""

    def __init__(self, failing: set[int]) -> None:
        super().__init__(set())
        self.failing = failing
        self.steps: list[tuple[str, list[int]]] = []

    def begin_read(self, offset: int, into: memoryview) -> StoreOperation:
        self.steps.append(("read", [offset // PAGE]))
        return super().begin_read(offset, into)

    def begin_writes(self, writes: Sequence[PageWrite]) -> Sequence[WriteOperation]:
        pages = [offset // PAGE for offset, _ in writes]
        assert all(
            bytes(data) == bytes([page]) * PAGE
            for page, (_, data) in zip(pages, writes, strict=True)
        )
        self.steps.append(("write", pages))
        return [Written(self, pages[start : start + 2]) for start in range(0, len(pages), 2)]

    def flush(self) -> None:
        self.steps.append(("flush", []))


class Rooms:
    """Memory that lenders can access."""

    def __init__(self) -> None:
        self.all: list[memoryview] = []

    def new(self, size: int) -> memoryview:
        self.all.append(memoryview(bytearray(size)))
        return self.all[-1]


def answered(batch: NbdBatch, pages: list[int]) -> list[tuple[int, bytes]]:
    """Error and content of the replies to reads of single pages."""
    sent = bytearray()
    for page in pages:
        batch.begin(READ, 0, page, page * PAGE, PAGE, memoryview(b""))
    batch.answer(sent.extend)
    found, start = [], 0
    for page in pages:
        magic, error, cookie = REPLY.unpack_from(sent, start)
        assert (magic, cookie) == (REPLY_MAGIC, page)
        start += REPLY.size
        end = start if error else start + PAGE
        found.append((error, bytes(sent[start:end])))
        start = end
    assert start == len(sent)
    return found


def write(batch: NbdBatch, page: int, flags: int = 0) -> None:
    batch.begin(WRITE, flags, page, page * PAGE, PAGE, memoryview(bytes([page]) * PAGE))


def errors_of(batch: NbdBatch, cookies: list[int]) -> list[int]:
    """Of replies without content, which come in this order."""
    sent = bytearray()
    batch.answer(sent.extend)
    found = list(REPLY.iter_unpack(sent))
    assert [cookie for _, _, cookie in found] == cookies
    return [error for _, error, _ in found]


def full(page: int) -> tuple[int, bytes]:
    return 0, bytes([page]) * PAGE


def test_replies_are_read_into_one_room() -> None:
    rooms = Rooms()
    batch = NbdBatch(LentStore(set()), rooms.new)
    assert answered(batch, [1, 2]) == [full(1), full(2)]
    assert answered(batch, [3]) == [full(3)]
    assert len(rooms.all) == 1


def test_a_reply_after_the_loss_of_its_lender_is_read_into_memory_that_it_cannot_access() -> None:
    rooms, store = Rooms(), LentStore({2})
    batch = NbdBatch(store, rooms.new)
    assert answered(batch, [1, 2, 3]) == [full(1), full(2), full(3)]
    assert all(store.destinations[-1].obj is not room.obj for room in rooms.all)


def test_later_replies_do_not_use_a_room_that_a_lost_lender_can_access() -> None:
    rooms, store = Rooms(), LentStore({2})
    batch = NbdBatch(store, rooms.new)
    answered(batch, [2])
    assert answered(batch, [4]) == [full(4)]
    first, second = rooms.all
    assert store.destinations[0].obj is first.obj
    assert store.destinations[-1].obj is second.obj


def test_a_read_that_the_disk_fails_too_is_answered_with_an_error() -> None:
    batch = NbdBatch(LentStore({2}, OSError(errno.EIO, "disk")), Rooms().new)
    assert answered(batch, [1, 2, 3]) == [full(1), (EIO, b""), full(3)]


def test_writes_that_came_together_begin_together() -> None:
    store = RecordingStore(failing={2})
    batch = NbdBatch(store, Rooms().new)
    for page in (3, 1, 2):
        write(batch, page)
    assert not store.steps
    assert errors_of(batch, [3, 1, 2]) == [0, 0, EIO]
    assert store.steps == [("write", [3, 1, 2]), ("finish", [3, 1]), ("finish", [2])]
    write(batch, 5)
    assert errors_of(batch, [5]) == [0]


def test_a_request_of_another_kind_begins_behind_the_writes_before_it() -> None:
    store = RecordingStore(set())
    batch = NbdBatch(store, Rooms().new)
    write(batch, 1)
    batch.begin(READ, 0, 7, PAGE, PAGE, memoryview(b""))
    write(batch, 2)
    batch.begin(WRITE, 0, 9, 1, PAGE, memoryview(bytes(PAGE)))  # At an offset inside a page.
    sent = bytearray()
    batch.answer(sent.extend)
    assert store.steps[:3] == [("write", [1]), ("read", [1]), ("write", [2])]
    read_end = 2 * REPLY.size + PAGE
    assert [REPLY.unpack_from(sent, at)[1:] for at in (0, REPLY.size, read_end)] == [
        (0, 1),
        (0, 7),
        (0, 2),
    ]
    assert REPLY.unpack_from(sent, read_end + REPLY.size)[1:] == (int(NbdError.INVALID), 9)


def test_a_write_with_fua_is_flushed_before_its_reply() -> None:
    store = RecordingStore(set())
    batch = NbdBatch(store, Rooms().new)
    write(batch, 1)
    write(batch, 2, FUA)
    assert errors_of(batch, [1, 2]) == [0, 0]
    assert store.steps == [("write", [1, 2]), ("finish", [1, 2]), ("flush", [])]


def test_all_writes_that_have_begun_are_waited_for_when_the_client_is_gone() -> None:
    store = RecordingStore(failing={3})
    batch = NbdBatch(store, Rooms().new)
    for page in (1, 2, 3):
        write(batch, page)

    def gone(_: memoryview) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        batch.answer(gone)
    batch.finish()
    assert store.steps == [("write", [1, 2, 3]), ("finish", [1, 2]), ("finish", [3])]


def test_writes_that_have_not_begun_are_dropped_when_the_client_is_gone() -> None:
    store = RecordingStore(set())
    batch = NbdBatch(store, Rooms().new)
    write(batch, 1)
    batch.finish()
    assert not store.steps
