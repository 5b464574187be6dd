"""Requests in flight to a lender, and requests to the backup alone."""

from __future__ import annotations

from typing import Protocol

from motet.domain.errors import MotetError
from motet.remote_memory.borrower.write_behind import WriteBehind
from motet.remote_memory.core.device_slab import SlabMapping
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
        """Account for it; without an answer, wait for the disk. Raises OSError."""
        ...

    def end_read(self, read: RemoteRead, error: MotetError | None) -> None:
        """Account for it; without an answer, read elsewhere. Raises OSError."""
        ...


class RemoteWrite:
    """`slab`: its number. `first_page`: in the slab. `ticket`: of the backup."""

    __slots__ = ("_call", "_ends", "first_page", "mapping", "pages", "slab", "ticket")

    def __init__(
        self,
        ends: RemoteEnds,
        call: Call,
        slab: int,
        mapping: SlabMapping,
        first_page: int,
        pages: int,
        ticket: int,
    ) -> None:
        self._ends, self._call = ends, call
        self.slab, self.mapping, self.ticket = slab, mapping, ticket
        self.first_page, self.pages = first_page, pages

    def finish(self) -> None:
        """See StoreOperation."""
        self._ends.end_write(self, _error_of(self._call))


class RemoteRead:
    """`slab`: its number. `first_page`: of the device."""

    __slots__ = ("_call", "_ends", "first_page", "into", "mapping", "slab")

    def __init__(
        self,
        ends: RemoteEnds,
        call: Call,
        slab: int,
        mapping: SlabMapping,
        first_page: int,
        into: memoryview,
    ) -> None:
        self._ends, self._call = ends, call
        self.slab, self.mapping = slab, mapping
        self.first_page, self.into = first_page, into

    def finish(self) -> None:
        """See StoreOperation."""
        self._ends.end_read(self, _error_of(self._call))


def _error_of(call: Call) -> MotetError | None:
    """Wait for the lender; None: it has done what was asked."""
    try:
        call.wait()
    except MotetError as error:
        return error
    return None
