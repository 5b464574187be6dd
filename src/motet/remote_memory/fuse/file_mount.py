"""mount(2) and umount2(2), for root."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_NO_SET_USER, _NO_DEVICES = 2, 4
_FORCE, _DETACH = 1, 2


def mount_on_file(path: Path, options: str) -> None:
    """Mount a FUSE file system whose root is a file. Raises OSError."""
    kind = b"fuse"
    result = _library().mount(
        b"motet", os.fsencode(path), kind, _NO_SET_USER | _NO_DEVICES, options.encode()
    )
    _check(result, path)


def abort_mount(path: Path) -> None:
    """Unmount, also while it is in use or does not answer: its users get I/O errors.

    Raises OSError: nothing is mounted there.
    """
    _check(_library().umount2(os.fsencode(path), _FORCE | _DETACH), path)


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, path: Path) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))
