"""Replies whose content lenders write into the room of the batch."""

from __future__ import annotations

import errno

from motet.remote_memory.borrower.store_operation import DestinationLost, StoreOperation
from motet.remote_memory.nbd.nbd_batch import NbdBatch
from motet.remote_memory.nbd.nbd_protocol import REPLY, REPLY_MAGIC, NbdCommand
from remote_memory_parts import PAGE

READ = int(NbdCommand.READ)
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

    def forget(self, offset: int, length: int) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        raise NotImplementedError


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
