"""The backup of a device: a file of its full size, read and written past the page cache."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import threading
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput

_BOUNCE_BYTES = 1 << 20


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

    def extend(self, size_bytes: int) -> None:
        """Make the file larger. Raises OSError: there is no room."""
        added = size_bytes - self._size_bytes
        if added > 0:
            os.posix_fallocate(self._file, self._size_bytes, added)
            self._size_bytes = size_bytes

    def write(self, offset: int, pieces: list[memoryview]) -> None:
        """Write page-aligned memory. Raises OSError."""
        start = offset
        while pieces:
            if len(pieces) == 1:  # It takes less time.
                count = os.pwrite(self._file, pieces[0], offset)
            else:
                count = os.pwritev(self._file, pieces, offset)
            offset += count
            while pieces and count >= len(pieces[0]):
                count -= len(pieces.pop(0))
            if count:
                pieces[0] = pieces[0][count:]
        self._drop_cached(start, offset - start)

    def read(self, offset: int, into: memoryview) -> None:
        """Fill any memory. Raises OSError."""
        bounce = self._bounce()
        for start in range(0, len(into), _BOUNCE_BYTES):
            part = into[start : start + _BOUNCE_BYTES]
            target = bounce[: len(part)]
            if os.preadv(self._file, [target], offset + start) != len(part):
                raise OSError(errno.EIO, "the backup file has become shorter")
            part[:] = target
        self._drop_cached(offset, len(into))

    def sync(self) -> None:
        """Wait until the disk has what was written. Raises OSError."""
        os.fdatasync(self._file)

    def close(self) -> None:
        """The file stays."""
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

    def _drop_cached(self, offset: int, nbytes: int) -> None:
        if not self._is_direct:
            os.fdatasync(self._file)  # Only pages that the disk has can be dropped.
            os.posix_fadvise(self._file, offset, nbytes, os.POSIX_FADV_DONTNEED)

    def _bounce(self) -> memoryview:
        """Page-aligned memory of this thread, which direct I/O needs."""
        found: memoryview | None = getattr(self._local, "bounce", None)
        if found is None:
            found = self._local.bounce = memoryview(mmap.mmap(-1, _BOUNCE_BYTES))
        return found
