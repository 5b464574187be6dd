"""How much memory the processes of attempts use on this machine."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

from motet.live.launcher.leftovers import MARK
from motet.live.launcher.rank_files import rank_folder

_COUNTED = (b"RssAnon:", b"RssShmem:")


def used_by_processes(names: Collection[str]) -> Mapping[str, int]:
    """Bytes by the folder of the process, with all that it has started; only these folders.

    What several processes share counts for each of them.
    """
    used: Counter[str] = Counter()
    wanted = set(names)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        name = _name_of(pid)
        if name in wanted:
            used[name] += _resident_bytes(pid)
    return used


def _name_of(pid: str) -> str:
    """The folder of the process of an attempt; empty: it is of none."""
    lines = _read(pid, "environ").split(b"\0")
    found = dict(line.partition(b"=")[::2] for line in lines)
    folder, rank = found.get(MARK.encode(), b""), found.get(b"MOTET_RANK", b"")
    if not folder or not rank.isdigit():
        return ""
    return str(rank_folder(Path(os.fsdecode(folder)), int(rank)))


def _resident_bytes(pid: str) -> int:
    """The name of the process, which is part of what is read, can be any bytes but a line's end."""
    lines = (line.split() for line in _read(pid, "status").split(b"\n"))
    return sum(int(words[1]) * 1024 for words in lines if words and words[0] in _COUNTED)


def _read(pid: str, name: str) -> bytes:
    try:
        return Path("/proc", pid, name).read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
