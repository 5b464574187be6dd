"""The store of a device: routes pages to lenders and to the backup (2.4.3 to 2.4.5).

Every write goes to the backup's queue, and to the lenders of the slab; it is complete when they
have it, or else the disk. A read is a lender's if it has all of the pages.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Protocol, TypeAlias

from motet.domain.errors import MotetError
from motet.remote_memory.borrower.remote_operations import (
    BackupRead,
    LenderWrite,
    RemoteRead,
    SentWrite,
    WriteRun,
    error_of,
    without_frames,
)
from motet.remote_memory.borrower.slab_map import FindLender, SlabMap, SlabPlacement
from motet.remote_memory.borrower.store_operation import (
    DestinationLost,
    FailedOperation,
    JoinedOperations,
    PageWrite,
    StoreOperation,
    WriteOperation,
    joined,
)
from motet.remote_memory.borrower.write_behind import WriteBehind
from motet.remote_memory.core.device_geometry import PAGE_BYTES, DeviceGeometry, SlabRange
from motet.remote_memory.core.device_slab import SlabMapping
from motet.remote_memory.core.slab_copies import CopyFill, CopyRequest, SlabCopies
from motet.remote_memory.wire.page_requests import MAX_TRANSFER_BYTES, StaleSlab
from motet.transport.client.burst import Burst
from motet.transport.client.call import Call


class LenderPort(Protocol):
    """The data path to one lender (`LenderLink`)."""

    def submit_writes(self, writes: Sequence[LenderWrite]) -> Burst:
        """In their order. Raises MotetError: all of them fail."""
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
_Outgoing: TypeAlias = dict[str, tuple[list[SentWrite], list[LenderWrite]]]
"""By lender, writes, and what it is sent of each."""
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
        self._send_pending(*self._not_given.popleft())[0].end()
        return True

    # -- requests --------------------------------------------------------------------------------

    @property
    def size_bytes(self) -> int:
        """See PageStore."""
        return self.geometry.size_bytes

    def begin_write(self, offset: int, data: memoryview) -> StoreOperation:
        """See PageStore."""
        return self.begin_writes(((offset, data),))[0]

    def begin_writes(self, writes: Sequence[PageWrite]) -> list[WriteOperation]:
        """See PageStore."""
        slab_bytes = self.geometry.slab_bytes
        for offset, data in writes:
            length = len(data)
            if length > MAX_TRANSFER_BYTES or offset % slab_bytes + length > slab_bytes:
                return [JoinedOperations(self._write(self._parts(*each))) for each in writes]
        return self._write(writes)

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
        return joined(self._fill(part, _piece(data, part)) for part in parts)

    def flush(self) -> None:
        """See PageStore."""
        self._backup.flush()

    def _parts(self, offset: int, data: memoryview) -> list[PageWrite]:
        """A write by slab."""
        return [
            (offset + part.start, _piece(data, part))
            for part in self.geometry.ranges(offset, len(data), MAX_TRANSFER_BYTES)
        ]

    def _write(self, writes: Sequence[PageWrite]) -> list[WriteOperation]:
        """`writes`: each in one slab."""
        begun: list[WriteOperation] = []
        slab_bytes = self.geometry.slab_bytes
        for offset, data in writes:
            pages = len(data) // PAGE_BYTES
            self.activity.count(offset // slab_bytes, pages)
            self.counters.written += pages
        while writes:
            count = self._try_write(writes, begun)
            if count == len(writes):
                break
            try:  # Without the slabs' locks: their pages are read meanwhile.
                self._backup.await_room(len(writes[count][1]) // PAGE_BYTES)
            except OSError as error:
                begun.append(FailedOperation(error))
                count += 1
            writes = writes[count:]
        return begun

    def _try_write(self, writes: Sequence[PageWrite], begun: list[WriteOperation]) -> int:
        """Begin those before the first that the backup's queue has no room for: how many."""
        slab_bytes = self.geometry.slab_bytes
        outgoing: _Outgoing = {}
        # Backup and lenders get the writes of a slab in the same order.
        with self._locked(writes):
            tickets = self._backup.try_put(writes)
            for place in range(len(tickets)):
                offset, data = writes[place]
                number, inside = divmod(offset, slab_bytes)
                first_page, pages = inside // PAGE_BYTES, len(data) // PAGE_BYTES
                for request in self._slabs[number].begin_write(first_page, pages):
                    _add(outgoing, (place, number, request, first_page, pages), data)
            sent, failures = self._submit(outgoing)
        for lender, failure in failures:
            lender.fail(failure)
        if tickets:
            begun.append(WriteRun(self, tickets, sent))
        return len(tickets)

    def _submit(
        self, outgoing: _Outgoing
    ) -> tuple[list[tuple[str, list[SentWrite], Burst]], list[tuple[LenderPort, MotetError]]]:
        """Send writes to their lenders: what was sent, and failures, which are accounted for. The
        caller holds the locks of their slabs."""
        sent: list[tuple[str, list[SentWrite], Burst]] = []
        failures: list[tuple[LenderPort, MotetError]] = []
        for name, (writes, requests) in outgoing.items():
            lender = self._lenders[name]
            try:
                sent.append((name, writes, lender.submit_writes(requests)))
            except MotetError as error:
                failures.append((lender, without_frames(error)))
                for _, _, (copy, mapping), first_page, pages in writes:
                    copy.finish_write(mapping, first_page, pages, is_stored=False)
        return sent, failures

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
                call = self._try_read(request, first_page, into)
                if not isinstance(call, MotetError):
                    return RemoteRead(self, call, number, request, first_page, into)
                request.copy.finish_read(request.mapping, is_read=False)
            self._lenders[request.mapping.lender].fail(call)
        self.counters.read_local += pages
        place = number * self.geometry.slab_pages + first_page
        return BackupRead(self._backup, place, into)

    def _fill(self, part: SlabRange, data: memoryview) -> StoreOperation:
        found, _ = self._send_fills(
            part.slab,
            lambda slab: ((it, data) for it in slab.begin_fill(part.first_page, part.pages)),
        )
        return found

    def _send_pending(self, number: int, first: int) -> tuple[WriteRun, list[int]]:
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
    ) -> tuple[WriteRun, list[int]]:
        """Send the fills that `begin` finds, with their content. Their run, and pages of each."""
        outgoing: _Outgoing = {}
        filled: list[int] = []
        with self._locks[number]:
            for (request, first_page, pages), data in begin(self._slabs[number]):
                _add(outgoing, (len(filled), number, request, first_page, pages), data)
                filled.append(pages)
            sent, failures = self._submit(outgoing)
        for lender, failure in failures:
            lender.fail(failure)
        return WriteRun(self, [_WRITTEN] * len(filled), sent), filled

    # -- ends of remote requests -----------------------------------------------------------------

    def end_writes(
        self, lender: str, writes: Sequence[SentWrite], errors: Mapping[int, MotetError]
    ) -> None:
        """See RemoteEnds."""
        locks = self._locks
        for place, (_, slab, (copy, mapping), first_page, pages) in enumerate(writes):
            with locks[slab]:
                copy.finish_write(mapping, first_page, pages, is_stored=place not in errors)
                if mapping.is_detached and mapping.is_drained:
                    self._on_drained(mapping)
        for error in errors.values():
            self._lenders[lender].fail(without_frames(error))

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

    def _try_read(
        self, request: CopyRequest, first_page: int, into: memoryview
    ) -> Call | MotetError:
        """The request, or why it was not sent."""
        lender = self._lenders[request.mapping.lender]
        try:
            return lender.submit_read(request.mapping, first_page * PAGE_BYTES, into)
        except MotetError as error:
            return without_frames(error)

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
            read = self._try_read(request, pages.start, content)
        error = read if isinstance(read, MotetError) else error_of(read)
        self._account_read(number, request, error)
        if error is not None:
            with lock:
                slab.abandon_repair()
            return True
        fills = partial(_fills_of, content=content, first_page=pages.start)
        run, filled = self._send_fills(number, fills)
        stored = run.end()
        self.counters.repaired += sum(compress(filled, stored))
        return True


def _fills_of(
    slab: SlabCopies, content: memoryview, first_page: int
) -> Iterator[tuple[CopyFill, memoryview]]:
    """The end of a repair. `content`: from this page of the slab."""
    for fill in slab.begin_fills():
        start = (fill.first_page - first_page) * PAGE_BYTES
        yield fill, content[start : start + fill.pages * PAGE_BYTES]


def _add(outgoing: _Outgoing, write: SentWrite, data: memoryview) -> None:
    _, _, (_, mapping), first_page, _ = write
    found = outgoing.get(mapping.lender)
    if found is None:
        found = outgoing[mapping.lender] = ([], [])
    found[0].append(write)
    found[1].append((mapping, first_page * PAGE_BYTES, data))


def _piece(data: memoryview, part: SlabRange) -> memoryview:
    return data[part.start : part.start + part.pages * PAGE_BYTES]
