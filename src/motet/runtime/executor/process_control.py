"""How processes end: with their parent, and at once."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from typing import NoReturn

_SET_PARENT_DEATH_SIGNAL = 1


def die_with_parent(parent: int) -> None:
    """The kernel kills this process when the thread that forked it ends, even if it is stopped.

    `parent`: the process that forked this one; it may have ended already.
    """
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def exit_at_once(status: int) -> NoReturn:
    """End with all that was written to the standard streams.

    The interpreter would first free what was imported, which takes a third of the CPU time of the
    imports. Nothing that was registered for its end is called.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # It may be closed.
            stream.flush()
    os._exit(status)


def set_process_name(name: str) -> None:
    """The name that `ps` and `top` show, of at most 15 characters; from any thread."""
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write(name)


def kill(descriptor: int) -> None:
    """Kill the process of a pidfd; it may have ended already."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
