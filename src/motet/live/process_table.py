"""Processes of this machine, as the kernel lists them: children, descendants, starts (proc(5)).

It needs only the standard library and imports little: shepherds, their spawner and the supervisor
of a command import it before anything else.
"""

import os


def ended_child() -> int | None:
    """A child of this process that has ended and was not collected yet."""
    try:
        return _first_ended()
    except ChildProcessError:
        return None


def has_children() -> bool:
    """Whether this process has children, ended ones that were not collected included.

    A child subreaper (prctl(2)) without children has no descendants either: it adopts those whose
    parents end.
    """
    try:
        _first_ended()
    except ChildProcessError:
        return False
    return True


def _first_ended() -> int | None:
    """None: all children run. Raises ChildProcessError if there are none."""
    ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return None if ended is None else ended.si_pid


def descendants(root: int) -> list[int]:
    """Processes below `root`, parents before children; zombies included."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (parent := _parent_of(entry)) is not None:
            children.setdefault(parent, []).append(int(entry))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parent_of(pid: str) -> int | None:
    fields = stat_fields(pid)
    return None if fields is None else int(fields[1])


def start_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks after boot; None: there is no such process."""
    fields = stat_fields(str(pid))
    return None if fields is None else int(fields[19])


def stat_fields(pid: str) -> list[str] | None:
    """Fields of /proc/PID/stat after the name, which may contain spaces."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def boot_id() -> str:
    """Identifies this boot of the machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
        return file.read().strip()
