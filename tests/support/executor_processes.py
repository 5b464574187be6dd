"""The processes below this one that run executors, of any backend that is embedded here."""

from __future__ import annotations

import contextlib

import psutil

_END_TIMEOUT_S = 120.0


def executor_processes() -> list[psutil.Process]:
    """Those that live now."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.name() == "motet-executor" or "ExecutorActor" in " ".join(child.cmdline()):
                found.append(child)
    return found


def await_ends_of_executors() -> None:
    """Return once no executor of an earlier test lives. The limit only ends a test that would hang.

    The message tells whose children those that stay are.
    """
    living = psutil.wait_procs(executor_processes(), timeout=_END_TIMEOUT_S)[1]
    assert not living, "\n".join(map(_with_parents, living))


def _with_parents(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        parents = " < ".join(f"{each.name()} {each.pid}" for each in process.parents())
        return f"{process} {' '.join(process.cmdline())}: below {parents}"
    return str(process)
