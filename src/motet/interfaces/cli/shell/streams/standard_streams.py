"""Standard streams that are closed (`>&-`) or full: results are not lost for lack of a stream.

Lost lines on stderr do not fail a command. A result that stdout cannot take does.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import sys
from typing import Any, TextIO

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
STDIN, STDOUT, STDERR = 0, 1, 2


def repair_standard_streams() -> None:
    """Occupy closed descriptors, so that no other file gets them; let stderr be full.

    Writes to a closed stdout then fail with EBADF, when the result is printed.
    """
    closed = [number for number in (STDIN, STDOUT, STDERR) if not _is_open(number)]
    for number in closed:  # The lowest free number is used, so each open takes the next one.
        _occupy(number, os.O_WRONLY if number == STDERR else os.O_RDONLY)
    if STDOUT in closed:
        sys.stdout = _text_stream(io.FileIO(STDOUT, "w", closefd=False))
    sys.stderr = _text_stream(_ToleratedStderr(STDERR, "w", closefd=False))


def is_stdout_closed() -> bool:
    """Whether stdout was closed when the command started."""
    return fcntl.fcntl(STDOUT, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY


class _ToleratedStderr(io.FileIO):
    """Drops what a full device cannot take."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in (*FULL, errno.EIO):
                raise
            return memoryview(data).nbytes


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _occupy(number: int, mode: int) -> None:
    descriptor = os.open(os.devnull, mode)
    os.dup2(descriptor, number)
    if descriptor != number:
        os.close(descriptor)


def _text_stream(raw: io.FileIO) -> TextIO:
    is_stderr = raw.fileno() == STDERR
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        errors="backslashreplace" if is_stderr else None,
        line_buffering=is_stderr or raw.isatty(),
    )
