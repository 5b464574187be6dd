"""The requests that one receive brought: begun one after the other, answered together."""

from __future__ import annotations

import errno
import logging
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeAlias

from motet.remote_memory.borrower.store_operation import (
    BatchStore,
    DestinationLost,
    PageWrite,
    StoreOperation,
    WriteOperation,
)
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.nbd.nbd_protocol import (
    FUA,
    MAX_REQUEST_BYTES,
    NO_HOLE,
    REPLY,
    REPLY_MAGIC,
    NbdCommand,
    NbdError,
)

_LOG = logging.getLogger(__name__)
ROOM_BYTES = 4 << 20
SEND_BYTES = 1 << 17
"""So much is sent at a time, while later requests of the batch are still waited for."""
_ZEROES = memoryview(bytes(1 << 20))
# Members of enumerations cost more than the whole check of a request.
_OK, _READ, _WRITE = int(NbdError.NONE), int(NbdCommand.READ), int(NbdCommand.WRITE)
_FLUSH = int(NbdCommand.FLUSH)
_COMMANDS = frozenset(map(int, NbdCommand)) - {int(NbdCommand.DISCONNECT)}
_GROWING = frozenset((_WRITE, int(NbdCommand.WRITE_ZEROES)))
_FLAGS = {int(NbdCommand.WRITE_ZEROES): FUA | NO_HOLE}
"""Flags of commands that have others than FUA."""
_HEAD_BYTES = REPLY.size
_PAGE_MASK = PAGE_BYTES - 1
Send: TypeAlias = Callable[[memoryview], object]
NewBuffer: TypeAlias = Callable[[int], memoryview]
"""Memory for what clients write and read: of so many bytes, with any content."""
_Begun: TypeAlias = tuple[int, StoreOperation | None, int, int, int, int]
"""Cookie, operation, error, offset, and where the reply begins and ends in the room."""

_Held: TypeAlias = tuple[int, int, int, int, int]
"""A write that has not begun: cookie, flags, offset, and where the reply begins and ends."""


