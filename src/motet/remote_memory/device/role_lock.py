"""The lock of a role, which one process holds, and a look at it that locks nothing.

`flock` has no such look: a process that tries the lock holds it for a moment, and one that starts
in this moment is refused. Locks of open file descriptions (fcntl(2), F_OFD_SETLK) have one.

The first byte of the file stands for the role. The second one is locked by its holder once the
file has the holder's number: until then it may have the number of an earlier one.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path
from typing import IO

_FLOCK = struct.Struct("hhqqi0q")
"""`struct flock`: type, whence, start, length, pid."""
_ROLE, _NUMBER = 0, 1


def claim_role(path: Path) -> IO[str] | None:
    """The file, which keeps the role until it is closed; None: another one has it."""
    lock = path.open("a+", encoding="ascii")
    try:
        if not _try_lock(lock):
            lock.close()
            return None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, _request(fcntl.F_WRLCK, _NUMBER))
    except BaseException:
        lock.close()
        raise
    return lock


def holder_of_role(path: Path) -> int | None:
    """The process that has the role; None: none has; 0: one that has not told its number yet."""
    try:
        with path.open(encoding="ascii") as lock:
            if _held(lock, _ROLE) != fcntl.F_WRLCK:
                return None
            if _held(lock, _NUMBER) != fcntl.F_WRLCK:
                return 0
            number = lock.read().strip()
    except FileNotFoundError:
        return None
    return int(number) if number.isdecimal() else 0


def await_end_of_role(path: Path) -> None:
    """Return once no process has the role; who claims it meanwhile gets it."""
    with path.open("a+", encoding="ascii") as lock:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLKW, _request(fcntl.F_RDLCK, _ROLE))


def _try_lock(lock: IO[str]) -> bool:
    """False: another process has the role."""
    while True:
        try:
            fcntl.fcntl(lock, fcntl.F_OFD_SETLK, _request(fcntl.F_WRLCK, _ROLE))
        except BlockingIOError:
            # One that waited for the end of the role has a read lock, for a moment.
            if _held(lock, _ROLE) == fcntl.F_WRLCK:
                return False
        else:
            return True


def _held(lock: IO[str], byte: int) -> int:
    """The kind of lock that another open file has; F_UNLCK: none has one."""
    found = fcntl.fcntl(lock, fcntl.F_OFD_GETLK, _request(fcntl.F_WRLCK, byte))
    return int(_FLOCK.unpack(found)[0])


def _request(kind: int, byte: int) -> bytes:
    return _FLOCK.pack(kind, os.SEEK_SET, byte, 1, 0)
