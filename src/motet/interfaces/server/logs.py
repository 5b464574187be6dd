"""Parts of the logs of processes."""

from __future__ import annotations

import os
from dataclasses import dataclass

from motet.live.master.requests import Workplace
from motet.live.upkeep.log_limit import hole_at

LARGEST_PART_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The log of one process. `has_ended`: whether its last byte was written before."""

    job: int
    attempt: int
    rank: int
    has_ended: bool


@dataclass(frozen=True, slots=True)
class LogPart:
    """`next_offset`: where the next part begins. `is_complete`: nothing more will be written.

    `size`: of the log when it was read.
    """

    data: bytes
    next_offset: int
    is_complete: bool
    size: int = 0


def read_log(workplace: Workplace, place: LogPlace, offset: int) -> LogPart:
    """At most LARGEST_PART_BYTES of a log. `offset`: a negative one is counted from its end."""
    folder = workplace.attempt_folder(place.job, place.attempt)
    try:
        with open(folder / f"rank-{place.rank}" / "log", "rb") as file:
            size = os.fstat(file.fileno()).st_size
            offset = max(0, size + offset) if offset < 0 else offset
            data_at, hole = hole_at(file.fileno(), offset)
            if data_at > offset:
                text = f"\n[{data_at - offset:,} bytes of this log were removed: --log-limit]\n"
                return LogPart(text.encode(), data_at, is_complete=False, size=size)
            file.seek(offset)
            data = file.read(min(LARGEST_PART_BYTES, max(hole - offset, 0)))
    except FileNotFoundError:
        return LogPart(b"", offset, place.has_ended)
    end = offset + len(data)
    return LogPart(data, end, place.has_ended and end >= size, size)
