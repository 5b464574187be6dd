"""Spilled data in the memory of other machines, on the slabs of `motet memory lend`."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

from motet.domain.errors import BadInput, JobFailed, MotetError
from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory, DeviceSettings
from motet.remote_memory.borrower.slab_store import StoreCounters
from motet.remote_memory.core.device_geometry import PAGE_BYTES, DeviceGeometry
from motet.runtime.core.options import SpillLenders
from motet.runtime.spilling.section_image import SpillBuffer
from motet.runtime.spilling.targets.spill_target import disk_failure

ARENA_BYTES = 4 << 20
"""Memory for writes that the disk does not have yet."""


class RemoteSpill:
    """A SpillTarget: a device of remote memory that grows, whose backup is a file without a name.

    A slab gets a lender when its first place is reserved. Data that no lender has, since there was
    none with room or it has taken its memory back, are read from the file; a lender that the slab
    gets later is given them after the next read.
    """

    def __init__(self, folder: Path, lenders: SpillLenders, wait_s: float) -> None:
        """`wait_s`: for the first answer of a lender. Raises JobFailed."""
        self._folder, self._slab_bytes, self._end = folder, lenders.slab_bytes, 0
        self._reserving = threading.Lock()
        self._memory = _borrowed(folder, lenders)
        self.has_lender = self._memory.wait_for_lender(wait_s if lenders.endpoints else 0.0)
        # A finalizer may run on any thread, the device's own included, so it waits for nothing.
        dropped: SimpleQueue[None] = SimpleQueue()
        closing = threading.Thread(
            target=_close_after, args=(dropped, self._memory), name="spill-close", daemon=True
        )
        closing.start()
        self._close = weakref.finalize(self, dropped.put, None)

    @property
    def counters(self) -> StoreCounters:
        """Of pages, since the start; they outlive the target."""
        return self._memory.store.counters

    @property
    def remote_bytes(self) -> int:
        """What lenders have now."""
        return self._memory.store.remote_pages() * PAGE_BYTES if self._close.alive else 0

    def reserve(self, nbytes: int) -> int:
        """See SpillTarget."""
        with self._reserving:
            place, end = self._end, self._end + nbytes
            try:
                self._memory.extend(end)
            except OSError as error:
                raise disk_failure(self._folder, error) from error
            self._end = end
            for slab in range(-(-place // self._slab_bytes), -(-end // self._slab_bytes)):
                with suppress(MotetError):  # Then it is on the disk alone.
                    self._memory.map_slab(slab)
        return place

    def write(self, place: int, data: SpillBuffer) -> None:
        """See SpillTarget."""
        try:
            with memoryview(data) as view:
                self._memory.store.begin_write(place, view).finish()
        except OSError as error:
            raise disk_failure(self._folder, error) from error

    def read(self, place: int, data: SpillBuffer) -> None:
        """See SpillTarget. All requests to lenders are in flight at the same time."""
        store = self._memory.store
        try:
            with memoryview(data) as view:
                store.begin_read(place, view).finish()
                store.begin_fill(place, view).finish()
        except OSError as error:
            raise disk_failure(self._folder, error) from error

    def close(self) -> None:
        """See SpillTarget; slabs and disk space are given back on another thread."""
        self._close()


def _borrowed(folder: Path, lenders: SpillLenders) -> BorrowedMemory:
    """Raises JobFailed."""
    try:
        file, name = tempfile.mkstemp(prefix="motet-spill-", dir=folder)
        os.close(file)
    except OSError as error:
        raise disk_failure(folder, error) from error
    path = Path(name)
    geometry = DeviceGeometry(PAGE_BYTES, lenders.slab_bytes)
    settings = DeviceSettings(geometry, path, arena_bytes=ARENA_BYTES)
    try:
        return BorrowedMemory(settings, lenders.endpoints, lenders.secret, lenders.client)
    except BadInput as error:
        raise JobFailed(f"spilling data to {folder}: {error}") from error
    finally:
        path.unlink(missing_ok=True)  # Nothing is left when the process is killed.


def _close_after(dropped: SimpleQueue[None], memory: BorrowedMemory) -> None:
    dropped.get()
    memory.close(keeps=False)