class NbdBatch:
    """Not thread-safe. Several requests to lenders are in flight at a time.

    Replies lie one behind the other in memory, so that one call sends all of them. Lenders on this
    host write large reads there themselves.
    """

    def __init__(self, store: BatchStore, new_buffer: NewBuffer) -> None:
        self._store, self._new_buffer = store, new_buffer
        self._size_bytes = store.size_bytes
        self._begun = deque[_Begun]()
        self._held: list[_Held] = []
        self._writes: list[PageWrite] = []
        self._room = new_buffer(ROOM_BYTES)
        self._is_room_lost = False
        self._used_bytes = 0

    def has_room(self, command: int, length: int) -> bool:
        """Whether the reply still fits; if not, answer first."""
        content_bytes = length if command == _READ else 0
        return self._used_bytes + _HEAD_BYTES + content_bytes <= len(self._room)

    def begin(
        self, command: int, flags: int, cookie: int, offset: int, length: int, data: memoryview
    ) -> None:
        """Begin a request. `data`: of a write; it does not change until `answer`."""
        start = self._used_bytes
        end = start + _HEAD_BYTES
        operation: StoreOperation | None = None
        error = self._refusal(command, flags, offset, length)
        if command == _WRITE and not error:
            self._held.append((cookie, flags, offset, start, end))
            self._writes.append((offset, data))
            self._used_bytes = end
            return
        self._begin_writes()
        if not error:
            try:
                if command == _READ:
                    content_at, end = end, end + length
                    operation = self._store.begin_read(offset, self._space(content_at, end))
                else:
                    operation = self._other(command, offset, length)
                if flags & FUA and command != _READ:
                    operation = _Durable(self._store, operation)
            except DestinationLost as failure:  # Nothing else may be put where it was read.
                error, self._is_room_lost = _number_of(failure), True
            except OSError as failure:
                error, end = _number_of(failure), start + _HEAD_BYTES
        self._used_bytes = end
        self._begun.append((cookie, operation, error, offset, start, end))

    def answer(self, send: Send) -> None:
        """Wait for the requests in their order and send the replies. Raises what `send` raises;
        `finish` the others then."""
        self._begin_writes()
        room, begun = self._room, self._begun
        sent_to = end = 0
        while begun:
            cookie, operation, error, offset, start, end = begun.popleft()
            content = None
            if operation is not None:
                try:
                    operation.finish()
                except OSError as failure:
                    length = end - start - _HEAD_BYTES
                    error, content = self._after(failure, offset, length)
            REPLY.pack_into(room, start, REPLY_MAGIC, error, cookie)
            if error or content is not None:  # The content, if any, is not in the room.
                send(room[sent_to : start + _HEAD_BYTES])
                if content is not None:
                    send(content)
                sent_to = end
            elif end - sent_to >= SEND_BYTES:
                send(room[sent_to:end])
                sent_to = end
        if end > sent_to:
            send(room[sent_to:end])
        self._used_bytes = 0
        if len(room) > ROOM_BYTES or self._is_room_lost:
            self._room, self._is_room_lost = self._new_buffer(ROOM_BYTES), False

    def _begin_writes(self) -> None:
        """All that were held until the next one of another kind."""
        if not self._writes:
            return
        begun = self._store.begin_writes(self._writes)
        ends = begun[0] if len(self._writes) == 1 else _WriteEnds(begun)
        for cookie, flags, offset, start, end in self._held:
            operation = _Durable(self._store, ends) if flags & FUA else ends
            self._begun.append((cookie, operation, _OK, offset, start, end))
        self._held, self._writes = [], []

    def _after(self, failure: OSError, offset: int, length: int) -> tuple[int, memoryview | None]:
        """The error of a request; without one, what was read into other memory."""
        if not isinstance(failure, DestinationLost):
            return _number_of(failure), None
        self._is_room_lost = True
        content = memoryview(bytearray(length))
        try:
            self._store.begin_read(offset, content).finish()
        except OSError as again:
            return _number_of(again), None
        return _OK, content

    def finish(self) -> None:
        """Wait for requests whose answers are not sent: they count in their slabs until then.
        Writes that have not begun are dropped."""
        while self._begun:
            _, operation, *_ = self._begun.popleft()
            if operation is not None:
                try:
                    operation.finish()
                except OSError as failure:
                    _number_of(failure)

    def _refusal(self, command: int, flags: int, offset: int, length: int) -> int:
        """The error of a request that must not begin; 0: it may."""
        if flags and flags & ~_FLAGS.get(command, FUA):
            return NbdError.INVALID
        if command == _FLUSH:
            return _OK
        if (offset | length) & _PAGE_MASK or not length:
            return NbdError.INVALID
        if length > MAX_REQUEST_BYTES and command in (_READ, _WRITE):
            return NbdError.INVALID
        if length > self._size_bytes - offset:
            return NbdError.NO_SPACE if command in _GROWING else NbdError.INVALID
        return _OK if command in _COMMANDS else NbdError.INVALID

    def _space(self, start: int, end: int) -> memoryview:
        """For the content of a read; a reply larger than the room is alone in a new one."""
        if end > len(self._room):
            self._room = memoryview(bytearray(end))
        return self._room[start:end]

    def _other(self, command: int, offset: int, length: int) -> StoreOperation:
        if command == _FLUSH:
            return _Flush(self._store)
        if command == NbdCommand.WRITE_ZEROES:
            return _Zeroes(self._store, offset, length)
        self._store.forget(offset, length)
        return _COMPLETE


class _Complete:
    def finish(self) -> None:
        """There is nothing to wait for."""


_COMPLETE = _Complete()


class _WriteEnds:
    """Writes that have begun together: finished once for each, in their order."""

    def __init__(self, begun: Sequence[WriteOperation]) -> None:
        self._errors = chain.from_iterable(each.finish_all() for each in begun)

    def finish(self) -> None:
        """See StoreOperation: of the next one."""
        error = next(self._errors)
        if error is not None:
            raise error


class _Flush:
    def __init__(self, store: BatchStore) -> None:
        self._store = store

    def finish(self) -> None:
        """See StoreOperation."""
        self._store.flush()


class _Durable:
    """A request with FUA."""

    def __init__(self, store: BatchStore, request: StoreOperation) -> None:
        self._store, self._request = store, request

    def finish(self) -> None:
        """See StoreOperation."""
        self._request.finish()
        self._store.flush()


class _Zeroes:
    """Zeros of any length, a part at a time."""

    def __init__(self, store: BatchStore, offset: int, length: int) -> None:
        self._store, self._offset, self._length = store, offset, length

    def finish(self) -> None:
        """See StoreOperation."""
        for start in range(0, self._length, len(_ZEROES)):
            part = _ZEROES[: min(len(_ZEROES), self._length - start)]
            self._store.begin_write(self._offset + start, part).finish()


def _number_of(error: OSError) -> int:
    _LOG.warning("a request of the block device failed: %s", error)
    return NbdError.NO_SPACE if error.errno == errno.ENOSPC else NbdError.IO
