"""The store of a device: routes pages to lenders and to the backup (2.4.3 to 2.4.5).

Every write goes to the backup's queue, and to the lenders of the slab; it is complete when they
have it, or else the disk. A read is a lender's if it has all of the pages.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Protocol

from motet.domain.errors import MotetError
from motet.remote_memory.borrower.remote_operations import (
    BackupRead,
    BackupWrite,
    RemoteRead,
    RemoteWrite,
    ReplicatedWrite,
    error_of,
    without_frames,
)
from motet.remote_memory.borrower.slab_map import FindLender, SlabMap, SlabPlacement
from motet.remote_memory.borrower.store_operation import (
    DestinationLost,
    StoreOperation,
    joined,
)
from motet.remote_memory.borrower.write_behind import WriteBehind
from motet.remote_memory.core.device_geometry import PAGE_BYTES, DeviceGeometry, SlabRange
from motet.remote_memory.core.device_slab import SlabMapping
from motet.remote_memory.core.slab_copies import CopyFill, CopyRequest, SlabCopies
from motet.remote_memory.wire.page_requests import MAX_TRANSFER_BYTES, StaleSlab
from motet.transport.client.call import Call


class LenderPort(Protocol):
    """The data path to one lender (`LenderLink`)."""

    def submit_write(self, mapping: SlabMapping, offset: int, data: memoryview) -> Call:
        """Raises MotetError."""
        ...

    def submit_read(self, mapping: SlabMapping, offset: int, into: memoryview) -> Call:
        """Raises MotetError."""
        ...

    def fail(self, error: MotetError) -> None:
        """A request failed; on return no thread uses its memory."""
        ...


class StoreCounters:
    """Pages since the start; approximate, because threads add without a lock. `repaired`: copied
    from one lender to another."""

    __slots__ = ("read_local", "read_remote", "repaired", "written")

    def __init__(self) -> None:
        self.read_local = self.read_remote = self.written = self.repaired = 0


_GIVEN_PAGES = 64
"""So many pages of a slab are given to a new lender while its other requests wait."""
_WRITTEN = 0
"""The ticket of a write that the backup has already."""


class SlabStore(SlabMap):
    """A PageStore. Thread-safe."""

    def __init__(
        self,
        geometry: DeviceGeometry,
        backup: WriteBehind,
        lenders: Mapping[str, LenderPort],
        on_drained: Callable[[SlabMapping], None],
        replicas: int = 1,
        is_lent: Callable[[memoryview], bool] = lambda _: False,
    ) -> None:
        """`lenders`: by the name in mappings. `is_lent`: whether lenders can access this memory.
        The others: see SlabMap."""
        super().__init__(geometry, on_drained, replicas)
        self.counters = StoreCounters()
        self._backup = backup
        self._lenders = lenders
        self._is_lent = is_lent
        self._not_given = deque[tuple[int, int]]()

    def place(self, number: int, find: FindLender) -> SlabPlacement:
        """See SlabMap. A slab's only lender is to get what waits for the disk, by `give_pending`:
        a read from there would wait behind it. A second one gets its pages by a repair."""
        found = super().place(number, find)
        if found is SlabPlacement.PLACED and len(self._slabs[number].mappings) == 1:
            parts = range(0, self.geometry.slab_pages, _GIVEN_PAGES)
            self._not_given.extend((number, first) for first in parts)
        return found

    def give_pending(self) -> bool:
        """Give a new lender what the disk does not have yet of the next part of its slab; False:
        there is none. One thread at a time."""
        if not self._not_given:
            return False
        for write in self._send_pending(*self._not_given.popleft()):
            write.end()
        return True

    # -- requests --------------------------------------------------------------------------------

    @property
    def size_bytes(self) -> int:
        """See PageStore."""
        return self.geometry.size_bytes

    def begin_write(self, offset: int, data: memoryview) -> StoreOperation:
        """See PageStore."""
        length, slab_bytes = len(data), self.geometry.slab_bytes
        slab, inside = divmod(offset, slab_bytes)
        if inside + length <= slab_bytes and length <= MAX_TRANSFER_BYTES:
            return self._write(slab, inside // PAGE_BYTES, length // PAGE_BYTES, data)
        return joined(
            self._write(part.slab, part.first_page, part.pages, _piece(data, part))
            for part in self.geometry.ranges(offset, length, MAX_TRANSFER_BYTES)
        )

    def begin_read(self, offset: int, into: memoryview) -> StoreOperation:
        """See PageStore."""
        length, slab_bytes = len(into), self.geometry.slab_bytes
        slab, inside = divmod(offset, slab_bytes)
        if inside + length <= slab_bytes and length <= MAX_TRANSFER_BYTES:
            return self._read(slab, inside // PAGE_BYTES, length // PAGE_BYTES, into)
        return joined(
            self._read(part.slab, part.first_page, part.pages, _piece(into, part))
            for part in self.geometry.ranges(offset, length, MAX_TRANSFER_BYTES)
        )

    def forget(self, offset: int, length: int) -> None:
        """See PageStore."""
        for part in self.geometry.ranges(offset, length, length):
            with self._locks[part.slab]:
                self._slabs[part.slab].forget(part.first_page, part.pages)

    def begin_fill(self, offset: int, data: memoryview) -> StoreOperation:
        """Give lenders the pages that they lack, as they were read from the backup: after a slab
        has got another lender. Until the end of `finish` nothing may write to these pages."""
        parts = self.geometry.ranges(offset, len(data), MAX_TRANSFER_BYTES)
        fills = (self._fill(part, _piece(data, part)) for part in parts)
        return joined(each for each in fills if each is not None)

    def flush(self) -> None:
        """See PageStore."""
        self._backup.flush()

    def _write(self, number: int, first_page: int, pages: int, data: memoryview) -> StoreOperation:
        self.activity.count(number, pages)
        self.counters.written += pages
        while (begun := self._try_write(number, first_page, pages, data)) is None:
            self._backup.await_room(pages)  # Without the slab's lock: its pages are read meanwhile.
        return begun

    def _try_write(
        self, number: int, first_page: int, pages: int, data: memoryview
    ) -> StoreOperation | None:
        """None: the backup's queue has no room."""
        sent = list[RemoteWrite]()
        failures = list[tuple[LenderPort, MotetError]]()
        # Backup and lenders get the writes of a slab in the same order.
        with self._locks[number]:
            ticket = self._backup.try_put(number * self.geometry.slab_pages + first_page, data)
            if ticket is None:
                return None
            for request in self._slabs[number].begin_write(first_page, pages):
                lender = self._lenders[request.mapping.lender]
                try:
                    call = lender.submit_write(request.mapping, first_page * PAGE_BYTES, data)
                except MotetError as error:
                    failures.append((lender, without_frames(error)))
                    request.copy.finish_write(request.mapping, first_page, pages, is_stored=False)
                else:
                    sent.append(RemoteWrite(self, call, number, request, first_page, pages, ticket))
        for lender, failure in failures:
            lender.fail(failure)
        if len(sent) == 1:
            return sent[0]
        return ReplicatedWrite(self, sent) if sent else BackupWrite(self._backup, ticket)

    def _read(self, number: int, first_page: int, pages: int, into: memoryview) -> StoreOperation:
        self.activity.count(number, pages)
        return self._begin_read(number, first_page, into)

    def _begin_read(self, number: int, first_page: int, into: memoryview) -> StoreOperation:
        pages = len(into) // PAGE_BYTES
        while True:
            with self._locks[number]:
                request = self._slabs[number].begin_read(first_page, pages)
                if request is None:
                    break
                lender = self._lenders[request.mapping.lender]
                try:
                    call = lender.submit_read(request.mapping, first_page * PAGE_BYTES, into)
                except MotetError as error:
                    failure = without_frames(error)
                    request.copy.finish_read(request.mapping, is_read=False)
                else:
                    return RemoteRead(self, call, number, request, first_page, into)
            lender.fail(failure)
        self.counters.read_local += pages
        place = number * self.geometry.slab_pages + first_page
        return BackupRead(self._backup, place, into)

    def _fill(self, part: SlabRange, data: memoryview) -> StoreOperation | None:
        """None: the pages need no transfer, or the lenders were lost."""
        sent = self._send_fills(
            part.slab,
            lambda slab: ((it, data) for it in slab.begin_fill(part.first_page, part.pages)),
        )
        return ReplicatedWrite(self, sent) if sent else None

    def _send_pending(self, number: int, first: int) -> list[RemoteWrite]:
        """What the disk does not have yet of a part of a slab. `first`: its first page."""
        place = number * self.geometry.slab_pages + first
        pages = min(_GIVEN_PAGES, self.geometry.slab_pages - first)

        def fills(slab: SlabCopies) -> Iterator[tuple[CopyFill, memoryview]]:
            for start, content in self._backup.pending_runs(place, pages):
                for fill in slab.begin_fill(first + start, len(content) // PAGE_BYTES):
                    yield fill, content

        return self._send_fills(number, fills)

    def _send_fills(
        self, number: int, begin: Callable[[SlabCopies], Iterable[tuple[CopyFill, memoryview]]]
    ) -> list[RemoteWrite]:
        """What was sent, of the fills that `begin` finds, with their content."""
        sent = list[RemoteWrite]()
        failures = list[tuple[LenderPort, MotetError]]()
        with self._locks[number]:
            for (request, page, pages), data in begin(self._slabs[number]):
                lender = self._lenders[request.mapping.lender]
                call = _attempt(lender.submit_write, request.mapping, page, data)
                if isinstance(call, MotetError):
                    failures.append((lender, call))
                    request.copy.finish_write(request.mapping, page, pages, is_stored=False)
                else:
                    sent.append(RemoteWrite(self, call, number, request, page, pages, _WRITTEN))
        for lender, failure in failures:
            lender.fail(failure)
        return sent

    # -- ends of remote requests -----------------------------------------------------------------

    def end_write(self, write: RemoteWrite, error: MotetError | None) -> None:
        """See RemoteEnds."""
        copy, mapping = write.request
        with self._locks[write.slab]:
            copy.finish_write(mapping, write.first_page, write.pages, is_stored=error is None)
            if mapping.is_drained:
                self._on_drained(mapping)
        if error is not None:
            self._lenders[mapping.lender].fail(error)

    def end_read(self, read: RemoteRead, error: MotetError | None) -> None:
        """The lender has answered, or never will: then the content is elsewhere.

        Raises DestinationLost.
        """
        self._account_read(read.slab, read.request, error)
        if error is None:
            self.counters.read_remote += len(read.into) // PAGE_BYTES
        elif self._is_lent(read.into) and not isinstance(error, StaleSlab):
            raise DestinationLost(errno.EIO, str(error))
        else:
            self._begin_read(read.slab, read.first_page, read.into).finish()

    def wait_for_disk(self, ticket: int) -> None:
        """See RemoteEnds."""
        self._backup.wait(ticket)

    def _account_read(self, number: int, request: CopyRequest, error: MotetError | None) -> None:
        copy, mapping = request
        with self._locks[number]:
            copy.finish_read(mapping, is_read=error is None)
            if mapping.is_drained:
                self._on_drained(mapping)
        if error is not None:
            self._lenders[mapping.lender].fail(error)

    # -- replicas --------------------------------------------------------------------------------

    def repair(self, number: int, room: memoryview) -> bool:
        """Give lenders of a slab some pages that they lack and another one has; whether there were
        any. One thread at a time. `room`: memory for as many pages as are copied at most."""
        slab, lock = self._slabs[number], self._locks[number]
        with lock:
            pages = slab.missing(len(room) // PAGE_BYTES)
            request = None if pages is None else slab.begin_repair(pages)
            if pages is None or request is None:
                return False
            content = room[: len(pages) * PAGE_BYTES]
            lender = self._lenders[request.mapping.lender]
            read = _attempt(lender.submit_read, request.mapping, pages.start, content)
        error = read if isinstance(read, MotetError) else error_of(read)
        self._account_read(number, request, error)
        if error is not None:
            with lock:
                slab.abandon_repair()
            return True
        fills = partial(_fills_of, content=content, first_page=pages.start)
        for sent in self._send_fills(number, fills):
            if sent.end():
                self.counters.repaired += sent.pages
        return True


def _fills_of(
    slab: SlabCopies, content: memoryview, first_page: int
) -> Iterator[tuple[CopyFill, memoryview]]:
    """The end of a repair. `content`: from this page of the slab."""
    for fill in slab.begin_fills():
        start = (fill.first_page - first_page) * PAGE_BYTES
        yield fill, content[start : start + fill.pages * PAGE_BYTES]


def _attempt(
    submit: Callable[[SlabMapping, int, memoryview], Call],
    mapping: SlabMapping,
    first_page: int,
    data: memoryview,
) -> Call | MotetError:
    """The request, or why it was not sent."""
    try:
        return submit(mapping, first_page * PAGE_BYTES, data)
    except MotetError as error:
        return without_frames(error)


def _piece(data: memoryview, part: SlabRange) -> memoryview:
    return data[part.start : part.start + part.pages * PAGE_BYTES]
