"""Requests in flight to lenders, and requests to the backup alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from motet.domain.errors import MotetError
from motet.remote_memory.borrower.write_behind import WriteBehind
from motet.remote_memory.core.slab_copies import CopyRequest
from motet.transport.client.call import Call


class BackupWrite:
    """A write that no lender has: complete when the disk has it."""

    __slots__ = ("_backup", "_ticket")

    def __init__(self, backup: WriteBehind, ticket: int) -> None:
        self._backup, self._ticket = backup, ticket

    def finish(self) -> None:
        """See StoreOperation."""
        self._backup.wait(self._ticket)


class BackupRead:
    """A read of pages that no lender has. `first_page`: of the device."""

    __slots__ = ("_backup", "_first_page", "_into")

    def __init__(self, backup: WriteBehind, first_page: int, into: memoryview) -> None:
        self._backup, self._first_page, self._into = backup, first_page, into

    def finish(self) -> None:
        """See StoreOperation."""
        self._backup.read(self._first_page, self._into)


class RemoteEnds(Protocol):
    """What follows the lender's answer; `error`: there is none."""

    def end_write(self, write: RemoteWrite, error: MotetError | None) -> None:
        """Account for it."""
        ...

    def end_read(self, read: RemoteRead, error: MotetError | None) -> None:
        """Account for it; without an answer, read elsewhere. Raises OSError."""
        ...

    def wait_for_disk(self, ticket: int) -> None:
        """Until the backup has a write. Raises OSError."""
        ...


class RemoteWrite:
    """`slab`: its number. `first_page`: in the slab. `ticket`: of the backup."""

    __slots__ = ("_call", "_ends", "first_page", "pages", "request", "slab", "ticket")

    def __init__(
        self,
        ends: RemoteEnds,
        call: Call,
        slab: int,
        request: CopyRequest,
        first_page: int,
        pages: int,
        ticket: int,
    ) -> None:
        self._ends, self._call = ends, call
        self.slab, self.request, self.ticket = slab, request, ticket
        self.first_page, self.pages = first_page, pages

    def finish(self) -> None:
        """See StoreOperation."""
        if not self.end():
            self._ends.wait_for_disk(self.ticket)

    def end(self) -> bool:
        """Wait for the lender; whether it has stored the pages."""
        error = error_of(self._call)
        self._ends.end_write(self, error)
        return error is None


class ReplicatedWrite:
    """The same pages to several lenders: complete when all have answered or are lost.

    If all are lost, when the disk has it.
    """

    __slots__ = ("_ends", "_writes")

    def __init__(self, ends: RemoteEnds, writes: Sequence[RemoteWrite]) -> None:
        self._ends, self._writes = ends, writes

    def finish(self) -> None:
        """See StoreOperation."""
        stored = [write.end() for write in self._writes]
        if not any(stored):
            self._ends.wait_for_disk(self._writes[0].ticket)


class RemoteRead:
    """`slab`: its number. `first_page`: in the slab."""

    __slots__ = ("_call", "_ends", "first_page", "into", "request", "slab")

    def __init__(
        self,
        ends: RemoteEnds,
        call: Call,
        slab: int,
        request: CopyRequest,
        first_page: int,
        into: memoryview,
    ) -> None:
        self._ends, self._call = ends, call
        self.slab, self.request = slab, request
        self.first_page, self.into = first_page, into

    def finish(self) -> None:
        """See StoreOperation."""
        self._ends.end_read(self, error_of(self._call))


def error_of(call: Call) -> MotetError | None:
    """Wait for the lender; None: it has done what was asked."""
    try:
        call.wait()
    except MotetError as error:
        return without_frames(error)
    return None


def without_frames(error: MotetError) -> MotetError:
    """The same error without what it has passed through.

    A connection keeps the error that ended it. Its frames would keep the memory of requests, so
    that unmapping it after the request would raise BufferError.
    """
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error
