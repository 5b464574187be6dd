"""Processes that outlive their killed shepherd: found by a variable of their environment."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

MARK = "MOTET_ATTEMPT"
"""Variable in the environment of every process of an attempt; its value is the attempt's folder,
because servers with other state folders have attempts with the same ids."""


def marked_processes(folder: str, rank: int | None = None) -> list[int]:
    """Processes of this user that belong to the attempt of a folder, or to one rank of it."""
    wanted = {f"{MARK}={folder}".encode()}
    if rank is not None:
        wanted.add(f"MOTET_RANK={rank}".encode())
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and wanted <= _variables(pid)]


def kill_marked(folder: str, rank: int) -> bool:
    """Kill the processes of one rank; returns whether none was found."""
    found = marked_processes(folder, rank)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return not found


def _variables(pid: str) -> set[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return set(file.read().split(b"\0"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return set()
