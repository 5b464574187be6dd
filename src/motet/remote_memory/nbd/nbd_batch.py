"""The requests that one receive brought: begun one after the other, answered together."""

from __future__ import annotations

import errno
import logging
from typing import NamedTuple

from motet.remote_memory.borrower.store_operation import PageStore, StoreOperation
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.nbd.nbd_protocol import (
    FUA,
    MAX_REQUEST_BYTES,
    REPLY,
    REPLY_MAGIC,
    NbdCommand,
    NbdError,
)

_LOG = logging.getLogger(__name__)
READ_ROOM_BYTES = 4 << 20
_ZEROES = memoryview(bytes(1 << 20))
_NOTHING = memoryview(b"")
_OK, _READ, _WRITE = int(NbdError.NONE), int(NbdCommand.READ), int(NbdCommand.WRITE)


class _Begun(NamedTuple):
    cookie: int
    operation: StoreOperation
    content: memoryview


class NbdBatch:
    """Not thread-safe. Several requests to lenders are in flight at a time."""

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self._begun: list[_Begun] = []
        self._errors: list[bytes] = []
        self._room = memoryview(bytearray(READ_ROOM_BYTES))
        self._used_bytes = 0

    def has_room(self, command: int, length: int) -> bool:
        """Whether the content of a read still fits; if not, answer first."""
        return command != _READ or self._used_bytes + length <= READ_ROOM_BYTES

    def begin(
        self, command: int, flags: int, cookie: int, offset: int, length: int, data: memoryview
    ) -> None:
        """Begin a request. `data`: of a write; it does not change until `answers`."""
        if not self._is_valid(command, offset, length):
            self._refuse(cookie, NbdError.INVALID)
            return
        content = _NOTHING
        try:
            if command == _READ:
                content = self._content(length)
                operation = self._store.begin_read(offset, content)
            elif command == _WRITE:
                operation = self._store.begin_write(offset, data)
            else:
                operation = self._other(command, offset, length)
        except OSError as error:
            self._refuse(cookie, _number_of(error))
            return
        if flags & FUA and command in (_WRITE, NbdCommand.WRITE_ZEROES):
            operation = _Durable(self._store, operation)
        self._begun.append(_Begun(cookie, operation, content))

    def answers(self) -> list[bytes | memoryview]:
        """Wait for all requests; returns the replies to send before the next `begin`."""
        pieces: list[bytes | memoryview] = [*self._errors]
        for cookie, operation, content in self._begun:
            try:
                operation.finish()
            except OSError as error:
                pieces.append(REPLY.pack(REPLY_MAGIC, _number_of(error), cookie))
                continue
            pieces.append(REPLY.pack(REPLY_MAGIC, _OK, cookie))
            if content:
                pieces.append(content)
        self._begun = []
        self._errors = []
        self._used_bytes = 0
        return pieces

    def _is_valid(self, command: int, offset: int, length: int) -> bool:
        if command == NbdCommand.FLUSH:
            return True
        is_inside = (
            length > 0
            and not (offset | length) % PAGE_BYTES
            and offset + length <= self._store.size_bytes
        )
        if command in (_READ, _WRITE):
            return is_inside and length <= MAX_REQUEST_BYTES
        return is_inside and command in (NbdCommand.TRIM, NbdCommand.WRITE_ZEROES)

    def _content(self, length: int) -> memoryview:
        start, end = self._used_bytes, self._used_bytes + length
        if end > READ_ROOM_BYTES:
            return memoryview(bytearray(length))
        self._used_bytes = end
        return self._room[start:end]

    def _other(self, command: int, offset: int, length: int) -> StoreOperation:
        if command == NbdCommand.FLUSH:
            return _Flush(self._store)
        if command == NbdCommand.WRITE_ZEROES:
            return _Zeroes(self._store, offset, length)
        self._store.forget(offset, length)
        return _COMPLETE

    def _refuse(self, cookie: int, number: int) -> None:
        self._errors.append(REPLY.pack(REPLY_MAGIC, number, cookie))


class _Complete:
    def finish(self) -> None:
        """There is nothing to wait for."""


_COMPLETE = _Complete()


class _Flush:
    def __init__(self, store: PageStore) -> None:
        self._store = store

    def finish(self) -> None:
        """See StoreOperation."""
        self._store.flush()


class _Durable:
    """A write with FUA."""

    def __init__(self, store: PageStore, write: StoreOperation) -> None:
        self._store, self._write = store, write

    def finish(self) -> None:
        """See StoreOperation."""
        self._write.finish()
        self._store.flush()


class _Zeroes:
    """Zeros of any length, a part at a time."""

    def __init__(self, store: PageStore, offset: int, length: int) -> None:
        self._store, self._offset, self._length = store, offset, length

    def finish(self) -> None:
        """See StoreOperation."""
        for start in range(0, self._length, len(_ZEROES)):
            part = _ZEROES[: min(len(_ZEROES), self._length - start)]
            self._store.begin_write(self._offset + start, part).finish()


def _number_of(error: OSError) -> int:
    _LOG.warning("a request of the block device failed: %s", error)
    return NbdError.NO_SPACE if error.errno == errno.ENOSPC else NbdError.IO
