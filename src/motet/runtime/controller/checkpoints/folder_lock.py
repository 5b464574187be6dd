"""The lock of a folder that one run writes to: a second run is refused while the first goes on.

The lock is that of the system (flock) on a file in the folder, so that it ends with the process
that holds it, whatever ends that. It holds between the processes of one host, and between hosts
where their file system has such locks.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from motet.domain.errors import BadInput

LOCK = ".motet-lock"
_LONGEST_TEXT = 80
_HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if it is missing.

    Raises BadInput if another run holds it, or if nothing can be written or locked there.
    """
    file = _locked_file(path)
    try:
        with contextlib.suppress(OSError):  # Of a full disk: the holder's name is for messages.
            os.ftruncate(file, 0)
            os.write(file, f"process {os.getpid()}".encode())
        yield
    finally:
        # Before the lock ends: a later one has a new file. One that stays holds no lock.
        with contextlib.suppress(OSError):
            (path / LOCK).unlink()
        os.close(file)


def _locked_file(path: Path) -> int:
    """The descriptor of the lock file, which is locked."""
    while True:
        file = _opened(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_current = _is_current(file, path)
        except OSError as error:
            refusal = _refusal(path, file, error)
            os.close(file)
            raise refusal from error
        if is_current:
            return file
        os.close(file)  # Its holder has just removed it; the next one is another file.


def _opened(path: Path) -> int:
    try:
        path.mkdir(parents=True, exist_ok=True)
        return os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise BadInput(
            f"{path}: cannot write there ({error.strerror}); name a folder that you may write to"
        ) from error


def _is_current(file: int, path: Path) -> bool:
    """Whether the file is still in the folder: its holder removes it at its end."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path / LOCK))
    except FileNotFoundError:
        return False


def _refusal(path: Path, file: int, error: OSError) -> BadInput:
    if error.errno not in _HELD:
        return BadInput(
            f"{path}: cannot be locked ({error.strerror}); name a folder on a file system that has "
            "locks"
        )
    holder = os.pread(file, _LONGEST_TEXT, 0).decode(errors="replace") or "another process"
    return BadInput(
        f"{path}: another run writes there ({holder}); wait until it has ended, or name another "
        "folder"
    )
