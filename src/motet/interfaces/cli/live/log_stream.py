"""Prints logs as they grow."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from motet.interfaces.cli.shell.streams.terminal_output import LogFilter

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

_LOOK_S = 0.5


def print_log(client: LiveClient, job: str, *, rank: int, attempt: int, follow: bool) -> None:
    """Print a log to its present end, or to its last byte: as it is into a file or pipe, filtered
    on a terminal."""
    parts = _parts(client, job, rank, attempt, follow)
    if sys.stdout.isatty():
        _print_filtered(parts)
        return
    for data in parts:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _print_filtered(parts: Iterator[bytes]) -> None:
    log_filter = LogFilter()
    try:
        for data in parts:
            sys.stdout.write(log_filter.text(data))
            sys.stdout.flush()
    finally:
        sys.stdout.write(log_filter.end())


def _parts(client: LiveClient, job: str, rank: int, attempt: int, follow: bool) -> Iterator[bytes]:
    offset = 0
    while True:
        data, end, is_complete = client.log_part(job, rank=rank, attempt=attempt, offset=offset)
        yield data
        if is_complete or (not data and not follow):
            return
        if not data:
            time.sleep(_LOOK_S)
        offset = end
