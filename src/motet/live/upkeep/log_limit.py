"""A limit to the room that the log of a process takes, while the process goes on writing it.

The middle of the file becomes a hole: the beginning and the end stay, offsets of readers remain
right, and the process notices nothing.
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

_KEEP_SIZE_AND_PUNCH_HOLE = 0x03
_BLOCK = 4096
_BEGINNING_BYTES = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong)


class HolesUnsupported(OSError):
    """The file system cannot give the middle of a file back."""


def limit_log(path: Path, limit_bytes: int) -> int:
    """Let a log take at most about `limit_bytes` on the disk; returns how much it gave back.

    Above the limit, the first MiB (at most a quarter of the limit) and the last half of the limit
    stay. Raises HolesUnsupported.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        found = os.fstat(descriptor)
        taken = found.st_blocks * 512
        if taken <= limit_bytes:
            return 0
        begin = _rounded(min(_BEGINNING_BYTES, limit_bytes // 4))
        end = _rounded(found.st_size - limit_bytes // 2)
        if end <= begin:
            return 0
        _punch(descriptor, begin, end - begin)
        return max(taken - os.fstat(descriptor).st_blocks * 512, 0)
    finally:
        os.close(descriptor)


def hole_at(descriptor: int, offset: int) -> tuple[int, int]:
    """Where data begins at or after an offset, and where the next hole does, at most at the end."""
    size = os.fstat(descriptor).st_size
    if offset >= size:
        return offset, size
    try:
        data = os.lseek(descriptor, offset, os.SEEK_DATA)
        return data, os.lseek(descriptor, data, os.SEEK_HOLE)
    except OSError:  # No data up to the end, or a file system that does not tell.
        return offset, size


def _punch(descriptor: int, offset: int, length: int) -> None:
    if _libc.fallocate(descriptor, _KEEP_SIZE_AND_PUNCH_HOLE, offset, length):
        number = ctypes.get_errno()
        kind = HolesUnsupported if number in (errno.EOPNOTSUPP, errno.ENOSYS) else OSError
        raise kind(number, os.strerror(number))


def _rounded(offset: int) -> int:
    """Down to a block: the kernel would fill the rest of one with zeros."""
    return offset // _BLOCK * _BLOCK
