"""An end to the files of jobs that are long over; the journal keeps what happened to them."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

DAY_US = 24 * 3600 * 1_000_000
FORGOTTEN = ("attempts", "checkpoints", "workdirs")
"""Logs, checkpoints, copies of snapshots. Results are what the job was run for, and stay."""


def forget_files(folder: Path, jobs: Collection[int]) -> list[int]:
    """Delete logs, checkpoints and copies of snapshots of these jobs; returns those that had any.

    `folder`: of the server's state. What cannot be deleted stays until the next call.
    """
    forgotten = set[int]()
    for kind in FORGOTTEN:
        if not (folder / kind).is_dir():
            continue
        for each in (folder / kind).iterdir():
            if each.name.isdecimal() and int(each.name) in jobs:
                shutil.rmtree(each, ignore_errors=True)
                forgotten.add(int(each.name))
    return sorted(forgotten)
