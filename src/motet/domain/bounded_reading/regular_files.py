"""Paths that users give for files: a device would never end, and a pipe can be read only once."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class NotAFile(OSError):
    """A path of a device, a pipe or a socket."""


def regular_file(path: Path) -> Path:
    """The same path. Raises NotAFile, and OSError for a folder or a missing file."""
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file", str(path))
    if kind != stat.S_IFREG:
        raise NotAFile(errno.EINVAL, f"it is {_KINDS[kind]}, not a file", str(path))
    return path
