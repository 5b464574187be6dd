"""The thread that writes the log, with a reader that stands still."""

from __future__ import annotations

import io
import logging
import os

import pytest

from motet.interfaces.server.event_log.line_formats import EventLine
from motet.interfaces.server.event_log.log_writer import MOST_LINES, LogWriter

LOG = logging.getLogger("motet.test")


def test_all_lines_are_written_in_order() -> None:
    stream = io.StringIO()
    with LogWriter(EventLine("text"), logging.INFO, stream):
        for number in range(100):
            LOG.info("event", extra={"fields": {"number": number}})
        LOG.debug("too_small")
    numbers = [line.rpartition("=")[2] for line in stream.getvalue().splitlines()]
    assert numbers == [str(number) for number in range(100)]


@pytest.mark.soak
def test_a_reader_that_stands_still_holds_nothing_up_and_lost_lines_are_counted() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, os.fdopen(reading) as reader:
        with LogWriter(EventLine("text"), logging.INFO, stream) as writer:
            for _ in range(3 * MOST_LINES):  # A pipe and the queue hold fewer.
                LOG.info("event")
            lines = [reader.readline()]
            while not writer._lines.empty():
                lines.append(reader.readline())
            LOG.info("after")
        stream.close()
        lines += reader.readlines()
    lost = [int(line.rpartition("=")[2]) for line in lines if "lines_dropped lines=" in line]
    assert sum(lost) > 0
    assert sum(" event" in line for line in lines) + sum(lost) == 3 * MOST_LINES
    assert " after" in lines[-1]


def test_records_after_the_end_are_ignored() -> None:
    stream = io.StringIO()
    with LogWriter(EventLine("text"), logging.INFO, stream):
        pass
    LOG.warning("late")
    assert stream.getvalue() == ""
