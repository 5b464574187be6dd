"""The lock of a role, which one process holds, and a look at it that locks nothing.

`flock` has no such look: a process that tries the lock holds it for a moment, and one that starts
in this moment is refused. Locks of open file descriptions (fcntl(2), F_OFD_SETLK) have one.
"""

from __future__ import annotations

import fcntl
import struct
from pathlib import Path
from typing import IO

_FLOCK = struct.Struct("hhqqi0q")
"""`struct flock`: type, whence, start, length, pid; zeros but for the type: the whole file."""


def try_lock(path: Path) -> IO[str] | None:
    """The file, which keeps the lock until it is closed; None: another one holds it."""
    lock = path.open("a", encoding="ascii")
    try:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, _request(fcntl.F_WRLCK))
    except BlockingIOError:
        lock.close()
        return None
    except BaseException:
        lock.close()
        raise
    return lock


def is_role_held(path: Path) -> bool:
    """Whether a process holds the lock; none does without a file."""
    try:
        with path.open("rb") as lock:
            found = fcntl.fcntl(lock, fcntl.F_OFD_GETLK, _request(fcntl.F_WRLCK))
    except FileNotFoundError:
        return False
    return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)


def await_lock(path: Path) -> None:
    """Return once no process holds the lock."""
    with path.open("a", encoding="ascii") as lock:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLKW, _request(fcntl.F_WRLCK))


def _request(kind: int) -> bytes:
    return _FLOCK.pack(kind, 0, 0, 0, 0)
