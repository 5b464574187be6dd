"""Prints logs as they grow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from motet.interfaces.cli.live.connection import echo_absence
from motet.interfaces.cli.shell.streams.terminal_output import LogFilter
from motet.interfaces.cli.shell.streams.visible import echo_note

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient
    from motet.interfaces.live_cluster.log_reading import LogChunk


def print_log(client: LiveClient, job: str, *, rank: int, attempt: int, follow: bool) -> None:
    """Print a log to its present end, or to its last byte and on with the attempts that follow: as
    it is into a file or pipe, filtered on a terminal. Of a job without an attempt, say so on
    standard error."""
    from motet.interfaces.live_cluster.log_reading import ProcessLog

    log = ProcessLog(client, job, rank, tell=echo_absence)
    chunks = log.until_end(attempt) if follow else log.until_now(attempt)
    show = _print_filtered if sys.stdout.isatty() else _print_bytes
    place = -1
    for place, (number, found) in enumerate(groupby(chunks, lambda chunk: chunk.attempt)):
        if place:
            echo_note(f"motet: attempt {number} of job {job}")
        show(found)
    if place < 0 and not (shown := client.job(job))["attempts"]:
        echo_note(f"motet: job {job} has not started: it is {shown['state']}")


def _print_bytes(chunks: Iterator[LogChunk]) -> None:
    for chunk in chunks:
        sys.stdout.buffer.write(chunk.data)
        sys.stdout.buffer.flush()


def _print_filtered(chunks: Iterator[LogChunk]) -> None:
    log_filter = LogFilter()
    try:
        for chunk in chunks:
            sys.stdout.write(log_filter.text(chunk.data))
            sys.stdout.flush()
    finally:
        sys.stdout.write(log_filter.end())
