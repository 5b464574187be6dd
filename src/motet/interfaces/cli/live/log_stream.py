"""Prints logs as they grow."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

_LOOK_S = 0.5


def print_log(client: LiveClient, job: str, *, rank: int, attempt: int, follow: bool) -> None:
    """Print a log to its present end, or to its last byte."""
    offset = 0
    while True:
        data, end, is_complete = client.log_part(job, rank=rank, attempt=attempt, offset=offset)
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        if is_complete or (not data and not follow):
            return
        if not data:
            time.sleep(_LOOK_S)
        offset = end
