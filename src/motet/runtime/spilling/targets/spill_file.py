"""Spilled data in a file on a local disk."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Protocol

from motet.runtime.spilling.section_image import SpillBuffer
from motet.runtime.spilling.targets.spill_target import disk_failure


class SpillFile:
    """A SpillTarget: a file without a name, so that nothing is left when the process is killed.

    Reads and writes bypass the page cache (O_DIRECT). On file systems without direct I/O what was
    written or read is dropped from the cache at once.
    """

    def __init__(self, folder: Path) -> None:
        """Raises JobFailed."""
        self._folder, self._end = folder, 0
        self._reserving = threading.Lock()
        try:
            self._file, name = tempfile.mkstemp(prefix="motet-spill-", dir=folder)
            self._close = weakref.finalize(self, os.close, self._file)
            os.unlink(name)
            self.is_direct = self._set_direct(os.O_DIRECT)
        except OSError as error:
            raise disk_failure(self._folder, error) from error

    def fileno(self) -> int:
        """The file's descriptor."""
        return self._file

    def reserve(self, nbytes: int) -> int:
        """See SpillTarget."""
        with self._reserving:
            place = self._end
            try:
                os.posix_fallocate(self._file, place, nbytes)
            except OSError as error:
                raise disk_failure(self._folder, error) from error
            self._end += nbytes
        return place

    def write(self, place: int, data: SpillBuffer) -> None:
        """See SpillTarget."""
        self._transfer(place, data, os.pwritev)

    def read(self, place: int, data: SpillBuffer) -> None:
        """See SpillTarget."""
        self._transfer(place, data, os.preadv)

    def close(self) -> None:
        """See SpillTarget; also done when the last reference is gone."""
        self._close()

    def _transfer(self, place: int, data: SpillBuffer, call: _Transfer) -> None:
        done = 0
        with memoryview(data) as view:
            while done < len(view):
                try:
                    with view[done:] as rest:
                        count = call(self._file, [rest], place + done)
                except OSError as error:
                    if error.errno == errno.EINVAL and self.is_direct:
                        self.is_direct = self._set_direct(0)
                        continue
                    raise disk_failure(self._folder, error) from error
                if count == 0:
                    shorter = OSError(errno.EIO, "the file has become shorter")
                    raise disk_failure(self._folder, shorter)
                done += count
        if not self.is_direct:
            self._drop_cached(place, done)

    def _drop_cached(self, place: int, nbytes: int) -> None:
        try:
            os.fdatasync(self._file)
            os.posix_fadvise(self._file, place, nbytes, os.POSIX_FADV_DONTNEED)
        except OSError as error:
            raise disk_failure(self._folder, error) from error

    def _set_direct(self, flag: int) -> bool:
        """Whether direct I/O is on; some file systems refuse it here, others at the first read."""
        flags = fcntl.fcntl(self._file, fcntl.F_GETFL) & ~os.O_DIRECT
        try:
            fcntl.fcntl(self._file, fcntl.F_SETFL, flags | flag)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return False
        return flag != 0


class _Transfer(Protocol):
    def __call__(self, file: int, buffers: list[memoryview], offset: int, /) -> int: ...
