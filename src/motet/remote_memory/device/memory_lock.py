"""Keeps the process of a device in memory, whatever the system runs out of."""

from __future__ import annotations

import ctypes
import logging
import os
from pathlib import Path

from motet.domain.errors import BadInput

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_SET_IO_FLUSHER = 57
_KILLED_LAST = "-1000"


def stay_in_memory(*, is_swap: bool) -> None:
    """As root: never be paged out to the own device, never wait for it when the kernel needs memory
    for a request of this process, and be the last process that the kernel kills.

    The last two need CAP_SYS_RESOURCE, which containers often lack. Other users may lock little
    memory, and a lock of future memory would fail later. Call it before other threads start.
    Raises BadInput: `is_swap`, and the memory cannot be locked.
    """
    if os.geteuid():
        return
    try:
        _lock()
    except OSError as error:
        message = f"the device's memory cannot be locked: {error.strerror}"
        if is_swap:
            raise BadInput(
                f"{message}; as swap space it could page itself out, and would never come back. "
                "It needs root with CAP_IPC_LOCK"
            ) from error
        logging.warning(message)
    for what, step in (
        ("the kernel may kill the device when memory is short", _be_killed_last),
        ("the kernel may wait for the device in requests of the device", _write_pages_out),
    ):
        try:
            step()
        except OSError as error:
            logging.warning("%s: %s", what, error.strerror)


def is_killed_last(process: int) -> bool:
    """Whether `stay_in_memory` had CAP_SYS_RESOURCE."""
    score = Path(f"/proc/{process}/oom_score_adj").read_text(encoding="ascii")
    return score.strip() == _KILLED_LAST


def _be_killed_last() -> None:
    Path("/proc/self/oom_score_adj").write_text(_KILLED_LAST, encoding="ascii")


def _lock() -> None:
    _check(_library().mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT))


def _write_pages_out() -> None:
    """Memory that the kernel allocates for this process does not wait for pages to be written to
    swap space; threads inherit it."""
    _check(_library().prctl(_SET_IO_FLUSHER, 1, 0, 0, 0))


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
