"""Writes of a device on their way to the backup: one order, bounded memory.

A write is complete in memory when `put` returns; the returned ticket tells when the disk has it.
Until then reads get it from here.
"""

from __future__ import annotations

import errno
import logging
import mmap
import threading
from collections.abc import Sequence

from motet.remote_memory.borrower.backup_file import BackupFile
from motet.remote_memory.borrower.store_operation import PageWrite
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.core.pending_writes import PageBatch, PendingWrites

_LOG = logging.getLogger(__name__)
ARENA_BYTES = 64 << 20
_BATCH_PAGES = 2048
_GATHER_PAGES = 512
_GATHER_S = 0.02
"""So long, or until so many pages are pending, writes are gathered that nothing waits for."""
_RETRY_S = 0.5


class WriteBehind:
    """Thread-safe. Writes have at most half the size of the arena.

    After a disk error nothing is dropped: the oldest writes are tried again until they succeed,
    `wait` and `flush` raise meanwhile, and `put` raises once the arena is full.
    """

    def __init__(self, file: BackupFile, device_pages: int, arena_bytes: int = ARENA_BYTES) -> None:
        self._file = file
        self._arena = memoryview(mmap.mmap(-1, arena_bytes))
        self._pending = PendingWrites(device_pages, arena_bytes // PAGE_BYTES)
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._done = threading.Condition(self._lock)
        self._error: OSError | None = None
        self._awaited = 0
        self._is_idle = self._is_closing = self._drops_pending = False
        self._thread = threading.Thread(target=self._run, name="motet-write-behind", daemon=True)
        self._thread.start()

    @property
    def pending_pages(self) -> int:
        """Slots in use."""
        return self._pending.used_slots

    @property
    def disk_error(self) -> OSError | None:
        """Of the last write, while it fails."""
        return self._error

    def extend(self, device_pages: int) -> None:
        """The device has so many pages from now on."""
        with self._lock:
            self._pending.extend(device_pages)

    def put(self, first_page: int, data: memoryview) -> int:
        """Queue a write of whole pages; waits for room. Returns the ticket for `wait`.

        Raises OSError: there is no room because the disk fails.
        """
        while not (tickets := self.try_put([(first_page * PAGE_BYTES, data)])):
            self.await_room(len(data) // PAGE_BYTES)
        return tickets[0]

    def try_put(self, writes: Sequence[PageWrite]) -> list[int]:
        """Queue writes in their order, without waiting. Returns the tickets of those before the
        first that there is no room for."""
        tickets: list[int] = []
        with self._lock:
            pending = self._pending
            for offset, data in writes:
                size = len(data)
                slot = pending.add(offset // PAGE_BYTES, size // PAGE_BYTES)
                if slot is None:
                    break
                start = slot * PAGE_BYTES
                self._arena[start : start + size] = data
                tickets.append(pending.added)
            if tickets and self._is_idle:
                self._work.notify()
        return tickets

    def await_room(self, pages: int) -> None:
        """Return once there is room for a write, which another one may take. Raises OSError."""
        with self._lock:
            while not self._pending.has_room(pages):
                if self._error is not None:
                    raise _again(self._error)
                self._await(self._pending.added)

    def wait(self, ticket: int) -> None:
        """Return once the disk has the write. Raises OSError while it fails."""
        with self._lock:
            while self._pending.written < ticket:
                if self._error is not None:
                    raise _again(self._error)
                self._await(ticket)

    def flush(self) -> None:
        """All writes so far are on the disk, and stay there. Raises OSError."""
        self.wait(self._pending.added)
        self._file.sync()

    def read(self, first_page: int, into: memoryview) -> None:
        """The newest content of whole pages: pending, or of the disk. Raises OSError.

        Pending pages are copied before the disk is read: a write that the disk has meanwhile is
        pending no more, and what the disk had before it would be old.
        """
        pages = len(into) // PAGE_BYTES
        pending = self._pending_pages(first_page, pages)
        if len(pending) < pages:
            self._file.read(first_page * PAGE_BYTES, into)
        for place, content in pending:
            into[place * PAGE_BYTES : (place + 1) * PAGE_BYTES] = content

    def pending_runs(self, first_page: int, pages: int) -> list[tuple[int, memoryview]]:
        """Pages that are not on the disk yet: where each run of them begins, counted from the
        first page, and its newest content."""
        runs = list[tuple[int, bytearray]]()
        end = -1
        for place, content in self._pending_pages(first_page, pages):
            if place == end:
                runs[-1][1].extend(content)
            else:
                runs.append((place, bytearray(content)))
            end = place + 1
        return [(place, memoryview(content)) for place, content in runs]

    def close(self, *, keeps: bool = True) -> None:
        """Write what is pending, as far as the disk lets it, or drop it. The file stays open.

        Who waits for a write that is dropped gets an OSError.
        """
        with self._lock:
            self._is_closing, self._drops_pending = True, not keeps
            self._work.notify()
        self._thread.join()
        with self._lock:
            self._error = self._error or OSError(errno.ESHUTDOWN, "the device has been closed")
            self._done.notify_all()

    def _pending_pages(self, first_page: int, pages: int) -> list[tuple[int, bytes]]:
        """The place in the request and the content of its pages that are not on the disk."""
        with self._lock:
            slots = self._pending.slots_of(first_page, pages)
            if slots is None:
                return []
            return [
                (place, bytes(self._arena[slot * PAGE_BYTES : (slot + 1) * PAGE_BYTES]))
                for place, slot in enumerate(slots.tolist())
                if slot >= 0
            ]

    # -- the thread ------------------------------------------------------------------------------

    def _await(self, ticket: int) -> None:
        """Wait for the end of a batch; the thread does not gather before it has this write."""
        if ticket > self._awaited:
            self._awaited = ticket
            self._work.notify()
        self._done.wait()

    def _next_batch(self) -> PageBatch | None:
        """Wait for writes; None: it is the end."""
        with self._lock:
            while not self._is_closing and self._pending.written == self._pending.added:
                self._is_idle = True
                self._work.wait()
                self._is_idle = False
            is_urgent = self._is_closing or self._awaited > self._pending.written
            if not is_urgent and self._pending.used_slots < _GATHER_PAGES:
                self._work.wait(_GATHER_S)
            is_over = self._drops_pending or self._pending.written == self._pending.added
            return None if is_over else self._pending.batch(_BATCH_PAGES)

    def _run(self) -> None:
        while True:
            error = batch = None
            try:
                batch = self._next_batch()
                if batch is None:
                    return
                self._file.write(self._arena, batch)
            except Exception as failure:  # All that wait for writes need this thread.
                error = self._error_of(failure)
            with self._lock:
                self._error = error
                if batch is not None and error is None:
                    self._pending.finish(batch.end)
                self._done.notify_all()
                if error is not None:
                    if self._is_closing:
                        return
                    self._work.wait(_RETRY_S)

    def _error_of(self, failure: Exception) -> OSError:
        """For those that wait; logged once while writing fails."""
        error, trace = failure, None
        if not isinstance(error, OSError):
            error, trace = OSError(errno.EIO, repr(failure)), failure
        if self._error is None:
            _LOG.warning("%s: writing fails: %s", self._file.path, failure, exc_info=trace)
        return error


def _again(error: OSError) -> OSError:
    """The error for another thread; an exception must not be raised in two."""
    return OSError(error.errno or errno.EIO, error.strerror or str(error))
