"""The store of a device: routes pages to lenders and to the backup (2.4.3 to 2.4.5).

Every write goes to the backup's queue, and to the lender if the slab is mapped; it is complete when
the lender has it, or else the disk. A read is the lender's if it has all of the pages.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from motet.domain.errors import MotetError
from motet.remote_memory.borrower.remote_operations import (
    BackupRead,
    BackupWrite,
    RemoteRead,
    RemoteWrite,
)
from motet.remote_memory.borrower.store_operation import StoreOperation, joined
from motet.remote_memory.borrower.write_behind import WriteBehind
from motet.remote_memory.core.device_geometry import PAGE_BYTES, DeviceGeometry, SlabRange
from motet.remote_memory.core.device_slab import DeviceSlab, SlabMapping, SlabState
from motet.remote_memory.core.slab_activity import SlabActivity
from motet.remote_memory.wire.memory_messages import SlabKey
from motet.remote_memory.wire.page_requests import MAX_TRANSFER_BYTES
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
    """Pages since the start; approximate, because threads add without a lock."""

    __slots__ = ("evictions", "read_local", "read_remote", "written")

    def __init__(self) -> None:
        self.read_local = self.read_remote = self.written = self.evictions = 0


class SlabStore:
    """A PageStore. Thread-safe. `activity`: for placement, once a second."""

    def __init__(
        self,
        geometry: DeviceGeometry,
        backup: WriteBehind,
        lenders: Mapping[str, LenderPort],
        on_drained: Callable[[SlabMapping], None],
    ) -> None:
        """`lenders`: by the name in mappings. `on_drained`: an evicted mapping has no request in
        flight any more; called with a lock held, so it only takes note."""
        self.geometry = geometry
        self.counters = StoreCounters()
        self.activity = SlabActivity(geometry.slabs)
        self._backup = backup
        self._lenders = lenders
        self._on_drained = on_drained
        self._slabs = [DeviceSlab(geometry.slab_pages) for _ in range(geometry.slabs)]
        self._locks = [threading.Lock() for _ in self._slabs]

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

    def flush(self) -> None:
        """See PageStore."""
        self._backup.flush()

    def _write(self, number: int, first_page: int, pages: int, data: memoryview) -> StoreOperation:
        slab = self._slabs[number]
        self.activity.count(number, pages)
        self.counters.written += pages
        failure: MotetError | None = None
        # Backup and lender get the writes of a slab in the same order.
        with self._locks[number]:
            ticket = self._backup.put(number * self.geometry.slab_pages + first_page, data)
            mapping = slab.begin_write(first_page, pages)
            if mapping is None:
                return BackupWrite(self._backup, ticket)
            lender = self._lenders[mapping.lender]
            try:
                call = lender.submit_write(mapping, first_page * PAGE_BYTES, data)
            except MotetError as error:
                failure = error
                slab.finish_write(mapping, first_page, pages, is_stored=False)
        if failure is not None:
            lender.fail(failure)
            return BackupWrite(self._backup, ticket)
        return RemoteWrite(self, call, number, mapping, first_page, pages, ticket)

    def _read(self, number: int, first_page: int, pages: int, into: memoryview) -> StoreOperation:
        self.activity.count(number, pages)
        slab = self._slabs[number]
        failure: MotetError | None = None
        with self._locks[number]:
            mapping = slab.begin_read(first_page, pages)
            if mapping is not None:
                lender = self._lenders[mapping.lender]
                try:
                    call = lender.submit_read(mapping, first_page * PAGE_BYTES, into)
                except MotetError as error:
                    failure = error
                    slab.finish_read(mapping, is_read=False)
        place = number * self.geometry.slab_pages + first_page
        if mapping is None or failure is not None:
            if failure is not None:
                lender.fail(failure)
            self.counters.read_local += pages
            return BackupRead(self._backup, place, into)
        self.counters.read_remote += pages
        return RemoteRead(self, call, number, mapping, place, into)

    # -- ends of remote requests -----------------------------------------------------------------

    def end_write(self, write: RemoteWrite, error: MotetError | None) -> None:
        """The lender has answered, or never will: then the disk must have the write."""
        mapping, number = write.mapping, write.slab
        with self._locks[number]:
            self._slabs[number].finish_write(
                mapping, write.first_page, write.pages, is_stored=error is None
            )
            if mapping.is_drained:
                self._on_drained(mapping)
        if error is not None:
            self._lenders[mapping.lender].fail(error)
            self._backup.wait(write.ticket)

    def end_read(self, read: RemoteRead, error: MotetError | None) -> None:
        """The lender has answered, or never will: then the content is elsewhere."""
        mapping, number = read.mapping, read.slab
        with self._locks[number]:
            self._slabs[number].finish_read(mapping, is_read=error is None)
            if mapping.is_drained:
                self._on_drained(mapping)
        if error is not None:
            self._lenders[mapping.lender].fail(error)
            self.counters.read_local += len(read.into) // PAGE_BYTES
            self._backup.read(read.first_page, read.into)

    # -- slabs -----------------------------------------------------------------------------------

    def mapped_by_lender(self) -> Mapping[str, int]:
        """Number of slabs."""
        found = (slab.mapping for slab in self._slabs)
        return Counter(mapping.lender for mapping in found if mapping is not None)

    def remote_pages(self) -> int:
        """Pages that lenders have."""
        return sum(slab.valid_pages for slab in self._slabs if slab.mapping is not None)

    def unmapped(self, slab: int) -> bool:
        """Whether a slab has no lender, and none is being looked for."""
        return self._slabs[slab].state is SlabState.UNMAPPED

    def place(self, number: int, find: Callable[[], SlabMapping | None]) -> bool:
        """Map a slab if it is unmapped; whether it is mapped now. `find` runs without a lock."""
        with self._locks[number]:
            if not self._slabs[number].begin_placing():
                return False
        mapping: SlabMapping | None = None
        try:
            mapping = find()
        finally:
            with self._locks[number]:
                self._slabs[number].place(mapping)
        return mapping is not None

    def rates(self, keys: Sequence[SlabKey]) -> list[tuple[SlabKey, float]]:
        """Pages per second of the slabs with these mappings."""
        places = self._places()
        return [(key, self.activity.rates[places[key]]) for key in keys if key in places]

    def detach(self, keys: Sequence[SlabKey]) -> list[SlabKey]:
        """Leave evicted slabs; those without a request in flight. `on_drained` tells the others."""
        places = self._places()
        drained = []
        for key in keys:
            number = places.get(key)
            if number is None:  # The device has left it before.
                drained.append(key)
                continue
            with self._locks[number]:
                mapping = self._slabs[number].mapping
                if mapping is not None and _key(mapping) == key:
                    self.counters.evictions += 1
                    self._slabs[number].detach(mapping)
                    if mapping.is_drained:
                        drained.append(key)
        return drained

    def detach_all(self, lender: str) -> None:
        """A lender is lost."""
        for slab, lock in zip(self._slabs, self._locks, strict=True):
            with lock:
                mapping = slab.mapping
                if mapping is not None and mapping.lender == lender:
                    slab.detach(mapping)

    def _places(self) -> dict[SlabKey, int]:
        found = ((number, slab.mapping) for number, slab in enumerate(self._slabs))
        return {_key(mapping): number for number, mapping in found if mapping is not None}


def _piece(data: memoryview, part: SlabRange) -> memoryview:
    return data[part.start : part.start + part.pages * PAGE_BYTES]


def _key(mapping: SlabMapping) -> SlabKey:
    return SlabKey(mapping.token, mapping.generation)
