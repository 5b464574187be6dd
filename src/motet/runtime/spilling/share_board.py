"""What jobs that have the same memory tell each other: how much of their input is on disk.

Each executor has a file in a folder of its user and holds a lock on it as long as it lives; its
rows are read by the others at the ends of their epochs.
"""

from __future__ import annotations

import fcntl
import os
import struct
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_ROW = struct.Struct("<QQQQ")
_PREFIX = "share-"


class ShareBoard:
    """The row of one executor, and the mean of all. Without a folder that it can use, it knows the
    own row alone."""

    def __init__(self, parent: Path, memory: tuple[int, int]) -> None:
        """`parent`: where the user's folder is; `memory`: identifies what limits the memory."""
        self._memory = memory
        self._own = (0, 0)
        self._folder = parent / f"motet-spill-{os.getuid()}"
        self._file: int | None = None
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if self._folder.lstat().st_uid == os.getuid() and not self._folder.is_symlink():
                self._file = self._opened()

    def tell(self, input_bytes: int, disk_bytes: int) -> None:
        """So much of the own input is on disk."""
        self._own = input_bytes, disk_bytes
        if self._file is not None:
            with suppress(OSError):
                os.pwrite(self._file, _ROW.pack(*self._memory, *self._own), 0)

    def mean_share(self) -> float | None:
        """Of the input of all executors with the same memory, how much is on disk; None: there is
        no other one."""
        rows = list(self._others())
        if not rows:
            return None
        input_bytes, disk_bytes = map(sum, zip(self._own, *rows, strict=True))
        return disk_bytes / input_bytes if input_bytes else None

    def close(self) -> None:
        """Remove the row."""
        if self._file is not None:
            self._file = None
            self._remove()

    def _opened(self) -> int:
        file, name = tempfile.mkstemp(prefix=_PREFIX, dir=self._folder)
        fcntl.flock(file, fcntl.LOCK_EX)
        self._name = Path(name).name
        self._remove = weakref.finalize(self, _close, file, Path(name))
        return file

    def _others(self) -> Iterator[tuple[int, int]]:
        """Rows of the same memory; those of processes that were killed are removed."""
        if self._file is None:
            return
        with suppress(OSError):
            for path in self._folder.glob(f"{_PREFIX}*"):
                if path.name != self._name and (row := _row_of(path)) is not None:
                    *memory, input_bytes, disk_bytes = row
                    if tuple(memory) == self._memory:
                        yield input_bytes, disk_bytes


def _row_of(path: Path) -> tuple[int, ...] | None:
    try:
        with path.open("rb") as file:
            data = file.read(_ROW.size)
            if len(data) < _ROW.size:  # Just made, maybe without its lock.
                return None
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                path.unlink()
                return None
    except OSError:  # It has ended meanwhile.
        return None
    return _ROW.unpack(data)


def _close(file: int, path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    os.close(file)
