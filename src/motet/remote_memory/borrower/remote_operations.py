"""Requests in flight to lenders, and requests to the backup alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from motet.domain.errors import MotetError
from motet.remote_memory.borrower.write_behind import WriteBehind
from motet.remote_memory.core.device_slab import SlabMapping
from motet.remote_memory.core.slab_copies import CopyRequest
from motet.transport.client.burst import Burst
from motet.transport.client.call import Call

LenderWrite: TypeAlias = tuple[SlabMapping, int, memoryview]
"""Mapping, offset in the slab, content."""


SentWrite: TypeAlias = tuple[int, int, CopyRequest, int, int]
"""A write to one lender: place in its run, number of the slab, request, first page in the slab,
pages."""


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

    def end_writes(
        self, lender: str, writes: Sequence[SentWrite], errors: Mapping[int, MotetError]
    ) -> None:
        """Account for them. `errors`: by place in `writes`; the others are stored."""
        ...

    def end_read(self, read: RemoteRead, error: MotetError | None) -> None:
        """Account for it; without an answer, read elsewhere. Raises OSError."""
        ...

    def wait_for_disk(self, ticket: int) -> None:
        """Until the backup has a write. Raises OSError."""
        ...


class WriteRun:
    """Writes that have begun together: each is complete when all of its lenders have answered or
    are lost; without a lender that has it, when the disk does."""

    __slots__ = ("_ends", "_sent", "_tickets")

    def __init__(
        self,
        ends: RemoteEnds,
        tickets: Sequence[int],
        sent: Sequence[tuple[str, Sequence[SentWrite], Burst]],
    ) -> None:
        """`tickets`: of the backup, of each write. `sent`: by lender."""
        self._ends, self._tickets, self._sent = ends, tickets, sent

    def finish(self) -> None:
        """See StoreOperation: of all writes."""
        for error in self.finish_all():
            if error is not None:
                raise error

    def finish_all(self) -> Sequence[OSError | None]:
        """See WriteOperation."""
        stored = self.end()
        errors: list[OSError | None] = [None] * len(stored)
        if 0 not in stored:
            return errors
        for place, ticket in enumerate(self._tickets):
            if not stored[place]:
                try:
                    self._ends.wait_for_disk(ticket)
                except OSError as error:
                    errors[place] = error
        return errors

    def end(self) -> bytearray:
        """Wait for the lenders; 1 for each write that one of them has stored."""
        stored = bytearray(len(self._tickets))
        for lender, writes, burst in self._sent:
            errors = burst.wait()
            self._ends.end_writes(lender, writes, errors)
            for number, write in enumerate(writes):
                if number not in errors:
                    stored[write[0]] = 1
        self._sent = ()  # With the memory of the requests.
        return stored


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
