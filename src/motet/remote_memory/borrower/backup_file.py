"""The backup of a device: a file of its full size, read and written past the page cache."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import logging
import mmap
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput
from motet.remote_memory.borrower.async_writes import AsyncWrites
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.core.pending_writes import DiskRequests, PageBatch, disk_requests

_LOG = logging.getLogger(__name__)
_BOUNCE_BYTES = 1 << 20
_MOST_PIECES = 512
_REFUSED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EPERM})
"""Asynchronous I/O as such, if other writes succeed."""


class BackupFile:
    """Offsets and lengths are multiples of the page size. Thread-safe; a context manager.

    The page cache would hold what was paged out in the memory that is short. On file systems
    without direct I/O what was written or read is dropped from it at once.
    """

    def __init__(self, path: Path, size_bytes: int) -> None:
        """Create the file, or use it again. Raises BadInput: no room, no permission, in use."""
        self.path = path
        self._size_bytes, self._is_direct = 0, True
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise BadInput(f"{path}: cannot open the backup file: {error.strerror}") from error
        try:
            self._prepare(size_bytes)
        except BaseException:
            os.close(self._file)
            raise
        self._local = threading.local()
        self._writes: AsyncWrites | None = None
        self._failure: OSError | None = None
        try:
            self._writes = AsyncWrites()
        except OSError as error:
            self._warn(error)

    def extend(self, size_bytes: int) -> None:
        """Make the file larger. Raises OSError: there is no room."""
        added = size_bytes - self._size_bytes
        if added > 0:
            os.posix_fallocate(self._file, self._size_bytes, added)
            self._size_bytes = size_bytes

    def write(self, memory: memoryview, batch: PageBatch) -> None:
        """Write a batch of pages; one thread at a time. `memory`: page-aligned, of all slots.
        Raises OSError; then some of the pages may be written."""
        if not len(batch.pages):
            return
        requests = disk_requests(batch.pages, batch.slots, _MOST_PIECES)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        if not self._write_at_once(address, requests):
            self._write_in_order(memory, requests)
            self._drop_refused()
        if not self._is_direct:
            os.fdatasync(self._file)  # Only pages that the disk has can be dropped.
            os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_DONTNEED)

    def read(self, offset: int, into: memoryview) -> None:
        """Fill any memory. Raises OSError."""
        bounce = self._bounce()
        for start in range(0, len(into), _BOUNCE_BYTES):
            part = into[start : start + _BOUNCE_BYTES]
            target = bounce[: len(part)]
            if os.preadv(self._file, [target], offset + start) != len(part):
                raise OSError(errno.EIO, "the backup file has become shorter")
            part[:] = target
        if not self._is_direct:
            os.posix_fadvise(self._file, offset, len(into), os.POSIX_FADV_DONTNEED)

    def sync(self) -> None:
        """Wait until the disk has what was written. Raises OSError."""
        os.fdatasync(self._file)

    def close(self) -> None:
        """The file stays."""
        if self._writes is not None:
            with suppress(OSError):
                self._writes.close()
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _prepare(self, size_bytes: int) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInput(f"{self.path}: another device uses this backup file") from None
        try:
            os.posix_fallocate(self._file, 0, size_bytes)
            self._size_bytes = size_bytes
        except OSError as error:
            raise BadInput(
                f"{self.path}: no room for {size_bytes} bytes: {error.strerror}; free space, or "
                "name a file on another disk"
            ) from error
        self._is_direct = self._allows_direct_io()

    def _allows_direct_io(self) -> bool:
        flags = fcntl.fcntl(self._file, fcntl.F_GETFL)
        try:
            fcntl.fcntl(self._file, fcntl.F_SETFL, flags | os.O_DIRECT)
            os.preadv(self._file, [memoryview(mmap.mmap(-1, mmap.PAGESIZE))], 0)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            fcntl.fcntl(self._file, fcntl.F_SETFL, flags)
            return False
        return True

    def _write_at_once(self, address: int, requests: DiskRequests) -> bool:
        """False: some pages are not written."""
        self._failure = None
        if self._writes is None:
            return False
        try:
            return self._writes.write(self._file, address, requests)
        except OSError as error:  # Of the disk, or of the kernel's asynchronous I/O.
            self._failure = error
            return False

    def _drop_refused(self) -> None:
        """Other writes have succeeded."""
        if self._writes is None or self._failure is None or self._failure.errno not in _REFUSED:
            return
        self._warn(self._failure)
        with suppress(OSError):
            self._writes.close()
        self._writes = None

    def _warn(self, error: OSError) -> None:
        _LOG.warning("%s: no asynchronous I/O, writes take more CPU time: %s", self.path, error)

    def _write_in_order(self, memory: memoryview, requests: DiskRequests) -> None:
        first, last = requests.first_piece, requests.first_piece + requests.pieces
        starts = requests.slot * PAGE_BYTES
        ends = starts + requests.piece_pages * PAGE_BYTES
        pieces = [memory[start:end] for start, end in zip(starts, ends, strict=True)]
        for page, begin, end in zip(requests.first_page.tolist(), first, last, strict=True):
            self._write_pieces(page * PAGE_BYTES, pieces[begin:end])

    def _write_pieces(self, offset: int, pieces: list[memoryview]) -> None:
        while pieces:
            count = os.pwritev(self._file, pieces, offset)
            offset += count
            while pieces and count >= len(pieces[0]):
                count -= len(pieces.pop(0))
            if count:
                pieces[0] = pieces[0][count:]

    def _bounce(self) -> memoryview:
        """Page-aligned memory of this thread, which direct I/O needs."""
        found: memoryview | None = getattr(self._local, "bounce", None)
        if found is None:
            found = self._local.bounce = memoryview(mmap.mmap(-1, _BOUNCE_BYTES))
        return found
